"""Gurobi's branch and bound: a finite program in which some variables are whole."""

from __future__ import annotations

import weakref

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .base import Array, IntegerResult, MasterError, Matrix
from .gurobi import (
    INFEASIBLE,
    INFEASIBLE_OR_UNBOUNDED,
    NODE_LIMIT,
    OPTIMAL,
    TIME_LIMIT,
    UNBOUNDED,
    dispose,
    new_model,
    timed,
)
from .rows import Sides, scaled
from .tuning import MASTERS

_ENDS = {
    OPTIMAL: "optimal",
    INFEASIBLE: "infeasible",
    UNBOUNDED: "unbounded",
    INFEASIBLE_OR_UNBOUNDED: "unbounded",
    NODE_LIMIT: "limit",
    TIME_LIMIT: "limit",
}


class GurobiIntegerMaster:
    """A live Gurobi model with whole columns."""

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
        accuracy = dict.fromkeys(("IntFeasTol", "FeasibilityTol", "OptimalityTol"), MASTERS.integrality)
        self._model = new_model({"Threads": 1, "MIPGapAbs": 0.0, **accuracy})
        weakref.finalize(self, dispose, self._model)
        kinds = np.where(integer, "I", "C")
        self._x = self._model.addMVar(len(c), lb=lower, ub=upper, obj=c, vtype=kinds)
        sides = Sides.of(A, row_lower, row_upper)
        for rows, sense, rhs in ((sides.equal, "=", sides.value), (sides.upper, "<", sides.right)):
            if rows.shape[0]:
                self._model.addMConstr(rows, self._x, sense, rhs)

    def add(self, rows: Matrix, rhs: Array) -> None:
        if rows.shape[0]:
            table, right, _ = scaled(rows, rhs)
            self._model.addMConstr(table, self._x, "<", right)

    def solve(self, gap: float, start: Array | None = None, nodes: int | None = None) -> IntegerResult:
        model = self._model
        model.setParam("MIPGap", gap)
        model.setParam("NodeLimit", np.inf if nodes is None else nodes)
        if start is not None:
            self._x.setAttr("Start", start)
        timed(model, "branch and bound")
        if model.Status not in _ENDS:
            raise MasterError(f"Gurobi stopped with status {model.Status} on a mixed-integer program.")
        end = _ENDS[model.Status]
        found = np.array(self._x.X) if model.SolCount else None
        return IntegerResult(end, found, np.inf if end == "infeasible" else float(model.ObjBound))
