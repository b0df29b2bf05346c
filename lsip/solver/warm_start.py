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

from ..domains import Domain
from ..errors import OutOfTime
from ..expressions.interval import EPS, TINY
from ..model.program import STORAGE, Layout, Program
from ..oracles import Separation
from ..oracles.attained import distinct
from ..oracles.base import Ints
from ..proof.certificate import Array, Certificate, Support
from ..proof.dual import Dual
from ..proof.linear_algebra import ROUNDING
from ..proof.prove import DualBound, Incumbent, reproven
from ..reductions.chain import forward, reduce
from ..reductions.equilibration import Scaling
from ..solution.solution import Solution
from .conditioning import Conditioning
from .newton import cluster, movable, polish
from .options import Options
from .relaxation import Relaxation, begin, counted, objective
from .rows import Known, cut_rows, cuts_at
from .state import End, Proposal, State
from .tuning import Tuning

Mask = NDArray[np.bool_]

# The exchange that begins with some index points; the atoms of an earlier proof are tried first in its own.
Exchange = Callable[[Sequence[Support], tuple[Support, ...]], Relaxation]


# The share of all multipliers below which an atom of an earlier proof only makes up for rounding, and residuals that
# the next step squares to nothing.
LIGHT = np.sqrt(EPS)


@dataclass(frozen=True, eq=False)
class WarmStartData:
    """What a solve keeps for the next one."""

    scaling: Scaling
    conditioning: Conditioning
    scale: float  # of right-hand sides


@dataclass(frozen=True, eq=False)
class Earlier:
    """An earlier answer in the terms of a program: its atoms where its constraints stand now."""

    cuts: tuple[Support, ...]
    support: tuple[Support, ...]
    rows: Array  # multipliers of finite rows
    x: Array | None  # None where there are other variables
    basis: tuple[Ints, Ints] | None  # columns that balance, and the multipliers that do; None where others stand there
    grown: bool = False  # whether there are constraints that it did not know

    def points(self, program: Program, tuning: Tuning) -> tuple[Support, ...]:
        """Index points to begin with: those of the proof, and cuts that are not next to one of them.

        In large models, Newton's method seldom finds the last digits, and cuts on both sides of a maximiser do. Of many
        cuts, those with least room at the last point say most about the next one; from solve to solve they would pile
        up otherwise.
        """
        every, kept = (*self.support, *self.cuts), list[int]()
        apart = tuning.largest_margin if program.n <= STORAGE.most_dense else 0.0
        for f, family in enumerate(program.families):
            mine = np.array([i for i, s in enumerate(every) if s.family == f], dtype=np.intp)
            if len(mine):
                y, component = np.array([every[i].point for i in mine]), np.array([every[i].component for i in mine])
                radius = apart * (family.domain.upper - family.domain.lower)
                kept += mine[distinct(y, -mine.astype(float), component, radius, len(mine))].tolist()
        chosen = [every[i] for i in sorted(kept)]
        if self.x is None or len(chosen) <= (most := tuning.tries * program.n + tuning.least_points):
            return tuple(chosen)
        rows, rhs = cut_rows(program, chosen)
        room = (rhs - rows @ self.x) / np.maximum(abs(rows) @ np.abs(self.x) + np.abs(rhs), TINY)
        return tuple(chosen[i] for i in np.sort(room.argsort(kind="stable")[:most]))

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
            _inside(program, tuple(s for old in part if (s := moved(old)) is not None), solution.program)
            for part in (solution.cuts, proof.support)
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
    there = before.moves(now)

    def moved(s: Support) -> Support | None:
        place = there.get((s.family, s.component))
        if place is None or place == (s.family, s.component):
            return None if place is None else s
        return s.at(*place)

    return moved


def _inside(program: Program, atoms: tuple[Support, ...], before: Program) -> tuple[Support, ...]:
    """Atoms at the nearest points of index sets that are none of those before: parameters have cut them elsewhere."""
    known, now = [f.domain for f in before.families], [f.domain for f in program.families]
    if all(a is b for a, b in zip(known, now, strict=False)) and len(known) >= len(now):
        return atoms
    other = [domain not in known for domain in now]
    return tuple(replace(s, point=now[s.family].project(s.point)[0]) if other[s.family] else s for s in atoms)


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


def warm_start(given: Program, options: Options, exchange: Exchange) -> Relaxation:
    """A try to end with the earlier answer of `options.warm_start`, or an `exchange` from its index points."""
    warm = options.warm_start
    assert warm is not None
    earlier, kept = Earlier.of(warm, given), getattr(warm, "kept", None)
    known = earlier.x is not None and warm.certified and np.isfinite(warm.upper - warm.lower)
    known = known and sum(s.multiplier for s in earlier.support) > 0
    if not (known and options.polish and isinstance(kept, WarmStartData)):
        return exchange(earlier.points(given, options.tuning), earlier.support)
    made = WarmStart(given, options, earlier, kept, exchange)
    return made if made.polished() else made.exchange()


@dataclass
class HeldCuts:
    """The cuts of an earlier answer, and index points that break the point that is tried."""

    cuts: list[Support]
    scale: float

    def add(self, new: list[Support], known: Known | None = None) -> int:
        self.cuts += new
        return len(new)


class WarmStart(Relaxation):
    """The point to which Newton's method leads from an earlier answer, and its multipliers."""

    def __init__(
        self,
        given: Program,
        options: Options,
        earlier: Earlier,
        kept: WarmStartData,
        exchange: Exchange,
    ) -> None:
        x = np.asarray(earlier.x)
        value = kept.scaling.objective * float(given.c @ x + given.constant)
        known = kept.scaling.extended(given) if abs(value) * options.tol >= ROUNDING else None
        if known is None:
            super().__init__(reduce(given), options)
        else:
            super().__init__(known.apply(), options, atol=0.0)  # those who check it have other units
            kept = replace(kept, scaling=known)
        self.given, self.earlier, self.kept, self._exchange = given, earlier, kept, exchange
        self.held = HeldCuts(list(earlier.cuts), kept.scale)
        answer = Certificate("none", x, -np.inf, np.inf, support=earlier.support, row_multipliers=earlier.rows)
        if earlier.basis is not None:
            answer = replace(answer, balanced=earlier.basis[0], basis=earlier.basis[1])
        moved = forward(self.program, answer)
        self.proof, self.basis = moved.support, (moved.balanced, moved.basis)
        self.start = self.first = self.point = Proposal(moved.x, support=moved.support, rows=moved.row_multipliers)
        self.units = kept.scaling.columns / self.scaling.columns
        self.outline = f"{counted(given.n, 'variable')}, solved again", ", Newton's method from the last answer"
        self.fallback = self.exchange
        self._spread: dict[Domain, Array] = {}  # a few points of every index set
        self.stands = False  # whether its atoms are those of the earlier proof, one by one

    def _entering(self, x: Array) -> tuple[Support, ...]:
        """Constraints that a point breaks, as a few index points show, where some are new."""
        if not self.earlier.grown:
            return ()
        found = [self._tried(f, x) for f in range(len(self.program.families))]
        entering = tuple(cuts_at(found, self._margin()))
        self.held.add(list(entering))
        return entering

    def _margin(self) -> float:
        """A margin that costs what it may."""
        allowed, tuning = begin(self).allowed(objective(self.program, self.first.x)), self.tuning
        wanted = tuning.margin_share * allowed / _total(self.first)
        return min(max(wanted, ROUNDING), tuning.largest_margin * self.kept.scale)

    def polished(self) -> bool:
        """Move what holds the solution in place; what only makes up for rounding in a proof stays where it is."""
        support = list(self.first.support)
        least = LIGHT * _total(self.first)
        heavy = sorted((i for i, s in enumerate(support) if s.multiplier > least), key=lambda i: support[i].family)
        holding = tuple(support[i] for i in heavy)
        merged = cluster(self.program, holding, [])
        self.stands = len(merged) == len(holding)  # no maximiser is in two parts
        found: Proposal | None = replace(self.first, support=holding if self.stands else merged)
        entering = self._entering(self.first.x)
        self.stands = self.stands and not entering
        for _ in range(self.tuning.tries):
            assert found is not None
            try:
                found = self._settled(self._entered(found, entering))
            except OutOfTime:
                return False
            if found is None:
                return False
            entering = self._entering(found.x)
            if not entering:
                break
        else:
            return False
        self.stands = self.stands and len(found.support) == len(holding)
        if self.stands:
            for i, s in zip(heavy, found.support, strict=True):
                support[i] = s
            found = replace(found, support=tuple(support))
        self.point = found
        return True

    def _entered(self, point: Proposal, entering: tuple[Support, ...]) -> Proposal:
        """The point with more atoms, each in the place of another one where there are as many as variables."""
        for new in entering:
            atoms = point.support
            if len(atoms) >= self.program.n:
                rows, _ = cut_rows(self.program, [*atoms, new])
                rows = rows.toarray() if not isinstance(rows, np.ndarray) else rows
                weights = np.array([s.multiplier for s in atoms])
                share = np.linalg.lstsq(rows[:-1].T, rows[-1], rcond=None)[0]  # the new row, made of the others
                step = np.where(share > 0, weights / np.where(share > 0, share, 1.0), np.inf)
                gone = int(step.argmin())
                moved = np.maximum(weights - step[gone] * share, 0.0) if share[gone] > 0 else weights
                each = zip(atoms, moved.tolist(), strict=True)
                atoms = tuple(s.weighing(v) for i, (s, v) in enumerate(each) if i != gone)
                new = new.weighing(float(step[gone])) if share[gone] > 0 else new
            point = replace(point, support=(*atoms, new))
        return point

    def _settled(self, first: Proposal) -> Proposal | None:
        """Where Newton's method leads; variables and atoms that hold the solution change sides, one time after another.

        A variable that comes to a bound stays there, one that the objective pulls off its bound leaves it, and an atom
        whose multiplier would be negative is no atom of the answer.
        """
        program, margin, steps = self.program, self._margin(), self.tuning.patience
        basis = self.kept.conditioning.basis()
        moved = self.kept.scaling.columns / self.scaling.columns
        if (moved != 1).any():
            basis = sparse.diags(moved) @ basis
        free = movable(program, first.x)
        for _ in range(self.tuning.tries):
            found = polish(program, first, margin, basis, steps, np.inf, LIGHT, free)
            if found is None:
                return None
            atoms = tuple(s for s in found.support if s.multiplier > 0)
            stay = free & movable(program, found.x)
            if len(atoms) == len(found.support) and (stay == free).all():
                stay = free | self._pulled(found, free)
                if (stay == free).all():
                    return found
            first, free = replace(found, support=atoms), stay
        return None

    def _pulled(self, point: Proposal, free: Mask) -> Mask:
        """Which variables at their bounds would gain by leaving them."""
        if free.all():
            return ~free
        program, tiny = self.program, LIGHT
        rows, _ = cut_rows(program, list(point.support))
        weights = np.array([s.multiplier for s in point.support])
        cost = program.c + rows.T @ weights + program.A.T @ point.rows
        room = tiny * (np.abs(program.c) + abs(rows).T @ weights)
        low = (point.x < 0.5 * program.lower + 0.5 * program.upper) | np.isinf(program.upper)
        return ~free & (program.lower < program.upper) & np.where(low, cost < -room, cost > room)

    def propose(self, state: State) -> Proposal | End:
        state.margin = self._margin()
        state.accept(replace(self.point, value=objective(self.program, self.point.x)), 1.0)
        return state.proposal

    def _tried(self, f: int, x: Array) -> Separation:
        """The worst of a few points."""
        domain = self.program.families[f].domain
        if domain not in self._spread:  # families may share it
            self._spread[domain] = domain.spread(self.tuning.least_points)
        points = self._spread[domain]
        values = self.program.violation(f, x).values(points)
        worst, component = values.argmax(axis=0), np.arange(values.shape[1])
        return Separation(points[worst], values[worst, component], np.inf, component)

    def exchange(self) -> Relaxation:
        """The exchange, with what was found here."""
        new = self.held.cuts[len(self.earlier.cuts) :]
        return self._exchange((*self.earlier.points(self.given, self.tuning), *new), self.earlier.support)

    def lower_bound(self, state: State, proposal: Proposal, centre: Array, allowed: float) -> DualBound:
        if self.stands and self.earlier.basis is not None:
            dual = Dual(proposal.support, proposal.rows, *self.basis)
            found = reproven(self.program, dual, centre, self.tuning.share * allowed)
            if found is not None:
                return found
        return super().lower_bound(state, proposal, centre, allowed)

    def extras(self, best: Incumbent | None, last: Proposal) -> dict[str, Any]:
        return {"kept": self.kept}


def _total(point: Proposal) -> float:
    """The mass of its dual measure."""
    return sum(s.multiplier for s in point.support)
