"""Programs with cones: norms, semidefinite matrices and all that CVXPY knows, for the loop of every other program.

As in linear programs, cuts keep a small margin, and cones a small inset, so that the last point is feasible for every
index and its objective is an upper bound. Nothing that the solver says is trusted: `lsip.proof` has the last word.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..deadline import check
from ..masters.base import Backend
from ..masters.clarabel import CLARABEL
from ..model.program import Program
from ..model.status import Status
from ..proof.certificate import Array, Ints, Support
from ..proof.prove import infeasible
from ..proof.ray import Ray, prove_ray
from ..solution.messages import PROBABLY_INFEASIBLE, PROBABLY_UNBOUNDED
from .clock import Clock
from .conic_master import ACCURACY, ConicAnswer, ConicCuts, ConicMaster
from .conic_rays import find_ray
from .linear import BITS
from .options import Options
from .rays import ROUNDED
from .relaxation import Relaxation
from .rows import Known
from .state import End, Proposal, State


class ConicRelaxation(Relaxation):
    """The relaxation of a program with cones, by Clarabel."""

    held: ConicCuts
    accuracy = 1e-11
    negligible = 1e-6  # interior point methods leave a little on every cut
    escape = PROBABLY_UNBOUNDED

    def __init__(
        self,
        program: Program,
        options: Options,
        backend: Backend = CLARABEL,
        boxed: Ints | None = None,
        otherwise: Callable[[Sequence[Support]], Relaxation] | None = None,
    ) -> None:
        """Relax a reduced program; `otherwise` makes the relaxation to continue with, if this one gets stuck."""
        super().__init__(program, options)
        self.otherwise, self.last = otherwise, tuple[Support, ...]()
        self.master = ConicMaster(self.program, self.tuning, backend, boxed)
        self.held = self.master.cuts
        self.answer: ConicAnswer | None = None  # the last one
        self.reach: float | None = None
        self.stretches = 0
        self.recession = self._direction
        form = self.master.form
        self.outline = f"{len(form.c)} variables, {len(form.b)} canonical rows", f", master {backend.name}"

    # ---- the finite program ---------------------------------------------------------------------------------------

    def propose(self, state: State) -> Proposal | End:
        """Solve the relaxation; where it has no solution, give it a box, lower the margin, or prove infeasibility."""
        found = self._propose(state)
        if isinstance(found, Proposal):
            self.last = found.support
        elif found.certificate is None:
            self._give_up()
        return found

    def _give_up(self) -> bool:
        """Whether there is another relaxation to continue with, from the cuts of this one and its last atoms."""
        otherwise = self.otherwise
        if otherwise is not None:
            self.fallback = lambda: otherwise((*self.held.cuts, *self.last))
        return otherwise is not None

    def _propose(self, state: State) -> Proposal | End:
        for attempt in range(BITS):
            found = self._solve(state.margin)
            if found.status == "optimal":
                state.terms = self._terms(found)
                if self._settle(state, found, attempt == 0):
                    state.accept(self._proposal(found))
                    return state.proposal
            elif found.status == "unbounded" and self.reach is None:
                self.reach = self.tuning.reach
            elif found.status == "infeasible":
                end = self._explain_infeasible(state)
                if end is not None:
                    return end
            else:
                check("exchange")  # which is why a solver may have stopped early
                return End(Status.STALLED)
        return End(Status.STALLED)

    def _solve(self, margin: float) -> ConicAnswer:
        self.answer = self.master.solve(margin, self.reach)
        return self.answer

    def _proposal(self, answer: ConicAnswer) -> Proposal:
        """An answer with its multipliers, those of rows in cones inside of their duals."""
        form, cones = self.master.form, self.program.cones
        x, edge = form.point(answer.z), answer.at_artificial_bound
        least, pairs = ACCURACY * answer.cuts.max(initial=0.0), zip(self.held.cuts, answer.cuts, strict=False)
        support = tuple(s.weighing(float(w)) for s, w in pairs if w > least)
        self.units[form.free] = self.master.units[: len(form.free)]
        if not len(answer.rows):
            return Proposal(x, answer.value, support, np.zeros(0), not edge, edge)
        atoms, rows = form.multipliers(answer.rows)
        rows = self.program.admissible(rows)
        if cones is not None:
            flat = self.program.A.shape[0]
            rows[flat:] = cones.dual_point(rows[flat:])
        return Proposal(x, answer.value, (*support, *atoms), rows, not edge, edge)

    def _terms(self, answer: ConicAnswer) -> float:
        """Right-hand sides, each times its multiplier, without their signs."""
        form, cuts = self.master.form, np.abs(self.held.rhs[: len(answer.cuts)])
        sides = float(np.abs(answer.rows) @ np.abs(form.b)) if len(answer.rows) else abs(answer.value)
        return max(sides + float(answer.cuts @ cuts) + abs(form.constant), 1.0)

    def _settle(self, state: State, found: ConicAnswer, first: bool) -> bool:
        """Whether margins, insets and units suit this answer; otherwise they do now.

        They may grow after the first attempt only: a cut and a cone that say the same would pass the price to and fro.
        """
        budget, again = state.allowed(found.value) * 0.5**state.patience, False
        if state.slater:
            at_points = float(found.rows @ self.master.form.kept) if len(found.rows) else 0.0
            price = float(found.cuts.sum()) + at_points
            wanted = self.tuning.margin_share * budget / max(price, 1e-300)
            tuning, scale = self.tuning, self.held.scale
            wanted = float(np.clip(wanted, ROUNDED * scale, tuning.largest_margin * scale))
            wanted = wanted if first else min(wanted, state.margin)
            again = not tuning.calm[0] < state.margin / wanted < tuning.calm[1]
            state.margin = wanted if again else state.margin
        return not (self._fit(found, budget, state.slater, first) or again)

    def _fit(self, found: ConicAnswer, budget: float, slater: bool, first: bool) -> bool:
        """Whether units, insets and outsets were far from what suits an answer; they suit it now."""
        again = self.reach is None and self.master.rescale(found)
        if slater:
            before = self.master.inset, self.master.outset
            self.master.afford(found, self.tuning.inset_share * budget)
            if not first:
                self.master.inset = min(self.master.inset, before[0])
                self.master.outset = min(self.master.outset, before[1])
            again = again or self.master.inset < 0.3 * before[0] or self.master.outset < 0.3 * before[1]
        return again

    def _explain_infeasible(self, state: State) -> End | None:
        """A proof of infeasibility, or margins for which there are points."""
        deepest, shallow = self.master.deepest(), self.tuning.share * ACCURACY  # less depth is none
        if deepest.status == "infeasible" or deepest.depth < 0:
            for proof in (self.master.contradiction(deepest), deepest):
                atoms = self._proposal(proof)
                certificate = infeasible(self.program, atoms.support, atoms.rows, state.x, tuple(self.held.cuts))
                if certificate is not None:
                    return End(Status.INFEASIBLE, certificate=certificate)
        if deepest.status != "optimal":
            return End(Status.STALLED)
        if deepest.depth < -1e3 * shallow:
            return None if self.zoom(state, out=True) else End(Status.UNCERTIFIED, PROBABLY_INFEASIBLE)
        if deepest.depth < shallow:
            if not state.slater:
                return End(Status.NO_INTERIOR)
            state.slater = False
            self.master.inset = 0.0
            state.margin = self.master.margin_within(-10 * shallow)
        else:
            self.master.inset = min(self.master.inset, 0.3 * deepest.depth)
            state.margin = min(0.5 * state.margin, self.master.margin_within(0.3 * deepest.depth))
        return None

    def zoom(self, state: State, *, out: bool) -> bool:
        if not out or self.reach is None or self.stretches >= self.tuning.patience:
            return self._give_up()
        self.stretches += 1
        self.reach *= 10
        return True

    def confirm(self, state: State) -> bool:
        """Whether there is no box any more."""
        if self.reach is not None and not state.proposal.at_artificial_bound:
            self.reach = None  # it has served: without it the multipliers are those of the model
            return False
        return True

    def add(self, new: list[Support], known: Known | None = None) -> int:
        return self.master.add(new, known)

    def drop(self) -> None:
        multipliers = np.zeros(0) if self.answer is None else self.answer.cuts
        idle = multipliers <= 1e-9 * max(float(multipliers.max(initial=0.0)), 1e-300)
        count = len(self.held.cuts)
        if count > 4 * self.program.n + 400 and idle.sum() > 0.5 * count:
            self.held.keep(np.concatenate([~idle, np.ones(count - len(idle), dtype=bool)]))

    def inner_point(self, margin: float = np.inf) -> Proposal | None:
        found = self.master.deepest() if margin == np.inf else None
        if found is None or found.status != "optimal" or found.depth <= 0:
            return None
        return Proposal(self.master.form.point(found.z))

    def _direction(self, clock: Clock) -> Ray | Array | None:
        found = find_ray(self.master, self.program, self.held.cuts, self.oracles, clock)
        return None if found is None else prove_ray(self.program, found, clock.left()) or found
