"""Which finite rows are equations, which of these follow from others, and what is taken for rounding then.

Flows out of all nodes but one say what flows into that one. In floats, such rows agree only up to the rounding of their
data. What differs by no more than `DATA_ULPS` units in the last place of the terms is taken for rounding, and the rows
are named; what differs by more contradicts itself.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import splu

from ..deadline import PACE, afford, afford_factors
from ..expressions.interval import EPS
from ..expressions.ring import summed
from ..lifetime import remembered
from ..model.program import Program
from .certificate import Array, Ints, nowhere
from .rows import Mask

# What counts as the rounding of a row's data, in units in the last place of its terms; and how many times as large as
# the entries of a row the parts that make it up may be: with large shares, anything would follow from anything. The
# checker of `export` has the same two numbers.
DATA_ULPS, MOST_SHARE = 16.0, 64.0


def equalities(program: Program) -> Mask:
    """Which finite rows have one side for both; 0 = 0, which modelling tools write at times, is none of them."""
    same: Mask = program.row_lower == program.row_upper
    if (same & (program.row_upper == 0)).any():
        same = same & ~((program.row_upper == 0) & (abs(program.A).max(axis=1).toarray().ravel() == 0))
    return same


def equations(program: Program) -> Mask:
    """Equalities, and the first of every two inequalities a x <= b and -a x <= -b, which say the same."""
    found = equalities(program)
    found[opposites(program)[0]] = True
    return found


@remembered
def opposites(program: Program) -> tuple[Ints, Ints]:
    """Inequalities that are exactly opposite to each other, the first and the second ones; found once."""
    known: dict[tuple[bytes, bytes, float], int] = {}
    pairs: list[tuple[int, int]] = []
    rows = program.A
    for i in np.flatnonzero(np.isinf(program.row_lower) & np.isfinite(program.row_upper)).tolist():
        part = slice(rows.indptr[i], rows.indptr[i + 1])
        place, entry, side = rows.indices[part].tobytes(), rows.data[part] + 0.0, float(program.row_upper[i])
        other = known.pop((place, (0.0 - entry).tobytes(), 0.0 - side), None)
        if other is None:
            known[place, entry.tobytes(), side + 0.0] = i
        elif entry.any():
            pairs.append((other, i))
    first, second = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    return first, second


def independent_rows(A: sparse.csr_matrix) -> tuple[Ints, Ints]:
    """Positions of rows that are independent, and of those that follow from them."""
    scale = np.maximum(abs(A).max(axis=1).toarray().ravel(), 1e-300)
    short, long = sorted(A.shape)
    afford(8.0 * short**2 * long / PACE.dense, "finite constraints")
    block = (sparse.diags_array(1.0 / scale) @ A).toarray().T
    if A.shape[0] == short < long:  # the same pivots, of a square block
        block = linalg.qr(block, mode="r", check_finite=False)[0][:short]
    factor, order = linalg.qr(block, mode="r", pivoting=True, check_finite=False)
    pivots = np.abs(np.diag(factor))
    rank = int((pivots > 1e-10 * pivots.max(initial=0.0)).sum())  # rows with less follow from others
    return np.sort(order[:rank]), np.sort(order[rank:])


def _shares(program: Program, independent: Ints, follows: Ints) -> tuple[Array, Array, Array]:
    """Rows that follow as combinations of others, (follows, independent), and the dense rows of both kinds."""
    rows, asked = program.A[independent], program.A[follows].toarray()
    split, wide = _splitter(rows), sparse.csc_matrix(rows.T.astype(np.longdouble))
    shares, step = np.zeros((len(asked), len(independent))), np.zeros(0)
    for _ in range(4):
        step = split((asked - (wide @ shares.T.astype(np.longdouble)).T).astype(float))
        shares = shares + step
    known = rows.toarray()
    # Normal equations that do not settle are not to be trusted.
    if not np.abs(step).max(initial=0.0) <= 1e-10 * np.abs(shares).max(initial=0.0):
        shares = np.linalg.lstsq(known.T, asked.T, rcond=None)[0].T
    return np.where(np.abs(shares - np.rint(shares)) < 1e-9, np.rint(shares), shares), known, asked


def _splitter(known: sparse.csr_matrix) -> Callable[[Array], Array]:
    """What splits rows into combinations of known ones, which are independent, nearly by least squares."""
    scale = 1.0 / np.maximum(abs(known).max(axis=1).toarray().ravel(), 1e-300)
    rows = sparse.diags_array(scale) @ known
    square = sparse.csc_matrix(rows @ rows.T)
    afford_factors(square)
    try:
        factors = splu(square)
    except RuntimeError:  # next to singular
        return lambda given: np.full((len(given), len(scale)), np.nan)
    return lambda given: factors.solve(rows @ given.T).T * scale


def taken_for_rounding(program: Program, dependent: Ints, row_multipliers: Array, x: Array) -> float:
    """The most that multipliers of rows that follow from others can gain from what is taken for rounding, at x.

    Rows that agree with the others only up to rounding contradict them in exact arithmetic: with large multipliers they
    would prove anything. What they may have gained is taken off a lower bound, which then holds without them.
    """
    used = dependent[row_multipliers[dependent] != 0] if len(row_multipliers) else nowhere()
    if not len(used):
        return 0.0
    independent = np.setdiff1d(np.flatnonzero(equations(program)), dependent)
    shares, known, asked = _shares(program, independent, used)
    terms = np.abs(asked) @ np.abs(x) + np.abs(program.row_upper[used])
    terms = terms + np.abs(shares) @ (np.abs(known) @ np.abs(x) + np.abs(program.row_upper[independent]))
    return float(2 * DATA_ULPS * EPS * np.abs(row_multipliers[used]) @ terms)


def excused(program: Program, independent: Ints, follows: Ints) -> bool:
    """Whether rows that follow from others may differ from these by the rounding of their data.

    They may where all are equalities. Inequalities hold exactly, or not at all, and so does what follows from them.
    """
    same = equalities(program)
    if not same[follows].all() or same[independent].all():
        return bool(same[follows].all())
    shares, known, asked = _shares(program, independent, follows)
    table = np.column_stack([known, program.row_upper[independent]])
    rows = zip(np.column_stack([asked, program.row_upper[follows]]), shares, strict=True)
    return all(same[independent[share != 0]].all() or _exactly(row, share, table) for row, share in rows)


def _exactly(row: Array, share: Array, table: Array) -> bool:
    """Whether a row is this combination of others in rational numbers."""
    left = dict(enumerate(map(Fraction, row.tolist())))
    for k in np.flatnonzero(share).tolist():
        left = summed([left, dict(enumerate(map(Fraction, table[k].tolist())))], -Fraction(float(share[k])))
    return not any(left.values())


def disagreement(program: Program, independent: Ints, follows: Ints) -> Array | None:
    """Multipliers (r,) of equalities that do not fit together; None if those that follow do, up to rounded data."""
    shares, known, asked = _shares(program, independent, follows)
    table = np.column_stack([known, program.row_upper[independent]])
    for i, share in enumerate(shares):
        row = np.append(asked[i], program.row_upper[follows[i]])
        fits, left = _fits(row, share, table)
        if not fits:  # least squares weigh every entry alike, and rounding is relative to the terms of each
            fits, left = _fits(row, _weighted(row, share, table), table)
        if not fits:
            multipliers = np.zeros(program.finite_rows)
            multipliers[independent], multipliers[follows[i]] = -share, 1.0
            return multipliers * (-1.0 if left[-1] > 0 else 1.0)
    return None


def _fits(row: Array, share: Array, table: Array) -> tuple[bool, Array]:
    """Whether a row is this combination of others up to rounded data, and what is left over."""
    left, terms = row - share @ table, np.abs(row) + np.abs(share) @ np.abs(table)
    modest = (np.abs(share)[:, None] * np.abs(table) <= MOST_SHARE * np.abs(row).max()).all()
    return bool(modest and (np.abs(left) <= DATA_ULPS * EPS * terms).all()), left


def _weighted(row: Array, share: Array, table: Array) -> Array:
    """The combination again, such that what is left over is small relative to the terms of every entry."""
    terms = np.abs(row) + np.abs(share) @ np.abs(table)
    used, rows = terms > 0, share != 0
    weights = 1.0 / terms[used]
    left = (row.astype(np.longdouble) - share.astype(np.longdouble) @ table.astype(np.longdouble)).astype(float)
    better = share.copy()
    system = (table[rows][:, used] * weights).T
    better[rows] += np.linalg.lstsq(system, left[used] * weights, rcond=None)[0]
    return better
