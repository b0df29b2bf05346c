"""Bounds that can be proven on the way: to be shown and, where time is limited, to have some when it is up.

Feasible points are found in two ways: a little of a point with room, and the exchange with larger margins. Between a
point of proven violation v and one that has room s, (s x + v x_s) / (s + v) is feasible for free. The optimum of the
relaxation whose cuts are kept by a larger margin has room for what no cut knows of yet, so that few steps make it
feasible, and it costs no more than the margin times the multipliers; the margin is smaller each time.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from ..deadline import check, within
from ..errors import OutOfTime
from ..masters import MasterError
from ..proof.prove import Incumbent
from .certification import add_cuts, ask_oracles, attempt
from .clock import Clock
from .relaxation import Search, objective, violation_bounds
from .state import Proposal
from .tuning import Tuning


def slater_combination(search: Search) -> None:
    """Keep a feasible point between the last one and one with room for the case of a stop, where no other is known."""
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
    if isinstance(found, Incumbent) and (state.slater_incumbent is None or found.upper < state.slater_incumbent.upper):
        state.slater_incumbent = found


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
        before = state.incumbent
        if point is None or (before is not None and point.value >= before.upper):
            break  # the margin is too large for a better point
        attempt(search, point)
        if state.incumbent is not before:
            break
    else:
        if state.incumbent is None:
            state.inner_margin *= factor
        return
    state.inner_margin /= factor


class BoundsByIteration:
    """After so many iterations, twice as many, and so on: what is proven when must not depend on the clock."""

    def __init__(self, tuning: Tuning) -> None:
        self.due = {first_lower: tuning.first_bounds, slater_combination: tuning.tries * tuning.first_bounds}

    def prove(self, search: Search) -> None:
        """Prove what can be, if it is time."""
        for proof, due in self.due.items():
            if len(search.state.history) >= due:
                self.due[proof] = 2 * len(search.state.history)
                with suppress(MasterError, OutOfTime):  # the exchange itself looks whether time is up
                    proof(search)


class BoundsByTime:
    """Where time is limited: after a share of it, and how long they may take.

    Parameters
    ----------
    clock
        The time there is.
    share, most
        The shares of the limit: after which bounds are first proven and that proving them may take, and that one proof
        may take at most.
    growth
        How much more time a proof has the next time, where it was stopped.
    inner_after, inner_share
        The share of the limit after which interior incumbents are looked for, and the share of the time after that
        which goes into them. Models that are solved before need none: from 0.1 on, an exchange with 1,001 variables
        took twice as long.
    """

    def __init__(
        self,
        clock: Clock,
        share: float = 0.1,
        most: float = 0.3,
        growth: float = 2.5,
        inner_after: float = 0.3,
        inner_share: float = 0.5,
    ) -> None:
        self.clock, self.share, self.growth, self.inner_share = clock, share, growth, inner_share
        self.due, self.inner_due = share * clock.limit, inner_after * clock.limit
        self.budget, self.most = share * clock.limit, most * clock.limit

    def prove(self, search: Search) -> None:
        """Prove what can be, if it is time."""
        self._bounds(search)
        self._feasible(search)

    def _feasible(self, search: Search) -> None:
        """Feasible points with room, which take steps as the relaxation does: a share of the time is theirs."""
        began = self.clock.used()
        if began < self.inner_due:
            return
        with suppress(OutOfTime, MasterError), within(self.most):
            interior_incumbent(search)
        used = self.clock.used()
        self.inner_due = used + (used - began) * (1 / self.inner_share - 1)

    def _bounds(self, search: Search) -> None:
        """What the multipliers prove, and a point for the case of a stop."""
        began, late = self.clock.used(), False
        if began < self.due:
            return
        for proof in (first_lower, slater_combination):
            try:
                with suppress(MasterError), within(self.budget):
                    proof(search)
            except OutOfTime:
                late = True
        took = self.clock.used() - began
        if late:  # a proof that was stopped is tried again with more time, and not too soon
            self.budget = min(self.growth * self.budget, self.most)
            self.due = self.clock.used() + self.budget
        else:
            self.due = self.clock.used() + took / self.share
        self.clock.keep(took)


def first_lower(search: Search) -> None:
    """What the current multipliers prove, if the box that replaces infinite bounds plays no part in them."""
    state = search.state
    if state.proposal.bounded:
        allowed = state.allowed(objective(search.program, state.x))
        state.keep_lower(search.relaxation.lower_bound(state, state.proposal, state.x, allowed))
