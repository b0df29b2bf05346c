"""Feasible points on the way: a little of a point with room, and the exchange with larger margins.

Between a point of proven violation v and one that has room s, (s x + v x_s) / (s + v) is feasible for free. The optimum
of the relaxation whose cuts are kept by a larger margin has room for what no cut knows of yet, so that few steps make
it feasible, and it costs no more than the margin times the multipliers; the margin is smaller each time.
"""

from __future__ import annotations

import numpy as np

from ..deadline import check
from ..masters import MasterError
from ..proof.prove import Feasible
from .certification import add_cuts, ask_oracles, attempt
from .relaxation import Search, violation_bounds
from .state import Proposal


def slater_combination(search: Search) -> None:
    """Find such a point, where no incumbent is known yet, and keep it for the case of a stop."""
    state, relaxation = search.state, search.relaxation
    if state.incumbent is not None or not state.slater:
        return
    if state.violation.worst == np.inf:  # the last separation came without a proof
        state.violation = violation_bounds(relaxation, ask_oracles(search, state.proposal))
    v = max(state.violation.worst if search.program.families else 0.0, state.proposal.excess)
    if not 0 <= v < np.inf:
        return
    slater = slater_point(search)
    if slater is None:
        return
    point = state.proposal.towards(slater[0], share(v, slater[1]))
    found = point.feasible(search.program, relaxation.oracles, None, search.clock.left())
    if isinstance(found, Feasible) and (state.retreat is None or found.upper < state.retreat.upper):
        state.retreat = found


def slater_point(search: Search, attempts: int = 6) -> tuple[Proposal, float] | None:
    """A point that keeps every index by a proven margin, and that margin; None after so many attempts."""
    for _ in range(attempts):
        try:
            deepest = search.relaxation.inner_point()
        except MasterError:
            return None
        if deepest is None:
            return None
        separations = ask_oracles(search, deepest)
        room = -max((*(found.bound for found in separations), deepest.excess), default=-np.inf)
        if room > 0:
            return deepest, room
        if not add_cuts(search, separations):
            return None
    return None


def share(violation: float, room: float) -> float:
    """How much of the point with room is needed, rounded up."""
    return min(violation / (room + violation) * (1 + 1e-9) + 1e-12, 1.0) if room < np.inf else 1e-12


def interior_incumbent(search: Search, first: float = 1e-2, factor: float = 2.0, steps: int = 40) -> None:
    """Look for a point that is feasible with the next margin, and keep it.

    The `first` margin is relative to the size of right-hand sides; each is smaller by `factor` after a success, and
    larger after so many `steps` without any.
    """
    state, relaxation = search.state, search.relaxation
    if not state.slater or not state.proposal.bounded:
        return
    state.inner_margin = state.inner_margin or first * relaxation.held.scale
    for _ in range(steps):
        check("exchange")
        point = relaxation.inner_point(state.inner_margin) if state.inner_margin > state.margin else None
        if point is None:
            break
        before = state.incumbent
        attempt(search, point)
        if state.incumbent is not before:
            break
    else:
        if state.incumbent is None:
            state.inner_margin *= factor
        return
    state.inner_margin /= factor
