"""What every policy update speaks: one step of a policy, up or down the value of one criterion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from .. import validation
from ..advantage import gae
from ..policies import Categorical, SoftmaxTable, flat_gradient
from ..simulator import Simulator, rollout

Array = NDArray[np.float64]
NOISE = 1e-12  # advantages below this, relative to the values they are differences of, are rounding


@dataclass(frozen=True, eq=False)
class Learner:
    """A policy in its world: what an update works on."""

    simulator: Simulator
    policy: Categorical
    features: torch.Tensor  # (S, …), what the policy observes in each state

    def table(self) -> Array:
        """pi(a | s) for all states: (S, A)."""
        if isinstance(self.policy, SoftmaxTable):  # small enough that calling torch would be most of the work
            logits = self.policy.theta.detach().cpu().numpy()
            weights: Array = np.exp(logits - logits.max(axis=1, keepdims=True))
            return weights / weights.sum(axis=1, keepdims=True)
        with torch.no_grad():
            probabilities = self.policy.log_probs(self.features).exp().to("cpu", torch.float64).numpy()
        return probabilities / probabilities.sum(axis=1, keepdims=True)


class Update(Protocol):
    """A way to improve a policy."""

    def step(
        self, learner: Learner, criterion: Array, sign: float, rate: float, rng: np.random.Generator
    ) -> dict[str, float]:
        """Move the policy's parameters to raise (sign 1) or lower (sign -1) the value of a criterion b (S, A).

        `rate` is the learning rate alpha of the algorithm; what is returned are numbers that tell of the step.
        """


@dataclass(frozen=True, eq=False)
class Batch:
    """Visited pairs with advantages; weights are those of the discounted occupancy, of sum one."""

    states: NDArray[np.intp]  # (N,)
    actions: NDArray[np.intp]  # (N,)
    advantages: Array  # (N,)
    weights: Array  # (N,)


def collect(
    simulator: Simulator,
    policy: Array,
    criterion: Array,
    paths: int,
    horizon: int,
    trace: float,
    rng: np.random.Generator,
) -> Batch:
    """Paths under a policy (S, A), with generalised advantage estimates of a criterion (S, A).

    The critic is a table: the mean over all visits of the discounted sums that followed, closed by its own value at
    the end of the path.
    """
    gamma = simulator.specification.gamma
    pairs = rollout(simulator, policy, horizon + 1, rng, count=paths)
    states, actions = np.divmod(pairs, policy.shape[1])
    rewards = criterion[states[:-1], actions[:-1]]
    values = _critic(states, rewards, len(policy), gamma)
    advantages = gae(rewards, values[states[:-1]], values[states[-1]], gamma, trace)
    weights = np.repeat(gamma ** np.arange(horizon), paths)
    return Batch(states[:-1].ravel(), actions[:-1].ravel(), advantages.ravel(), weights / weights.sum())


def _critic(states: NDArray[np.intp], rewards: Array, count: int, gamma: float) -> Array:
    """V(s) by temporal differences on the sampled transitions: what TD(0) converges to on them."""
    one = np.eye(count)
    here, there = states[:-1].ravel(), states[1:].ravel()
    moves = np.zeros((count, count))
    np.add.at(moves, (here, there), 1.0)
    seen = np.bincount(here, minlength=count)
    mean = np.bincount(here, rewards.ravel(), minlength=count) / np.maximum(seen, 1)
    values: Array = np.linalg.solve(one - gamma * moves / np.maximum(seen, 1)[:, None], mean).astype(float)
    return values


def tensors(learner: Learner, batch: Batch) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Observations, actions, advantages and weights on the policy's device."""
    device, kind = learner.features.device, next(learner.policy.parameters()).dtype
    states = torch.as_tensor(batch.states, device=device)
    return (
        learner.features[states],
        torch.as_tensor(batch.actions, device=device),
        torch.as_tensor(batch.advantages, dtype=kind, device=device),
        torch.as_tensor(batch.weights, dtype=kind, device=device),
    )


def policy_gradient(
    learner: Learner, seen: torch.Tensor, actions: torch.Tensor, weighted: torch.Tensor
) -> torch.Tensor:
    """The gradient of the value, by all parameters, from advantages that are weighted by the occupancy."""
    surrogate = (weighted * learner.policy.log_prob(seen, actions)).sum()
    return flat_gradient(surrogate, learner.policy) / (1 - learner.simulator.specification.gamma)


def check_counts(**counts: int) -> None:
    """Positive integers, or a clear error."""
    for name, value in counts.items():
        validation.count(name, value)
