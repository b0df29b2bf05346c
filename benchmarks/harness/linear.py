"""Plain linear programs: the rows of a program at given index points, and HiGHS from arrays, once and cold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lsip.model.program import Program
from lsip.proof.certificate import Support

Array = NDArray[np.float64]
CHUNK = 4_000_000  # numbers evaluated at a time

SIMPLEX = {"presolve": "off", "solver": "simplex"}
DEFAULT: dict[str, Any] = {}
INTERIOR = {"solver": "ipm"}
_STATUS = {
    highspy.HighsModelStatus.kOptimal: "optimal",
    highspy.HighsModelStatus.kInfeasible: "infeasible",
    highspy.HighsModelStatus.kUnbounded: "unbounded",
    highspy.HighsModelStatus.kUnboundedOrInfeasible: "unbounded",
    highspy.HighsModelStatus.kTimeLimit: "time",
}


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows `matrix` x <= `rhs`."""

    matrix: sparse.csr_matrix
    rhs: Array


def rows_at(program: Program, points: Iterable[tuple[int, Array]]) -> Rows:
    """All rows of families at index points, given as pairs (family, y) with y of shape (N, m)."""
    blocks, sides = [], []
    for f, y in points:
        family = program.families[f]
        p, k = family.columns.shape
        step = max(1, CHUNK // (p * (k + 1)))
        for start in range(0, len(y), step):
            a, b = family.rows(y[start : start + step])
            blocks.append(_sparse(a.reshape(-1, k), np.tile(family.columns, (len(a), 1)), program.n, _padded(family)))
            sides.append(b.ravel())
    return _stack(blocks, sides, program.n)


def rows_of(program: Program, support: Iterable[Support]) -> Rows:
    """The rows of single components at single points."""
    blocks, sides = [], []
    for s in support:
        family = program.families[s.family]
        a, b = family.rows(s.point[None, :])
        blocks.append(_sparse(a[0, [s.component]], family.columns[[s.component]], program.n, _padded(family)))
        sides.append(b[0, [s.component]])
    return _stack(blocks, sides, program.n)


def _stack(blocks: list[sparse.csr_matrix], sides: list[Array], n: int) -> Rows:
    if not blocks:
        return Rows(sparse.csr_matrix((0, n)), np.zeros(0))
    return Rows(blocks[0] if len(blocks) == 1 else sparse.vstack(blocks, format="csr"), np.concatenate(sides))


def _padded(family: Any) -> bool:
    """Whether short rows are filled up with zeros in a column that is there already, which HiGHS refuses."""
    order = np.sort(family.columns, axis=1)
    return bool((order[:, 1:] == order[:, :-1]).any())


def _sparse(a: Array, columns: NDArray[np.intp], n: int, padded: bool) -> sparse.csr_matrix:
    """Entries (R, K) at columns (R, K)."""
    count, k = a.shape
    matrix = sparse.csr_matrix((a.ravel(), columns.ravel(), np.arange(0, count * k + 1, k)), shape=(count, n))
    if padded:
        matrix.sum_duplicates()
    return matrix


def compressed(matrix: Any) -> sparse.csr_matrix:
    """A matrix as compressed rows; a dense one keeps its zeros, which costs less than finding them."""
    if sparse.issparse(matrix):
        return sparse.csr_matrix(matrix)
    count, n = matrix.shape
    index = np.tile(np.arange(n, dtype=np.int32), count)
    return sparse.csr_matrix((matrix.ravel(), index, np.arange(0, count * n + 1, n)), shape=matrix.shape)


def solve(
    c: Array,
    bounds: tuple[Array, Array],
    matrix: sparse.csr_matrix,
    sides: tuple[Array, Array],
    options: dict[str, Any],
    limit: float = np.inf,
    tolerance: float = 1e-9,
) -> tuple[str, Array]:
    """A fresh HiGHS model, built from arrays and solved: its status and its point."""
    h = highspy.Highs()
    fixed = {
        "output_flag": False,
        "threads": 1,
        "small_matrix_value": 1e-12,
        "primal_feasibility_tolerance": tolerance,
        "dual_feasibility_tolerance": tolerance,
    }
    for key, value in (fixed | options).items():
        h.setOptionValue(key, value)
    if np.isfinite(limit):
        h.setOptionValue("time_limit", float(limit))
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(c), matrix.shape[0]
    lp.col_cost_ = c
    lp.col_lower_, lp.col_upper_ = bounds
    lp.row_lower_, lp.row_upper_ = sides
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = matrix.indptr, matrix.indices, matrix.data
    h.passModel(lp)
    h.run()
    status = _STATUS.get(h.getModelStatus(), "failed")
    return status, np.array(h.getSolution().col_value)


def with_finite(program: Program, rows: Rows) -> tuple[sparse.csr_matrix, tuple[Array, Array]]:
    """The finite rows of a program on top of others, and the sides of all."""
    free = np.full(len(rows.rhs), -np.inf)
    if not program.A.shape[0]:
        return rows.matrix, (free, rows.rhs)
    matrix = sparse.vstack([program.A, rows.matrix], format="csr")
    return matrix, (np.concatenate([program.row_lower, free]), np.concatenate([program.row_upper, rows.rhs]))
