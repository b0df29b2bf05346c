"""Incumbents on the way: the exchange of a relaxation whose cuts are kept by a larger margin, smaller each time.

Its optimum has room for what no cut knows of yet, so that few steps make it feasible, and it costs no more than the
margin times the multipliers. What it violates cuts as deep as what the relaxation itself does.
"""

from __future__ import annotations

from ..deadline import check
from .certification import attempt
from .relaxation import Search


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
