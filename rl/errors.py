"""What can be wrong with a decision problem, beyond what `lsip` already says."""

from __future__ import annotations

from typing import Any

import lsip


class InfeasibleError(lsip.LSIPError):
    """No policy keeps every constraint; `points` are the index points whose constraints contradict each other."""

    def __init__(self, message: str, points: tuple[lsip.ActivePoint, ...] = (), solution: Any = None) -> None:
        super().__init__(message)
        self.points, self.solution = points, solution
