"""The default back end: HiGHS, kept alive and warm-started by the dual simplex; its branch and bound for integers."""

from __future__ import annotations

from typing import Any

import highspy
import numpy as np
from scipy import sparse

from ..deadline import beat, check, left, watching
from ..errors import OutOfTime
from .base import Array, Backend, Bools, Capabilities, FiniteProgram, FiniteResult, MasterError, Matrix, Pair

_STATUS = highspy.HighsModelStatus
_ENDS = {
    _STATUS.kOptimal: "optimal",
    _STATUS.kInfeasible: "infeasible",
    _STATUS.kUnboundedOrInfeasible: "infeasible",  # programs without bounds are rare here
    _STATUS.kUnbounded: "unbounded",
}
_TREE_ENDS = {
    **_ENDS,
    _STATUS.kUnboundedOrInfeasible: "unbounded",
    _STATUS.kTimeLimit: "limit",
    _STATUS.kSolutionLimit: "limit",  # of nodes
}
_USUAL: dict[str, Any] = {"presolve": "off", "solver": "simplex", "simplex_strategy": 1}
_INTERIOR: dict[str, Any] = {"presolve": "on", "solver": "ipm"}
_TREE: dict[str, Any] = {
    "presolve": "choose",
    "solver": "choose",
    "mip_abs_gap": 0.0,
    # Gurobi takes no less, and the exchange rounds and proves anyway.
    **dict.fromkeys(("mip_feasibility_tolerance", "primal_feasibility_tolerance", "dual_feasibility_tolerance"), 1e-9),
}
_CENTRAL: dict[str, Any] = {
    "solver": "ipm",
    "run_crossover": "off",
    "ipm_optimality_tolerance": 1e-12,
    "ipm_iteration_limit": 60,
}
# When the warm dual simplex is stuck on badly scaled rows: from the beginning; the primal simplex; other methods.
_OTHERS: tuple[dict[str, Any], ...] = ({}, {"simplex_strategy": 4}, {"presolve": "on"}, {"solver": "ipm"})


class HighsProgram:
    """A live HiGHS model."""

    def __init__(self, program: FiniteProgram, tol: float) -> None:
        self._highs = h = new_highs(tol)
        self._integer = program.integer is not None
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = len(program.c), program.A.shape[0]
        lp.col_cost_, lp.col_lower_, lp.col_upper_ = program.c, program.lower, program.upper
        lp.row_lower_, lp.row_upper_ = program.row_lower, program.row_upper
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = _entries(program.A)
        if program.integer is not None:
            kinds = highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger
            lp.integrality_ = [kinds[int(whole)] for whole in program.integer]
            _set(h, _TREE)
        _taken(h.passModel(lp), "a program")
        self._first = program.A.shape[0]  # rows that are never dropped
        # What HiGHS was told last. An entry is missing while it is being told, so that an interrupt leaves no untruth.
        self._told: dict[str, tuple[Array, ...]] = {
            "c": (program.c,),
            "bounds": (program.lower, program.upper),
            "sides": (program.row_lower, program.row_upper),
        }

    @property
    def program(self) -> FiniteProgram:
        lp: Any = self._highs.getLp()
        by_rows = lp.a_matrix_.format_ == highspy.MatrixFormat.kRowwise
        entries = lp.a_matrix_.value_, lp.a_matrix_.index_, lp.a_matrix_.start_
        A = (sparse.csr_matrix if by_rows else sparse.csc_matrix)(entries, shape=(lp.num_row_, lp.num_col_))
        c, lower, upper = (np.array(values) for values in (lp.col_cost_, lp.col_lower_, lp.col_upper_))
        return FiniteProgram(c, lower, upper, sparse.csr_matrix(A), np.array(lp.row_lower_), np.array(lp.row_upper_))

    def add(self, rows: Matrix, rhs: Array) -> None:
        starts, index, values = _entries(rows)
        count, none = len(rhs), np.full(len(rhs), -highspy.kHighsInf)
        if count:
            _taken(self._highs.addRows(count, none, rhs, len(values), starts[:-1], index, values), "rows")

    def add_columns(self, c: Array, columns: Array) -> None:
        """Append nonnegative variables with costs c (k,) and coefficients (rows, k) in all rows."""
        index = np.arange(len(columns), dtype=np.int32)
        told = self._told.pop("c", None), self._told.pop("bounds", None)
        for cost, values in zip(c.tolist(), columns.T, strict=True):
            _taken(self._highs.addCol(cost, 0.0, highspy.kHighsInf, len(index), index, values), "columns")
        new = (c,), (np.zeros(len(c)), np.full(len(c), np.inf))
        for name, old, more in zip(("c", "bounds"), told, new, strict=True):
            if old is not None:
                self._told[name] = tuple(np.concatenate(both) for both in zip(old, more, strict=True))

    def drop(self, keep: Bools) -> None:
        gone = (np.flatnonzero(~keep) + self._first).astype(np.int32)
        if len(gone):
            self._highs.deleteRows(len(gone), gone)

    def change(self, c: Array | None = None, bounds: Pair | None = None, sides: Pair | None = None) -> None:
        """Tell HiGHS what differs from what it knows."""
        h = self._highs
        for name, new in (("c", None if c is None else (c,)), ("bounds", bounds), ("sides", sides)):
            if new is None:
                continue
            old = self._told.pop(name, tuple(np.full(len(values), np.nan) for values in new))
            changed = np.flatnonzero(np.logical_or.reduce([a != b for a, b in zip(old, new, strict=True)]))
            if name == "c":
                h.changeColsCost(len(changed), changed.astype(np.int32), new[0][changed])
            else:  # all at once only since highspy 1.13
                tell = h.changeColBounds if name == "bounds" else h.changeRowBounds
                for k in changed.tolist():
                    tell(k, *(float(values[k]) for values in new))
            self._told[name] = new

    def solve(
        self,
        *,
        interior: bool = False,
        once: bool = False,
        gap: float = 0.0,
        start: Array | None = None,
        nodes: int | None = None,
    ) -> FiniteResult:
        if self._integer:
            return self._branch_and_bound(gap, start, nodes)
        h = self._highs
        status = run(h, interior, once)
        if status == "infeasible":
            ray = h.getDualRay()  # type: ignore[attr-defined]  # which its annotations forget
            return FiniteResult(status, None, -np.array(ray[2]) if ray[1] else None)
        if status == "unbounded":
            return FiniteResult(status)
        found: Any = h.getSolution()
        return FiniteResult(status, np.array(found.col_value), -np.array(found.row_dual), np.array(found.col_dual))

    def _branch_and_bound(self, gap: float, start: Array | None, nodes: int | None) -> FiniteResult:
        h = self._highs
        _set(h, {"mip_rel_gap": gap, "mip_max_nodes": highspy.kHighsIInf if nodes is None else nodes})
        if start is not None:
            first = highspy.HighsSolution()
            first.col_value = start.tolist()
            h.setSolution(first)
        status = timed_run(h, highspy.cb.HighsCallbackType.kCallbackMipInterrupt, "branch and bound")
        if status not in _TREE_ENDS:
            raise MasterError(f"HiGHS stopped with '{h.modelStatusToString(status)}' on a mixed-integer program.")
        info, end = h.getInfo(), _TREE_ENDS[status]
        found = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
        x = np.array(h.getSolution().col_value) if found else None
        return FiniteResult(end, x, bound=np.inf if end == "infeasible" else float(info.mip_dual_bound))

    def centre(self) -> Array | None:
        """An interior-point solution without crossover; the simplex basis is kept for the next solve."""
        h, basis = self._highs, self._highs.getBasis()
        _set(h, _CENTRAL)
        try:
            status = timed_run(h)
            # Without crossover there is no basis, which HiGHS reports as an unknown status; the point is what counts.
            x = np.array(h.getSolution().col_value)
        finally:
            _set(h, _USUAL)
            h.clearSolver()
            h.setBasis(basis)
        return x if status != _STATUS.kTimeLimit and len(x) and np.isfinite(x).all() else None


HIGHS = Backend("highs", HighsProgram, Capabilities(integers=True))


def backend(solver: str = "") -> Backend:
    """HiGHS."""
    return HIGHS


def run(h: highspy.Highs, interior: bool = False, once: bool = False) -> str:
    """Solve an LP: "optimal", "infeasible" or "unbounded". MasterError if HiGHS fails in every way that it knows.

    `once` tries no other way. Raises `OutOfTime` at the deadline, whichever way it was on.
    """
    try:
        _set(h, _INTERIOR if interior else {})
        status = timed_run(h)
        for options in () if once else _OTHERS:
            doubtful = status == _STATUS.kUnbounded and not options  # a warm start may say that by mistake
            if status == _STATUS.kTimeLimit or (status in _ENDS and not doubtful):
                break
            _set(h, _USUAL | options)
            h.clearSolver()
            status = timed_run(h)
    finally:
        _set(h, _USUAL)
    if status == _STATUS.kTimeLimit:
        raise OutOfTime("HiGHS ran out of time.")
    if status in _ENDS:
        return _ENDS[status]
    # HiGHS doubts some answers because of one large number; the certificate checks them anyway.
    info = h.getInfo()
    if not max(info.max_primal_infeasibility, info.max_dual_infeasibility) <= 1e-7:
        raise MasterError(f"HiGHS stopped with '{h.modelStatusToString(status)}' on a bounded LP.")
    return "optimal"


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
    """A silent HiGHS model, to be kept alive."""
    h = highspy.Highs()  # type: ignore[no-untyped-call]
    # On badly scaled programs of two variables the interior-point method took more than half a million steps.
    _set(h, {"output_flag": False, **_USUAL, "ipm_iteration_limit": 500, **accurate(tol)})
    return h


def accurate(tol: float) -> dict[str, Any]:
    """Options that make HiGHS as accurate as a relative gap of `tol` needs.

    Margins are a small part of `tol`, and rows are scaled. One thread everywhere: HiGHS has one pool of threads a
    process, and refuses to run beside another size.
    """
    tolerances = ("primal_feasibility_tolerance", "dual_feasibility_tolerance")
    return {
        "threads": 1,
        "small_matrix_value": 1e-12,
        **dict.fromkeys(tolerances, float(np.clip(tol * 1e-4, 1e-10, 1e-9))),
    }


def _set(h: highspy.Highs, options: dict[str, Any]) -> None:
    for key, value in options.items():
        h.setOptionValue(key, value)


def _taken(status: highspy.HighsStatus, what: str) -> None:
    """Raise where HiGHS did not take what it was told: it refuses coefficients above 1e15, and leaves them out."""
    if status == highspy.HighsStatus.kError:
        raise MasterError(f"HiGHS refused {what}: it takes finite coefficients up to 1e15 only.")


def _entries(rows: Matrix) -> tuple[Any, Any, Any]:
    """Where each row begins, and the columns and values of its entries."""
    if not isinstance(rows, np.ndarray):
        return rows.indptr.astype(np.int32, copy=False), rows.indices.astype(np.int32, copy=False), rows.data
    count, width = rows.shape
    starts = np.arange(0, count * width + 1, width, dtype=np.int32)
    return starts, np.tile(np.arange(width, dtype=np.int32), count), rows.ravel()
