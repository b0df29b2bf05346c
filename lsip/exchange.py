"""The dual exchange method: solve a finite relaxation, look for the worst index points, add them, repeat.

Cuts are kept with a small margin, chosen so that it costs at most a fraction of the tolerance in the objective. When
no index violates its constraint any more, the master's point is therefore not almost but exactly feasible, its
objective is an upper bound, and the master's multipliers give a lower bound next to it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .certificate import (
    INFEASIBLE_RADIUS,
    LEAST_RADIUS,
    Certificate,
    Support,
    admissible,
    infeasibility,
    lower_bound,
    prove_feasible,
    refit,
    upper_bound,
)
from .errors import ModelError
from .masters import Conditioning, MasterError, MasterResult, open_master
from .oracles import BranchAndBound, Multistart, Oracle, Separation
from .polish import Polished, polish, worth_polishing
from .program import DENSE, Program
from .scout import Scout
from .solution import Iterate, Solution, merge
from .status import Status

Array = NDArray[np.float64]
REACH = 1e3  # infinite bounds of the master, in its own coordinates
STRETCH = 10.0  # how much farther those coordinates reach each time that this proves too little
STRETCHES = 12
RETREATS = 6  # attempts to find a strictly feasible point when a solve is stopped early


@dataclass(frozen=True)
class Exchange:
    """How to solve.

    Parameters
    ----------
    oracle
        Separation; None picks `BranchAndBound` where a family can be enclosed in at most four dimensions, else
        `Multistart`.
    master
        The finite LP solver.
    tol
        Relative gap to reach.
    max_iterations, time_limit
        When to stop at the latest; seconds.
    polish
        Finish with Newton steps on the active index points.
    seed
        For oracles that sample.
    callback
        Called with every `Iterate`; returning True stops the solve.
    warm_start
        A solution of the same or a similar problem, whose index points are tried first.
    """

    oracle: Oracle | None = None
    master: str = "highs"
    tol: float = 1e-8
    max_iterations: int = 1000
    time_limit: float | None = None
    polish: bool = True
    seed: int = 0
    callback: Callable[[Iterate], Any] | None = None
    warm_start: Solution | None = None

    def __post_init__(self) -> None:
        if not 0 < self.tol < 1:
            raise ModelError(f"`tol` is a relative gap between 0 and 1; got {self.tol}.")
        if self.max_iterations < 1:
            raise ModelError(f"`max_iterations` must be at least 1; got {self.max_iterations}.")
        if self.oracle is not None and not isinstance(self.oracle, Oracle):
            raise ModelError(f"`oracle` must have a method maximise(violation, domain, …); got {self.oracle!r}.")


def exchange(problem: Any, method: Exchange | None = None) -> Iterator[Iterate]:
    """Step through the exchange: one `Iterate` at a time."""
    yield from _Run(problem, method or Exchange()).iterates()


def solve(problem: Any, method: Exchange | None = None, *, verbose: bool = True, **options: Any) -> Solution:
    """Run the exchange to its end."""
    try:
        method = replace(method or Exchange(), **options)
    except TypeError:
        known = ", ".join(Exchange.__dataclass_fields__)
        unknown = ", ".join(k for k in options if k not in Exchange.__dataclass_fields__)
        raise ModelError(f"Unknown option {unknown}; the options of solve are {known} and verbose.") from None
    run = _Run(problem, method)
    table = None
    if verbose:
        from .progress import Table

        table = Table()
        table.start(run.describe())
    stepper = run.iterates()
    try:
        while True:
            iterate = next(stepper)
            if table:
                table.row(iterate)
            if method.callback is not None and method.callback(iterate):
                run.interrupted = True
                stepper.close()
                solution = run.stop(Status.INTERRUPTED)
                break
    except StopIteration as end:
        solution = end.value
    except KeyboardInterrupt:
        solution = run.stop(Status.INTERRUPTED)
    if table:
        table.finish(solution)
    return solution


def pick_oracle(family: Any) -> Oracle:
    """Certified where that is possible and cheap, else the best guess."""
    return BranchAndBound() if family.enclosable and family.domain.dim <= 4 else Multistart()


class _Run:
    """The state of one solve."""

    def __init__(self, problem: Any, method: Exchange) -> None:
        self.started = time.perf_counter()
        self.problem, self.method = problem, method
        self.program: Program = problem if isinstance(problem, Program) else problem.compile()
        self.oracles = [method.oracle or pick_oracle(f) for f in self.program.families]
        self.history: list[Iterate] = []
        self.cuts: list[Support] = []
        self.idle: Array = np.zeros(0, dtype=int)
        self.slater = True
        self.interrupted = False
        self.margin = 0.0
        self.x = np.clip(np.zeros(self.program.n), self.program.lower, self.program.upper)
        self.incumbent: tuple[float, Array, tuple[float, ...]] | None = None  # upper, x, proven violations
        self.lower = -np.inf
        self.result: MasterResult | None = None
        self.support: tuple[Support, ...] = ()  # the dual measure of the last master
        self.rows: Array = np.zeros(0)  # and its multipliers of the finite rows
        self.violation = (np.inf,) * len(self.program.families)  # proven at x, a family
        self.patience = 0
        self.stretches = 0
        self.polishable = self.method.polish and worth_polishing(self.program)
        self.polish_at, self.polished = 2, 0
        self.level, self.visited = np.inf, 0
        self._open()

    def describe(self) -> list[str]:
        program = self.program
        families = ", ".join(
            f"m = {f.domain.dim} ({len(f.columns)} row{'s' if len(f.columns) > 1 else ''} an index)"
            for f in program.families
        )
        return [
            f"{program.name}: {program.n} variables, {program.A.shape[0]} finite rows; {families or 'no index'}",
            f"separation by {self.oracle_names}, master {self.method.master}, tol {self.method.tol:g}",
        ]

    @property
    def oracle_names(self) -> str:
        return ", ".join(dict.fromkeys(type(o).__name__ for o in self.oracles)) or "none needed"

    # ---- the master -----------------------------------------------------------------------------------------------

    def _open(self) -> None:
        program = self.program
        first = [self._first_points(f) for f in range(len(program.families))]
        self.scouts = [
            Scout(family, points) if isinstance(oracle, BranchAndBound) and Scout.suits(family) else None
            for family, oracle, points in zip(program.families, self.oracles, first, strict=True)
        ]
        self.cuts = [
            Support(f, c, y, 0.0)
            for f, points in enumerate(first)
            for y in points
            for c in range(len(program.families[f].columns))
        ]
        warm = self.method.warm_start
        if warm is not None:
            self.cuts += [s for s in (*warm.cuts, *warm.certificate.support) if self._fits(s)]
        known = {f: _flat(scout.first) for f, scout in enumerate(self.scouts) if scout is not None and warm is None}
        rows, rhs = self._matrix(self.cuts, known)
        self.conditioning = Conditioning.fit(program, self._sample_rows(rows))
        self.units = self.conditioning.scale
        self.scale = max(1.0, float(np.median(np.abs(rhs))) if len(rhs) else 1.0)
        self.reach = REACH * max(1.0, float(np.abs(rhs).max(initial=0.0)))
        self.margin = 0.1 * self.method.tol * self.scale
        self._build(rows, rhs)

    def _build(self, rows: Any, rhs: Array) -> None:
        """A fresh master in the current coordinates, with these cuts."""
        program = self.program
        self.limit = self.conditioning.reach(self.reach)
        lower, upper = self.conditioning.box(program.lower, program.upper, self.limit)
        finite, self.row_scale = program.A, np.ones(0)
        if program.A.shape[0]:
            finite = sparse.csr_matrix(self.conditioning.rows(program.A))
            self.row_scale = np.maximum(abs(finite).max(axis=1).toarray().ravel(), 1e-8)
            finite = sparse.csr_matrix(sparse.diags(1.0 / self.row_scale) @ finite)
        self.master = open_master(self.method.master)(
            np.asarray(self.conditioning.rows(program.c[None, :])).ravel(),
            lower,
            upper,
            finite,
            program.row_lower / self.row_scale,
            program.row_upper / self.row_scale,
            self.method.tol,
        )
        self.master.add(self.conditioning.rows(rows), rhs)
        self.idle = np.zeros(len(self.cuts), dtype=int)

    def _first_points(self, f: int) -> Array:
        """Enough index points to make the first relaxation bounded in most cases, few enough to be cheap."""
        family = self.program.families[f]
        domain, (p, k) = family.domain, family.columns.shape
        if p > 50 or k > DENSE:  # in large models the finite rows and bounds hold most variables
            return domain.grid((5 if p == 1 else 3) if domain.dim == 1 else 2)
        if domain.dim == 1:
            return domain.grid(int(np.clip(k + 1, 5, 200)))
        corners = domain.grid(3 if domain.dim == 2 else 2)
        return np.concatenate([corners, domain.spread(int(np.clip(2 * k, 8, 200)))])

    def _sample_rows(self, rows: Any) -> Any:
        """Rows at points of no period: those of a grid can make independent functions look alike."""
        if self.program.n > DENSE:
            return rows
        parts = [rows]
        for family, scout in zip(self.program.families, self.scouts, strict=True):
            count = int(np.clip(2 * family.columns.shape[1], 10, 400))
            if scout is not None:
                table = scout.table[:, :: max(scout.table.shape[1] // count, 1), :-1]  # (p, N, K)
            elif len(family.columns) <= 50:
                table = np.moveaxis(family.rows(family.domain.spread(count))[0], 1, 0)
            else:
                continue
            place = np.arange(table.shape[0] * table.shape[1]).reshape(table.shape[:2])
            parts.append(np.zeros((place.size, self.program.n)))
            np.add.at(parts[-1], (place[:, :, None], family.columns[:, None, :]), table)
        return np.concatenate(parts)

    def _fits(self, s: Support) -> bool:
        if s.family >= len(self.program.families):
            return False
        family = self.program.families[s.family]
        return bool(
            s.component < len(family.columns)
            and len(s.point) == family.domain.dim
            and family.domain.contains(s.point[None, :])[0]
        )

    def _matrix(self, cuts: list[Support], known: dict[int, tuple[Array, Array]] | None = None) -> tuple[Any, Array]:
        """Rows (k, n) and right-hand sides of cuts, dense for small models; those `known` of a family are not asked."""
        n, families = self.program.n, self.program.families
        rhs = np.zeros(len(cuts))
        dense = np.zeros((len(cuts), n)) if n <= DENSE else None
        triplets: list[tuple[Array, Any, Any]] = []
        for f, family in enumerate(families):
            mine = np.array([i for i, s in enumerate(cuts) if s.family == f], dtype=np.intp)
            if not len(mine):
                continue
            y = np.array([cuts[i].point for i in mine])
            component = np.array([cuts[i].component for i in mine], dtype=np.intp)
            a, rhs[mine] = known[f] if known and f in known else family.chosen(y, component)
            columns = family.columns[component]
            if dense is not None:
                np.add.at(dense, (mine[:, None], columns), a)
            else:
                triplets.append((a.ravel(), np.repeat(mine, a.shape[1]), columns.ravel()))
        if dense is not None:
            return dense, rhs
        if not triplets:
            return sparse.csr_matrix((len(cuts), n)), rhs
        data, i, j = (np.concatenate(part) for part in zip(*triplets, strict=True))
        used = data != 0
        return sparse.csr_matrix((data[used], (i[used], j[used])), shape=(len(cuts), n)), rhs

    def _add(self, separations: list[Separation]) -> int:
        new, known = [], {}
        for f, s in enumerate(separations):
            kept = s.values > -0.5 * self.margin
            new += [Support(f, int(c), y, 0.0) for y, c in zip(s.points[kept], s.components[kept], strict=True)]
            if s.rows is not None:
                known[f] = s.rows[0][kept], s.rows[1][kept]
        return self._add_cuts(new, known)

    def _add_cuts(self, new: list[Support], known: dict[int, tuple[Array, Array]] | None = None) -> int:
        if not new:
            return 0
        rows, rhs = self._matrix(new, known)
        self.master.add(self.conditioning.rows(rows), rhs)
        self.cuts += new
        self.idle = np.concatenate([self.idle, np.zeros(len(new), dtype=int)])
        return len(new)

    def _drop_slack(self, multipliers: Array) -> None:
        """Forget cuts that have not mattered for a while, once there are many."""
        held = len(multipliers)  # cuts added since then are new, not idle
        self.idle[:held] = np.where(multipliers > 0, 0, self.idle[:held] + 1)
        # On a flat optimal face no multiplier tells which cuts hold the master in place: keep them longer.
        if len(self.cuts) <= (3 if self.visited == 0 else 30) * self.program.n + 200:
            return
        keep = self.idle < 4
        if (~keep).sum() >= 0.2 * len(keep):
            self.master.drop(keep)
            self.cuts = [c for c, k in zip(self.cuts, keep, strict=True) if k]
            self.idle = self.idle[keep]

    # ---- the loop -------------------------------------------------------------------------------------------------

    def iterates(self) -> Generator[Iterate, None, Solution]:
        method = self.method
        for iteration in range(1, method.max_iterations + 1):
            result = self._solve_master()
            if isinstance(result, Solution):
                return result
            separations = self._separate(self.x)
            self.violation = tuple(s.bound for s in separations)
            worst = max((s.worst for s in separations), default=-np.inf)
            bound = max((s.bound for s in separations), default=-np.inf)
            solution = self._finish(result, separations, worst, bound)
            added = 0
            if solution is None:
                added = self._add(separations)
                if added == 0:
                    solution = self._stuck(worst, bound)
            yield self._record(iteration, worst, bound, added, separations)
            if solution is None:
                solution = self._recheck()
            if solution is None:
                solution = self._try_centre(result)
            if solution is None and self._worth_polishing(iteration, worst):
                solution = self._polish(separations)
            if solution is None and iteration % 5 == 4 and self.slater and not self._bounded(result):
                solution = self._unbounded()
            if solution is not None:
                return replace(solution, history=tuple(self.history))
            self._drop_slack(result.cut_multipliers)
            if method.time_limit is not None and time.perf_counter() - self.started > method.time_limit:
                return self.stop(Status.TIME_LIMIT)
        return self.stop(Status.ITERATION_LIMIT)

    def _solve_master(self) -> MasterResult | Solution:
        """Solve the relaxation; where it has no solution, lower the margin or prove infeasibility."""
        for _ in range(40):
            try:
                result = self.master.solve(self.margin)
            except MasterError:
                return self.stop(Status.STALLED)
            if result.status == "optimal":
                break
            answer = self._explain_infeasible(result)
            if answer is not None:
                return answer
        else:
            return self.stop(Status.STALLED)
        self._accept(result)
        value = float(self.program.c @ self.x) + self.program.constant
        total = float(result.cut_multipliers.sum())
        self.lower = max(self.lower, value - self.margin * total) if self._bounded(result) else self.lower
        if self.slater and total > 0:
            wanted = 0.4 * self.method.tol * max(1.0, abs(value)) / total
            wanted = min(wanted, 1e-3 * self.scale)
            if not 0.3 < self.margin / wanted < 1.2:
                self.margin = wanted
                again = self.master.solve(self.margin)
                if again.status == "optimal":
                    result = again
                    self._accept(result)
        return result

    def _accept(self, result: MasterResult) -> None:
        """Take a master's answer as the current point and the current dual measure."""
        self.result = result
        self.x = np.clip(self.conditioning.x(result.z), self.program.lower, self.program.upper)
        self.support, self.rows = self._atoms(result)

    def _bounded(self, result: MasterResult) -> bool:
        """Whether the box that stands in for infinite bounds does not matter to the master's solution."""
        price = np.abs(result.reduced_costs) * self.limit
        matters = price > 0.05 * self.method.tol * max(1.0, abs(result.objective))
        return not (matters & (np.abs(result.z) >= 0.99 * self.limit)).any()

    def _explain_infeasible(self, result: MasterResult) -> Solution | None:
        best = self.master.best_margin(self.scale)
        proof = best if best.status == "optimal" and best.slack > 0 else result
        support, rows = self._atoms(proof)
        contradiction, radius = infeasibility(self.program, support, rows, self.units)
        if contradiction > 0 and (best.status != "optimal" or best.slack > 1e-9 * self.scale):
            if radius < INFEASIBLE_RADIUS and self.stretches < STRETCHES:
                return self._grow(best.z if best.status == "optimal" else None)
            if radius >= INFEASIBLE_RADIUS:
                certificate = Certificate("infeasible", self.x, np.inf, np.inf, radius, support, rows, units=self.units)
                return self._solution(Status.INFEASIBLE, certificate)
        if best.status != "optimal":
            return self.stop(Status.STALLED)
        if -best.slack < 1e-3 * abs(self.margin) or -best.slack < 1e-11 * self.scale:
            self.slater = False
            self.margin = -best.slack - 1e-10 * self.scale
        else:
            self.margin = 0.5 * min(-best.slack, self.margin)
        return None

    def _grow(self, z: Array | None) -> Solution | None:
        """Look further out along the coordinates that lean on the box (all of them if none does), or give up."""
        if self.stretches >= STRETCHES:
            return self.stop(Status.STALLED)
        self.stretches += 1
        self.patience = 0
        leaning = np.abs(z) >= 0.99 * self.limit if z is not None else np.ones(self.program.n, dtype=bool)
        self.conditioning = self.conditioning.stretched(leaning if leaning.any() else ~leaning, STRETCH)
        self._build(*self._matrix(self.cuts))
        return None

    def _separate(self, x: Array) -> list[Separation]:
        """Where x violates, by a look at sampled points if that finds enough; otherwise what the oracles say."""
        return self._look(x) or self._prove(x)

    def _look(self, x: Array) -> list[Separation] | None:
        """What the scouts find, if it is worth cuts before any proof."""
        if any(scout is None for scout in self.scouts):
            return None
        alert = -0.5 * self.margin
        found = [scout.look(self.program.violation(f, x), alert) for f, scout in enumerate(self.scouts) if scout]
        return found if max((s.worst for s in found), default=-np.inf) > self.method.tol * self.scale else None

    def _prove(self, x: Array) -> list[Separation]:
        seed = self.method.seed + len(self.history)
        return [
            self._tuned(oracle).maximise(self.program.violation(f, x), family.domain, target=0.0, seed=seed)
            for f, (oracle, family) in enumerate(zip(self.oracles, self.program.families, strict=True))
        ]

    def _tuned(self, oracle: Oracle) -> Oracle:
        """Tell a branch-and-bound how much room the margin leaves, and how much time there is."""
        if not isinstance(oracle, BranchAndBound):
            return oracle
        left = oracle.seconds
        if self.method.time_limit is not None:
            left = min(left, max(self.method.time_limit - (time.perf_counter() - self.started), 0.05))
        return replace(oracle, near=max(0.5 * self.margin, 0.0), seconds=left)

    def _record(self, iteration: int, worst: float, bound: float, added: int, separations: list[Separation]) -> Iterate:
        sign = -1.0 if self.program.maximise else 1.0
        upper = self.incumbent[0] if self.incumbent else np.inf
        low, high = (self.lower, upper) if sign > 0 else (-upper, -self.lower)
        iterate = Iterate(
            iteration,
            sign * (float(self.program.c @ self.x) + self.program.constant),
            low,
            high,
            worst,
            bound,
            added,
            len(self.cuts),
            time.perf_counter() - self.started,
            self.x,
            tuple(s.points for s in separations),
        )
        self.history.append(iterate)
        return iterate

    # ---- ends -----------------------------------------------------------------------------------------------------

    def _atoms(self, result: MasterResult) -> tuple[tuple[Support, ...], Array]:
        """The multipliers of a master solution as a measure, and those of the finite rows."""
        used = np.flatnonzero(result.cut_multipliers > 0)
        support = tuple(
            Support(self.cuts[i].family, self.cuts[i].component, self.cuts[i].point, weight)
            for i, weight in zip(used, result.cut_multipliers[used].tolist(), strict=True)
        )
        return support, admissible(self.program, result.row_multipliers / self.row_scale)

    def _finish(
        self, result: MasterResult, separations: list[Separation], worst: float, bound: float
    ) -> Solution | None:
        """The solution, if this iterate is one."""
        if not self.slater and 0 < worst <= bound <= self.method.tol * self.scale:
            return self.stop(Status.NO_INTERIOR)
        if worst > 0 or (bound > 0 and worst > -0.5 * self.margin):
            return None
        if bound > 0 and self._bounded(result):
            unsure = self.slater or not np.isfinite(bound)
            return self.stop(Status.UNCERTIFIED if unsure else Status.NO_INTERIOR)
        if bound <= 0:
            solution = self._certify(self.x, self.support, self.rows, tuple(s.bound for s in separations))
            if solution is not None:
                return solution
            if (np.abs(result.z) < 0.99 * self.limit).all():
                self.patience += 1
                self.margin *= 0.5
                return self.stop(Status.STALLED) if self.patience > 8 else None
        return self._unbounded() or self._grow(result.z)

    def _certify(
        self, x: Array, support: tuple[Support, ...], rows: Array, violation: tuple[float, ...]
    ) -> Solution | None:
        """OPTIMAL if the bounds meet; otherwise remember the point and go on."""
        upper = upper_bound(self.program, x)
        if self.incumbent is None or upper < self.incumbent[0]:
            self.incumbent = (upper, x, violation)
        upper, x, violation = self.incumbent
        allowed = self.method.tol * max(1.0, abs(upper))
        lower, radius = lower_bound(self.program, support, rows, self._units(x), 0.1 * allowed)
        if upper - lower > allowed and self.program.n <= DENSE:
            clean = refit(self.program, support, rows)
            other = lower_bound(self.program, clean, rows, self._units(x), 0.1 * allowed)
            if other[0] > lower:
                support, (lower, radius) = clean, other
        if upper - lower <= allowed and radius >= LEAST_RADIUS:
            return self._solution(
                Status.OPTIMAL, self._certificate("optimal", x, lower, upper, radius, support, rows, violation)
            )
        return None

    def _recheck(self) -> Solution | None:
        """A feasible point found earlier may be good enough for the lower bound of this iteration."""
        if self.incumbent is None:
            return None
        upper, x, violation = self.incumbent
        if upper - self.lower > self.method.tol * max(1.0, abs(upper)):
            return None
        return self._certify(x, self.support, self.rows, violation)

    def _certificate(
        self,
        kind: str,
        x: Array,
        lower: float,
        upper: float,
        radius: float,
        support: tuple[Support, ...],
        rows: Array,
        violation: tuple[float, ...],
    ) -> Certificate:
        finite = self.program.finite_violation(x)
        return Certificate(kind, x, lower, upper, radius, support, rows, violation, finite, self._units(x))

    def _units(self, x: Array) -> Array:
        """The size of each variable: what it is at x, or what makes its terms about 1."""
        return np.abs(x) + self.units

    def _unbounded(self) -> Solution | None:
        """The relaxation leans on the box that stands in for infinite bounds: prove a direction, if there is one."""
        from .rays import find_ray

        upper = upper_bound(self.program, self.x)
        direction, drift = find_ray(self.program, self.cuts, self.conditioning, self._matrix, self.oracles, self.method)
        if direction is not None:
            x, violation = self.x, prove_feasible(self.program, self.x)
            worst, slope = max(violation, default=0.0), max(drift, default=0.0)
            if worst > 0 and slope < 0:  # a direction into the interior leads to a feasible point
                x = x + 1.1 * worst / -slope * direction
                violation = prove_feasible(self.program, x)
            if max(violation, default=0.0) <= 0:
                certificate = self._certificate("unbounded", x, -np.inf, upper, np.inf, (), np.zeros(0), violation)
                return self._solution(Status.UNBOUNDED, replace(certificate, direction=direction, drift=drift))
        return None

    def _stuck(self, worst: float, bound: float) -> Solution | None:
        if self.incumbent is None and worst > 0:
            return self.stop(Status.STALLED)
        return None

    def _try_centre(self, result: MasterResult) -> Solution | None:
        """Where many points are optimal, the simplex jumps between corners of the optimal face; its middle settles.

        It is tried once the objective has stopped moving, and costs about as much as a few iterations.
        """
        value = float(self.program.c @ self.x)
        if abs(value - self.level) > 0.2 * self.method.tol * max(1.0, abs(value)):
            self.level, self.visited = value, 0
            return None
        self.visited += 1
        z = self.master.centre(self.margin) if self._bounded(result) else None
        if z is None:
            return None
        x = np.clip(self.conditioning.x(z), self.program.lower, self.program.upper)
        separations = self._separate(x)
        if max((s.bound for s in separations), default=-np.inf) <= 0:
            return self._certify(x, self.support, self.rows, tuple(s.bound for s in separations))
        self._add(separations)
        return None

    def _worth_polishing(self, iteration: int, worst: float) -> bool:
        if not self.polishable or not self.slater or self.result is None or not self._bounded(self.result):
            return False
        return iteration >= self.polish_at and worst < 0.1 * (self.scale + abs(self.history[-1].value))

    def _polish(self, found: list[Separation]) -> Solution | None:
        """Try Newton from here: a point that can be certified ends the solve, and its index points help anyway."""
        # Newton that does not help yet will not help in the very next iteration either.
        self.polished += 1
        self.polish_at = len(self.history) + 1 + self.polished // 2
        polished = self._newton(cluster(self.program, self.support, found))
        if polished is None:
            return None
        separations = self._separate(polished.x)
        bound = max((s.bound for s in separations), default=-np.inf)
        if bound <= 0:
            solution = self._certify(
                polished.x, polished.support, polished.row_multipliers, tuple(s.bound for s in separations)
            )
            if solution is not None:
                return solution
        self._add_cuts([replace(s, multiplier=0.0) for s in polished.support])
        self._add(separations)
        return None

    def _newton(self, clusters: tuple[Support, ...]) -> Polished | None:
        if len(clusters) > self.program.n:
            return None
        return polish(self.program, self.x, clusters, self.rows, self.margin, self.conditioning.basis())

    def _retreat(self) -> None:
        """A feasible point for free: between an iterate of proven violation v and a point of margin s."""
        if self.incumbent is not None or not self.slater:
            return
        if max(self.violation, default=np.inf) == np.inf:  # the last look came without a proof
            self.violation = tuple(found.bound for found in self._prove(self.x))
        v = max(self.violation, default=np.inf)
        if not 0 < v < np.inf:
            return
        s = 0.0
        for _ in range(RETREATS):
            try:
                inside = self.master.best_margin(self.scale)
            except MasterError:
                return
            if inside.status != "optimal" or inside.slack >= 0:
                return
            x_s = np.clip(self.conditioning.x(inside.z), self.program.lower, self.program.upper)
            separations = self._prove(x_s)
            s = -max(found.bound for found in separations)
            if s > 0 or not self._add(separations):
                break
        if s <= 0:
            return
        weight = min(v / (s + v) * (1 + 1e-9) + 1e-12, 1.0)
        x = (1 - weight) * self.x + weight * x_s
        violation = prove_feasible(self.program, x)
        if max(violation) <= 0:
            self.incumbent = (upper_bound(self.program, x), x, violation)

    def stop(self, status: Status) -> Solution:
        """End without a closed gap: report the best bounds that can be proven now."""
        self._retreat()
        x, upper = self.x, np.inf
        violation: tuple[float, ...] = ()
        if self.incumbent is not None:
            upper, x, violation = self.incumbent
        else:
            violation = self.violation
            if max(violation, default=np.inf) <= 0:
                upper = upper_bound(self.program, x)
        support, rows = self.support, self.rows
        allowed = 0.1 * self.method.tol * max(1.0, abs(float(self.program.c @ x) + self.program.constant))
        lower, radius = (
            lower_bound(self.program, support, rows, self._units(x), allowed)
            if support or len(rows)
            else (-np.inf, np.inf)
        )
        certificate = self._certificate("optimal", x, lower, upper, radius, support, rows, violation)
        closed = upper - lower <= self.method.tol * max(1.0, abs(upper)) and radius >= LEAST_RADIUS
        return self._solution(Status.OPTIMAL if closed and np.isfinite(upper) else status, certificate)

    def _solution(self, status: Status, certificate: Certificate) -> Solution:
        return Solution(
            status=status,
            program=self.program,
            certificate=certificate,
            history=tuple(self.history),
            active=merge(self.program, certificate.support),
            seconds=time.perf_counter() - self.started,
            tol=self.method.tol,
            oracle=self.oracle_names,
            variables=getattr(self.problem, "variables", ()),
            model=self.problem if hasattr(self.problem, "compile") else None,
            cuts=tuple(self.cuts),
        )


def _flat(rows: tuple[Array, Array]) -> tuple[Array, Array]:
    """Rows (N, p, K) and right-hand sides (N, p) of all components, point by point."""
    a, b = rows
    return a.reshape(-1, a.shape[-1]), b.ravel()


def cluster(program: Program, support: tuple[Support, ...], found: list[Separation]) -> tuple[Support, ...]:
    """One atom for every maximiser: those that the oracle found gather the mass around them, the rest stay."""
    mass: dict[tuple[int, int], list[tuple[Array, float]]] = {}
    maximisers: dict[tuple[int, int], list[Array]] = {}
    for f, separation in enumerate(found):
        for y, c in zip(separation.points, separation.components, strict=True):
            maximisers.setdefault((f, int(c)), []).append(y)
    widths = [np.maximum(f.domain.upper - f.domain.lower, 1e-300) for f in program.families]
    for s in sorted(support, key=lambda s: -s.multiplier):
        row, width = (s.family, s.component), widths[s.family]
        atoms = mass.setdefault(row, [])
        near = [float(np.abs((y - s.point) / width).max()) for y, _ in atoms]
        if near and min(near) <= 0.02:
            i = int(np.argmin(near))
            atoms[i] = (atoms[i][0], atoms[i][1] + s.multiplier)
            continue
        place = s.point
        rivals = maximisers.get(row, [])
        distance = [float(np.abs((y - s.point) / width).max()) for y in rivals]
        if distance and min(distance) <= 0.1:
            place = rivals[int(np.argmin(distance))]
        same = [i for i, (y, _) in enumerate(atoms) if (y == place).all()]
        if same:
            atoms[same[0]] = (place, atoms[same[0]][1] + s.multiplier)
        else:
            atoms.append((place, s.multiplier))
    total = sum(weight for atoms in mass.values() for _, weight in atoms)
    return tuple(
        Support(f, c, y, weight) for (f, c), atoms in mass.items() for y, weight in atoms if weight > 1e-9 * total
    )
