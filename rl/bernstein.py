"""An empirical Bernstein inequality: how far an expectation may lie above the mean of a sample.

Let Z_1, …, Z_n be independent with the expectation V and values in [a, b] of width w = b - a, let m be a guess in [a,
b] that was made without them, and 0 < λ < 1. With probability at least 1 - δ,

    V <= mean Z_i + w log(1/δ) / (λ n) + ψ(λ) / (λ w) mean (Z_i - m)²,     ψ(λ) = -log(1 - λ) - λ.

Proof. For ξ >= -1, exp(λ ξ - ψ(λ) ξ²) <= 1 + λ ξ (Fan, Grama and Liu, 2015). With ξ = (m - Z_i) / w, expectations of
both sides give E exp(λ ξ - ψ(λ) ξ²) <= 1 + λ (m - V) / w <= exp(λ (m - V) / w), that is

    E exp(λ (V - Z_i) / w - ψ(λ) (Z_i - m)² / w²) <= 1.

The product over i has an expectation of at most 1, too; by Markov's inequality it stays below 1/δ with probability 1
- δ, and its logarithm is the statement. The products are a supermartingale, so that the statement even holds for all
n at once (Ville): one may stop anywhere. The best λ is about sqrt(2 log(1/δ) w² / (n mean (Z_i - m)²)); several are
tried, each with its own share of δ.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class EmpiricalBernstein:
    """The inequality, for several λ at once.

    Parameters
    ----------
    fastest
        The largest λ: next to 1 it is best for samples that hardly vary.
    certain
        Its share of δ. The others, which halve from 1/2 on, share the rest, each with half as much as the one before.
    rates
        How many λ there are in all.
    """

    fastest: float = 0.99
    certain: float = 0.75
    rates: int = 9

    @cached_property
    def lambdas(self) -> Array:
        """The λ, largest first."""
        return np.append(self.fastest, 0.5 ** np.arange(1, self.rates))

    @cached_property
    def shares(self) -> Array:
        """Of δ, of sum at most 1."""
        return np.append(self.certain, (1 - self.certain) * 0.5 ** np.arange(1, self.rates))

    def terms(self, width: float, n: int, log_tests: float) -> tuple[Array, Array]:
        """For each λ, the constant and the factor of the mean square, where log(1/δ) is `log_tests`."""
        lam = self.lambdas
        psi = -np.log1p(-lam) - lam
        if not width:
            return np.zeros(self.rates), np.zeros(self.rates)
        return width * (log_tests - np.log(self.shares)) / (lam * n), psi / (lam * width)

    def excess(self, width: float, n: int, log_tests: float, square: float) -> float:
        """How far the expectation may lie above the mean, for the best λ; `square` is the mean of (Z_i - m)²."""
        constant, factor = self.terms(width, n, log_tests)
        return float((constant + factor * square).min())
