"""The seam of the cut loop: a relaxation is a finite program that proposes points and grows by cuts.

Linear programs, convex ones, decomposed ones and robust counterparts are relaxations. A relaxation has eight methods;
whatever is the same for all of them is a function of the program and its oracles below. Everything that only speeds a
solve up is a strategy, a function of the running solve: Newton steps, the centre of the optimal face.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from typing import Any, ClassVar, Protocol

import numpy as np

from ..model.program import Program
from ..oracles import Oracle, Separation, ask, is_prover, pick_oracle, prover, tuned
from ..proof.certificate import Array, Support
from ..proof.families import Bounds
from ..proof.gap import closed, unresolved
from ..proof.prove import DualBound, Incumbent, prove_lower, rounding_of, row_terms
from ..proof.ray import Ray
from ..reductions.equilibration import Scaling
from ..reductions.rounding import data_rounding
from .clock import Clock
from .options import Options
from .rows import Known, cuts_at
from .state import End, Proposal, State


class Held(Protocol):
    """The cuts of a relaxation."""

    cuts: list[Support]

    @property
    def scale(self) -> float:
        """The size of the right-hand sides."""

    def add(self, new: list[Support], known: Known | None = None) -> int:
        """Append cuts, where the rows of some families are known; return their number."""


class Relaxation(ABC):
    """A finite program with cuts, in units of its own; `reductions.chain` maps its answers back.

    Attributes
    ----------
    strategies
        Called after every iteration, in this order.
    sampling
        Finds violations before any oracle is asked; None, or an answer of None, asks the oracles.
    recession
        Finds a direction of unboundedness: proven, a candidate where the proof fails, or None.
    fallback
        Makes the relaxation to continue with after the next proposal; None where this one goes on.
    """

    held: Held
    outline: tuple[str, str]  # the size of the program in words, and the solver of its relaxations after a comma
    strategies: tuple[Strategy, ...] = ()
    sampling: Callable[[State, Proposal], list[Separation] | None] | None = None
    recession: Callable[[Clock], Ray | Array | None] | None = None
    fallback: Callable[[], Relaxation] | None = None
    start: Proposal | None = None  # the point before the first iteration
    proof: tuple[Support, ...] = ()  # the atoms of an earlier proof
    separated: tuple[Proposal, list[Separation]] | None = None  # a proposal that the oracles were asked about already
    accuracy: ClassVar[float] = 1e-14  # of x, relative to its size: smaller moves are none
    negligible: ClassVar[float] = 1e-9  # the share of all multipliers below which an atom is no active point
    escape: ClassVar[str] = ""  # the message where the box that replaces infinite bounds cannot grow any more

    def __init__(self, program: Program, options: Options, atol: float | None = None) -> None:
        """Relax a reduced program; `atol` is the absolute gap by default, in the units of what was written."""
        self.program, self.scaling, self.options, self.tuning = program, Scaling.of(program), options, options.tuning
        self.oracles = [options.separation or pick_oracle(f) for f in program.families]
        self.units = np.ones(program.n)  # the natural size of each variable
        atol = atol if options.atol is None else options.atol
        self.atol = data_rounding(self.scaling.given) if atol is None else atol

    @abstractmethod
    def propose(self, state: State) -> Proposal | End:
        """Solve the relaxation; where it has no solution, lower the margin or prove infeasibility."""

    def add(self, new: list[Support], known: Known | None = None) -> int:
        """Append cuts; return their number."""
        return self.held.add(new, known)

    def drop(self) -> None:  # noqa: B027 - a relaxation may keep all cuts
        """Drop cuts that have been slack for long."""

    def inner_point(self, margin: float = np.inf) -> Proposal | None:
        """The best point that keeps every cut by `margin`, or the one with most room; None where none is known."""
        return None

    def lower_bound(self, state: State, proposal: Proposal, centre: Array, allowed: float) -> DualBound:
        """What the multipliers of a proposal prove about the optimum; the proof may give up a share of `allowed`."""
        return multiplier_bound(self, proposal, centre, allowed)

    def confirm(self, state: State) -> bool:
        """Whether the current proposal may be proven as it is; otherwise the next one is better."""
        return True

    def zoom(self, state: State, *, out: bool) -> bool:
        """Enlarge the box that replaces infinite bounds (`out`), or magnify small margins; whether that is possible."""
        return False

    def extras(self, best: Incumbent | None, last: Proposal) -> dict[str, Any]:
        """Further fields of the answer; `best` is the point behind it, `last` the proposal where there is none."""
        return {}


class Search:
    """A running solve, as strategies and proofs see it."""

    given: Program  # as it was written
    options: Options
    clock: Clock
    relaxation: Relaxation
    program: Program  # that of the relaxation
    state: State
    regional = 0  # bounds that closed the gap, but hold in a region only
    unclosed = 0  # bounds that left the gap open
    unproven_rays = 0  # directions of unboundedness that could not be proven
    due = 0  # the iteration from which on the next lower bound is worth its proof

    def closed(self, best: Incumbent, lower: DualBound) -> bool:
        """Whether these bounds are close enough, for whoever checks them again as well."""
        tol, atol = self.state.tol, self.state.atol
        if self.options.atol is None and not closed(lower.value, best.upper, tol, 0.0):
            atol = min(atol, unresolved(self.program, lower.size, lower.dual.support))
        return closed(lower.value, best.upper, tol, atol)


Strategy = Callable[[Search, list[Separation]], End | None]  # returns the end, if it leads there


def begin(relaxation: Relaxation) -> State:
    """What is known before the first iteration."""
    program, tol, atol = relaxation.program, relaxation.options.tol, relaxation.scaling.objective * relaxation.atol
    x = np.clip(np.zeros(program.n), program.lower, program.upper)
    margin = relaxation.tuning.share * tol * relaxation.held.scale
    none = Bounds((np.inf,) * len(program.families))
    return State(tol, atol, margin, relaxation.start or Proposal(x), none)


def describe(relaxation: Relaxation) -> list[str]:
    """Two lines about what is solved, and how."""
    size, solver = relaxation.outline
    kinds = Counter((f.legend.shown, len(f.columns)) for f in relaxation.program.families)
    families = "; ".join(
        f"{'' if number == 1 else f'{number} families, '}index dimension {m}, {counted(rows, 'row')} per index point"
        for (m, rows), number in kinds.items()
    )
    return [
        f"{relaxation.program.name}: {size}; {families or 'no index'}",
        f"oracle {oracle_names(relaxation.oracles)}{solver}, tol {relaxation.options.tol:g}",
    ]


def oracle_names(oracles: list[Oracle]) -> str:
    """For people."""
    return ", ".join(dict.fromkeys(type(o).__name__ for o in oracles)) or "none needed"


def counted(number: int, thing: str) -> str:
    """A number of things, in words."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def objective(program: Program, x: Array) -> float:
    """The objective at x."""
    return float(program.c @ x) + program.constant


def separate(
    relaxation: Relaxation, point: Proposal, margin: float, left: float = np.inf, seed: int = 0
) -> list[Separation]:
    """What each oracle finds at a point, or over the box around it.

    An oracle that can use it knows how much room the margin leaves, and the seconds left.
    """
    return [
        ask(
            tuned(oracle, near=max(0.5 * margin, 0.0), seconds=left),
            relaxation.program.violation(f, point.x, radius=point.box),
            seed=seed,
        )
        for f, oracle in enumerate(relaxation.oracles)
    ]


def violation_bounds(relaxation: Relaxation, separations: list[Separation]) -> Bounds:
    """What is proven about the violation at the point that was separated."""
    return Bounds.of(relaxation.program, relaxation.oracles, separations)


def promote(relaxation: Relaxation) -> bool:
    """Ask lsip's own provers from now on, where the default is a search that proves nothing; whether that is new."""
    if relaxation.options.oracle is not None:
        return False
    pairs = list(zip(relaxation.program.families, relaxation.oracles, strict=True))
    relaxation.oracles = [oracle if is_prover(oracle) else prover(family) or oracle for family, oracle in pairs]
    return any(new is not old for new, (_, old) in zip(relaxation.oracles, pairs, strict=True))


def replace_proposal(relaxation: Relaxation, state: State, other: Proposal) -> bool:
    """Whether another point is feasible for every index, and current from now on; otherwise cut off where it is not."""
    separations = separate(relaxation, other, state.margin)
    violation = violation_bounds(relaxation, separations)
    if violation.worst > 0:
        relaxation.add(cuts_at(separations))
        return False
    state.accept(other)
    state.violation = violation
    return True


def rounding_error(program: Program, point: Proposal, separations: list[Separation], violation: float) -> float:
    """The rounding error of rows at a point where a violation is largest, if it may be as much; 0 otherwise.

    Where nothing was found, the rows are those with multipliers.
    """
    if violation > rounding_of(4.0 * (1.0 + float(np.abs(point.x).sum()))):  # coefficients are about 1 over Y
        return 0.0
    rows = cuts_at(separations, -np.inf) or list(point.support)
    return rounding_of(max(row_terms(program, point.x, rows), default=0.0))


def multiplier_bound(relaxation: Relaxation, proposal: Proposal, centre: Array, allowed: float) -> DualBound:
    """What multipliers prove with the help of all cuts; the atoms of an earlier proof are few, and tried first."""
    program, share = relaxation.program, relaxation.tuning.share * allowed
    units, known = np.abs(centre) + relaxation.units, relaxation.proof
    if known:
        found = prove_lower(program, proposal.support, proposal.rows, centre, units, share, known)
        if np.isinf(found.radius) and found.value >= objective(program, centre) - allowed:
            return found
    return prove_lower(program, proposal.support, proposal.rows, centre, units, share, (*known, *relaxation.held.cuts))
