"""Feasible points on the way, by the exchange of a relaxation whose cuts are kept by a wider margin, smaller each time.

Its optimum has room for what no cut knows of yet, so that few steps make it feasible, and it costs no more than the
margin times the multipliers. What it violates cuts as deep as what the relaxation itself does.
"""

from __future__ import annotations

from ..deadline import check
from .relaxation import Search


def widen(run: Search) -> None:
    """Look for a point that is feasible with the next margin, and keep it."""
    state, relaxation, tuning = run.state, run.relaxation, run.relaxation.tuning.margins
    if not state.slater or not state.proposal.bounded:
        return
    state.wider = state.wider or tuning.first_wider * relaxation.held.scale
    for _ in range(tuning.most_wider):
        check("exchange")
        point = relaxation.kept_by(state.wider) if state.wider > state.margin else None
        if point is None:
            break
        before = state.incumbent
        run.attempt(point)
        if state.incumbent is not before:
            break
    else:
        if state.incumbent is None:
            state.wider *= tuning.widening
        return
    state.wider /= tuning.widening
