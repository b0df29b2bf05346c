"""Points that keep every finite row and bound exactly; where there are equalities, a box that holds such a point.

An inequality either holds at x, in outward-rounded arithmetic or, where that leaves a doubt, in rational numbers, or it
does not. An equality never holds in floats. With G some fixed matrix, the points x + G u form a space in which the
equalities A (x + G u) = b are a square system; its solution is enclosed (`linear_algebra.solve`), so that an exact one
lies within tiny half-widths of x. Everything else that is said about x is then proven for that whole box. G moves
variables in proportion to the room that their bounds leave, those at a bound not at all.

Equalities may follow from others (`equations`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from scipy import sparse

from ..deadline import EFFORT, PACE, afford, check
from ..expressions.interval import EPS, TINY, Interval, down, up
from ..masters.base import Matrix
from ..model.program import Program
from .certificate import Array, DataAssumption, Ints, nowhere
from .equations import DATA_ULPS, disagreement, equalities, equations, excused, independent_rows, opposites
from .interior import interior
from .linear_algebra import UNDERFLOW, exact_differences, exact_sums, product, solve

ALMOST = "the equalities could not be solved in a proven way; they may be almost dependent"


@dataclass(frozen=True, eq=False)
class FinitePoint:
    """A point such that some x' with |x' - x| <= box keeps every finite row and bound exactly."""

    x: Array
    box: Array | None = None  # (n,); None where x itself does
    dependent: Ints = field(default_factory=nowhere)  # rows that follow from others up to rounded data

    def assumptions(self, program: Program) -> tuple[str, ...]:
        """The sentence about rows that follow from others."""
        if not len(self.dependent):
            return ()
        most = 4
        shown = [program.row_labels[i] if i < len(program.row_labels) else f"row {i}" for i in self.dependent[:most]]
        more = f" and {len(self.dependent) - most} more" if len(self.dependent) > most else ""
        return (
            DataAssumption(
                f"Equalities that follow from the others agree with them to within {DATA_ULPS:g} units in the last "
                f"place of their terms, which is taken for the rounding of the data: {'; '.join(shown)}{more}."
            ),
        )


@dataclass(frozen=True, eq=False)
class NotProven:
    """Why a point could not be proven to keep the finite part: the rows or bounds at fault, and what is known."""

    why: str
    mendable: bool = False  # whether a slightly different point may do
    rows: Ints = field(default_factory=nowhere)
    contradiction: Array | None = None  # (r,), multipliers of equalities that contradict each other


def finite_point(program: Program, x: Array) -> FinitePoint | NotProven:
    """A point next to x that is proven to keep the finite part."""
    x = np.clip(x, program.lower, program.upper)
    found = _kept(program, x)
    others = _inside(program, x)
    while _wanting(found) and (near := next(others, None)) is not None:
        check("finite constraints")
        other = _kept(program, near)
        if isinstance(found, NotProven) or (isinstance(other, FinitePoint) and _width(other) < _width(found)):
            found = other
    return found


def _wanting(found: FinitePoint | NotProven) -> bool:
    """Whether another point may do better."""
    # Narrower boxes cost nothing worth a deeper point.
    return found.mendable if isinstance(found, NotProven) else _width(found) > 1e-12


def _width(point: FinitePoint) -> float:
    """The largest half-width of the box, relative to the variable."""
    return 0.0 if point.box is None else float((point.box / _size(point.x)).max(initial=0.0))


def _inside(program: Program, x: Array) -> Iterator[Array]:
    """Points next to x that have more room: first from the rows that touch it, then from all rows and bounds."""
    for depth in (1e-15, 1e-13, 1e-11):  # relative to the terms
        mended = _mended(program, x, depth)
        if mended is not None:
            yield mended
    deep = interior(program, np.maximum(np.abs(x), 1.0), opposites(program))
    if deep is not None:
        least = _share_needed(program, x, deep)
        for share in (2 * least, *(share for share in (1e-11, 1e-9, 1e-8, 1e-7, 1e-6) if share > 2 * least)):
            yield np.clip((1 - share) * x + share * deep, program.lower, program.upper)


def _share_needed(program: Program, x: Array, deep: Array) -> float:
    """How much of a point with room has to be mixed into x for every inequality and bound to have some."""
    value, inner, doubt = program.A @ x, program.A @ deep, 16 * EPS * (abs(program.A) @ (np.abs(x) + np.abs(deep)))
    free = ~equations(program)
    free[opposites(program)[1]] = False
    room = np.concatenate(
        [(program.row_upper - value)[free], (value - program.row_lower)[free], x - program.lower, program.upper - x]
    )
    more = np.concatenate(
        [
            (program.row_upper - inner)[free],
            (inner - program.row_lower)[free],
            deep - program.lower,
            program.upper - deep,
        ]
    )
    small = np.concatenate([doubt[free], doubt[free], 16 * EPS * np.abs(deep), 16 * EPS * np.abs(deep)])
    short = (room < small) & (more > small)
    room, more, small = room[short], more[short], small[short]
    return float(((small - room) / (more - room)).max(initial=EPS))


def _kept(program: Program, x: Array) -> FinitePoint | NotProven:
    """x, or an exact solution of the equalities next to it, if that keeps all the rest."""
    if not np.isfinite(x).all():
        return NotProven("the point found has numbers that are not finite", True)
    equal = np.flatnonzero(equations(program))
    if len(equal) and not _solves(program, x, equal):
        return _solved(program, x, equal)
    return _checked(program, FinitePoint(x))


def _checked(program: Program, point: FinitePoint) -> FinitePoint | NotProven:
    """The point, if inequalities and cones are proven to hold over its box."""
    bad = broken_rows(program, point.x, point.box, solved=True)
    if len(bad):
        return NotProven(f"the point found keeps {_listed(program, bad)} only up to rounding", True, bad)
    if broken_cones(program, point.x, point.box):
        return NotProven("the point found keeps a conic constraint only up to the accuracy of the solver")
    return point


def _mended(program: Program, x: Array, depth: float) -> Array | None:
    """x moved by about as little as rounding, so that inequalities that touch it have room, and variables can move.

    Moving away from some rows may lead to others, which are moved away from next.
    """
    size = abs(program.A) @ np.abs(x) + TINY
    span = np.minimum(_size(x), program.upper - program.lower)
    x = np.clip(x, program.lower + 0.5 * depth * span, program.upper - 0.5 * depth * span)
    held, room = np.flatnonzero(equations(program)), _room(program, x)
    free = ~equations(program)
    free[opposites(program)[1]] = False
    for sweep in range(12):  # moving away from some rows may lead to others
        value = program.A @ x
        gap = np.minimum(program.row_upper - value, value - program.row_lower)
        tight = np.flatnonzero(free & (gap < (4 if sweep == 0 else 1) * depth * size))
        if not len(tight):
            break
        entries = (len(tight) + len(held)) * program.n
        if entries > EFFORT.entries:
            return None
        if sweep and entries * sweep > EFFORT.exact // 2:
            break
        lower, upper = program.row_lower[tight], program.row_upper[tight]
        above, inset = upper - value[tight] <= value[tight] - lower, 2 * depth * size[tight]
        change = np.where(above, upper - inset, lower + inset) - value[tight]
        change = np.where(above, np.minimum(change, 0.0), np.maximum(change, 0.0))
        short, long = sorted((len(tight) + len(held), program.n))
        afford(12.0 * short**2 * long / PACE.dense, "finite constraints")
        rows = sparse.vstack([program.A[tight], program.A[held]]).toarray()
        target = np.concatenate([change, program.row_upper[held] - program.A[held] @ x])
        scale = np.abs(rows) @ room
        scale = np.where(scale > 0, scale, 1.0)
        step = room * np.linalg.lstsq(rows * room / scale[:, None], target / scale, rcond=1e-12)[0]
        x = np.clip(x + step, program.lower, program.upper)
    return x


def broken_rows(program: Program, x: Array, box: Array | None, solved: bool = False) -> Ints:
    """Inequalities that are not proven to hold at x, or over the whole box around it.

    Where an exact solution of all `equations` is meant, those among them are proven by that.
    """
    rows = program.A
    if not rows.shape[0]:
        return nowhere()
    value = product(rows, x, box)
    doubt = ~((value.hi <= program.row_upper) & (value.lo >= program.row_lower)) & ~equalities(program)
    if solved:
        doubt[np.concatenate(opposites(program))] = False
    places = np.flatnonzero(doubt)
    moving = np.zeros(len(places)) if box is None else (rows[places] != 0) @ (box > 0).astype(float)
    sides = zip(places.tolist(), program.row_lower[places], program.row_upper[places], moving, strict=True)
    return places[[m > 0 or not _holds(rows, i, x, lower, upper) for i, lower, upper, m in sides]]


def broken_cones(program: Program, x: Array, box: Array | None) -> int:
    """How many cones are not proven to hold the slacks of their rows at x, or over the whole box around it."""
    return 0 if program.cones is None else program.cones.unproven(x, box)


def _holds(rows: sparse.csr_matrix, i: int, x: Array, lower: float, upper: float) -> bool:
    """Whether a row holds at x exactly: by sums without error, or in rational numbers where products lose digits."""
    start, end = rows.indptr[i], rows.indptr[i + 1]
    a, v = rows.data[start:end], x[rows.indices[start:end]]
    if not np.isfinite(v).all():
        return False
    known = exact_differences(a, v, upper, lower)
    if known is not None:
        return known[0] <= 0 <= known[1]
    value = sum((Fraction(b) * Fraction(w) for b, w in zip(a.tolist(), v.tolist(), strict=True)), Fraction(0))
    return (upper == np.inf or value <= Fraction(upper)) and (lower == -np.inf or value >= Fraction(lower))


def outside(program: Program, x: Array, box: Array | None) -> Ints:
    """Variables whose bounds are not proven to hold over the box."""
    room = 0.0 if box is None else box
    low, high = down(x - room), up(x + room)
    still = np.asarray(room == 0) | np.zeros(len(x), dtype=bool)
    bad = np.where(still, (x < program.lower) | (x > program.upper), (low < program.lower) | (high > program.upper))
    return np.flatnonzero(bad | ~np.isfinite(x))


def _listed(program: Program, rows: Ints) -> str:
    shown = [program.row_labels[i] if i < len(program.row_labels) else f"row {i}" for i in rows[:4]]
    return "; ".join(shown) + ("; …" if len(rows) > 4 else "")


def _solved(program: Program, x: Array, rows: Ints) -> FinitePoint | NotProven:
    """The box around an exact solution of the equalities."""
    most = 3000  # larger systems are not enclosed
    if len(rows) > most:
        many = f"the model has {len(rows)} equalities, and systems of more than {most} are not enclosed"
        return NotProven(many, False, rows)
    found, dependent = _correction(program, x, rows), nowhere()
    if found is None:
        independent, follows = independent_rows(program.A[rows])
        if not len(follows):
            return NotProven(ALMOST, True, rows)
        independent, dependent = rows[independent], rows[follows]
        if not excused(program, independent, dependent):
            return NotProven(f"{_listed(program, dependent)} agree with others only up to rounding", False, dependent)
        clash = disagreement(program, independent, dependent)
        if clash is not None:
            named = np.flatnonzero(clash)
            return NotProven(f"{_listed(program, named)} contradict each other", False, named, clash)
        found = _correction(program, x, independent)
    if found is None:
        return NotProven(ALMOST, True, rows)
    x, box = found
    if len(outside(program, x, box)):
        return NotProven("an exact solution of the equalities may lie beyond a bound of a variable", True)
    return _checked(program, FinitePoint(x, box, dependent))


def _size(x: Array) -> Array:
    """What counts as large for each variable."""
    usual = float(np.median(np.abs(x))) if len(x) else 0.0
    return np.abs(x) + (usual if usual > 0 else float(np.abs(x).max(initial=0.0)) or 1.0)


def _room(program: Program, x: Array) -> Array:
    """How far each variable may move: towards its nearer bound, and no farther than its own size."""
    near, size = np.minimum(x - program.lower, program.upper - x), _size(x)
    return np.where(near > 1e-14 * size, np.minimum(near, size), 0.0)


def _correction(program: Program, x: Array, rows: Ints) -> tuple[Array, Array] | None:
    """A point near x and half-widths around it that hold an exact solution of these equalities; None if unproven."""
    near = _moves(program, x, rows, about=True)
    if near is None:
        return None
    x = np.where(near.hi > near.lo, x + (0.5 * near.lo + 0.5 * near.hi), x)
    around = _moves(program, x, rows)
    if around is None:
        return None
    width = 2 * np.maximum(np.abs(around.lo), np.abs(around.hi))
    return x, np.where(width > 0, np.maximum(width, 2.0**-900), 0.0)  # in other units, less would underflow


def holds_solution(program: Program, x: Array, box: Array, rows: Ints) -> bool:
    """Whether some x' with |x' - x| <= box is proven to satisfy these equalities exactly."""
    if _solves(program, x, rows):
        return True
    moves = _moves(program, x, rows)
    return moves is not None and bool((np.maximum(np.abs(moves.lo), np.abs(moves.hi)) <= box).all())


def _solves(program: Program, x: Array, rows: Ints) -> bool:
    """Whether x itself satisfies these equalities exactly."""
    A, side = _only(program, rows), program.row_upper[rows]
    row, counts = np.repeat(np.arange(len(rows)), np.diff(A.indptr)), np.diff(A.indptr)
    terms = A.data * x[A.indices]
    left = np.abs(np.bincount(row, terms, len(rows)) - side)
    size = np.bincount(row, np.abs(terms), len(rows)) + np.abs(side)
    if A.nnz > EFFORT.exact // 10 or (left > (counts + 4) * EPS * size).any():
        return False
    return all(_holds(A, i, x, b, b) for i, b in enumerate(side))


def _only(program: Program, rows: Ints) -> sparse.csr_matrix:
    """These finite rows."""
    return program.A if len(rows) == program.A.shape[0] else program.A[rows]


def _moves(program: Program, x: Array, rows: Ints, about: bool = False) -> Interval | None:
    """How each variable moves from x to an exact solution of these equalities, enclosed; zero where it cannot.

    Rows of which no variable can move have to hold as they are, exactly. Where nothing is to be proven, it may be known
    only `about`.
    """
    room = _room(program, x)
    A = _only(program, rows)
    row = np.repeat(np.arange(len(rows)), np.diff(A.indptr))
    moving = np.bincount(row, (A.data != 0) & (room[A.indices] > 0), len(rows)) > 0
    if not all(_holds(program.A, i, x, *([program.row_upper[i]] * 2)) for i in rows[~moving].tolist()):
        return None
    rows = rows[moving]
    if not len(rows):
        return Interval(np.zeros(program.n), np.zeros(program.n))
    if not moving.all():
        A = A[moving]
        row = np.repeat(np.arange(len(rows)), np.diff(A.indptr))
    scale = np.bincount(row, np.abs(A.data) * room[A.indices], len(rows))
    if not (scale > 0).all():
        return None
    shares = room[A.indices] * A.data * (1.0 / scale)[row]
    used = shares != 0  # what no row moves stays exactly where it is
    least = [float(np.abs(entries[entries != 0]).min(initial=1.0)) for entries in (A.data, shares)]
    if least[0] * least[1] < UNDERFLOW:
        return None
    G: Matrix = _table(shares[used], A.indices[used], row[used], (program.n, len(rows)))
    square = _square(A, G)
    right = exact_sums(program.row_upper[rows], -A, x)
    u = _guess(square[0], right) if about and isinstance(square[0], np.ndarray) else solve(*square, right)
    if u is None:
        return None
    middle = 0.5 * u.lo + 0.5 * u.hi
    moved = product(G, middle, up(np.maximum(u.hi - middle, middle - u.lo)))
    still = (room == 0) | (np.bincount(A.indices[used], minlength=program.n) == 0)
    return Interval(np.where(still, 0.0, moved.lo), np.where(still, 0.0, moved.hi))


def _guess(square: Array, right: Interval) -> Interval | None:
    """The solution of a system in floats; None if it has none."""
    try:
        u: Array = np.linalg.solve(square, 0.5 * right.lo + 0.5 * right.hi).astype(float)
    except np.linalg.LinAlgError:
        return None
    return Interval(u, u) if np.isfinite(u).all() else None


def _table(entries: Array, i: Ints, j: Ints, shape: tuple[int, int]) -> Matrix:
    """A matrix of entries at their places, dense where it has few columns."""
    if shape[1] > 8:
        return sparse.csr_matrix((entries, (i, j)), shape=shape)
    dense = np.zeros(shape)
    np.add.at(dense, (i, j), entries)
    return dense


def _square(A: sparse.csr_matrix, G: Matrix) -> tuple[Matrix, Matrix]:
    """A G, with what rounding may have done to it."""
    square, size = A @ G, abs(A) @ abs(G)
    doubt = size * ((int(np.diff(A.indptr).max(initial=0)) + 4) * EPS)
    if isinstance(square, np.ndarray):
        return square, doubt
    if square.shape[0] <= 500 or square.nnz > 0.2 * square.shape[0] ** 2:  # dense where it is small, or nearly full
        return square.toarray(), doubt.toarray()
    return sparse.csc_matrix(square), sparse.csc_matrix(doubt)
