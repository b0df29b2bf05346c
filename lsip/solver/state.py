"""What a solve knows: the values that its steps, its endings and its relaxations share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..model.program import Program
from ..model.status import Status
from ..oracles import Oracle, Work
from ..proof.certificate import Array, Certificate, Support
from ..proof.families import Bounds
from ..proof.primal import NotProven
from ..proof.prove import DualBound, Incumbent, prove_feasible
from ..solution.result import Iterate


@dataclass(frozen=True, eq=False)
class Proposal:
    """A point, and multipliers that speak for it, as a relaxation found them; nothing of it is proven."""

    x: Array  # (n,)
    value: float = np.nan  # the objective there
    support: tuple[Support, ...] = ()  # the dual measure
    rows: Array = field(default_factory=lambda: np.zeros(0))  # multipliers of the finite rows
    bounded: bool = True  # whether the box that stands in for infinite bounds plays no part in the multipliers
    at_artificial_bound: bool = False  # whether the point touches that box
    box: Array | None = None  # (n,), half-widths around x, where the point is known only up to them
    weights: Array | None = None  # of the points that x is a mixture of, where it is one
    excess: float = -np.inf  # by how much x may violate finite rows that no proof can repair

    def towards(self, other: Proposal, share: float) -> Proposal:
        """The point that consists of `share` of the other one."""
        return Proposal((1 - share) * self.x + share * other.x)

    def feasible(
        self, program: Program, oracles: Sequence[Oracle], known: Bounds | None, seconds: float
    ) -> Incumbent | NotProven:
        """The point, or one next to it, as one that is proven to be feasible."""
        return prove_feasible(program, self.x, known, seconds=seconds, oracles=oracles)


@dataclass(frozen=True, eq=False)
class End:
    """How a solve ends: with a certificate, or with the best bounds that can be proven now."""

    status: Status
    evidence: str = ""  # what was found, where it could not be proven
    certificate: Certificate | None = None


@dataclass
class State:
    """All that changes during a solve, and the gap that it is to reach, in the units of the relaxation."""

    tol: float  # the relative gap to reach
    atol: float  # the absolute one that will do
    margin: float  # that cuts are kept by
    proposal: Proposal
    violation: Bounds  # proven at the point of the proposal, a family
    relaxed: float = -np.inf  # what the relaxations say of the optimum
    terms: float = 1.0  # the size of the dual objective: sides and bounds, each times its multiplier
    slater: bool = True  # whether there may be points with room in every constraint
    scaled_gap: bool = False  # whether a gap relative to the terms of the dual is accepted
    closing: bool = False  # whether only the last proofs are left
    incumbent: Incumbent | None = None  # the best point that is proven to be feasible
    slater_incumbent: Incumbent | None = None  # a proven one, combined with a point that has room
    inner_margin: float = 0.0  # by which cuts are kept in the search for the next incumbent; 0 before the first
    proven: DualBound | None = None  # the best lower bound that is proven for all x
    estimate: float = np.inf  # what the violation of the last point probably does not exceed, where nothing is proven
    work: tuple[Work | None, ...] = ()  # what proofs that ended too early would still have taken, a family
    obstacle: NotProven | None = None  # why the last point that looked feasible is not proven to be
    direction: Array | None = None  # one of unboundedness that could not be proven
    patience: int = 0  # feasible points whose gap did not close
    begun: bool = False  # whether any relaxation was solved
    history: list[Iterate] = field(default_factory=list)

    @property
    def x(self) -> Array:
        """The current point."""
        return self.proposal.x

    def accept(self, proposal: Proposal, terms: float | None = None) -> None:
        """Take a relaxation's answer as the current point and the current dual measure."""
        self.violation = Bounds((np.inf,) * len(self.violation.values))  # first: it is about the point before
        self.proposal, self.begun = proposal, True
        if terms is not None:
            self.terms = terms

    def allowed(self, value: float) -> float:
        """What margins and proofs may cost: the gap to reach, or `tol` of the dual's terms where that is accepted."""
        reached = max(self.tol * abs(value), self.atol)
        return max(reached, self.tol * min(self.terms, 1.0)) if self.scaled_gap else reached

    def accept_scaled_gap(self) -> bool:
        """Accept a gap relative to the terms of the dual, where a smaller one stays open; whether that is new."""
        if self.scaled_gap:
            return False
        self.scaled_gap = True
        return True

    def keep_feasible(self, found: Incumbent) -> None:
        """Remember a feasible point, if it is the best."""
        if self.incumbent is None or found.upper < self.incumbent.upper:
            self.incumbent = found

    def keep_lower(self, lower: DualBound) -> None:
        """Remember a lower bound, if it holds everywhere and is the best."""
        if np.isinf(lower.radius) and (self.proven is None or lower.value > self.proven.value):
            self.proven = lower

    @property
    def best(self) -> Incumbent | None:
        """The best point that is proven to be feasible, wherever it comes from."""
        return min(
            (b for b in (self.incumbent, self.slater_incumbent) if b is not None), key=lambda b: b.upper, default=None
        )
