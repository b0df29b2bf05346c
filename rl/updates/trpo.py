"""Trust-region policy optimisation: the natural direction, as far as a bound on the divergence allows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from .. import validation
from ..policies import flat_gradient, flat_parameters, set_flat_parameters
from .base import NOISE, Learner, check_counts, collect, tensors
from .fisher import conjugate_gradients, fisher_product

Array = NDArray[np.float64]


@dataclass(frozen=True)
class TRPO:
    """The longest step along F^-1 g of divergence at most `radius` times alpha, halved until the surrogate improves.

    Parameters
    ----------
    paths, horizon, trace
        As in `PolicyGradient`.
    radius
        Bound on the mean divergence of one step, for a learning rate of one.
    iterations, damping
        As in `FisherNPG`.
    halvings
        How often a step that does not improve is halved before it is given up.
    """

    paths: int = 1000
    horizon: int = 50
    trace: float = 0.95
    radius: float = 0.01
    iterations: int = 20
    damping: float = 1e-4
    halvings: int = 10

    def __post_init__(self) -> None:
        check_counts(paths=self.paths, horizon=self.horizon, iterations=self.iterations, halvings=self.halvings)
        validation.number("trace", self.trace, "share")
        validation.number("damping", self.damping, "nonnegative")
        validation.number("radius", self.radius, "positive")

    def step(
        self, learner: Learner, criterion: Array, sign: float, rate: float, rng: np.random.Generator
    ) -> dict[str, float]:
        policy, radius = learner.policy, self.radius * rate
        batch = collect(learner.simulator, learner.table(), criterion, self.paths, self.horizon, self.trace, rng)
        seen, actions, advantages, weights = tensors(learner, batch)
        gains = sign * weights * advantages
        scale = (1 + float(np.abs(criterion).max())) / (1 - learner.simulator.specification.gamma)
        if float(advantages.abs().max()) <= NOISE * scale:
            return {"step": 0.0, "divergence": 0.0}  # nothing but rounding: no action is better than another
        before = {k: v.detach() for k, v in policy.describe(seen).items()}
        old = policy.log_prob(seen, actions).detach()
        gradient = flat_gradient((gains * policy.log_prob(seen, actions)).sum(), policy)
        fisher = fisher_product(policy, seen, weights, self.damping)
        direction = conjugate_gradients(fisher, gradient, self.iterations)
        curvature = float(direction @ fisher(direction))
        start = flat_parameters(policy)
        if not curvature > 0:
            return {"step": 0.0, "divergence": 0.0}
        step = direction * np.sqrt(2 * radius / curvature)
        for _ in range(self.halvings):
            set_flat_parameters(policy, start + step)
            with torch.no_grad():
                gain = float((gains * torch.exp(policy.log_prob(seen, actions) - old)).sum() - gains.sum())
                divergence = float((weights * policy.divergence(seen, before)).sum())
            if gain > 0 and divergence <= radius:
                return {"step": float(step.abs().max()), "divergence": divergence}
            step = 0.5 * step
        set_flat_parameters(policy, start)
        return {"step": 0.0, "divergence": 0.0}
