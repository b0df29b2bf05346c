"""How long a solve has taken, and how long it may still take."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from ..deadline import within
from ..solution.effort import PARTS
from ..validation import Configuration, Seconds, Share


@dataclass(frozen=True)
class ClockTuning(Configuration):
    """How much time the last proofs of a solve have.

    Parameters
    ----------
    grace
        After an interrupt: seconds, or `share` of those used if that is more. Whoever interrupts does not want to wait.
        One look for a violation along a direction of unboundedness takes no longer either.
    share, most_kept
        The share of a limit, and the seconds, that are kept for the last proofs at most.
    overrun
        The share of a limit by which the last proofs may overrun it, and that is kept where they are known to be quick.
    least
        Seconds that a proof always gets, however little is left, and by which a limit may be overrun on top.
    """

    grace: Seconds = 0.5
    share: Share = 0.1
    most_kept: Seconds = 2.0
    overrun: Share = 0.04
    least: Seconds = 0.05


TUNING = ClockTuning()


class Clock:
    """Seconds on the wall, with a limit or without; a part of the limit is kept for the last proofs.

    `spent` says what they were spent on; `compiling` are seconds before the start.
    """

    def __init__(self, limit: float | None = None, tuning: ClockTuning = TUNING, compiling: float = 0.0) -> None:
        self.started, self.tuning = time.perf_counter(), tuning
        self.spent = dict.fromkeys(PARTS, 0.0) | {"compile": compiling}
        self._part, self._since = "other", self.started
        self.limit = np.inf if limit is None else float(limit)
        self.keep(np.inf)

    def keep(self, seconds: float) -> None:
        """Keep about so many seconds for the last proofs, which is what they took before."""
        if self.limit < np.inf:
            tuning = self.tuning
            kept = max(2.0 * seconds, tuning.overrun * self.limit)
            self.deadline = self.started + self.limit - min(kept, tuning.share * self.limit, tuning.most_kept)
        else:
            self.deadline = np.inf

    @contextmanager
    def on(self, part: str) -> Iterator[None]:
        """What runs inside is time spent on this part, but for what it spends on another one."""
        outer = self._part
        self._turn(part)
        try:
            yield
        finally:
            self._turn(outer)

    def _turn(self, part: str) -> None:
        now = time.perf_counter()
        self.spent[self._part] += now - self._since
        self._part, self._since = part, now

    def took(self, parts: Mapping[str, float]) -> None:
        """The last of the seconds were those of another solve, which knows what it spent them on."""
        self._turn(self._part)
        for part, seconds in parts.items():
            self.spent[part] += seconds
            self.spent[self._part] -= seconds

    def split(self) -> dict[str, float]:
        """What the seconds until now were spent on."""
        self._turn(self._part)
        return dict(self.spent)

    def used(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.started

    def left(self) -> float:
        """Seconds to the deadline; negative when it has passed."""
        return self.deadline - time.perf_counter()

    def running(self) -> AbstractContextManager[None]:
        """Hold all that runs inside to the deadline."""
        return within(self.left())

    def allow_last_proofs(self, interrupted: bool = True) -> None:
        """Set the deadline anew: whoever interrupts a solve does not want to wait, a limit is kept but for a little."""
        now, tuning = time.perf_counter(), self.tuning
        end = now + max(tuning.grace, tuning.share * self.used()) if interrupted else np.inf
        if self.limit < np.inf:
            end = min(end, self.started + (1 + tuning.overrun) * self.limit + tuning.least)
        self.deadline = max(end, now + tuning.least)


Step = TypeVar("Step", bound=Callable[..., Any])


def spent_on(part: str) -> Callable[[Step], Step]:
    """A method of what has a clock, whose time is spent on this part."""

    def timed(method: Step) -> Step:
        @wraps(method)
        def step(self: Any, *args: Any) -> Any:
            with self.clock.on(part):
                return method(self, *args)

        return cast(Step, step)

    return timed
