"""What the driver asks of a relaxation: a finite program that proposes points, and grows by what separation finds.

Linear programs, convex ones and decomposed ones are relaxations of this kind. What a method here does by itself is
right for every program that is written down; a relaxation replaces what it knows better.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np

from ..model.program import Program
from ..oracles import Separation, ask, pick_oracle, tuned
from ..proof.certificate import Array, Certificate, Support
from ..proof.families import Bounds
from ..proof.primal import Broken
from ..proof.prove import Feasible, Lower, infeasible, prove_feasible, prove_lower, rounding_of, row_terms
from ..proof.ray import Ray
from ..reductions.equilibration import Scaling
from ..reductions.rounding import data_rounding
from .clock import Clock
from .options import Options
from .rows import Known, cuts_at
from .state import End, Proposal, State


class Search(Protocol):
    """What an accelerator may use of a running solve."""

    state: State
    relaxation: Relaxation
    clock: Clock

    def attempt(self, point: Proposal, also: Sequence[Support] = ()) -> End | None:
        """The end, if the point is proven to be feasible and the bounds meet; otherwise what it violates is cut off."""

    def prove(self, point: Proposal) -> list[Separation]:
        """What the oracles say."""

    def add(self, separations: list[Separation]) -> int:
        """Cut off what violates; how many cuts there are."""

    def recheck(self) -> End | None:
        """The end, if the best point is good enough for the bound of this iteration."""

    def closed_by(self, lower: Lower) -> End | None:
        """The end, if this bound and the best point are close enough."""

    def unbounded(self) -> End | None:
        """The end, if a direction of unboundedness is proven."""


Accelerator = Callable[[Search, list[Separation]], End | None]


class Held(Protocol):
    """The cuts of a relaxation."""

    cuts: list[Support]

    @property
    def scale(self) -> float:
        """The size of the right-hand sides."""

    def add(self, new: list[Support], known: Known | None = None) -> int:
        """Append them, where some rows are known; how many there were."""


class Relaxation(ABC):
    """A finite program with cuts, in units of its own; the answers map back by `reductions.chain`."""

    held: Held
    accelerators: tuple[Accelerator, ...] = ()  # tried after every iteration, in this order
    proof: tuple[Support, ...] = ()  # the atoms of an earlier one
    accuracy: ClassVar[float] = 1e-14  # of x, relative to its size: smaller moves are none
    negligible: ClassVar[float] = 1e-9  # the share of all multipliers below which an atom is no active point
    escape: ClassVar[str] = ""  # what to say where the box that stands in for infinite bounds cannot grow any more

    def __init__(self, program: Program, options: Options) -> None:
        """Relax a reduced program."""
        self.program, self.scaling, self.options, self.tuning = program, Scaling.of(program), options, options.tuning
        self.given = self.scaling.given  # before it was scaled
        self.oracles = [options.separation or pick_oracle(f) for f in program.families]

    @cached_property
    def atol(self) -> float:
        """The absolute gap that will do, in given units."""
        return data_rounding(self.given) if self.options.atol is None else self.options.atol

    def begin(self) -> State:
        """What is known before the first step."""
        program, tol, atol = self.program, self.options.tol, self.scaling.objective * self.atol
        x = np.clip(np.zeros(program.n), program.lower, program.upper)
        margin = self.tuning.margins.first * tol * self.held.scale
        return State(tol, atol, margin, Proposal(x), Bounds((np.inf,) * len(program.families)))

    def describe(self) -> list[str]:
        """Two lines about what is solved, and how."""
        size, solver = self.outline()
        families = ", ".join(
            f"m = {f.domain.dim} ({counted(len(f.columns), 'row')} an index)" for f in self.program.families
        )
        return [
            f"{self.program.name}: {size}; {families or 'no index'}",
            f"separation by {self.oracle_names}{solver}, tol {self.options.tol:g}",
        ]

    @abstractmethod
    def outline(self) -> tuple[str, str]:
        """The size of the program in words, and the solver of its relaxations after a comma."""

    @abstractmethod
    def relax(self, state: State) -> Proposal | End:
        """Solve the relaxation; where it has no solution, lower the margin or prove infeasibility."""

    @abstractmethod
    def deepest(self, state: State) -> Proposal | None:
        """The point with most room in all cuts; None if none has any."""

    def kept_by(self, margin: float) -> Proposal | None:
        """The optimum of the relaxation with another margin; None where it has none, or is not asked for it."""
        return None

    @abstractmethod
    def units(self, x: Array) -> Array:
        """The size of each variable at x."""

    @property
    def oracle_names(self) -> str:
        """For people."""
        return ", ".join(dict.fromkeys(type(o).__name__ for o in self.oracles)) or "none needed"

    def add(self, new: list[Support], known: Known | None = None) -> int:
        """Append cuts; how many there were."""
        return self.held.add(new, known)

    def value(self, x: Array) -> float:
        """The objective at x."""
        return float(self.program.c @ x) + self.program.constant

    def separate(self, point: Proposal, margin: float, left: float = np.inf, seed: int = 0) -> list[Separation]:
        """What each oracle finds at a point, or over the box around it.

        One that can use it knows how much room the margin leaves, and the seconds left.
        """
        return [
            ask(
                tuned(oracle, near=max(0.5 * margin, 0.0), seconds=left),
                self.program.violation(f, point.x, radius=point.box),
                seed=seed,
            )
            for f, oracle in enumerate(self.oracles)
        ]

    def bounds(self, separations: list[Separation]) -> Bounds:
        """What is proven of the violation at the point that was separated."""
        return Bounds.of(self.program, self.oracles, separations)

    def replaced(self, state: State, other: Proposal) -> bool:
        """Whether another point keeps every index, and is the current one now; otherwise what it breaks is cut off."""
        separations = self.separate(other, state.margin)
        violation = self.bounds(separations)
        if violation.worst > 0:
            self.add(cuts_at(separations))
            return False
        state.accept(other)
        state.violation = violation
        return True

    def direction(self, clock: Clock) -> Ray | Array | None:
        """A proven direction of unboundedness; one that seems to be one, where the proof fails; None without any."""
        return None

    def farther(self) -> bool:
        """Let the box that stands in for infinite bounds reach farther out; whether it still may."""
        return False

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

    def rounding(self, point: Proposal, separations: list[Separation], violation: float) -> float:
        """What rounding makes of rows at a point where a violation is largest, if it may be as much; 0 otherwise.

        Where nothing was found, the rows are those that the point rests on.
        """
        if violation > rounding_of(4.0 * (1.0 + float(np.abs(point.x).sum()))):  # coefficients are about 1 over Y
            return 0.0
        rows = cuts_at(separations, -np.inf) or list(point.support)
        return rounding_of(max(row_terms(self.program, point.x, rows), default=0.0))

    def begin_bounded(self, state: State) -> None:  # noqa: B027 - the first step has bounds soon enough
        """Prove a lower bound before the first step, where that may take long."""

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
        """What the multipliers of a proposal prove about the optimum.

        The atoms of an earlier proof are few, and tried first; cuts are many.
        """
        program, share, units = self.program, self.tuning.proof_share * allowed, self.units(centre)
        if self.proof:
            found = prove_lower(program, proposal.support, proposal.rows, centre, units, share, self.proof)
            if np.isinf(found.radius) and found.value >= self.value(centre) - allowed:
                return found
        every = (*self.proof, *self.held.cuts)
        return prove_lower(program, proposal.support, proposal.rows, centre, units, share, every)

    def contradiction(self, proposal: Proposal, x: Array) -> Certificate | None:
        """A proof that no point is feasible, from multipliers whose combination contradicts itself."""
        return infeasible(self.program, proposal.support, proposal.rows, x, tuple(self.held.cuts))

    def excess(self, point: Proposal) -> float:
        """By how much a point may break finite rows that no proof can mend; -inf where it can."""
        return -np.inf

    def extras(self, best: Feasible | None, last: Proposal) -> dict[str, Any]:
        """What the answer has besides; `best` is the point behind it, `last` the one where there is none."""
        return {}


def counted(number: int, thing: str) -> str:
    """A number of things, in words."""
    return f"{number} {thing}{'' if number == 1 else 's'}"
