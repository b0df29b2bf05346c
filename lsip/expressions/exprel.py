"""(exp(u) - 1) / u with its removable singularity, and its derivatives up to the sixth.

All of them are integrals, f⁽ⁿ⁾(u) = ∫₀¹ τⁿ exp(τ u) dτ: positive and increasing, so that the values at the ends of an
interval enclose them. For |u| <= 20, series whose terms are all positive have them: with 1 - τ in the place of τ, for
negative u. Beyond, u f⁽ⁿ⁾ + n f⁽ⁿ⁻¹⁾ = exp(u) loses nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .interval import Array, Interval, widened
from .jets import Numbers

EXPREL_ULPS = 64.0  # the error that is declared, for all orders: the series has 90 terms, and 1e-18 is left out


def exprel(u: Numbers, order: int = 0) -> Any:
    """The derivative of that order of (exp(u) - 1) / u, at points or over intervals."""
    if not isinstance(u, Interval):
        return _values(np.asarray(u, dtype=float), order)
    box = widened(_values(u.lo, order), _values(u.hi, order), EXPREL_ULPS)
    return Interval(np.maximum(box.lo, 0.0), box.hi)


def _values(u: Array, order: int) -> Array:
    with np.errstate(all="ignore"):
        edge = 20.0  # where the series is used
        small = np.abs(u) <= edge
        near = np.where(small, u, 0.0)
        far = np.where(small, edge, u)
        return np.where(small, _series(near, order), np.where(u == -np.inf, 0.0, _far(far, order)))


def _series(u: Array, order: int) -> Array:
    """Σ u^k / (k! (k + n + 1)), and exp(u) n! Σ |u|^k / (k + n + 1)! for negative u; by Horner's rule."""
    w = np.abs(u)
    rising, falling = np.zeros_like(w), np.zeros_like(w)
    for k in range(90, 0, -1):  # powers: what is left out is below 1e-18 of the sum
        rising = (rising + 1.0 / (k + order + 1)) * w / k
        falling = (falling + 1.0) * w / (k + order + 1)
    return np.where(u >= 0, rising + 1.0 / (order + 1), np.exp(u) * (falling + 1.0) / (order + 1))


def _far(u: Array, order: int) -> Array:
    # exp(u) / u, which is a double even where exp(u) is too large to be one.
    share = np.exp(u / 2) / u * np.exp(u / 2)
    value = share - 1.0 / u
    for n in range(1, order + 1):
        value = share - n * value / u
    return np.where(u == np.inf, np.inf, value)
