"""Tasks that go on for ever: episodes are cut off, and the critic of the costs says what follows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lsip
import rl

torch = pytest.importorskip("torch")
gymnasium = pytest.importorskip("gymnasium")

from gymnasium.vector import SyncVectorEnv  # noqa: E402

from rl.rollouts import play_round  # noqa: E402
from rl.several import Several, violation_of  # noqa: E402
from rl.upper_violation import Margin, Moments, UpperViolation  # noqa: E402
from tests.test_si_cppo import PLAIN  # noqa: E402
from tests.test_step_costs import Drift, vector  # noqa: E402
from tests.test_tensor_envs import Corridor  # noqa: E402

GAMMA = 0.5


class Endless(Drift):
    """It never comes to an end."""

    def step(self, action: Any) -> Any:
        *found, _, cut, info = super().step(action)
        return (*found, False, cut, info)


def endless(copies: int = 3) -> Any:
    return SyncVectorEnv([Endless] * copies)


def one(y: Any, observations: Any, actions: Any) -> Any:
    return 1.0 + 0.0 * (y[:, :1] + observations[:, 0])


def limit(**options: Any) -> rl.SemiInfiniteCost:
    return rl.SemiInfiniteCost(lsip.Interval(0, 2), one, 1.5, gamma=GAMMA, **options)


def learner(env: Any, constraint: Any = None, **options: Any) -> rl.SICPPO:
    settings = {"episodes": 3, "hidden": (8,), "rollout": 5, "gamma": 0.9, "device": "cpu", **PLAIN, **options}
    return rl.SICPPO(env, limit() if constraint is None else constraint, **settings)


def set_critic(agent: rl.SICPPO, value: float) -> None:
    """Let the critic of the costs say one number."""
    with torch.no_grad():
        last = list(agent.state.critics["cost"].children())[-1]
        last.weight.zero_()
        last.bias.fill_(value)


def test_episodes_are_cut_where_they_are_to_be():
    played = play_round(endless(), lambda seen: np.full((3, 1), 0.25, dtype=np.float32), 0, until=5)
    assert (len(played.live), played.live.all(), played.terminated.any()) == (5, True, False)
    np.testing.assert_allclose(played.last, played.observations[-1] + 0.25, rtol=1e-6)
    whole = play_round(vector(), lambda seen: 0 * seen, 0, until=9)
    assert (len(whole.live), whole.terminated.all()) == (4, True)


pytestmark = pytest.mark.filterwarnings("ignore::rl.NoGoodPolicyWarning")


@pytest.mark.parametrize("tensors", [False, True])
def test_what_follows_counts_as_the_critic_says(tensors):
    agent = learner(endless(), limit(tensors=tensors))
    set_critic(agent, 2.0)  # the truth: 1 / (1 - GAMMA)
    violation = agent.world.evaluate(agent.state).violation
    y = np.array([[0.0], [1.3]])
    assert violation.values(y)[:, 0] == pytest.approx([0.5, 0.5], rel=1e-5)
    set_critic(agent, 0.0)
    assert violation.values(y)[:, 0] == pytest.approx([0.5 - 2 * GAMMA**5] * 2, rel=1e-5)
    assert violation.step_costs(y, agent.device).shape == (2, 15)
    assert violation.provable() is violation  # nothing is known of a network between points
    assert Moments(violation).margin(y, Margin.of(0.05, 9)) == pytest.approx([0.0, 0.0], abs=1e-6)


def test_an_episode_that_came_to_its_end_is_followed_by_nothing():
    agent = learner(vector(), limit())
    set_critic(agent, 1e6)
    violation = agent.world.evaluate(agent.state).violation
    assert violation.values(np.array([[1.0]]))[0, 0] == pytest.approx(2 - 2 * GAMMA**4 - 1.5)


def test_a_critic_that_is_fitted_learns_what_follows():
    agent = learner(endless(16), episodes=16, critic_epochs=60, critic_rate=1e-2, trace=1.0, epochs=1)
    agent.learn(20 * 80, evaluate_every=100)
    assert agent.history[-1].violation == pytest.approx(0.5, abs=0.05)
    assert agent.history[-1].arrived == 0


def test_several_constraints_have_a_tail_each():
    other = rl.SemiInfiniteCost(lsip.Box([0, 0], [1, 4]), one, 0.0, gamma=0.9)
    agent = learner(endless(), [limit(), other])
    assert isinstance(agent.constraint, Several)
    set_critic(agent, 2.0)
    violation = agent.world.evaluate(agent.state).violation
    points = np.array([[0, 1.0, 0.0], [1, 0.5, 3.0]])
    expected = [0.5, (1 - 0.9**5) / 0.1 + 2 * 0.9**5]
    assert violation.values(points)[:, 0] == pytest.approx(expected, rel=1e-5)
    options = {"chance": 0.05, "tail": violation.tail}
    upper = violation_of(agent.constraint, violation.episodes, agent.device, UpperViolation, **options)
    assert upper.values(points)[:, 0] == pytest.approx(expected, rel=1e-5)
    assert agent.learn(60, evaluate_every=2).iteration >= 2


def test_critics_see_in_a_tail_what_they_are_trained_on():
    """Index points are scaled alike on both ways."""
    agent = learner(endless(), [limit(), rl.SemiInfiniteCost(lsip.Box([0, 0], [1, 4]), one, 0.0, gamma=0.9)])
    evaluation = agent.world.evaluate(agent.state)
    points = np.array([[0, 1.0, 0.0], [1, 0.5, 3.0]])
    seen = evaluation.violation.tail[0].seen
    features = torch.as_tensor(agent.constraint.features(points), dtype=torch.float32)
    for tail, y, feature in zip(evaluation.violation.tail, (points[:1, 1:2], points[1:, 1:]), features, strict=True):
        with torch.no_grad():
            said = tail.critic(torch.cat([seen, feature.expand(len(seen), -1)], dim=1))[:, 0]
        np.testing.assert_allclose(tail.of_arrays(y)[0], said, rtol=1e-5)


def test_environments_of_tensors_are_cut_as_well():
    env = Corridor(6, device="cpu", max_episode_steps=1000)
    limits = rl.SemiInfiniteCost(lsip.Interval(0, 2), lambda y, o, a: 1.0 + 0 * (o[:, 0] - y), 1.5, gamma=0.5)
    agent = learner(env, limits, episodes=6, rollout=3)
    evaluation = agent.world.evaluate(agent.state)
    assert len(evaluation.data.episodes.live) <= 3
    assert agent.learn(60, evaluate_every=2).iteration >= 2


def test_policies_are_judged_where_one_says():
    judged = SyncVectorEnv([lambda: gymnasium.wrappers.TimeLimit(Endless(), 7)] * 2)
    agent = learner(endless(), evaluation_env=judged)
    assert len(agent.episodes(2, 0).live) == 7
    assert len(agent.world.evaluate(agent.state).data.episodes.live) == 5
    agent.learn(60, evaluate_every=2)
    assert agent.evaluations
    with pytest.raises(lsip.ModelError, match="must have the observations and actions"):
        learner(endless(), evaluation_env=gymnasium.make("CartPole-v1"))


def test_callbacks_may_be_several():
    heard: list[str] = []
    agent = learner(endless())
    agent.learn(1000, callback=[lambda a, r: heard.append("first"), lambda a, r: heard.append("second") or True])
    assert heard == ["first", "second"]
    with pytest.raises(lsip.ModelError, match="`callback`"):
        agent.learn(2000, callback=[print, 3])
