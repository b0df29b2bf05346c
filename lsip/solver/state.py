"""What a solve knows: the values that its steps, its endings and its relaxations share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ..errors import OutOfTime
from ..model.program import Program
from ..model.status import Status
from ..oracles import Work
from ..proof.certificate import Array, Certificate, Support
from ..proof.families import Bounds
from ..proof.primal import Broken
from ..proof.prove import TUNING, Feasible, Lower, least_gap, rounding_of
from ..solution.solution import Iterate


@dataclass(frozen=True, eq=False)
class Proposal:
    """A point, and multipliers that speak for it, as a relaxation found them; nothing of it is proven."""

    x: Array  # (n,)
    value: float = np.nan  # the objective there
    support: tuple[Support, ...] = ()  # the dual measure
    rows: Array = field(default_factory=lambda: np.zeros(0))  # multipliers of the finite rows
    bounded: bool = True  # whether the box that stands in for infinite bounds plays no part in the multipliers
    leaning: bool = False  # whether the point touches that box
    box: Array | None = None  # (n,), half-widths around x, where the point is known only up to them
    weights: Array | None = None  # of the points that x is a mixture of, where it is one


@dataclass(frozen=True, eq=False)
class End:
    """How a solve ends: with a certificate, or with the best bounds that can be proven now."""

    status: Status
    evidence: str = ""  # what was found, where it could not be proven
    certificate: Certificate | None = None


@dataclass
class State:
    """All that changes during a solve, and the gap that it is to reach, in the units of the relaxation."""

    tol: float  # the gap to reach, relative to the value
    atol: float | None  # small enough whatever the value; None: what rounding leaves of the model's own terms
    floor: Callable[[float], float]  # the share of `tol`, by terms, below which proofs explode
    margin: float  # that cuts are kept by
    proposal: Proposal
    violation: Bounds  # proven at the point of the proposal, a family
    relaxed: float = -np.inf  # what the relaxations say of the optimum
    terms: float = 1.0  # the size of the dual objective: sides and bounds, each times its multiplier
    own: float = 0.0  # and of the terms of the objective itself
    rounded: float = 0.0  # the gap that rounding leaves open, once it is seen that terms of rows cancel
    slater: bool = True  # whether there may be points with room in every constraint
    content: bool = False  # whether a gap relative to the terms of the dual will do
    incumbent: Feasible | None = None  # the best point that is proven to be feasible
    fallback: Feasible | None = None  # a proven one that a retreat led to
    wider: float = 0.0  # the margin by which cuts are kept in the search for the next one; 0 before the first
    proven: Lower | None = None  # the best lower bound that is proven for all x
    estimate: float = np.inf  # what the violation of the last point probably does not exceed, where nothing is proven
    work: tuple[Work | None, ...] = ()  # what proofs that ended too early would still have taken, a family
    obstacle: Broken | None = None  # why the last point that looked feasible is not proven to be
    direction: Array | None = None  # one of unboundedness that could not be proven
    patience: int = 0  # feasible points whose gap did not close
    begun: bool = False  # whether any relaxation was solved
    history: list[Iterate] = field(default_factory=list)

    @property
    def x(self) -> Array:
        """The current point."""
        return self.proposal.x

    def accept(self, proposal: Proposal, terms: float | None = None, own: float = 0.0) -> None:
        """Take a relaxation's answer as the current point and the current dual measure."""
        self.violation = Bounds((np.inf,) * len(self.violation.values))  # first: it is about the point before
        self.proposal, self.begun = proposal, True
        if terms is not None:
            self.terms, self.own = terms, own

    def allowed(self, value: float) -> float:
        """The gap to reach: relative to the value, or to the model's own terms where that is all that can be had."""
        return max(self.tol * abs(value), self.least, self.rounded)

    @property
    def least(self) -> float:
        """The gap that is small enough whatever the value."""
        if self.atol is not None:
            return self.atol
        share = max(self.floor(self.terms), 1.0 if self.content else 0.0)
        return max(self.tol * min(self.terms, 1.0) * share, rounding_of(self.terms + self.own))

    def tolerated(self, value: float) -> float:
        """The least gap that an answer of this value may have; rounding of rows excuses a small share of it at most."""
        return max(self.least, min(self.rounded, TUNING.most_cancelled * abs(value)))

    def closed(self, program: Program, best: Feasible, lower: Lower) -> bool:
        """Whether these bounds are close enough, for whoever checks them again as well."""
        gap, least = best.upper - lower.value, max(self.least, self.rounded)
        if gap <= self.tol * abs(best.upper) or not gap <= least:
            return bool(np.isfinite(gap)) and gap <= self.tol * abs(best.upper)
        if self.atol is not None:
            return True
        try:
            return gap <= least_gap(program, self.tol, lower.terms, best.point.x, lower.dual.support, gap)
        except OutOfTime:  # for a look at the rows
            return False

    def relent(self) -> bool:
        """Be content with a gap relative to the terms of the dual; whether that is news."""
        if self.content or self.atol is not None:
            return False
        self.content = True
        return True

    def keep_feasible(self, found: Feasible) -> None:
        """Remember a feasible point, if it is the best."""
        if self.incumbent is None or found.upper < self.incumbent.upper:
            self.incumbent = found

    def keep_lower(self, lower: Lower) -> None:
        """Remember a lower bound, if it holds everywhere and is the best."""
        if np.isinf(lower.radius) and (self.proven is None or lower.value > self.proven.value):
            self.proven = lower

    @property
    def best(self) -> Feasible | None:
        """The best point that is proven to be feasible, wherever it comes from."""
        return min((b for b in (self.incumbent, self.fallback) if b is not None), key=lambda b: b.upper, default=None)
