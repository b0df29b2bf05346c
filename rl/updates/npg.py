"""The sample-based natural policy gradient of the paper: projected stochastic gradient descent.

What it minimises is

    E over (s, a) ~ nu of ((1 - gamma) w . grad log pi(a | s) - A(s, a))^2,

so that w approaches 1 / (1 - gamma) times the best fit of the advantages. Each step takes one pair and two fresh paths;
a weighted average of the iterates is the direction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

import lsip

from .. import validation
from ..policies import SoftmaxTable, flat_parameters, set_flat_parameters
from ..simulator import Draw, Simulator, TabularSimulator, walk
from .base import Learner, check_counts

Array = NDArray[np.float64]


@dataclass(frozen=True)
class NPG:
    """Algorithm "Sample-based NPG".

    Parameters
    ----------
    samples, horizon
        K_sgd pairs, each with two paths of H steps: one from (s, a) for Q, one from s for V.
    radius
        W: the iterates stay in a ball of this radius.
    steps
        "decreasing": eta_k = 1 / (k + 1); "constant": eta_k = 1, as printed, which need not converge.
    """

    samples: int = 1000
    horizon: int = 100
    radius: float = 1000.0
    steps: str = "decreasing"

    def __post_init__(self) -> None:
        check_counts(samples=self.samples, horizon=self.horizon)
        validation.number("radius", self.radius, "positive")
        if self.steps not in ("decreasing", "constant"):
            raise lsip.ModelError(f'`steps` is "decreasing" or "constant"; got {self.steps!r}.')

    def step(
        self, learner: Learner, criterion: Array, sign: float, rate: float, rng: np.random.Generator
    ) -> dict[str, float]:
        table = learner.table()
        pairs, advantages = self.advantages(learner.simulator, table, criterion, rng)
        if isinstance(learner.policy, SoftmaxTable):
            direction = self._for_table(table, *pairs, advantages, 1 - learner.simulator.specification.gamma)
            moved = torch.as_tensor(direction, device=learner.features.device)
            with torch.no_grad():
                learner.policy.theta.add_(moved, alpha=sign * rate)
            return {"step": float(np.abs(direction).max()) * rate}
        gradients = (1 - learner.simulator.specification.gamma) * _gradients(learner, *pairs)
        found = self._sequential(gradients, advantages)
        theta = flat_parameters(learner.policy)
        set_flat_parameters(learner.policy, theta + sign * rate * torch.as_tensor(found).to(theta))
        return {"step": float(np.abs(found).max()) * rate}

    def advantages(
        self, simulator: Simulator, policy: Array, criterion: Array, rng: np.random.Generator
    ) -> tuple[tuple[NDArray[np.intp], NDArray[np.intp]], Array]:
        """Pairs (s, a) drawn from the discounted occupancy, and an estimate of the advantage at each."""
        spec, K = simulator.specification, self.samples
        s, a = _occupied(simulator, policy, K, rng)
        starts = np.concatenate([s, s])
        first = np.concatenate([a, np.full(K, -1)])
        values, weight, worth = np.zeros(2 * K), 1.0, criterion.ravel()
        for pair in walk(simulator, policy, self.horizon, rng, states=starts, actions=first):
            values += weight * worth.take(pair)
            weight *= spec.gamma
        return (s, a), values[:K] - values[K:]

    def _rates(self) -> Array:
        k = np.arange(self.samples)
        return 1.0 / (k + 1) if self.steps == "decreasing" else np.ones(self.samples)

    def _for_table(self, policy: Array, s: NDArray[np.intp], a: NDArray[np.intp], target: Array, scale: float) -> Array:
        """For a softmax table, a step changes the row of its own state only: all states go on side by side."""
        S, A = policy.shape
        K = self.samples
        k = np.arange(K)
        rates = self._rates()
        order = np.argsort(s, kind="stable")
        counts = np.bincount(s, minlength=S)
        rank = np.empty(K, dtype=np.intp)
        rank[order] = k - np.repeat(np.cumsum(counts) - counts, counts)
        depth = int(counts.max())
        # (depth, S) tables of each state's samples, in order; a rate of zero where a state has fewer.
        rate, goal = np.zeros((depth, S)), np.zeros((depth, S))
        choice, when = np.zeros((depth, S), dtype=np.intp), np.full((depth + 1, S), K)
        rate[rank, s], goal[rank, s], choice[rank, s], when[rank, s] = rates, target, a, k
        gradients = scale * (np.eye(A)[choice] - policy)  # (depth, S, A)
        # w^(k+1), made at step k, counts with the weights of k + 1 up to the next change of its row.
        done = when * (when + 1.0) / (K * (K + 1.0))
        share = (done[1:] - done[:-1])[..., None]
        steps = 2 * rate[..., None] * gradients
        pull = steps * goal[..., None]
        w = np.zeros((S, A))
        total = np.zeros((S, A))
        largest = np.zeros(S)
        for j in range(depth):
            g = gradients[j]
            w = w - steps[j] * (w * g).sum(axis=1, keepdims=True) + pull[j]
            total += share[j] * w
            np.maximum(largest, (w * w).sum(axis=1), out=largest)
        if largest.sum() > self.radius**2:  # the ball may have mattered, and it ties the states together
            full = np.zeros((K, S, A))
            full[k, s] = scale * (np.eye(A)[a] - policy[s])
            return self._sequential(full.reshape(K, -1), target).reshape(S, A)
        return total

    def _sequential(self, gradients: Array, target: Array) -> Array:
        """The algorithm as it is written, for gradients (K, d)."""
        K, d = gradients.shape
        w, total = np.zeros(d), np.zeros(d)
        for k, (g, goal, rate) in enumerate(zip(gradients, target, self._rates(), strict=True)):
            w = w - 2 * rate * (w @ g - goal) * g
            size = float(np.linalg.norm(w))
            if size > self.radius:
                w *= self.radius / size
            total += 2 * (k + 1) / (K * (K + 1)) * w
        return total


def _occupied(
    simulator: Simulator, policy: Array, count: int, rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Pairs drawn from the discounted occupancy: by its solution where the model is known, else at a geometric time."""
    gamma = simulator.specification.gamma
    S, A = policy.shape
    if isinstance(simulator, TabularSimulator):
        q = np.maximum(simulator.mdp.occupancy(policy).ravel(), 0.0)
        pair = rng.choice(S * A, size=count, p=q / q.sum())
        return pair // A, pair % A
    stop = rng.geometric(1 - gamma, size=count) - 1
    states, act = np.array(simulator.reset(count, rng)), Draw(policy)
    for t in range(int(stop.max())):
        going = np.flatnonzero(stop > t)
        states[going] = simulator.step(states[going], act(states[going], rng), rng)
    return states, act(states, rng)


def _gradients(learner: Learner, s: NDArray[np.intp], a: NDArray[np.intp]) -> Array:
    """grad log pi(a | s) for every sample: (K, d)."""
    policy = learner.policy
    names = [name for name, _ in policy.named_parameters()]
    parameters = {name: p.detach() for name, p in policy.named_parameters()}

    def log_prob(values: dict[str, torch.Tensor], feature: torch.Tensor, action: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(policy, values, (feature[None], action[None]))[0]

    each = torch.func.vmap(torch.func.grad(log_prob), in_dims=(None, 0, 0))
    device = learner.features.device
    found = each(parameters, learner.features[torch.as_tensor(s, device=device)], torch.as_tensor(a, device=device))
    flat = torch.cat([found[name].reshape(len(s), -1) for name in names], dim=1)
    return flat.detach().to("cpu", torch.float64).numpy()
