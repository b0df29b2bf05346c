"""Equations that two inequalities make of one row: what a family says at an end of an interval, and its opposite.

A curve between two others that meet at an end, 0 <= p(t) <= t for all t in [0, 1], has p(0) = 0; so has one with
p(t) >= 0 and a finite row p(0) <= 0.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from ..expressions.polynomial_division import division
from ..expressions.polynomials import Polynomial
from .affine_hull import TUNING, AffineHull, Array, Row
from .families import DeclaredFamily
from .program import Program
from .row_polynomials import equations, row_polynomials, sampled_rows


class End(NamedTuple):
    """A row of a family at an end of its interval."""

    family: DeclaredFamily
    row: int
    at: float

    @property
    def label(self) -> str:
        return f"{self.family.labels[self.row]} where {self.family.coordinates[0]} = {self.at:g}"

    def exactly(self, n: int) -> Row | None:
        """What it says there, in rational numbers."""
        polynomials = row_polynomials(self.family, self.row)
        if polynomials is None:
            return None
        root: Polynomial = {(0,): Fraction(self.at)} if self.at else {}
        values = [division(p, 0, root)[1] for p in polynomials]
        return next(iter(equations(values, self.family.columns[self.row].tolist(), n)), {})


def squeezed(program: Program, families: list[DeclaredFamily], hull: AffineHull) -> AffineHull:
    """The hull with what is an equation because opposite inequalities say so."""
    flat = [f for f in families if f.domain.dim == 1 and f.domain.bounded and f.domain.convex]
    if not flat:
        return hull
    ends = [
        End(f, i, t) for f in flat for t in (*f.domain.lower.tolist(), *f.domain.upper.tolist()) for i in range(f.count)
    ]
    with np.errstate(all="ignore"):
        sampled = [sampled_rows(f, hull.n, np.array([f.domain.lower, f.domain.upper])) for f in flat]
        table = np.concatenate([*(rows.reshape(-1, hull.n + 1) for rows in sampled), _finite(program)])
        left = hull.projected(table)
        left = left / np.abs(left[:, :-1]).max(axis=1, keepdims=True)  # nan, where no variable is left
        pairs = np.abs(left[: len(ends), None] + left).max(axis=2) <= TUNING.likely
    for i, j in np.argwhere(pairs).tolist():
        first = ends[i].exactly(hull.n)
        second = ends[j].exactly(hull.n) if j < len(ends) else _fractions(table[j])
        if first is not None and second is not None and _opposite(hull.reduced(first), hull.reduced(second), hull.n):
            hull = hull.extended([first], ends[i].label) or hull
    return hull


def _finite(program: Program) -> Array:
    """Finite rows and bounds, one for every side that they have, with that last."""
    matrix, unit = program.A.toarray(), np.eye(program.n)
    rows = np.concatenate([matrix, -matrix, unit, -unit])
    sides = np.concatenate([program.row_upper, -program.row_lower, program.upper, -program.lower])
    return np.column_stack([rows, sides])[np.isfinite(sides)]


def _fractions(row: Array) -> Row:
    return {j: Fraction(v) for j, v in enumerate(row.tolist()) if v}


def _opposite(a: Row, b: Row, n: int) -> bool:
    """Whether one row is a negative multiple of the other, and has variables."""
    pivot = next((j for j in a if j < n), None)
    if pivot is None or pivot not in b or a[pivot] * b[pivot] > 0:
        return False
    return {j: v / a[pivot] for j, v in a.items()} == {j: v / b[pivot] for j, v in b.items()}
