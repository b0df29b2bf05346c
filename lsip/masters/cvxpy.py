"""Any solver that CVXPY knows: the LP is written anew for every solve, so that nothing is warm and nothing is special.

Simplex solvers give corners and exact multipliers. Interior-point and first-order solvers give points that satisfy
rows to about 1e-9 and multipliers that are nowhere quite zero; those that are only that are set to zero.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..deadline import check, left
from ..errors import ModelError
from .base import Array, Master, MasterError, MasterResult, Matrix
from .magnified import magnified
from .rows import Cuts, Sides, contradiction, solved_or_infeasible
from .tuning import MASTERS

if TYPE_CHECKING:
    import cvxpy

DEFAULT = "HIGHS"  # a simplex solver, and installed wherever lsip is
INTERIOR = "CLARABEL"  # an interior-point solver that comes with CVXPY
# How much solvers have to be magnified: those that can be as accurate as they are asked to be, not at all.
UNITS = {**dict.fromkeys(("HIGHS", "SCIPY", "CLARABEL", "OSQP", "SCS", "ECOS"), 1.0), "GUROBI": MASTERS.gurobi_unit}
# Where a solver is told how many seconds it has: the group of its options, if they have one, and the name.
TIMED = {
    "HIGHS": ("highs_options", "time_limit"),
    "SCIPY": ("scipy_options", "time_limit"),
    "CLARABEL": ("", "time_limit"),
    "GUROBI": ("", "TimeLimit"),
    "OSQP": ("", "time_limit"),
    "SCS": ("", "time_limit_secs"),
}


def open_cvxpy(
    c: Array,
    lower: Array,
    upper: Array,
    A: sparse.csr_matrix,
    row_lower: Array,
    row_upper: Array,
    tol: float,
    *,
    solver: str = DEFAULT,
) -> Master:
    """A master by that solver of CVXPY."""
    name = _installed(solver)
    make = magnified(partial(CvxpyMaster, solver=name), UNITS.get(name, MASTERS.usual_unit))
    return make(c, lower, upper, A, row_lower, row_upper, tol)


class CvxpyMaster:
    """An LP as arrays; CVXPY hands it to `solver`."""

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
        self.n, self.c, self.tol, self.solver = len(c), c, tol, solver
        self._box = lower, upper
        self._sides = Sides.of(A, row_lower, row_upper)
        self._cuts = Cuts(self.n)

    @property
    def _sizes(self) -> tuple[int, int, int]:
        return self.n, self.cuts, len(self._sides.places[0])

    @property
    def cuts(self) -> int:
        return len(self._cuts.rhs)

    def add(self, rows: Matrix, rhs: Array) -> None:
        self._cuts.add(rows, rhs)

    def drop(self, keep: NDArray[np.bool_]) -> None:
        self._cuts.drop(keep)

    def solve(self, margin: float) -> MasterResult:
        return self._solve(margin, elastic=False)

    def best_margin(self, most: float) -> MasterResult:
        return self._solve(most, elastic=True)

    def centre(self, margin: float) -> Array | None:
        """The interior-point solution, which CVXPY never moves to a corner; None if `solve` gave that already."""
        if self.solver == INTERIOR:
            return None
        try:
            result = self._run(_installed(INTERIOR), margin, elastic=False)
        except (MasterError, ModelError):
            return None
        return None if result is None else result.z

    def _solve(self, margin: float, elastic: bool) -> MasterResult:
        return solved_or_infeasible(
            lambda: self._run(self.solver, margin, elastic), lambda: self._prove(margin, elastic), self._sizes
        )

    def _run(self, solver: str, margin: float, elastic: bool) -> MasterResult | None:
        """Minimise c z with the slack s = -margin, or s >= -margin itself; None if that is infeasible."""
        cp = _cvxpy()
        z, cuts = cp.Variable(self.n, bounds=list(self._box)), self._cuts
        s: Any = cp.Variable(bounds=[-margin, None]) if elastic else -margin
        parts = (
            (self._sides.equal @ z == self._sides.value) if len(self._sides.value) else None,
            (self._sides.upper @ z <= self._sides.right) if len(self._sides.right) else None,
            (cuts.rows @ z - s / cuts.scale <= cuts.rhs) if self.cuts else None,
        )
        problem = cp.Problem(cp.Minimize(s if elastic else self.c @ z), [p for p in parts if p is not None])
        status = _solve(problem, solver, self.tol)
        if status.startswith("infeasible"):
            return None
        if not status.startswith("optimal") or z.value is None:
            raise MasterError(f"{solver}, called by CVXPY, stopped with '{status}' on a bounded LP.")
        duals = [np.zeros(0) if p is None else np.ravel(p.dual_value) for p in parts]
        result = self._read(np.clip(z.value, *self._box), float(s.value) if elastic else -margin, duals, elastic)
        if status != "optimal" and self._residual(result) > MASTERS.close:
            raise MasterError(f"{solver}, called by CVXPY, found only an inaccurate solution of a bounded LP.")
        return result

    def _read(self, z: Array, slack: float, duals: list[Array], elastic: bool) -> MasterResult:
        """A result from a point and from the multipliers of the equalities, of the upper sides and of the cuts."""
        sides, cuts = self._sides, self._cuts
        equal, upper, cut = duals
        upper = _clean(upper, sides.right - sides.upper @ z)
        cut = _clean(cut, cuts.rhs + slack / cuts.scale - cuts.rows @ z)
        reduced = (0.0 if elastic else self.c) + cuts.rows.T @ cut + sides.equal.T @ equal + sides.upper.T @ upper
        row = sides.multipliers(equal, upper)
        return MasterResult("optimal", z, slack, float(self.c @ z), cut / cuts.scale, row, reduced)

    def _residual(self, result: MasterResult) -> float:
        """How far a point is from satisfying all rows."""
        z, sides, cuts = result.z, self._sides, self._cuts
        over = cuts.rows @ z - result.slack / cuts.scale - cuts.rhs
        parts = (np.abs(sides.equal @ z - sides.value), sides.upper @ z - sides.right, over)
        return max(float(p.max(initial=0.0)) for p in parts)

    def _prove(self, margin: float, elastic: bool) -> tuple[float, Array, Array]:
        cuts = Cuts(self.n) if elastic else self._cuts  # elastic cuts have no part in a contradiction
        make = partial(CvxpyMaster, solver=self.solver)
        slack, cut, row = contradiction(make, self._box, self._sides, cuts, margin, self.tol)
        return slack, np.zeros(self.cuts) if elastic else cut, row


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
    limit = {name: max(seconds, MASTERS.least_seconds)}
    return settings | ({group: settings.get(group, {}) | limit} if group else limit)


def _settings(solver: str, tol: float) -> tuple[dict[str, Any], ...]:
    """Options in a solver's own words, to be tried in turn, for what a relative gap of `tol` needs."""
    accuracy = float(np.clip(tol * 1e-3, 1e-11, 1e-9))
    simplex = dict.fromkeys(("primal_feasibility_tolerance", "dual_feasibility_tolerance"), max(accuracy, 1e-10))
    highs = {"threads": 1, "presolve": "off", "solver": "simplex", "small_matrix_value": MASTERS.least_coefficient}
    interior = {**dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), accuracy), "max_threads": 1}
    known: dict[str, tuple[dict[str, Any], ...]] = {
        # One thread everywhere: HiGHS has one pool of them a process, and refuses to run beside another size.
        "HIGHS": ({"highs_options": {**highs, **simplex}},),
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


def _installed(solver: str) -> str:
    """The solver as CVXPY spells it, if it is there."""
    there = _cvxpy().installed_solvers()
    if solver.upper() not in there:
        raise ModelError(f"CVXPY has no solver {solver!r} here; choose from {', '.join(sorted(there))}.")
    return solver.upper()
