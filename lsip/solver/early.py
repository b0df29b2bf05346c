"""Bounds that can be proven on the way: to be shown and, where time is limited, to have some when it is up."""

from __future__ import annotations

from contextlib import suppress

from ..deadline import within
from ..errors import OutOfTime
from ..masters import MasterError
from .clock import Clock
from .relaxation import Search
from .retreat import retreat
from .tuning import Tuning


class EarlyBounds:
    """When such proofs are due, and how long they may take."""

    def __init__(self, tuning: Tuning, clock: Clock, limited: bool) -> None:
        self.tuning, self.clock, self.limited = tuning, clock, limited
        self.due = tuning.early * clock.limit if limited else tuning.first_shown
        self.budget = tuning.early_share * clock.limit

    def prove(self, run: Search) -> None:
        """Prove what can be, if it is time."""
        began, late = self.clock.used(), False
        if began < self.due:
            return
        for proof in (_lower, retreat) if self.limited else (_lower,):
            try:
                with suppress(MasterError), within(self.budget):
                    proof(run)
            except OutOfTime:
                late = True
        took = self.clock.used() - began
        if late:  # a proof that was stopped is tried again with more time, and not too soon
            self.budget = min(self.tuning.early_growth * self.budget, self.tuning.most_early * self.clock.limit)
            self.due = self.clock.used() + self.budget
        else:
            share = self.tuning.early_share if self.limited else self.tuning.shown_share
            self.due = self.clock.used() + took / share
        self.clock.keep(took)


def _lower(run: Search) -> None:
    """What the current multipliers prove, if the box that stands in for infinite bounds plays no part in them."""
    state, relaxation = run.state, run.relaxation
    if state.proposal.bounded:
        state.keep_lower(relaxation.lower(state.proposal, state.x, state.allowed(relaxation.value(state.x))))
