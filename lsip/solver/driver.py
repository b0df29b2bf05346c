"""The one loop: solve a relaxation, look for the worst index points, cut them off, until the proof closes.

Cuts are kept with a small margin, chosen so that it costs at most a fraction of the tolerance in the objective. When
no index violates its constraint any more, the relaxation's point is therefore not almost but exactly feasible, its
objective is an upper bound, and the multipliers give a lower bound next to it. What the relaxation is, linear, convex
or decomposed, the driver does not know; what is proven is `lsip.proof`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from ..deadline import check, watched, within
from ..errors import OutOfTime
from ..masters import MasterError
from ..model.program import Compilable, Program
from ..model.status import Status
from ..oracles import Separation
from ..progress import Table
from ..proof.certificate import Array, Certificate, Support
from ..proof.dual import Dual
from ..proof.families import Bounds
from ..proof.primal import Broken
from ..proof.prove import Lower, infeasible, optimal, row_terms, unbounded
from ..proof.ray import Ray
from ..reductions.chain import inverse
from ..reductions.factor_out_zeros import tight
from ..rounding import check_rounding
from ..solution import messages
from ..solution.effort import Effort
from ..solution.result import Iterate
from ..solution.solution import Solution
from ..validation import answer, flag, truth
from .clock import Clock, spent_on
from .early import BoundsByIteration, BoundsByTime, EarlyBounds
from .options import Options
from .relaxation import Relaxation
from .retreat import retreat
from .rows import cuts_at
from .state import End, Proposal


class Steps(Protocol):
    """A solve that can be stepped through, and stopped at any step."""

    clock: Clock
    options: Options

    def describe(self) -> list[str]:
        """Two lines about what is solved, and how."""

    def iterates(self) -> Generator[Iterate, None, Solution]:
        """One `Iterate` at a time; the return value is the solution."""

    def stop(self, end: End) -> Solution:
        """The solution, if this is the end."""


def drive(run: Steps, verbose: bool) -> Solution:
    """Run a solve to its end, with a progress table if `verbose`."""
    check_rounding()
    flag("verbose", verbose)
    with ExitStack() as stack:
        table = Table() if verbose else None
        if table:
            table.rest = stack.enter_context(watched(lambda doing: table.beat(doing, run.clock.used())))
            table.start(run.describe())
        solution = _driven(run, table)
        if table:
            table.finish(solution)
        return solution


def _driven(run: Steps, table: Table | None) -> Solution:
    stepper, callback = run.iterates(), run.options.callback
    try:
        while True:
            iterate = next(stepper)
            if table:
                table.row(iterate)
            if callback is not None and truth("callback", answer("callback", callback, iterate)):
                stepper.close()
                return run.stop(End(Status.INTERRUPTED))
    except StopIteration as end:
        return end.value
    except KeyboardInterrupt:
        return run.stop(End(Status.INTERRUPTED))


class Run:
    """One solve: a relaxation, its state, and the ways in which it may end.

    Parameters
    ----------
    given
        The program, as it was written.
    options
        How to solve.
    opened
        Makes the relaxation, within the time that there is.
    problem
        What the user wrote, where that is more than the program.
    answer
        The class of the solution.
    compiling
        Seconds that it took to get the program.
    """

    def __init__(
        self,
        given: Program,
        options: Options,
        opened: Callable[[Clock], Relaxation],
        problem: Program | Compilable | None = None,
        answer: type[Solution] = Solution,
        compiling: float = 0.0,
    ) -> None:
        self.clock = Clock(options.time_limit, options.tuning.clock, compiling)
        self.given, self.options, self.problem, self.answer = given, options, problem, answer
        self.tuning = options.tuning
        self.ready = False  # whether there was time enough to begin
        self.regional = self.unproven_rays = self.unclosed = self.due = 0
        with suppress(OutOfTime), self.clock.running(), np.errstate(over="ignore", invalid="ignore"):
            with self.clock.on("compile"):
                self._open(opened(self.clock))
            self.early: EarlyBounds = (
                BoundsByIteration(self.tuning) if options.time_limit is None else BoundsByTime(self.tuning, self.clock)
            )
            self.ready = True

    def _open(self, relaxation: Relaxation, history: Sequence[Iterate] = ()) -> None:
        """Begin with a relaxation."""
        self.relaxation, self.program, self.scaling = relaxation, relaxation.program, relaxation.scaling
        self.state = relaxation.begin()
        self.state.history += history

    def describe(self) -> list[str]:
        """Two lines about what is solved, and how."""
        if not self.ready:
            return [f"{self.given.name}: the time is up before the first relaxation"]
        return self.relaxation.describe()

    # ---- the loop -------------------------------------------------------------------------------------------------

    def iterates(self) -> Generator[Iterate, None, Solution]:
        """One `Iterate` at a time; the return value is the solution."""
        steps = self._steps()
        while True:
            try:
                with self.clock.running(), np.errstate(over="ignore", invalid="ignore"):  # nothing of it is believed
                    iterate = next(steps)
            except StopIteration as end:
                return self.stop(end.value)
            except OutOfTime:
                return self.stop(End(Status.TIME_LIMIT))
            except MasterError as error:  # the bounds found so far are valid
                return self.stop(End(Status.STALLED, f"{error} The bounds are valid."))
            yield iterate

    def _steps(self) -> Generator[Iterate, None, End]:
        if not self.ready:
            return End(Status.TIME_LIMIT)
        if self.options.time_limit is not None:  # it may be up before anything else is proven
            with self.clock.on("proof"), suppress(OutOfTime), within(self.tuning.early_share * self.clock.left()):
                self.relaxation.begin_bounded(self.state)
        for iteration in range(1, self.options.max_iterations + 1):
            with self.clock.on("relaxation"):
                proposal = self.relaxation.relax(self.state)
            if isinstance(proposal, End):
                return proposal
            sampled = self._sample(proposal)
            separations = self._answered(proposal) if sampled is None else sampled
            self.state.violation = self.relaxation.bounds(separations)
            end = None if sampled is not None else self._finish(separations)
            added = 0 if end else self.add(separations)
            if end is None and added == 0 and sampled is None and self.state.incumbent is None:
                end = End(Status.STALLED) if _worst(separations) > 0 else None
            yield self._record(iteration, added, separations)
            end = end or self.recheck()
            for accelerate in self.relaxation.accelerators:
                with self.clock.on("polish"):
                    end = end or accelerate(self, separations)
            if end is None and self._frozen() and not (self.relaxation.sharpen(self.state) or self.state.relent()):
                end = End(Status.STALLED if self.state.slater else Status.NO_INTERIOR)
            if end is not None:
                return end
            other = self.relaxation.otherwise()
            if other is not None:
                before, same = self.state, other.program is self.program
                self._open(other, before.history)
                if same:  # what is proven of the program stays so
                    self.state.incumbent, self.state.proven = before.incumbent, before.proven
                continue
            self.relaxation.forget(self.state)
            with self.clock.on("proof"):
                self.early.prove(self)
            check("exchange")
        return End(Status.ITERATION_LIMIT)

    def attempt(self, point: Proposal, also: Sequence[Support] = ()) -> End | None:
        """The end, if the point is proven to be feasible and the bounds meet; otherwise what it violates is cut off.

        Sampled points are looked at first, and oracles asked where these find too little.
        """
        found = self._sample(point) or self._answered(point)
        bounds = self.relaxation.bounds(found)
        end = self._certify(point, bounds) if bounds.worst <= 0 else None
        if end is None:
            self.relaxation.add([s.weighing(0.0) for s in also])
            self.add(found)
        return end

    @spent_on("separation")
    def _sample(self, point: Proposal) -> list[Separation] | None:
        """What sampled rows show of a point, if it is worth cuts."""
        return self.relaxation.sample(self.state, point)

    @spent_on("separation")
    def prove(self, point: Proposal) -> list[Separation]:
        """What the oracles say of a point."""
        left, seed = max(self.clock.left(), self.tuning.clock.least), self.options.seed + len(self.state.history)
        return self.relaxation.separate(point, self.state.margin, left, seed)

    def _answered(self, point: Proposal) -> list[Separation]:
        """The same of a point that may be the answer; what is left of a proof is kept in mind."""
        found = self.prove(point)
        if any(s.work is not None for s in found):
            self.state.work = tuple(s.work for s in found)
        return found

    def add(self, separations: list[Separation]) -> int:
        """Cut off what violates, or nearly does; how many cuts that are."""
        least, known = -self.tuning.touching * self.state.margin, {}
        for f, s in enumerate(separations):
            if s.rows is not None:
                known[f] = s.rows[0][s.values > least], s.rows[1][s.values > least]
        return self.relaxation.add(cuts_at(separations, least), known)

    def _record(self, iteration: int, added: int, separations: list[Separation]) -> Iterate:
        state, weights = self.state, self.state.proposal.weights
        unit = self.scaling.objective * (-1.0 if self.program.maximise else 1.0)
        lower = (-np.inf if state.proven is None else state.proven.value) / unit
        upper = (np.inf if state.best is None else state.best.upper) / unit
        iterate = Iterate(
            iteration,
            state.proposal.value / unit,
            min(lower, upper),
            max(lower, upper),
            max((self.scaling.violation(f, s.worst) for f, s in enumerate(separations)), default=-np.inf),
            max((self.scaling.violation(f, s.bound) for f, s in enumerate(separations)), default=-np.inf),
            added,
            len(self.relaxation.held.cuts),
            self.clock.used(),
            self.scaling.columns * state.x,
            tuple(s.points for s in separations),
            0 if weights is None else len(weights),
        )
        state.history.append(iterate)
        return iterate

    def _frozen(self) -> bool:
        """Whether cuts no longer move the relaxation: they differ by less than its accuracy."""
        last, x = self.state.history[-self.tuning.frozen :], self.state.x
        if len(last) < self.tuning.frozen:
            return False
        sizes = self.relaxation.sizes(x)
        moves = max(float((np.abs(h.x / self.scaling.columns - x) / sizes).max(initial=0.0)) for h in last)
        return moves <= self.relaxation.accuracy

    # ---- proofs ---------------------------------------------------------------------------------------------------

    @spent_on("proof")
    def _finish(self, separations: list[Separation]) -> End | None:
        """The end, if this iterate is one."""
        state, worst, bound = self.state, _worst(separations), max((s.bound for s in separations), default=-np.inf)
        if not state.slater and 0 < worst <= bound <= self.options.tol * self.relaxation.held.scale:
            return End(Status.NO_INTERIOR)
        if worst > 0 or (bound > 0 and worst > -self.tuning.touching * state.margin):
            self._hidden(worst, bound, separations)
            return None
        if bound > 0 and state.proposal.bounded:
            check("exchange")  # which is why a proof may have ended early
            if self._hidden(bound, bound, separations):
                return None
            if self.relaxation.promote() or not self.relaxation.confirm(state):
                return None
            bound = state.violation.worst  # of a point that is not far out, whose terms round less
            if not np.isfinite(bound):  # a search has looked where nothing can be proven
                state.estimate = max(min(s.bound, s.estimate) for s in separations)
            if bound > 0:
                return End(Status.UNCERTIFIED if state.slater or not np.isfinite(bound) else Status.NO_INTERIOR)
        if bound <= 0:
            if not self.relaxation.confirm(state):
                return None
            if state.rounded > 0:
                self._hidden(bound, bound, separations)
            end = self._certify(state.proposal, state.violation)
            if end is not None or not state.proposal.leaning:
                return end or self._wait()
        return self.unbounded() or self._farther()

    def _hidden(self, violation: float, bound: float, separations: list[Separation]) -> bool:
        """Whether a violation may be the rounding of terms that cancel; the next point keeps rows by more than that."""
        state, least = self.state, self.relaxation.rounding(self.state.proposal, separations, violation)
        if violation > least or not state.proposal.support:
            return False
        mass = self.tuning.above_rounding * sum(s.multiplier for s in state.proposal.support)
        if bound > 0:
            state.rounded = max(2 * state.rounded, mass * min(bound, least))
        else:  # of a point that lies further in, less may be hidden
            state.rounded = min(state.rounded, mass * least)
        return True

    def _wait(self) -> End | None:
        """A feasible point whose gap does not close: margins become smaller, until that has lasted too long."""
        state = self.state
        state.patience += 1
        state.margin *= 0.5
        late = state.patience > self.tuning.soon and not self.relaxation.sharpen(state) and state.relent()
        if late and (end := self.recheck()) is not None:
            return end
        if state.patience <= self.tuning.patience:
            return None
        if state.incumbent is None and state.obstacle is not None:
            return End(Status.UNCERTIFIED, f"No violation found, but {state.obstacle.why}.")
        return End(Status.STALLED if state.slater else Status.NO_INTERIOR)

    @spent_on("proof")
    def _certify(self, point: Proposal, bounds: Bounds) -> End | None:
        """The end, if the bounds meet; otherwise remember the point and go on.

        What an oracle of the user's says is no proof: where lsip has one of its own, that is asked for.
        """
        try:
            broken = self._remember(point, bounds)
        except OutOfTime:
            check("exchange")
            broken = self.state.obstacle = Broken("the time that is left is too short for a proof of its finite rows")
        return self._close(point) if broken is None else self._clash(broken)

    def _remember(self, point: Proposal, bounds: Bounds) -> Broken | None:
        """Keep a point that is proven to be feasible; why it is not proven otherwise."""
        found = self.relaxation.feasible(point, None if bounds.trusts else bounds, self.clock.left())
        if isinstance(found, Broken):
            self.state.obstacle = found
            return found
        self.state.keep_feasible(found)
        return None

    def _clash(self, found: Broken) -> End | None:
        """Equalities that contradict each other by more than the rounding of their data: the end, if that is proven."""
        if found.contradiction is None:
            return None
        certificate = infeasible(self.program, (), found.contradiction, self.state.x)
        if certificate is not None:
            return End(Status.INFEASIBLE, certificate=certificate)
        return End(Status.UNCERTIFIED, f"The model looks inconsistent: {found.why}.")

    def _close(self, point: Proposal) -> End | None:
        """The end, if these multipliers prove that no point is better than the incumbent by more than the gap."""
        state, best = self.state, self.state.incumbent
        if best is None or len(state.history) < self.due:
            return None
        allowed = state.allowed(best.upper)
        try:
            lower = self.lower(point, best.point.x, allowed)
        except OutOfTime:
            check("exchange")  # otherwise it is only too much for the time that is left
            return None
        return self.closed_by(lower)

    def closed_by(self, lower: Lower) -> End | None:
        """The end, if this bound and the best point are close enough."""
        state, best = self.state, self.state.incumbent
        if best is None:
            return None
        lower = lower.at(self.program, best.point)
        if not state.closed(best, lower):
            self.unclosed += 1
            self.due = len(state.history) + max(self.unclosed - self.tuning.unclosed, 0) // 2
            return None
        if np.isfinite(lower.radius) and self.regional < self.tuning.regional:
            self.regional += 1
            return None
        certificate = optimal(self.program, best, lower, state.x, state.violation)
        return End(Status.UNCERTIFIED if certificate.trusts else Status.OPTIMAL, certificate=certificate)

    def lower(self, point: Proposal, centre: Array, allowed: float) -> Lower:
        """The best bound so far, or what these multipliers prove if that is better."""
        lower, state = self.relaxation.lower(point, centre, allowed), self.state
        state.keep_lower(lower)
        if state.proven is None or lower is state.proven or lower.value > state.proven.value + allowed:
            return lower
        return state.proven.around(self.program, centre)

    @spent_on("proof")
    def recheck(self) -> End | None:
        """A feasible point found earlier may be good enough for the lower bound of this iteration."""
        best = self.state.incumbent
        if best is None or best.upper - self.state.relaxed > self.state.allowed(best.upper):
            return None
        return self._close(self.state.proposal)

    def unbounded(self) -> End | None:
        """The relaxation leans on the box that stands in for infinite bounds: prove a direction, if there is one."""
        state = self.state
        if self.unproven_rays >= self.tuning.unproven_rays:  # the optimum may lie far out instead
            return None
        ray = self.relaxation.direction(self.clock)
        if isinstance(ray, np.ndarray):
            self.unproven_rays += 1
            state.direction = ray
        if not isinstance(ray, Ray) or not self.relaxation.confirm(state):
            return None
        found = self.relaxation.feasible(state.proposal, None, self.clock.left())
        worst, slope = max(state.violation.values, default=0.0), max(ray.drift, default=0.0)
        if isinstance(found, Broken) and 0 < worst < np.inf and slope < 0:
            # A direction into the interior leads to a feasible point.
            x = state.x + 1.1 * worst / -slope * ray.direction
            found = self.relaxation.feasible(Proposal(x), None, self.clock.left())
        if isinstance(found, Broken):
            return None
        certificate = unbounded(self.program, found, ray.direction, self.clock.left())
        return None if certificate is None else End(Status.UNBOUNDED, certificate=certificate)

    def _farther(self) -> End | None:
        """Look further out, or give up."""
        if self.relaxation.farther():
            self.state.patience = 0
            return None
        d, evidence = self.state.direction, self.relaxation.escape
        if d is not None:  # it could not be proven
            evidence = messages.unbounded_direction(self.given, d * self.scaling.columns)
        return End(Status.UNCERTIFIED if evidence else Status.STALLED, evidence)

    # ---- ends -----------------------------------------------------------------------------------------------------

    def stop(self, end: End) -> Solution:
        """The solution; without a certificate, with the best bounds that can be proven now."""
        if not self.ready:
            return self._nothing()
        if end.certificate is not None:
            return self._solution(end.status, end.certificate, end.evidence)
        hurried = end.status in (Status.TIME_LIMIT, Status.INTERRUPTED)
        if hurried:
            self.clock.allow_last_proofs(end.status is Status.INTERRUPTED)
        with self.clock.running(), np.errstate(over="ignore", invalid="ignore"):
            return self._stopped(end.status, end.evidence, hurried)

    @spent_on("proof")
    def _stopped(self, status: Status, evidence: str, hurried: bool) -> Solution:
        state = self.state
        state.content = True
        with suppress(OutOfTime, MasterError):
            self.relaxation.complete(state)
        here = None  # what is proven around x itself
        if hurried and state.begun:  # most of the time for the lower bound, where there is none
            with suppress(OutOfTime), within((0.5 if state.proven is not None else 0.8) * self.clock.left()):
                here = self.relaxation.lower(state.proposal, state.x, state.allowed(self.relaxation.value(state.x)))
                state.keep_lower(here)
        with suppress(OutOfTime):
            if state.incumbent is None and state.obstacle is None and state.violation.worst <= 0:
                self._remember(state.proposal, state.violation)
            retreat(self)
            evidence = self._no_room() if status is Status.NO_INTERIOR else evidence
        best = state.best
        x = state.x if best is None else best.point.x
        allowed = state.allowed(self.relaxation.value(x))
        lower = self._last_lower(x, allowed, here if best is None else None, hurried)
        lower = lower if best is None else lower.at(self.program, best.point)
        certificate = optimal(self.program, best, lower, state.x, state.violation)
        if best is not None and state.closed(best, lower):
            status = Status.UNCERTIFIED if certificate.trusts else Status.OPTIMAL
        if status is Status.STALLED and best is not None and best.upper - lower.value <= self.options.tol:
            evidence = messages.small_value((best.upper - lower.value) / self.scaling.objective)
        if status is Status.STALLED and state.rounded > 0 and state.direction is None and not evidence:
            with suppress(OutOfTime):
                evidence = self._cancels(x)
        if status is Status.UNCERTIFIED and best is None and not evidence and np.isfinite(state.estimate):
            evidence = messages.sampled_only(self.given, self._doubt(lower), state.estimate <= 0)
        if status in (Status.UNCERTIFIED, Status.TIME_LIMIT) and state.incumbent is None and not evidence:
            evidence = messages.proof_unfinished(self.given, status, state.work)
        return self._solution(status, certificate, "" if status is Status.OPTIMAL else evidence)

    def _cancels(self, x: Array) -> str:
        """A sentence about the family whose terms at x are largest where it is active, beside rows that are about 1."""
        rows = self.state.proposal.support
        sizes = row_terms(self.program, x, rows)
        return messages.cancelled(self.given.families[rows[int(np.argmax(sizes))].family], max(sizes)) if rows else ""

    def _doubt(self, lower: Lower) -> float:
        """How far the value is off at most, relative to it, if the violation is not larger than it seems."""
        value = self.relaxation.value(self.state.x)
        missed = max(self.state.estimate, 0.0) * sum(s.multiplier for s in lower.dual.support)
        return (abs(value - lower.value) + missed) / max(abs(value), abs(lower.value))

    def _no_room(self) -> str:
        """By how much the last point may break which constraint, where no point has room in all of them."""
        state = self.state
        if state.violation.worst == np.inf:
            state.violation = self.relaxation.bounds(self.prove(state.proposal))
        pairs = zip(self.given.families, state.violation.values, strict=True)
        broken = [(family.name, self.scaling.violation(f, v)) for f, (family, v) in enumerate(pairs) if 0 < v < np.inf]
        return messages.no_interior(broken, tight(self.given))

    def _last_lower(self, x: Array, allowed: float, here: Lower | None, hurried: bool) -> Lower:
        """The best bound that is proven, or can be proven in the time left; `here` is one around x."""
        known = self.state.proven
        try:
            if known is None and here is not None:
                return here
            if known is None or not hurried:
                return self.lower(self.state.proposal, x, allowed)
            return known.around(self.program, x)
        except OutOfTime:
            return Lower(-np.inf, Dual((), np.zeros(self.program.finite_rows))) if known is None else known

    def _nothing(self) -> Solution:
        """The answer where time was up before anything was known."""
        given = self.given
        x = np.clip(np.zeros(given.n), given.lower, given.upper)
        certificate = Certificate("none", x, -np.inf, np.inf, finite_violation=max(given.finite_violation(x), 0.0))
        return self._answer(Status.TIME_LIMIT, certificate, history=(), oracle="none needed")

    def _solution(self, status: Status, certificate: Certificate, evidence: str) -> Solution:
        state, relaxation = self.state, self.relaxation
        if not self.scaling.returns(certificate):
            status, evidence = (Status.UNCERTIFIED, messages.UNITS) if status.claims_proof else (status, evidence)
        certificate = inverse(self.program, certificate)
        return self._answer(
            status,
            certificate,
            history=self._history(certificate),
            negligible=relaxation.negligible,
            atol=relaxation.atol,
            oracle=relaxation.oracle_names,
            cuts=tuple(relaxation.held.cuts),
            evidence=evidence,
            oracles=tuple(relaxation.oracles),
            **relaxation.extras(state.best, state.proposal),
        )

    def _history(self, certificate: Certificate) -> tuple[Iterate, ...]:
        """The iterations; the last one with the bounds that were proven after it."""
        if not self.state.history:
            return ()
        *before, last = self.state.history
        lower, upper = certificate.lower, certificate.upper
        lower, upper = (-upper, -lower) if self.given.maximise else (lower, upper)
        return (*before, replace(last, lower=lower, upper=upper, seconds=self.clock.used()))

    def _answer(self, status: Status, certificate: Certificate, **fields: Any) -> Solution:
        written = self.problem if hasattr(self.problem, "compile") else None
        return self.answer(
            status=status,
            program=self.given,
            certificate=certificate,
            seconds=self.clock.used(),
            tol=self.options.tol,
            variables=getattr(self.problem, "variables", ()),
            model=written,
            effort=Effort.now(self.options.given(), self.clock.split()),
            **fields,
        )


def _worst(separations: list[Separation]) -> float:
    return max((s.worst for s in separations), default=-np.inf)
