"""The one loop: propose a point, separate it, add and drop cuts, try to certify, stop.

Cuts are kept with a small margin, chosen so that it costs at most a fraction of the tolerance in the objective. When
no index violates its constraint any more, the relaxation's point is therefore not almost but exactly feasible, its
objective is an upper bound, and the multipliers give a lower bound next to it. The loop does not know whether the
relaxation is linear, convex or decomposed. A run, with integers or without, is driven to its end with a progress table
and a callback.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, suppress
from typing import Any

import numpy as np

from ..deadline import check, watched
from ..errors import OutOfTime
from ..masters import MasterError
from ..model.program import Compilable, Program
from ..model.status import Status
from ..oracles import Separation
from ..progress import Table
from ..reductions.chain import reduced_point, written_point
from ..rounding import check_rounding
from ..solution.result import Effort, Iterate
from ..solution.solution import Solution
from ..validation import answer, flag, truth
from .anytime_bounds import BoundsByIteration, BoundsByTime
from .certification import add_cuts, finish, sample, separated, worst_violation
from .clock import Clock
from .ending import last_fields, nothing
from .options import Options
from .relaxation import Relaxation, Search, begin, describe, violation_bounds
from .state import End


class Run(ABC):
    """A solve that can be stepped through, and stopped at any step.

    Parameters
    ----------
    given
        The program, as it was written.
    options
        How to solve.
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
        problem: Program | Compilable | None,
        answer: type[Solution] = Solution,
        compiling: float = 0.0,
    ) -> None:
        self.clock = Clock(options.time_limit, options.tuning, compiling)
        self.given, self.options, self.problem, self.answer = given, options, problem, answer

    @abstractmethod
    def describe(self) -> list[str]:
        """Two lines about what is solved, and how."""

    @abstractmethod
    def stop(self, end: End) -> Solution:
        """The solution, if this is the end."""

    @abstractmethod
    def _steps(self) -> Generator[Iterate, None, End]:
        """The iterations, and how they end."""

    def iterates(self) -> Generator[Iterate, None, Solution]:
        """One `Iterate` at a time, within the time that there is; the return value is the solution."""
        steps = self._steps()
        while True:
            try:
                with self.clock.running(), np.errstate(over="ignore", invalid="ignore"):  # nothing of it is believed
                    iterate = next(steps)
            except StopIteration as end:
                return self.stop(end.value)
            except OutOfTime:
                return self.stop(End(Status.TIME_LIMIT))
            except MasterError as error:
                return self.stop(End(Status.STALLED, f"{error} The bounds are valid."))
            yield iterate

    def drive(self, verbose: bool) -> Solution:
        """Run to the end, with a progress table if `verbose`."""
        check_rounding()
        flag("verbose", verbose)
        with ExitStack() as stack:
            table = Table() if verbose else None
            if table:
                table.rest = stack.enter_context(watched(lambda doing: table.beat(doing, self.clock.used())))
                table.start(self.describe())
            solution = self._driven(table)
            if table:
                table.finish(solution)
            return solution

    def _driven(self, table: Table | None) -> Solution:
        stepper, callback = self.iterates(), self.options.callback
        try:
            while True:
                iterate = next(stepper)
                if table:
                    table.row(iterate)
                if callback is not None and truth("callback", answer("callback", callback, iterate)):
                    stepper.close()
                    return self.stop(End(Status.INTERRUPTED))
        except StopIteration as end:
            return end.value
        except KeyboardInterrupt:
            return self.stop(End(Status.INTERRUPTED))

    def _answered(self, **fields: Any) -> Solution:
        """The answer, with what every run knows."""
        return self.answer(
            program=self.given,
            seconds=self.clock.used(),
            tol=self.options.tol,
            variables=getattr(self.problem, "variables", ()),
            model=self.problem if hasattr(self.problem, "compile") else None,
            effort=Effort.now(self.options.given(), self.clock.split()),
            **fields,
        )


class CutLoop(Run, Search):
    """One solve: a relaxation, its state, and the ways in which it may end; `opened` makes the relaxation."""

    def __init__(
        self,
        given: Program,
        options: Options,
        opened: Callable[[], Relaxation],
        problem: Program | Compilable | None = None,
        answer: type[Solution] = Solution,
        compiling: float = 0.0,
    ) -> None:
        super().__init__(given, options, problem, answer, compiling)
        self.ready = False  # whether there was time enough to begin
        with suppress(OutOfTime), self.clock.running(), np.errstate(over="ignore", invalid="ignore"):
            with self.clock.on("compile"):
                self._open(opened())
            limited = options.time_limit is not None
            self.anytime = BoundsByTime(self.clock) if limited else BoundsByIteration(options.tuning)
            self.ready = True

    def _open(self, relaxation: Relaxation, history: Sequence[Iterate] = ()) -> None:
        """Begin with a relaxation."""
        self.relaxation, self.program, self.state = relaxation, relaxation.program, begin(relaxation)
        self.state.history += history

    def describe(self) -> list[str]:
        if not self.ready:
            return [f"{self.given.name}: the time is up before the first relaxation"]
        return describe(self.relaxation)

    def stop(self, end: End) -> Solution:
        if self.ready:
            return self._answered(**last_fields(self, end))
        late = {"status": Status.TIME_LIMIT, "certificate": nothing(self.given)}
        return self._answered(**late, history=(), oracle="none needed")

    def _steps(self) -> Generator[Iterate, None, End]:
        if not self.ready:
            return End(Status.TIME_LIMIT)
        for iteration in range(1, self.options.max_iterations + 1):
            with self.clock.on("relaxation"):
                proposal = self.relaxation.propose(self.state)
            if isinstance(proposal, End):
                if proposal.certificate is not None or self.relaxation.fallback is None:
                    return proposal
                self._fall_back(self.relaxation.fallback())
                continue
            sampled = sample(self, proposal)
            separations = separated(self, proposal) if sampled is None else sampled
            self.state.violation = violation_bounds(self.relaxation, separations)
            with self.clock.on("proof"):
                end = None if sampled is not None else finish(self, separations)
            added = 0 if end else add_cuts(self, separations)
            if end is None and added == 0 and sampled is None and self.state.incumbent is None:
                end = End(Status.STALLED) if worst_violation(separations) > 0 else None
            yield self._record(iteration, added, separations)
            for strategy in self.relaxation.strategies:
                with self.clock.on("polish"):
                    end = end or strategy(self, separations)
            end = end or self._stalled()
            if end is not None:
                return end
            if self.relaxation.fallback is not None:
                self._fall_back(self.relaxation.fallback())
                continue
            self.relaxation.drop()
            with self.clock.on("proof"):
                self.anytime.prove(self)
            check("exchange")
        return End(Status.ITERATION_LIMIT)

    def _fall_back(self, other: Relaxation) -> None:
        """Continue with another relaxation; proofs about the same program stay valid."""
        before, same = self.state, other.program is self.program
        self._open(other, before.history)
        if same:
            self.state.incumbent, self.state.proven = before.incumbent, before.proven

    def _record(self, iteration: int, added: int, separations: list[Separation]) -> Iterate:
        state, weights, scaling = self.state, self.state.proposal.weights, self.relaxation.scaling
        unit = scaling.objective * (-1.0 if self.program.maximise else 1.0)
        lower = (-np.inf if state.proven is None else state.proven.value) / unit
        upper = (np.inf if state.best is None else state.best.upper) / unit
        iterate = Iterate(
            iteration,
            state.proposal.value / unit,
            min(lower, upper),
            max(lower, upper),
            max((scaling.violation(f, s.worst) for f, s in enumerate(separations)), default=-np.inf),
            max((scaling.violation(f, s.bound) for f, s in enumerate(separations)), default=-np.inf),
            added,
            len(self.relaxation.held.cuts),
            self.clock.used(),
            written_point(self.program, state.x),
            tuple(s.points for s in separations),
            0 if weights is None else len(weights),
        )
        state.history.append(iterate)
        return iterate

    def _stalled(self) -> End | None:
        """The end, if cuts no longer move the relaxation, and neither more digits nor a larger gap help."""
        if not self._frozen() or self.relaxation.zoom(self.state, out=False) or self.state.accept_scaled_gap():
            return None
        return End(Status.STALLED if self.state.slater else Status.NO_INTERIOR)

    def _frozen(self) -> bool:
        """Whether cuts no longer move the relaxation: they differ by less than its accuracy."""
        last, units = self.state.history[-self.options.tuning.patience :], self.relaxation.units
        if len(last) < self.options.tuning.patience:
            return False
        x = self.state.x / units
        moves = [np.abs(reduced_point(self.program, h.x) / units - x).max(initial=0.0) for h in last]
        return max(moves) <= self.relaxation.accuracy * (1 + float(np.abs(x).max(initial=0.0)))
