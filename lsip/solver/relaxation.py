"""What the driver asks of a relaxation: a finite program that proposes points, and grows by what separation finds.

Linear programs, convex ones and decomposed ones are relaxations of this kind. What a method here does by itself is
right for every program that is written down; a relaxation replaces what it knows better.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from ..model.program import Program
from ..oracles import Oracle, Separation
from ..proof.certificate import Certificate, Support
from ..proof.families import Bounds
from ..proof.primal import Broken
from ..proof.prove import Feasible, Lower, infeasible, prove_feasible, prove_lower
from ..proof.ray import Ray
from ..proof.scaling import Scaling
from .clock import Clock
from .state import End, Proposal, State
from .tuning import Tuning

Array = NDArray[np.float64]
Known = dict[int, tuple[Array, Array]]  # rows and right-hand sides of new cuts, by family, where they are known
CLASH = (
    "No feasible point was found, and constraints contradict each other as far as the search went; that none lies "
    "farther out is not proven. Give the variables bounds, or tighten those that they have."
)


class Search(Protocol):
    """What an accelerator may use of a running solve."""

    @property
    def state(self) -> State: ...
    @property
    def relaxation(self) -> Relaxation: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def tuning(self) -> Tuning: ...
    def separate(self, point: Proposal) -> list[Separation]:
        """Where a point violates: by sampled points if that finds enough, otherwise what the oracles say."""

    def prove(self, point: Proposal) -> list[Separation]:
        """What the oracles say."""

    def add(self, separations: list[Separation]) -> int:
        """Cut off what violates; how many cuts there are."""

    def certify(self, point: Proposal, known: list[Separation]) -> End | None:
        """The end, if the point is proven to be feasible and the bounds meet."""

    def recheck(self) -> End | None:
        """The end, if the best point is good enough for the bound of this iteration."""

    def unbounded(self) -> End | None:
        """The end, if a direction of unboundedness is proven."""

    def retreat(self) -> None:
        """A feasible point between the current one and one with room."""


Accelerator = Callable[[Search, list[Separation]], End | None]


class Relaxation(ABC):
    """A finite program with cuts, in units of its own; the answers map back by `scaling`."""

    given: Program  # as it was written
    program: Program  # in good units
    scaling: Scaling
    oracles: list[Oracle]
    accelerators: tuple[Accelerator, ...] = ()  # tried after every iteration, in this order
    proof_share: float  # of the gap, that a proof of a lower bound may give up
    accuracy: ClassVar[float] = 1e-14  # of x, relative to its size: smaller moves are none
    negligible: ClassVar[float] = 1e-9  # the share of all multipliers below which an atom is no active point
    escape: ClassVar[str] = ""  # what to say where the box that stands in for infinite bounds cannot grow any more

    @property
    @abstractmethod
    def cuts(self) -> Sequence[Support]:
        """The index points at which constraints are kept."""

    @property
    @abstractmethod
    def scale(self) -> float:
        """The size of the right-hand sides."""

    @abstractmethod
    def begin(self) -> State:
        """What is known before the first step."""

    @abstractmethod
    def describe(self) -> list[str]:
        """Two lines about what is solved, and how."""

    @abstractmethod
    def relax(self, state: State) -> Proposal | End:
        """Solve the relaxation; where it has no solution, lower the margin or prove infeasibility."""

    @abstractmethod
    def add(self, new: list[Support], known: Known | None = None) -> int:
        """Append cuts; how many there were."""

    @abstractmethod
    def deepest(self, state: State) -> Proposal | None:
        """The point with most room in all cuts; None if none has any."""

    @abstractmethod
    def direction(self, clock: Clock) -> Ray | Array | None:
        """A proven direction of unboundedness; one that seems to be one, where the proof fails; None without any."""

    @abstractmethod
    def farther(self) -> bool:
        """Let the box that stands in for infinite bounds reach farther out; whether it still may."""

    @abstractmethod
    def units(self, x: Array) -> Array:
        """The size of each variable at x."""

    @property
    def oracle_names(self) -> str:
        """For people."""
        return ", ".join(dict.fromkeys(type(o).__name__ for o in self.oracles)) or "none needed"

    def otherwise(self) -> Relaxation | None:
        """What to go on with, where the first step was no end; None stays with this one."""
        return None

    def promote(self) -> bool:
        """Ask lsip's own provers from now on, where a search that proves nothing was chosen; whether that is news."""
        return False

    def sample(self, state: State, point: Proposal) -> list[Separation] | None:
        """What sampled rows show, if it is worth cuts before any proof; None asks for a proof."""
        return None

    def confirm(self, state: State) -> bool:
        """Whether the current proposal may be proven as it is; otherwise the next one is better."""
        return True

    def sharpen(self, state: State) -> bool:
        """Look more closely, where the accuracy of the solver is in the way; whether that is possible."""
        return False

    def complete(self, state: State) -> None:  # noqa: B027 - most proposals are complete
        """A proposal with all multipliers, for the last proofs of a solve."""

    def forget(self, state: State) -> None:  # noqa: B027 - a relaxation may keep everything
        """Drop cuts that have not mattered for long."""

    def sizes(self, x: Array) -> Array:
        """What moves of x are compared with."""
        return np.full(len(x), 1 + float(np.abs(x).max(initial=0.0)))

    def between(self, one: Proposal, other: Proposal, share: float) -> Proposal:
        """The point that is made of `share` of the other."""
        return Proposal((1 - share) * one.x + share * other.x)

    def feasible(self, point: Proposal, known: Bounds | None, seconds: float) -> Feasible | Broken:
        """The point, or one next to it, as one that is proven to be feasible."""
        return prove_feasible(self.program, point.x, known, seconds=seconds, oracles=self.oracles)

    def lower(self, proposal: Proposal, centre: Array, allowed: float) -> Lower:
        """What the multipliers of a proposal prove about the optimum."""
        share, spare = self.proof_share * allowed, tuple(self.cuts)
        return prove_lower(self.program, proposal.support, proposal.rows, centre, self.units(centre), share, spare)

    def contradiction(self, proposal: Proposal, x: Array) -> Certificate | None:
        """A proof that no point is feasible, from multipliers whose combination contradicts itself."""
        return infeasible(self.program, proposal.support, proposal.rows, x, tuple(self.cuts))

    def excess(self, point: Proposal) -> float:
        """By how much a point may break finite rows that no proof can mend; -inf where it can."""
        return -np.inf

    def extras(self, best: Feasible | None, last: Proposal) -> dict[str, Any]:
        """What the answer has besides; `best` is the point behind it, `last` the one where there is none."""
        return {}
