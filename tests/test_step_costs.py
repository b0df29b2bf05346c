"""Costs that depend on what followed a step, or on what the environment told of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

import lsip
import rl

gymnasium = pytest.importorskip("gymnasium")
torch = pytest.importorskip("torch")

from gymnasium.vector import AutoresetMode, SyncVectorEnv  # noqa: E402

from rl.episode_violation import EpisodeViolation  # noqa: E402
from rl.rollout import Rollout  # noqa: E402
from rl.rollouts import collect  # noqa: E402
from rl.tensor_env import TensorDynamics  # noqa: E402

LENGTH = 4


class Drift(gymnasium.Env):
    """Moves by its action; tells the distance that it went, as libraries of safe reinforcement learning do."""

    observation_space = gymnasium.spaces.Box(-99.0, 99.0, (1,), np.float32)
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.x, self.t = float(self.np_random.uniform()), 0
        return np.array([self.x], dtype=np.float32), {}

    def step(self, action: Any) -> Any:
        self.x, self.t = self.x + float(action[0]), self.t + 1
        info = {"cost": abs(float(action[0])), "name": "drift"}
        return np.array([self.x], dtype=np.float32), 1.0, self.t == LENGTH, False, info


class Drifts(TensorDynamics):
    """The same in tensors."""

    chance = (1, 0)
    single_observation_space, single_action_space = Drift.observation_space, Drift.action_space

    def first(self, uniform: Any) -> Any:
        return uniform

    def observe(self, state: Any, steps: Any) -> Any:
        return state.float()

    def advance(self, state: Any, actions: Any, uniform: Any) -> Any:
        self.cost = actions[:, 0].abs()
        return state + actions, torch.ones_like(self.cost), torch.zeros_like(self.cost, dtype=torch.bool)

    def step(self, actions: Any) -> Any:
        *found, info = super().step(actions)
        return (*found, {**info, "cost": self.cost})


def vector(mode: AutoresetMode = AutoresetMode.NEXT_STEP) -> Any:
    return SyncVectorEnv([Drift] * 3, autoreset_mode=mode)


def told(y: Any, observations: Any, actions: Any, info: Any) -> Any:
    return info["cost"] * (1 + 0 * y)


def moved(y: Any, observations: Any, actions: Any, *, next_obs: Any) -> Any:
    return abs(next_obs[:, 0] - observations[:, 0]) * (1 + 0 * y)


def own(y: Any, observations: Any, actions: Any) -> Any:
    return abs(actions[:, 0]) * (1 + 0 * y)


def limit(cost: Any, **options: Any) -> rl.SemiInfiniteCost:
    return rl.SemiInfiniteCost(lsip.Interval(0, 1), cost, 1.0, gamma=0.5, range=(0.0, 1.0), **options)


def act(seen: Any) -> np.ndarray:
    return np.full((len(seen), 1), 0.25, dtype=np.float32) * (1 + np.arange(len(seen))[:, None])


@pytest.mark.parametrize("cost", [told, moved])
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_a_cost_is_given_what_it_asks_for(cost, mode):
    played = collect(vector(mode), act, 6, 0, told=True)
    here = EpisodeViolation(limit(cost), played).values(np.array([[0.5]]))
    np.testing.assert_allclose(here, EpisodeViolation(limit(own), played).values(np.array([[0.5]])), rtol=1e-6)
    assert here[0, 0] == pytest.approx(0.5 * (1 + 0.5 + 0.25 + 0.125) - 1, rel=1e-6)
    there = EpisodeViolation(limit(cost, tensors=True), played, torch.device("cpu"))
    assert there.on_device is not None
    np.testing.assert_allclose(there.values(np.array([[0.5]])), here, rtol=1e-6)


@pytest.mark.parametrize("cost", [told, moved])
def test_it_is_learned_from_and_certified(cost):
    agent = rl.SICPPO(vector(), limit(cost), episodes=6, hidden=(8,), device="cpu")
    agent.learn(100, evaluate_every=2)
    assert agent.history[0].violation > -1
    played = collect(vector(), act, 300, 0, told=True)
    found, plain = (rl.certify(limit(each, lipschitz=(0.0, 0.0)), played) for each in (cost, own))
    assert found.bound == pytest.approx(plain.bound, rel=1e-5)


@pytest.mark.parametrize("cost", [told, moved])
def test_environments_of_tensors_tell_as_well(cost):
    env = Drifts(5, device="cpu", max_episode_steps=LENGTH)
    agent = rl.SICPPO(env, limit(cost, tensors=True), episodes=5, hidden=(8,), device="cpu")
    agent.learn(60, evaluate_every=2)
    evaluation = agent.world.evaluate(agent.state)
    assert isinstance(evaluation.violation.episodes, Rollout)
    same = EpisodeViolation(limit(own), evaluation.violation.episodes.host()).values(np.array([[0.5]]))
    np.testing.assert_allclose(evaluation.violation.values(np.array([[0.5]])), same, rtol=1e-5)


def test_what_is_not_known_is_asked_for_in_vain():
    assert (limit(told).asks, limit(moved).asks, limit(own).asks) == (("info",), ("next_obs",), ())
    with pytest.raises(lsip.ModelError, match="asks for info, which are not known here"):
        limit(told).steps(np.zeros((1, 1)), np.zeros((2, 1)), np.zeros((2, 1)))
    for other in (3, [("info", {})], sparse.dok_array(np.eye(2))):
        with pytest.raises(lsip.ModelError, match=r"asks for is {name: values}"):
            limit(told).steps(np.zeros((1, 1)), np.zeros((2, 1)), np.zeros((2, 1)), other)
    with pytest.raises(lsip.ModelError, match="the cost asks for next_obs"):
        rl.WorstPoint(limit(moved))
    with pytest.raises(lsip.ModelError, match=r"cost.* is called as"):
        rl.SICPPO(vector(), limit(lambda y, observations, info: y))
