"""Trust-region policy optimisation: the natural direction, as far as a bound on the divergence allows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from .. import validation
from ..flat import Memory
from ..policies import Policy, flat_parameters, set_flat_parameters
from .base import Batch, Numbers, check_counts, settled
from .fisher import conjugate_gradients, fisher_product
from .pg import value_gradient
from .sampling import Paths


@dataclass(frozen=True)
class TRPO:
    """The longest step along F^-1 g of divergence at most `radius` times alpha, halved until the surrogate improves.

    Parameters
    ----------
    paths, horizon, trace
        What a tabular model is sampled for, see `Paths`.
    radius
        Bound on the mean divergence of one step, for a learning rate of one.
    iterations, damping
        Of the conjugate gradients; damping is added to the diagonal of F.
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
        check_counts(iterations=self.iterations, halvings=self.halvings)
        validation.number("damping", self.damping, "nonnegative")
        validation.number("radius", self.radius, "positive")
        _ = self.sampling  # checks the rest

    @property
    def sampling(self) -> Paths:
        """What a step on a tabular model needs."""
        return Paths(self.paths, self.horizon, self.trace)

    def step(self, policy: Policy, batch: Batch, rate: float, rng: np.random.Generator, memory: Memory) -> Numbers:
        radius, (seen, weights) = self.radius * rate, batch.visited
        before = {k: v.detach() for k, v in policy.describe(seen).items()}
        fisher = fisher_product(policy, batch, self.damping)
        direction = conjugate_gradients(fisher, value_gradient(policy, batch), self.iterations)
        curvature = direction @ fisher(direction)
        step = direction * torch.where(curvature > 0, torch.sqrt(2 * radius / curvature), 0.0)
        start, gains = flat_parameters(policy), batch.weights * batch.advantages
        none = torch.zeros_like(curvature)
        taken, found = torch.zeros_like(none, dtype=torch.bool), [torch.zeros_like(step), none, none]
        for _ in range(self.halvings):
            set_flat_parameters(policy, start + step)
            with torch.no_grad():
                change = policy.log_prob(batch.observations, batch.actions) - batch.log_probs
                gain = (gains * torch.expm1(change)).sum()
                divergence = (weights * policy.divergence(seen, before)).sum()
            good = (gain > 0) & (divergence <= radius) & ~taken
            tried = (step, divergence, -gain)
            found = [torch.where(good, new, old) for new, old in zip(tried, found, strict=True)]
            taken, step = taken | good, 0.5 * step
            if settled(taken):
                break
        set_flat_parameters(policy, start + found[0])
        return {"step": found[0].abs().max(), "kl": found[1], "loss": found[2]}
