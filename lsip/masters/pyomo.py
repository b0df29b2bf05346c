"""Any LP solver that Pyomo knows: a ConcreteModel that is kept alive, grows by constraints, and is solved again.

Solvers with a persistent interface (`appsi_highs`, `gurobi_persistent`, …) are told only what has changed; the others
get the whole model every time.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from ..deadline import check, left
from ..errors import ModelError
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
from .highs import accurate
from .written import SplitProgram, optimal

if TYPE_CHECKING:
    from pyomo.core.base.constraint import ConstraintData
    from pyomo.core.base.var import VarData

# Solvers for LPs that give multipliers, the ones that keep their model first; the first that is there is the default.
LP_SOLVERS = (
    *("appsi_highs", "gurobi_persistent", "cplex_persistent", "xpress_persistent", "mosek_persistent"),
    *("highs", "appsi_gurobi", "gurobi_direct", "cplex_direct", "xpress_direct", "mosek_direct", "appsi_cplex"),
    *("glpk", "cbc", "appsi_cbc", "scip", "gurobi", "cplex", "xpress"),
)


class PyomoProgram(SplitProgram):
    """A live Pyomo model."""

    def __init__(self, program: FiniteProgram, tol: float, *, solver: str) -> None:
        import pyomo.environ as pyo
        from pyomo.solvers.plugins.solvers.persistent_solver import PersistentSolver

        super().__init__(program, tol)
        self.name, self._solver, self._numbers = solver, _available(solver), count()
        self._model = model = pyo.ConcreteModel()
        model.x = pyo.Var(range(len(program.c)))
        self._x: list[VarData] = list(model.x.values())
        model.cost = pyo.Objective(expr=_linear(program.c, self._x))
        model.rows = pyo.Constraint(pyo.Any)
        model.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
        for key, value in _settings(solver, tol).items():
            self._solver.options[key] = value
        # Some solvers watch the model, others have to be told what changes.
        self._told = self._solver if isinstance(self._solver, PersistentSolver) else None
        if self._told is not None:
            self._told.set_instance(model)
        config = getattr(self._solver, "update_config", None)
        if config is not None:  # APPSI interfaces compare the whole model at every solve; most of it never changes here
            config.update_params = config.update_named_expressions = config.update_constraints = False
            config.check_for_new_or_removed_params = False
        self._bound(program.lower, program.upper)
        if "highs" in solver:
            # HiGHS hears of its options with a solve, and must know before the first row which coefficients count.
            self._run()
        self._load()

    def change(self, c: Array | None = None, bounds: Pair | None = None, sides: Pair | None = None) -> None:
        if sides is not None:
            raise MasterError("The sides of rows are not changed in models of Pyomo.")
        if c is not None and not np.array_equal(c, self._opened.c):
            self._model.cost.set_value(_linear(c, self._x))
            if self._told is not None:
                self._told.set_objective(self._model.cost)
        if bounds is not None:
            self._bound(*bounds)
        super().change(c, bounds)

    def _bound(self, lower: Array, upper: Array) -> None:
        for variable, *ends in zip(self._x, lower.tolist(), upper.tolist(), strict=True):
            low, high = (None if np.isinf(end) else end for end in ends)
            if (variable.lb, variable.ub) != (low, high):
                variable.setlb(low)
                variable.setub(high)
                if self._told is not None:
                    self._told.update_var(variable)

    def _append(self, rows: sparse.csr_matrix, rhs: Array, equal: bool) -> list[ConstraintData]:
        model, found = self._model, []
        for i, right in enumerate(rhs.tolist()):
            part = slice(rows.indptr[i], rows.indptr[i + 1])
            body = _linear(rows.data[part], [self._x[j] for j in rows.indices[part]])
            number = next(self._numbers)
            model.rows[number] = (right if equal else None, body, right)
            found.append(model.rows[number])
            if self._told is not None:
                self._told.add_constraint(found[-1])
        return found

    def _remove(self, rows: list[ConstraintData]) -> None:
        for row in rows:
            if self._told is not None:
                self._told.remove_constraint(row)
            del self._model.rows[row.index()]

    def solve(self, **options: object) -> FiniteResult:
        if not self._run():
            return FiniteResult("infeasible")
        # A variable in no row and no objective is never sent, and comes back without a value.
        x = np.array([0.0 if v.value is None else v.value for v in self._x])
        # Pyomo's dual of a row is what the optimum gains with its right-hand side: a multiplier with the sign turned.
        values = -np.array([self._model.dual.get(row, 0.0) for row in self._first + self._rows], dtype=float)
        return optimal(self.program, x, self._multipliers(values))

    def _run(self) -> bool:
        """Whether the model is feasible, with the solution loaded into it if so."""
        from pyomo.opt import TerminationCondition

        check("linear program")
        try:
            results = self._solver.solve(self._model, load_solutions=False, **self._limit())
        except Exception as error:  # every interface lets its solver's own errors through
            if "size-limited" in str(error):
                raise LicenceError(
                    f"{self.name}, called by Pyomo, refuses a model of {self._model.nvariables()} variables and "
                    f'{self._model.nconstraints()} rows: {error}. Get a full licence, or use master="highs".'
                ) from error
            raise MasterError(f"{self.name}, called by Pyomo, failed on a bounded LP: {error}") from error
        found = results.solver.termination_condition
        if found == TerminationCondition.optimal:
            self._model.solutions.clear()
            self._model.solutions.load_from(results)
            return True
        # The LP is bounded, so that a solver which cannot tell infeasible from unbounded has told.
        if found in (TerminationCondition.infeasible, TerminationCondition.infeasibleOrUnbounded):
            return False
        check("linear program")  # which is why it may have stopped early
        raise MasterError(f"{self.name}, called by Pyomo, stopped with '{found}' on a bounded LP.")

    def _limit(self) -> dict[str, Any]:
        """The time that is left, in the words of the interface."""
        seconds = left()
        config: Any = getattr(self._solver, "config", None)
        if hasattr(config, "time_limit"):  # APPSI interfaces keep theirs until it is changed
            used = getattr(getattr(self._solver, "_solver_model", None), "getRunTime", None)  # HiGHS counts all runs
            before = 0.0 if used is None else used()
            config.time_limit = None if seconds == np.inf else before + max(seconds, 0.01)
            return {}
        return {} if seconds == np.inf else {"timelimit": max(seconds, 0.01)}


def backend(solver: str = "") -> Backend:
    """That solver of Pyomo, or the first that is there."""
    name = solver or next(_installed(), LP_SOLVERS[0])
    accuracy = 1e-10 if "highs" in name else 1e-9 if "gurobi" in name else 1e-7  # the last is a usual default
    return Backend(f"pyomo:{name}", partial(PyomoProgram, solver=name), Capabilities(accuracy=accuracy))


def _linear(values: Array, variables: list[VarData]) -> Any:
    """The sum of products, as the one expression that Pyomo need not walk."""
    from pyomo.core.expr.numeric_expr import LinearExpression

    return LinearExpression(linear_coefs=np.asarray(values).tolist(), linear_vars=variables)


def _settings(name: str, tol: float) -> dict[str, Any]:
    """Options that make a solver as accurate as a relative gap of `tol` needs; others keep their defaults."""
    if "highs" in name:
        return {"presolve": "off", "solver": "simplex", **accurate(tol)}
    if "gurobi" in name:
        return {"Method": 1, "Threads": 1, "FeasibilityTol": 1e-9, "OptimalityTol": 1e-9}
    return {}


def _available(name: str) -> Any:
    """The solver of that name, or a `ModelError` that lists those that are there."""
    import pyomo.environ as pyo

    solver = pyo.SolverFactory(name)
    if not solver.available(exception_flag=False):
        there = ", ".join(_installed()) or "none: install one first"
        raise ModelError(f"Pyomo has no LP solver {name!r} here; choose from {there}.")
    return solver


def _installed() -> Iterator[str]:
    """Those of `LP_SOLVERS` that are there."""
    import pyomo.environ as pyo

    return (name for name in LP_SOLVERS if pyo.SolverFactory(name).available(exception_flag=False))
