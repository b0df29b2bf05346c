"""Rows as solvers other than HiGHS want them, and a proof of infeasibility for those that give none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .base import Array, MasterError, MasterFactory, MasterResult, Matrix
from .tuning import MASTERS

Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Sides:
    """row_lower <= A z <= row_upper as equalities `equal z = value` and upper sides `upper z <= right`."""

    equal: sparse.csr_matrix
    value: Array
    upper: sparse.csr_matrix
    right: Array
    places: tuple[Bools, Bools, Bools]  # (rows,): equalities; rows with an upper side; rows with a lower side

    @staticmethod
    def of(A: sparse.csr_matrix, lower: Array, upper: Array) -> Sides:
        """Split two-sided rows; a row with two different finite sides appears twice."""
        same = (lower == upper) & np.isfinite(lower)
        above, below = np.isfinite(upper) & ~same, np.isfinite(lower) & ~same
        sides = sparse.vstack([A[above], -A[below]], format="csr")
        right = np.concatenate([upper[above], -lower[below]])
        return Sides(sparse.csr_matrix(A[same]), upper[same], sparse.csr_matrix(sides), right, (same, above, below))

    def multipliers(self, equal: Array, upper: Array) -> Array:
        """Multipliers of the two parts as those of the rows: positive at an upper side, negative at a lower one."""
        same, above, below = self.places
        out = np.zeros(len(same))
        out[same] = equal
        out[above] += upper[: above.sum()]
        out[below] -= upper[above.sum() :]
        return out


def scaled(rows: Matrix, rhs: Array) -> tuple[Matrix, Array, Array]:
    """Rows, dense or sparse, and right-hand sides, divided by the largest coefficient of each row; these divisors."""
    size = abs(rows).max(axis=1)
    scale = np.maximum(size.toarray().ravel() if sparse.issparse(rows) else size, MASTERS.least_divisor)
    if not sparse.issparse(rows):
        table = rows / scale[:, None]
        return np.where(np.abs(table) < MASTERS.least_coefficient, 0.0, table), rhs / scale, scale
    table = sparse.csr_matrix(sparse.diags_array(1.0 / scale) @ rows)
    table.data[np.abs(table.data) < MASTERS.least_coefficient] = 0.0
    table.eliminate_zeros()
    return table, rhs / scale, scale


class Cuts:
    """The table of a master's cuts `(a z - s) / scale <= rhs / scale`, for solvers that do not keep one."""

    def __init__(self, n: int) -> None:
        self.rows = sparse.csr_matrix((0, n))
        self.rhs = np.zeros(0)
        self.scale = np.zeros(0)

    def add(self, rows: Matrix, rhs: Array) -> None:
        if not rows.shape[0]:
            return
        table, right, scale = scaled(rows, rhs)
        self.rows = sparse.csr_matrix(sparse.vstack([self.rows, sparse.csr_matrix(table)], format="csr"))
        self.rhs, self.scale = np.concatenate([self.rhs, right]), np.concatenate([self.scale, scale])

    def drop(self, keep: Bools) -> None:
        self.rows, self.rhs, self.scale = sparse.csr_matrix(self.rows[keep]), self.rhs[keep], self.scale[keep]


def contradiction(
    make: MasterFactory, box: tuple[Array, Array], sides: Sides, cuts: Cuts, margin: float, tol: float
) -> tuple[float, Array, Array]:
    """How far a model is from being feasible, and multipliers of its cuts and of its rows that prove it.

    In a second model, all rows are cuts: they share the slack that is minimised, and its multipliers combine them to a
    row that no point of the box satisfies. The solver needs no notion of a Farkas proof for that.
    """
    table = sparse.vstack([sides.equal, -sides.equal, sides.upper, cuts.rows], format="csr")
    slack, weights = -np.inf, np.zeros(table.shape[0])
    if len(weights):
        n = table.shape[1]
        model = make(np.zeros(n), *box, sparse.csr_matrix((0, n)), np.zeros(0), np.zeros(0), tol)
        model.add(table, np.concatenate([sides.value, -sides.value, sides.right, cuts.rhs - margin / cuts.scale]))
        best = model.best_margin(1.0)
        slack, weights = best.slack, best.cut_multipliers
    above, below, upper, cut = np.split(weights, np.cumsum([len(sides.value)] * 2 + [len(sides.right)]))
    return slack, cut / cuts.scale, sides.multipliers(above - below, upper)


def solved_or_infeasible(
    solve: Callable[[], MasterResult | None],
    prove: Callable[[], tuple[float, Array, Array]],
    sizes: tuple[int, int, int],  # how many variables, cuts and rows there are
) -> MasterResult:
    """What `solve` finds; the `contradiction` that `prove` finds where that is None.

    Nearly infeasible models defeat some solvers, and others have no word for infeasible: when `solve` fails, it is the
    contradiction that decides. Where there is an answer but no contradiction, the multipliers are zero.
    """
    failure = None
    try:
        result = solve()
        if result is not None:
            return result
    except MasterError as error:
        failure = error
    nothing, cut, row = (np.zeros(size) for size in sizes)
    try:
        slack, cut, row = prove()
        if failure is not None and slack <= 0:
            raise failure
    except MasterError:
        if failure is not None:
            raise failure from None
    return MasterResult("infeasible", nothing, np.inf, np.inf, cut, row, nothing)
