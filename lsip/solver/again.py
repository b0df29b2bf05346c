"""Solving again: what an earlier answer says about a program that has changed a little, and one try to end with that.

Where the same constraints hold the solution in place, Newton's method leads from the last answer to the new one: its
point and its multipliers are proven like any other, and no relaxation is solved at all. Where that fails, the exchange
begins with the index points of the last answer, and with those that the try has found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..errors import OutOfTime
from ..model.program import Layout, Program
from ..oracles import Separation, pick_oracle
from ..oracles.distinct import distinct
from ..proof.certificate import Support
from ..proof.dual import Dual
from ..proof.families import Bounds
from ..proof.prove import Feasible, Lower, floor_share, own_terms, prove_lower, reproven
from ..proof.ray import Ray
from ..proof.scaling import Scaling, scaled, scaling_of
from ..solution.solution import Solution
from .clock import Clock
from .conditioning import Conditioning
from .newton import Polished, cluster, polish
from .options import LinearOptions
from .relaxation import Known, Relaxation
from .state import End, Goal, Proposal, State
from .tuning import NewtonTuning

Array = NDArray[np.float64]
Ints = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Kept:
    """What a solve keeps for the next one."""

    scaling: Scaling
    conditioning: Conditioning
    scale: float  # of right-hand sides
    units: Array  # (n,), of the variables


@dataclass(frozen=True, eq=False)
class Earlier:
    """An earlier answer in the terms of a program: its atoms where its constraints stand now."""

    cuts: tuple[Support, ...]
    support: tuple[Support, ...]
    rows: Array  # multipliers of finite rows
    x: Array | None  # None where there are other variables
    basis: tuple[Ints, Ints] | None  # columns that balance, and the multipliers that do; None where others stand there
    grown: bool = False  # whether there are constraints that it did not know

    def points(self, program: Program, tuning: NewtonTuning) -> tuple[Support, ...]:
        """Index points to begin with: those of the proof, and cuts that are not next to one of them.

        In large models, Newton's method seldom finds the last digits, and cuts on both sides of a maximiser do.
        """
        every, kept = (*self.support, *self.cuts), list[int]()
        apart = tuning.apart if program.n <= tuning.few else 0.0
        for f, family in enumerate(program.families):
            mine = np.array([i for i, s in enumerate(every) if s.family == f], dtype=np.intp)
            if len(mine):
                y, component = np.array([every[i].point for i in mine]), np.array([every[i].component for i in mine])
                radius = apart * (family.domain.upper - family.domain.lower)
                kept += mine[distinct(y, -mine.astype(float), component, radius, len(mine))].tolist()
        return tuple(every[i] for i in sorted(kept))

    @staticmethod
    def of(solution: Solution, program: Program) -> Earlier:
        """What a solution says; atoms of constraints that are gone are left out."""
        before, now, proof = solution.program.layout, program.layout, solution.certificate
        same_x = len(proof.x) == program.n
        if before is None or now is None or before.owner is not now.owner:  # taken to be alike, as far as it fits
            fits = partial(_fits, program)
            rows = proof.row_multipliers if len(proof.row_multipliers) == program.finite_rows else _none(program)
            cuts, support = (tuple(filter(fits, part)) for part in (solution.cuts, proof.support))
            return Earlier(
                cuts, support, rows, _at_bounds(solution.program, program, proof.x) if same_x else None, None
            )
        moved = _moves(before, now)
        cuts, support = (
            tuple(s for old in part if (s := moved(old)) is not None) for part in (solution.cuts, proof.support)
        )
        rows = _none(program)
        for statement, place in before.places.items():
            if place.family is None and statement in now.places and len(proof.row_multipliers):
                start = now.places[statement].start
                rows[start : start + place.end - place.start] = proof.row_multipliers[place.start : place.end]
        same_x = same_x and _variables(before) == _variables(now)
        stands = len(support) == len(proof.support) and np.array_equal(rows, proof.row_multipliers)
        x = _at_bounds(solution.program, program, proof.x) if same_x else None
        grown = any(statement not in before.places for statement in now.places)
        return Earlier(cuts, support, rows, x, (proof.balanced, proof.basis) if stands else None, grown)


def _none(program: Program) -> Array:
    return np.zeros(program.finite_rows)


def _variables(layout: Layout) -> tuple[int, ...]:
    return tuple(id(v) for v in getattr(layout.written, "variables", ()))


def _moves(before: Layout, now: Layout) -> Callable[[Support], Support | None]:
    """Where an atom of one layout stands in another; None where its constraint is gone."""
    owners: dict[int, list[Any]] = {}
    for statement, place in before.places.items():
        if place.family is not None:
            owners.setdefault(place.family, []).append((place, statement))

    def moved(s: Support) -> Support | None:
        for place, statement in owners.get(s.family, ()):
            if place.start <= s.component < place.end and statement in now.places:
                there = now.places[statement]
                component = there.start + s.component - place.start
                return None if there.family is None else replace(s, family=there.family, component=component)
        return None

    return moved


def _fits(program: Program, s: Support) -> bool:
    """Whether there is a row for an atom, at a point of its index set."""
    if s.family >= len(program.families):
        return False
    family = program.families[s.family]
    fits = s.component < len(family.columns) and len(s.point) == family.domain.dim
    return bool(fits and family.domain.contains(s.point[None, :])[0])


def _at_bounds(before: Program, now: Program, x: Array) -> Array:
    """The same point; what was at a bound goes with it."""
    x = np.where((x == before.lower) & np.isfinite(now.lower), now.lower, x)
    x = np.where((x == before.upper) & (before.lower < before.upper) & np.isfinite(now.upper), now.upper, x)
    return np.clip(x, now.lower, now.upper)


def resumed(given: Program, method: LinearOptions, otherwise: Callable[[Sequence[Support]], Relaxation]) -> Relaxation:
    """A try to end with the earlier answer of `method.warm_start`, or what there is `otherwise`."""
    warm = method.warm_start
    assert warm is not None
    earlier = Earlier.of(warm, given)
    made = Resumed.of(given, method, earlier, warm, otherwise)
    if made is None:
        return otherwise(earlier.points(given, method.tuning.newton))
    return made.otherwise() if (earlier.grown and made.broken()) or not made._polish() else made


class Resumed(Relaxation):
    """The point to which Newton's method leads from an earlier answer, and its multipliers."""

    def __init__(
        self,
        given: Program,
        method: LinearOptions,
        earlier: Earlier,
        kept: Kept,
        otherwise: Callable[[Sequence[Support]], Relaxation],
    ) -> None:
        self.given, self.method, self.earlier, self.kept, self._otherwise = given, method, earlier, kept, otherwise
        known, x = kept.scaling, np.asarray(earlier.x)
        value = known.objective * float(given.c @ x + given.constant)
        self.relative = abs(value) >= method.tuning.newton.telling and known.suits(given)
        self.scaling = known if self.relative else scaling_of(given)
        self.program = known.apply(given) if self.relative else scaled(given)
        self.proof_share = method.tuning.proof_share
        self.oracles = [method.oracle or pick_oracle(f) for f in self.program.families]
        self.found: list[Support] = []
        factors, s = self.scaling.families, self.scaling.objective
        self.support = tuple(
            replace(a, multiplier=a.multiplier * s / float(factors[a.family][a.component])) for a in earlier.support
        )
        self._rows = earlier.rows * s / self.scaling.rows if len(earlier.rows) else earlier.rows
        self.state = self._state()
        self.point = Polished(self.state.x, self.support, self._rows)
        self.stands = False  # whether its atoms are those of the earlier proof, one by one

    @staticmethod
    def of(
        given: Program,
        method: LinearOptions,
        earlier: Earlier,
        warm: Solution,
        otherwise: Callable[[Sequence[Support]], Relaxation],
    ) -> Resumed | None:
        """One, if the earlier answer has what it takes."""
        kept, total = getattr(warm, "kept", None), sum(s.multiplier for s in earlier.support)
        if not isinstance(kept, Kept) or earlier.x is None or not total > 0 or not method.polish:
            return None
        if not warm.certified or not np.isfinite(warm.upper - warm.lower):
            return None
        return Resumed(given, method, earlier, kept, otherwise)

    def broken(self) -> bool:
        """Whether the earlier point breaks a constraint, as a few points show; Newton's method knows old ones only."""
        found = self.sample(self.state, self.state.proposal)
        for f, separation in enumerate(found or ()):
            worst = zip(separation.points, separation.components, separation.values, strict=True)
            self.found += [Support(f, int(c), y, 0.0) for y, c, v in worst if v > 0]
        return found is not None or self.program.finite_violation(self.state.x) > self.state.margin

    def _state(self) -> State:
        program, tuning, tol = self.program, self.method.tuning, self.method.tol
        atol = 0.0 if self.relative and self.method.atol is None else self.method.atol
        goal = Goal(tol, None if atol is None else self.scaling.objective * atol, partial(floor_share, program))
        x = np.asarray(self.earlier.x) / self.scaling.columns
        state = State(goal, 0.0, Proposal(x), Bounds((np.inf,) * len(program.families)))
        total = sum(s.multiplier for s in self.support)
        wanted = tuning.margin_share * state.allowed(float(program.c @ x) + program.constant) / total
        state.margin = min(max(wanted, tuning.finest_margin), tuning.margins.largest * self.kept.scale)
        return state

    def _polish(self) -> bool:
        """Move what holds the solution in place; what only makes up for rounding in a proof stays where it is."""
        program, tuning = self.program, self.method.tuning
        total = sum(s.multiplier for s in self.support)
        heavy = [i for i, s in enumerate(self.support) if s.multiplier > tuning.newton.light * total]
        held = tuple(self.support[i] for i in heavy)
        if len(cluster(program, held, [])) < len(held):  # a maximiser in two parts
            held = cluster(program, held, [])
            heavy = []
        if len(held) > program.n:
            return False
        basis = self.kept.conditioning.basis()
        moved = self.kept.scaling.columns / self.scaling.columns
        if (moved != 1).any():
            basis = sparse.diags(moved) @ basis
        rows, x, steps = self._rows, self.state.x, tuning.newton.steps
        try:
            found = polish(program, x, held, rows, self.state.margin, basis, steps, np.inf, tuning.newton.trusted)
        except OutOfTime:
            return False
        if found is None:
            return False
        self.point, self.stands = found, len(heavy) > 0
        if self.stands:
            support = list(self.support)
            for i, s in zip(heavy, found.support, strict=True):
                support[i] = s
            self.point = replace(found, support=tuple(support))
        return True

    @property
    def cuts(self) -> Sequence[Support]:
        return (*self.earlier.cuts, *self.found)

    @property
    def scale(self) -> float:
        return self.kept.scale

    def begin(self) -> State:
        return self.state

    def describe(self) -> list[str]:
        return [f"{self.program.name}: solved again", f"Newton's method from the last answer, tol {self.method.tol:g}"]

    def relax(self, state: State) -> Proposal | End:
        x, support, rows = self.point.x, self.point.support, self.point.row_multipliers
        value = float(self.program.c @ x) + self.program.constant
        own = own_terms(self.program, x, sum(s.multiplier for s in support))
        state.accept(Proposal(x, value, support, rows), 1.0, own)
        return state.proposal

    def sample(self, state: State, point: Proposal) -> list[Separation] | None:
        """A violation that a few points show is no proof's business."""
        found = [self._tried(f, point.x) for f in range(len(self.program.families))]
        return found if max((s.worst for s in found), default=-np.inf) > state.margin else None

    def _tried(self, f: int, x: Array) -> Separation:
        """The worst of a few points."""
        violation, domain = self.program.violation(f, x), self.program.families[f].domain
        points = domain.spread(self.method.tuning.newton.tried)
        values = violation.values(points)
        worst = values.argmax(axis=0)
        component = np.arange(len(worst))
        return Separation(points[worst], values[worst, component], np.inf, component)

    def add(self, new: list[Support], known: Known | None = None) -> int:
        self.found += new
        return len(new)

    def confirm(self, state: State) -> bool:
        return state.violation.worst <= 0

    def otherwise(self) -> Relaxation:
        """The exchange, with what was found here."""
        return self._otherwise((*self.earlier.points(self.given, self.method.tuning.newton), *self.found))

    def lower(self, proposal: Proposal, centre: Array, allowed: float) -> Lower:
        share = self.proof_share * allowed
        if self.stands and self.earlier.basis is not None:
            balanced, basis = self.earlier.basis
            found = reproven(self.program, Dual(proposal.support, proposal.rows, balanced, basis), centre, share)
            if found is not None:
                return found
        spare = (*self.support, *self.earlier.cuts)
        return prove_lower(self.program, proposal.support, proposal.rows, centre, self.units(centre), share, spare)

    def units(self, x: Array) -> Array:
        found: Array = np.abs(x) + self.kept.units * self.kept.scaling.columns / self.scaling.columns
        return found

    def deepest(self, state: State) -> Proposal | None:
        return None

    def direction(self, clock: Clock) -> Ray | Array | None:
        return None

    def farther(self) -> bool:
        return False

    def extras(self, best: Feasible | None, last: Proposal) -> dict[str, Any]:
        return {"kept": self.kept}
