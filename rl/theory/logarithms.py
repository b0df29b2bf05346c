"""Counts that no float holds: logarithms of them, and the way back to whole numbers."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

LARGEST = math.log(sys.float_info.max)
SNAP = 1e-12  # a number this close to a whole one, relatively, is that whole one and a rounding error


def _round(x: float) -> float:
    """The nearest whole number, as a float; infinity stays."""
    return float(round(x)) if math.isfinite(x) else x


def log(x: float) -> float:
    """The logarithm, and -inf for nothing."""
    return math.log(x) if x > 0 else -math.inf


def log_sum(a: float, b: float) -> float:
    """log(e^a + e^b)."""
    high, low = max(a, b), min(a, b)
    return high if low == -math.inf else high + math.log1p(math.exp(low - high))


def whole(log_x: float, *, strict: bool = False) -> float:
    """The smallest whole number from 1 on that is at least x (more than x if `strict`); inf if no float holds it."""
    if log_x >= LARGEST:
        return math.inf
    x = math.exp(log_x)
    nearest = _round(x)
    if math.isclose(x, nearest, rel_tol=SNAP):
        return max(1.0, nearest + strict)
    return max(1.0, float(math.ceil(x)))


def power(whole: float, exponent: int) -> float:
    """A power of a whole number; inf if no float holds it."""
    return math.inf if exponent * math.log(whole) >= LARGEST else float(int(whole) ** exponent)


def times(x: float, *counts: int) -> float:
    """A product; inf if no float holds it."""
    log_product = log(x) + sum(math.log(count) for count in counts)
    return math.inf if log_product >= LARGEST else x * math.prod(counts)


def smallest(log_error: Callable[[float], float], log_target: float) -> float:
    """The smallest whole K at which an error that falls with log K is at most the target."""
    low, high = 0.0, 1.0
    if log_error(low) <= log_target:
        return 1.0
    while log_error(high) > log_target:
        low, high = high, 2 * high
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if log_error(middle) <= log_target else (middle, high)
    return whole(high)
