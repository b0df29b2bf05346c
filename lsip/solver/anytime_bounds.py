"""Bounds that can be proven on the way: to be shown and, where time is limited, to have some when it is up."""

from __future__ import annotations

from contextlib import suppress

from ..deadline import within
from ..errors import OutOfTime
from ..masters import MasterError
from .clock import Clock
from .incumbents import interior_incumbent, slater_combination
from .relaxation import Search, objective
from .tuning import Tuning


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
