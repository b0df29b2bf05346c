"""Bounds that can be proven on the way: to be shown and, where time is limited, to have some when it is up."""

from __future__ import annotations

from contextlib import suppress

from ..deadline import within
from ..errors import OutOfTime
from ..masters import MasterError
from .clock import Clock
from .interior_incumbent import interior_incumbent
from .relaxation import Search, objective
from .slater_combination import slater_combination
from .tuning import Tuning


class BoundsByIteration:
    """After so many iterations, twice as many, and so on: what is proven when must not depend on the clock."""

    def __init__(self, tuning: Tuning) -> None:
        self.due = {first_lower: tuning.first_lower, slater_combination: tuning.first_upper}

    def prove(self, search: Search) -> None:
        """Prove what can be, if it is time."""
        for proof, due in self.due.items():
            if len(search.state.history) >= due:
                self.due[proof] = 2 * len(search.state.history)
                with suppress(MasterError, OutOfTime):  # the exchange itself looks whether time is up
                    proof(search)


class BoundsByTime:
    """Where time is limited: after a share of it, and how long they may take."""

    def __init__(self, tuning: Tuning, clock: Clock) -> None:
        self.tuning, self.clock = tuning, clock
        self.due, self.wider_due = tuning.early * clock.limit, tuning.wider_after * clock.limit
        self.budget = tuning.early_share * clock.limit

    def prove(self, search: Search) -> None:
        """Prove what can be, if it is time."""
        self._bounds(search)
        self._feasible(search)

    def _feasible(self, search: Search) -> None:
        """Feasible points with room, which take steps as the relaxation does: a share of the time is theirs."""
        began, tuning = self.clock.used(), self.tuning
        if began < self.wider_due:
            return
        with suppress(OutOfTime, MasterError), within(tuning.most_early * self.clock.limit):
            interior_incumbent(search)
        used = self.clock.used()
        self.wider_due = used + (used - began) * (1 / tuning.wider_share - 1)

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
            self.budget = min(self.tuning.early_growth * self.budget, self.tuning.most_early * self.clock.limit)
            self.due = self.clock.used() + self.budget
        else:
            self.due = self.clock.used() + took / self.tuning.early_share
        self.clock.keep(took)


def first_lower(search: Search) -> None:
    """What the current multipliers prove, if the box that replaces infinite bounds plays no part in them."""
    state = search.state
    if state.proposal.bounded:
        allowed = state.allowed(objective(search.program, state.x))
        state.keep_lower(search.relaxation.lower_bound(state, state.proposal, state.x, allowed))
