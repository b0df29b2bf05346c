"""Any solver that CVXPY knows: the LP is written anew for every solve, so that nothing is warm and nothing is special.

Simplex solvers give corners and exact multipliers. Interior-point and first-order solvers give points that satisfy
rows to about 1e-9 and multipliers that are nowhere quite zero; those that are only that are set to zero.
"""

from __future__ import annotations

import warnings
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..deadline import check, left
from ..errors import ModelError
from .base import Array, Backend, Capabilities, FiniteProgram, FiniteResult, MasterError
from .highs import accurate
from .written import Sides, WrittenProgram, optimal

if TYPE_CHECKING:
    import cvxpy

INTERIOR = ("CLARABEL", "ECOS")  # solvers whose solutions are in the middle of the optimal face
# The accuracy that can be asked for; solvers that are not named keep their defaults.
ACCURACY = {**dict.fromkeys(("HIGHS", "SCIPY", "CLARABEL", "OSQP", "SCS", "ECOS"), 1e-10), "GUROBI": 1e-9}
# Where a solver is told how many seconds it has: the group of its options, if they have one, and the name.
TIMED = {
    "HIGHS": ("highs_options", "time_limit"),
    "SCIPY": ("scipy_options", "time_limit"),
    "CLARABEL": ("", "time_limit"),
    "GUROBI": ("", "TimeLimit"),
    "OSQP": ("", "time_limit"),
    "SCS": ("", "time_limit_secs"),
}


class CvxpyProgram(WrittenProgram):
    """An LP as arrays; CVXPY hands it to `solver`."""

    def __init__(self, program: FiniteProgram, tol: float, *, solver: str) -> None:
        super().__init__(program, tol)
        self.solver = solver

    def solve(self, **options: object) -> FiniteResult:
        cp, program = _cvxpy(), self.program
        # Interior-point methods need room: what is fixed is no variable.
        free = program.lower < program.upper
        free[:1] |= not free.any()
        sides = Sides.of(program.A, program.row_lower, program.row_upper)
        x = np.where(free, 0.0, program.lower)
        z = cp.Variable(int(free.sum()), bounds=[program.lower[free], program.upper[free]])
        parts = (
            (sides.equal[:, free] @ z == sides.value - sides.equal @ x) if len(sides.value) else None,
            (sides.upper[:, free] @ z <= sides.right - sides.upper @ x) if len(sides.right) else None,
        )
        problem = cp.Problem(cp.Minimize(program.c[free] @ z), [part for part in parts if part is not None])
        status = _solve(problem, self.solver, self.tol)
        if status.startswith("infeasible"):
            return FiniteResult("infeasible")
        if not status.startswith("optimal") or z.value is None:
            raise MasterError(f"{self.solver}, called by CVXPY, stopped with '{status}' on a bounded LP.")
        x[free] = np.clip(z.value, program.lower[free], program.upper[free])
        off, room = sides.equal @ x - sides.value, sides.right - sides.upper @ x
        if status != "optimal" and max(np.abs(off).max(initial=0.0), -room.min(initial=0.0)) > 1e-7:
            raise MasterError(f"{self.solver}, called by CVXPY, found only an inaccurate solution of a bounded LP.")
        equal, upper = (np.zeros(0) if part is None else np.ravel(part.dual_value) for part in parts)
        return optimal(program, x, sides.multipliers(equal, _clean(upper, room)))

    def centre(self) -> Array | None:
        return None if self.solver in INTERIOR else super().centre()


def backend(solver: str = "HIGHS") -> Backend:
    """A solver of CVXPY; by default a simplex solver that is installed wherever lsip is."""
    name = _installed(solver)
    return Backend(f"cvxpy:{name}", partial(CvxpyProgram, solver=name), Capabilities(accuracy=ACCURACY.get(name, 1e-7)))


def _cvxpy() -> Any:
    """The package, without its annotations, which are incomplete."""
    import cvxpy

    return cvxpy


def _clean(multipliers: Array, room: Array, least: float = 1e-9) -> Array:
    """Nonnegative multipliers, without those that an interior point leaves on rows that do not hold it.

    These are below the part `least` of the largest, and smaller than the room.
    """
    idle = (multipliers <= least * multipliers.max(initial=0.0)) & (room > multipliers)
    return np.where(idle, 0.0, np.maximum(multipliers, 0.0))


def _solve(problem: cvxpy.Problem, solver: str, tol: float) -> str:
    """CVXPY's status; an `inaccurate` one is judged by the caller, not announced by a warning."""
    cp, failure = _cvxpy(), None
    for settings in _settings(solver, tol):
        check("linear program")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                problem.solve(solver=solver, **timed(solver, settings))  # type: ignore[no-untyped-call]
                failure = None
            except cp.SolverError as error:
                failure = error
        if failure is None and problem.status in ("optimal", "infeasible"):
            break
    if failure is not None or problem.status not in ("optimal", "infeasible"):
        check("linear program")  # which is why a solver may have stopped early
    if failure is not None:
        raise MasterError(f"{solver}, called by CVXPY, failed on a bounded LP: {failure}") from failure
    return str(problem.status)


def timed(solver: str, settings: dict[str, Any]) -> dict[str, Any]:
    """The options with the time that is left, where a solver can be told of it."""
    seconds = left()
    if seconds == np.inf or solver not in TIMED:
        return settings
    group, name = TIMED[solver]
    limit = {name: max(seconds, 0.01)}
    return settings | ({group: settings.get(group, {}) | limit} if group else limit)


def _settings(solver: str, tol: float) -> tuple[dict[str, Any], ...]:
    """Options in a solver's own words, to be tried in turn, for what a relative gap of `tol` needs."""
    accuracy = float(np.clip(tol * 1e-3, 1e-11, 1e-9))
    simplex = dict.fromkeys(("primal_feasibility_tolerance", "dual_feasibility_tolerance"), max(accuracy, 1e-10))
    interior = {**dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), accuracy), "max_threads": 1}
    known: dict[str, tuple[dict[str, Any], ...]] = {
        "HIGHS": ({"highs_options": {"presolve": "off", "solver": "simplex", **accurate(tol)}},),
        "SCIPY": ({"scipy_options": simplex},),
        # Rows are scaled already: scaling them again costs several digits, and so do long steps on nearly equal rows.
        "CLARABEL": (
            {**interior, "equilibrate_enable": False},
            {**interior, "max_step_fraction": 0.9},
            {"max_threads": 1},
        ),
        "GUROBI": ({"FeasibilityTol": 1e-9, "OptimalityTol": 1e-9, "Threads": 1},),
        "OSQP": ({"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iter": 100_000},),
        "SCS": ({"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iters": 100_000},),
        "ECOS": ({"abstol": accuracy, "reltol": accuracy, "feastol": accuracy},),
    }
    return known.get(solver, ({},))


@cache
def _installed(solver: str) -> str:
    """The solver as CVXPY spells it, if it is there."""
    there = _cvxpy().installed_solvers()
    if solver.upper() not in there:
        raise ModelError(f"CVXPY has no solver {solver!r} here; choose from {', '.join(sorted(there))}.")
    return solver.upper()
