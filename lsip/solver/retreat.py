"""A feasible point for free: between a point of proven violation v and one that has room s, (s x + v x_s) / (s + v)."""

from __future__ import annotations

import numpy as np

from ..masters import MasterError
from ..proof.prove import Feasible
from .relaxation import Search
from .state import Proposal


def retreat(run: Search) -> None:
    """Find such a point, where none is known yet, and keep it for the case of a stop."""
    state, relaxation = run.state, run.relaxation
    if state.incumbent is not None or not state.slater:
        return
    if state.violation.worst == np.inf:  # the last separation came without a proof
        state.violation = relaxation.bounds(run.prove(state.proposal))
    v = max(state.violation.worst if relaxation.program.families else 0.0, relaxation.excess(state.proposal))
    if not 0 <= v < np.inf:
        return
    room = inside(run)
    if room is None:
        return
    point = relaxation.between(state.proposal, room[0], share(v, room[1]))
    found = relaxation.feasible(point, None, run.clock.left())
    if isinstance(found, Feasible) and (state.fallback is None or found.upper < state.fallback.upper):
        state.fallback = found


def inside(run: Search) -> tuple[Proposal, float] | None:
    """A point that keeps every index by a proven margin; None if none is found."""
    for _ in range(run.relaxation.tuning.retreats):
        try:
            deepest = run.relaxation.deepest(run.state)
        except MasterError:
            return None
        if deepest is None:
            return None
        separations = run.prove(deepest)
        room = -max((*(found.bound for found in separations), run.relaxation.excess(deepest)), default=-np.inf)
        if room > 0:
            return deepest, room
        if not run.add(separations):
            return None
    return None


def share(violation: float, room: float) -> float:
    """How much of the point with room is needed, rounded up."""
    return min(violation / (room + violation) * (1 + 1e-9) + 1e-12, 1.0) if room < np.inf else 1e-12
