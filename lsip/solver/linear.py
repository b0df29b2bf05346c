"""The exchange of linear programs: a warm-started LP master, in equilibrated units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..deadline import check
from ..expressions.interval import EPS
from ..masters import MasterError, MasterResult, master_name
from ..model.program import Program
from ..model.status import Status
from ..oracles import Separation, ask, is_instant
from ..proof.certificate import Array, Support
from ..proof.linear_algebra import ROUNDING
from ..proof.prove import Incumbent, infeasible
from ..proof.ray import Ray
from ..reductions.chain import reduce
from ..solution.messages import PROBABLY_INFEASIBLE
from .clock import Clock
from .linear_master import ACCURACY, LinearMaster
from .options import Options
from .rays import find_ray
from .relaxation import Relaxation, counted, objective, replace_proposal, rounding_error
from .state import End, Proposal, State
from .strategies import OptimalFaceCentre, strategies
from .warm_start import WarmStartData

BITS = np.finfo(np.float64).nmant  # of a double: halving it as often leaves nothing


class LinearRelaxation(Relaxation):
    """The relaxation of a linear program."""

    held: LinearMaster

    def __init__(
        self, given: Program, options: Options, earlier: Sequence[Support] = (), proof: tuple[Support, ...] = ()
    ) -> None:
        """Index points of an `earlier` answer are among the first, and the atoms of its `proof` in the next one."""
        super().__init__(reduce(given), options)
        self.held, self.proof = LinearMaster(self.program, self.oracles, options, earlier), proof
        self.stretches = self.smaller = self.zooms = 0
        self.result: MasterResult | None = None
        self.flat = OptimalFaceCentre(self.held)
        self.strategies = strategies(self.held, options, self.flat)
        self.sampling, self.recession = self._sample, self._direction
        size = f"{counted(self.program.n, 'variable')}, {counted(self.program.A.shape[0], 'finite row')}"
        self.outline = size, f", master {master_name(self.options.master)}"

    # ---- the finite program ---------------------------------------------------------------------------------------

    def propose(self, state: State) -> Proposal | End:
        self.held.renew()
        for _ in range(BITS):
            result = self.held.master.solve(state.margin)
            if result.status == "optimal":
                break
            end = self._explain_infeasible(state, result)
            if end is not None:
                return end
            check("exchange")
        else:
            return End(Status.STALLED)
        self._accept(state, result)
        value = state.proposal.value
        if self.held.relax_rows(result.row_multipliers, self.tuning.share * state.allowed(value)):
            result = self.held.master.solve(state.margin)
            if result.status != "optimal":
                return End(Status.STALLED)
            self._accept(state, result)
        total = float(result.cut_multipliers.sum())
        if state.proposal.bounded:
            state.relaxed = max(state.relaxed, value - state.margin * total)
        if state.slater and total > 0:
            self._settle_margin(state, total, value)
        return state.proposal

    def _settle_margin(self, state: State, total: float, value: float) -> None:
        """A margin that costs what it may; the relaxation is solved again where it was far off."""
        tuning = self.tuning
        allowed = state.allowed(value)
        if state.scaled_gap and allowed < tuning.share**3 * state.tol:  # rounding is in the way of a gap so small
            allowed = state.tol
        wanted = tuning.margin_share * allowed / total
        if wanted < ROUNDING:  # halved with every feasible point whose gap stays open, if there is no end
            wanted = max(wanted, ROUNDING * (0.5**state.patience if self._unrounded else 1.0))
        wanted = min(wanted, tuning.largest_margin * self.held.scale)
        if tuning.calm[0] < state.margin / wanted < tuning.calm[1]:
            return
        state.margin = wanted
        try:
            again = self.held.master.solve(state.margin)
        except MasterError:  # cuts from the other margin are cuts all the same
            return
        if again.status == "optimal":
            self._accept(state, again)

    @cached_property
    def _unrounded(self) -> bool:
        """Whether every family is bounded without rounding, so that no margin is too fine to be seen."""
        families = self.program.families
        return all(
            f.domain.dim == 1 and f.polynomial(0, np.zeros(f.columns.shape[1] + 1)) is not None for f in families
        )

    def _accept(self, state: State, result: MasterResult) -> None:
        self.result = result
        proposal = self._proposal(result)
        if not np.isfinite([proposal.value, float(np.abs(self.program.c) @ np.abs(proposal.x))]).all():
            name = master_name(self.options.master)
            raise MasterError(f"What {name} found is so large that nothing can be computed with it.")
        state.accept(proposal, self.held.terms(result))

    def _proposal(self, result: MasterResult) -> Proposal:
        x, edge = self.held.x(result.z), self._at_artificial_bound(result.z)
        price = np.abs(result.reduced_costs) * self.held.limit
        matters = price > self.tuning.share * self.options.tol * max(1.0, abs(result.objective))  # equilibrated
        support, rows = self.held.atoms(result)
        return Proposal(
            x,
            objective(self.program, x),
            support,
            rows,
            bounded=not (matters & edge).any(),
            at_artificial_bound=bool(edge.any()),
        )

    def _explain_infeasible(self, state: State, result: MasterResult) -> End | None:
        best, scale, tuning = self.held.master.best_margin(self.held.scale), self.held.scale, self.tuning
        for proof in (best, result) if best.status == "optimal" and best.slack > 0 else (result,):
            atoms = self._proposal(proof)
            certificate = infeasible(self.program, atoms.support, atoms.rows, state.x, tuple(self.held.cuts))
            if certificate is not None:
                return End(Status.INFEASIBLE, certificate=certificate)
        if self.held.release_rows():  # the room that finite rows were to keep may be more than there is
            return None
        if best.status != "optimal":
            return End(Status.STALLED)
        if best.slack > tuning.visible * ACCURACY * scale:
            state.patience = 0
            return None if self._stretch(best.z) else End(Status.UNCERTIFIED, PROBABLY_INFEASIBLE)
        if -best.slack < max(tuning.largest_margin * abs(state.margin), ACCURACY / tuning.visible * scale):
            state.slater = False
            state.margin = -best.slack - ACCURACY * scale
        else:
            state.margin = 0.5 * min(-best.slack, state.margin)
        return None

    def zoom(self, state: State, *, out: bool) -> bool:
        """Look further out, or magnify margins below what an LP solver can see around its last point."""
        visible, seen = self.tuning.visible, self.tuning.visible**2 * ACCURACY
        if out or self.result is None:
            return self.result is not None and self._stretch(self.result.z)
        if self.zooms >= self.tuning.patience or not 0 < state.margin < seen:
            return False
        self.zooms += 1
        power = np.ceil(np.log2(visible * seen / state.margin))
        self.held.zoom(self.result.z, 2.0 ** min(power, BITS / 2))
        return True

    def _at_artificial_bound(self, z: Array) -> NDArray[np.bool_]:
        """Which coordinates lean on the box that stands in for infinite bounds."""
        found: NDArray[np.bool_] = np.abs(z) >= (1 - self.tuning.share**2) * self.held.limit
        return found

    def _stretch(self, z: Array) -> bool:
        """Look further out along the coordinates that lean on the box, all of them if none does."""
        if self.tuning.reach / self.tuning.share**self.stretches > 1 / EPS:
            return False
        self.stretches += 1
        edge = self._at_artificial_bound(z)
        self.held.stretch(edge if edge.any() else ~edge)
        return True

    def confirm(self, state: State) -> bool:
        """Of many optimal points, one that does not lean on the box: it says nothing about the model.

        Where the smaller one breaks a constraint, cuts are added there, and the next relaxation knows better.
        """
        proposal = state.proposal
        if not (proposal.at_artificial_bound and proposal.bounded and state.slater):
            return True
        most = proposal.value - self.program.constant + self.tuning.share * state.allowed(proposal.value)
        assert self.result is not None
        z = self.result.z
        edge = self._at_artificial_bound(z)
        # Often those that lean are alone in it; where nothing else moves, little else can break.
        for moved in (edge, np.ones(len(z), dtype=bool)):
            x = self.held.smallest(state.margin, most, z, moved)
            if x is not None and replace_proposal(self, state, replace(proposal, x=x, at_artificial_bound=False)):
                return True
        if x is None:
            return True
        self.smaller += 1
        return self.smaller > self.tuning.patience

    def extras(self, best: Incumbent | None, last: Proposal) -> dict[str, Any]:
        return {"kept": WarmStartData(self.scaling, self.held.conditioning, self.held.scale)}

    def drop(self) -> None:
        if self.result is not None:
            self.held.drop_slack(self.result, flat=self.flat.visited > 0)

    def inner_point(self, margin: float = np.inf) -> Proposal | None:
        if margin < np.inf:
            found = self.held.master.solve(margin)
            return self._proposal(found) if found.status == "optimal" else None
        found = self.held.master.best_margin(self.held.scale)
        return None if found.status != "optimal" or found.slack >= 0 else Proposal(self.held.x(found.z))

    # ---- index points and directions ------------------------------------------------------------------------------

    def _sample(self, state: State, point: Proposal) -> list[Separation] | None:
        each = list(zip(self.held.sampled, self.oracles, strict=True))
        ready = all(sampled is not None or is_instant(oracle) for sampled, oracle in each)
        if not self.options.sample_first or not ready or not any(sampled for sampled, _ in each):
            return None
        found = [
            sampled.separate(violation, -0.5 * state.margin) if sampled else ask(oracle, violation)
            for f, (sampled, oracle) in enumerate(each)
            for violation in [self.program.violation(f, point.x)]
        ]
        worst = max((s.worst for s in found), default=-np.inf)
        return found if worst > max(abs(state.margin), rounding_error(self.program, point, found, worst)) else None

    def _direction(self, clock: Clock) -> Ray | Array | None:
        return find_ray(self.held, self.oracles, clock)
