"""Guarantees that agents give for the policy that they return."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

import envs
import lsip
import rl


class Hidden:
    """A simulator that shows its model to nobody."""

    def __init__(self, mdp: rl.SICMDP) -> None:
        self._mdp, self.specification = mdp, mdp.specification

    def reset(self, count: int, rng: np.random.Generator) -> np.ndarray:
        return rng.choice(self._mdp.states, size=count, p=self._mdp.mu)

    def step(self, states: np.ndarray, actions: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        rows = np.cumsum(self._mdp.P[states, actions], axis=1)
        return (rows < rng.random((len(states), 1))).sum(axis=1).clip(max=self._mdp.states - 1)


def test_a_known_model_is_proven() -> None:
    mdp = envs.sewage(states=4, actions=2, seed=1)
    agent = rl.SICPO(mdp, update=rl.NPG(samples=100), evaluation=rl.MonteCarlo(paths=2000), eta=0.05, seed=0).learn(20)
    found = agent.certify()
    worst = mdp.worst_violation(agent.policy)
    assert found.delta == 0
    assert worst.value <= found.bound <= worst.value + 1e-6


def test_a_simulator_is_sampled_and_the_bound_is_above_the_truth() -> None:
    mdp = envs.sewage(states=4, actions=2, seed=1)
    agent = rl.SICPO(Hidden(mdp), update=rl.NPG(samples=100), evaluation=rl.MonteCarlo(paths=1000), eta=0.05, seed=0)
    agent.learn(10)
    truth = mdp.worst_violation(agent.policy).value
    few, many = (agent.certify(episodes=n, seed=3).bound for n in (2000, 30_000))
    assert truth <= many < few


def test_a_network_is_certified_by_fresh_episodes() -> None:
    env = gymnasium.make_vec("lsip/ShipRoute-v0", num_envs=20)
    agent = rl.SICPPO(env, envs.ship.constraint(), seed=0, episodes=20).learn(total_steps=2000)
    with pytest.warns(rl.NoGoodPolicyWarning):
        found = agent.certify(episodes=400, seed=1)
    assert found.episodes == 400
    assert found.bound >= found.mean_violation
    with pytest.raises(lsip.ModelError, match="delta"), pytest.warns(rl.NoGoodPolicyWarning):
        agent.certify(episodes=100, delta=2.0)
