"""Classic control with a continuum of constraints: the vectorised pendulum, and what controllers can keep."""

from __future__ import annotations

import numpy as np
import pytest

import lsip

gymnasium = pytest.importorskip("gymnasium")

from envs.classic import Angles, Distances, PendulumVector  # noqa: E402
from rl.rollouts import collect  # noqa: E402


def test_pendulums_swing_as_gymnasium_s_does():
    many, one = PendulumVector(5), gymnasium.make("Pendulum-v1").unwrapped
    many.reset(seed=3)
    rng = np.random.default_rng(0)
    starts = list(zip(many.angles.copy(), many.speeds.copy(), strict=True))
    torques = rng.uniform(-3, 3, size=(30, 5, 1)).astype(np.float32)  # some beyond what the motor can do
    seen = [many.step(each)[:2] for each in torques]
    for k, start in enumerate(starts):
        one.reset(seed=0)
        one.state = np.array(start)
        for t, each in enumerate(torques):
            observation, reward, *_ = one.step(each[k])
            np.testing.assert_allclose(seen[t][0][k], observation, atol=1e-5)
            assert seen[t][1][k] == pytest.approx(float(reward), abs=1e-5)


def test_episodes_end_and_begin_again():
    many = PendulumVector(4, max_episode_steps=3)
    first, _ = many.reset(seed=0)
    ends = [many.step(np.zeros((4, 1)))[3] for _ in range(3)]
    assert [bool(e.all()) for e in ends] == [False, False, True]
    observations, rewards, ended, cut, _ = many.step(np.zeros((4, 1)))
    assert not np.allclose(observations, first)
    assert not np.concatenate([rewards, ended, cut]).any()
    again, _ = many.reset(seed=0)
    np.testing.assert_array_equal(first, again)


def test_wrong_use_is_a_sentence():
    with pytest.raises(gymnasium.error.ResetNeeded, match="call `reset`"):
        PendulumVector(2).step(np.zeros((2, 1)))
    with pytest.raises(lsip.ModelError, match=r"at least 1; got 0"):
        PendulumVector(0)
    many = PendulumVector(2)
    many.reset(seed=0)
    with pytest.raises(lsip.ModelError, match=r"\(2, 1\); got \(2,\)"):
        many.step(np.zeros(2))


@pytest.mark.parametrize(("weights", "kept"), [([0.1, 0.3, 1.5, 0.4], True), ([0.0, 0.0, 1.0, 0.3], False)])
def test_a_controller_that_looks_at_the_cart_keeps_its_continuum(weights, kept):
    constraint = Distances().constraint()
    env = gymnasium.make_vec("CartPole-v1", num_envs=32)
    played = collect(env, lambda seen: (seen @ np.array(weights) > 0).astype(int), 32, seed=0)
    assert played.returns().min() == 500
    places = constraint.domain.grid(91)
    discount = (constraint.gamma ** np.arange(500))[:, None] * played.live / played.count
    costs = constraint.steps(places, played.flat(played.observations), played.flat(played.actions))
    worst = (costs @ discount[played.live] - constraint.bounds(places)).max()
    assert (worst <= 0) == kept


@pytest.mark.parametrize("constraint", [Angles().constraint(), Distances().constraint()], ids=["angles", "distances"])
def test_slopes_are_declared(constraint):
    y = constraint.domain.grid(2001)
    rng = np.random.default_rng(0)
    seen = rng.uniform(-1, 1, size=(50, 4))
    tables = constraint.steps(y, seen, seen), constraint.bounds(y)[:, None]
    for values, slope in zip(tables, constraint.lipschitz, strict=True):
        steepest = np.abs(np.diff(values, axis=0)).max() / (y[1, 0] - y[0, 0])
        assert 0.3 * slope <= steepest <= slope * (1 + 1e-9)
