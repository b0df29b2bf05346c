"""Bounds that can be proven on the way: to be shown and, where time is limited, to have some when it is up."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..deadline import within
from ..errors import OutOfTime
from ..masters import MasterError
from .clock import Clock
from .relaxation import Search
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
        state = run.state
        try:
            with within(self.budget):
                if state.proposal.bounded:
                    state.keep_early(run.relaxation.lower(state.proposal, state.x, state.allowed(_value(run, state.x))))
        except OutOfTime:
            late = True
        try:
            with within(self.budget):
                if self.limited and state.incumbent is None:
                    run.retreat()
        except OutOfTime:
            late = True
        except MasterError:
            pass
        took = self.clock.used() - began
        if late:  # a proof that was stopped is tried again with more time, and not too soon
            self.budget = min(self.tuning.early_growth * self.budget, self.tuning.most_early * self.clock.limit)
            self.due = self.clock.used() + self.budget
        else:
            share = self.tuning.early_share if self.limited else self.tuning.shown_share
            self.due = self.clock.used() + took / share
        self.clock.keep(took)


def _value(run: Search, x: NDArray[np.float64]) -> float:
    program = run.relaxation.program
    return float(program.c @ x) + program.constant
