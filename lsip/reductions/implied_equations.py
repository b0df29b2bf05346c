"""Equations that several inequalities make of each other: rows at index points, finite rows and bounds.

A curve between two others that meet at an end, 0 <= p(t) <= t for all t in [0, 1], has p(0) = 0; so has one with
p(t) >= 0 and a finite row p(0) <= 0. In general, rows a_k x <= b_k with multipliers λ_k > 0 such that
sum λ_k a_k = 0 and sum λ_k b_k = 0 are equations: none of them has slack at any feasible point. A program has a
strictly feasible point unless there are such rows (J. M. Borwein, H. Wolkowicz, Facial reduction for a cone-convex
programming problem, 1981). A linear program proposes them, in floats; rational numbers decide.

Who writes p(0.1) == 0 with a vector of powers of 0.1 in doubles means the row of p(t) >= 0 where t = 0.1. In exact
arithmetic the two differ in the last place, and the set between them is a wedge that nobody meant. A finite equality
whose every entry is that of a row, or of its derivative, to within `DATA_ULPS` units in the last place, stands for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..deadline import EFFORT
from ..domains import Domain
from ..expressions.interval import EPS
from ..expressions.ring import Polynomial, summed
from ..masters.checked import linear_program
from ..model.families import RowFamily
from ..model.program import Program
from ..proof.certificate import Array
from ..proof.dual import TUNING as WEIGHING
from ..proof.equations import DATA_ULPS, equalities
from .affine_hull import AffineHull, FiniteSide, Implied, IndexRow, Row
from .row_polynomials import RowPolynomials, equations, named_numbers, row_polynomials, sampled_rows


class Face(NamedTuple):
    """A family as it was written and as it is now, what its rows were divided by, and points at which to look."""

    written: RowFamily
    family: RowFamily
    divisors: dict[int, str]
    points: Array  # (N, m)


def implied(program: Program, faces: Sequence[Face], hull: AffineHull) -> AffineHull:
    """The hull with what is an equation because rows leave each other no slack."""
    sides = _finite(program)
    while True:
        table, rows = _candidates(faces, sides, hull)
        if table is None or table.size > EFFORT.batch:
            return hull  # there is nothing to compare, or too much
        exact = {k: _exactly(faces, rows[k], sides, hull) for k in _proposed(table)}
        circuit = _circuit({k: hull.reduced(row) for k, row in exact.items() if row is not None})
        members = [_member(faces, rows[k], sides, hull.n) for k in circuit]
        more = hull
        for k, member in zip(circuit, members, strict=True):
            said = tuple(members) if more is hull else ()
            more = more.extended([exact[k] or {}], Implied(member.label, said)) or more
        if more is hull:
            return hull
        hull = more


Place = tuple[int, int, int]  # a face, one of its points, and a row; or -1, and a side of a finite row


def _candidates(faces: Sequence[Face], sides: Array, hull: AffineHull) -> tuple[Array | None, list[Place]]:
    """What the hull leaves of rows at index points and of finite rows, relative to them, and where each stands."""
    rows: list[Place] = []
    tables = []
    with np.errstate(all="ignore"):
        for f, face in enumerate(faces):
            sampled = sampled_rows(face.family, hull.n, face.points)
            tables.append(sampled.reshape(-1, hull.n + 1))
            rows += product((f,), range(len(face.points)), range(sampled.shape[1]))
        tables.append(sides)
        rows += [(-1, k, 0) for k in range(len(sides))]
        table = np.concatenate(tables)
        size = np.abs(table).max(axis=1)
        left = hull.projected(table / np.where(size > 0, size, 1.0)[:, None])
        most = np.abs(left[:, :-1]).max(axis=1, initial=0.0)
        used = np.isfinite(left).all(axis=1) & (most > WEIGHING.likely)
    if not used.any():
        return None, rows
    return left[used] / most[used, None], [rows[k] for k in np.flatnonzero(used).tolist()]


def _proposed(table: Array) -> list[int]:
    """Rows of a table with multipliers that add up to one and combine them to nothing; the heaviest first.

    None where they combine to a contradiction, which needs no equations to be proven.
    """
    k = len(table)
    # The same span by its principal directions: equations that are others up to rounding make HiGHS cycle.
    directions, sizes, _ = np.linalg.svd(table[:, :-1], full_matrices=False)
    span = directions[:, sizes > WEIGHING.likely * sizes[0]]
    matrix = sparse.csr_matrix(np.vstack([span.T, np.ones(k)]))
    side = np.append(np.zeros(span.shape[1]), 1.0)
    found = linear_program(table[:, -1], np.zeros(k), np.ones(k), matrix, side, side)
    if found is None or abs(found @ table[:, -1]) > WEIGHING.likely:
        return []
    heavy = np.flatnonzero(found > WEIGHING.likely)
    return [int(i) for i in heavy[np.argsort(-found[heavy])]]


def _circuit(rows: dict[int, Row]) -> list[int]:
    """Some of these rows that positive multipliers combine to nothing, in rational numbers; none if there are none."""
    solved: dict[int, tuple[Row, Row]] = {}  # by columns: what is left of a row, and how it is made of them all
    for k, row in rows.items():
        left, shares = row, {k: Fraction(1)}
        for column, (other, made) in solved.items():
            factor = left.get(column, Fraction(0))
            if factor:
                left, shares = summed([left, other], -factor), summed([shares, made], -factor)
        if left:
            pivot = min(left)
            scale = 1 / left[pivot]
            solved[pivot] = {j: v * scale for j, v in left.items()}, {j: v * scale for j, v in shares.items()}
        elif len(shares) > 1 and min(shares.values()) > 0:
            return sorted(shares)
    return []


def _exactly(faces: Sequence[Face], place: Place, sides: Array, hull: AffineHull) -> Row | None:
    """A row in rational numbers; None if it is not known so."""
    f, k, i = place
    if f < 0:
        return hull.side(k, sides[k])
    family, rows = faces[f].family, row_polynomials(faces[f].family, i)
    return None if rows is None else row_at(rows, family.columns[i].tolist(), faces[f].points[k], hull.n)


def row_at(rows: RowPolynomials, columns: list[int], point: Array, n: int) -> Row:
    """A row at an index point in rational numbers."""
    values = [_value(p, tuple(map(Fraction, point.tolist()))) for p in rows]
    return next(iter(equations(values, columns, n)), {})


def _member(faces: Sequence[Face], place: Place, sides: Array, n: int) -> IndexRow | FiniteSide:
    """A row of a circuit."""
    f, k, i = place
    if f < 0:
        return FiniteSide(k, sides[k])
    face, point = faces[f], faces[f].points[k]
    values = sampled_rows(face.family, n, point[None])[0, i]
    return IndexRow(face.written, i, point, face.divisors.get(i, ""), values)


def index_points(family: RowFamily, shares: int) -> Array:
    """Points of a box at which rows are compared with others: corners; along an interval, also simple ones inside.

    These are numbers of its formulas, and the ends of so many equal shares of the interval.
    """
    points = corners(family.domain)
    if family.domain.dim == 1:
        low, high = points[0][0], points[-1][0]
        named = np.array([low, high, *(t for t in named_numbers(family) if low < t < high)])
        grid = np.linspace(low, high, shares + 1)
        apart = np.abs(grid[:, None] - named).min(axis=1) > WEIGHING.likely * (high - low)
        points += [(t,) for t in (*named[2:].tolist(), *grid[apart].tolist())]
    return np.array(points)


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
    """Finite rows and bounds, one for every side that they may have, with that last: not finite where it is not."""
    matrix, unit = program.A.toarray(), np.eye(program.n)
    rows = np.concatenate([matrix, -matrix, unit, -unit])
    sides = np.concatenate([program.row_upper, -program.row_lower, program.upper, -program.lower])
    return np.column_stack([rows, sides])


def implied_sides(program: Program, hull: AffineHull) -> NDArray[np.bool_]:
    """(2, r): which upper and which lower sides of finite rows follow from the equations of the hull."""
    sides = _finite(program)[: 2 * program.A.shape[0]]
    unequal = np.tile(program.row_lower != program.row_upper, 2)
    with np.errstate(all="ignore"):
        likely = np.isfinite(sides[:, -1]) & unequal & hull.likely(np.nan_to_num(sides, posinf=0.0, neginf=0.0))
    for k in np.flatnonzero(likely).tolist():
        likely[k] = not hull.reduced(hull.side(k, sides[k]))
    return likely.reshape(2, -1)


def meant_rows(program: Program, faces: Sequence[Face]) -> dict[int, Row]:
    """By finite rows that are rounded: what each means, in rational numbers, with the right-hand side in column n."""
    table = np.column_stack([program.A.toarray(), np.nan_to_num(program.row_upper, posinf=0.0, neginf=0.0)])
    table[~equalities(program)] = 0.0  # inequalities hold exactly, or not at all
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
