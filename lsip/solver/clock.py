"""How long a solve has taken, and how long it may still take."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager

import numpy as np

from ..deadline import within
from ..solution.result import PARTS
from .tuning import DEFAULTS, Tuning


class Clock:
    """Seconds on the wall, with a limit or without; a part of the limit is kept for the last proofs.

    `spent` says what they were spent on; `compiling` are seconds that have passed already, and count.
    """

    def __init__(self, limit: float | None = None, tuning: Tuning = DEFAULTS, compiling: float = 0.0) -> None:
        now = time.perf_counter()
        self.started, self.tuning = now - compiling, tuning
        self.spent = dict.fromkeys(PARTS, 0.0) | {"compile": compiling}
        self._part, self._since = "other", now
        self.limit = np.inf if limit is None else float(limit)
        self.keep(np.inf)

    def keep(self, seconds: float) -> None:
        """Keep about so many seconds for the last proofs, which is what they took before."""
        if self.limit < np.inf:
            tuning = self.tuning
            kept = max(2.0 * seconds, self.overrun)
            self.deadline = (
                self.started + self.limit - min(kept, tuning.share * self.limit, tuning.tries * tuning.grace)
            )
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

    @property
    def overrun(self) -> float:
        """The seconds that are kept of a limit where the last proofs are quick, and by which they may overrun it."""
        return self.tuning.margin_share * self.tuning.share * self.limit

    @property
    def least(self) -> float:
        """Seconds that a proof always gets, however little is left, and by which a limit may be overrun on top."""
        return self.tuning.share * self.tuning.grace

    def allow_last_proofs(self, interrupted: bool = True) -> None:
        """Set the deadline anew: whoever interrupts a solve does not want to wait, a limit is kept but for a little."""
        now, tuning = time.perf_counter(), self.tuning
        end = now + max(tuning.grace, tuning.share * self.used()) if interrupted else np.inf
        if self.limit < np.inf:
            end = min(end, self.started + self.limit + self.overrun + self.least)
        self.deadline = max(end, now + self.least)
