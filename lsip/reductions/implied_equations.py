"""Equations that two inequalities make of one row: what a family says at a corner of its index set, and its opposite.

A curve between two others that meet at an end, 0 <= p(t) <= t for all t in [0, 1], has p(0) = 0; so has one with
p(t) >= 0 and a finite row p(0) <= 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..deadline import EFFORT
from ..domains import Domain
from ..expressions.ring import Polynomial
from ..model.families import RowFamily
from ..model.program import Program
from ..proof.dual import TUNING as WEIGHING
from .affine_hull import AffineHull, Array, Implied, Row
from .row_polynomials import equations, row_polynomials, sampled_rows


class Corner(NamedTuple):
    """A row of a family at a corner of its index set."""

    family: RowFamily
    row: int
    at: tuple[float, ...]

    @property
    def label(self) -> str:
        place = ", ".join(f"{name} = {v:g}" for name, v in zip(self.family.legend.coordinates, self.at, strict=True))
        return f"{self.family.labels[self.row]} where {place}"

    def exactly(self, n: int) -> Row | None:
        """What it says there, in rational numbers."""
        polynomials = row_polynomials(self.family, self.row)
        if polynomials is None:
            return None
        values = [_value(p, tuple(map(Fraction, self.at))) for p in polynomials]
        return next(iter(equations(values, self.family.columns[self.row].tolist(), n)), {})


def squeezed(program: Program, families: list[RowFamily], hull: AffineHull) -> AffineHull:
    """The hull with what is an equation because opposite inequalities say so."""
    bounded = [f for f in families if is_box(f.domain)]
    count = sum(2**f.domain.dim * len(f.columns) for f in bounded)
    if not bounded or count * (program.n + 1) > EFFORT.batch:
        return hull  # there is nothing to compare, or too much
    places = [(f, corners(f.domain)) for f in bounded]
    known = [Corner(f, i, at) for f, found in places for at in found for i in range(len(f.columns))]
    with np.errstate(all="ignore"):
        sampled = [sampled_rows(f, hull.n, np.array(found)) for f, found in places]
        table = np.concatenate([*(rows.reshape(-1, hull.n + 1) for rows in sampled), _finite(program)])
        left = hull.projected(table)
        left = left / np.abs(left[:, :-1]).max(axis=1, keepdims=True)  # nan, where no variable is left
    for i, j in opposite_pairs(left, len(known)):
        first = known[i].exactly(hull.n)
        second = known[j].exactly(hull.n) if j < len(known) else _fractions(table[j])
        if first is not None and second is not None and _opposite(hull.reduced(first), hull.reduced(second), hull.n):
            hull = hull.extended([first], _source(program, known, i, j, table[j])) or hull
    return hull


def opposite_pairs(rows: Array, first: int) -> Iterator[tuple[int, int]]:
    """One of the `first` rows, and any that is about its negative; rows with nan have none.

    What is opposite has opposite sums, whatever the weights, so only rows are compared that are close by these.
    """
    weights = np.cos(np.arange(rows.shape[1]))
    sums = np.where(np.isnan(rows).any(axis=1), np.inf, np.nan_to_num(rows) @ weights)
    order = np.argsort(sums, kind="stable")
    doubt = 2 * WEIGHING.likely * np.abs(weights).sum()
    ends = (np.searchsorted(sums[order], -sums[:first] + side) for side in (-doubt, doubt))
    for i, (start, end) in enumerate(zip(*ends, strict=True)):
        for j in np.sort(order[start:end]).tolist() if np.isfinite(sums[i]) else ():
            if np.abs(rows[i] + rows[j]).max() <= WEIGHING.likely:
                yield i, j


def _source(program: Program, known: list[Corner], i: int, j: int, opposite: Array) -> Implied:
    """Where the equation of two opposite inequalities comes from: row j of the table, and the corner i."""
    corner = known[i]
    other = known[j] if j < len(known) else None
    return Implied(
        corner.label,
        corner.family,
        corner.row,
        np.array(corner.at),
        opposite=opposite,
        opposite_row=None if other is None else (other.family, other.row, np.array(other.at)),
        opposite_finite=None if other is not None else int(np.flatnonzero(_sided(program))[j - len(known)]),
    )


def is_box(domain: Domain) -> bool:
    """Whether it is one, with all its ends."""
    cells = domain.cells() if domain.bounded else ()
    return len(cells) == 1 and cells[0].inside is None and cells[0].place is None and len(cells[0].lower) == 1


def corners(domain: Domain) -> list[tuple[float, ...]]:
    """Of a box."""
    return list(product(*zip(domain.lower.tolist(), domain.upper.tolist(), strict=True)))


def _value(p: Polynomial, point: tuple[Fraction, ...]) -> Polynomial:
    """Of a polynomial at a point, as a polynomial that does not depend on the index."""
    value = sum((c * prod(v**k for v, k in zip(point, e, strict=True)) for e, c in p.items()), Fraction(0))
    return {(0,) * len(point): value} if value else {}


def _finite(program: Program) -> Array:
    """Finite rows and bounds, one for every side that they have, with that last."""
    matrix, unit = program.A.toarray(), np.eye(program.n)
    rows = np.concatenate([matrix, -matrix, unit, -unit])
    sides = np.concatenate([program.row_upper, -program.row_lower, program.upper, -program.lower])
    return np.column_stack([rows, sides])[_sided(program)]


def _sided(program: Program) -> NDArray[np.bool_]:
    """Which finite rows have an upper side, which a lower one, and which variables have an upper and a lower bound."""
    return np.isfinite(np.concatenate([program.row_upper, program.row_lower, program.upper, program.lower]))


def _fractions(row: Array) -> Row:
    return {j: Fraction(v) for j, v in enumerate(row.tolist()) if v}


def _opposite(a: Row, b: Row, n: int) -> bool:
    """Whether one row is a negative multiple of the other, and has variables."""
    pivot = next((j for j in a if j < n), None)
    if pivot is None or pivot not in b or a[pivot] * b[pivot] > 0:
        return False
    return {j: v / a[pivot] for j, v in a.items()} == {j: v / b[pivot] for j, v in b.items()}
