"""What Pyomo gets back: a `SolverResults`, values of variables, duals and reduced costs in suffixes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...errors import LSIPError
from ...model.status import Status
from ...solution.solution import Solution
from .columns import ModelVariable
from .families import UPPER, Owner, RowSource
from .model import PyomoModel

if TYPE_CHECKING:
    from pyomo.common.collections import ComponentMap
    from pyomo.core.base.block import BlockData
    from pyomo.environ import Suffix
    from pyomo.opt import SolverResults

Array = NDArray[np.float64]
CONDITIONS = {  # status: Pyomo's termination condition and solver status
    Status.OPTIMAL: ("optimal", "ok"),
    Status.INFEASIBLE: ("infeasible", "error"),
    Status.UNBOUNDED: ("unbounded", "error"),
    Status.ITERATION_LIMIT: ("maxIterations", "aborted"),
    Status.TIME_LIMIT: ("maxTimeLimit", "aborted"),
    Status.INTERRUPTED: ("userInterrupt", "aborted"),
    Status.UNCERTIFIED: ("other", "warning"),
    Status.NO_INTERIOR: ("other", "warning"),
    Status.STALLED: ("other", "warning"),
}


class NoSolutionError(LSIPError, RuntimeError):
    """There is no solution to load into a model; `results` holds the status and the bounds."""

    def __init__(self, message: str, results: SolverResults) -> None:
        super().__init__(message)
        self.results = results


class PyomoAnswer:
    """A solution in terms of the Pyomo model that was read."""

    def __init__(self, reading: PyomoModel, owners: list[tuple[Owner, ...]], solution: Solution) -> None:
        self.reading, self.owners, self.solution = reading, owners, solution
        self.sign = -1.0 if reading.maximise else 1.0

    @property
    def message(self) -> str:
        """The status in words, and every constraint that is a black box."""
        boxes = [
            f"'{b.piece.name}' is asked as a black box, which proves nothing: {b.reason}." for b in self.reading.boxes
        ]
        unsure = boxes and self.solution.status is Status.UNCERTIFIED
        return " ".join(["No violation found, but one is not excluded." if unsure else self.solution.message, *boxes])

    @property
    def loadable(self) -> bool:
        """Whether there is a point worth loading: one that is feasible as far as anybody knows."""
        program, x = self.solution.program, self.solution.x
        if program.integer.any() and (x[program.integer] != np.rint(x[program.integer])).any():
            return False
        if self.solution.status in (Status.OPTIMAL, Status.UNCERTIFIED, Status.NO_INTERIOR):
            return True
        return self.solution.status.has_point and bool(np.isfinite(self.solution.certificate.upper))

    def finite_duals(self) -> list[tuple[Any, float]]:
        """(constraint, dual): the rate at which the objective changes with the right-hand side."""
        from pyomo.environ import Constraint

        rows = zip((row[0] for row in self.reading.finite), self.solution.row_multipliers().tolist(), strict=False)
        # Others are bounds of decisions that came out the same for all parameters.
        return [(data, 0.0 - self.sign * m) for data, m in rows if data.ctype is Constraint]

    def active(self) -> dict[int, tuple[RowSource, dict[Any, float]]]:
        """By id: a place of a constraint over a continuum, and its duals at the active points, by index."""
        from pyomo.environ import Constraint

        reading = self.reading
        places = [*(p for p, _ in reading.formulas), *(b.piece for b in reading.boxes), *reading.skipped]
        found: dict[int, tuple[RowSource, dict[Any, float]]] = {
            id(p.component): (p, {}) for p in places if p.component.ctype is Constraint
        }
        for point in self.solution.active:
            owner = self.owners[point.family][point.component]
            if id(owner.piece.component) not in found:  # bounds of rules, and the objective
                continue
            key = owner.piece.key(point.point.tolist())
            duals = found[id(owner.piece.component)][1]
            side = -self.sign if owner.side == UPPER else self.sign
            duals[key] = duals.get(key, 0.0) + side * point.multiplier
        return found

    def reduced_costs(self) -> Array:
        """c - A' dual (n,), of the objective as it was written; on variables without rows this is c."""
        return self.sign * self.solution.as_written.reduced

    def values(self) -> list[tuple[ModelVariable, float]]:
        """Every variable of the model that was met, with its value; that of a rule is what it says at a point."""
        x = self.solution.x.tolist()
        found = [(variable, x[j]) for j, variable in self.reading.columns.plain]
        each = [(data, f.row(data)) for f in self.reading.functions.values() for data in f.component.values()]
        rows = [*self.reading.dependent, *each]
        return found + [(v, sum(float(a) * x[j] for j, a in row.items())) for v, row in rows]

    def rules(self) -> ComponentMap:
        """The decision rules that were found, by variable; a dictionary for one with members of ordinary sets."""
        from pyomo.common.collections import ComponentMap

        found, x = ComponentMap(), self.solution.x
        if not np.isfinite(x).all():
            return found
        for variable, member, rule in self.reading.rules:
            if member is None:
                found[variable] = rule.found(x)
            else:
                found.setdefault(variable, {})[member] = rule.found(x)
        return found

    # ---- into the model ----------------------------------------------------------------------------------------------

    def load(self, model: BlockData, add_active_points: bool) -> None:
        """Put values into the variables, and duals and reduced costs into the suffixes that ask for them."""
        from pyomo.core.staleflag import StaleFlagManager

        if add_active_points:
            for point in self.solution.active:
                owner = self.owners[point.family][point.component]
                owner.piece.extend(point.point)
        StaleFlagManager.mark_all_as_stale()
        for variable, value in self.values():
            variable.set_value(value, skip_validation=True)
        StaleFlagManager.mark_all_as_stale(delayed=True)
        dual, rc = (_suffix(model, name) for name in ("dual", "rc"))
        if dual is not None:
            self._load_duals(dual)
        if rc is not None:
            rc.clear()
            costs = self.reduced_costs().tolist()
            for j, variable in self.reading.columns.plain:
                rc[variable] = costs[j]

    def _load_duals(self, dual: Suffix) -> None:
        dual.clear()
        for constraint, value in self.finite_duals():
            dual[constraint] = value
        for place, duals in self.active().values():
            dual[place.component] = duals
            for key, data in place.built():
                dual[data] = duals.get(key, 0.0)

    # ---- for those who load later ------------------------------------------------------------------------------------

    def results(self, seconds: float) -> SolverResults:
        """Pyomo's summary of a solve, with the `Solution` as its attribute `lsip`."""
        from pyomo.opt import SolverResults, SolverStatus, TerminationCondition

        results, solution, program = SolverResults(), self.solution, self.solution.program
        condition, status = CONDITIONS[solution.status]
        results.solver.name = "lsip"
        results.solver.status = SolverStatus(status)
        results.solver.termination_condition = TerminationCondition(condition)
        results.solver.message = results.solver.termination_message = self.message
        results.solver.wallclock_time = seconds
        results.problem.name = program.name
        results.problem.sense = _sense(self.reading.maximise)
        results.problem.lower_bound, results.problem.upper_bound = _bounds(solution)
        results.problem.number_of_objectives = 1
        whole, results.problem.number_of_variables = int(program.integer.sum()), program.n
        results.problem.number_of_integer_variables = whole
        results.problem.number_of_continuous_variables = program.n - whole
        results.problem.number_of_constraints = len(self.reading.finite) + sum(len(o) for o in self.owners)
        results.lsip, results.rules = solution, self.rules()
        return results

    def store(self, results: SolverResults) -> None:
        """Put the values into `results` instead of the model, for `m.solutions.load_from(results)`."""
        from pyomo.core.base import SymbolMap
        from pyomo.opt.results.solution import Solution as Stored

        stored, names = Stored(), SymbolMap()
        stored.gap = abs(self.solution.certificate.upper - self.solution.certificate.lower)
        costs = self.reduced_costs().tolist()
        for variable, value in self.values():
            names.addSymbol(variable, variable.name)
            stored.variable[variable.name] = {"Value": value}
        for j, variable in self.reading.columns.plain:
            stored.variable[variable.name]["Rc"] = costs[j]
        for constraint, value in self.finite_duals():
            names.addSymbol(constraint, constraint.name)
            stored.constraint[constraint.name] = {"Dual": value}
        results.solution.insert(stored)
        results._smap, results._smap_id = names, id(names)


def _suffix(model: BlockData, name: str) -> Suffix | None:
    from pyomo.environ import Suffix

    found = model.component(name)
    return found if found is not None and found.ctype is Suffix and found.active and found.import_enabled() else None


def _sense(maximise: bool) -> Any:
    from pyomo.environ import maximize, minimize

    return maximize if maximise else minimize


def _bounds(solution: Solution) -> tuple[float, float]:
    """What is proven about the optimal value; nothing when there is none."""
    if solution.status is Status.INFEASIBLE:
        return -np.inf, np.inf
    return solution.lower, solution.upper
