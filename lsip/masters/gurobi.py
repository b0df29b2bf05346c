"""Gurobi, kept alive and warm-started by the dual simplex, for those who have a licence."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from scipy import sparse

from ..deadline import check, left
from ..errors import OutOfTime
from .base import (
    Array,
    Backend,
    Capabilities,
    FiniteProgram,
    FiniteResult,
    LicenceError,
    MasterError,
    Pair,
)
from .written import SplitProgram

if TYPE_CHECKING:
    import gurobipy

NO_LICENCE, TOO_LARGE = 10009, 10010  # Gurobi's error codes
OPTIMAL, INFEASIBLE, INFEASIBLE_OR_UNBOUNDED, UNBOUNDED, NODE_LIMIT, TIME_LIMIT = 2, 3, 4, 5, 8, 9  # and its statuses

_USUAL: dict[str, Any] = {"Method": 1, "Presolve": 0, "Threads": 1}  # a warm dual simplex
_TREE: dict[str, Any] = {"Threads": 1, "MIPGapAbs": 0.0, "IntFeasTol": 1e-9}
# When the warm dual simplex is stuck: from the beginning, with care; the primal simplex; the barrier method.
_OTHERS: tuple[dict[str, Any], ...] = ({}, {"NumericFocus": 3}, {"Method": 0}, {"Method": 2})
_ENDS = {
    OPTIMAL: "optimal",
    INFEASIBLE: "infeasible",
    UNBOUNDED: "unbounded",
    INFEASIBLE_OR_UNBOUNDED: "unbounded",
    NODE_LIMIT: "limit",
    TIME_LIMIT: "limit",
}


class GurobiProgram(SplitProgram):
    """A live Gurobi model."""

    def __init__(self, program: FiniteProgram, tol: float) -> None:
        super().__init__(program, tol)
        accuracy = 1e-9 if program.integer is not None else float(np.clip(tol * 1e-4, 1e-9, 1e-6))  # 1e-9 is the least
        usual = _USUAL if program.integer is None else _TREE
        self._model = new_model({**usual, "FeasibilityTol": accuracy, "OptimalityTol": accuracy})
        weakref.finalize(self, dispose, self._model)  # a licence is held for as long as its environment lives
        kinds = "C" if program.integer is None else np.where(program.integer, "I", "C")
        # The bounds are in place before the first update: a variable would otherwise be nonnegative for a moment.
        self._x = self._model.addMVar(len(program.c), lb=program.lower, ub=program.upper, obj=program.c, vtype=kinds)
        self._load()

    def _append(self, rows: sparse.csr_matrix, rhs: Array, equal: bool) -> list[Any]:
        return list(self._model.addMConstr(rows, self._x, "=" if equal else "<", rhs).tolist()) if len(rhs) else []

    def _remove(self, rows: list[Any]) -> None:
        self._model.remove(rows)

    def change(self, c: Array | None = None, bounds: Pair | None = None, sides: Pair | None = None) -> None:
        super().change(c, bounds, sides)
        if c is not None:
            self._x.setAttr("Obj", c)
        if bounds is not None:
            self._x.setAttr("LB", bounds[0])
            self._x.setAttr("UB", bounds[1])
        if sides is not None:
            self._model.setAttr("RHS", self._first, np.concatenate(self._sides.split(*sides)).tolist())

    def solve(
        self, *, gap: float = 0.0, start: Array | None = None, nodes: int | None = None, **options: object
    ) -> FiniteResult:
        if self._opened.integer is not None:
            return self._branch_and_bound(gap, start, nodes)
        model = self._model
        timed(model, "linear program")
        try:
            for other in _OTHERS:
                if model.Status in (OPTIMAL, INFEASIBLE, TIME_LIMIT):
                    break
                for key, value in other.items():
                    model.setParam(key, value)
                model.reset()
                timed(model, "linear program")
        finally:
            for key in ("NumericFocus", *_USUAL):
                model.setParam(key, _USUAL.get(key, 0))
        if model.Status == TIME_LIMIT:
            raise OutOfTime("Gurobi ran out of time.")
        if model.Status in (INFEASIBLE, INFEASIBLE_OR_UNBOUNDED, UNBOUNDED):
            return FiniteResult("unbounded" if model.Status == UNBOUNDED else "infeasible")
        if model.Status != OPTIMAL and not (model.SolCount and max(model.ConstrVio, model.DualVio) <= 1e-7):
            raise MasterError(f"Gurobi stopped with status {model.Status} on a bounded LP.")
        multipliers = self._multipliers(-np.array(model.getAttr("Pi", self._first + self._rows)))
        return FiniteResult("optimal", np.array(self._x.X), multipliers, np.array(self._x.RC))

    def _branch_and_bound(self, gap: float, start: Array | None, nodes: int | None) -> FiniteResult:
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
        return FiniteResult(end, found, bound=np.inf if end == "infeasible" else float(model.ObjBound))


def backend(solver: str = "") -> Backend:
    """Gurobi, whose tolerances cannot be set below 1e-9."""
    return Backend("gurobi", GurobiProgram, Capabilities(integers=True, accuracy=1e-9))


def timed(model: gurobipy.Model, doing: str) -> None:
    """Solve within the time that is left."""
    import gurobipy

    check(doing)
    model.setParam("TimeLimit", max(min(left(), 1e100), 0.0))
    try:
        model.optimize()
    except gurobipy.GurobiError as error:
        _refuse(error, f"{model.NumVars} variables and {model.NumConstrs} rows")


def new_model(parameters: dict[str, Any]) -> gurobipy.Model:
    """A silent model in an environment of its own, with Gurobi's parameters."""
    import gurobipy

    try:
        environment = gurobipy.Env(empty=True)
        environment.setParam("OutputFlag", 0)
        environment.start()
        model = gurobipy.Model(env=environment)
    except gurobipy.GurobiError as error:
        _refuse(error, "")
    model._environment = environment
    for key, value in parameters.items():
        model.setParam(key, value)
    return model


def dispose(model: gurobipy.Model) -> None:
    """Give back the licence."""
    environment = model._environment
    model.dispose()
    environment.dispose()


def _refuse(error: gurobipy.GurobiError, size: str) -> NoReturn:
    """Say what to do about a licence that is missing or too small; anything else is a failure of the solver."""
    if error.errno == TOO_LARGE:
        raise LicenceError(
            f"This model has {size}, more than Gurobi's licence allows (2000 of each with the one that pip installs): "
            'get a full licence from gurobi.com, or use master="highs".'
        ) from None
    if error.errno == NO_LICENCE:
        raise LicenceError(
            f'Gurobi has no valid licence ({error}): get one from gurobi.com, or use master="highs".'
        ) from None
    raise MasterError(f"Gurobi failed: {error}.") from error
