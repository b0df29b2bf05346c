"""Best approximations in one dimension: the point to which Remez's exchange leads, proven like any other.

The level of the last reference is a lower bound, and raised to the largest error it is an upper one. Where that does
not end the solve, because the functions are not of that kind, the exchange begins with the points of the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import OutOfTime
from ..model.program import Program
from ..proof.certificate import Array, Support
from ..proof.prove import Incumbent
from ..reductions.chain import reduce
from ..reductions.equilibration import Scaling
from ..reductions.rounding import data_rounding
from .conditioning import Conditioning
from .options import Options
from .relaxation import Relaxation, counted, objective
from .remez import Levelled, level_of, levelled
from .state import End, Proposal, State
from .warm_start import HeldCuts, WarmStartData

Exchange = Callable[[Sequence[Support]], Relaxation]


def alternation(given: Program, options: Options, exchange: Exchange) -> Relaxation:
    """What Remez's exchange finds, or the `exchange` of all."""
    program = reduce(given)
    level = level_of(program) if options.polish else None
    if level is None:
        return exchange(())
    cost = float(program.c[level])
    least = Scaling.of(program).objective * (data_rounding(given) if options.atol is None else options.atol)

    def allowed(x: Array) -> float:
        """The gap to reach."""
        value = cost * float(x[level]) + program.constant
        return max(options.tol * abs(value), least)

    try:
        found = levelled(program, level, allowed, options)
    except OutOfTime:
        found = None
    if found is None:
        return exchange(())
    made = Alternation(given, options, level, found, exchange)
    good = cost * found.excess <= options.tuning.margin_share * allowed(found.x)
    return made if good else exchange(made.held.cuts)


class Alternation(Relaxation):
    """A reference as a relaxation whose first point is the last, if all goes well."""

    def __init__(self, given: Program, options: Options, level: int, found: Levelled, exchange: Exchange) -> None:
        super().__init__(reduce(given), options)
        self.level, self.found = level, found
        scale = max(1.0, float(np.median(np.abs(found.rhs))))
        self.support, self.mass = found.support, float(found.weights.sum())
        self.held = HeldCuts([s.weighing(0.0) for s in self.support], scale)
        self.outline = counted(self.program.n, "variable"), ", references by Remez's exchange"
        self.fallback = lambda: exchange(self.held.cuts)  # with the points of the reference, and what it violates

    def propose(self, state: State) -> Proposal | End:
        x, found = self.found.x.copy(), self.found
        value = objective(self.program, x)
        state.accept(Proposal(x, value, self.support), 1.0)
        room = self.tuning.margin_share * state.allowed(value) / self.mass
        state.margin = min(room, self.tuning.largest_margin * self.held.scale)
        x[self.level] += found.excess + state.margin / found.least
        state.accept(Proposal(x, objective(self.program, x), self.support))
        return state.proposal

    def extras(self, best: Incumbent | None, last: Proposal) -> dict[str, Any]:
        conditioning = Conditioning.fit(self.program, self.found.rows, self.tuning)
        return {"kept": WarmStartData(self.scaling, conditioning, self.held.scale)}
