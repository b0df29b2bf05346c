"""Models with a convex finite part: the exchange on CVXPY's canonical form, proven like every other program.

As in the linear exchange, cuts keep a small margin, and cones a small inset, so that the last point is feasible for
every index and its objective is an upper bound. The relaxations may be solved by any solver that CVXPY knows; points
and multipliers for the proofs come from `Interior`, and nothing that a solver says is trusted: `lsip.proof` has the
last word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...deadline import check
from ...errors import OutOfTime
from ...model.status import Status
from ...oracles import Oracle, Separation, pick_oracle
from ...proof.certificate import Certificate, Support
from ...proof.dual import Dual
from ...proof.families import Bounds, family_bounds
from ...proof.primal import Broken
from ...proof.prove import Feasible, Lower, infeasible, optimal, prove_feasible, prove_lower, unbounded
from ...solution.solution import Iterate, merge
from ...solver.options import check_options
from ...solver.separation import separate
from .carrier import Carrier
from .interior import Answer, Interior
from .master import Master
from .ray import find_ray
from .solution import ConvexSolution

Array = NDArray[np.float64]
NEGLIGIBLE = 1e-6  # the share of the multipliers below which an interior point method's atom is no active point
FAINT = 1e-8  # and below which it is left out of a proof
TOL = 1e-6  # interior-point solvers keep constraints to about 1e-10, and margins must be larger than that
REACH = 1e3  # the first box, when the relaxation is unbounded without one
STRETCHES = 6  # times that the box grows tenfold
FROZEN = 5  # iterations without any change of x after which the solver's accuracy is to blame
PATIENCE = 6  # feasible points whose gap does not close
REGIONAL = 2  # bounds that hold in a region only, before one is taken as the answer
MARGIN_SHARE, INSET_SHARE = 0.4, 0.15  # of the gap: what margins may cost, and insets and outsets, each
SHALLOW = 1e-9  # a model whose points are all less deep inside has no interior, as far as a solver can tell
CLASH = (
    "No feasible point was found, and constraints contradict each other as far as the search went; that none lies "
    "farther out is not proven. Give the variables bounds, or tighten those that they have."
)
ESCAPE = (
    "The objective improves as far out as the search went, but no direction is proven along which it does so without "
    "end. Give the variables bounds."
)


@dataclass(frozen=True)
class Options:
    """How a convex model is solved; the fields are the options of `Problem.solve`."""

    oracle: Oracle | None = None
    tol: float = TOL
    max_iterations: int = 200
    time_limit: float | None = None
    seed: int = 0
    callback: Callable[[Iterate], Any] | None = None

    def __post_init__(self) -> None:
        check_options(
            self.tol,
            self.max_iterations,
            self.oracle,
            time_limit=self.time_limit,
            seed=self.seed,
            callback=self.callback,
        )


class ConvexRun:
    """The state of one solve."""

    def __init__(self, carrier: Carrier, interior: Interior, master: Master | None, options: Options) -> None:
        self.clock, self.cuts = interior.clock, interior.cuts
        self.carrier, self.program = carrier, carrier.program
        self.interior, self.master, self.options = interior, master, options
        self.oracles: list[Oracle] = [options.oracle or pick_oracle(f) for f in self.program.families]
        self.history: list[Iterate] = []
        self.answer: Answer | None = None  # the last one of the interior
        self.z = np.clip(np.zeros(self.program.n), self.program.lower, self.program.upper)
        self.value = np.nan
        self.violation = Bounds((np.inf,) * len(self.program.families))  # proven at z, a family
        self.incumbent: Feasible | None = None  # the best point that is proven to be feasible
        self.proven: Lower | None = None  # the best lower bound that is proven for all points
        self.obstacle: Broken | None = None  # why the last point that looked feasible is not proven to be
        self.reach: float | None = None
        self.patience = self.stretches = self.regional = 0
        self.slater = True
        self.margin = 0.1 * options.tol * self.cuts.scale

    @property
    def oracle_names(self) -> str:
        return ", ".join(dict.fromkeys(type(o).__name__ for o in self.oracles)) or "none needed"

    def describe(self) -> list[str]:
        """Two lines for the progress table."""
        families = ", ".join(f"m = {f.domain.dim}" for f in self.program.families)
        canonical = self.carrier.canonical
        solver = "Clarabel" if self.master is None else f"CVXPY with {self.master.solver}"
        return [
            f"{self.program.name}: {len(canonical.place)} variables, {canonical.rows} canonical rows; {families}",
            f"separation by {self.oracle_names}, master {solver}, tol {self.options.tol:g}",
        ]

    # ---- the loop -------------------------------------------------------------------------------------------------

    def iterates(self) -> Iterator[Iterate | ConvexSolution]:
        """One `Iterate` an iteration, and the solution at last."""
        steps = self._steps()
        while True:
            try:
                with self.clock.running():
                    item = next(steps, None)
            except OutOfTime:
                item = self.stop(Status.TIME_LIMIT)
            if item is None:
                return
            yield item
            if isinstance(item, ConvexSolution):
                return

    def _steps(self) -> Iterator[Iterate | ConvexSolution]:
        for iteration in range(1, self.options.max_iterations + 1):
            found = self._relax()
            if isinstance(found, ConvexSolution):
                yield found
                return
            separations = self._separate(self.z)
            self.violation = Bounds.of(self.program, self.oracles, separations)
            worst = max((s.worst for s in separations), default=-np.inf)
            solution = self._judge(found, worst)
            added = 0 if solution is not None else self._cut(separations)
            yield self._record(iteration, worst, added, separations)
            if solution is None:
                solution = self._limits(found)
            if solution is not None:
                yield replace(solution, history=tuple(self.history))
                return
        yield self.stop(Status.ITERATION_LIMIT)

    def _limits(self, found: Answer) -> ConvexSolution | None:
        check("exchange")
        last = self.history[-FROZEN:]
        size = self.interior.units if self.master is None else 1.0
        size = np.abs(self.z) + np.append(size * np.ones(self.program.n - 1), 1.0)
        if len(last) == FROZEN and max(float((np.abs(h.x - self.z) / size).max()) for h in last) < 1e-11:
            return self._give_up()
        idle = found.cuts <= 1e-9 * max(float(found.cuts.max(initial=0.0)), 1e-300)
        if len(self.cuts) > 4 * self.program.n + 400 and idle.sum() > 0.5 * len(self.cuts):
            self.cuts.keep(np.concatenate([~idle, np.ones(len(self.cuts) - len(idle), dtype=bool)]))
        return None

    def _relax(self) -> Answer | ConvexSolution:
        """Solve the relaxation; where it has no solution, give it a box, lower the margin, or prove infeasibility."""
        for _ in range(40):
            found = self._solve()
            if found.status == "optimal":
                if self._settle(found):
                    self.z, self.value = found.z, found.value
                    return found
            elif found.status == "unbounded" and self.reach is None:
                self.reach = REACH
            elif found.status == "infeasible":
                solution = self._explain_infeasible()
                if solution is not None:
                    return solution
            else:
                check("exchange")  # which is why a solver may have stopped early
                return self.stop(Status.STALLED)
        return self.stop(Status.STALLED)

    def _solve(self) -> Answer:
        if self.master is not None:
            return self.master.solve(self.margin, self.reach)
        return self._propose()

    def _propose(self) -> Answer:
        """A point and multipliers that may be proven."""
        self.answer = self.interior.solve(self.margin, self.reach)
        return self.answer

    def _settle(self, found: Answer) -> bool:
        """Whether margins, insets and units suit this answer; otherwise they do now."""
        budget = self._allowed(found.value) * 0.5**self.patience
        again = False
        if self.slater:
            wanted = MARGIN_SHARE * budget / max(float(found.cuts.sum()), 1e-300)
            wanted = float(np.clip(wanted, 1e-11 * self.cuts.scale, 1e-3 * self.cuts.scale))
            again = not 0.3 < self.margin / wanted < 1.2
            self.margin = wanted if again else self.margin
        if self.master is None:
            again = (self.reach is None and self.interior.rescale(found.z)) or again
            if self.slater:
                before = self.interior.inset, self.interior.outset
                self.interior.afford(found, INSET_SHARE * budget)
                again = again or self.interior.inset < 0.3 * before[0] or self.interior.outset < 0.3 * before[1]
        return not again

    def _explain_infeasible(self) -> ConvexSolution | None:
        """A proof of infeasibility, or margins for which there are points."""
        deepest = self.interior.deepest()
        if deepest.status == "infeasible" or deepest.depth < 0:
            for proof in (self.interior.contradiction(deepest), deepest):
                certificate = self._infeasible(proof)
                if certificate is not None:
                    return self._solution(Status.INFEASIBLE, certificate)
        if deepest.status != "optimal":
            return self.stop(Status.STALLED)
        if deepest.depth < -1e3 * SHALLOW:
            return self._grow(CLASH)
        if deepest.depth < SHALLOW:
            if not self.slater:
                return self.stop(Status.NO_INTERIOR)
            self.slater = False
            self.interior.inset = 0.0
            self.margin = self.interior.margin_within(-10 * SHALLOW)
        else:
            self.interior.inset = min(self.interior.inset, 0.3 * deepest.depth)
            self.margin = min(0.5 * self.margin, self.interior.margin_within(0.3 * deepest.depth))
        return None

    def _infeasible(self, proof: Answer) -> Certificate | None:
        spare = tuple(self.cuts.atoms)
        return infeasible(self.program, self._atoms(proof), self._rows(proof), self.z, spare)

    def _grow(self, evidence: str) -> ConvexSolution | None:
        """Look farther out, if there is a box; otherwise say what was found."""
        if self.reach is None or self.stretches >= STRETCHES:
            return self.stop(Status.UNCERTIFIED, evidence)
        self.stretches += 1
        self.reach *= 10
        return None

    def _separate(self, z: Array) -> list[Separation]:
        seed = self.options.seed + len(self.history)
        return separate(self.program, self.oracles, z, margin=self.margin, left=self.clock.left(), seed=seed)

    def _cut(self, separations: list[Separation]) -> int:
        near = -0.5 * self.margin
        return self.cuts.add(
            [
                Support(f, int(c), y, 0.0)
                for f, s in enumerate(separations)
                for y, c, v in zip(s.points, s.components, s.values, strict=True)
                if v > near
            ]
        )

    def _record(self, iteration: int, worst: float, added: int, found: list[Separation]) -> Iterate:
        sign = -1.0 if self.program.maximise else 1.0
        lower = -np.inf if self.proven is None else self.proven.value
        upper = np.inf if self.incumbent is None else self.incumbent.upper
        low, high = (lower, upper) if sign > 0 else (-upper, -lower)
        iterate = Iterate(
            iteration, sign * self.value, low, high, worst, self.violation.worst, added, len(self.cuts),
            self.clock.used(), self.z, tuple(s.points for s in found),
        )  # fmt: skip
        self.history.append(iterate)
        return iterate

    # ---- proofs ---------------------------------------------------------------------------------------------------

    def _allowed(self, value: float) -> float:
        """The gap to reach."""
        return self.options.tol * max(1.0, abs(value))

    def _atoms(self, answer: Answer) -> tuple[Support, ...]:
        least = FAINT * float(answer.cuts.max(initial=0.0))
        pairs = zip(self.cuts.atoms, answer.cuts, strict=False)
        return tuple(replace(s, multiplier=float(w)) for s, w in pairs if w > least)

    def _rows(self, answer: Answer) -> Array:
        """Multipliers of the program's rows, those of cones inside of their duals."""
        rows, cones = answer.rows[self.carrier.rows], self.program.cones
        flat = self.program.A.shape[0]
        above = self.program.row_lower < self.program.row_upper
        rows[:flat] = np.where(above, np.maximum(rows[:flat], 0.0), rows[:flat])
        if cones is not None:
            rows[flat:] = cones.dual_point(rows[flat:])
        return rows

    def _judge(self, found: Answer, worst: float) -> ConvexSolution | None:
        """The solution, if this iterate is one."""
        bound = self.violation.worst
        if not self.slater and worst <= self.options.tol * self.cuts.scale:
            return self.stop(Status.NO_INTERIOR)
        if worst > 0 or (bound > 0 and worst > -0.5 * self.margin):
            return None
        if bound > 0:
            check("exchange")  # which is why a proof may have ended early
            return self.stop(Status.UNCERTIFIED)
        if found.leaning:
            return self._farther()
        if self.reach is not None:
            self.reach = None  # it has served: without it the multipliers are those of the model
            return None
        return self._certify()

    def _certify(self) -> ConvexSolution | None:
        """The end, if the bounds meet; otherwise remember the point and go on."""
        if self.master is not None and not self._follow():
            return None
        broken = self._remember(self.z, self.violation)
        solution = self._close() if broken is None else self._clash(broken)
        if solution is not None:
            return solution
        self.patience += 1
        return self._give_up() if self.patience > PATIENCE else None

    def _remember(self, z: Array, violation: Bounds) -> Broken | None:
        """Keep the point, if it is proven to be feasible and better than the last; why it is not proven otherwise.

        What an oracle of the user's says is no proof: where lsip has one of its own, that is asked for.
        """
        known = None if violation.trusts else violation
        found = prove_feasible(self.program, z, known, seconds=self.clock.left(), oracles=self.oracles)
        if isinstance(found, Broken):
            self.obstacle = found
            return found
        if self.incumbent is None or found.upper < self.incumbent.upper:
            self.incumbent = found
        return None

    def _follow(self) -> bool:
        """Whether the interior agrees with what the user's solver found; otherwise its point gives cuts."""
        for _ in range(4):
            found = self._propose()
            if found.status != "optimal":
                return False
            moved = self.interior.rescale(found.z)
            self.interior.afford(found, INSET_SHARE * self._allowed(found.value) * 0.5**self.patience)
            if not moved:
                break
        separations = self._separate(found.z)
        violation = Bounds.of(self.program, self.oracles, separations)
        if violation.worst > 0:
            self._cut(separations)
            return False
        self.z, self.value, self.violation = found.z, found.value, violation
        return True

    def _clash(self, found: Broken) -> ConvexSolution | None:
        """Equalities that contradict each other by more than the rounding of their data."""
        if found.contradiction is None:
            return None
        certificate = infeasible(self.program, (), found.contradiction, self.z)
        if certificate is not None:
            return self._solution(Status.INFEASIBLE, certificate)
        return self.stop(Status.UNCERTIFIED, f"The model looks inconsistent: {found.why}.")

    def _close(self) -> ConvexSolution | None:
        """The end, if the last multipliers prove that no point is better than the incumbent by more than the gap."""
        best = self.incumbent
        if best is None or self.answer is None:
            return None
        allowed = self._allowed(best.upper)
        lower = self._prove_lower(self.answer, best.point.x, 0.5 * allowed)
        if not best.upper - lower.value <= allowed:
            return None
        if np.isfinite(lower.radius) and self.regional < REGIONAL:
            self.regional += 1  # further cuts may give multipliers that balance everywhere
            return None
        certificate = optimal(self.program, best, lower, self.z, self.violation)
        return self._solution(Status.UNCERTIFIED if certificate.trusts else Status.OPTIMAL, certificate)

    def _prove_lower(self, answer: Answer, centre: Array, allowed: float) -> Lower:
        """The best bound for all points so far, or what these multipliers prove if that is better."""
        units = np.abs(centre) + np.append(self.interior.units, 1.0)
        spare = tuple(self.cuts.atoms)
        lower = prove_lower(self.program, self._atoms(answer), self._rows(answer), centre, units, allowed, spare)
        if np.isinf(lower.radius) and (self.proven is None or lower.value > self.proven.value):
            self.proven = lower
        if self.proven is None or lower is self.proven or lower.value > self.proven.value + allowed:
            return lower
        return self.proven.around(self.program, centre)

    def _farther(self) -> ConvexSolution | None:
        """The box matters: the model is unbounded, which is then proven, or its solution lies farther out."""
        direction = find_ray(self.interior, self.program, self.cuts.atoms, self.oracles, self.clock)
        if direction is not None and (self.master is None or self._follow()):
            found = prove_feasible(self.program, self.z, seconds=self.clock.left())
            if not isinstance(found, Broken):
                certificate = unbounded(self.program, found, direction, self.clock.left())
                if certificate is not None:
                    return self._solution(Status.UNBOUNDED, certificate)
        return self._grow(ESCAPE)

    # ---- ends -----------------------------------------------------------------------------------------------------

    def _give_up(self) -> ConvexSolution:
        """No point that can be proven, or none whose gap closes, was found in a while."""
        if self.incumbent is None and self.obstacle is not None:
            return self.stop(Status.UNCERTIFIED, f"No violation found, but {self.obstacle.why}.")
        return self.stop(Status.STALLED if self.slater else Status.NO_INTERIOR)

    def _retreat(self) -> None:
        """A feasible point for free: between an iterate of proven violation v and a point of margin s."""
        v = self.violation.worst
        if self.incumbent is not None or not self.slater or not 0 < v < np.inf:
            return
        inside = self.interior.deepest()
        if inside.status != "optimal" or inside.depth <= 0:
            return
        s = -family_bounds(self.program, inside.z, seconds=self.clock.left()).worst
        if s <= 0:
            return
        weight = min(v / (s + v) * (1 + 1e-9) + 1e-12, 1.0)
        z = (1 - weight) * self.z + weight * inside.z
        found = prove_feasible(self.program, z, seconds=self.clock.left(), oracles=self.oracles)
        if not isinstance(found, Broken):
            self.incumbent = found

    def stop(self, status: Status, evidence: str = "") -> ConvexSolution:
        """End with the best bounds that can be proven now; OPTIMAL if they meet after all."""
        if status in (Status.TIME_LIMIT, Status.INTERRUPTED):
            self.clock.allow_last_proofs(status is Status.INTERRUPTED)
        with self.clock.running():
            return self._stopped(status, evidence)

    def _stopped(self, status: Status, evidence: str) -> ConvexSolution:
        with suppress(OutOfTime):
            if self.master is not None or self.answer is None:
                self._finish()
        with suppress(OutOfTime):
            self._retreat()
        best = self.incumbent
        centre = self.z if best is None else best.point.x
        allowed = self._allowed(self.value if best is None else best.upper)
        lower = self.proven
        with suppress(OutOfTime):
            lower = None if self.proven is None else self.proven.around(self.program, centre)
            if lower is None and self.answer is not None and self.reach is None:
                lower = self._prove_lower(self.answer, centre, 0.5 * allowed)
        lower = lower or Lower(-np.inf, Dual((), np.zeros(self.program.finite_rows)))
        certificate = optimal(self.program, best, lower, self.z, self.violation)
        if best is not None and best.upper - lower.value <= allowed:
            status = Status.UNCERTIFIED if certificate.trusts else Status.OPTIMAL
        return self._solution(status, certificate, "" if status is Status.OPTIMAL else evidence)

    def _finish(self) -> None:
        """A canonical point and multipliers, where the user's solver has given neither."""
        found = self._propose()
        if found.status == "optimal":
            self.z, self.value = found.z, found.value
            self.violation = Bounds.of(self.program, self.oracles, self._separate(self.z))
            if self.violation.worst <= 0 and self.reach is None:
                self._remember(self.z, self.violation)

    def _solution(self, status: Status, certificate: Certificate, evidence: str = "") -> ConvexSolution:
        return ConvexSolution(
            status=status,
            program=self.program,
            certificate=certificate,
            history=tuple(self.history),
            active=merge(self.program, certificate.support, NEGLIGIBLE),
            seconds=self.clock.used(),
            tol=self.options.tol,
            atol=self.options.tol,
            oracle=self.oracle_names,
            cuts=tuple(self.cuts.atoms),
            evidence=evidence,
            oracles=tuple(self.oracles),
        )
