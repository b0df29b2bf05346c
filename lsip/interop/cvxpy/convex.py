"""Models with a convex finite part: a relaxation in CVXPY's canonical form, for the driver of every other program.

As in linear programs, cuts keep a small margin, and cones a small inset, so that the last point is feasible for every
index and its objective is an upper bound. The relaxations may be solved by any solver that CVXPY knows; points and
multipliers for the proofs come from `Interior`, and nothing that a solver says is trusted: `lsip.proof` has the last
word.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...deadline import check
from ...model.status import Status
from ...proof.certificate import Array
from ...proof.prove import infeasible
from ...proof.ray import Ray, prove_ray
from ...reductions.equilibration import Scaling
from ...solution.messages import PROBABLY_INFEASIBLE, PROBABLY_UNBOUNDED
from ...solver.clock import Clock
from ...solver.linear import BITS
from ...solver.options import Options
from ...solver.relaxation import Relaxation, replace_proposal, separate, violation_bounds
from ...solver.state import End, Proposal, State
from ...solver.tuning import Tuning
from .carrier import Carrier
from .cuts import ConicCuts
from .interior import ConicAnswer, Interior
from .master import ConicMaster
from .ray import find_ray


@dataclass(frozen=True)
class ConvexDoorTuning:
    """How the relaxation of a convex model is set up, besides what all relaxations share in `Tuning`.

    Parameters
    ----------
    least_margin
        The least margin, relative to the size of right-hand sides.
    inset_share
        The share of the gap that insets and outsets may cost, each.
    shallow
        A model whose points are all less deep inside has no interior, as far as a solver can tell.
    follows
        Solutions in new units, before the interior is asked no more.
    faint
        The share of the largest multiplier below which an atom is left out of a proof.
    """

    least_margin: float = 1e-11
    inset_share: float = 0.15
    shallow: float = 1e-9
    follows: int = 4
    faint: float = 1e-8


TUNING = ConvexDoorTuning()
OPTIONS = {"oracle", "tol", "atol", "max_iterations", "time_limit", "seed", "callback", "tuning"}


@dataclass(frozen=True)
class ConvexOptions(Options):
    """How a convex model is solved; those of the fields that are `OPTIONS` are options of `Problem.solve`.

    Interior-point solvers keep constraints to about 1e-10, and margins must be larger than that. They leave more to
    rounding than LP solvers do: patience and boxes end sooner, and proofs may cost more.
    """

    tol: float = 1e-6
    max_iterations: int = 200
    tuning: Tuning = field(default=Tuning(patience=6, tries=2, share=0.5), repr=False)


class ConvexRelaxation(Relaxation):
    """The relaxation of a convex model, by Clarabel or by the solver that the user names."""

    held: ConicCuts
    accuracy = 1e-11
    negligible = 1e-6  # interior point methods leave a little on every cut
    escape = PROBABLY_UNBOUNDED

    def __init__(self, carrier: Carrier, interior: Interior, master: ConicMaster | None, options: Options) -> None:
        super().__init__(Scaling.none(carrier.program).apply(), options)
        self.carrier, self.interior, self.master, self.held = carrier, interior, master, interior.cuts
        self.answer: ConicAnswer | None = None  # the last one
        self.reach: float | None = None
        self.stretches = 0
        self.recession = self._direction
        canonical = self.carrier.canonical
        size = f"{len(canonical.place)} variables, {canonical.rows} canonical rows"
        solver = "Clarabel" if self.master is None else f"CVXPY with {self.master.solver}"
        self.outline = size, f", master {solver}"

    # ---- the finite program ---------------------------------------------------------------------------------------

    def propose(self, state: State) -> Proposal | End:
        """Solve the relaxation; where it has no solution, give it a box, lower the margin, or prove infeasibility."""
        if state.closing:
            return self._completed(state)
        for _ in range(BITS):
            found = self._solve(state.margin)
            if found.status == "optimal":
                state.terms = self._terms(found)
                if self._settle(state, found):
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
        self.answer = (self.master or self.interior).solve(margin, self.reach)
        return self.answer

    def _proposal(self, answer: ConicAnswer) -> Proposal:
        """An answer with its multipliers, those of rows in cones inside of their duals."""
        self.units = np.append(self.interior.units, 1.0)
        least, pairs = TUNING.faint * answer.cuts.max(initial=0.0), zip(self.held.cuts, answer.cuts, strict=False)
        support = tuple(s.weighing(float(w)) for s, w in pairs if w > least)
        rows = self._rows(answer) if len(answer.rows) else np.zeros(0)
        return Proposal(answer.z, answer.value, support, rows, not answer.leaning, answer.leaning)

    def _rows(self, answer: ConicAnswer) -> Array:
        rows, cones = self.program.admissible(answer.rows[self.carrier.rows]), self.program.cones
        if cones is not None:
            flat = self.program.A.shape[0]
            rows[flat:] = cones.dual_point(rows[flat:])
        return rows

    def _terms(self, answer: ConicAnswer) -> float:
        """Right-hand sides, each times its multiplier, without their signs."""
        canonical, cuts = self.carrier.canonical, np.abs(self.held.rhs[: len(answer.cuts)])
        sides = float(np.abs(answer.rows) @ np.abs(canonical.b)) if len(answer.rows) else abs(answer.value)
        return max(sides + float(answer.cuts @ cuts) + abs(canonical.constant), 1.0)

    def _settle(self, state: State, found: ConicAnswer) -> bool:
        """Whether margins, insets and units suit this answer; otherwise they do now."""
        budget, again = state.allowed(found.value) * 0.5**state.patience, False
        if state.slater:
            wanted = self.tuning.margin_share * budget / max(float(found.cuts.sum()), 1e-300)
            tuning, scale = self.tuning, self.held.scale
            wanted = float(np.clip(wanted, TUNING.least_margin * scale, tuning.largest_margin * scale))
            again = not tuning.touching < state.margin / wanted < 1 + tuning.touching
            state.margin = wanted if again else state.margin
        if self.master is None:
            again = (self.reach is None and self.interior.rescale(found.z)) or again
            if state.slater:
                before = self.interior.inset, self.interior.outset
                self.interior.afford(found, TUNING.inset_share * budget)
                again = again or self.interior.inset < 0.3 * before[0] or self.interior.outset < 0.3 * before[1]
        return not again

    def _explain_infeasible(self, state: State) -> End | None:
        """A proof of infeasibility, or margins for which there are points."""
        deepest = self.interior.deepest()
        if deepest.status == "infeasible" or deepest.depth < 0:
            for proof in (self.interior.contradiction(deepest), deepest):
                atoms = self._proposal(proof)
                certificate = infeasible(self.program, atoms.support, atoms.rows, state.x, tuple(self.held.cuts))
                if certificate is not None:
                    return End(Status.INFEASIBLE, certificate=certificate)
        if deepest.status != "optimal":
            return End(Status.STALLED)
        if deepest.depth < -1e3 * TUNING.shallow:
            return None if self.zoom(state, out=True) else End(Status.UNCERTIFIED, PROBABLY_INFEASIBLE)
        if deepest.depth < TUNING.shallow:
            if not state.slater:
                return End(Status.NO_INTERIOR)
            state.slater = False
            self.interior.inset = 0.0
            state.margin = self.interior.margin_within(-10 * TUNING.shallow)
        else:
            self.interior.inset = min(self.interior.inset, 0.3 * deepest.depth)
            state.margin = min(0.5 * state.margin, self.interior.margin_within(0.3 * deepest.depth))
        return None

    def zoom(self, state: State, *, out: bool) -> bool:
        if not out or self.reach is None or self.stretches >= self.tuning.patience:
            return False
        self.stretches += 1
        self.reach *= 10
        return True

    def confirm(self, state: State) -> bool:
        """Whether there is no box any more, and the interior agrees with what the user's solver found."""
        if self.reach is not None and not state.proposal.leaning:
            self.reach = None  # it has served: without it the multipliers are those of the model
            return False
        return self.master is None or self._follow(state)

    def _follow(self, state: State) -> bool:
        """Take the interior's answer for that of the user's solver, if it keeps every index; otherwise cut there."""
        for _ in range(TUNING.follows):
            found = self.interior.solve(state.margin, self.reach)
            if found.status != "optimal":
                return False
            moved = self.interior.rescale(found.z)
            self.interior.afford(found, TUNING.inset_share * state.allowed(found.value) * 0.5**state.patience)
            if not moved:
                break
        return replace_proposal(self, state, self._proposal(found))

    def _completed(self, state: State) -> Proposal | End:
        """A canonical point and multipliers for the last proofs, where the user's solver has given neither."""
        found = self.interior.solve(state.margin, self.reach)
        if found.status != "optimal":
            return End(Status.STALLED)
        state.accept(self._proposal(found))
        state.violation = violation_bounds(self, separate(self, state.proposal, state.margin))
        return state.proposal

    def drop(self) -> None:
        multipliers = np.zeros(0) if self.answer is None else self.answer.cuts
        idle = multipliers <= 1e-9 * max(float(multipliers.max(initial=0.0)), 1e-300)
        if len(self.held) > 4 * self.program.n + 400 and idle.sum() > 0.5 * len(self.held):
            self.held.keep(np.concatenate([~idle, np.ones(len(self.held) - len(idle), dtype=bool)]))

    def inner_point(self, margin: float = np.inf) -> Proposal | None:
        found = self.interior.deepest() if margin == np.inf else None
        return None if found is None or found.status != "optimal" or found.depth <= 0 else Proposal(found.z)

    def _direction(self, clock: Clock) -> Ray | Array | None:
        found = find_ray(self.interior, self.program, self.held.cuts, self.oracles, clock)
        return None if found is None else prove_ray(self.program, found, clock.left()) or found
