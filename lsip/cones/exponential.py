"""The exponential cone: y exp(x / y) <= z with y > 0, and its limit x <= 0 = y <= z.

Its dual: -u exp(v / u - 1) <= w with u < 0, and its limit u = 0 <= v, w.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..expressions.interval import Interval
from .base import Array, Mask, crossing, enclosed


@dataclass(frozen=True)
class Exponential:
    """(x, y, z) with y exp(x / y) <= z."""

    kind: ClassVar[str] = "exponential"
    exponents: ClassVar[tuple[float, ...]] = ()
    size: int = 3

    def centre(self) -> Array:
        return np.array([-1.0, 1.0, 1.0])

    def contains(self, s: Interval) -> Mask:
        x, y, z = s[:, 0], s[:, 1], s[:, 2]
        with np.errstate(all="ignore"):
            held = (y.lo > 0) & ((y * enclosed("exp", x / y)).hi <= z.lo)
        # Where x <= 0, the left-hand side is at most y, however close to zero that is.
        below: Mask = (x.hi <= 0) & (y.lo >= 0) & (y.hi <= z.lo)
        return held | below

    def dual_contains(self, y: Interval) -> Mask:
        u, v, w = y[:, 0], y[:, 1], y[:, 2]
        with np.errstate(all="ignore"):
            held = (u.hi < 0) & ((-u * enclosed("exp", v / u - 1.0)).hi <= w.lo)
        # Where v >= 0, the left-hand side is less than -u.
        below: Mask = (u.hi <= 0) & (v.lo >= 0) & (-u.lo <= w.lo)
        return held | below

    def shortfall(self, s: Array) -> Array:
        return _least_step(s, _holds)

    def dual_shortfall(self, y: Array) -> Array:
        return _least_step(y, _dual_holds)


def _least_step(points: Array, holds: Callable[[Array, Array, Array], Mask]) -> Array:
    x, y, z = points.T
    size = np.abs(points).max(axis=1)
    known = np.isfinite(size)
    with np.errstate(all="ignore"):
        step = crossing(lambda t: holds(x - t, y + t, z + t), 4 * np.where(known, size, 0.0))
    return np.where(known, step, np.inf)


def _exp(v: Array, largest: float = 700.0) -> Array:
    """exp(v), with larger exponents taken for `largest`: not much beyond it a float overflows."""
    found: Array = np.exp(np.minimum(v, largest))
    return found


def _holds(x: Array, y: Array, z: Array) -> Mask:
    inside = (y > 0) & (z > 0) & (y * _exp(x / y) <= z)
    return inside | ((y == 0) & (x <= 0) & (z >= 0))


def _dual_holds(u: Array, v: Array, w: Array) -> Mask:
    inside = (u < 0) & (w > 0) & (-u * _exp(v / u - 1.0) <= w)
    return inside | ((u == 0) & (v >= 0) & (w >= 0))
