"""HiGHS's branch and bound: a finite program in which some variables are whole."""

from __future__ import annotations

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .base import Array, IntegerResult, MasterError, Matrix
from .highs import timed_run
from .rows import scaled
from .tuning import MASTERS

_ENDS = {
    highspy.HighsModelStatus.kOptimal: "optimal",
    highspy.HighsModelStatus.kInfeasible: "infeasible",
    highspy.HighsModelStatus.kUnbounded: "unbounded",
    highspy.HighsModelStatus.kUnboundedOrInfeasible: "unbounded",
    highspy.HighsModelStatus.kTimeLimit: "limit",
    highspy.HighsModelStatus.kSolutionLimit: "limit",  # of nodes
}


class HighsIntegerMaster:
    """A live HiGHS model with whole columns."""

    def __init__(
        self,
        c: Array,
        lower: Array,
        upper: Array,
        integer: NDArray[np.bool_],
        A: sparse.csr_matrix,
        row_lower: Array,
        row_upper: Array,
    ) -> None:
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = len(c), A.shape[0]
        lp.col_cost_, lp.col_lower_, lp.col_upper_ = c, lower, upper
        lp.row_lower_, lp.row_upper_ = row_lower, row_upper
        lp.integrality_ = [kinds[int(whole)] for whole in integer]
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = A.indptr, A.indices, A.data
        self._highs = _new_highs()
        self._highs.passModel(lp)

    def add(self, rows: Matrix, rhs: Array) -> None:
        if not rows.shape[0]:
            return
        table, right, _ = scaled(rows, rhs)
        table = sparse.csr_matrix(table)
        count, none = table.shape[0], np.full(table.shape[0], -highspy.kHighsInf)
        starts, index = table.indptr[:-1].astype(np.int32), table.indices.astype(np.int32)
        self._highs.addRows(count, none, right, table.nnz, starts, index, table.data)

    def solve(self, gap: float, start: Array | None = None, nodes: int | None = None) -> IntegerResult:
        h = self._highs
        h.setOptionValue("mip_rel_gap", gap)
        h.setOptionValue("mip_max_nodes", highspy.kHighsIInf if nodes is None else nodes)
        if start is not None:
            first = highspy.HighsSolution()
            first.col_value = start.tolist()
            h.setSolution(first)
        status = timed_run(h, highspy.cb.HighsCallbackType.kCallbackMipInterrupt, "branch and bound")
        if status not in _ENDS:
            raise MasterError(f"HiGHS stopped with '{h.modelStatusToString(status)}' on a mixed-integer program.")
        info = h.getInfo()
        found = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
        return IntegerResult(
            _ENDS[status],
            np.array(h.getSolution().col_value) if found else None,
            np.inf if _ENDS[status] == "infeasible" else float(info.mip_dual_bound),
        )


def _new_highs() -> highspy.Highs:
    """A silent HiGHS model whose branch and bound goes on to a relative gap."""
    h = highspy.Highs()  # type: ignore[no-untyped-call]
    for key, value in (
        ("output_flag", False),
        ("threads", 1),
        ("mip_abs_gap", 0.0),
        ("mip_feasibility_tolerance", MASTERS.integrality),
        ("primal_feasibility_tolerance", MASTERS.integrality),
        ("dual_feasibility_tolerance", MASTERS.integrality),
        ("small_matrix_value", MASTERS.least_coefficient),
    ):
        h.setOptionValue(key, value)
    return h
