"""The natural gradient by the Fisher system: F w = g, solved by conjugate gradients without forming F."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from .. import validation
from ..policies import Policy, flat_gradient, flat_parameters, set_flat_parameters
from .base import Learner, check_counts, collect, policy_gradient, tensors

Array = NDArray[np.float64]


@dataclass(frozen=True)
class FisherNPG:
    """theta +- alpha F^-1 g, with g the policy gradient and F the Fisher matrix of the sampled pairs.

    Parameters
    ----------
    paths, horizon, trace
        As in `PolicyGradient`.
    iterations, damping
        Of the conjugate gradients; damping is added to the diagonal of F.
    """

    paths: int = 1000
    horizon: int = 50
    trace: float = 0.95
    iterations: int = 20
    damping: float = 1e-4

    def __post_init__(self) -> None:
        check_counts(paths=self.paths, horizon=self.horizon, iterations=self.iterations)
        validation.number("trace", self.trace, "share")
        validation.number("damping", self.damping, "nonnegative")

    def step(
        self, learner: Learner, criterion: Array, sign: float, rate: float, rng: np.random.Generator
    ) -> dict[str, float]:
        batch = collect(learner.simulator, learner.table(), criterion, self.paths, self.horizon, self.trace, rng)
        seen, actions, advantages, weights = tensors(learner, batch)
        gradient = policy_gradient(learner, seen, actions, weights * advantages)
        fisher = fisher_product(learner.policy, seen, weights, self.damping)
        direction = conjugate_gradients(fisher, gradient, self.iterations)
        set_flat_parameters(learner.policy, flat_parameters(learner.policy) + sign * rate * direction)
        return {"step": rate * float(direction.abs().max())}


def fisher_product(
    policy: Policy, observations: torch.Tensor, weights: torch.Tensor, damping: float
) -> Callable[[torch.Tensor], torch.Tensor]:
    """v -> F v: the curvature of the mean divergence from the policy as it is now."""
    before = {k: v.detach() for k, v in policy.describe(observations).items()}
    divergence = (weights * policy.divergence(observations, before)).sum()
    gradient = flat_gradient(divergence, policy, create_graph=True)

    def product(v: torch.Tensor) -> torch.Tensor:
        return flat_gradient(gradient @ v, policy, retain_graph=True) + damping * v

    return product


def conjugate_gradients(
    product: Callable[[torch.Tensor], torch.Tensor], right: torch.Tensor, iterations: int, tol: float = 1e-10
) -> torch.Tensor:
    """The solution of a positive definite system that is known by its products."""
    x, residual = torch.zeros_like(right), right.clone()
    towards, size = residual.clone(), residual @ residual
    start = float(size)
    for _ in range(iterations):
        if float(size) <= tol * tol * start:
            break
        image = product(towards)
        length = size / (towards @ image)
        x, residual = x + length * towards, residual - length * image
        fresh = residual @ residual
        towards, size = residual + fresh / size * towards, fresh
    return x
