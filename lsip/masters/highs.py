"""The default master: HiGHS, kept alive and warm-started by the dual simplex."""

from __future__ import annotations

from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..deadline import beat, check, left, watching
from ..errors import OutOfTime
from .base import Array, MasterError, MasterResult, Matrix, is_sparse
from .tuning import MASTERS

_GOOD, _LATE = highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kTimeLimit
_BAD = (highspy.HighsModelStatus.kInfeasible, highspy.HighsModelStatus.kUnboundedOrInfeasible)

_USUAL: dict[str, Any] = {"presolve": "off", "solver": "simplex", "simplex_strategy": 1}
_CENTRAL: dict[str, Any] = {
    "solver": "ipm",
    "run_crossover": "off",
    "ipm_optimality_tolerance": 1e-12,
    "ipm_iteration_limit": 60,
}


class HighsMaster:
    """A live HiGHS model; the last column is the elastic s, the first rows are the finite ones."""

    def __init__(
        self, c: Array, lower: Array, upper: Array, A: sparse.csr_matrix, row_lower: Array, row_upper: Array, tol: float
    ) -> None:
        self.n, self.finite = len(c), A.shape[0]
        self.c = np.append(c, 0.0)
        self._highs = new_highs(tol)
        h = self._highs
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = self.n + 1, self.finite
        lp.col_cost_ = self.c
        lp.col_lower_, lp.col_upper_ = np.append(lower, 0.0), np.append(upper, 0.0)
        lp.row_lower_, lp.row_upper_ = row_lower, row_upper
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = A.indptr, A.indices, A.data
        h.passModel(lp)
        self._scale = np.zeros(0)  # each cut is divided by its largest coefficient
        self._elastic = False
        self._margin = 0.0

    @property
    def cuts(self) -> int:
        return len(self._scale)

    def add(self, rows: Matrix, rhs: Array) -> None:
        if is_sparse(rows):
            self._add_sparse(rows, rhs)
        else:
            self._add_dense(rows, rhs)

    def _add_sparse(self, rows: sparse.csr_matrix, rhs: Array) -> None:
        count = rows.shape[0]
        if not count:
            return
        size = np.zeros(count)
        filled = np.diff(rows.indptr) > 0
        if filled.any():
            size[filled] = np.maximum.reduceat(np.abs(rows.data), rows.indptr[:-1][filled])
        scale = np.maximum(size, MASTERS.least_divisor)
        each = np.diff(rows.indptr) + 1
        starts = np.concatenate([[0], np.cumsum(each)])
        index = np.empty(starts[-1], dtype=np.int32)
        value = np.empty(starts[-1])
        last = starts[1:] - 1
        body = np.ones(starts[-1], dtype=bool)
        body[last] = False
        index[last], value[last] = self.n, -1.0 / scale
        index[body], value[body] = rows.indices, rows.data / np.repeat(scale, each - 1)
        lower = np.full(count, -highspy.kHighsInf)
        self._highs.addRows(count, lower, rhs / scale, len(index), starts[:-1].astype(np.int32), index, value)
        self._scale = np.concatenate([self._scale, scale])

    def _add_dense(self, rows: Array, rhs: Array) -> None:
        count, width = len(rows), self.n + 1
        if not count:
            return
        scale = np.maximum(np.abs(rows).max(axis=1), MASTERS.least_divisor)
        table = np.empty((count, width))
        table[:, :-1] = rows
        table[:, -1] = -1.0
        table /= scale[:, None]
        starts = np.arange(0, count * width, width, dtype=np.int32)
        index = np.tile(np.arange(width, dtype=np.int32), count)
        lower = np.full(count, -highspy.kHighsInf)
        self._highs.addRows(count, lower, rhs / scale, count * width, starts, index, table.ravel())
        self._scale = np.concatenate([self._scale, scale])

    def drop(self, keep: NDArray[np.bool_]) -> None:
        gone = (np.flatnonzero(~keep) + self.finite).astype(np.int32)
        if len(gone):
            self._highs.deleteRows(len(gone), gone)
            self._scale = self._scale[keep]

    def solve(self, margin: float) -> MasterResult:
        if self._elastic:
            self._highs.changeColsCost(self.n + 1, np.arange(self.n + 1, dtype=np.int32), self.c)
        if self._elastic or margin != self._margin:
            self._elastic = True  # until all is changed, so that an interrupt leaves nothing that looks done
            self._highs.changeColBounds(self.n, -margin, -margin)
        self._margin = margin
        self._elastic = False
        return self._run()

    def centre(self, margin: float) -> Array | None:
        """An interior-point solution without crossover; the simplex basis is kept for the next solve."""
        h, basis = self._highs, self._highs.getBasis()
        if self._elastic or margin != self._margin:
            return None
        for key, value in _CENTRAL.items():
            h.setOptionValue(key, value)
        try:
            status = timed_run(h)
            # Without crossover there is no basis, which HiGHS reports as an unknown status; the point is what counts.
            z = np.array(h.getSolution().col_value)
        finally:
            for key, value in _USUAL.items():
                h.setOptionValue(key, value)
            h.clearSolver()
            h.setBasis(basis)
        found = status != _LATE and len(z) == self.n + 1 and np.isfinite(z).all()
        return z[: self.n] if found else None

    def best_margin(self, most: float) -> MasterResult:
        cost = np.zeros(self.n + 1)
        cost[-1] = 1.0
        self._elastic = True
        self._highs.changeColsCost(self.n + 1, np.arange(self.n + 1, dtype=np.int32), cost)
        self._highs.changeColBounds(self.n, -most, highspy.kHighsInf)
        return self._run()

    def _run(self) -> MasterResult:
        h = self._highs
        if not run(h):
            return self._infeasible()
        solution: Any = h.getSolution()
        z = np.array(solution.col_value)
        dual = np.array(solution.row_dual)
        return MasterResult(
            "optimal",
            z[: self.n],
            float(z[-1]),
            float(self.c @ z),
            np.maximum(-dual[self.finite :] / self._scale, 0.0),
            -dual[: self.finite],
            np.array(solution.col_dual)[: self.n],
        )

    def _infeasible(self) -> MasterResult:
        """The Farkas multipliers of an infeasible model, if HiGHS has a ray."""
        ray = self._highs.getDualRay()  # type: ignore[attr-defined]  # which its annotations forget
        dual = np.zeros(self.finite + self.cuts)
        if ray[1]:
            dual = np.array(ray[2])
        cut = np.maximum(-dual[self.finite :] / self._scale, 0.0)
        return MasterResult("infeasible", np.zeros(self.n), np.inf, np.inf, cut, -dual[: self.finite], np.zeros(self.n))


def run(h: highspy.Highs) -> bool:
    """Solve a bounded LP: whether it is feasible. MasterError if HiGHS fails in every way that it knows.

    Raises `OutOfTime` at the deadline, whichever way it was on.
    """
    status = timed_run(h)
    if status not in (_GOOD, _LATE, *_BAD):
        status = _otherwise(h)
    if status in _BAD:
        return False
    if status == _LATE:
        raise OutOfTime("HiGHS ran out of time.")
    # HiGHS doubts some answers because of one large number; the certificate checks them anyway.
    info = h.getInfo()
    close = info.max_primal_infeasibility <= MASTERS.close and info.max_dual_infeasibility <= MASTERS.close
    if status != _GOOD and not close:
        raise MasterError(f"HiGHS stopped with '{h.modelStatusToString(status)}' on a bounded LP.")
    return True


def _otherwise(h: highspy.Highs) -> highspy.HighsModelStatus:
    """A warm start can leave the dual simplex stuck on badly scaled rows: start again, then try other methods."""
    status = highspy.HighsModelStatus.kNotset
    try:
        for options in ({}, {"simplex_strategy": 4}, {"presolve": "on"}, {"solver": "ipm"}):
            for key, value in (_USUAL | options).items():
                h.setOptionValue(key, value)
            h.clearSolver()
            status = timed_run(h)
            if status in (_GOOD, _LATE, *_BAD):
                break
    finally:
        for key, value in _USUAL.items():
            h.setOptionValue(key, value)
    return status


def timed_run(h: highspy.Highs, kind: Any = None, doing: str = "linear program") -> highspy.HighsModelStatus:
    """Run within the time that is left; the status. `kind` is the callback that tells of work, by default simplex's."""
    check(doing)
    limit, told = left(), None
    # HiGHS counts the seconds of all runs of a model, but for a branch and bound those of its own.
    spent = h.getRunTime() if kind is None else 0.0
    h.setOptionValue("time_limit", highspy.kHighsInf if limit == np.inf else spent + max(limit, 0.0))
    if watching() or kind is not None:  # a branch and bound may take long, and Python hears of an interrupt only so
        told = kind or highspy.cb.HighsCallbackType.kCallbackSimplexInterrupt
        h.setCallback(_tell, doing)
        h.startCallback(told)
    try:
        h.run()
    finally:
        if told is not None:
            h.stopCallback(told)
    return h.getModelStatus()


def _tell(
    _kind: highspy.cb.HighsCallbackType,
    _message: str,
    _out: highspy.cb.HighsCallbackOutput,
    _in: highspy.cb.HighsCallbackInput,
    doing: str,
) -> None:
    """Say now and then that HiGHS is still under way; it keeps the deadline itself."""
    beat(doing)


def new_highs(tol: float) -> highspy.Highs:
    """A silent HiGHS model, to be kept alive, as accurate as a relative gap of `tol` needs."""
    h = highspy.Highs()  # type: ignore[no-untyped-call]
    accuracy = float(np.clip(tol * 1e-4, 1e-10, 1e-9))  # margins are a small part of tol, and rows are scaled
    for key, value in (
        ("output_flag", False),
        ("threads", 1),
        *_USUAL.items(),
        ("small_matrix_value", MASTERS.least_coefficient),
        ("ipm_iteration_limit", MASTERS.interior_iterations),
        ("primal_feasibility_tolerance", accuracy),
        ("dual_feasibility_tolerance", accuracy),
    ):
        h.setOptionValue(key, value)
    return h
