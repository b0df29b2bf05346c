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
from ..proof.prove import Feasible
from ..reductions.chain import reduce
from ..reductions.equilibration import Scaling
from ..reductions.rounding import data_rounding
from .again import Kept, Tried
from .conditioning import Conditioning
from .options import Options
from .relaxation import Relaxation, counted
from .remez import Levelled, level_of, levelled
from .state import End, Proposal, State

Exchange = Callable[[Sequence[Support]], Relaxation]


def alternation(given: Program, options: Options, otherwise: Exchange) -> Relaxation:
    """What Remez's exchange finds, or what there is `otherwise`."""
    program = reduce(given)
    level = level_of(program) if options.polish else None
    if level is None:
        return otherwise(())
    cost = float(program.c[level])
    least = Scaling.of(program).objective * (data_rounding(given) if options.atol is None else options.atol)

    def allowed(x: Array) -> float:
        """The gap to reach."""
        value = cost * float(x[level]) + program.constant
        return max(options.tol * abs(value), least)

    try:
        found = levelled(program, level, allowed, options.tuning.remez)
    except OutOfTime:
        found = None
    if found is None:
        return otherwise(())
    made = Alternation(given, options, level, found, otherwise)
    good = cost * found.excess <= options.tuning.margin_share * allowed(found.x)
    return made if good else made.otherwise()


class Alternation(Relaxation):
    """A reference as a relaxation whose first point is the last, if all goes well."""

    def __init__(self, given: Program, options: Options, level: int, found: Levelled, otherwise: Exchange) -> None:
        super().__init__(reduce(given), options)
        self.level, self.found, self._otherwise = level, found, otherwise
        scale = max(1.0, float(np.median(np.abs(found.rhs))))
        self.support, self.mass = found.support, float(found.weights.sum())
        self.held = Tried([s.weighing(0.0) for s in self.support], scale)

    def outline(self) -> tuple[str, str]:
        return counted(self.program.n, "variable"), ", references by Remez's exchange"

    def units(self, x: Array) -> Array:
        found: Array = np.abs(x) + 1.0
        return found

    def deepest(self, state: State) -> Proposal | None:
        return None

    def relax(self, state: State) -> Proposal | End:
        x, found = self.found.x.copy(), self.found
        state.accept(Proposal(x, self.value(x), self.support), 1.0)
        room = self.tuning.margin_share * state.allowed(self.value(x)) / self.mass
        state.margin = min(room, self.tuning.margins.largest * self.held.scale)
        x[self.level] += found.excess + state.margin / found.least
        state.accept(Proposal(x, self.value(x), self.support))
        return state.proposal

    def confirm(self, state: State) -> bool:
        return state.violation.worst <= 0

    def otherwise(self) -> Relaxation:
        """The exchange, with the points of the reference, and what it breaks there."""
        return self._otherwise(self.held.cuts)

    def extras(self, best: Feasible | None, last: Proposal) -> dict[str, Any]:
        conditioning = Conditioning.fit(self.program, self.found.rows, self.tuning.conditioning)
        return {"kept": Kept(self.scaling, conditioning, self.held.scale, conditioning.scale)}
