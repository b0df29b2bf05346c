"""The time that is left: one deadline for all that runs inside of a solve, a check or a proof, however deep.

Whoever is given a time limit opens `within(seconds)`; whatever may take long asks `left()` before it begins, or calls
`check()` between its steps, which raises `OutOfTime`. Deadlines nest, and the earliest counts. The same calls carry the
news that work goes on: inside of `watched(say)`, `say` is called about every two seconds with what is being done.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .errors import OutOfTime

if TYPE_CHECKING:
    from scipy import sparse

__all__ = [
    "EFFORT",
    "PACE",
    "EffortTuning",
    "PaceTuning",
    "afford",
    "afford_factors",
    "beat",
    "check",
    "factor_operations",
    "left",
    "watched",
    "watching",
    "within",
]


@dataclass(frozen=True)
class PaceTuning:
    """How long work is expected to take, and how often it is heard of.

    Parameters
    ----------
    dense
        Operations a second of dense products, about: it tells whether a step fits into the time that is left.
    sparse
        The same of sparse factorisations.
    every
        Seconds between two signs of life, at least. Steps between two calls of `check` take their time, too, so that
        one comes about every two seconds.
    """

    dense: float = 8e9
    sparse: float = 5e8
    every: float = 1.5


PACE = PaceTuning()


@dataclass(frozen=True)
class EffortTuning:
    """How much one step may take before it counts as too much, wherever there is no better reason for a limit.

    Parameters
    ----------
    entries
        Numbers in one table, 1e5 to 1e8: 32 MB, which a dense factorisation goes through in a few seconds.
    exact
        Products of doubles that are added up exactly, 1e4 to 1e7: about a tenth of a second. Fractions take ten times
        as long.
    boxes
        Boxes of a search beside the main one that are open at the same time, 1e3 to 1e6.
    batch
        Doubles that the compiled kernel, or one product, works on at once, 1e4 to 1e7: what leaves the processor's
        cache costs twice as much.
    cached
        The same for operations of NumPy one by one, 1e3 to 1e5.
    unwatched
        Boxes that are bounded between two looks at the clock, 1e2 to 1e5.
    """

    entries: int = 4_000_000
    exact: int = 200_000
    boxes: int = 16_384
    batch: int = 500_000
    cached: int = 20_000
    unwatched: int = 4096


EFFORT = EffortTuning()
_end: ContextVar[float] = ContextVar("end", default=math.inf)  # as `time.perf_counter` tells it
_watch: ContextVar[_Watch | None] = ContextVar("watch", default=None)


class _Watch:
    """Who wants to know that work goes on, and when that was last said."""

    def __init__(self, say: Callable[[str], object]) -> None:
        self.say, self.last = say, time.perf_counter()

    def look(self, now: float, doing: str) -> None:
        if now - self.last >= PACE.every:
            self.last = now
            self.say(doing)


@contextmanager
def within(seconds: float | None) -> Iterator[None]:
    """Let all that runs inside end after so many seconds; None, or inf, leaves the time as it is."""
    end = _end.get() if seconds is None else min(_end.get(), time.perf_counter() + seconds)
    token = _end.set(end)
    try:
        yield
    finally:
        _end.reset(token)


@contextmanager
def watched(say: Callable[[str], object]) -> Iterator[Callable[[], None]]:
    """Call `say` with what is being done, about every two seconds; what is yielded puts that off until later."""
    watch = _Watch(say)
    token = _watch.set(watch)

    def rest() -> None:
        watch.last = time.perf_counter()

    try:
        yield rest
    finally:
        _watch.reset(token)


def watching() -> bool:
    """Whether somebody wants to know that work goes on."""
    return _watch.get() is not None


def left() -> float:
    """Seconds to the deadline, inf without one; negative when it has passed."""
    end = _end.get()
    return end if end == math.inf else end - time.perf_counter()


def beat(doing: str) -> None:
    """Between two steps: say what is being done, now and then, if somebody wants to know."""
    watch = _watch.get()
    if watch is not None:
        watch.look(time.perf_counter(), doing)


def check(doing: str) -> None:
    """Between two steps: say what is being done, now and then; raise `OutOfTime` if the deadline has passed."""
    beat(doing)
    if left() < 0:
        raise OutOfTime("The time is up.")


def afford(seconds: float, doing: str) -> None:
    """Before a step that cannot be stopped: raise `OutOfTime` if it would take longer than is left."""
    check(doing)
    if seconds > left():
        raise OutOfTime("The time that is left is too short.")


def afford_factors(matrix: sparse.sparray | sparse.spmatrix) -> None:
    """Before a sparse factorisation: raise `OutOfTime` if it would take longer than is left.

    What fills up is looked at only if time is short.
    """
    if 2.0 / 3.0 * matrix.shape[0] ** 3 / PACE.sparse > left():  # whatever fills up
        afford(factor_operations(matrix) / PACE.sparse, "factorisation")


def factor_operations(matrix: sparse.sparray | sparse.spmatrix) -> float:
    """How many operations a sparse factorisation takes, at most: the envelope in Cuthill and McKee's order fills up."""
    from scipy import sparse
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    n = matrix.shape[0]
    pattern = sparse.csr_matrix(abs(matrix) + abs(matrix).T)
    order = reverse_cuthill_mckee(pattern, symmetric_mode=True)
    place = np.empty(n, dtype=np.intp)
    place[order] = np.arange(n)
    entries = pattern.tocoo()
    first = np.arange(n)
    np.minimum.at(first, place[entries.row], place[entries.col])
    width = np.arange(n) - first + 1.0
    return 2.0 * float((width**2).sum())
