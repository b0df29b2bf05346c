"""The dual exchange method: solve a finite relaxation, look for the worst index points, add them, repeat.

Cuts are kept with a small margin, chosen so that it costs at most a fraction of the tolerance in the objective. When
no index violates its constraint any more, the master's point is therefore not almost but exactly feasible, its
objective is an upper bound, and the master's multipliers give a lower bound next to it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..deadline import check, watched, within
from ..errors import OutOfTime
from ..expressions.interval import EPS
from ..masters import MasterError, MasterFactory, MasterResult, master_name, open_master
from ..model.method import register_solver
from ..model.program import compiled
from ..model.status import Status
from ..oracles import Oracle, Separation, is_instant, pick_oracle
from ..progress import Table
from ..proof.certificate import Certificate, Support
from ..proof.dual import Dual
from ..proof.families import Bounds
from ..proof.primal import Broken
from ..proof.prove import Feasible, Lower, infeasible, optimal, prove_feasible, prove_lower, unbounded
from ..proof.ray import Ray
from ..proof.scaling import scaled, scaling_of
from ..solution.solution import Iterate, Solution, merge
from .clock import Clock
from .newton import Polished, cluster, polish, worth_polishing
from .options import check_options, chosen
from .rays import find_ray
from .relaxation import Relaxation
from .separation import separate

Array = NDArray[np.float64]
STRETCHES = 12  # times that the master's coordinates are let reach farther out
FROZEN = 6  # iterations without any change of x after which rounding is to blame
NEARLY = 20  # violations of so many margins are left to the next relaxation
PATIENCE = 8  # feasible points whose gap does not close
SOON = 2  # of them, after which a gap relative to the size of the objective will do
ROUNDING = 64 * EPS  # of the model's own terms: no gap is expected to become smaller
FLOORS = {0: 0.0, 1: 0.0, 2: 0.1, 3: 1.0}  # share of tol by dimension: proofs of smaller margins explode
FINEST = 1e-13  # margin of cuts, in equilibrated rows: below, rounding hides it
UNPROVEN_RAYS = 3  # directions that could not be proven, after which none is looked for any more
REGIONAL = 3  # bounds that hold in a region only, before one is taken as the answer
CLASH = (
    "No feasible point was found, and constraints contradict each other as far as the search went; that none lies "
    "farther out is not proven. Give the variables bounds, or tighten those that they have."
)
FIRST_SHOWN, SHOWN_SHARE = 1.0, 0.05  # seconds before bounds are proven only to be shown, and the share of time
EARLY, EARLY_SHARE = 0.1, 0.1  # shares of a limit: when bounds are first proven, and what proving them may take
MOST_EARLY = 0.3  # of a limit: the most that one such proof may take
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
        The finite LP solver: "highs", "gurobi", "cvxpy" or "pyomo", the last two with a solver behind a colon if need
        be; or one of yours, which is called with the data of each finite program and opens it (`lsip.masters.Master`).
    tol
        Gap to reach, relative to the optimal value.
    atol
        Gap that is small enough whatever the value, in units of the objective. None stands for what rounding leaves of
        the model's own terms, and for `tol` relative to the size of the objective where no more can be reached.
    max_iterations, time_limit
        When to stop at the latest; seconds.
    polish
        Finish with Newton steps on the active index points.
    sample_first
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
    master: str | MasterFactory = "highs"
    tol: float = 1e-8
    atol: float | None = None
    max_iterations: int = 1000
    time_limit: float | None = None
    polish: bool = True
    sample_first: bool = True
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
            atol=self.atol,
        )
        open_master(self.master)

    def solve(self, problem: Any, *, verbose: bool = True) -> Solution:
        """Solve a problem this way, with a progress table if `verbose`."""
        return solve(problem, self, verbose=verbose)


@register_solver
def choose(given: tuple[Any, ...], method: Any, options: dict[str, Any]) -> Exchange:
    """What `Problem.solve` means by its arguments."""
    return chosen(Exchange(), given, method, options)


def exchange(problem: Any, method: Exchange | None = None) -> Generator[Iterate, None, Solution]:
    """Step through the exchange: one `Iterate` at a time; the generator's return value is the `Solution`."""
    return (yield from _Run(problem, chosen(Exchange(), (), method, {})).iterates())


def solve(problem: Any, method: Exchange | None = None, *, verbose: bool = True, **options: Any) -> Solution:
    """Run the exchange to its end."""
    method = chosen(Exchange(), (), method, options)
    with ExitStack() as stack:
        table = Table() if verbose else None
        if table:
            run_began = time.perf_counter()
            table.rest = stack.enter_context(watched(lambda doing: table.beat(doing, time.perf_counter() - run_began)))
        return _driven(_Run(problem, method), method, table)


def _driven(run: _Run, method: Exchange, table: Table | None) -> Solution:
    if table:
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
        self.given = compiled(problem)
        self.history: list[Iterate] = []
        self.ready = False  # whether there was time enough to begin
        try:
            with self.clock.running():
                self._prepare(method)
            self.ready = True
        except OutOfTime:
            pass

    def _prepare(self, method: Exchange) -> None:
        """All that a solve begins with."""
        self.scaling, self.program = scaling_of(self.given), scaled(self.given)
        self.oracles = [method.oracle or pick_oracle(f) for f in self.program.families]
        self.slater = True
        self.interrupted = False
        self.x = np.clip(np.zeros(self.program.n), self.program.lower, self.program.upper)
        self.incumbent: Feasible | None = None  # the best point that is proven to be feasible
        self.proven: Lower | None = None  # the best lower bound that is proven for all x
        self.early: Lower | None = None  # the same, proven on the way, for those who watch and for the case of a stop
        self.fallback: Feasible | None = None  # and a feasible point for that case
        self.early_at = FIRST_SHOWN if method.time_limit is None else EARLY * method.time_limit
        self.early_budget = EARLY_SHARE * self.clock.limit
        self.obstacle: Broken | None = None  # why the last point that looked feasible is not proven to be
        self.lower = -np.inf  # what the relaxations say of it
        self.result: MasterResult | None = None
        self.support: tuple[Support, ...] = ()  # the dual measure of the last master
        self.rows: Array = np.zeros(0)  # and its multipliers of the finite rows
        self.violation = Bounds((np.inf,) * len(self.program.families))  # proven at x, a family
        self.patience = self.stretches = self.regional = self.unproven_rays = 0
        self.seems_unbounded: Array | None = None  # a direction that could not be proven
        self.polishable = self.method.polish and worth_polishing(self.program)
        self.polish_at, self.polished = 2, 0
        self.level, self.visited = np.inf, 0
        self.cheap = all(is_instant(oracle) for oracle in self.oracles)
        self.trail: Array | None = None  # an average of the iterates
        self.content = False  # whether a gap relative to the size of the objective will do
        self.floor = FLOORS[min(max((f.domain.dim for f in self.program.families), default=1), 3)]
        self.terms = 1.0
        self.relaxation = Relaxation(self.program, self.oracles, method)
        self.margin = 0.1 * method.tol * self.relaxation.scale

    def describe(self) -> list[str]:
        if not self.ready:
            return [f"{self.given.name}: the time is up before the first relaxation"]
        program = self.program
        families = ", ".join(
            f"m = {f.domain.dim} ({len(f.columns)} row{'s' if len(f.columns) > 1 else ''} an index)"
            for f in program.families
        )
        size = f"{_counted(program.n, 'variable')}, {_counted(program.A.shape[0], 'finite row')}"
        return [
            f"{program.name}: {size}; {families or 'no index'}",
            f"separation by {self.oracle_names}, master {master_name(self.method.master)}, tol {self.method.tol:g}",
        ]

    @property
    def oracle_names(self) -> str:
        return ", ".join(dict.fromkeys(type(o).__name__ for o in self.oracles)) or "none needed"

    # ---- the loop -------------------------------------------------------------------------------------------------

    def iterates(self) -> Generator[Iterate, None, Solution]:
        steps = self._steps()
        while True:
            try:
                with self.clock.running():
                    iterate = next(steps)
            except StopIteration as end:
                return end.value
            except OutOfTime:
                return self.stop(Status.TIME_LIMIT)
            except MasterError:  # the bounds found so far are valid
                return self.stop(Status.STALLED)
            yield iterate

    def _steps(self) -> Generator[Iterate, None, Solution]:
        method = self.method
        if not self.ready:
            return self._nothing()
        for iteration in range(1, method.max_iterations + 1):
            result = self._solve_master()
            if isinstance(result, Solution):
                return result
            separations = self._separate(self.x)
            self.violation = self._bounds(separations)
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
            if self._frozen() and not self._relent():
                return self.stop(Status.STALLED if self.slater else Status.NO_INTERIOR)
            self.relaxation.drop_slack(result.cut_multipliers, flat=self.visited > 0)
            if self.clock.used() >= self.early_at:
                self._prove_early(result)
            check("exchange")
        return self.stop(Status.ITERATION_LIMIT)

    def _prove_early(self, result: MasterResult) -> None:
        """Bounds that can be proven now: to be shown and, where time is limited, to have some when it is up."""
        began, late, limited = self.clock.used(), False, self.method.time_limit is not None
        try:
            with within(self.early_budget):
                allowed = self._allowed(float(self.program.c @ self.x) + self.program.constant)
                if self._bounded(result):
                    self._keep_early(self._lower_bound(self.support, self.rows, self.x, allowed))
        except OutOfTime:
            late = True
        try:
            with within(self.early_budget):
                if limited and self.incumbent is None:
                    self._retreat()
        except OutOfTime:
            late = True
        except MasterError:
            pass
        took = self.clock.used() - began
        if late:  # a proof that was stopped is tried again with more time, and not too soon
            self.early_budget = min(2.5 * self.early_budget, MOST_EARLY * self.clock.limit)
            self.early_at = self.clock.used() + self.early_budget
        else:
            self.early_at = self.clock.used() + took / (EARLY_SHARE if limited else SHOWN_SHARE)
        self.clock.keep(took)

    def _keep_early(self, lower: Lower) -> None:
        if np.isinf(lower.radius) and (self.early is None or lower.value > self.early.value):
            self.early = lower

    def _relent(self) -> bool:
        """Be content with a gap relative to the size of the objective; whether that is news."""
        if self.content or self.method.atol is not None:
            return False
        self.content = True
        return True

    def _frozen(self) -> bool:
        """Whether cuts no longer move the master: they differ by less than its accuracy."""
        last = self.history[-FROZEN:]
        if len(last) < FROZEN:
            return False
        moves = max(float(np.abs(h.x / self.scaling.columns - self.x).max(initial=0.0)) for h in last)
        return moves <= 1e-14 * (1 + float(np.abs(self.x).max(initial=0.0)))

    def _solve_master(self) -> MasterResult | Solution:
        """Solve the relaxation; where it has no solution, lower the margin or prove infeasibility."""
        self.relaxation.renew()
        for _ in range(40):
            result = self.relaxation.master.solve(self.margin)
            if result.status == "optimal":
                break
            answer = self._explain_infeasible(result)
            if answer is None:
                check("exchange")
            if answer is not None:
                return answer
        else:
            return self.stop(Status.STALLED)
        self._accept(result)
        value = float(self.program.c @ self.x) + self.program.constant
        if self.relaxation.relax_rows(result.row_multipliers, 0.1 * self._allowed(value)):
            result = self.relaxation.master.solve(self.margin)
            if result.status != "optimal":
                return self.stop(Status.STALLED)
            self._accept(result)
        total = float(result.cut_multipliers.sum())
        self.lower = max(self.lower, value - self.margin * total) if self._bounded(result) else self.lower
        if self.slater and total > 0:
            wanted = max(0.4 * self._allowed(value) / total, FINEST)
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
        self.terms = self.relaxation.terms(result) + float(np.abs(self.program.c) @ np.abs(self.x))

    def _bounded(self, result: MasterResult) -> bool:
        """Whether the box that stands in for infinite bounds does not matter to the master's solution."""
        price = np.abs(result.reduced_costs) * self.relaxation.limit
        matters = price > 0.05 * self.method.tol * max(1.0, abs(result.objective))  # of the equilibrated objective
        return not (matters & (np.abs(result.z) >= 0.99 * self.relaxation.limit)).any()

    def _explain_infeasible(self, result: MasterResult) -> Solution | None:
        best = self.relaxation.master.best_margin(self.relaxation.scale)
        for proof in (best, result) if best.status == "optimal" and best.slack > 0 else (result,):
            certificate = infeasible(self.program, *self.relaxation.atoms(proof), self.x, tuple(self.relaxation.cuts))
            if certificate is not None:
                return self._solution(Status.INFEASIBLE, certificate)
        if self.relaxation.release_rows():  # the room that finite rows were to keep may be more than there is
            return None
        if best.status != "optimal":
            return self.stop(Status.STALLED)
        if best.slack > 1e-9 * self.relaxation.scale:
            return self._grow(best.z, CLASH)
        if -best.slack < 1e-3 * abs(self.margin) or -best.slack < 1e-11 * self.relaxation.scale:
            self.slater = False
            self.margin = -best.slack - 1e-10 * self.relaxation.scale
        else:
            self.margin = 0.5 * min(-best.slack, self.margin)
        return None

    def _grow(self, z: Array, evidence: str = "") -> Solution | None:
        """Look further out along the coordinates that lean on the box (all of them if none does), or give up."""
        if self.stretches >= STRETCHES:
            evidence = evidence or self._seemingly_unbounded()
            return self.stop(Status.UNCERTIFIED if evidence else Status.STALLED, evidence)
        self.stretches += 1
        self.patience = 0
        leaning = np.abs(z) >= 0.99 * self.relaxation.limit
        self.relaxation.stretch(leaning if leaning.any() else ~leaning)
        return None

    def _seemingly_unbounded(self) -> str:
        """The sentence about a direction that could not be proven, if there is one."""
        if self.seems_unbounded is None:
            return ""
        largest = np.argsort(-np.abs(self.seems_unbounded), kind="stable")[:3]
        shown = ", ".join(f"{self.program.label(j)} by {self.seems_unbounded[j]:.3g}" for j in largest)
        return (
            f"The objective seems to improve without limit along a direction that changes {shown}, but it is not "
            "proven that every constraint holds all along it; it may only lead very far. Give the variables bounds."
        )

    def _separate(self, x: Array) -> list[Separation]:
        """Where x violates, by sampled points if that finds enough; otherwise what the oracles say."""
        return self._sample(x) or self._prove(x)

    def _sample(self, x: Array) -> list[Separation] | None:
        """What sampled rows show, if it is worth cuts before any proof."""
        each = list(zip(self.relaxation.sampled, self.oracles, strict=True))
        ready = all(sampled is not None or is_instant(oracle) for sampled, oracle in each)
        if not self.method.sample_first or not ready or not any(sampled for sampled, _ in each):
            return None
        threshold = -0.5 * self.margin
        found = [
            sampled.separate(violation, threshold) if sampled else oracle.maximise(violation)
            for f, (sampled, oracle) in enumerate(each)
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
        unit = self.scaling.objective
        sign, x = -1.0 if self.program.maximise else 1.0, self.scaling.columns * self.x
        lower = max((b.value for b in (self.proven, self.early) if b is not None), default=-np.inf) / unit
        upper = min((b.upper for b in (self.incumbent, self.fallback) if b is not None), default=np.inf) / unit
        low, high = (lower, upper) if sign > 0 else (-upper, -lower)
        iterate = Iterate(
            iteration,
            sign * (float(self.given.c @ x) + self.given.constant),
            low,
            high,
            max((self.scaling.violation(f, s.worst) for f, s in enumerate(separations)), default=worst),
            max((self.scaling.violation(f, s.bound) for f, s in enumerate(separations)), default=bound),
            added,
            len(self.relaxation.cuts),
            self.clock.used(),
            x,
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
            check("exchange")  # which is why a proof may have ended early
            unsure = self.slater or not np.isfinite(bound)
            return self.stop(Status.UNCERTIFIED if unsure else Status.NO_INTERIOR)
        if bound <= 0:
            solution = self._certify(self.x, self.support, self.rows, self._bounds(separations))
            if solution is not None:
                return solution
            if (np.abs(result.z) < 0.99 * self.relaxation.limit).all():
                self.patience += 1
                self.margin *= 0.5
                if self.patience > SOON and self._relent():
                    solution = self._recheck()
                return solution or (self._give_up() if self.patience > PATIENCE else None)
        return self._unbounded() or self._grow(result.z)

    def _give_up(self) -> Solution:
        """No point that can be proven, or none whose gap closes, was found in a while."""
        if self.incumbent is None and self.obstacle is not None:
            return self.stop(Status.UNCERTIFIED, f"No violation found, but {self.obstacle.why}.")
        return self.stop(Status.STALLED)

    def _bounds(self, separations: list[Separation]) -> Bounds:
        return Bounds.of(self.program, self.oracles, separations)

    def _certify(self, x: Array, support: tuple[Support, ...], rows: Array, known: Bounds) -> Solution | None:
        """The end, if the bounds meet; otherwise remember the point and go on.

        What an oracle of the user's says is no proof: where lsip has one of its own, that is asked for.
        """
        own = None if known.trusts else known
        found: Feasible | Broken
        try:
            found = prove_feasible(self.program, x, own, seconds=self.clock.left(), oracles=self.oracles)
        except OutOfTime:
            check("exchange")
            found = Broken("the time that is left is too short for a proof of the finite constraints")
        if isinstance(found, Broken):
            self.obstacle = found
            return self._clash(found)
        if self.incumbent is None or found.upper < self.incumbent.upper:
            self.incumbent = found
        return self._close(self.incumbent, support, rows)

    def _clash(self, found: Broken) -> Solution | None:
        """Equalities that contradict each other by more than the rounding of their data: the end, if that is proven."""
        if found.contradiction is None:
            return None
        certificate = infeasible(self.program, (), found.contradiction, self.x)
        if certificate is not None:
            return self._solution(Status.INFEASIBLE, certificate)
        return self.stop(Status.UNCERTIFIED, f"The model looks inconsistent: {found.why}.")

    def _close(self, feasible: Feasible, support: tuple[Support, ...], rows: Array) -> Solution | None:
        """The end, if these multipliers prove that no point is better than this one by more than the gap."""
        allowed = self._allowed(feasible.upper)
        try:
            lower = self._prove_lower(support, rows, feasible.point.x, allowed).at(self.program, feasible.point)
        except OutOfTime:
            check("exchange")  # otherwise it is only too much for the time that is left
            return None
        if not feasible.upper - lower.value <= allowed:
            return None
        if np.isfinite(lower.radius) and self.regional < REGIONAL:
            self.regional += 1  # further cuts may give multipliers that balance everywhere
            return None
        certificate = optimal(self.program, feasible, lower, self.x, self.violation)
        return self._solution(Status.UNCERTIFIED if certificate.trusts else Status.OPTIMAL, certificate)

    def _allowed(self, value: float) -> float:
        """The gap to reach: relative to the value, or to the model's own terms where that is all that can be had."""
        return max(self.method.tol * abs(value), self._least_gap())

    def _least_gap(self) -> float:
        """The gap that is small enough whatever the value."""
        tol, atol = self.method.tol, self.method.atol
        if atol is not None:
            return self.scaling.objective * atol
        return tol if self.content else max(min(ROUNDING * self.terms, tol), tol * self.floor)

    def _prove_lower(self, support: tuple[Support, ...], rows: Array, centre: Array, allowed: float) -> Lower:
        """The best bound so far, or what these multipliers prove if that is better."""
        lower = self._lower_bound(support, rows, centre, allowed)
        if np.isinf(lower.radius) and (self.proven is None or lower.value > self.proven.value):
            self.proven = lower
        if self.proven is None or lower is self.proven or lower.value > self.proven.value + allowed:
            return lower
        return self.proven.around(self.program, centre)

    def _lower_bound(self, support: tuple[Support, ...], rows: Array, centre: Array, allowed: float) -> Lower:
        spare = tuple(self.relaxation.cuts)
        return prove_lower(self.program, support, rows, centre, self._units(centre), 0.1 * allowed, spare)

    def _recheck(self) -> Solution | None:
        """A feasible point found earlier may be good enough for the lower bound of this iteration."""
        if self.incumbent is None or self.incumbent.upper - self.lower > self._allowed(self.incumbent.upper):
            return None
        return self._close(self.incumbent, self.support, self.rows)

    def _units(self, x: Array) -> Array:
        """The size of each variable: what it is at x, or what makes its terms about 1."""
        return np.abs(x) + self.relaxation.units

    def _unbounded(self) -> Solution | None:
        """The relaxation leans on the box that stands in for infinite bounds: prove a direction, if there is one."""
        if self.unproven_rays >= UNPROVEN_RAYS:  # the optimum may lie far out instead
            return None
        ray = find_ray(
            self.program,
            self.relaxation.cuts,
            self.relaxation.conditioning,
            self.relaxation.matrix,
            self.oracles,
            self.method,
            self.clock,
        )
        if isinstance(ray, np.ndarray):
            self.unproven_rays += 1
            self.seems_unbounded = ray
        if not isinstance(ray, Ray):
            return None
        found = prove_feasible(self.program, self.x, seconds=self.clock.left())
        worst, slope = max(self.violation.values, default=0.0), max(ray.drift, default=0.0)
        if isinstance(found, Broken) and 0 < worst < np.inf and slope < 0:
            x = self.x + 1.1 * worst / -slope * ray.direction  # a direction into the interior leads to a feasible point
            found = prove_feasible(self.program, x, seconds=self.clock.left())
        if isinstance(found, Broken):
            return None
        certificate = unbounded(self.program, found, ray.direction, self.clock.left())
        return None if certificate is None else self._solution(Status.UNBOUNDED, certificate)

    def _stuck(self, worst: float, bound: float) -> Solution | None:
        if self.incumbent is None and worst > 0:
            return self.stop(Status.STALLED)
        return None

    def _try_centre(self, result: MasterResult) -> Solution | None:
        """Where many points are optimal, the simplex jumps between corners of the optimal face; its middle settles.

        It is tried once the objective has stopped moving, and costs about as much as a few iterations.
        """
        value = float(self.program.c @ self.x)
        if abs(value - self.level) > 0.2 * self._allowed(value):
            self.level, self.visited = value, 0
            return None
        self.visited += 1
        z = self.relaxation.master.centre(self.margin) if self._bounded(result) else None
        if z is None:
            return None
        x = self.relaxation.x(z)
        separations = self._separate(x)
        if max((s.bound for s in separations), default=-np.inf) <= 0:
            return self._certify(x, self.support, self.rows, self._bounds(separations))
        self._add(separations)
        return None

    def _worth_polishing(self, iteration: int, worst: float) -> bool:
        if not self.polishable or not self.slater or self.result is None or not self._bounded(self.result):
            return False
        if worst <= NEARLY * self.margin:  # one more relaxation will do
            return False
        value = self.scaling.objective * abs(self.history[-1].value)
        return iteration >= self.polish_at and worst < 0.1 * (self.relaxation.scale + value)

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
            solution = self._certify(polished.x, polished.support, polished.row_multipliers, self._bounds(separations))
            if solution is not None:
                return solution
        self.relaxation.add([replace(s, multiplier=0.0) for s in polished.support])
        self._add(separations)
        return None

    def _newton(self, clusters: tuple[Support, ...]) -> Polished | None:
        if len(clusters) > self.program.n:
            return None
        try:
            return polish(self.program, self.x, clusters, self.rows, self.margin, self.relaxation.conditioning.basis())
        except OutOfTime:
            check("exchange")
            self.polishable = False  # its factors do not fit into the time that is left
            return None

    def _retreat(self) -> None:
        """A feasible point for free: between an iterate of proven violation v and a point of margin s."""
        if self.incumbent is not None or not self.slater:
            return
        if self.violation.worst == np.inf:  # the last separation came without a proof
            self.violation = self._bounds(self._prove(self.x))
        v = self.violation.worst if self.program.families else 0.0
        if not 0 <= v < np.inf:
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
        found = prove_feasible(self.program, x, seconds=self.clock.left(), oracles=self.oracles)
        if not isinstance(found, Broken) and (self.fallback is None or found.upper < self.fallback.upper):
            self.fallback = found

    def stop(self, status: Status, evidence: str = "") -> Solution:
        """End without a closed gap: report the best bounds that can be proven now."""
        if not self.ready:
            return self._nothing()
        hurried = status in (Status.TIME_LIMIT, Status.INTERRUPTED)
        if hurried:
            self.clock.allow_last_proofs(status is Status.INTERRUPTED)
        with self.clock.running():
            return self._stopped(status, evidence, hurried)

    def _stopped(self, status: Status, evidence: str, hurried: bool) -> Solution:
        self.content = True
        with suppress(OutOfTime, MasterError):
            if self.result is None:
                self._begin_after_all()
        here = None  # what is proven around x itself
        if hurried and self.result is not None:  # most of the time for the lower bound, where there is none
            allowed = self._allowed(float(self.program.c @ self.x) + self.program.constant)
            with suppress(OutOfTime), within((0.5 if self.early is not None else 0.8) * self.clock.left()):
                here = self._lower_bound(self.support, self.rows, self.x, allowed)
                self._keep_early(here)
        with suppress(OutOfTime):
            self._retreat()
        best = min((b for b in (self.incumbent, self.fallback) if b is not None), key=lambda b: b.upper, default=None)
        x = self.x if best is None else best.point.x
        allowed = self._allowed(float(self.program.c @ x) + self.program.constant)
        lower = self._last_lower(x, allowed, here if best is None else None, hurried)
        lower = lower if best is None else lower.at(self.program, best.point)
        certificate = optimal(self.program, best, lower, self.x, self.violation)
        if best is not None and best.upper - lower.value <= allowed:
            status = Status.UNCERTIFIED if certificate.trusts else Status.OPTIMAL
        return self._solution(status, certificate, "" if status is Status.OPTIMAL else evidence)

    def _begin_after_all(self) -> None:
        """The first relaxation, where time was up before it was solved: its multipliers may prove something."""
        result = self.relaxation.master.solve(self.margin)
        if result.status == "optimal":
            self._accept(result)

    def _last_lower(self, x: Array, allowed: float, here: Lower | None, hurried: bool) -> Lower:
        """The best bound that is proven, or can be proven in the time left; `here` is one around x."""
        known = max((b for b in (self.proven, self.early) if b is not None), key=lambda b: b.value, default=None)
        try:
            if known is None and here is not None:
                return here
            if known is None or not hurried:
                return self._prove_lower(self.support, self.rows, x, allowed)
            return known.around(self.program, x)
        except OutOfTime:
            return Lower(-np.inf, Dual((), np.zeros(self.program.finite_rows))) if known is None else known

    def _nothing(self) -> Solution:
        """The answer where time was up before anything was known."""
        x = np.clip(np.zeros(self.given.n), self.given.lower, self.given.upper)
        certificate = Certificate("none", x, -np.inf, np.inf, finite_violation=max(self.given.finite_violation(x), 0.0))
        return Solution(
            status=Status.TIME_LIMIT,
            program=self.given,
            certificate=certificate,
            history=(),
            active=(),
            seconds=self.clock.used(),
            tol=self.method.tol,
            oracle="none needed",
            variables=getattr(self.problem, "variables", ()),
            model=self.problem if hasattr(self.problem, "compile") else None,
        )

    def _solution(self, status: Status, certificate: Certificate, evidence: str = "") -> Solution:
        certificate = self.scaling.to_given(certificate)
        certificate = replace(certificate, finite_violation=max(self.given.finite_violation(certificate.x), 0.0))
        return Solution(
            status=status,
            program=self.given,
            certificate=certificate,
            history=tuple(self.history),
            active=merge(self.given, certificate.support),
            seconds=self.clock.used(),
            tol=self.method.tol,
            atol=self._least_gap() / self.scaling.objective,
            oracle=self.oracle_names,
            variables=getattr(self.problem, "variables", ()),
            model=self.problem if hasattr(self.problem, "compile") else None,
            cuts=tuple(self.relaxation.cuts),
            evidence=evidence,
            oracles=tuple(self.oracles),
        )


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"
