"""Finite rows that are rows of a family at an index point, but for the rounding of their numbers.

Who writes p(0.1) == 0 with a vector of powers of 0.1 in doubles means the row of p(t) >= 0 where t = 0.1. In exact
arithmetic the two differ in the last place, and the set between them is a wedge that nobody meant. A finite row whose
every entry is that of a row, or of its derivative, to within `DATA_ULPS` units in the last place, is taken for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from ..deadline import EFFORT
from ..expressions.interval import EPS
from ..expressions.ring import Polynomial
from ..model.program import Program
from ..proof.primal import DATA_ULPS
from .affine_hull import Array, Row
from .implied_equations import Face, row_at
from .row_polynomials import RowPolynomials, row_polynomials


def meant_rows(program: Program, faces: Sequence[Face]) -> dict[int, Row]:
    """By finite rows that are rounded: what each means, in rational numbers, with the right-hand side in column n."""
    upper, lower = program.row_upper, program.row_lower
    one = (upper == lower) | ~np.isfinite(upper) | ~np.isfinite(lower)
    table = np.column_stack([program.A.toarray(), np.where(np.isfinite(upper), upper, lower)])
    table[~one] = 0.0  # which two right-hand sides mean cannot be told apart
    found: dict[int, Row] = {}
    for face in faces:
        if face.family.domain.dim > 1:
            continue
        for i in range(len(face.family.columns)):
            polynomials = row_polynomials(face.family, i)
            columns = face.family.columns[i].tolist()
            for rows in () if polynomials is None else (polynomials, list(map(_derivative, polynomials))):
                if face.points.size * table.size <= EFFORT.batch:
                    found = _matched(table, rows, columns, face.points, program.n) | found
    return found


def _matched(table: Array, rows: RowPolynomials, columns: list[int], points: Array, n: int) -> dict[int, Row]:
    """Rows of a table that are these polynomials at a point, or their opposite, but for rounding."""
    sampled = np.zeros((len(points), n + 1))
    for column, p in zip([*columns, n], rows, strict=True):
        for (e,), c in p.items():
            sampled[:, column] += float(c) * points[:, 0] ** e
    found: dict[int, Row] = {}
    for sign in (1.0, -1.0):
        size = np.abs(sampled) + np.abs(table[:, None])
        near = np.abs(sign * sampled - table[:, None]) <= 2 * DATA_ULPS * EPS * size
        for i, k in np.argwhere(near[..., :-1].all(axis=-1) & np.any(table[:, :-1], axis=1)[:, None]).tolist():
            exact = row_at(rows, columns, points[k], n)
            row = _rounded(table[i].tolist(), [int(sign) * exact.get(j, Fraction(0)) for j in range(n + 1)])
            if row is not None:
                found.setdefault(i, row)
    return found


def _rounded(values: list[float], exact: list[Fraction]) -> Row | None:
    """The row of which these are the numbers but for rounding; None if they are not, or are exactly the row."""
    most = Fraction(DATA_ULPS * EPS)
    pairs = [(Fraction(v), w) for v, w in zip(values, exact, strict=True)]
    # What doubles hold is not rounded: 1 - 2**-52 does not mean 1.
    close = [v == w or (Fraction(float(w)) != w and abs(v - w) <= most * abs(w)) for v, w in pairs]
    meant = [w if ok else Fraction(v) for v, w, ok in zip(values, exact, close, strict=True)]
    same = all(v == w for v, w in zip(values, meant, strict=True))
    return {j: v for j, v in enumerate(meant) if v} if all(close[:-1]) and not same else None


def _derivative(p: Polynomial) -> Polynomial:
    return {(e - 1,): e * c for (e,), c in p.items() if e}
