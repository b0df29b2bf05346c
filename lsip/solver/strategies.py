"""The strategies of the linear exchange: which are called after every iteration, and in which order.

A strategy is made once a solve, may remember what it needs, and is called with the running solve (`relaxation.Search`)
and what was found at the current point. It may add cuts or propose a point, by `add_cuts` and `attempt` of
`certification`, and returns the end, if it leads there. Those that are a few lines are here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..oracles import Oracle, Separation, is_instant
from ..proof.certificate import Array
from .certification import add_cuts, ask_oracles, attempt
from .linear_master import LinearMaster
from .newton import Newton
from .options import Options
from .relaxation import Search, Strategy
from .state import End, Proposal


def strategies(
    held: LinearMaster, oracles: Sequence[Oracle], options: Options, flat: OptimalFaceCentre
) -> tuple[Strategy, ...]:
    """Those that suit a program."""
    found: list[Strategy] = [AveragedIterate()] if all(is_instant(oracle) for oracle in oracles) else []
    found.append(flat)
    if options.polish:
        found.append(Newton(held, options.tuning))
    return tuple(found)


class AveragedIterate:
    """Adds cuts at an average of the iterates as well: it lies further inside, where cuts are deeper."""

    def __init__(self) -> None:
        self.trail: Array | None = None

    def __call__(self, search: Search, separations: list[Separation]) -> End | None:
        x = search.state.x
        self.trail = 0.5 * (x + (x if self.trail is None else self.trail))
        add_cuts(search, ask_oracles(search, Proposal(self.trail)))
        return None


class OptimalFaceCentre:
    """Tries the middle of a flat optimal face, where the simplex method jumps between corners.

    That begins once the objective has stopped moving, since it costs about as much as a few iterations.

    Parameters
    ----------
    held
        The finite program, whose optimal face it is.
    still
        The share of the gap to reach: an objective that moves by less has stopped moving.
    eager, every
        So often the middle is tried in every such iteration, and then once in so many: what has not led to the end by
        then will seldom do so soon.
    """

    def __init__(self, held: LinearMaster, still: float = 0.2, eager: int = 10, every: int = 3) -> None:
        self.held, self.still, self.eager, self.every = held, still, eager, every
        self.level, self.visited, self.tried = np.inf, 0, 0

    def __call__(self, search: Search, separations: list[Separation]) -> End | None:
        state, value = search.state, search.state.proposal.value
        if abs(value - self.level) > self.still * state.allowed(value):
            self.level, self.visited = value, 0
            return None
        self.visited += 1
        if self.tried >= self.eager and (self.visited - 1) % self.every:
            return None
        self.tried += 1
        z = self.held.master.centre(state.margin) if state.proposal.bounded else None
        return None if z is None else attempt(search, replace(state.proposal, x=self.held.x(z)))
