"""Gurobi, kept alive and warm-started by the dual simplex, for those who have a licence."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..deadline import check, left
from ..errors import OutOfTime
from .base import Array, LicenceError, MasterError, MasterResult, Matrix
from .magnified import magnified
from .rows import Sides, scaled
from .tuning import MASTERS

if TYPE_CHECKING:
    import gurobipy

NO_LICENCE, TOO_LARGE = 10009, 10010  # Gurobi's error codes
OPTIMAL, INFEASIBLE, INFEASIBLE_OR_UNBOUNDED, UNBOUNDED, NODE_LIMIT, TIME_LIMIT = 2, 3, 4, 5, 8, 9  # and its statuses

# A warm dual simplex; with these, Gurobi also has a ray to show for every infeasible model.
_USUAL: dict[str, Any] = {"Method": 1, "Presolve": 0, "InfUnbdInfo": 1, "Threads": 1}
_CENTRAL: dict[str, Any] = {"Method": 2, "Crossover": 0, "BarConvTol": 1e-12, "BarIterLimit": 60}
# When the warm dual simplex is stuck: from the beginning, with care; the primal simplex; the barrier method.
_OTHERS: tuple[dict[str, Any], ...] = ({}, {"NumericFocus": 3}, {"Method": 0}, {"Method": 2})


class GurobiMaster:
    """A live Gurobi model: columns z and the elastic s, the finite rows split into sides, then the cuts."""

    def __init__(
        self, c: Array, lower: Array, upper: Array, A: sparse.csr_matrix, row_lower: Array, row_upper: Array, tol: float
    ) -> None:
        self.n, self.c = len(c), np.append(c, 0.0)
        self._sides = Sides.of(A, row_lower, row_upper)
        accuracy = float(np.clip(tol * 1e-4, 1e-9, 1e-6))  # 1e-9 is the least that Gurobi takes
        self._model = new_model({**_USUAL, "FeasibilityTol": accuracy, "OptimalityTol": accuracy})
        weakref.finalize(self, dispose, self._model)  # a licence is held for as long as its environment lives
        # The bounds are in place before the first update: a variable would otherwise be nonnegative for a moment.
        self._x = self._model.addMVar(self.n + 1, lb=np.append(lower, 0.0), ub=np.append(upper, 0.0), obj=self.c)
        z = self._x[: self.n]
        self._finite = [
            self._model.addMConstr(rows, z, sense, rhs)
            for rows, sense, rhs in (
                (self._sides.equal, "=", self._sides.value),
                (self._sides.upper, "<", self._sides.right),
            )
            if rows.shape[0]
        ]
        self._cuts: list[Any] = []
        self._asked: tuple[float, float, float] | None = None  # the cost of s, which tells the objective, and its range
        self._scale = np.zeros(0)  # each cut is divided by its largest coefficient

    @property
    def cuts(self) -> int:
        return len(self._scale)

    def add(self, rows: Matrix, rhs: Array) -> None:
        if not rows.shape[0]:
            return
        table, right, scale = scaled(rows, rhs)
        column = -1.0 / scale[:, None]
        if sparse.issparse(table):
            table = sparse.hstack([table, sparse.csr_matrix(column)], format="csr")
        else:
            table = np.concatenate([table, column], axis=1)
        self._cuts += self._model.addMConstr(table, self._x, "<", right).tolist()
        self._scale = np.concatenate([self._scale, scale])

    def drop(self, keep: NDArray[np.bool_]) -> None:
        self._model.remove([cut for cut, stays in zip(self._cuts, keep, strict=True) if not stays])
        self._cuts = [cut for cut, stays in zip(self._cuts, keep, strict=True) if stays]
        self._scale = self._scale[keep]

    def solve(self, margin: float) -> MasterResult:
        self._ask(self.c, -margin, -margin)
        return self._run()

    def best_margin(self, most: float) -> MasterResult:
        self._ask(np.append(np.zeros(self.n), 1.0), -most, np.inf)
        return self._run()

    def centre(self, margin: float) -> Array | None:
        """The barrier method without crossover, on a copy: the simplex basis of the model stays."""
        self._ask(self.c, -margin, -margin)
        self._model.update()
        copy = self._model.copy()
        try:
            for key, value in _CENTRAL.items():
                copy.setParam(key, value)
            self._optimise(copy)
            if copy.SolCount == 0:
                return None
            z = np.array(copy.getAttr("X"))[: self.n]
            return z if np.isfinite(z).all() else None
        finally:
            copy.dispose()

    def _ask(self, cost: Array, low: float, high: float) -> None:
        """Set the objective and the range of the elastic column, where they change."""
        if self._asked is None or cost[-1] != self._asked[0]:
            self._x.setAttr("Obj", cost)
        if self._asked is None or (low, high) != self._asked[1:]:
            self._x[self.n].LB, self._x[self.n].UB = low, high
        self._asked = float(cost[-1]), low, high

    def _optimise(self, model: gurobipy.Model) -> None:
        timed(model, "linear program")
        if model.Status == TIME_LIMIT:
            raise OutOfTime("Gurobi ran out of time.")

    def _run(self) -> MasterResult:
        model = self._model
        self._optimise(model)
        if model.Status not in (OPTIMAL, INFEASIBLE):
            try:
                self._try_others(model)
            finally:
                for key in ("NumericFocus", *_USUAL):
                    model.setParam(key, _USUAL.get(key, 0))
        if model.Status in (INFEASIBLE, INFEASIBLE_OR_UNBOUNDED):
            return self._infeasible()
        if model.Status != OPTIMAL and not (model.SolCount and max(model.ConstrVio, model.DualVio) <= MASTERS.close):
            raise MasterError(f"Gurobi stopped with status {model.Status} on a bounded LP.")
        x = np.array(self._x.X)
        cut, row = self._multipliers("Pi", -1.0)
        return MasterResult(
            "optimal",
            x[: self.n],
            float(x[-1]),
            float(self.c @ x),
            np.maximum(cut, 0.0),
            row,
            np.array(self._x.RC)[: self.n],
        )

    def _try_others(self, model: gurobipy.Model) -> None:
        for options in _OTHERS:
            for key, value in options.items():
                model.setParam(key, value)
            model.reset()
            self._optimise(model)
            if model.Status in (OPTIMAL, INFEASIBLE):
                break

    def _infeasible(self) -> MasterResult:
        """The multipliers of Gurobi's Farkas proof, which has the opposite sign of its dual values."""
        import gurobipy

        try:
            cut, row = self._multipliers("FarkasDual", 1.0)
        except (AttributeError, gurobipy.GurobiError):  # presolve or the barrier method found it out, without a ray
            cut, row = np.zeros(self.cuts), np.zeros(len(self._sides.places[0]))
        nothing = np.zeros(self.n)
        return MasterResult("infeasible", nothing, np.inf, np.inf, np.maximum(cut, 0.0), row, nothing)

    def _multipliers(self, attribute: str, sign: float) -> tuple[Array, Array]:
        """An attribute of all rows as multipliers of the cuts and of the finite rows."""
        finite = [sign * np.array(getattr(part, attribute)) for part in self._finite]
        parts = np.concatenate([np.zeros(0), *finite])
        row = self._sides.multipliers(*np.split(parts, [len(self._sides.value)]))
        return sign * np.array(self._model.getAttr(attribute, self._cuts)) / self._scale, row


open_gurobi = magnified(GurobiMaster, MASTERS.gurobi_unit)


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
