"""The middle of a flat optimal face: where many points are optimal, the simplex jumps between corners; this settles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..oracles import Separation
from ..proof.certificate import Array
from .relaxation import Search
from .state import End


class Centre:
    """Tries the middle once the objective has stopped moving; it costs about as much as a few iterations.

    Parameters
    ----------
    centre
        The middle of the optimal face for cuts kept by a margin; None if there is none.
    """

    def __init__(self, centre: Callable[[float], Array | None]) -> None:
        self.centre = centre
        self.level, self.visited = np.inf, 0

    def __call__(self, run: Search, separations: list[Separation]) -> End | None:
        state = run.state
        value = state.proposal.value
        if abs(value - self.level) > run.relaxation.tuning.still * state.allowed(value):
            self.level, self.visited = value, 0
            return None
        self.visited += 1
        x = self.centre(state.margin) if state.proposal.bounded else None
        return None if x is None else run.attempt(replace(state.proposal, x=x))
