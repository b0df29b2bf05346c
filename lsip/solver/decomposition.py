"""Exchange over a feasible set that is known only through its linear maximisation: columns and rows together.

The problem is min c x over x in X with a(y) x <= b(y) for all y, where X is compact and convex, too large to be written
down, but such that linear functions are easy to maximise over it. A master program mixes the points of X found so far
under the index points found so far. Its multipliers lambda, a measure on Y, give a new linear function to maximise,

    L(lambda) = min over X of c x + sum_j lambda_j (a(y_j) x - b(y_j)),

which is a lower bound of the optimum for every lambda >= 0, and a new point of X for the master. Multipliers are
smoothed towards those of the best bound so far, which keeps them from swinging.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..domains import Domain
from ..errors import LSIPError, ModelError, OutOfTime, ProofError
from ..expressions.interval import EPS, TINY
from ..masters.columns import ColumnMaster, Combination
from ..model.program import Program
from ..model.status import Status
from ..oracles import Oracle, Separation, pick_oracle
from ..proof.certificate import Support, TrustAssumption
from ..proof.families import Bounds, family_bounds
from ..proof.linear_algebra import product
from ..proof.primal import FinitePoint, broken_rows
from ..proof.prove import Feasible, feasible_at, upper_bound
from ..proof.rows import point_rows, settled, trusts
from ..proof.verify import check_support
from ..solution.rounding import above, below
from ..solution.solution import ActivePoint, merge
from .clock import Clock
from .options import check_options
from .sampling import SampledRows
from .separation import separate

Array = NDArray[np.float64]
NEW_ROWS = 8  # taken from one sample, or one proof
ROUNDS = 4  # of new rows before the next point of X is asked for
EARLY = 300  # from so many variables on, a point of X costs more than a proof, and a feasible point is sought at once
SLACK = 1e-9  # by how much, relative to their size, points may miss what was promised of them
ONLY_SOLUTIONS = ("plot", "report", "save", "export", "certificate")  # that a reader of solutions may look for
SHAVED = 1e-12  # taken off lower bounds, relative to their size: a fresh call of `maximise` may bound less sharply
STEADY = 0.5  # how much of the best multipliers so far is mixed into those of the master


class AbsentError(LSIPError, AttributeError):
    """Something that a `Solution` has, and a `Decomposition` has not."""


@dataclass(frozen=True, eq=False)
class Extreme:
    """The answer of a linear maximisation over X.

    Parameters
    ----------
    x
        A point of X, shape (n,), or several, (k, n): the best first, others that may be useful.
    bound
        direction @ x is at most this for every x in X. It may lie above the value at `x`; the proof rests on it.
    data
        Anything that belongs to each point; kept with it in `Decomposition.atoms`.
    radius
        Half-widths of a box around `x`, a number or an array of its shape: some point of X lies in it. Zero where
        floats hold points of X exactly.
    """

    x: Array
    bound: float
    data: Any = None
    radius: Array | float = 0.0


@dataclass(frozen=True, eq=False)
class Atom:
    """A point of X, known up to a box, and its weight in the solution."""

    weight: float
    x: Array
    data: Any = None
    radius: Array | float = 0.0


@dataclass(frozen=True, eq=False)
class Step:
    """One iteration, in the sense of the user's objective."""

    iteration: int
    value: float  # of the master
    lower: float
    upper: float
    violation: float  # worst found
    bound: float  # proven over all of Y; inf where it was not asked for
    points: int  # of X
    rows: int
    seconds: float


@dataclass(frozen=True, eq=False)
class Decomposition:
    """The answer: a mixture of points of X, with bounds. Names mean what they mean in `Solution`."""

    status: Status
    program: Program
    x: Array
    atoms: tuple[Atom, ...]
    active: tuple[ActivePoint, ...]
    support: tuple[Support, ...]
    row_multipliers: Array
    lower: float
    upper: float
    violation: tuple[float, ...]  # a family: proven over all of Y
    history: tuple[Step, ...]
    seconds: float
    tol: float
    calls: int  # of the linear maximisation
    box: Array = field(repr=False, default_factory=lambda: np.zeros(0))  # (n,), half-widths: a mixture of X lies in it
    assumptions: tuple[str, ...] = ()
    problem: Any = field(repr=False, default=None)
    maximise: Callable[[Array], Extreme] | None = field(repr=False, default=None)  # that of the solve

    def __getattr__(self, name: str) -> Any:
        if name in ONLY_SOLUTIONS:
            raise AbsentError(
                f"A Decomposition has no `{name}`, because its program was never written down as a whole; a Solution "
                'has (for a decision process, method="lp" gives one). What it has: value, lower, upper, active, atoms, '
                "history and verify()."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def value(self) -> float:
        """The objective at `x`."""
        if self.status is Status.INFEASIBLE:
            return float("nan")
        value = float(self.program.c @ self.x + self.program.constant)
        return -value if self.program.maximise else value

    @property
    def gap(self) -> float:
        """(upper - lower) / max(1, |value|)."""
        return (
            float("nan") if self.status is Status.INFEASIBLE else (self.upper - self.lower) / max(1.0, abs(self.value))
        )

    @property
    def certified(self) -> bool:
        """Whether the status is proven over all of Y and all of X, with nothing taken on trust.

        X is what `maximise` says that it is: its points, and its bounds.
        """
        trusted = any(isinstance(a, TrustAssumption) for a in self.assumptions)
        return self.status in (Status.OPTIMAL, Status.INFEASIBLE) and not trusted

    @property
    def max_violation(self) -> float:
        """A bound on the violation over all of Y."""
        return max(self.violation, default=0.0) if self.status is not Status.INFEASIBLE else float("nan")

    @property
    def message(self) -> str:
        """What the status means and what to do next."""
        if self.status is Status.UNCERTIFIED and self.assumptions:
            return f"The bounds rest on what is taken on trust. {' '.join(self.assumptions)}"
        return self.status.value

    def verify(self, maximise: Callable[[Array], Extreme] | None = None) -> Decomposition:
        """Re-check both bounds from the multipliers, the mixture and a fresh call of `maximise`; ProofError if not.

        Without `maximise`, that of the solve is asked again. That the atoms are points of X is taken from it.
        """
        maximise = maximise if maximise is not None else self.maximise
        if not callable(maximise):
            raise ModelError(f"verify needs the linear maximisation over X as a function; got {maximise!r}.")
        program = self.program if self.problem is None else self.problem.compile()
        if not 0 < self.tol < 1:
            raise ProofError(f"The tolerance is a relative gap between 0 and 1, not {self.tol!r}.")
        if self.row_multipliers.shape != (program.A.shape[0],) or self.x.shape != (program.n,):
            raise ProofError("The point or the multipliers have another shape than the program asks for.")
        if self.box.shape != (program.n,):
            raise ProofError(f"`box` needs {program.n} half-widths; it has the shape {self.box.shape}.")
        check_support(program, self.support)
        rows = _Rows(program)
        rows.add(list(self.support))
        multipliers = np.concatenate([rows.sides(self.row_multipliers), [s.multiplier for s in self.support]])
        if not (np.isfinite(multipliers).all() and (multipliers >= 0).all()):
            raise ProofError("A multiplier is negative, or not a number.")
        if self.status is Status.INFEASIBLE:
            if trusts(program, self.support):
                raise ProofError("The status INFEASIBLE claims a proof, but takes constants on trust.")
            if not rows.relaxed(0.0, multipliers, maximise)[0] > 0:
                raise ProofError("The combination of constraints does not contradict itself.")
            return self
        lower = rows.relaxed(1.0, multipliers, maximise)[0]
        best, worst = (-self.upper, -self.lower) if program.maximise else (self.lower, self.upper)
        if not best <= lower:
            raise ProofError(f"The multipliers prove {lower:.9g}, not {best:.9g}.")
        if self.lower > self.upper:
            raise ProofError(f"The bounds contradict each other: {self.lower!r} is above {self.upper!r}.")
        if self.status is Status.OPTIMAL and not self.gap <= self.tol * (1 + 1e-9):
            raise ProofError(f"The gap {self.gap:.3g} is not closed to tol = {self.tol:g}.")
        if worst < np.inf:
            self._verify_mixture(program, worst)
        return self

    def _verify_mixture(self, program: Program, worst: float) -> None:
        """The point is a mixture of its atoms, keeps every constraint, and is worth what is claimed."""
        x, box = mixture(self.atoms, program.n)
        if not (np.isfinite(self.x).all() and (np.abs(x - self.x) + box <= self.box).all()):
            raise ProofError("The point is not the mixture of its atoms.")
        if not upper_bound(program, self.x, self.box) <= worst:
            raise ProofError("The objective at the point is not what is claimed.")
        bad = broken_rows(program, self.x, self.box)
        if len(bad):
            raise ProofError(f"The point is not proven to keep the finite constraint in row {bad[0]}.")
        found = family_bounds(program, self.x, self.box)
        if not found.worst <= 0:
            raise ProofError(f"A constraint over an index is not proven to hold: {found.worst:.3g}.")
        if self.certified and found.trusts:
            raise ProofError(f"The status {self.status.name} claims a proof, but takes on trust: {found.trusts[0]}")

    def __str__(self) -> str:
        lines = [f"{self.status.name}: {self.message}"]
        if self.status is not Status.INFEASIBLE:
            lines.append(f"value     {self.value:.10g}")
            low, high = below(self.lower, 10), above(self.upper, 10)
            lines.append(f"bounds    [{low:.10g}, {high:.10g}], relative gap {self.gap:.2g}")
            lines.append(f"mixture   of {len(self.atoms)} points, found by {self.calls} linear maximisations")
        if self.active:
            lines.append("active    " + "\n          ".join(str(a) for a in self.active[:10]))
        return "\n".join(lines)

    __repr__ = __str__


def mixture(atoms: Sequence[Atom], n: int) -> tuple[Array, Array]:
    """The mixture of atoms with their weights, in proportion, and half-widths of a box that holds an exact one."""
    weights = np.array([a.weight for a in atoms])
    if not (len(atoms) and np.isfinite(weights).all() and (weights >= 0).all() and abs(weights.sum() - 1) <= 1e-9):
        raise ProofError("The weights of the mixture are not nonnegative with sum one.")
    points = np.array([a.x for a in atoms])
    radii = np.array([np.broadcast_to(a.radius, n) for a in atoms])
    return _mixed(weights, points, radii)


def _mixed(weights: Array, points: Array, radii: Array) -> tuple[Array, Array]:
    """weights @ points, and how far a mixture of points of X with exactly these proportions may be from it."""
    terms = len(weights) + 8
    x, size = weights @ points, weights @ np.abs(points)
    off = abs(fsum(weights.tolist()) - 1.0) + 2 * EPS  # what the proportions change
    return x, 1.01 * (weights @ radii + (terms * EPS + 1.01 * off) * size + terms * TINY)


def decompose(
    problem: Any,
    maximise: Callable[[Array], Extreme],
    *,
    tol: float = 1e-6,
    start: Iterable[Extreme] = (),
    oracle: Oracle | None = None,
    max_iterations: int = 1000,
    time_limit: float | None = None,
    seed: int = 0,
    verbose: bool = False,
) -> Decomposition:
    """Solve a problem over x in X, where X is known only through the linear maximisation `maximise`.

    Parameters
    ----------
    problem
        Objective, `forall` constraints and finite inequalities in a variable x; that x lies in X is not written in
        it. All variables need finite bounds that hold on X, with which rounding is accounted for.
    maximise
        direction (n,) -> `Extreme`: a point of X at which direction @ x is largest, and a proven bound.
    tol
        Relative gap to reach.
    start
        Points of X to begin with (their `bound` plays no part).
    oracle
        Separation over Y, as in `Exchange`.
    max_iterations, time_limit
        When to stop at the latest; seconds.
    seed
        For oracles that sample.
    verbose
        Print a line an iteration.

    Examples
    --------
    The unit disc, with its points held below a curve; linear functions are largest at their own direction:

    >>> import numpy as np, lsip
    >>> x = lsip.Variable(2, lower=-1, upper=1, name="x")
    >>> t = lsip.Index("t", lsip.Interval(0, 1))
    >>> problem = lsip.Problem(lsip.maximize(x[0] + x[1]), [lsip.forall(t, t * x[0] + (1 - t) * x[1] <= 0.6 + t**2)])
    >>> disc = lambda w: lsip.Extreme(w / np.linalg.norm(w), np.linalg.norm(w) * (1 + 1e-15))
    >>> solution = lsip.decompose(problem, disc)
    >>> solution.status.name, round(solution.value, 5)
    ('OPTIMAL', 1.39679)
    """
    check_options(tol, max_iterations, oracle, time_limit=time_limit, seed=seed)
    if not callable(maximise):
        raise ModelError(f"`maximise` is a function direction -> lsip.Extreme(x, bound); got {maximise!r}.")
    run = _Run(problem, maximise, tol, oracle, seed, verbose, np.inf if time_limit is None else time_limit)
    return run.solve(tuple(start), max_iterations)


class _Run:
    """The state of one solve, in the sense of a minimum."""

    def __init__(
        self, problem: Any, maximise: Any, tol: float, oracle: Any, seed: int, verbose: bool, seconds: float
    ) -> None:
        self.clock = Clock(seconds)
        self.clock.keep(0.0)
        self.problem = None if isinstance(problem, Program) else problem
        self.program: Program = problem if isinstance(problem, Program) else problem.compile()
        if (self.program.row_lower == self.program.row_upper).any():
            raise ModelError("decompose takes inequalities beside x in X; equalities belong to the definition of X.")
        if not np.isfinite(np.concatenate([self.program.lower, self.program.upper])).all():
            raise ModelError(
                "decompose needs finite bounds on every variable, valid on X: Variable(n, lower=…, upper=…)."
            )
        self.maximise, self.tol, self.seed, self.verbose = maximise, tol, seed, verbose
        self.oracles = [oracle or pick_oracle(f) for f in self.program.families]
        self.master = ColumnMaster(self.program.c, tol)
        self.rows = _Rows(self.program)
        self.data: list[Any] = []  # what came with each point
        self.radii = np.zeros((0, self.program.n))  # half-widths of each
        self.first = [_few(f.domain) for f in self.program.families]
        self.sampled = [SampledRows(f, points) for f, points in zip(self.program.families, self.first, strict=True)]
        self.lower, self.upper = -np.inf, np.inf
        self.best: Array | None = None  # multipliers of the best lower bound
        self.incumbent: tuple[Array, Feasible] | None = None  # weights, and what is proven of their mixture
        self.unproven: Array | None = None  # weights of a mixture without any violation found
        self.last: Array | None = None  # weights of the last master
        self.inside: tuple[Array, float] | None = None  # weights of a point, and its proven margin
        self.history: list[Step] = []
        self.calls = 0

    # ---- the loop -------------------------------------------------------------------------------------------------

    def solve(self, start: tuple[Extreme, ...], max_iterations: int) -> Decomposition:
        try:
            with self.clock.running():
                return self._solve(start, max_iterations)
        except OutOfTime:
            return self._end(Status.TIME_LIMIT)

    def _solve(self, start: tuple[Extreme, ...], max_iterations: int) -> Decomposition:
        for extreme in start:
            self._keep(extreme)
        self.master.add_rows(self.rows.a, self.rows.b)
        self._price(np.zeros(len(self.rows.b)), 1.0)
        rows = [range(len(f.columns)) for f in self.program.families]
        self._add([Support(f, c, y, 0.0) for f, points in enumerate(self.first) for y in points for c in rows[f]])
        margin = 0.0
        for iteration in range(1, max_iterations + 1):
            found = self.master.solve(margin)
            if found is None:
                if margin > 0:
                    margin = 0.0
                    continue
                ended = self._find_feasible()
                if ended is not None:
                    return ended
                continue
            allowed = self.tol * max(1.0, abs(self._value(found.weights)))
            found, worst, bound = self._rows_for(found, margin, allowed)
            if found is None:
                continue
            self.last = found.weights
            self._price_smoothed(found)
            self._record(iteration, found, worst, bound)
            if self.upper - self.lower <= allowed:
                return self._end(Status.OPTIMAL)
            if self.unproven is not None and self._value(self.unproven) - self.lower <= allowed:
                return self._end(Status.UNCERTIFIED)
            if self.clock.left() < 0:
                return self._end(Status.TIME_LIMIT)
            total = float(found.multipliers.sum())
            if total > 0:
                margin = 0.3 * allowed / total
                if self.inside is not None:
                    margin = min(margin, 0.3 * self.inside[1])
        return self._end(Status.ITERATION_LIMIT)

    def _rows_for(self, found: Combination, margin: float, allowed: float) -> tuple[Combination | None, float, float]:
        """Add index points while the mixture breaks rows by enough to matter; prove it once the gap is almost shut."""
        for _ in range(ROUNDS):
            gap = max(self._value(found.weights) - self.lower, 0.0)
            near = gap <= allowed or (self.incumbent is None and self.program.n >= EARLY)
            worst, new = self._sample(self._mix(found.weights), margin, refine=near)
            worth = worst * max(float(found.multipliers.sum()), 1.0)
            if not new or worth <= (0.0 if near else 0.1 * gap):
                break
            self._add(new)
            again = self.master.solve(margin)
            if again is None:
                return None, worst, np.inf
            found = again
        return self._certify(found, margin, worst) if near else (found, worst, np.inf)

    def _certify(self, found: Combination, margin: float, worst: float) -> tuple[Combination | None, float, float]:
        """Separate over all of Y, and turn what is proven into a feasible mixture."""
        x, box = self._mixture(found.weights)
        separations = self._separate(x, box)
        bounds = Bounds.of(self.program, self.oracles, separations)
        worst = max((s.worst for s in separations), default=worst)
        bound = max(bounds.worst, self.rows.finite_violation(x, box))
        if bound == np.inf and max(worst, self.rows.finite_violation(x)) <= 0:
            self.unproven = found.weights
        if bound <= 0:
            self._accept(found.weights, bounds)
        else:
            new = self._violated(separations, margin)
            if self.inside is None:
                self._find_inside()
            self._retreat(found.weights, bound)
            self._add(new)
        return found, worst, bound

    def _find_feasible(self) -> Decomposition | None:
        """No mixture of the known points keeps the known rows: find one that does, or prove that there is none."""
        for _ in range(1000):
            found = self.master.best_margin()
            if found.slack < 0:
                return None
            before = len(self.master.points)
            contradiction = self._price(found.multipliers, 0.0)
            if contradiction > 0:
                return self._infeasible(found.multipliers)
            if self.clock.left() < 0:
                return self._end(Status.TIME_LIMIT)
            if self._stuck(found, before):
                return self._end(Status.STALLED)
        return self._end(Status.STALLED)

    def _stuck(self, found: Combination, before: int) -> bool:
        """Whether no point since `before` helps: nothing in X is further inside, to rounding."""
        values = (
            self.master.points[before:] @ (found.multipliers @ self.master.rows) - found.multipliers @ self.master.rhs
        )
        return bool(values.min() >= found.slack - 1e-13 * (1 + np.abs(self.master.rhs).max()))

    def _find_inside(self) -> None:
        """A mixture that is strictly feasible for all of Y: it makes a feasible point of every other one."""
        for _ in range(3):
            found = self.master.best_margin()
            if found.slack >= 0:
                self._price(found.multipliers, 0.0)
                continue
            x, box = self._mixture(found.weights)
            separations = self._separate(x, box)
            bound = max((*(s.bound for s in separations), self.rows.finite_violation(x, box)))
            if bound < 0 and (self.inside is None or -bound > self.inside[1]):
                self.inside = (found.weights, -bound)
            if bound < 0.5 * found.slack:
                break
            self._add(self._violated(separations, -0.5 * found.slack))
            self._price(found.multipliers, 0.0)

    def _retreat(self, weights: Array, violation: float) -> None:
        """(s x + v x_s) / (s + v) is feasible, if x breaks no row by more than v and x_s keeps all of them by s."""
        if self.inside is None or not np.isfinite(violation):
            return
        other, s = self.inside
        share = min(violation / (s + violation) * (1 + 1e-9) + 1e-12, 1.0)
        mixed = np.zeros(max(len(weights), len(other)))
        mixed[: len(weights)] += (1 - share) * weights
        mixed[: len(other)] += share * other
        if self._upper(mixed) < self.upper:
            bounds = Bounds.of(self.program, self.oracles, self._separate(*self._mixture(mixed)))
            if bounds.worst <= 0:
                self._accept(mixed, bounds)

    def _accept(self, weights: Array, bounds: Bounds) -> None:
        """Take a mixture for the best one, if it is proven to keep everything and is better."""
        x, box = self._mixture(weights)
        if len(broken_rows(self.program, x, box)):
            return
        found = feasible_at(self.program, FinitePoint(x, box), bounds)
        if isinstance(found, Feasible) and found.upper < self.upper:
            self.upper, self.incumbent = found.upper, (weights, found)

    # ---- columns --------------------------------------------------------------------------------------------------

    def _keep(self, extreme: Extreme) -> None:
        program = self.program
        points = np.atleast_2d(np.asarray(extreme.x, dtype=float))
        if points.ndim != 2 or points.shape[1] != program.n or not np.isfinite(points).all():
            raise ModelError(f"`maximise` must give finite points of shape ({program.n},); got {points.shape}.")
        if (points < program.lower - SLACK * self.rows.reach).any() or (
            points > program.upper + SLACK * self.rows.reach
        ).any():
            raise ModelError(
                "`maximise` gave a point outside the bounds of the variables; these must hold on all of X."
            )
        data = extreme.data if len(points) > 1 and isinstance(extreme.data, list) else [extreme.data] * len(points)
        if len(data) != len(points):
            raise ModelError(f"`maximise` gave {len(points)} points with {len(data)} items of data.")
        try:
            radii = np.broadcast_to(np.asarray(extreme.radius, dtype=float), points.shape)
        except (TypeError, ValueError):
            radii = np.full(points.shape, np.nan)
        if not (np.isfinite(radii).all() and (radii >= 0).all()):
            raise ModelError(
                f"`radius` of an Extreme is a number >= 0, or one for each of its; got {extreme.radius!r}."
            )
        self.master.add_points(points)
        self.radii = np.concatenate([self.radii, radii])
        self.data += data

    def _price_smoothed(self, found: Combination) -> None:
        """A new point of X for the master, at multipliers between those of the master and the best so far."""
        keep = STEADY if self.best is not None else 0.0
        for _ in range(4):
            mixed = (1 - keep) * found.multipliers
            if self.best is not None:
                shared = min(len(self.best), len(mixed))
                mixed[:shared] += keep * self.best[:shared]
            before = len(self.master.points)
            self._price(mixed, 1.0)
            slope = self.program.c + found.multipliers @ self.master.rows[: len(found.multipliers)]
            gain = found.price - float((self.master.points[before:] @ slope).min())
            if gain > 0.01 * (self._value(found.weights) - self.lower) or keep == 0.0:
                return
            keep = max(0.0, keep - 0.3)

    def _price(self, multipliers: Array, objective: float) -> float:
        """Ask for the point of X that these multipliers want, and take the bound that comes with it."""
        bound, extreme = self.rows.relaxed(objective, multipliers, self.maximise)
        self.calls += 1
        self._keep(extreme)
        shaved = bound - SHAVED * (1 + abs(bound))
        if objective and shaved > self.lower:
            self.lower, self.best = shaved, multipliers
        return bound

    # ---- rows -----------------------------------------------------------------------------------------------------

    def _add(self, new: list[Support]) -> None:
        self.master.add_rows(*self.rows.add(new))

    def _sample(self, x: Array, margin: float, refine: bool) -> tuple[float, list[Support]]:
        """The worst violation that sampled rows show, and points worth a row."""
        found = [
            sampled.separate(self.program.violation(f, x), -margin, refine) for f, sampled in enumerate(self.sampled)
        ]
        return max((s.worst for s in found), default=-np.inf), self._violated(found, margin)

    def _separate(self, x: Array, box: Array) -> list[Separation]:
        left = self.clock.left()
        return separate(self.program, self.oracles, x, box, left=left, seed=self.seed + len(self.history))

    def _violated(self, separations: list[Separation], margin: float) -> list[Support]:
        return [
            Support(f, int(c), y, 0.0)
            for f, s in enumerate(separations)
            for y, c, g in list(zip(s.points, s.components, s.values, strict=True))[:NEW_ROWS]
            if g > -margin
        ]

    # ---- ends -----------------------------------------------------------------------------------------------------

    def _mix(self, weights: Array) -> Array:
        """The point with these weights; points that came later have none."""
        return weights @ self.master.points[: len(weights)]

    def _mixture(self, weights: Array) -> tuple[Array, Array]:
        """The same, and half-widths of a box that holds a mixture of points of X, with some room for a check of it."""
        used = np.flatnonzero(weights > 0)
        x, box = _mixed(weights[used], self.master.points[used], self.radii[used])
        return x, 1.5 * box

    def _value(self, weights: Array) -> float:
        return float(self.program.c @ self._mix(weights) + self.program.constant)

    def _upper(self, weights: Array) -> float:
        return upper_bound(self.program, *self._mixture(weights))

    def _record(self, iteration: int, found: Combination, worst: float, bound: float) -> None:
        value = self._value(found.weights)
        sign = -1.0 if self.program.maximise else 1.0
        low, high = (self.lower, self.upper) if sign > 0 else (-self.upper, -self.lower)
        step = Step(
            iteration,
            sign * value,
            low,
            high,
            worst,
            bound,
            len(self.master.points),
            len(self.master.rows),
            self.clock.used(),
        )
        self.history.append(step)
        if self.verbose:
            if iteration == 1:
                print("  iter  points   rows            lower            upper  violation     time")
            bounds = f"{low:16.9g} {high:16.9g} {worst:10.2e}"
            print(f"{iteration:6d} {step.points:7d} {step.rows:6d} {bounds} {step.seconds:7.2f}s", flush=True)

    def _infeasible(self, multipliers: Array) -> Decomposition:
        on_trust = trusts(self.program, self.rows.measure(multipliers)[0])
        bounds = Bounds((), tuple(TrustAssumption(f"{s[0].upper()}{s[1:]}.") for s in on_trust))
        status = Status.UNCERTIFIED if on_trust else Status.INFEASIBLE
        return self._answer(status, np.zeros(len(self.data)), multipliers, bounds)

    def _end(self, status: Status) -> Decomposition:
        weights = self.unproven if status is Status.UNCERTIFIED else self.last
        if weights is None:
            weights = np.eye(1, len(self.data))[0]
        bounds = Bounds((np.inf,) * len(self.program.families))
        if self.incumbent is not None:
            weights, bounds = self.incumbent[0], self.incumbent[1].bounds
        if status is Status.OPTIMAL and bounds.trusts:
            status = Status.UNCERTIFIED
        return self._answer(status, weights, self.best if self.best is not None else np.zeros(0), bounds)

    def _answer(self, status: Status, weights: Array, multipliers: Array, bounds: Bounds) -> Decomposition:
        support, rows = self.rows.measure(multipliers)
        x, box = self._mixture(weights)
        points = self.master.points
        low, high = (-self.upper, -self.lower) if self.program.maximise else (self.lower, self.upper)
        used = np.flatnonzero(weights > 0)
        return Decomposition(
            status=status,
            program=self.program,
            x=x,
            atoms=tuple(Atom(float(weights[k]), points[k], self.data[k], self.radii[k]) for k in used),
            active=merge(self.program, support),
            support=support,
            row_multipliers=rows,
            lower=low,
            upper=high,
            violation=bounds.values,
            history=tuple(self.history),
            seconds=self.clock.used(),
            tol=self.tol,
            calls=self.calls,
            box=box,
            assumptions=bounds.trusts,
            problem=self.problem,
            maximise=self.maximise,
        )


class _Rows:
    """All rows a x <= b of the master, enclosed: the sides of the finite rows first, then the cuts."""

    def __init__(self, program: Program) -> None:
        self.program = program
        above = np.flatnonzero(np.isfinite(program.row_upper))
        below = np.flatnonzero(np.isfinite(program.row_lower))
        self.side = np.concatenate([above, below])  # which finite row each of the first rows is
        self.sign = np.concatenate([np.ones(len(above)), -np.ones(len(below))])
        self.a = self.sign[:, None] * program.A.toarray()[self.side]
        self.doubt = np.zeros_like(self.a)
        self.b = np.concatenate([program.row_upper[above], -program.row_lower[below]])
        self.cuts: list[Support] = []
        self.reach = np.maximum(np.abs(program.lower), np.abs(program.upper))

    def add(self, cuts: list[Support]) -> tuple[Array, Array]:
        """The rows and right-hand sides of new cuts; right-hand sides are rounded up."""
        cuts = list(settled(self.program, cuts))
        if not cuts:
            return self.a[:0], self.b[:0]
        mid, rad, b = point_rows(self.program, tuple(cuts))
        mid, rad = (m.toarray() if sparse.issparse(m) else m for m in (mid, rad))
        self.a, self.doubt = np.concatenate([self.a, mid]), np.concatenate([self.doubt, rad])
        self.b = np.concatenate([self.b, b.hi])
        self.cuts += cuts
        return mid, b.hi

    def finite_violation(self, x: Array, box: Array | None = None) -> float:
        """The most by which x, or a point of the box around it, may break a finite row; -inf when there is none."""
        k = len(self.side)
        return float((product(self.a[:k], x, box).hi - self.b[:k]).max(initial=-np.inf))

    def sides(self, row_multipliers: Array) -> Array:
        """Multipliers of the finite rows, one a side."""
        return np.maximum(self.sign * row_multipliers[self.side], 0.0) if len(self.side) else np.zeros(0)

    def measure(self, multipliers: Array) -> tuple[tuple[Support, ...], Array]:
        """Multipliers as atoms of the dual measure, and signed ones of the finite rows."""
        k = len(self.side)
        rows = np.zeros(self.program.A.shape[0])
        np.add.at(rows, self.side[: len(multipliers)], (self.sign * np.resize(multipliers, k))[: len(multipliers)])
        atoms = zip(self.cuts, multipliers[k:], strict=False)
        return tuple(replace(cut, multiplier=float(v)) for cut, v in atoms if v > 0), rows

    def relaxed(self, objective: float, multipliers: Array, maximise: Any) -> tuple[float, Extreme]:
        """min over X of objective c x + sum lambda (a x - b), rounded down, and the point of X that is found there."""
        k, program = len(multipliers), self.program
        c = objective * program.c
        products = multipliers * self.b[:k]
        reduced = c + multipliers @ self.a[:k]
        size = np.abs(c) + multipliers @ np.abs(self.a[:k])
        terms = k + 8
        extreme = maximise(-reduced)
        if not isinstance(extreme, Extreme):
            raise ModelError(f"`maximise` must return an lsip.Extreme(x, bound); got {type(extreme).__name__}.")
        reached = float(np.max(np.atleast_2d(extreme.x) @ -reduced)) if np.shape(extreme.x)[-1:] == c.shape else -np.inf
        if not extreme.bound >= reached - SLACK * (size @ self.reach):
            raise ModelError(f"`maximise` gave the bound {extreme.bound:.9g}, but its own point reaches {reached:.9g}.")
        total = objective * program.constant - float(products.sum()) - extreme.bound
        charge = ((multipliers @ self.doubt[:k]) * (1 + terms * EPS) + terms * EPS * size) @ self.reach
        charge += terms * EPS * (np.abs(products).sum() + abs(extreme.bound) + abs(program.constant))
        return float(total - charge), extreme


def _few(domain: Domain) -> Array:
    """Index points to begin with."""
    return domain.grid({1: 9, 2: 4}[domain.dim]) if domain.dim <= 2 else domain.spread(16)
