"""The convex hull of points as inequalities: its facets, in rational arithmetic, rounded outward where that is needed.

Which points span a facet is a guess, in floats. The plane through them is exact, and its right-hand side is the largest
one over all points: so none of them is left out, whatever the guess was.
"""

from __future__ import annotations

from fractions import Fraction
from math import gcd, lcm

import numpy as np
from numpy.typing import NDArray

from ..deadline import check
from .proven import above

Array = NDArray[np.float64]
Row = list[Fraction]
EXACT = 2**53  # whole numbers up to this are doubles


def facets(points: Array) -> tuple[Array, Array]:
    """Rows A and sides b with A y <= b for all given points (N, m), and for few others than those of their hull.

    Where whole numbers below 2^53 describe a facet, it is exact; the others are moved outward by a rounding. Points on
    a plane give equations, as two opposite rows.
    """
    exact = [[Fraction(v) for v in point] for point in points.tolist()]
    basis, pivots = _reduced([[a - b for a, b in zip(p, exact[0], strict=True)] for p in exact[1:]])
    m, k = points.shape[1], len(pivots)
    normals = []
    for j in (j for j in range(m) if j not in pivots):  # y[j] is a combination of the coordinates that are pivots
        normal = [Fraction(i == j) for i in range(m)]
        for row, i in zip(basis, pivots, strict=True):
            normal[i] = -row[j]
        normals += [normal, [-a for a in normal]]
    for inner in _normals([[p[i] for i in pivots] for p in exact], points[:, pivots]) if k else ():
        normal = [Fraction(0)] * m
        for i, a in zip(pivots, inner, strict=True):
            normal[i] = a
        normals.append(normal)
    rows = {tuple(row) for row in map(_rounded, normals)}
    A = np.array(sorted(rows))
    sides = [above(max(_dot(list(map(Fraction, row)), p) for p in exact)) for row in A.tolist()]
    return A, np.array(sides)


def _normals(exact: list[Row], points: Array) -> list[Row]:
    """Outward normals of the facets of a hull that is not flat."""
    k = points.shape[1]
    if k == 1:
        return [[Fraction(1)], [Fraction(-1)]]
    from scipy.spatial import ConvexHull

    centre = [sum(column, Fraction(0)) / len(exact) for column in zip(*exact, strict=True)]
    found = []
    for corners in ConvexHull(points, qhull_options="Qt").simplices:
        check("facets of a polytope")
        base = exact[corners[0]]
        basis, pivots = _reduced([[a - b for a, b in zip(exact[i], base, strict=True)] for i in corners[1:]])
        if len(pivots) < k - 1:  # these corners span no plane
            continue
        last = next(j for j in range(k) if j not in pivots)
        normal = [Fraction(j == last) for j in range(k)]
        for row, i in zip(basis, pivots, strict=True):
            normal[i] = -row[last]
        outward = _dot(normal, base) > _dot(normal, centre)
        found.append(normal if outward else [-a for a in normal])
    return found


def _reduced(rows: list[Row]) -> tuple[list[Row], list[int]]:
    """The reduced echelon form of a matrix without its zero rows, and the columns of its pivots."""
    basis: list[Row] = []
    pivots: list[int] = []
    for row in rows:
        for known, i in zip(basis, pivots, strict=True):
            if row[i]:
                row = [a - row[i] * b for a, b in zip(row, known, strict=True)]
        pivot = max(range(len(row)), key=lambda j: abs(row[j]))
        if not row[pivot]:
            continue
        row = [a / row[pivot] for a in row]
        basis = [[a - known[pivot] * b for a, b in zip(known, row, strict=True)] for known in basis]
        basis.append(row)
        pivots.append(pivot)
        if len(pivots) == len(row):
            break
    order = np.argsort(pivots).tolist()
    return [basis[i] for i in order], [pivots[i] for i in order]


def _rounded(normal: Row) -> list[float]:
    """A multiple of a normal in floats: without rounding, where whole numbers do."""
    scale = lcm(*(a.denominator for a in normal))
    whole = [int(a * scale) for a in normal]
    divisor = gcd(*whole)
    whole = [a // divisor for a in whole]
    largest = max(map(abs, whole))
    if largest <= EXACT:
        unit = 2.0 ** -max(largest.bit_length() - 20, 0)
        return [a * unit for a in whole]
    return [float(Fraction(a, largest)) for a in whole]


def _dot(a: Row, b: Row) -> Fraction:
    return sum((u * v for u, v in zip(a, b, strict=True) if u), Fraction(0))
