"""Any LP solver that Pyomo knows: a ConcreteModel that is kept alive, grows by constraints, and is solved again.

Solvers with a persistent interface (`appsi_highs`, `gurobi_persistent`, …) are told only what has changed; the others
get the whole model every time.
"""

from __future__ import annotations

from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..deadline import check, left
from ..errors import ModelError
from .base import Array, LicenceError, Master, MasterError, MasterResult, Matrix
from .highs import HighsMaster
from .magnified import magnified
from .rows import Cuts, Sides, contradiction, solved_or_infeasible
from .tuning import MASTERS

if TYPE_CHECKING:
    from pyomo.core.base.constraint import ConstraintData
    from pyomo.core.base.objective import ObjectiveData
    from pyomo.core.base.var import VarData
    from pyomo.environ import ConcreteModel

# Solvers for LPs that give multipliers, the ones that keep their model first; the first that is there is the default.
LP_SOLVERS = (
    *("appsi_highs", "gurobi_persistent", "cplex_persistent", "xpress_persistent", "mosek_persistent"),
    *("highs", "appsi_gurobi", "gurobi_direct", "cplex_direct", "xpress_direct", "mosek_direct", "appsi_cplex"),
    *("glpk", "cbc", "appsi_cbc", "scip", "gurobi", "cplex", "xpress"),
)


def open_pyomo(
    c: Array,
    lower: Array,
    upper: Array,
    A: sparse.csr_matrix,
    row_lower: Array,
    row_upper: Array,
    tol: float,
    *,
    solver: str = "",
) -> Master:
    """A master by that solver of Pyomo, or by the first that is there."""
    name = solver or _first_available()
    unit = 1.0 if "highs" in name else MASTERS.gurobi_unit if "gurobi" in name else MASTERS.usual_unit
    make = magnified(partial(PyomoMaster, solver=name), unit)
    return make(c, lower, upper, A, row_lower, row_upper, tol)


class PyomoMaster:
    """A Pyomo model with variables z and s, its finite sides, and its cuts by number."""

    def __init__(
        self,
        c: Array,
        lower: Array,
        upper: Array,
        A: sparse.csr_matrix,
        row_lower: Array,
        row_upper: Array,
        tol: float,
        *,
        solver: str,
    ) -> None:
        import pyomo.environ as pyo

        self.n, self.c, self.tol, self.solver = len(c), c, tol, solver
        self._sides, self._cuts = Sides.of(A, row_lower, row_upper), Cuts(self.n)
        self._model = model = pyo.ConcreteModel()
        model.z, model.s = pyo.Var(range(self.n)), pyo.Var()
        model.cost = pyo.Objective(expr=_linear(c, list(model.z.values())))
        model.margin = pyo.Objective(expr=model.s)
        model.margin.deactivate()
        model.rows = pyo.Constraint(pyo.Any)
        model.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
        self._z = [model.z[j] for j in range(self.n)]
        self._handle = _Handle(self.solver, model, tol)
        self._box = lower, upper
        for z, low, high in zip(self._z, lower.tolist(), upper.tolist(), strict=True):
            self._handle.bounds(z, low, high)
        self._handle.bounds(model.s, 0.0, 0.0)
        if "highs" in solver:
            # HiGHS hears of its options with a solve, and must know before the first row which coefficients count.
            self._handle.solve()
        sides = self._sides
        self._equal = self._append(sides.equal, sides.value, None, equal=True)
        self._upper = self._append(sides.upper, sides.right, None, equal=False)
        self._rows: list[ConstraintData] = []  # the cuts, as constraints of the model

    @property
    def _sizes(self) -> tuple[int, int, int]:
        return self.n, self.cuts, len(self._sides.places[0])

    @property
    def cuts(self) -> int:
        return len(self._rows)

    def add(self, rows: Matrix, rhs: Array) -> None:
        held = self.cuts
        self._cuts.add(rows, rhs)
        self._rows += self._append(self._cuts.rows[held:], self._cuts.rhs[held:], self._cuts.scale[held:], equal=False)

    def drop(self, keep: NDArray[np.bool_]) -> None:
        for row, stays in zip(self._rows, keep, strict=True):
            if not stays:
                self._handle.remove(row)
                del self._model.rows[row.index()]
        self._rows = [row for row, stays in zip(self._rows, keep, strict=True) if stays]
        self._cuts.drop(keep)

    def solve(self, margin: float) -> MasterResult:
        return self._solve(margin, elastic=False)

    def best_margin(self, most: float) -> MasterResult:
        return self._solve(most, elastic=True)

    def centre(self, margin: float) -> Array | None:
        """HiGHS's interior-point solution: Pyomo has no common word for one that is not moved to a corner."""
        sides, cuts = self._sides, self._cuts
        rows = sparse.csr_matrix(sparse.vstack([sides.equal, sides.upper], format="csr"))
        low, high = np.full(len(sides.right), -np.inf), np.concatenate([sides.value, sides.right])
        other = HighsMaster(self.c, *self._box, rows, np.concatenate([sides.value, low]), high, self.tol)
        other.add(cuts.rows, cuts.rhs - margin / cuts.scale)
        return other.centre(0.0) if other.solve(0.0).status == "optimal" else None

    def _append(self, rows: sparse.csr_matrix, rhs: Array, scale: Array | None, equal: bool) -> list[ConstraintData]:
        """Constraints `rows z = rhs`, `rows z <= rhs` or, with a scale, `rows z - s / scale <= rhs`."""
        model, found = self._model, []
        for i, right in enumerate(rhs.tolist()):
            part = slice(rows.indptr[i], rows.indptr[i + 1])
            values, variables = rows.data[part], [self._z[j] for j in rows.indices[part]]
            if scale is not None:
                values, variables = np.append(values, -1.0 / scale[i]), [*variables, model.s]
            number = next(self._handle.numbers)
            model.rows[number] = (right if equal else None, _linear(values, variables), right)
            found.append(model.rows[number])
            self._handle.append(found[-1])
        return found

    def _solve(self, margin: float, elastic: bool) -> MasterResult:
        return solved_or_infeasible(
            lambda: self._run(margin, elastic), lambda: self._prove(margin, elastic), self._sizes
        )

    def _run(self, margin: float, elastic: bool) -> MasterResult | None:
        """Minimise c z with the slack s = -margin, or s >= -margin itself; None if that is infeasible."""
        model, cuts, sides = self._model, self._cuts, self._sides
        self._handle.bounds(model.s, -margin, np.inf if elastic else -margin)
        self._handle.minimise(model.margin if elastic else model.cost)
        if not self._handle.solve():
            return None
        # A variable in no row and no objective is never sent, and comes back without a value.
        z = np.clip([0.0 if v.value is None else v.value for v in self._z], *self._box)
        # Pyomo's dual of a row is what the optimum gains with its right-hand side: a multiplier with the sign turned.
        equal, upper, cut = (
            -np.array([model.dual.get(row, 0.0) for row in part], dtype=float)
            for part in (self._equal, self._upper, self._rows)
        )
        cut, upper = np.maximum(cut, 0.0), np.maximum(upper, 0.0)
        reduced = (0.0 if elastic else self.c) + cuts.rows.T @ cut + sides.equal.T @ equal + sides.upper.T @ upper
        slack = float(model.s.value) if elastic else -margin
        row = sides.multipliers(equal, upper)
        return MasterResult("optimal", z, slack, float(self.c @ z), cut / cuts.scale, row, reduced)

    def _prove(self, margin: float, elastic: bool) -> tuple[float, Array, Array]:
        cuts = Cuts(self.n) if elastic else self._cuts  # elastic cuts have no part in a contradiction
        make = partial(PyomoMaster, solver=self.solver)
        slack, cut, row = contradiction(make, self._box, self._sides, cuts, margin, self.tol)
        return slack, np.zeros(self.cuts) if elastic else cut, row


class _Handle:
    """A Pyomo solver and the model that it watches, or has to be told about."""

    def __init__(self, name: str, model: ConcreteModel, tol: float) -> None:
        from pyomo.solvers.plugins.solvers.persistent_solver import PersistentSolver

        self.name, self.model, self.numbers = name, model, count()
        self.solver = _available(name)
        for key, value in _settings(name, tol).items():
            self.solver.options[key] = value
        self.told = isinstance(self.solver, PersistentSolver)
        if self.told:
            self.solver.set_instance(model)
        self._watch_only_what_changes()

    def _watch_only_what_changes(self) -> None:
        """The APPSI interfaces compare the whole model at every solve; most of it never changes here."""
        config = getattr(self.solver, "update_config", None)
        for part in ("params", "named_expressions", "vars", "constraints"):
            if config is not None:
                setattr(config, f"update_{part}", part == "vars")
        if config is not None:
            config.check_for_new_or_removed_params = False

    def append(self, row: ConstraintData) -> None:
        if self.told:
            self.solver.add_constraint(row)

    def remove(self, row: ConstraintData) -> None:
        if self.told:
            self.solver.remove_constraint(row)

    def bounds(self, variable: VarData, low: float, high: float) -> None:
        ends = tuple(None if np.isinf(end) else end for end in (low, high))
        if (variable.lb, variable.ub) == ends:
            return
        variable.setlb(ends[0])
        variable.setub(ends[1])
        if self.told:
            self.solver.update_var(variable)

    def minimise(self, objective: ObjectiveData) -> None:
        if objective.active:
            return
        for other in (self.model.cost, self.model.margin):
            other.deactivate()
        objective.activate()
        if self.told:
            self.solver.set_objective(objective)

    def solve(self) -> bool:
        """Whether the model is feasible, with the solution loaded into it if so."""
        from pyomo.opt import TerminationCondition

        check("linear program")
        try:
            results = self.solver.solve(self.model, load_solutions=False, **self._limit())
        except Exception as error:  # every interface lets its solver's own errors through
            if "size-limited" in str(error):
                raise LicenceError(
                    f"{self.name}, called by Pyomo, refuses a model of {self.model.nvariables()} variables and "
                    f'{self.model.nconstraints()} rows: {error}. Get a full licence, or use master="highs".'
                ) from error
            raise MasterError(f"{self.name}, called by Pyomo, failed on a bounded LP: {error}") from error
        found = results.solver.termination_condition
        if found == TerminationCondition.optimal:
            self.model.solutions.clear()
            self.model.solutions.load_from(results)
            return True
        # The LP is bounded, so that a solver which cannot tell infeasible from unbounded has told.
        if found in (TerminationCondition.infeasible, TerminationCondition.infeasibleOrUnbounded):
            return False
        check("linear program")  # which is why it may have stopped early
        raise MasterError(f"{self.name}, called by Pyomo, stopped with '{found}' on a bounded LP.")

    def _limit(self) -> dict[str, Any]:
        """The time that is left, in the words of the interface."""
        seconds = left()
        config: Any = getattr(self.solver, "config", None)
        if hasattr(config, "time_limit"):  # APPSI interfaces keep theirs until it is changed
            used = getattr(getattr(self.solver, "_solver_model", None), "getRunTime", None)  # HiGHS counts all runs
            before = 0.0 if used is None else used()
            config.time_limit = None if seconds == np.inf else before + max(seconds, MASTERS.least_seconds)
            return {}
        return {} if seconds == np.inf else {"timelimit": max(seconds, MASTERS.least_seconds)}


def _linear(values: Array, variables: list[VarData]) -> Any:
    """The sum of products, as the one expression that Pyomo need not walk."""
    from pyomo.core.expr.numeric_expr import LinearExpression

    return LinearExpression(linear_coefs=np.asarray(values).tolist(), linear_vars=variables)


def _settings(name: str, tol: float) -> dict[str, Any]:
    """Options that make a solver as accurate as a relative gap of `tol` needs; others keep their defaults."""
    accuracy = float(np.clip(tol * 1e-4, 1e-10, 1e-9))
    if "highs" in name:
        # One thread everywhere: HiGHS has one pool of them a process, and refuses to run beside another size.
        usual: dict[str, Any] = {"threads": 1, "presolve": "off", "solver": "simplex"}
        usual["small_matrix_value"] = MASTERS.least_coefficient
        return {**usual, "primal_feasibility_tolerance": accuracy, "dual_feasibility_tolerance": accuracy}
    if "gurobi" in name:
        return {"Method": 1, "Threads": 1, "FeasibilityTol": 1e-9, "OptimalityTol": 1e-9}
    return {}


def _available(name: str) -> Any:
    """The solver of that name, or a `ModelError` that lists those that are there."""
    import pyomo.environ as pyo

    solver = pyo.SolverFactory(name)
    if not solver.available(exception_flag=False):
        there = [other for other in LP_SOLVERS if pyo.SolverFactory(other).available(exception_flag=False)]
        raise ModelError(
            f"Pyomo has no LP solver {name!r} here; choose from {', '.join(there) or 'none: install one first'}."
        )
    return solver


def _first_available() -> str:
    """The first of `LP_SOLVERS` that is installed."""
    import pyomo.environ as pyo

    for name in LP_SOLVERS:
        if pyo.SolverFactory(name).available(exception_flag=False):
            return name
    raise ModelError(f"Pyomo has no LP solver here; install one of {', '.join(LP_SOLVERS)}.")
