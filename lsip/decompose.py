"""Exchange over a feasible set that is known only through its linear maximisation: columns and rows together.

The problem is min c x over x in X with a(y) x <= b(y) for all y, where X is compact and convex, too large to be written
down, but such that linear functions are easy to maximise over it. A master program mixes the points of X found so far
under the index points found so far. Its multipliers lambda, a measure on Y, give a new linear function to maximise,

    L(lambda) = min over X of c x + sum_j lambda_j (a(y_j) x - b(y_j)),

which is a lower bound of the optimum for every lambda >= 0, and a new point of X for the master. Multipliers are
smoothed towards those of the best bound so far, which keeps them from swinging.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .certificate import Support, point_rows, upper_bound
from .domains import Domain
from .errors import LSIPError, ModelError, ProofError
from .expressions.interval import EPS
from .masters.columns import ColumnMaster, Combination
from .options import check_options
from .oracles import Oracle, Separation, pick_oracle
from .program import Program
from .rounding import above, below
from .scout import Scout
from .separate import separate
from .solution import ActivePoint, merge
from .status import Status

Array = NDArray[np.float64]
NEW_ROWS = 8  # taken from one look, or one proof
ROUNDS = 4  # of new rows before the next point of X is asked for
EARLY = 300  # from so many variables on, a point of X costs more than a proof, and a feasible point is sought at once
SLACK = 1e-9  # by how much, relative to their size, points may miss what was promised of them
ONLY_SOLUTIONS = ("plot", "report", "save", "certificate")  # that a reader of solutions may look for
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
    """

    x: Array
    bound: float
    data: Any = None


@dataclass(frozen=True, eq=False)
class Atom:
    """A point of X and its weight in the solution."""

    weight: float
    x: Array
    data: Any = None


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
        """Whether the status is proven over all of Y and all of X."""
        return self.status in (Status.OPTIMAL, Status.INFEASIBLE)

    @property
    def max_violation(self) -> float:
        """A bound on the violation over all of Y."""
        return max(self.violation, default=0.0) if self.status is not Status.INFEASIBLE else float("nan")

    @property
    def message(self) -> str:
        """What the status means and what to do next."""
        return self.status.value

    def verify(self, maximise: Callable[[Array], Extreme] | None = None) -> Decomposition:
        """Re-check both bounds from the multipliers, the mixture and a fresh call of `maximise`; ProofError if not.

        Without `maximise`, that of the solve is asked again. That the atoms are points of X is taken from it.
        """
        maximise = maximise if maximise is not None else self.maximise
        if not callable(maximise):
            raise ModelError(f"verify needs the linear maximisation over X as a function; got {maximise!r}.")
        program = self.program if self.problem is None else self.problem.compile()
        for s in self.support:
            family = program.families[s.family]
            if not s.multiplier >= 0 or not family.domain.contains(s.point[None, :])[0]:
                raise ProofError(
                    f"The multiplier {s.multiplier:.3g} at {s.point} is negative, or the point is not in Y."
                )
        rows = _Rows(program)
        rows.add(list(self.support))
        multipliers = np.concatenate([rows.sides(self.row_multipliers), [s.multiplier for s in self.support]])
        if self.status is Status.INFEASIBLE:
            if not rows.relaxed(0.0, multipliers, maximise)[0] > 0:
                raise ProofError("The combination of constraints does not contradict itself.")
            return self
        weights = np.array([a.weight for a in self.atoms])
        if not (weights >= 0).all() or abs(weights.sum() - 1) > 1e-9:
            raise ProofError("The weights of the mixture are not nonnegative with sum one.")
        mixture = sum((a.weight * a.x for a in self.atoms), np.zeros(program.n))
        if np.abs(mixture - self.x).max() > 1e-12 * (1 + np.abs(self.x).max()):
            raise ProofError("The point is not the mixture of its atoms.")
        lower = rows.relaxed(1.0, multipliers, maximise)[0]
        best, worst = (-self.upper, -self.lower) if program.maximise else (self.lower, self.upper)
        if lower < best - 1e-9 * (1 + abs(best)):
            raise ProofError(f"The multipliers prove {lower:.9g}, not {best:.9g}.")
        if self.status is Status.OPTIMAL and not self.gap <= self.tol * (1 + 1e-9):
            raise ProofError(f"The gap {self.gap:.3g} is not closed to tol = {self.tol:g}.")
        if np.isfinite(worst):
            if upper_bound(program, self.x) > worst + 1e-12 * (1 + abs(worst)):
                raise ProofError("The objective at the point is not what is claimed.")
            broken = rows.finite_violation(self.x)
            if broken > 1e-12 * (1 + np.abs(self.x).max()):
                raise ProofError(f"The point breaks a finite constraint by {broken:.3g}.")
            for f, family in enumerate(program.families):
                found = pick_oracle(family).maximise(program.violation(f, self.x), family.domain, target=0.0)
                if not found.bound <= 0:
                    raise ProofError(f"{family.name} is not proven to hold: {found.bound:.3g}.")
        return self

    def __str__(self) -> str:
        lines = [f"{self.status.name}: {self.status.value}"]
        if self.status is not Status.INFEASIBLE:
            lines.append(f"value     {self.value:.10g}")
            low, high = below(self.lower, 10), above(self.upper, 10)
            lines.append(f"bounds    [{low:.10g}, {high:.10g}], relative gap {self.gap:.2g}")
            lines.append(f"mixture   of {len(self.atoms)} points, found by {self.calls} linear maximisations")
        if self.active:
            lines.append("active    " + "\n          ".join(str(a) for a in self.active[:10]))
        return "\n".join(lines)

    __repr__ = __str__


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
        self.started = time.perf_counter()
        self.deadline = self.started + seconds
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
        self.first = [_few(f.domain) for f in self.program.families]
        self.scouts = [Scout(f, points) for f, points in zip(self.program.families, self.first, strict=True)]
        self.lower, self.upper = -np.inf, np.inf
        self.best: Array | None = None  # multipliers of the best lower bound
        self.incumbent: tuple[Array, tuple[float, ...]] | None = None  # weights, proven violations
        self.unproven: Array | None = None  # weights of a mixture without any violation found
        self.last: Array | None = None  # weights of the last master
        self.inside: tuple[Array, float] | None = None  # weights of a point, and its proven margin
        self.history: list[Step] = []
        self.calls = 0

    # ---- the loop -------------------------------------------------------------------------------------------------

    def solve(self, start: tuple[Extreme, ...], max_iterations: int) -> Decomposition:
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
            if time.perf_counter() > self.deadline:
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
            worst, new = self._look(self._mix(found.weights), margin, climb=near)
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
        x = self._mix(found.weights)
        separations = self._separate(x)
        bounds = tuple(s.bound for s in separations)
        worst = max((s.worst for s in separations), default=worst)
        bound = max((*bounds, self.rows.finite_violation(x)), default=-np.inf)
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
            if time.perf_counter() > self.deadline:
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
            x = self._mix(found.weights)
            separations = self._separate(x)
            bound = max((*(s.bound for s in separations), self.rows.finite_violation(x)))
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
            bounds = tuple(s.bound for s in self._separate(self._mix(mixed)))
            if max(bounds, default=-1.0) <= 0:
                self._accept(mixed, bounds)

    def _accept(self, weights: Array, bounds: tuple[float, ...]) -> None:
        value = self._upper(weights)
        if value < self.upper:
            self.upper, self.incumbent = value, (weights, bounds)

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
        self.master.add_points(points)
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
        if objective and bound > self.lower:
            self.lower, self.best = bound, multipliers
        return bound

    # ---- rows -----------------------------------------------------------------------------------------------------

    def _add(self, new: list[Support]) -> None:
        self.master.add_rows(*self.rows.add(new))

    def _look(self, x: Array, margin: float, climb: bool) -> tuple[float, list[Support]]:
        """The worst violation that the scouts find, and points worth a row."""
        found = [scout.look(self.program.violation(f, x), -margin, climb) for f, scout in enumerate(self.scouts)]
        return max((s.worst for s in found), default=-np.inf), self._violated(found, margin)

    def _separate(self, x: Array) -> list[Separation]:
        left = self.deadline - time.perf_counter()
        return separate(self.program, self.oracles, x, left=left, seed=self.seed + len(self.history))

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

    def _value(self, weights: Array) -> float:
        return float(self.program.c @ self._mix(weights) + self.program.constant)

    def _upper(self, weights: Array) -> float:
        return upper_bound(self.program, self._mix(weights))

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
            time.perf_counter() - self.started,
        )
        self.history.append(step)
        if self.verbose:
            if iteration == 1:
                print("  iter  points   rows            lower            upper  violation     time")
            bounds = f"{low:16.9g} {high:16.9g} {worst:10.2e}"
            print(f"{iteration:6d} {step.points:7d} {step.rows:6d} {bounds} {step.seconds:7.2f}s", flush=True)

    def _infeasible(self, multipliers: Array) -> Decomposition:
        return self._answer(Status.INFEASIBLE, np.zeros(len(self.data)), multipliers, ())

    def _end(self, status: Status) -> Decomposition:
        nothing = (np.inf,) * len(self.program.families)
        weights = self.unproven if status is Status.UNCERTIFIED else self.last
        if weights is None:
            weights = np.eye(1, len(self.data))[0]
        weights, bounds = self.incumbent or (weights, nothing)
        return self._answer(status, weights, self.best if self.best is not None else np.zeros(0), bounds)

    def _answer(self, status: Status, weights: Array, multipliers: Array, bounds: tuple[float, ...]) -> Decomposition:
        support, rows = self.rows.measure(multipliers)
        points = self.master.points[: len(weights)]
        low, high = (-self.upper, -self.lower) if self.program.maximise else (self.lower, self.upper)
        return Decomposition(
            status=status,
            program=self.program,
            x=weights @ points,
            atoms=tuple(Atom(float(w), points[k], self.data[k]) for k, w in enumerate(weights) if w > 0),
            active=merge(self.program, support),
            support=support,
            row_multipliers=rows,
            lower=low,
            upper=high,
            violation=bounds,
            history=tuple(self.history),
            seconds=time.perf_counter() - self.started,
            tol=self.tol,
            calls=self.calls,
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
        if not cuts:
            return self.a[:0], self.b[:0]
        mid, rad, b = point_rows(self.program, tuple(cuts))
        mid, rad = (m.toarray() if sparse.issparse(m) else m for m in (mid, rad))
        self.a, self.doubt = np.concatenate([self.a, mid]), np.concatenate([self.doubt, rad])
        self.b = np.concatenate([self.b, b.hi])
        self.cuts += cuts
        return mid, b.hi

    def finite_violation(self, x: Array) -> float:
        """The largest amount by which x breaks a finite row; -inf when there is none."""
        k = len(self.side)
        return float((self.a[:k] @ x - self.b[:k]).max(initial=-np.inf))

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
