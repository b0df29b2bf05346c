"""Rows of a program whose slacks lie in cones, block by block."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..expressions.interval import EPS, TINY, Interval, down, up
from .base import Array, Cone, Mask


@dataclass(frozen=True, eq=False)
class ConeRows:
    """b - A x lies in the product of the cones, in this order."""

    A: sparse.csr_matrix  # (q, n)
    b: Array  # (q,)
    cones: tuple[Cone, ...]

    def __len__(self) -> int:
        return len(self.b)

    @cached_property
    def groups(self) -> tuple[tuple[Cone, NDArray[np.intp]], ...]:
        """Every kind of cone, and the rows (k, size) of all blocks of that kind."""
        return grouped(self.cones)

    def recession(self) -> ConeRows:
        """The same for directions: -A d lies in the cones."""
        return replace(self, b=np.zeros(len(self)))

    def slack(self, x: Array, box: Array | None = None) -> Interval:
        """b - A x for every x within the box, outward rounded; exactly zero where it is."""
        size, terms = abs(self.A), np.diff(self.A.indptr) + 5.0
        value = self.b - self.A @ x
        doubt = terms * EPS * (size @ np.abs(x) + np.abs(self.b)) + terms * TINY
        wide = np.zeros(len(self)) if box is None else size @ box
        doubt = doubt + wide * (1 + terms * EPS)
        lo, hi = down(value - doubt, 2.0), up(value + doubt, 2.0)
        for i in np.flatnonzero((wide == 0) & (lo <= 0) & (hi >= 0)):
            if _is_zero(self.A, int(i), x, self.b[i]):
                lo[i] = hi[i] = 0.0
        return Interval(lo, hi)

    def unproven(self, x: Array, box: Array | None = None) -> int:
        """In how many cones b - A x is not proven to lie for every x within the box."""
        s = self.slack(x, box)
        return sum(int((~cone.contains(s[rows])).sum()) for cone, rows in self.groups)

    def shortfall(self, x: Array) -> float:
        """How much of its centre the worst cone misses at x, measured; zero where none misses any."""
        s = self.b - self.A @ x
        return max(0.0, *(float(cone.shortfall(s[rows]).max()) for cone, rows in self.groups))

    def proves_dual(self, y: Interval) -> bool:
        """Whether all multipliers within y are proven to lie in the dual cones."""
        return all(bool(cone.dual_contains(y[rows]).all()) for cone, rows in self.groups)

    def dual_room(self, y: Array) -> Array:
        """(q,), how far about the multipliers of each block may move within its dual cone."""
        room = np.zeros(len(self))
        for cone, rows in self.groups:
            room[rows] = np.maximum(-cone.dual_shortfall(y[rows]), 0.0)[:, None] / np.sqrt(cone.size)
        return room

    def dual_point(self, y: Array) -> Array:
        """Multipliers next to y that are proven to lie in the dual cones; zero in blocks where none are found."""
        y = y.copy()
        for cone, rows in self.groups:
            y[rows] = _inside(cone, y[rows])
        return y


def grouped(cones: tuple[Cone, ...]) -> tuple[tuple[Cone, NDArray[np.intp]], ...]:
    """Equal cones together, with the rows (k, size) of each."""
    found: dict[Cone, list[NDArray[np.intp]]] = {}
    start = 0
    for cone in cones:
        found.setdefault(cone, []).append(np.arange(start, start + cone.size))
        start += cone.size
    return tuple((cone, np.array(rows)) for cone, rows in found.items())


def _inside(cone: Cone, y: Array, attempts: int = 60) -> Array:
    """Multipliers moved into the dual cone, twice as far at each attempt; zero where all fail."""
    step = np.maximum(cone.dual_shortfall(y), 0.0) + 4 * cone.size * EPS * np.abs(y).max(axis=1) + TINY
    moved, held = y.copy(), np.zeros(len(y), dtype=bool)
    for _ in range(attempts):
        held = held | _held(cone, moved)
        if held.all():
            return moved
        moved = np.where(held[:, None], moved, y + step[:, None] * cone.centre())
        step = 2 * step
    return np.where(held[:, None], moved, 0.0)


def _held(cone: Cone, y: Array) -> Mask:
    return cone.dual_contains(Interval(y, y))


def _is_zero(rows: sparse.csr_matrix, i: int, x: Array, b: float) -> bool:
    """Whether b - row x is zero, in rational numbers."""
    start, end = rows.indptr[i], rows.indptr[i + 1]
    if not np.isfinite(x[rows.indices[start:end]]).all():
        return False
    terms = zip(rows.data[start:end].tolist(), x[rows.indices[start:end]].tolist(), strict=True)
    return sum((Fraction(a) * Fraction(v) for a, v in terms), Fraction(0)) == Fraction(float(b))
