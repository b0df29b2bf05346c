"""Directions of multipliers along which all of a basis grow, while the combination of rows stays what it is.

A small linear program finds the one that costs the bound least. It is a proposal, as all in floating point.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ..masters.base import Matrix, is_sparse
from ..masters.checked import linear_program
from ..model.program import Program
from .certificate import Array, Ints
from .dual import TUNING as WEIGHING
from .linear_algebra import most_in_rows
from .rows import DualRows, Mask


def direction(
    rows: DualRows,
    weights: Array,
    basis: Ints,
    balance: Ints,
    pushes: tuple[Ints, Array, Array],
    held: Ints,
    centre: Array,
) -> Array | None:
    """A change of the multipliers that gives weight to all of the basis and costs least; None if there is none.

    The combination of rows stays what it is in the columns to be balanced, moves to the right side in those that need a
    sign, and moves little in those that are `held` at what rounding left there: their bounds pay for every move.
    Weights that are there already may fall, because steps along it are tiny.
    """
    size, gap = rows.norms, gaps(rows, centre)
    lower, upper = _moves(rows, weights, np.abs(weights) * size, basis)
    columns = np.concatenate([balance, pushes[0], held])
    if not len(columns) or not len(rows):
        return None
    part = rows.mid[:, columns]
    matrix = sparse.csr_matrix(part.multiply(1.0 / size[:, None]).T) if is_sparse(part) else part.T / size
    scale = most_in_rows(abs(matrix))
    fixed = len(balance) + len(pushes[0])
    if not (scale[:fixed] > 0).all():
        return None
    scale = np.where(scale > 0, scale, 1.0)
    paid = np.concatenate([np.zeros(len(balance)), pushes[1] * pushes[2]]) @ matrix[:fixed]
    side_scale = 1.0 / scale[:, None]
    matrix = sparse.csr_matrix(matrix.multiply(side_scale)) if is_sparse(matrix) else matrix * side_scale
    doubt = (np.abs(weights) @ abs(rows.mid[:, pushes[0]])) / scale[len(balance) : fixed]  # what rounding does to each
    # Beside the one that rounding moves most.
    doubt = np.maximum(doubt / max(float(doubt.max(initial=0.0)), 1e-300), 1e-3)
    side = np.concatenate([np.zeros(len(balance)), pushes[1] * doubt, np.zeros(len(held))])
    cost = np.where(np.isfinite(gap), gap + paid, 0.0)
    usable = np.isfinite(gap) & ~rows.conic  # moves within cones are left to `_levelled`
    way = _ways(rows, held, centre)
    cost = np.concatenate([cost, np.where(np.isfinite(way), way, 0.0) * np.tile(scale[fixed:], 2)])
    found = linear_program(
        cost / max(float(np.abs(cost).max(initial=0.0)), 1e-300),
        np.concatenate([np.where(usable, lower, 0.0), np.zeros(len(way))]),
        np.concatenate([np.where(usable, upper, 0.0), np.where(np.isfinite(way), np.inf, 0.0)]),
        _with_ways(matrix, fixed),
        np.where(side < 0, -np.inf, side),
        np.where(side > 0, np.inf, side),
    )
    return None if found is None else found[: len(rows)] / size


def _moves(rows: DualRows, weights: Array, share: Array, basis: Ints) -> tuple[Array, Array]:
    """Between which changes a direction may choose for each row: those of the basis grow, others keep their sides."""
    light = share <= WEIGHING.likely * share.max(initial=0.0)
    above, below = np.isfinite(rows.above.hi), np.isfinite(rows.below.lo)
    needed = np.zeros(len(rows), dtype=bool)
    needed[basis] = True
    needed &= light & ~rows.equal & ~rows.conic
    far = 1e7  # how far others may move while those of the basis grow by one
    upper = np.where(above, far, np.where(needed, -1.0, 0.0))
    lower = np.where(above & needed, 1.0, np.where(below & ~(above & light), -far, 0.0))
    spare = np.minimum(share / (1e-10 * max(float(share.sum()), 1e-300)), far)  # how far they may fall
    lower = np.where(~light & ~rows.equal, np.where(weights > 0, -spare, -far), lower)
    upper = np.where(~light & ~rows.equal, np.where(weights < 0, spare, far), upper)
    return lower, upper


def _ways(rows: DualRows, held: Ints, centre: Array) -> Array:
    """What it costs to leave over a unit more, and a unit less, in columns that are held: the ways to their bounds."""
    low, high, _ = rows.implied
    return np.concatenate([np.maximum(centre - low, 0.0)[held], np.maximum(high - centre, 0.0)[held]])


def _with_ways(matrix: Matrix, fixed: int) -> Matrix:
    """The columns that a direction looks at, with variables for how far those behind the `fixed` ones move."""
    count = matrix.shape[0] - fixed
    if not count:
        return matrix
    own = sparse.vstack([sparse.csr_array((fixed, count)), sparse.eye_array(count)])
    return sparse.csr_matrix(sparse.hstack([sparse.csr_array(matrix), -own, own], format="csr"))


def pushes_of(program: Program, centre: Array, columns: Ints) -> tuple[Ints, Array, Array]:
    """Columns with an end, the sign that their reduced costs need, and how far the end is: what each unit of it costs.

    Each has at least one finite end.
    """
    left, right = centre[columns] - program.lower[columns], program.upper[columns] - centre[columns]
    return columns, np.where(left <= right, 1.0, -1.0), np.minimum(left, right)


def vanishing_columns(rows: DualRows, c: Array, weights: Array) -> Mask:
    """Columns in which nothing but rounding is left over."""
    terms = np.abs(c) + rows.size.T @ np.abs(weights)
    vanishing: Mask = np.abs(c + rows.mid.T @ weights) <= WEIGHING.slope * terms
    return vanishing


def gaps(rows: DualRows, centre: Array) -> Array:
    """How far each row is from its nearer side at the centre, in its own units; inf if it has none."""
    at = rows.mid @ centre
    gap = np.minimum(np.abs(rows.above.hi - at), np.abs(at - rows.below.lo)) / rows.norms
    return np.where(np.isnan(gap), np.inf, gap)
