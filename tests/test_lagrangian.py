"""PPO-Lagrangian: how its multiplier moves, what the policy follows, and that a run can be resumed."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

import envs
import lsip
import rl

torch = pytest.importorskip("torch")

from rl.baselines import PPOLagrangian  # noqa: E402
from tests.test_si_cppo import PLAIN  # noqa: E402

QUICK = {"episodes": 8, "hidden": (8,), "epochs": 2, "index_points": 1, "evaluation_episodes": 8, "device": "cpu"}


class Arms(gymnasium.Env[Any, Any]):
    """One step, two arms: the second one earns 1 and costs y, the first one nothing."""

    observation_space = gymnasium.spaces.Box(0, 1, (1,))
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return np.zeros(1, dtype=np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return np.ones(1, dtype=np.float32), float(action), True, False, {}


def arms(bound: float) -> rl.SemiInfiniteCost:
    return rl.SemiInfiniteCost(
        lsip.Interval(0, 1), lambda y, observations, actions: y * np.asarray(actions, dtype=float), bound
    )


def bandit(bound: float, **options: Any) -> PPOLagrangian:
    copies = gymnasium.vector.SyncVectorEnv([Arms] * 16)
    settings = {
        **QUICK,
        "episodes": 256,
        "epochs": 5,
        "learning_rate": 0.01,
        "critic_rate": 0.02,
        "minibatch": 256,
        **PLAIN,
    }
    return PPOLagrangian(copies, arms(bound), oracle=lsip.oracles.Grid(points=5), **{**settings, **options})


def ships(**options: Any) -> PPOLagrangian:
    return PPOLagrangian(
        gymnasium.make_vec("lsip/ShipRoute-v0", num_envs=8), envs.ship.constraint(), **{**QUICK, **options}
    )


def share(agent: Any) -> float:
    """How often the second arm is pulled."""
    with torch.no_grad():
        return float(agent.policy.log_probs(torch.zeros(1, 1)).exp()[0, 1])


def test_the_multiplier_follows_the_violation_and_stays_nonnegative():
    agent = ships(multiplier=0.01, multiplier_rate=0.5)
    agent.learn(3000)
    expected = 0.01
    for report in agent.history:
        expected = max(0.0, expected + 0.5 * report.violation)
    assert agent.multiplier == pytest.approx(expected)
    assert agent.multiplier_rate == 0.5
    slack = bandit(bound=10.0, multiplier=1.0, multiplier_rate=1.0)
    slack.learn(256)
    assert slack.multiplier == 0.0


@pytest.mark.parametrize(("multiplier", "likes"), [(0.0, True), (0.5, True), (4.0, False)])
def test_the_policy_follows_reward_minus_price_times_cost(multiplier, likes):
    agent = bandit(bound=0.5, multiplier=multiplier, multiplier_rate=1e-9, clip=0.5)
    before = share(agent)
    agent.learn(4 * 256)
    assert (share(agent) > before) == likes


def test_it_is_ppo_on_the_reward_when_the_price_is_zero():
    one = bandit(bound=10.0)
    other = rl.SICPPO(one.env, one.constraint, one.config, oracle=one.oracle, device="cpu")
    one.learn(512)
    other.learn(512)
    assert one.multiplier == 0.0
    for a, b in zip(one.policy.parameters(), other.policy.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def test_the_price_rises_until_the_constraint_is_kept_and_then_falls():
    # The cost at y = 1 is the share of the second arm, which earns: more than the price 1 makes it a loss.
    prices: list[float] = []
    agent = bandit(bound=0.3, multiplier_rate=0.15, divergence=0.01)
    agent.learn(45 * 256, callback=lambda agent, report: prices.append(agent.multiplier))
    shares = np.array([report.reward for report in agent.history])
    assert shares.max() > 0.7
    assert shares[-1] < 0.2
    assert max(prices) > 1
    assert prices[-1] < max(prices)
    np.testing.assert_array_equal(np.sign(np.diff(prices)), np.sign(shares[1:] - 0.3))
    assert all(report.y == pytest.approx([1.0]) for report in agent.history[:20])


def test_a_resumed_run_is_the_uninterrupted_one(tmp_path):
    whole = ships(multiplier_rate=0.3, seed=2)
    whole.learn(4500)
    first = ships(multiplier_rate=0.3, seed=2)
    first.learn(4500, callback=lambda agent, report: agent.iteration == 5, checkpoint=tmp_path / "a.zip")
    again = PPOLagrangian.load(tmp_path / "a.zip", first.env, first.constraint, device="cpu")
    assert isinstance(again, PPOLagrangian)
    assert (again.multiplier, again.multiplier_rate) == (first.multiplier, 0.3)
    again.learn(4500)
    assert again.multiplier == whole.multiplier
    for a, b in zip(again.policy.parameters(), whole.policy.parameters(), strict=True):
        assert torch.equal(a, b)


def test_a_file_of_si_cppo_is_refused(tmp_path):
    env = gymnasium.make_vec("lsip/ShipRoute-v0", num_envs=8)
    agent = rl.SICPPO(env, envs.ship.constraint(), **QUICK)
    agent.learn(4000, checkpoint=tmp_path / "a.zip")
    with pytest.raises(lsip.ModelError, match="written by SICPPO"):
        PPOLagrangian.load(tmp_path / "a.zip", env, envs.ship.constraint())


def test_both_critics_learn():
    agent = bandit(bound=0.5, epochs=20)
    agent.learn(12 * 256)
    at = torch.zeros(1, 1)
    with torch.no_grad():
        reward = float(agent.state.critics["reward"](at))
        cost = float(agent.state.critics["cost"](torch.ones(1, 2) * torch.tensor([0.0, 1.0])))
    assert reward == pytest.approx(agent.history[-1].reward, abs=0.15)
    assert cost == pytest.approx(agent.history[-1].reward, abs=0.15)


@pytest.mark.parametrize(
    "options", [{"multiplier": -1.0}, {"multiplier": np.nan}, {"multiplier_rate": 0.0}, {"multiplier_rate": np.inf}]
)
def test_numbers_are_checked(options):
    with pytest.raises(lsip.ModelError, match=next(iter(options))):
        ships(**options)
