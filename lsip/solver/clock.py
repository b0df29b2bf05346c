"""How long a solve has taken, and how long it may still take."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager

import numpy as np

from ..deadline import within

GRACE = 0.5  # seconds, or a tenth of those used, for the last proofs of a solve that is interrupted
KEPT, MOST_KEPT = 0.15, 2.0  # the share of a limit, and the seconds, that are kept for the last proofs at most
LEAST_KEPT = 0.03  # the same share, once they are known to be quick
OVER, OVER_SECONDS = 0.04, 0.05  # the share of a limit, and seconds, by which the last proofs may overrun it
LEAST = 0.05  # seconds that the last proofs always get


class Clock:
    """Seconds on the wall, with a limit or without; a part of the limit is kept for the last proofs."""

    def __init__(self, limit: float | None = None) -> None:
        self.started = time.perf_counter()
        self.limit = np.inf if limit is None else float(limit)
        self.keep(np.inf)

    def keep(self, seconds: float) -> None:
        """Keep about so many seconds for the last proofs, which is what they took before."""
        if self.limit < np.inf:
            kept = min(max(2.0 * seconds, LEAST_KEPT * self.limit), KEPT * self.limit, MOST_KEPT)
            self.deadline = self.started + self.limit - kept
        else:
            self.deadline = np.inf

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
        now = time.perf_counter()
        end = now + max(GRACE, 0.1 * self.used()) if interrupted else np.inf
        if self.limit < np.inf:
            end = min(end, self.started + (1 + OVER) * self.limit + OVER_SECONDS)
        self.deadline = max(end, now + LEAST)
