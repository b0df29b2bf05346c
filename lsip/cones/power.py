"""The power cone: prod x_i^a_i >= |z| with x >= 0, for exponents a > 0 that sum to 1.

Its dual: prod (u_i / a_i)^a_i >= |w| with u >= 0. Floats hardly ever sum to 1: what is meant are the exponents next to
those given that do, and what is proven holds for all exponents that are so near.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import ClassVar

import numpy as np

from ..errors import ModelError
from ..expressions.interval import EPS, Interval, down, magnitudes, up
from .base import Array, Mask, crossing, enclosed

ROUNDED_ULPS = 4.0  # by which exponents may be rounded, besides what their sum misses 1 by
MOST_MISSED = 1e-9  # what their sum misses 1 by at most; beyond, exponents are wrong, and not rounded


@dataclass(frozen=True)
class Power:
    """(x, z) with prod x_i^a_i >= |z|."""

    kind: ClassVar[str] = "power"
    exponents: tuple[float, ...]

    def __post_init__(self) -> None:
        if not min(self.exponents, default=0.0) > 0 or not abs(fsum(self.exponents) - 1.0) <= MOST_MISSED:
            raise ModelError(f"The exponents of a power cone are positive and sum to 1; got {self.exponents}.")

    @property
    def size(self) -> int:
        return len(self.exponents) + 1

    def centre(self) -> Array:
        return np.append(np.ones(self.size - 1), 0.0)

    def enclosed(self) -> Interval:
        """The exponents that sum to 1."""
        a = np.array(self.exponents)
        ulps = ROUNDED_ULPS + 2 * abs(fsum(self.exponents) - 1.0) / EPS
        return Interval(down(a, ulps), up(a, ulps))

    def contains(self, s: Interval) -> Mask:
        return self._proves(s, None)

    def dual_contains(self, y: Interval) -> Mask:
        return self._proves(y, enclosed("log", self.enclosed()))

    def _proves(self, s: Interval, less: Interval | None) -> Mask:
        """In logarithms: sum a_i (log x_i - less_i) >= log |z|."""
        x, z = s[:, :-1], magnitudes(s[:, -1])[1]
        with np.errstate(all="ignore"):
            terms = enclosed("log", x)
            terms = terms if less is None else terms - less
            held = (self.enclosed() * terms).sum().lo >= enclosed("log", Interval(z, z.copy())).hi
        inside: Mask = (x.lo >= 0).all(axis=1) & ((z == 0) | ((x.lo > 0).all(axis=1) & held))
        return inside

    def shortfall(self, s: Array) -> Array:
        return self._least_step(s, np.ones(self.size - 1))

    def dual_shortfall(self, y: Array) -> Array:
        return self._least_step(y, np.array(self.exponents))

    def _least_step(self, points: Array, units: Array) -> Array:
        x, z, a = points[:, :-1], np.abs(points[:, -1]), np.array(self.exponents)
        size = np.abs(points).max(axis=1)
        known = np.isfinite(size)

        def inside(t: Array) -> Mask:
            moved = (x + t[:, None]) / units
            least = moved.min(axis=1)
            return (least >= 0) & ((z == 0) | ((least > 0) & (np.log(moved) @ a >= np.log(z))))

        with np.errstate(all="ignore"):
            step = crossing(inside, 2 * np.where(known, size, 0.0))
        return np.where(known, step, np.inf)
