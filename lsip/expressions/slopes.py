"""Formulas that are affine in the index, as numbers: values at the origin, and the slopes that are not zero.

A decision rule has hundreds of coefficients, each of which is multiplied by one coordinate of the index. So slopes are
kept as triplets, and a formula that is not affine is found on the way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .interval import Interval, Matrix
from .operands import Ints
from .triplets import moved


@dataclass(frozen=True, eq=False)
class Slopes:
    """`size` numbers that are affine in the index: value (size,), and slopes at (row, axis), each place once."""

    value: Interval
    row: Ints
    axis: Ints
    slope: Interval

    @staticmethod
    def none(value: Interval) -> Slopes:
        """Numbers that do not depend on the index."""
        nowhere = np.zeros(0, dtype=np.intp)
        return Slopes(value, nowhere, nowhere, Interval.point(np.zeros(0)))

    @property
    def size(self) -> int:
        return int(self.value.shape[0])

    def gathered(self, index: Ints) -> Slopes:
        """Rows in any arrangement."""
        row, entry = moved(self.row, self.size, index)
        return Slopes(self.value[index], row, self.axis[entry], self.slope[entry])

    def spread(self, size: int) -> Slopes:
        """One row as many equal ones, where so many are asked for."""
        return self if self.size == size else self.gathered(np.zeros(size, dtype=np.intp))

    def scaled(self, factor: Interval) -> Slopes:
        """Every row times its factor."""
        slope = self.slope * factor[self.row]
        left = np.flatnonzero((slope.lo != 0) | (slope.hi != 0))
        return Slopes(self.value * factor, self.row[left], self.axis[left], slope[left])


def _joined(parts: list[Interval]) -> Interval:
    """Intervals one after another; points where all are."""
    lo = np.concatenate([p.lo for p in parts])
    return Interval(lo, lo if all(p.exact for p in parts) else np.concatenate([p.hi for p in parts]))


def _totals(group: Ints, terms: Interval) -> tuple[Ints, Interval]:
    """Sums of the terms of every group, and the groups, sorted; a term that is alone stays as it is."""
    order = np.argsort(group, kind="stable")
    found, start, count = np.unique(group[order], return_index=True, return_counts=True)
    terms = terms[order]
    if len(found) == len(group):
        return found, terms
    lo = terms.lo[start]
    hi = lo if terms.exact else terms.hi[start]
    for width in np.unique(count[count > 1]).tolist():
        some = np.flatnonzero(count == width)
        total = terms[start[some][:, None] + np.arange(width)].sum()
        if not total.exact and hi is lo:
            hi = lo.copy()
        lo[some] = total.lo
        if hi is not lo:
            hi[some] = total.hi
    return found, Interval(lo, hi)


def added(a: Slopes, b: Slopes, m: int) -> Slopes:
    """a + b, row by row."""
    place = np.concatenate([a.row * m + a.axis, b.row * m + b.axis])
    place, slope = _totals(place, _joined([a.slope, b.slope]))
    return Slopes(a.value + b.value, place // m, place % m, slope)


def multiplied(a: Slopes, b: Slopes, m: int) -> Slopes | None:
    """a b, row by row, where one of them does not depend on the index."""
    if len(a.row) and len(b.row):
        if len(np.intersect1d(a.row, b.row)):
            return None
        both, other = a.scaled(b.value), b.scaled(a.value)
        return added(both, Slopes(Interval.point(np.zeros(b.size)), other.row, other.axis, other.slope), m)
    return a.scaled(b.value) if len(a.row) else b.scaled(a.value)


def run_totals(u: Slopes, k: int, m: int) -> Slopes:
    """Sums of k rows that follow each other."""
    place, slope = _totals((u.row // k) * m + u.axis, u.slope)
    return Slopes(u.value.reshape(-1, k).sum(), place // m, place % m, slope)


def combined(matrix: Matrix, u: Slopes, m: int) -> Slopes:
    """A constant matrix applied to the rows."""
    table: Any = sparse.coo_array(matrix)
    new, entry = moved(u.row, u.size, table.col.astype(np.intp))
    terms = u.slope[entry] * table.data[new]
    place, slope = _totals(table.row[new].astype(np.intp) * m + u.axis[entry], terms)
    return Slopes(u.value.reshape(1, -1).linear(matrix)[0], place // m, place % m, slope)


def appended(parts: list[Slopes]) -> Slopes:
    """Rows one after another."""
    starts = np.cumsum([0] + [u.size for u in parts])
    row = np.concatenate([u.row + s for u, s in zip(parts, starts.tolist(), strict=False)])
    axis = np.concatenate([u.axis for u in parts])
    return Slopes(_joined([u.value for u in parts]), row, axis, _joined([u.slope for u in parts]))
