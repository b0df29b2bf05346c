"""Level steps: cutting planes that do not run off where many variables are free, such as coefficients of rules.

The optimum of a relaxation is a corner, and while cuts are few, one that is far out in every free variable; what is cut
off there says little about the optimum. So the next point is instead the one nearest to the last that keeps the cuts,
and whose objective lies below a level between the bounds (Lemaréchal, Nemirovskii & Nesterov, 1995). After a few steps
it is feasible, which is the upper bound. Where no point is left, the multipliers that say so are the lower one.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from ..deadline import check, within
from ..errors import OutOfTime
from ..expressions.interval import TINY
from ..masters.base import is_sparse
from ..model.program import Program
from ..oracles import Oracle, Separation, is_instant
from ..proof.certificate import Array, Support
from ..proof.prove import Feasible
from ..reductions.robust_counterpart import unsuited
from .certification import ask_oracles, closed_by
from .confining import Combination, Confining
from .halfspaces import Halfspaces, nearest
from .relaxation import Search, violation_bounds
from .rows import cut_rows, cuts_at, end_cuts
from .state import End, Proposal
from .tuning import LevelTuning


def suits(program: Program, oracles: list[Oracle], tuning: LevelTuning) -> bool:
    """Whether rules may run off: many variables, and oracles that cost next to nothing."""
    return (
        tuning.few < program.n
        and bool(program.families)
        and all(is_instant(oracle) for oracle in oracles)
        and unsuited(program) is None
    )


@dataclass
class Level:
    """Level steps after the first relaxation, until the bounds meet or no more is gained; then all slopes are held.

    Parameters
    ----------
    tuning
        How they are made.
    confining
        What proves lower bounds.
    """

    tuning: LevelTuning
    confining: Confining
    tried: bool = False

    def __call__(self, search: Search, separations: list[Separation]) -> End | None:
        if self.tried:
            return None
        self.tried = True
        cuts, program = list[Support](), search.program
        if program.n <= self.tuning.most:
            steps = _Steps(search, self.tuning, self.confining)
            # A part of the time is theirs, where it is limited.
            with suppress(OutOfTime, RuntimeError), within(self.tuning.most_time * search.clock.left()):
                end = steps.end()
                if end is not None:
                    return end
            cuts = [cut for cut in steps.held.cuts if cut is not None]
        check("exchange")
        # The exchange does better with these, and with all slopes held from the beginning.
        search.relaxation.add(list({cut.place: cut for cut in (*cuts, *end_cuts(program))}.values()))
        return None


class _Steps:
    """What level steps know."""

    def __init__(self, search: Search, tuning: LevelTuning, confining: Confining) -> None:
        self.search, self.tuning, self.program, self.confining = search, tuning, search.program, confining
        program = self.program
        A = program.A.toarray()
        above, below = np.isfinite(program.row_upper), np.isfinite(program.row_lower)
        loose = (program.row_lower < program.row_upper).astype(float)
        upper, lower = program.row_upper[above], -program.row_lower[below]
        self.finite = Halfspaces.of(A[above], upper, loose[above], np.flatnonzero(above), 1.0).joined(
            Halfspaces.of(-A[below], lower, loose[below], np.flatnonzero(below), -1.0)
        )
        eye, low, high = np.eye(program.n), np.isfinite(program.lower), np.isfinite(program.upper)
        self.bounds = Halfspaces.of(eye[high], program.upper[high], 0.0).joined(
            Halfspaces.of(-eye[low], -program.lower[low], 0.0)
        )
        self.held = self.finite.kept(self.finite.room == 0)
        self.margin, self.guess, self.proven = tuning.margin, -np.inf, -np.inf
        self.dual: Combination | None = None  # behind the guess
        self.inner: Combination | None = None  # of rows at the centres
        self.exhausted = False
        self.squares = 0  # projections by least squares

    def end(self) -> End | None:
        """The end, if the bounds meet; the last lower bound is proven in any case."""
        with suppress(RuntimeError):  # least squares may not come to an end, or be needed too often
            if (found := self._stepped()) is not None:
                return found
        return self._prove()

    def _stepped(self) -> End | None:
        """The end, if steps lead there."""
        state, tuning, program = self.search.state, self.tuning, self.program
        x = np.clip(np.zeros(program.n), program.lower, program.upper)
        for _ in range(tuning.steps):
            check("level step")
            self._separate(x)
            end = self._proven()
            if end is not None or self.exhausted:
                return end
            point, multipliers = self._projected(x, self._level())
            while point is None:
                if state.incumbent is not None and not self._bound(multipliers):
                    return None
                if state.incumbent is None:
                    self.margin *= tuning.finer
                    if self.margin < tuning.finest:
                        return None
                end = self._proven()
                if end is not None or self.exhausted:
                    return end
                point, multipliers = self._projected(x, self._level())
            if not multipliers.any():  # nothing is broken, and yet the point is not proven to be feasible
                self.margin *= 2
            x = np.clip(point, program.lower, program.upper)
            self._forget(multipliers)
        return None

    def _forget(self, multipliers: Array) -> None:
        """Drop what has had no multiplier for long; equalities stay."""
        held, tuning = self.held, self.tuning
        used = (multipliers[: len(held)] > 0) | ((held.room == 0) & (held.row >= 0))
        age = np.where(used, 0, held.age + 1)
        most = tuning.memory if self.search.state.incumbent is None else tuning.longer
        self.held = replace(held, age=age).kept(age <= most)

    def _separate(self, x: Array) -> bool:
        """Keep x where it is feasible, and hold what it breaks, or nearly does; whether it breaks nothing."""
        separations = ask_oracles(self.search, Proposal(x))
        close = -2 * self.margin
        outer = self.finite.a @ x - self.finite.side
        inside = max((s.bound for s in separations), default=0.0) <= 0 and outer.max(initial=-1.0) <= self.margin
        if inside:
            self._keep(x, separations)
        bound = self.bounds.a @ x - self.bounds.side
        more = self.finite.kept((outer > close) & (self.finite.room > 0)), self.bounds.kept(bound >= 0)
        self._hold(cuts_at(separations, close), *more)
        return bool(inside)

    def _hold(self, cuts: list[Support], *more: Halfspaces) -> None:
        rows, sides = cut_rows(self.program, cuts)
        rows = rows.toarray() if is_sparse(rows) else np.asarray(rows)
        self.held = self.held.with_new(Halfspaces.of(rows, sides, 1.0, cuts=cuts), *more)

    def _keep(self, x: Array, separations: list[Separation]) -> None:
        search, point = self.search, Proposal(x)
        known = violation_bounds(search.relaxation, separations)
        proven = None if known.trusts else known
        found = point.feasible(search.program, search.relaxation.oracles, proven, search.clock.left())
        if isinstance(found, Feasible):
            search.state.keep_feasible(found)

    def _level(self) -> tuple[Array, Array]:
        """The objective, and what it is to stay below; nothing before any point is feasible."""
        best = self.search.state.incumbent
        if best is None:
            return np.zeros((0, self.program.n)), np.zeros(0)
        level = max(self.guess, best.upper - self._least_gap())
        level += self.tuning.share * (best.upper - level)
        return self.program.c[None], np.array([level - self.program.constant])

    def _projected(self, x: Array, goals: tuple[Array, Array]) -> tuple[Array | None, Array]:
        """The nearest point that keeps what is held, and the goals (g, n) besides; None if there is none.

        Most of what is held is kept without being asked for: what had a multiplier, or is new, comes first.
        """
        held = self.held
        a, side = np.concatenate([held.a, goals[0]]), np.append(held.side - self.margin * held.room, goals[1])
        asked = np.append(held.age == 0, np.ones(len(goals[1]), dtype=bool))
        multipliers = np.zeros(len(side))
        while True:
            check("level step")
            start = multipliers[asked] > 0
            point, multipliers[asked], squares = nearest(x, a[asked], side[asked], self.tuning.empty, start)
            self.squares += squares
            if self.squares > self.tuning.squares:
                raise RuntimeError("Projections take too long.")
            if point is None:
                return None, multipliers
            more = ~asked & (a @ point - side > self.tuning.touching * self.margin)
            if not more.any():
                return point, multipliers
            asked = asked | more

    def _least_gap(self) -> float:
        """The gap that is tried while no lower bound is known."""
        best = self.search.state.incumbent
        assert best is not None
        terms = float(np.abs(self.program.c) @ np.abs(best.point.x)) + abs(self.program.constant)
        return max(self.tuning.guess * terms, self._allowed()) if self.guess == -np.inf else np.inf

    def _bound(self, multipliers: Array) -> bool:
        """What multipliers of an empty set say: c and rows cancel, so that no point is below what the sides add up to.

        Whether that is news.
        """
        found = self._combination(multipliers)
        if found is None or not found.value + self.program.constant > self.guess:
            return False
        self.guess, self.dual = found.value + self.program.constant, found
        if found.mass > 0:
            wanted = self.tuning.spent * self._allowed() / found.mass
            self.margin = min(self.margin, max(wanted, self.tuning.finest))
        return True

    def _combination(self, multipliers: Array) -> Combination | None:
        """Rows that cancel the first goal, by the multipliers of what is held, and then of the goals."""
        held, (goal, *more) = self.held, multipliers[len(self.held) :].tolist()
        if not goal > 0:
            return None
        weights = multipliers[: len(held)] / goal
        rows, finite = np.zeros(self.program.finite_rows), held.row >= 0
        np.add.at(rows, held.row[finite], (weights * held.sign)[finite])
        each = zip(held.cuts, weights.tolist(), strict=True)
        support = tuple(cut.weighing(w) for cut, w in each if cut is not None and w > 0)
        value, mass = -float(weights @ held.side), float(weights @ held.room)
        return Combination(support, rows, value, mass, sum(more) / goal)

    def _confining(self, best: Feasible) -> Combination | None:
        """Rows and the objective, which cancel the rows at the centres of all index sets: they confine every variable.

        At points that are no worse than the best, slacks at the centres add up to a few times what they do there.
        """
        tuning, x, program, toll, paid = (
            self.tuning,
            best.point.x,
            self.program,
            self.confining.toll,
            self.confining.paid,
        )
        most = tuning.roomy * max(paid - float(toll @ x), TINY)
        self._hold(list(self.confining.centres()))  # often these alone confine each other
        for _ in range(tuning.steps):
            check("level step")
            inside = self._separate(x)
            most = most * tuning.roomy if inside and paid - float(toll @ x) >= 0.5 * most else most
            goals = (
                np.stack([self.confining.toll, program.c]),
                np.array([self.confining.paid - most, best.upper - program.constant]),
            )
            point, multipliers = self._projected(x, goals)
            if point is None:
                found = self._combination(multipliers)
                return found and replace(found, value=found.value - found.share * float(goals[1][1]))
            x = np.clip(point, program.lower, program.upper)
            self._forget(multipliers)
        return None

    def _proven(self) -> End | None:
        """The end, if the bounds are proven to meet; a lower bound that makes the gap much smaller is proven, too."""
        best = self.search.state.incumbent
        closed = self._gap() <= self.tuning.enough * self._allowed()
        if best is None or not (closed or best.upper - self.proven >= self.tuning.worth * self._gap()):
            return None
        end = self._prove()
        self.exhausted = self.exhausted or closed  # where that is no end, rounding takes what is left
        return end

    def _prove(self) -> End | None:
        """What the combination behind the guess proves, with one that confines all variables."""
        best, state = self.search.state.incumbent, self.search.state
        if best is None or self.dual is None:
            return None
        self.proven = self.guess
        self.inner = self.inner or self._confining(best)
        if self.inner is None:
            self.exhausted = True
            return None
        gap = max(self._gap(), self._allowed())
        for lower in self.confining.lower(self.dual, self.inner, best, gap):
            state.keep_lower(lower)
            return closed_by(self.search, lower)
        return None

    def _gap(self) -> float:
        best = self.search.state.incumbent
        return np.inf if best is None else best.upper - self.guess

    def _allowed(self) -> float:
        best = self.search.state.incumbent
        return self.search.state.allowed(0.0 if best is None else best.upper)
