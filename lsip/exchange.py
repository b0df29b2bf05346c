"""The dual exchange method: solve a finite relaxation, look for the worst index points, add them, repeat.

Cuts are kept with a small margin, chosen so that it costs at most a fraction of the tolerance in the objective. When
no index violates its constraint any more, the master's point is therefore not almost but exactly feasible, its
objective is an upper bound, and the master's multipliers give a lower bound next to it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .certificate import (
    FINITE,
    INFEASIBLE_RADIUS,
    LEAST_RADIUS,
    Certificate,
    Support,
    contradiction,
    infeasibility,
    lower_bound,
    prove_feasible,
    refit,
    upper_bound,
)
from .clock import Clock
from .masters import MasterError, MasterResult
from .options import check_options, chosen
from .oracles import Oracle, Separation, SupportFunction, pick_oracle
from .polish import Polished, cluster, polish, worth_polishing
from .program import DENSE, compiled
from .relaxation import Relaxation
from .separate import separate
from .solution import Iterate, Solution, merge
from .status import Status

Array = NDArray[np.float64]
STRETCHES = 12  # times that the master's coordinates are let reach farther out
FROZEN = 6  # iterations without any change of x after which rounding is to blame
NEARLY = 20  # violations of so many margins are left to the next relaxation
RETREATS = 6  # attempts to find a strictly feasible point when a solve is stopped early


@dataclass(frozen=True)
class Exchange:
    """How to solve.

    Parameters
    ----------
    oracle
        Separation; None picks `SupportFunction` for a family that is affine in its index, `BranchAndBound` where a
        family can be enclosed in at most four dimensions, else `Multistart`.
    master
        The finite LP solver.
    tol
        Relative gap to reach.
    max_iterations, time_limit
        When to stop at the latest; seconds.
    polish
        Finish with Newton steps on the active index points.
    look
        Look for violations at sampled points before asking a `BranchAndBound`; off, every iteration is its work alone.
    seed
        For oracles that sample.
    callback
        Called with every `Iterate`; returning True stops the solve.
    warm_start
        A solution of the same or a similar problem, whose index points are tried first.
    start
        The index points of the first relaxation, an array (k, m) for every family; None chooses them.
    """

    oracle: Oracle | None = None
    master: str = "highs"
    tol: float = 1e-8
    max_iterations: int = 1000
    time_limit: float | None = None
    polish: bool = True
    look: bool = True
    seed: int = 0
    callback: Callable[[Iterate], Any] | None = None
    warm_start: Solution | None = None
    start: Sequence[Array] | None = None

    def __post_init__(self) -> None:
        check_options(
            self.tol,
            self.max_iterations,
            self.oracle,
            time_limit=self.time_limit,
            seed=self.seed,
            callback=self.callback,
            warm_start=self.warm_start,
        )


def exchange(problem: Any, method: Exchange | None = None) -> Generator[Iterate, None, Solution]:
    """Step through the exchange: one `Iterate` at a time; the generator's return value is the `Solution`."""
    return (yield from _Run(problem, chosen(Exchange(), (), method, {})).iterates())


def solve(problem: Any, method: Exchange | None = None, *, verbose: bool = True, **options: Any) -> Solution:
    """Run the exchange to its end."""
    method = chosen(Exchange(), (), method, options)
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


class _Run:
    """The state of one solve."""

    def __init__(self, problem: Any, method: Exchange) -> None:
        self.clock = Clock(method.time_limit)
        self.problem, self.method = problem, method
        self.program = compiled(problem)
        self.oracles = [method.oracle or pick_oracle(f) for f in self.program.families]
        self.history: list[Iterate] = []
        self.slater = True
        self.interrupted = False
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
        self.cheap = all(isinstance(oracle, SupportFunction) for oracle in self.oracles)
        self.trail: Array | None = None  # an average of the iterates
        self.relaxation = Relaxation(self.program, self.oracles, method)
        self.margin = 0.1 * method.tol * self.relaxation.scale

    def describe(self) -> list[str]:
        program = self.program
        families = ", ".join(
            f"m = {f.domain.dim} ({len(f.columns)} row{'s' if len(f.columns) > 1 else ''} an index)"
            for f in program.families
        )
        size = f"{_counted(program.n, 'variable')}, {_counted(program.A.shape[0], 'finite row')}"
        return [
            f"{program.name}: {size}; {families or 'no index'}",
            f"separation by {self.oracle_names}, master {self.method.master}, tol {self.method.tol:g}",
        ]

    @property
    def oracle_names(self) -> str:
        return ", ".join(dict.fromkeys(type(o).__name__ for o in self.oracles)) or "none needed"

    # ---- the loop -------------------------------------------------------------------------------------------------

    def iterates(self) -> Generator[Iterate, None, Solution]:
        try:
            return (yield from self._steps())
        except MasterError:  # the bounds found so far are valid
            return self.stop(Status.STALLED)

    def _steps(self) -> Generator[Iterate, None, Solution]:
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
                elif self.cheap:
                    added += self._add_behind()
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
            if self._frozen():
                return self.stop(Status.STALLED if self.slater else Status.NO_INTERIOR)
            self.relaxation.drop_slack(result.cut_multipliers, flat=self.visited > 0)
            if self.clock.left() < 0:
                return self.stop(Status.TIME_LIMIT)
        return self.stop(Status.ITERATION_LIMIT)

    def _frozen(self) -> bool:
        """Whether cuts no longer move the master: they differ by less than its accuracy."""
        last = self.history[-FROZEN:]
        if len(last) < FROZEN:
            return False
        moves = max(float(np.abs(h.x - self.x).max(initial=0.0)) for h in last)
        return moves <= 1e-14 * (1 + float(np.abs(self.x).max(initial=0.0)))

    def _solve_master(self) -> MasterResult | Solution:
        """Solve the relaxation; where it has no solution, lower the margin or prove infeasibility."""
        self.relaxation.renew()
        for _ in range(40):
            result = self.relaxation.master.solve(self.margin)
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
            wanted = min(wanted, 1e-3 * self.relaxation.scale)
            if not 0.3 < self.margin / wanted < 1.2:
                self.margin = wanted
                try:
                    again = self.relaxation.master.solve(self.margin)
                except MasterError:  # cuts from the other margin are cuts all the same
                    return result
                if again.status == "optimal":
                    result = again
                    self._accept(result)
        return result

    def _accept(self, result: MasterResult) -> None:
        """Take a master's answer as the current point and the current dual measure."""
        self.result = result
        self.x = self.relaxation.x(result.z)
        self.support, self.rows = self.relaxation.atoms(result)

    def _bounded(self, result: MasterResult) -> bool:
        """Whether the box that stands in for infinite bounds does not matter to the master's solution."""
        price = np.abs(result.reduced_costs) * self.relaxation.limit
        matters = price > 0.05 * self.method.tol * max(1.0, abs(result.objective))
        return not (matters & (np.abs(result.z) >= 0.99 * self.relaxation.limit)).any()

    def _explain_infeasible(self, result: MasterResult) -> Solution | None:
        best = self.relaxation.master.best_margin(self.relaxation.scale)
        proof = best if best.status == "optimal" and best.slack > 0 else result
        support, rows = self.relaxation.atoms(proof)
        gap, radius = infeasibility(self.program, support, rows, self.relaxation.units)
        if gap > 0 and (best.status != "optimal" or best.slack > 1e-9 * self.relaxation.scale):
            if radius < INFEASIBLE_RADIUS:
                support, rows = contradiction(self.program, support, rows)
                _, radius = infeasibility(self.program, support, rows, self.relaxation.units)
            if radius < INFEASIBLE_RADIUS:
                return self._grow(best.z if best.status == "optimal" else None)
            certificate = Certificate(
                "infeasible", self.x, np.inf, np.inf, radius, support, rows, units=self.relaxation.units
            )
            return self._solution(Status.INFEASIBLE, certificate)
        if best.status != "optimal":
            return self.stop(Status.STALLED)
        if -best.slack < 1e-3 * abs(self.margin) or -best.slack < 1e-11 * self.relaxation.scale:
            self.slater = False
            self.margin = -best.slack - 1e-10 * self.relaxation.scale
        else:
            self.margin = 0.5 * min(-best.slack, self.margin)
        return None

    def _grow(self, z: Array | None) -> Solution | None:
        """Look further out along the coordinates that lean on the box (all of them if none does), or give up."""
        if self.stretches >= STRETCHES:
            return self.stop(Status.STALLED)
        self.stretches += 1
        self.patience = 0
        leaning = np.abs(z) >= 0.99 * self.relaxation.limit if z is not None else np.ones(self.program.n, dtype=bool)
        self.relaxation.stretch(leaning if leaning.any() else ~leaning)
        return None

    def _separate(self, x: Array) -> list[Separation]:
        """Where x violates, by a look at sampled points if that finds enough; otherwise what the oracles say."""
        return self._look(x) or self._prove(x)

    def _look(self, x: Array) -> list[Separation] | None:
        """What the scouts find, if it is worth cuts before any proof."""
        each = list(zip(self.relaxation.scouts, self.oracles, strict=True))
        ready = all(scout is not None or isinstance(oracle, SupportFunction) for scout, oracle in each)
        if not self.method.look or not ready or not any(scout for scout, _ in each):
            return None
        alert = -0.5 * self.margin
        found = [
            scout.look(violation, alert) if scout else oracle.maximise(violation, violation.family.domain)
            for f, (scout, oracle) in enumerate(each)
            for violation in [self.program.violation(f, x)]
        ]
        return found if max((s.worst for s in found), default=-np.inf) > abs(self.margin) else None

    def _prove(self, x: Array) -> list[Separation]:
        seed = self.method.seed + len(self.history)
        return separate(self.program, self.oracles, x, margin=self.margin, left=self.clock.left(), seed=seed)

    def _add(self, separations: list[Separation]) -> int:
        new, known = [], {}
        for f, s in enumerate(separations):
            kept = s.values > -0.5 * self.margin
            new += [Support(f, int(c), y, 0.0) for y, c in zip(s.points[kept], s.components[kept], strict=True)]
            if s.rows is not None:
                known[f] = s.rows[0][kept], s.rows[1][kept]
        return self.relaxation.add(new, known)

    def _add_behind(self) -> int:
        """Cuts at an average of the iterates as well: it lies further inside, where they cut deeper."""
        self.trail = 0.5 * (self.x + (self.x if self.trail is None else self.trail))
        return self._add(self._prove(self.trail))

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
            len(self.relaxation.cuts),
            self.clock.used(),
            self.x,
            tuple(s.points for s in separations),
        )
        self.history.append(iterate)
        return iterate

    # ---- ends -----------------------------------------------------------------------------------------------------

    def _finish(
        self, result: MasterResult, separations: list[Separation], worst: float, bound: float
    ) -> Solution | None:
        """The solution, if this iterate is one."""
        if not self.slater and 0 < worst <= bound <= self.method.tol * self.relaxation.scale:
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
            if (np.abs(result.z) < 0.99 * self.relaxation.limit).all():
                self.patience += 1
                self.margin *= 0.5
                return self.stop(Status.STALLED) if self.patience > 8 else None
        return self._unbounded() or self._grow(result.z)

    def _certify(
        self, x: Array, support: tuple[Support, ...], rows: Array, violation: tuple[float, ...]
    ) -> Solution | None:
        """OPTIMAL if the bounds meet; otherwise remember the point and go on."""
        if not self._keeps_finite_rows(x):
            return None
        upper = upper_bound(self.program, x)
        if self.incumbent is None or upper < self.incumbent[0]:
            self.incumbent = (upper, x, violation)
        upper, x, violation = self.incumbent
        allowed = self.method.tol * max(1.0, abs(upper))
        lower, radius = lower_bound(self.program, support, rows, self._units(x), 0.1 * allowed)
        if upper - lower > allowed and self.program.n <= DENSE:
            clean, exact = refit(self.program, support, rows, x)
            other = lower_bound(self.program, clean, exact, self._units(x), 0.1 * allowed)
            if other[0] > lower:
                support, rows, (lower, radius) = clean, exact, other
        if abs(upper - lower) <= allowed and radius >= LEAST_RADIUS:
            return self._solution(
                Status.OPTIMAL, self._certificate("optimal", x, lower, upper, radius, support, rows, violation)
            )
        return None

    def _keeps_finite_rows(self, x: Array) -> bool:
        """Whether x breaks finite rows no more than the master does.

        Newton sees only those that were active, and a step can carry x across another one; the interior points of a
        flat face are less accurate than its corners.
        """
        scale = 1.0 + float(np.abs(x).max(initial=0.0))
        usual = min(2 * self.program.finite_violation(self.x), FINITE * scale)
        return self.program.finite_violation(x) <= max(usual, 1e-12 * scale)

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
        return np.abs(x) + self.relaxation.units

    def _unbounded(self) -> Solution | None:
        """The relaxation leans on the box that stands in for infinite bounds: prove a direction, if there is one."""
        from .rays import find_ray

        upper = upper_bound(self.program, self.x)
        direction, drift = find_ray(
            self.program,
            self.relaxation.cuts,
            self.relaxation.conditioning,
            self.relaxation.matrix,
            self.oracles,
            self.method,
        )
        if direction is not None:
            x, violation = self.x, prove_feasible(self.program, self.x, seconds=self.clock.left())
            worst, slope = max(violation, default=0.0), max(drift, default=0.0)
            if worst > 0 and slope < 0:  # a direction into the interior leads to a feasible point
                x = x + 1.1 * worst / -slope * direction
                violation = prove_feasible(self.program, x, seconds=self.clock.left())
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
        z = self.relaxation.master.centre(self.margin) if self._bounded(result) else None
        if z is None:
            return None
        x = self.relaxation.x(z)
        separations = self._separate(x)
        if max((s.bound for s in separations), default=-np.inf) <= 0:
            return self._certify(x, self.support, self.rows, tuple(s.bound for s in separations))
        self._add(separations)
        return None

    def _worth_polishing(self, iteration: int, worst: float) -> bool:
        if not self.polishable or not self.slater or self.result is None or not self._bounded(self.result):
            return False
        if worst <= NEARLY * self.margin:  # one more relaxation will do
            return False
        return iteration >= self.polish_at and worst < 0.1 * (self.relaxation.scale + abs(self.history[-1].value))

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
        self.relaxation.add([replace(s, multiplier=0.0) for s in polished.support])
        self._add(separations)
        return None

    def _newton(self, clusters: tuple[Support, ...]) -> Polished | None:
        if len(clusters) > self.program.n:
            return None
        return polish(self.program, self.x, clusters, self.rows, self.margin, self.relaxation.conditioning.basis())

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
                inside = self.relaxation.master.best_margin(self.relaxation.scale)
            except MasterError:
                return
            if inside.status != "optimal" or inside.slack >= 0:
                return
            x_s = self.relaxation.x(inside.z)
            separations = self._prove(x_s)
            s = -max(found.bound for found in separations)
            if s > 0 or not self._add(separations):
                break
        if s <= 0:
            return
        weight = min(v / (s + v) * (1 + 1e-9) + 1e-12, 1.0)
        x = (1 - weight) * self.x + weight * x_s
        violation = prove_feasible(self.program, x, seconds=self.clock.left())
        if max(violation) <= 0:
            self.incumbent = (upper_bound(self.program, x), x, violation)

    def stop(self, status: Status) -> Solution:
        """End without a closed gap: report the best bounds that can be proven now."""
        if status in (Status.TIME_LIMIT, Status.INTERRUPTED):
            self.clock.allow_last_proofs()
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
            seconds=self.clock.used(),
            tol=self.method.tol,
            oracle=self.oracle_names,
            variables=getattr(self.problem, "variables", ()),
            model=self.problem if hasattr(self.problem, "compile") else None,
            cuts=tuple(self.relaxation.cuts),
        )


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"
