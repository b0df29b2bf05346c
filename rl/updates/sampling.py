"""What an update of a tabular policy draws for one step: paths with a critic, or pairs with two paths each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .. import validation
from ..advantage import gae
from ..policies import Policy
from ..simulator import Draw, Simulator, TabularSimulator, rollout, walk
from .base import Batch, check_counts

Array = NDArray[np.float64]
Ints = NDArray[np.intp]


@dataclass(frozen=True)
class AdvantageTuning:
    """What counts as an advantage.

    Parameters
    ----------
    noise
        Advantages below this, relative to the values that they are differences of, are rounding.
    """

    noise: float = 1e-12


TUNING = AdvantageTuning()


@dataclass(frozen=True, eq=False)
class Sample:
    """Visited pairs with advantages; weights are those of the discounted occupancy, of sum one."""

    states: Ints  # (N,)
    actions: Ints  # (N,)
    advantages: Array  # (N,)
    weights: Array  # (N,)

    def batch(self, policy: Policy, features: Tensor, horizon: float) -> Batch:
        """The same on the policy's device; features (S, …) are what it observes in each state."""
        device, kind = features.device, next(policy.parameters()).dtype
        seen = features[torch.as_tensor(self.states, device=device)]
        actions = torch.as_tensor(self.actions, device=device)
        often = np.bincount(self.states, self.weights, minlength=len(features))
        advantages, weights, mass = (
            torch.as_tensor(part.astype(np.float32 if kind == torch.float32 else np.float64), device=device)
            for part in (self.advantages, self.weights, often)
        )
        with torch.no_grad():
            log_probs = policy.log_prob(seen, actions)
        return Batch(seen, actions, advantages, weights, log_probs, horizon, (features, mass))


class Sampling(Protocol):
    """A way to draw what a step needs."""

    def draw(self, simulator: Simulator, policy: Array, criterion: Array, rng: np.random.Generator) -> Sample:
        """Under a policy (S, A), for a criterion (S, A)."""


@dataclass(frozen=True)
class Paths:
    """Paths, with generalised advantage estimates.

    The critic is a table: what temporal differences on the sampled transitions converge to.

    Parameters
    ----------
    paths, horizon
        How many, and how long.
    trace
        lambda of the advantage estimates.
    """

    paths: int = 1000
    horizon: int = 50
    trace: float = 0.95

    def __post_init__(self) -> None:
        check_counts(paths=self.paths, horizon=self.horizon)
        validation.number("trace", self.trace, "share")

    def draw(self, simulator: Simulator, policy: Array, criterion: Array, rng: np.random.Generator) -> Sample:
        gamma = simulator.specification.gamma
        pairs = rollout(simulator, policy, self.horizon + 1, rng, count=self.paths)
        states, actions = np.divmod(pairs, policy.shape[1])
        rewards = criterion[states[:-1], actions[:-1]]
        values = _critic(states, rewards, len(policy), gamma)
        advantages = gae(rewards, values[states[:-1]], values[states[-1]], gamma, self.trace).numpy()
        if np.abs(advantages).max() <= TUNING.noise * (1 + np.abs(criterion).max()) / (1 - gamma):
            advantages = np.zeros_like(advantages)  # no action is better than another
        weights = np.repeat(gamma ** np.arange(self.horizon), self.paths)
        return Sample(states[:-1].ravel(), actions[:-1].ravel(), advantages.ravel(), weights / weights.sum())


def _critic(states: Ints, rewards: Array, count: int, gamma: float) -> Array:
    """V(s) by temporal differences on the sampled transitions: what TD(0) converges to on them."""
    here, there = states[:-1].ravel(), states[1:].ravel()
    moves = np.zeros((count, count))
    np.add.at(moves, (here, there), 1.0)
    seen = np.bincount(here, minlength=count)
    mean = np.bincount(here, rewards.ravel(), minlength=count) / np.maximum(seen, 1)
    values: Array = np.linalg.solve(np.eye(count) - gamma * moves / np.maximum(seen, 1)[:, None], mean).astype(float)
    return values


@dataclass(frozen=True)
class Pairs:
    """Pairs (s, a) from the discounted occupancy, each with two paths: one from (s, a) for Q, one from s for V.

    Parameters
    ----------
    samples, horizon
        How many pairs, and how long their paths are.
    """

    samples: int = 1000
    horizon: int = 100

    def __post_init__(self) -> None:
        check_counts(samples=self.samples, horizon=self.horizon)

    def draw(self, simulator: Simulator, policy: Array, criterion: Array, rng: np.random.Generator) -> Sample:
        gamma, K = simulator.specification.gamma, self.samples
        s, a = _occupied(simulator, policy, K, rng)
        starts, first = np.concatenate([s, s]), np.concatenate([a, np.full(K, -1)])
        values, weight, worth = np.zeros(2 * K), 1.0, criterion.ravel()
        for pair in walk(simulator, policy, self.horizon, rng, states=starts, actions=first):
            values += weight * worth.take(pair)
            weight *= gamma
        return Sample(s, a, values[:K] - values[K:], np.full(K, 1 / K))


def _occupied(simulator: Simulator, policy: Array, count: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Pairs drawn from the discounted occupancy: by its solution where the model is known, else at a geometric time."""
    S, A = policy.shape
    if isinstance(simulator, TabularSimulator):
        q = np.maximum(simulator.mdp.occupancy(policy).ravel(), 0.0)
        pair = rng.choice(S * A, size=count, p=q / q.sum())
        return pair // A, pair % A
    stop = rng.geometric(1 - simulator.specification.gamma, size=count) - 1
    states, act = np.array(simulator.reset(count, rng)), Draw(policy)
    for t in range(int(stop.max())):
        going = np.flatnonzero(stop > t)
        states[going] = simulator.step(states[going], act(states[going], rng), rng)
    return states, act(states, rng)
