"""How long a solve has taken, and how long it may still take."""

from __future__ import annotations

import time

import numpy as np

GRACE = 0.5  # seconds, or a tenth of those used, for the last proofs of a solve that has to stop


class Clock:
    """Seconds on the wall, with a limit or without."""

    def __init__(self, limit: float | None = None) -> None:
        self.started = time.perf_counter()
        self.deadline = np.inf if limit is None else self.started + limit

    def used(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.started

    def left(self) -> float:
        """Seconds to the deadline; negative when it has passed."""
        return self.deadline - time.perf_counter()

    def allow_last_proofs(self) -> None:
        """Set the deadline anew, close by: whoever stops a solve does not want to wait for it."""
        self.deadline = time.perf_counter() + max(GRACE, 0.1 * self.used())
