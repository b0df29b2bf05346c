"""The natural policy gradient: by the paper's projected stochastic gradient descent, or by conjugate gradients.

The paper's minimises

    E over (s, a) ~ nu of ((1 - gamma) w . grad log pi(a | s) - A(s, a))^2,

so that w approaches 1 / (1 - gamma) times the best fit of the advantages; each step takes one pair, and a weighted
average of the iterates is the direction. All iterates are combinations w = sum of c_k g_k of the sampled gradients, and
a step needs only inner products of these: the coefficients c solve one triangular system.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from .. import validation
from ..flat import Memory
from ..policies import Policy, flat_gradient, flat_parameters, set_flat_parameters
from .base import Batch, Numbers, check_counts
from .fisher import conjugate_gradients, fisher_product
from .gram import gram
from .pg import value_gradient
from .sampling import Pairs, Paths, Sampling


@dataclass(frozen=True)
class NPG:
    """Algorithm "Sample-based NPG", or theta + alpha F^-1 g with the Fisher matrix of the samples.

    Parameters
    ----------
    samples, horizon
        Of the paper's algorithm: K_sgd pairs, each with two paths of H steps. With conjugate gradients, so many paths.
    radius
        W: the iterates stay in a ball of this radius.
    steps
        "decreasing": eta_k = 1 / (k + 1); "constant": eta_k = 1, as printed, which need not converge.
    gradient
        "scaled" has the factor 1 - gamma of the formula above, as the text before the algorithm says; "printed" leaves
        it out, as in the algorithm itself, so that w approaches the best fit of the advantages.
    solver
        "sgd", the paper's; "cg", conjugate gradients with Fisher-vector products.
    iterations, damping, trace
        Of the conjugate gradients; damping is added to the diagonal of F, and trace is lambda of the advantages.
    """

    samples: int = 1000
    horizon: int = 100
    radius: float = 1000.0
    steps: Literal["decreasing", "constant"] = "decreasing"
    gradient: Literal["scaled", "printed"] = "scaled"
    solver: Literal["sgd", "cg"] = "sgd"
    iterations: int = 20
    damping: float = 1e-4
    trace: float = 0.95

    def __post_init__(self) -> None:
        check_counts(samples=self.samples, horizon=self.horizon, iterations=self.iterations)
        validation.number("radius", self.radius, "positive")
        validation.number("damping", self.damping, "nonnegative")
        validation.number("trace", self.trace, "share")
        choices = {"steps": ("decreasing", "constant"), "gradient": ("scaled", "printed"), "solver": ("sgd", "cg")}
        for name, (one, other) in choices.items():
            validation.choice(name, getattr(self, name), (one, other))

    @property
    def sampling(self) -> Sampling:
        """What a step on a tabular model needs."""
        if self.solver == "cg":
            return Paths(self.samples, self.horizon, self.trace)
        return Pairs(self.samples, self.horizon)

    def step(self, policy: Policy, batch: Batch, rate: float, rng: np.random.Generator, memory: Memory) -> Numbers:
        if self.solver == "cg":
            product = fisher_product(policy, batch, self.damping)
            direction = conjugate_gradients(product, value_gradient(policy, batch), self.iterations)
        else:
            direction = self._descent(policy, self._chosen(batch, rng))
        move = rate * direction
        set_flat_parameters(policy, flat_parameters(policy) + move)
        return {"step": move.abs().max()}

    def _chosen(self, batch: Batch, rng: np.random.Generator) -> Batch:
        """So many samples, in an order; all of them where they have been drawn for this step."""
        N, K = len(batch.actions), self.samples
        if N == K:
            return batch
        generator = torch.Generator(batch.weights.device).manual_seed(int(rng.integers(2**62)))
        mine = torch.multinomial(batch.weights, K, replacement=True, generator=generator)
        names = ("observations", "actions", "advantages", "weights", "log_probs")
        return replace(batch, distinct=None, **{name: getattr(batch, name)[mine] for name in names})

    def _descent(self, policy: Policy, batch: Batch) -> Tensor:
        """The weighted average of the iterates."""
        scale = 1.0 if self.gradient == "printed" else 1 / batch.horizon
        place, inner = gram(policy, batch.observations, batch.actions)
        exact = torch.float32 if inner.device.type == "mps" else torch.float64  # MPS has no larger numbers
        weights = scale * self.coefficients(place, inner.to(exact).mul_(scale**2), batch.advantages.to(exact))
        log_probs = policy.log_prob(batch.observations, batch.actions)
        return flat_gradient((weights.to(log_probs.dtype) * log_probs).sum(), policy)

    def coefficients(self, place: Tensor, inner: Tensor, goals: Tensor) -> Tensor:
        """The average of the iterates as a combination of the K gradients, given their inner products in blocks.

        With u_k = w_k . g_k, the step is c_k = -2 eta_k (u_k - A_k), and u_k the sum of c_j g_j . g_k over j < k.
        """
        K = len(goals)
        k = torch.arange(1, K + 1, dtype=goals.dtype, device=goals.device)
        rates = 2 / k if self.steps == "decreasing" else torch.full_like(k, 2.0)
        nothing = torch.zeros_like(goals[:1])
        rate, pull = (torch.cat([part, nothing])[place] for part in (rates, rates * goals))  # (B, D)
        system = rate[..., None] * inner
        solved = torch.linalg.solve_triangular(system, pull[..., None], upper=False, unitriangular=True)[..., 0]
        coefficients = goals.new_zeros(K + 1)
        coefficients[place] = solved
        lengths = goals.new_zeros(K + 1)
        lengths[place] = torch.diagonal(inner, dim1=1, dim2=2)
        c, lengths = coefficients[:K], lengths[:K]
        # |w + c g|^2 = |w|^2 + 2 c u + c^2 |g|^2 with u = A - c / (2 eta): if no iterate leaves the ball, this is all.
        sizes = torch.cumsum(2 * c * (goals - c / rates) + c * c * lengths, 0)
        if not bool(sizes.max() <= self.radius**2):  # nor is it where numbers overflow
            return self._projected(place, inner, rates, goals)
        tail = 1 - k * (k - 1) / (K * (K + 1.0))  # w_k, and all after it, count with 2 k / (K (K + 1))
        return c * tail

    def _projected(self, place: Tensor, inner: Tensor, rates: Tensor, goals: Tensor) -> Tensor:
        """The same step by step, with the projection on the ball, which shortens all coefficients so far."""
        K = len(goals)
        full = goals.new_zeros(K + 1, K + 1)
        full[place[:, :, None], place[:, None, :]] = inner
        c, total, size = goals.new_zeros(K), goals.new_zeros(K), goals.new_zeros(())
        for k in range(K):
            u = c @ full[k, :K]
            step = -rates[k] * (u - goals[k])
            size = size + 2 * step * u + step * step * full[k, k]
            c[k] += step
            inside = (self.radius / size.clamp(min=0).sqrt()).clamp(max=1.0)
            c, size = c * inside, size * inside**2
            total = total + 2 * (k + 1) / (K * (K + 1)) * c
        return total
