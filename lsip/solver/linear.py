"""The exchange of linear programs: a warm-started LP master, in equilibrated units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..deadline import check
from ..masters import MasterError, MasterResult, master_name
from ..model.program import Program
from ..model.status import Status
from ..oracles import Separation, is_instant, is_prover, pick_oracle, prover
from ..proof.certificate import Support
from ..proof.families import Bounds
from ..proof.prove import Feasible, floor_share, own_terms
from ..proof.ray import Ray
from ..proof.scaling import scaled, scaling_of
from .again import Kept
from .centre import Centre
from .clock import Clock
from .linear_master import LinearMaster
from .newton import Newton
from .options import LinearOptions
from .rays import find_ray, occasionally
from .relaxation import CLASH, Accelerator, Known, Relaxation, Search
from .separation import separate
from .smallest import smallest
from .state import End, Goal, Proposal, State

Array = NDArray[np.float64]


class LinearRelaxation(Relaxation):
    """The relaxation of a linear program."""

    def __init__(self, given: Program, method: LinearOptions, earlier: Sequence[Support] = ()) -> None:
        """Index points of an `earlier` answer are among the first."""
        self.given, self.method, self.tuning = given, method, method.tuning
        self.scaling, self.program = scaling_of(given), scaled(given)
        self.proof_share = self.tuning.proof_share
        self.oracles = [method.oracle or pick_oracle(f) for f in self.program.families]
        self.lp = LinearMaster(self.program, self.oracles, method, earlier)
        self.stretches = self.smaller = self.zooms = 0
        self.result: MasterResult | None = None
        self.flat = Centre(self._middle)
        self.accelerators = self._accelerators()

    def _accelerators(self) -> tuple[Accelerator, ...]:
        chosen: list[Accelerator] = [Behind()] if all(is_instant(oracle) for oracle in self.oracles) else []
        chosen.append(self.flat)
        if self.method.polish:
            lp, tuning = self.lp, self.tuning.newton
            chosen.append(Newton(self.program, lp.scale, lambda: lp.conditioning.basis(), lp.add, tuning))
        return (*chosen, occasionally)

    def begin(self) -> State:
        program, tol, atol = self.program, self.method.tol, self.method.atol
        goal = Goal(tol, None if atol is None else self.scaling.objective * atol, partial(floor_share, program))
        x = np.clip(np.zeros(program.n), program.lower, program.upper)
        margin = self.tuning.margins.first * tol * self.lp.scale
        return State(goal, margin, Proposal(x), Bounds((np.inf,) * len(program.families)))

    def describe(self) -> list[str]:
        program = self.program
        families = ", ".join(
            f"m = {f.domain.dim} ({len(f.columns)} row{'s' if len(f.columns) > 1 else ''} an index)"
            for f in program.families
        )
        size = f"{_counted(program.n, 'variable')}, {_counted(program.A.shape[0], 'finite row')}"
        return [
            f"{program.name}: {size}; {families or 'no index'}",
            f"separation by {self.oracle_names}, master {master_name(self.method.master)}, tol {self.method.tol:g}",
        ]

    @property
    def cuts(self) -> Sequence[Support]:
        return self.lp.cuts

    @property
    def scale(self) -> float:
        return self.lp.scale

    def units(self, x: Array) -> Array:
        """What each variable is at x, or what makes its terms about 1."""
        found: Array = np.abs(x) + self.lp.units
        return found

    # ---- the finite program ---------------------------------------------------------------------------------------

    def relax(self, state: State) -> Proposal | End:
        self.lp.renew()
        for _ in range(self.tuning.margins.most_tried):
            result = self.lp.master.solve(state.margin)
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
        if self.lp.relax_rows(result.row_multipliers, self.tuning.row_share * state.allowed(value)):
            result = self.lp.master.solve(state.margin)
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
        tuning, calm = self.tuning, self.tuning.margins.calm
        wanted = tuning.margin_share * state.budget(value) / total
        if wanted < tuning.finest_margin:  # halved with every feasible point whose gap stays open, if there is no end
            wanted = max(wanted, tuning.finest_margin * (0.5**state.patience if self._unrounded else 1.0))
        wanted = min(wanted, tuning.margins.largest * self.lp.scale)
        if calm[0] < state.margin / wanted < calm[1]:
            return
        state.margin = wanted
        try:
            again = self.lp.master.solve(state.margin)
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
        own = own_terms(self.program, proposal.x, float(result.cut_multipliers.sum()))
        state.accept(proposal, self.lp.terms(result), own)

    def _proposal(self, result: MasterResult) -> Proposal:
        x, edge = self.lp.x(result.z), np.abs(result.z) >= self.tuning.box.near_edge * self.lp.limit
        price = np.abs(result.reduced_costs) * self.lp.limit
        matters = price > self.tuning.box.price * self.method.tol * max(1.0, abs(result.objective))  # equilibrated
        support, rows = self.lp.atoms(result)
        value = float(self.program.c @ x) + self.program.constant
        return Proposal(x, value, support, rows, bounded=not (matters & edge).any(), leaning=bool(edge.any()))

    def _explain_infeasible(self, state: State, result: MasterResult) -> End | None:
        best, scale, tuning = self.lp.master.best_margin(self.lp.scale), self.lp.scale, self.tuning.margins
        for proof in (best, result) if best.status == "optimal" and best.slack > 0 else (result,):
            certificate = self.contradiction(self._proposal(proof), state.x)
            if certificate is not None:
                return End(Status.INFEASIBLE, certificate=certificate)
        if self.lp.release_rows():  # the room that finite rows were to keep may be more than there is
            return None
        if best.status != "optimal":
            return End(Status.STALLED)
        if best.slack > tuning.broken * scale:
            state.patience = 0
            return None if self._stretch(best.z) else End(Status.UNCERTIFIED, CLASH)
        if -best.slack < tuning.flat * abs(state.margin) or -best.slack < tuning.least_room * scale:
            state.slater = False
            state.margin = -best.slack - tuning.below_flat * scale
        else:
            state.margin = 0.5 * min(-best.slack, state.margin)
        return None

    def farther(self) -> bool:
        return self.result is not None and self._stretch(self.result.z)

    def _stretch(self, z: Array) -> bool:
        """Look further out along the coordinates that lean on the box, all of them if none does."""
        if self.stretches >= self.tuning.stretches:
            return False
        self.stretches += 1
        leaning = np.abs(z) >= self.tuning.box.near_edge * self.lp.limit
        self.lp.stretch(leaning if leaning.any() else ~leaning)
        return True

    def confirm(self, state: State) -> bool:
        """Of many optimal points, one that does not lean on the box: it says nothing about the model.

        Where the smaller one breaks a constraint, cuts are added there, and the next relaxation knows better.
        """
        proposal = state.proposal
        if not (proposal.leaning and proposal.bounded and state.slater):
            return True
        most = proposal.value - self.program.constant + self.tuning.smaller.cost * state.allowed(proposal.value)
        x = smallest(self.lp, state.margin, most)
        if x is None:
            return True
        separations = separate(self.program, self.oracles, x, margin=state.margin)
        bounds = Bounds.of(self.program, self.oracles, separations)
        if bounds.worst <= 0:
            state.accept(replace(proposal, x=x, leaning=False))
            state.violation = bounds
            return True
        if self.smaller >= self.tuning.smaller.most_broken:
            return True
        self.smaller += 1
        each = ((f, zip(s.points, s.components, strict=True)) for f, s in enumerate(separations))
        self.add([Support(f, int(c), y, 0.0) for f, pairs in each for y, c in pairs])
        return False

    def sharpen(self, state: State) -> bool:
        """Margins below what an LP solver can see are magnified around its last point."""
        tuning = self.tuning.zoom
        if self.result is None or self.zooms >= tuning.most or not 0 < state.margin < tuning.fine:
            return False
        self.zooms += 1
        self.lp.zoom(self.result.z, 2.0 ** min(np.ceil(np.log2(tuning.visible / state.margin)), tuning.largest_power))
        return True

    def complete(self, state: State) -> None:
        """The first relaxation, where time was up before it was solved: its multipliers may prove something."""
        if not state.begun:
            result = self.lp.master.solve(state.margin)
            if result.status == "optimal":
                self._accept(state, result)

    def add(self, new: list[Support], known: Known | None = None) -> int:
        return self.lp.add(new, known)

    def extras(self, best: Feasible | None, last: Proposal) -> dict[str, Any]:
        return {"kept": Kept(self.scaling, self.lp.conditioning, self.lp.scale, self.lp.units)}

    def forget(self, state: State) -> None:
        if self.result is not None:
            self.lp.drop_slack(self.result, flat=self.flat.visited > 0)

    def deepest(self, state: State) -> Proposal | None:
        found = self.lp.master.best_margin(self.lp.scale)
        return None if found.status != "optimal" or found.slack >= 0 else Proposal(self.lp.x(found.z))

    def _middle(self, margin: float) -> Array | None:
        z = self.lp.master.centre(margin)
        return None if z is None else self.lp.x(z)

    # ---- index points and directions ------------------------------------------------------------------------------

    def sample(self, state: State, point: Proposal) -> list[Separation] | None:
        each = list(zip(self.lp.sampled, self.oracles, strict=True))
        ready = all(sampled is not None or is_instant(oracle) for sampled, oracle in each)
        if not self.method.sample_first or not ready or not any(sampled for sampled, _ in each):
            return None
        found = [
            sampled.separate(violation, -0.5 * state.margin) if sampled else oracle.maximise(violation)
            for f, (sampled, oracle) in enumerate(each)
            for violation in [self.program.violation(f, point.x)]
        ]
        return found if max((s.worst for s in found), default=-np.inf) > abs(state.margin) else None

    def promote(self) -> bool:
        """In many dimensions a search comes first by default; what it finds no violation of is then to be proven."""
        if self.method.oracle is not None:
            return False
        pairs = list(zip(self.program.families, self.oracles, strict=True))
        self.oracles = [oracle if is_prover(oracle) else prover(family) or oracle for family, oracle in pairs]
        return any(new is not old for new, (_, old) in zip(self.oracles, pairs, strict=True))

    def direction(self, clock: Clock) -> Ray | Array | None:
        held = self.lp
        return find_ray(self.program, held.cuts, held.conditioning, held.matrix, self.oracles, self.method, clock)


class Behind:
    """Cuts at an average of the iterates as well: it lies further inside, where they cut deeper."""

    def __init__(self) -> None:
        self.trail: Array | None = None

    def __call__(self, run: Search, separations: list[Separation]) -> End | None:
        x = run.state.x
        self.trail = 0.5 * (x + (x if self.trail is None else self.trail))
        run.add(run.prove(Proposal(self.trail)))
        return None


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"
