"""An empirical Bernstein inequality: how far an expectation may lie above the mean of a sample.

Let Z_1, …, Z_n be independent with the expectation V and values in [a, b] of width w = b - a, let m be a guess in [a,
b] that was made without them, and 0 < λ < 1. With probability at least 1 - δ,

    V <= mean Z_i + w log(1/δ) / (λ n) + ψ(λ) / (λ w) mean (Z_i - m)²,     ψ(λ) = -log(1 - λ) - λ.

Proof. For ξ >= -1, exp(λ ξ - ψ(λ) ξ²) <= 1 + λ ξ (Fan, Grama and Liu, 2015). With ξ = (m - Z_i) / w, expectations of
both sides give E exp(λ ξ - ψ(λ) ξ²) <= 1 + λ (m - V) / w <= exp(λ (m - V) / w), that is

    E exp(λ (V - Z_i) / w - ψ(λ) (Z_i - m)² / w²) <= 1.

The product over i has an expectation of at most 1, too; by Markov's inequality it stays below 1/δ with probability 1
- δ, and its logarithm is the statement. The products are a supermartingale, so that the statement even holds for all
n at once (Ville): one may stop anywhere. λ may depend on whatever m may depend on, such as a few pilot episodes. For a
mean square s, the sum is smallest where

    λ² / (1 - λ) + log(1 - λ) + λ = w² log(1/δ) / (n s),

whose left-hand side grows from 0 to infinity.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq


@dataclass(frozen=True)
class EmpiricalBernstein:
    """The inequality, for the λ that is best for a mean square that was guessed.

    Parameters
    ----------
    fastest
        The largest λ: next to 1 it is best for samples that hardly vary, and bad where rare costs were not in the
        pilot.
    """

    fastest: float = 0.9

    def rate(self, width: float, n: int, log_inverse: float, square: float) -> float:
        """λ, where log(1/δ) is `log_inverse` and `square` what mean (Z_i - m)² may be."""
        wanted = width * width * log_inverse

        def above(rate: float) -> float:
            return float(n * square * (rate * rate / (1 - rate) + np.log1p(-rate) + rate) - wanted)

        return self.fastest if above(self.fastest) <= 0 else float(brentq(above, 0.0, self.fastest, xtol=1e-12))

    def terms(self, width: float, n: int, log_inverse: float, rate: float) -> tuple[float, float]:
        """The constant, and the factor of the mean square."""
        if not width:
            return 0.0, 0.0
        return width * log_inverse / (rate * n), float(-np.log1p(-rate) - rate) / (rate * width)
