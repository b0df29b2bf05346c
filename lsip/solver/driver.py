"""Driving a solve to its end, with a progress table and a callback."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack
from typing import Any, Protocol

import numpy as np

from ..deadline import watched
from ..errors import OutOfTime
from ..masters import MasterError
from ..model.program import Compilable, Program
from ..model.status import Status
from ..progress import Table
from ..rounding import check_rounding
from ..solution.effort import Effort
from ..solution.result import Iterate
from ..solution.solution import Solution
from ..validation import answer, flag, truth
from .clock import Clock
from .options import Options
from .state import End


class Steps(Protocol):
    """A solve that can be stepped through, and stopped at any step."""

    clock: Clock
    given: Program  # as it was written
    options: Options
    problem: Program | Compilable | None  # what the user wrote, where that is more than the program
    answer: type[Solution]

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


def answered(run: Steps, **fields: Any) -> Solution:
    """The answer, with what every run knows."""
    return run.answer(
        program=run.given,
        seconds=run.clock.used(),
        tol=run.options.tol,
        variables=getattr(run.problem, "variables", ()),
        model=run.problem if hasattr(run.problem, "compile") else None,
        effort=Effort.now(run.options.given(), run.clock.split()),
        **fields,
    )


def guarded(run: Steps, steps: Generator[Iterate, None, End]) -> Generator[Iterate, None, Solution]:
    """The iterations of a solve within its time; however it ends, with its solution."""
    while True:
        try:
            with run.clock.running(), np.errstate(over="ignore", invalid="ignore"):  # nothing of it is believed
                iterate = next(steps)
        except StopIteration as end:
            return run.stop(end.value)
        except OutOfTime:
            return run.stop(End(Status.TIME_LIMIT))
        except MasterError as error:
            return run.stop(End(Status.STALLED, f"{error} The bounds are valid."))
        yield iterate


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
