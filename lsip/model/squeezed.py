"""Equations that two inequalities make of one row: what a family says at an end of an interval, and its opposite.

A curve between two others that meet at an end, 0 <= p(t) <= t for all t in [0, 1], has p(0) = 0; so has one with
p(t) >= 0 and a finite row p(0) <= 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from ..expressions.polynomial_division import division
from .affine_hull import TUNING, AffineHull, Array, Row
from .families import DeclaredFamily
from .program import Program
from .row_polynomials import equations, row_polynomials, sampled_rows

Exactly: TypeAlias = Callable[[], Row | None]  # a row a x <= b in rational numbers
Side: TypeAlias = tuple[Array, str, Exactly]  # (n + 1,), the same in floats, and what it is called


def squeezed(program: Program, families: list[DeclaredFamily], hull: AffineHull) -> AffineHull:
    """The hull with what is an equation because opposite inequalities say so."""
    ends = [side for family in families for side in _ends(family, hull.n)]
    if not ends:
        return hull
    others = [*ends, *_finite(program)]
    table = np.array([row for row, _, _ in others])
    table = hull.projected(table)
    size = np.abs(table[:, :-1]).max(axis=1)
    with np.errstate(all="ignore"):
        table = np.where(size[:, None] > 0, table / size[:, None], np.nan)
    for i, (_, label, exactly) in enumerate(ends):
        for j in np.flatnonzero(np.abs(table[i] + table).max(axis=1) <= TUNING.likely).tolist():
            first, second = exactly(), others[j][2]()
            if first is None or second is None or not _opposite(hull.reduced(first), hull.reduced(second), hull.n):
                continue
            hull = hull.extended([first], label) or hull
    return hull


def _opposite(a: Row, b: Row, n: int) -> bool:
    """Whether one row is a negative multiple of the other, and has variables."""
    pivot = next((j for j in a if j < n), None)
    if pivot is None or pivot not in b or a[pivot] * b[pivot] > 0:
        return False
    return {j: v / a[pivot] for j, v in a.items()} == {j: v / b[pivot] for j, v in b.items()}


def _ends(family: DeclaredFamily, n: int) -> Iterator[Side]:
    """What a family says at both ends of an interval."""
    domain = family.domain
    if domain.dim != 1 or not domain.bounded or not domain.convex:
        return
    points = np.array([domain.lower, domain.upper])
    with np.errstate(all="ignore"):
        rows = sampled_rows(family, n, points)
    for place, end in zip(rows, points[:, 0].tolist(), strict=True):
        for i, row in enumerate(place):

            def exactly(i: int = i, end: float = end) -> Row | None:
                polynomials = row_polynomials(family, i)
                if polynomials is None:
                    return None
                root = {(0,): Fraction(end)} if end else {}
                values = [division(p, 0, root)[1] for p in polynomials]
                return next(iter(equations(values, family.columns[i].tolist(), n)), {})

            yield row, f"{family.labels[i]} where {family.coordinates[0]} = {end:g}", exactly


def _finite(program: Program) -> Iterator[Side]:
    """Finite rows and bounds, each with one side."""
    n, matrix = program.n, program.A.toarray()
    sides = [(matrix, program.row_upper), (-matrix, -program.row_lower)]
    sides += [(np.eye(n), program.upper), (-np.eye(n), -program.lower)]
    for rows, side in sides:
        for i in np.flatnonzero(np.isfinite(side)).tolist():
            row = np.append(rows[i], side[i])

            def exactly(row: Array = row) -> Row:
                return {j: Fraction(v) for j, v in enumerate(row.tolist()) if v}

            yield row, "", exactly
