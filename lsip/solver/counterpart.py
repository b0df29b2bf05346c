"""Solving the robust counterpart: one finite program by duality, whose answer is proven like any other.

Its multipliers give the worst index points, and those of a point inside say where all solutions must lie, so that the
lower bound needs no variable to balance exactly. Where that does not end the solve, the exchange goes on from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..deadline import EFFORT
from ..domains.lifted import Lifted, lifted
from ..expressions.interval import TINY
from ..masters.base import MasterError
from ..masters.checked import open_program
from ..masters.clarabel import CLARABEL
from ..masters.elastic import contradiction
from ..masters.highs import HIGHS
from ..model.program import STORAGE, Program
from ..model.status import Status
from ..proof.certificate import Array, Ints, Support
from ..proof.prove import DualBound, infeasible, prove_confined
from ..reductions.chain import reduce
from ..reductions.robust_counterpart import counterpart, unsuited
from .linear import LinearRelaxation
from .linear_master import ACCURACY
from .options import Options
from .rays import ROUNDED
from .relaxation import Relaxation, counted, objective, separate
from .state import End, Proposal, State
from .warm_start import HeldCuts


@dataclass(frozen=True)
class CounterpartTuning:
    """When a counterpart is chosen.

    Parameters
    ----------
    many
        From so many variables on, a counterpart is chosen where nothing else is asked for. With fewer, an exchange is
        as fast, and its multipliers balance exactly more often, which other programs can check. Rules of 64, 166 and
        316 coefficients for an inventory took an exchange 0.1, 1.2 and 10 s, and a counterpart on a busier machine 0.2,
        0.4 and 1.0 s; those of 32 for a newsvendor 0.17 and 0.06 s.
    """

    many: int = 30


TUNING = CounterpartTuning()


def expected_whole(program: Program, options: Options) -> bool:
    """Whether a branch and bound is given the whole counterpart: its rows are linear, and not too many."""
    if unasked(options) and unsuited(program) is None:
        parts = [(len(f.columns), part) for f in program.families for part in lifted(f.domain)]
        return _size(parts) <= EFFORT.entries and not any(part.cones for _, part in parts)
    return False


def unasked(options: Options) -> bool:
    """Whether nobody asked for another way."""
    return options.oracle is None and options.start is None and options.master == "highs"


def _size(parts: Sequence[tuple[int, Lifted]]) -> int:
    """Rows and columns of a counterpart whose parts have so many components each."""
    return sum(p * (part.size + len(part.sides)) for p, part in parts)


def expected_faster(program: Program, options: Options) -> bool:
    """Whether a counterpart is expected to be solved before an exchange would be: rows of many variables."""
    if not unasked(options) or program.n < TUNING.many or unsuited(program) is not None:
        return False
    parts = [(len(f.columns), part) for f in program.families for part in lifted(f.domain)]
    if any(part.corners for _, part in parts):  # few of many points are asked for
        return False
    return _size(parts) <= EFFORT.entries


class CounterpartRelaxation(Relaxation):
    """The counterpart as a relaxation whose first point is the last, if all goes well."""

    negligible: ClassVar[float] = 1e-6  # pushes are no active points

    def __init__(self, given: Program, options: Options) -> None:
        super().__init__(reduce(given), options)
        self.finite, self.held = counterpart(self.program), HeldCuts([], 1.0)
        size = f"{counted(self.program.n, 'variable')}, {counted(self.program.A.shape[0], 'finite row')}"
        rows, columns = self.finite.A.shape
        self.outline = size, f", one finite program with {counted(columns, 'variable')} and {counted(rows, 'row')}"
        # The exchange goes on from the worst points of the counterpart.
        self.fallback = lambda: LinearRelaxation(given, options, self.held.cuts)

    def propose(self, state: State) -> Proposal | End:
        finite, n, tuning = self.finite, self.program.n, self.tuning
        live = open_program(CLARABEL if finite.cones else HIGHS, finite, state.tol)
        central = finite.central()
        toll, inner = (finite.A.T @ central)[:n], np.flatnonzero(central)
        robust, free = self._robust(), self.program.lower < self.program.upper
        push, state.margin = state.tol / len(robust), tuning.share * state.tol
        for _ in range(tuning.tries):
            # Pushed away from every row a little, the multipliers that balance this are those of the program itself.
            cost = np.concatenate([self.program.c + push * toll, finite.c[n:]])
            live.change(cost, sides=finite.kept_by(state.margin, free))
            found = live.optimum()
            if found is None:
                return self._contradiction(state) or state.proposal
            multipliers = found[1]
            x = np.clip(found[0][:n], self.program.lower, self.program.upper)
            # Half of the push makes up for multipliers that the solver leaves below zero, half is atoms of its own.
            middle, _ = self.finite.inverse(0.5 * push * central)
            support, rows = self.finite.inverse(multipliers + 0.5 * push * central)
            support = (*support, *middle)
            point = Proposal(x, objective(self.program, x), support, rows)
            state.terms = abs(point.value)
            allowed = state.allowed(point.value)
            mass = float(np.abs(multipliers[robust]).sum())
            room = float(central[inner] @ finite.row_upper[inner] - toll @ x)  # at the centres of index sets
            paid, worst = (push * room, state.margin * mass), 0.0
            if paid[0] >= 0.5 * tuning.share * allowed and sum(paid) <= tuning.margin_share * allowed:
                self.separated = point, separate(self, point, state.margin)
                worst = max((s.bound for s in self.separated[1]), default=0.0)
                if worst <= 0:
                    break
            push = min(0.4 * tuning.margin_share * allowed / max(room, TINY), tuning.largest_margin)
            state.margin = 0.4 * tuning.margin_share * allowed / max(mass, TINY)
            state.margin = max(state.margin, ACCURACY, 2 * worst)
        state.accept(point)
        return point

    def _contradiction(self, state: State) -> End | None:
        """The end, if every point is proven to break a robust row: the multipliers of the least violation say how."""
        finite = self.finite
        if finite.cones:
            return None
        try:
            slack, multipliers = contradiction(HIGHS, finite, state.tol)
        except MasterError:
            return None
        if slack <= state.tol:
            return None
        spare = finite.inverse(finite.central())[0]
        for support, rows in (self._simple(multipliers), finite.inverse(multipliers)):
            certificate = infeasible(self.program, support, rows, state.x, spare)
            if certificate is not None:
                return End(Status.INFEASIBLE, certificate=certificate)
        return None

    def _simple(self, multipliers: Array) -> tuple[tuple[Support, ...], Array]:
        """The measure with weights relative to the largest, and points relative to their index set, to fewer digits.

        A contradiction may be multiplied by anything. Rows that are to cancel have the same weight and the same corner
        often, and differ by rounding alone.
        """
        support, rows = self.finite.inverse(multipliers)
        largest = max([*(s.multiplier for s in support), float(np.abs(rows).max(initial=0.0)), TINY])
        found = []
        for s in support:
            domain = self.program.families[s.family].domain
            share = (s.point - domain.lower) / np.maximum(domain.upper - domain.lower, TINY)
            corner = np.where(share > 0.5, domain.upper, domain.lower)
            y = np.where(np.abs(share - np.rint(share)) <= ROUNDED, corner, s.point)
            found.append(Support(s.family, s.component, y, _fewer(s.multiplier / largest)))
        return tuple(found), np.array([_fewer(v / largest) for v in rows])

    def _robust(self) -> Ints:
        """The rows of the counterpart that families begin with."""
        return np.concatenate([np.arange(b.first, b.first + len(b.inner)) for b in self.finite.blocks])

    def lower_bound(self, state: State, proposal: Proposal, centre: Array, allowed: float) -> DualBound:
        best = state.incumbent
        if best is not None and len(proposal.rows) == self.program.finite_rows:
            found = prove_confined(self.program, proposal.support, proposal.rows, best)
            if found is not None and (best.upper - found.value <= allowed or self.program.n > STORAGE.most_dense):
                return found
        return super().lower_bound(state, proposal, centre, allowed)


def _fewer(weight: float) -> float:
    """A number with no digits beyond those that count."""
    unit = 2.0 ** np.floor(np.log2(ROUNDED))
    return float(np.rint(weight / unit) * unit)
