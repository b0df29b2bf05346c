"""Integer variables: a branch and bound proposes whole values, the exchange proves what they are worth for every index.

The finite program with the cuts known so far is solved over whole values; with the integer variables fixed at those
that it finds, the rest is a linear semi-infinite program. Its optimum is a feasible point, proven as always, and its
dual measure a few cuts after which these values cannot look better than they are; where they contradict the
constraints, the cuts of the contradiction exclude them. So no values are visited twice, up to tolerances. Where there
is a robust counterpart without cones, its branch and bound knows every index from the beginning, and one visit is all.
That nothing is better is what the branch and bound says, and is taken on trust, unless the problem without integrality
says so, too.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import replace
from functools import cached_property

import numpy as np

from ..deadline import check, within
from ..errors import ProofError
from ..expressions.interval import down
from ..masters import master_name
from ..model.peaks import largest
from ..model.program import Compilable, Program
from ..model.status import Status
from ..oracles import pick_oracle
from ..proof.certificate import Array, BoundAssumption, Certificate, Support, TreeAssumption
from ..proof.dual import TUNING as WEIGHING
from ..proof.dual import Dual
from ..proof.gap import closed, relative_gap
from ..proof.linear_algebra import exact_sums
from ..proof.primal import NotProven
from ..proof.prove import DualBound, optimal, prove_feasible
from ..reductions.chain import reduced_point
from ..reductions.forcing_rows import ForcingRows
from ..reductions.rounding import data_rounding
from ..solution import messages
from ..solution.result import Iterate
from ..solution.solution import Solution
from ..solution.verify import verify
from .counterpart import expected_whole
from .ending import nothing
from .integer_programs import IntegerCounterpart, IntegerRelaxation
from .loop import CutLoop, Run
from .options import Options
from .relaxation import counted, objective, oracle_names, separate
from .rows import cut_rows, cuts_at
from .state import End, Proposal


class IntegerRun(Run):
    """One solve of a program with integer variables: made as a `CutLoop` is, which `opened` makes of linear ones."""

    def __init__(
        self,
        given: Program,
        options: Options,
        opened: Callable[..., CutLoop],
        problem: Program | Compilable | None = None,
        compiling: float = 0.0,
    ) -> None:
        super().__init__(given, options, problem, compiling=compiling)
        self.opened, self.tuning = opened, options.tuning
        self.relaxation = IntegerRelaxation(given, options)
        self.relaxed: Solution | None = None  # without integrality
        self.best: Solution | None = None  # with integers fixed at the best values so far
        self.visited: dict[bytes, float] = {}  # values of the integers, and what they are worth at least
        self.excluded = np.inf  # what those are worth at least that the branch and bound was told to leave out
        self.tree = -np.inf  # what it says of all others
        self.undecided = ""  # why values were left out that may be good ones
        self.telling: tuple[Support, ...] = ()  # cuts that held a solution in place, or contradicted each other
        self.history: list[Iterate] = []

    @cached_property
    def first(self) -> CutLoop:
        """The problem without integrality."""
        limit = None if self.options.time_limit is None else 0.5 * max(self.clock.left(), 0.0)
        return self.opened(
            replace(self.given, integer=np.zeros(0, dtype=bool)),
            replace(self.options, callback=None, time_limit=limit),
        )

    def describe(self) -> list[str]:
        size, how = self.first.describe()[:2] if self.first.ready else (self.first.describe()[0], "")
        whole = f"{counted(int(self.given.integer.sum()), 'variable')} integer"
        return [f"{size}; {whole}", f"{how}, branch and bound by {master_name(self.options.master)}"]

    # ---- the loop -------------------------------------------------------------------------------------------------

    def _steps(self) -> Generator[Iterate, None, End]:
        end = (yield from self._at_once()) if expected_whole(self.given, self.options) else None
        if end is not None:
            return end
        steps = self.first.iterates()
        while self.relaxed is None:
            try:
                it = next(steps)  # what it attains is no bound
                it = replace(it, lower=-np.inf) if self.given.maximise else replace(it, upper=np.inf)
                self.history.append(it)
                yield it
            except StopIteration as over:
                self.relaxed = over.value
                self.clock.took(over.value.effort.seconds)
        relaxed = self.relaxed
        if not self.first.ready:
            return End(Status.TIME_LIMIT)
        if relaxed.status is Status.INFEASIBLE:
            return End(Status.INFEASIBLE, certificate=relaxed.certificate)
        self._learn(relaxed)
        if relaxed.status is Status.UNBOUNDED:
            return self._unbounded()
        given, values = self.given, self._whole(relaxed.x)
        if np.abs(values - relaxed.x[given.integer]).max() <= WEIGHING.slope:
            end = self._visit(values) or self._closed()
            if end is not None:
                return end
        gap, finest = self.tuning.share, self.tuning.share * self.options.tol
        while len(self.history) < self.options.max_iterations:
            check("exchange")
            apart = np.inf if self.best is None else relative_gap(self.lower, self._worth(self.best))
            gap = max(min(gap, self.tuning.share * apart), finest)
            with self.clock.on("relaxation"):
                found = self.relaxation.solve(gap, None if self.best is None else self.best.x)
            if found.status != "infeasible" or self.best is not None:
                self.tree = max(self.tree, found.bound)
            end = self._closed() or self._ended(found.status)
            if end is not None or found.x is None:
                return end or End(Status.STALLED)
            held, values = len(self.relaxation.cuts), self._whole(found.x)
            worst = self._cut_off(found.x, values)
            if len(self.relaxation.cuts) == held or not given.integer.all():
                end = self._visit(values)
            yield self._record(found.x, held, worst)
            if self.best is None and end is None:
                end = self._visit_with_room(found.x, held)
            end = end or self._closed()
            if end is not None:
                return end
            if len(self.relaxation.cuts) > held:
                continue
            if gap == finest:  # the branch and bound cannot tell how good these values are
                if not self.relaxation.exclude(values):
                    return End(Status.STALLED, self.undecided)
                self.excluded = min(self.excluded, self.visited[values.tobytes()])
            gap = max(self.tuning.share * gap, finest)
        return End(Status.ITERATION_LIMIT)

    def _at_once(self) -> Generator[Iterate, None, End | None]:
        """The end, if the counterpart is one: its best whole values, and a proof of what they are worth.

        A small tree says that, or what it has found by then. Where the best is worth the same without integrality, the
        proof is left to the problem without.
        """
        last, gap = 0.5 * self.clock.left(), self.tuning.share * self.options.tol
        whole = IntegerCounterpart(self.given, self.options)
        for nodes in (int(self.given.integer.sum()), None):
            with self.clock.on("relaxation"), within(self.clock.left() - last if last < np.inf else np.inf):
                found = whole.solve(gap, nodes)
            if found.status in ("infeasible", "unbounded"):
                return None
            self.tree = max(self.tree, found.bound)
            if found.x is None:
                continue
            with self.clock.on("proof"):
                best = self._attained(whole, found.x)
            if best is None:
                return None
            self.best, held = best, len(self.relaxation.cuts)
            self._learn(best)
            yield self._record(best.x, held, best.max_violation)
            end = self._closed()
            if end is not None:
                with self.clock.on("relaxation"):
                    tight = whole.relaxed() >= self.tree - max(self.options.tol * abs(self.tree), self.gap[1])
                return None if tight else end
        return None

    def _visit_with_room(self, x: Array, held: int) -> End | None:
        """Where no point is known yet, try whole values with room for what x breaks, and for more of it if need be."""
        new = self.relaxation.cuts[held:]
        rows, rhs = cut_rows(self.given, new)
        room = {(s.family, s.component): float(by) for s, by in zip(new, rows @ x - rhs, strict=True)}
        for _ in range(self.tuning.tries):
            found = self.relaxation.apart(self.tuning.share, room=room)
            if found.x is None:
                break
            end = self._visit(self._whole(found.x))
            if end is not None or self.best is not None:
                return end
            room = {row: 2 * by for row, by in room.items()}
        return None

    def _cut_off(self, x: Array, values: Array) -> float:
        """Add the worst index points at x, its integers rounded, of all constraints that it breaks; by how much."""
        relaxation, x = self.first.relaxation, x.copy()
        x[self.given.integer] = values
        found = separate(relaxation, Proposal(reduced_point(relaxation.program, x)), 0.0, self.clock.left())
        self.relaxation.add(cuts_at(found, above=self.options.tol * relaxation.held.scale))
        return max((relaxation.scaling.violation(f, s.worst) for f, s in enumerate(found)), default=-np.inf)

    def _whole(self, x: Array) -> Array:
        """The integer variables at x, rounded."""
        given = self.given
        return np.clip(np.rint(x), given.lower, given.upper)[given.integer] + 0.0

    def _fixed(self, values: Array) -> Program:
        """The problem with the integers fixed."""
        given, lower, upper = self.given, self.given.lower.copy(), self.given.upper.copy()
        lower[given.integer] = upper[given.integer] = values
        return replace(given, lower=lower, upper=upper, integer=np.zeros(0, dtype=bool))

    def _attained(self, whole: IntegerCounterpart, x: Array) -> Solution | None:
        """What the integers of x attain, if that is proven to be feasible and close to what x is worth.

        Rules for what is not built, say, have no room unless they are zero whatever the index.
        """
        fixed = self._fixed(self._whole(x))
        value = objective(self.given, x)
        allowed = self.tuning.margin_share * max(self.options.tol * abs(value), self.gap[1])
        for program in (_at_zero(fixed, x, whole_rows=True), fixed):
            proof = None if program is None else whole.attained(program, value, allowed)
            if proof is not None:
                oracles = [pick_oracle(f) for f in fixed.families]
                about = (), 0.0, self.options.tol, oracle_names(oracles)
                return Solution(Status.UNCERTIFIED, self.given, proof, *about, oracles=tuple(oracles))
        return None

    def _visit(self, values: Array) -> End | None:
        """Solve the rest with integers fixed, unless that is done, and learn from it; the end, if it is unbounded."""
        if values.tobytes() in self.visited:
            return None
        found = self._solved(ForcingRows(self.relaxation.cuts).apply(self._fixed(values)))
        self.visited[values.tobytes()] = -np.inf if np.isfinite(found.certificate.radius) else found.certificate.lower
        if found.status is Status.UNBOUNDED:
            return End(Status.UNBOUNDED, certificate=found.certificate)
        nearly = found.status is not Status.INFEASIBLE and self._nearly(found)
        better = self.best is None or self._worth(found) < self._worth(self.best)
        if better and (nearly or np.isfinite(found.certificate.upper)):
            self.best = found
        if not nearly and found.status is not Status.INFEASIBLE and not np.isfinite(found.certificate.upper):
            self.undecided = messages.undecided_integers(found.message)
        self._learn(found)
        return None

    def _continued(self, fixed: Program) -> Solution:
        """A problem with fixed integers, solved in the time that is left."""
        options = replace(
            self.options,
            tol=self.tuning.margin_share * self.options.tol,
            time_limit=None if self.options.time_limit is None else max(self.clock.left(), 0.0),
            warm_start=None,
            start=None,
            callback=None,
        )
        answer = self.opened(fixed, options, None, self.telling).drive(verbose=False)
        self.clock.took(answer.effort.seconds)
        return answer

    def _solved(self, fixed: Program) -> Solution:
        """The problem with fixed integers; where it has no room, with what is nearly zero at zero.

        A point without room may still be feasible. Rules for what is not built, say, have to vanish everywhere, and
        nothing but rounding keeps them from it.
        """
        found = self._continued(fixed)
        proof = found.certificate
        if np.isfinite(proof.upper) or found.status.claims_proof or not self._nearly(found):
            return found
        with self.clock.on("proof"):
            best = prove_feasible(fixed, found.x, seconds=self.clock.left(), oracles=found.oracles or None)
        if not isinstance(best, NotProven):
            dual = Dual(proof.support, proof.row_multipliers, proof.balanced, proof.basis)
            lower = DualBound(proof.lower, dual, proof.radius, proof.units)
            return replace(found, certificate=optimal(fixed, best, lower, found.x, best.bounds))
        self._learn(found)
        for whole_rows in (True, False):
            program = _at_zero(fixed, found.x, whole_rows)
            again = found if program is None else self._continued(program)
            if np.isfinite(again.certificate.upper):
                return replace(again, certificate=replace(again.certificate, lower=proof.lower, radius=proof.radius))
        return found

    def _nearly(self, found: Solution) -> bool:
        """Whether a point keeps every index up to `tol`, relative to the terms of the rows, as far as is known."""
        if not found.violation_proven:
            return found.status is Status.UNCERTIFIED and found.max_violation <= 0
        for f, violation in enumerate(found.certificate.violation):
            rows, rhs = cut_rows(self.given, [s for s in self.relaxation.cuts if s.family == f])
            terms = abs(rows) @ np.abs(found.x) + np.abs(rhs)
            if violation > self.options.tol * float(terms.max(initial=0.0)):
                return False
        return self.given.finite_violation(found.x) <= self.options.tol

    def _learn(self, found: Solution) -> None:
        """Take the cuts that the proof of a linear problem needs; all that it was solved with, where there is none."""
        told = found.certificate.support
        self.relaxation.add(told or found.cuts)
        self.telling = (*self.telling, *(replace(s, multiplier=0.0) for s in told))

    def _worth(self, found: Solution) -> float:
        """What is proven to be attained, or what is attained up to the tolerance."""
        upper = found.certificate.upper
        return upper if np.isfinite(upper) else objective(self.given, found.x)

    def _record(self, x: Array, held: int, worst: float) -> Iterate:
        """An iteration in the sense of the objective."""
        given, new = self.given, self.relaxation.cuts[held:]
        sign = -1.0 if given.maximise else 1.0
        lower, upper = sorted(
            (sign * self.lower, sign * (np.inf if self.best is None else self.best.certificate.upper))
        )
        iterate = Iterate(
            len(self.history) + 1,
            sign * objective(given, x),
            lower,
            upper,
            worst,
            np.inf,
            len(new),
            len(self.relaxation.cuts),
            self.clock.used(),
            x,
            tuple(np.array([s.point for s in new if s.family == f]) for f in range(len(given.families))),
        )
        self.history.append(iterate)
        return iterate

    # ---- bounds and ends ------------------------------------------------------------------------------------------

    @property
    def lower(self) -> float:
        """The best lower bound: without integrality, or of the branch and bound."""
        proven = -np.inf if self.relaxed is None else self.relaxed.certificate.lower
        told = max(proven, min(self.tree, self.excluded))
        return told if self.best is None else float(np.fmin(told, self._attained_least(self.best)))

    def _attained_least(self, best: Solution) -> float:
        """What the best point is worth, rounded down: no bound is more, whatever a branch and bound says."""
        given, proof = self.given, best.certificate
        value = exact_sums(np.array([given.constant]), given.c[None, :], proof.x).lo[0]
        return float(down(value - 2.0 * (np.abs(given.c) @ proof.box) if len(proof.box) else value))

    @cached_property
    def gap(self) -> tuple[float, float]:
        """The relative gap to reach, and the absolute one that will do."""
        tol, atol = self.options.tol, self.options.atol
        return tol, data_rounding(self.given) if atol is None else atol

    def _closed(self) -> End | None:
        """The end, if the bounds meet."""
        best = self.best
        if best is None or not closed(self.lower, self._worth(best), *self.gap):
            return None
        if not np.isfinite(best.certificate.upper):  # feasible only up to rounding, or as far as is known
            if not best.violation_proven or best.max_violation <= 0:
                return End(Status.UNCERTIFIED, best.message)
            return End(Status.NO_INTERIOR, messages.no_interior_at_integers(best.max_violation))
        certificate = self._certificate()
        if not certificate.trusts:
            with suppress(ProofError):
                verify(self.given, certificate, Status.OPTIMAL, self.options.tol, atol=self.options.atol)
                return End(Status.OPTIMAL, certificate=certificate)
        trusted = messages.branch_and_bound_on_trust(master_name(self.options.master))
        told = all(isinstance(a, TreeAssumption) for a in certificate.trusts)  # and nobody else's word, as an oracle's
        return End(Status.UNCERTIFIED, trusted if told else "")

    def _ended(self, status: str) -> End | None:
        """The end, if a branch and bound is one."""
        if status == "infeasible" and self.visited and self.excluded < np.inf:
            return End(Status.STALLED, self.undecided)
        if status == "infeasible":
            points = counted(len(self.relaxation.cuts), "index point")
            return End(Status.UNCERTIFIED, messages.no_whole_values(master_name(self.options.master), points))
        if status == "unbounded":
            return End(Status.STALLED, messages.tree_without_bound(master_name(self.options.master)))
        return End(Status.TIME_LIMIT) if status == "limit" else None

    def _unbounded(self) -> End:
        """A proof, where the other variables alone make the objective unbounded for some whole values."""
        found = self.relaxation.apart(self.tuning.share, objective=False)
        end = self._ended(found.status)
        if end is None and found.x is not None:
            end = self._visit(self._whole(found.x))
        self.tree = -np.inf
        return end or End(Status.UNCERTIFIED, messages.UNBOUNDED_RELAXATION)

    def _certificate(self) -> Certificate:
        """What is known of the best point, and of all others."""
        relaxed, best, lower = self.relaxed, self.best, self.lower
        begun = relaxed is not None and relaxed.status is not Status.UNBOUNDED
        proof = relaxed.certificate if relaxed is not None and begun else nothing(self.given)
        known = proof if best is None else best.certificate
        rests = tuple(a for a in known.assumptions if not isinstance(a, BoundAssumption))
        if lower > proof.lower and (best is None or not closed(proof.lower, self._worth(best), *self.gap)):
            name = master_name(self.options.master)
            trust = TreeAssumption(f"The lower bound is that of the branch and bound of {name}.")
            upper = np.inf if best is None else max(known.upper, lower)
            return replace(known, lower=lower, upper=upper, radius=np.inf, assumptions=(*rests, trust))
        if best is None:
            return replace(proof, upper=np.inf)
        point = ("x", "upper", "box", "dependent", "violation", "finite_violation")
        assumptions = tuple(dict.fromkeys((*proof.assumptions, *rests)))
        return replace(proof, **{name: getattr(known, name) for name in point}, assumptions=assumptions)

    def stop(self, end: End) -> Solution:
        """The solution, with the best bounds so far."""
        linear = self.relaxed or self.best
        return self._answered(
            status=end.status,
            certificate=end.certificate or self._certificate(),
            history=tuple(self.history),
            oracle="none needed" if linear is None else linear.oracle,
            cuts=tuple(self.relaxation.cuts),
            evidence=end.evidence,
            oracles=() if linear is None else linear.oracles,
            atol=self.gap[1],
            kept=None if self.relaxed is None else self.relaxed.kept,
        )


def _at_zero(program: Program, x: Array, whole_rows: bool) -> Program | None:
    """The same with variables fixed at zero that are nearly so at x, and may be; None if there are none.

    With `whole_rows`, these are variables of rows in which all others vanish, too: others are zero by chance, and a
    rule that may not move them has less room.
    """
    zero = (np.abs(x) <= WEIGHING.slope * np.abs(x).max()) & (program.lower < program.upper)
    zero &= (program.lower <= 0) & (program.upper >= 0)
    if whole_rows:
        gone, found = zero | ((program.lower == 0) & (program.upper == 0)), np.zeros_like(zero)
        for family in program.families:
            used = largest(family)[0] > 0
            dead = (gone[family.columns] | ~used).all(axis=1)
            found[family.columns[dead][used[dead]]] = True
        zero &= found
    if not zero.any():
        return None
    return replace(program, lower=np.where(zero, 0.0, program.lower), upper=np.where(zero, 0.0, program.upper))
