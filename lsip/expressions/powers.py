"""u ** k for constant exponents k: value, enclosure, and three derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import overload

import numpy as np

from .defined import MAYBE, NEVER, SURE, WILD, Doubt
from .interval import EPS, Array, Interval, down, magnitudes, reciprocal, up, widened
from .jets import Numbers

# What np.power may be off by, for all bases and exponents; measured below 1, NumPy's kernels admit 4.
POWER_ULPS = 4.0
FACTOR_ULPS = 4.0  # of k (k - 1) (k - 2), which takes four roundings of half a unit
LARGEST_EXPONENT = 2.0**52  # up to which k - 1, k - 2 and k - 3 are exact, for either sign of a whole k
WHOLE = 2.0**53  # up to which all whole numbers are floats


@overload
def power(u: Interval, k: Array) -> Interval: ...


@overload
def power(u: Array, k: Array) -> Array: ...


def power(u: Numbers, k: Array) -> Numbers:
    """u ** k for exponents that broadcast against u: integers of either sign, other reals where u >= 0."""
    return _enclosed(u, k) if isinstance(u, Interval) else u**k


def _enclosed(u: Interval, k: Array) -> Interval:
    whole = k == np.round(k)
    negative, even, n = k < 0, k % 2 == 0, np.abs(k)
    base = Interval(np.where(whole, u.lo, np.where(u.hi >= 0, np.maximum(u.lo, 0.0), np.nan)), u.hi)
    low, high = magnitudes(base)
    left, right = np.where(even & whole, low, base.lo), np.where(even & whole, high, base.hi)
    a, b = left**n, right**n
    box = widened(a, b, POWER_ULPS)
    lo = np.where((even & whole) | (base.lo >= 0), np.maximum(box.lo, 0.0), box.lo)
    exact = (n == 0) | (n == 1)  # v ** 0 and v ** 1 are computed without error
    # So are powers of 0, which C's pow promises, and conditions such as y**3 >= 0 are asked at.
    result = Interval(np.where(exact | (left == 0), a, lo), np.where(exact | (right == 0), b, box.hi))
    if not negative.any():
        return result
    inverse = reciprocal(result)
    return Interval(np.where(negative, inverse.lo, result.lo), np.where(negative, inverse.hi, result.hi))


def power_doubt(u: Interval, k: Array) -> Doubt:
    """Where u ** k may be undefined: negative bases, and odd negative exponents at zero, whose sign decides there."""
    whole = k == np.round(k)
    found = np.where(whole | (u.lo >= 0), SURE, np.where(u.hi < 0, NEVER, MAYBE))
    # C has inf for (-inf) ** 0.5, NumPy sometimes the square root, which is nan.
    wild = ~whole & (u.lo == -np.inf) | whole & (k < 0) & (k % 2 == 1) & (u.lo <= 0) & (u.hi >= 0)
    return np.where(wild, WILD, found)


def power_first(k: Array) -> Callable[[Numbers, Numbers], Numbers]:
    return _falling(k, k, 1)


def power_second(k: Array) -> Callable[[Numbers, Numbers], Numbers]:
    return _falling(k, k * (k - 1), 2)


def power_third(k: Array) -> Callable[[Numbers, Numbers], Numbers]:
    return _falling(k, k * (k - 1) * (k - 2), 3)


def _falling(k: Array, factor: Array, order: int) -> Callable[[Numbers, Numbers], Numbers]:
    """factor u ** (k - order); the exponent of a vanishing term is 0, so that it stays defined at u = 0.

    Where k is not whole or very large, the factor is rounded; below 1 so is the exponent, which is negative then, and
    changes the power by a multiple of log u.
    """
    lower = np.where(factor == 0, 0.0, k - order)
    if ((k == np.round(k)) & (np.abs(factor) < WHOLE)).all():
        return lambda u, f: factor * power(u, lower)
    doubt = np.where((k < 1) & (k != np.round(k)), 2 * EPS * np.abs(lower), 0.0)

    def derivative(u: Numbers, f: Numbers) -> Numbers:
        if not isinstance(u, Interval):
            return factor * power(u, lower)
        v = power(u, lower)
        if doubt.any():
            low, high = (1.0 + doubt * np.abs(np.log(np.maximum(end, 0.0))) for end in (u.hi, u.lo))
            v = Interval(np.where(doubt > 0, v.lo / low, v.lo), np.where(doubt > 0, v.hi * high, v.hi))
        product = factor * v
        return Interval(down(product.lo, FACTOR_ULPS), up(product.hi, FACTOR_ULPS))

    return derivative
