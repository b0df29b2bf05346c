"""Models with a convex finite part: the exchange with a CVXPY master, and weak duality in CVXPY's canonical form.

As in the linear exchange, cuts keep a small margin, so that the last point is feasible for every index and its
objective is an upper bound. The lower bound does not trust the master, which may be any solver: the canonical form is
solved once more at the end, its multipliers are moved into the dual cone, and what they prove is computed with outward
rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...certificate import FINITE, LEAST_RADIUS, Certificate, Support, prove_feasible
from ...clock import Clock
from ...options import check_options
from ...oracles import Oracle, Separation, pick_oracle
from ...program import Program
from ...separate import separate
from ...solution import Iterate, merge
from ...status import Status
from .affine import Layout
from .bounds import Bound, Judge
from .canonical import Canonical
from .families import Compiled
from .master import Master, Relaxed
from .ray import find_ray
from .solution import ROUNDING, ConvexSolution, Model

Array = NDArray[np.float64]
DUST = 1e-6  # the share of the multipliers below which an interior point method's atom is no active point
TOL = 1e-6  # interior-point solvers keep constraints to about 1e-9, and the margin of the cuts must be larger than that
REACH = 1e3  # the first box, when the relaxation is unbounded without one
STRETCHES = 6  # times that the box grows tenfold
FROZEN = 5  # iterations without any change of x after which the solver's accuracy is to blame
PATIENCE = 6  # feasible points whose gap does not close


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

    def __init__(
        self,
        model: Model,
        canonical: Canonical,
        compiled: Compiled,
        layout: Layout,
        master: Master,
        options: Options,
        maximise: bool,
        name: str,
    ) -> None:
        self.clock = Clock(options.time_limit)
        self.model, self.canonical, self.layout = model, canonical, layout
        self.master, self.options = master, options
        n = layout.whole.size
        free = np.full(n, np.inf)
        empty = sparse.csr_matrix((0, n))
        self.program = Program(
            np.zeros(n), 0.0, -free, free, empty, np.zeros(0), np.zeros(0), compiled.families,
            maximise=maximise, name=name,
        )  # fmt: skip
        self.oracles: list[Any] = [options.oracle or pick_oracle(f) for f in compiled.families]
        self.cuts: list[Support] = []
        self.history: list[Iterate] = []
        self.x = np.zeros(n)
        self.violation: tuple[float, ...] = (np.inf,) * len(compiled.families)
        self.incumbent: tuple[float, Array, tuple[float, ...]] | None = None  # upper, x, proven violations
        self.judge, self.proven = Judge(canonical, model), Bound()
        self.patience = self.stretches = 0
        self.slater = True
        self._begin()
        self.scale = max(1.0, float(np.median(np.abs(master.rhs * master.scale))) if len(master.rhs) else 1.0)
        self.margin = 0.1 * options.tol * self.scale

    @property
    def oracle_names(self) -> str:
        return ", ".join(dict.fromkeys(type(o).__name__ for o in self.oracles)) or "none needed"

    def describe(self) -> list[str]:
        """Two lines for the progress table."""
        families = ", ".join(f"m = {f.domain.dim}" for f in self.program.families)
        return [
            f"{self.program.name}: {self.program.n} variables, {self.canonical.rows} canonical rows; {families}",
            f"separation by {self.oracle_names}, master CVXPY with {self.master.solver}, tol {self.options.tol:g}",
        ]

    def _begin(self) -> None:
        """Rows at a few index points, so that most models are bounded from the start."""
        for f, family in enumerate(self.program.families):
            domain, (p, k) = family.domain, family.columns.shape
            if domain.dim == 1:
                points = domain.grid(int(np.clip(k + 1, 5, 50)))
            else:
                count = int(np.clip(2 * k, 8, 50))
                corners = [domain.grid(2)] if domain.dim <= 4 else []
                points = np.concatenate([*corners, domain.spread(count)])
            self._add([Support(f, c, y, 0.0) for y in points for c in range(p)])

    def _add(self, new: list[Support]) -> int:
        for f, family in enumerate(self.program.families):
            mine = [s for s in new if s.family == f]
            if mine:
                component = np.array([s.component for s in mine], dtype=np.intp)
                a, b = family.chosen(np.array([s.point for s in mine]), component)
                rows = np.zeros((len(mine), self.program.n))
                np.add.at(rows, (np.arange(len(mine))[:, None], family.columns[component]), a)
                self.master.add(rows, b)
                self.cuts += mine
        return len(new)

    # ---- the loop -------------------------------------------------------------------------------------------------

    def iterates(self) -> Iterator[Iterate | ConvexSolution]:
        """One `Iterate` an iteration, and the solution at last."""
        for iteration in range(1, self.options.max_iterations + 1):
            result = self._relax()
            if isinstance(result, ConvexSolution):
                yield result
                return
            separations = self._separate(self.x)
            self.violation = tuple(s.bound for s in separations)
            worst = max((s.worst for s in separations), default=-np.inf)
            bound = max(self.violation, default=-np.inf)
            solution = self._judge(result, worst, bound)
            added = 0
            if solution is None:
                near = -0.5 * self.margin
                added = self._add(
                    [
                        Support(f, int(c), y, 0.0)
                        for f, s in enumerate(separations)
                        for y, c, v in zip(s.points, s.components, s.values, strict=True)
                        if v > near
                    ]
                )
            yield self._record(iteration, worst, bound, added, separations)
            if solution is None:
                solution = self._limits(result)
            if solution is not None:
                yield replace(solution, history=tuple(self.history))
                return
        yield self.stop(Status.ITERATION_LIMIT)

    def _limits(self, result: Relaxed) -> ConvexSolution | None:
        if self.clock.left() < 0:
            return self.stop(Status.TIME_LIMIT)
        last = self.history[-FROZEN:]
        size = 1 + float(np.abs(self.x).max(initial=0.0))
        if len(last) == FROZEN and max(float(np.abs(h.x - self.x).max(initial=0.0)) for h in last) < 1e-10 * size:
            return self.stop(Status.STALLED if self.slater else Status.NO_INTERIOR)
        idle = result.multipliers <= 1e-9 * max(float(result.multipliers.max(initial=0.0)), 1e-300)
        if len(self.cuts) > 4 * self.program.n + 400 and idle.sum() > 0.5 * len(self.cuts):
            keep = np.concatenate([~idle, np.ones(len(self.cuts) - len(idle), dtype=bool)])
            self.master.drop(keep)
            self.cuts = [c for c, k in zip(self.cuts, keep, strict=True) if k]
        return None

    def _relax(self) -> Relaxed | ConvexSolution:
        """Solve the master; where it has no solution, give it a box, lower the margin, or prove infeasibility."""
        for _ in range(40):
            result = self.master.solve(self.margin)
            if result.status == "optimal":
                wanted = self._wanted_margin(result)
                if not self.slater or 0.3 < self.margin / wanted < 1.2:
                    self.x = result.x
                    return result
                self.margin = wanted
            elif result.status == "unbounded" and self.master.box is None:
                self.master.box = REACH * self.scale
            elif result.status == "infeasible":
                solution = self._explain_infeasible()
                if solution is not None:
                    return solution
            else:
                return self.stop(Status.STALLED)
        return self.stop(Status.STALLED)

    def _wanted_margin(self, result: Relaxed) -> float:
        """What costs about 0.4 tol in the objective, within what the solver can resolve."""
        total = float(result.multipliers.sum())
        value = abs(self.model.value(self.layout.split(result.x)))
        wanted = 0.4 * self.options.tol * max(1.0, value) / max(total, 1e-9)
        return float(np.clip(wanted, 1e-9 * self.scale, 1e-3 * self.scale)) * 0.5**self.patience

    def _explain_infeasible(self) -> ConvexSolution | None:
        found = self.judge.contradiction(self.cuts, self.master)
        if found is not None:
            certificate = Certificate(
                "infeasible", self.x, np.inf, np.inf, found.radius, found.support, found.rows, units=found.units
            )
            return self._solution(Status.INFEASIBLE, certificate)
        best = self.master.best_margin(self.scale)
        if best.status != "optimal":
            return self.stop(Status.STALLED)
        if -best.slack < 1e-3 * abs(self.margin):
            self.slater = False
            self.margin = min(-best.slack, 0.0) - 1e-8 * self.scale
            if best.slack > 1e-5 * self.scale:
                return self.stop(Status.STALLED)
        else:
            self.margin = 0.5 * min(-best.slack, self.margin)
        return None

    def _separate(self, x: Array) -> list[Separation]:
        left = self.clock.left()
        seed = self.options.seed + len(self.history)
        return separate(self.program, self.oracles, x, margin=self.margin, left=left, seed=seed)

    def _record(self, iteration: int, worst: float, bound: float, added: int, found: list[Separation]) -> Iterate:
        sign = -1.0 if self.program.maximise else 1.0
        upper = self.incumbent[0] if self.incumbent else np.inf
        low, high = (self.proven.lower, upper) if sign > 0 else (-upper, -self.proven.lower)
        iterate = Iterate(
            iteration, sign * self._value(self.x), low, high, worst, bound, added, len(self.cuts),
            self.clock.used(), self.x, tuple(s.points for s in found),
        )  # fmt: skip
        self.history.append(iterate)
        return iterate

    # ---- bounds ---------------------------------------------------------------------------------------------------

    def _value(self, x: Array) -> float:
        return self.model.value(self.layout.split(x))

    def _judge(self, result: Relaxed, worst: float, bound: float) -> ConvexSolution | None:
        """The solution, if this iterate is one."""
        if not self.slater and worst <= self.options.tol * self.scale:
            return self.stop(Status.NO_INTERIOR)
        if worst > 0 or (bound > 0 and worst > -0.5 * self.margin):
            return None
        if bound > 0:
            return self.stop(Status.UNCERTIFIED)
        if result.leaning:
            return self._farther()
        if self.master.box is not None:
            self.master.box = None  # it has served: without it the multipliers are those of the model
            return None
        if self._certify(self.x, self.violation):
            return self.stop(Status.STALLED)  # which finds the gap closed
        self.patience += 1
        return self.stop(Status.STALLED) if self.patience > PATIENCE else None

    def _farther(self) -> ConvexSolution | None:
        """The box matters: the model is unbounded, which is then proven, or its solution lies farther out."""
        direction, drift = find_ray(self.canonical, self.model, self.cuts, self.oracles)
        if direction is not None:
            certificate = Certificate(
                "unbounded", self.x, -np.inf, self._value(self.x), violation=self.violation,
                finite_violation=self._finite(self.x), direction=direction, drift=drift,
            )  # fmt: skip
            return self._solution(Status.UNBOUNDED, certificate)
        if self.stretches >= STRETCHES or self.master.box is None:
            return self.stop(Status.STALLED)
        self.stretches += 1
        self.master.box *= 10
        return None

    def _certify(self, x: Array, violation: tuple[float, ...]) -> bool:
        """Remember a point that is feasible for every index, and say whether the bounds meet."""
        if self._finite(x) > FINITE * (1.0 + float(np.abs(x).max(initial=0.0))):
            return False
        value = self._value(x)
        upper = value + ROUNDING * (1 + abs(value))
        if self.incumbent is None or upper < self.incumbent[0]:
            self.incumbent = (upper, x, violation)
        self._bound()
        return self._closed()

    def _closed(self) -> bool:
        if self.incumbent is None:
            return False
        upper, proven = self.incumbent[0], self.proven
        return abs(upper - proven.lower) <= self.options.tol * max(1.0, abs(upper)) and proven.radius >= LEAST_RADIUS

    def _bound(self) -> None:
        """What the canonical form with the cuts so far proves about the optimal value."""
        upper, x, _ = self.incumbent or (self._value(self.x), self.x, ())
        found = self.judge.bound(self.cuts, self.master, x, 0.1 * self.options.tol * max(1.0, abs(upper)))
        if found.lower > self.proven.lower:
            self.proven = found

    def _finite(self, x: Array) -> float:
        return self.model.finite_violation(self.layout.split(x))

    # ---- ends -----------------------------------------------------------------------------------------------------

    def _retreat(self) -> None:
        """A feasible point for free: between an iterate of proven violation v and a point of margin s."""
        v = max(self.violation, default=np.inf)
        if self.incumbent is not None or not self.slater or not 0 < v < np.inf:
            return
        inside = self.master.best_margin(self.scale)
        if inside.status != "optimal" or inside.slack >= 0:
            return
        s = -max(prove_feasible(self.program, inside.x, seconds=self.clock.left()), default=np.inf)
        if s <= 0:
            return
        weight = min(v / (s + v) * (1 + 1e-9) + 1e-12, 1.0)
        x = (1 - weight) * self.x + weight * inside.x
        violation = prove_feasible(self.program, x, seconds=self.clock.left())
        if max(violation) <= 0:
            self._certify(x, violation)

    def stop(self, status: Status) -> ConvexSolution:
        """End with the best bounds that can be proven now; OPTIMAL if they meet after all."""
        if status in (Status.TIME_LIMIT, Status.INTERRUPTED):
            self.clock.allow_last_proofs()
        self._retreat()
        if self.proven.lower == -np.inf and self.cuts and self.master.box is None:
            self._bound()
        if self.incumbent is not None:
            upper, x, violation = self.incumbent
        else:
            x, violation, upper = self.x, self.violation, np.inf
        p = self.proven
        certificate = Certificate(
            "optimal", x, p.lower, upper, p.radius, p.support, p.rows, violation, self._finite(x), p.units
        )
        return self._solution(Status.OPTIMAL if self._closed() else status, certificate)

    def _solution(self, status: Status, certificate: Certificate) -> ConvexSolution:
        x = certificate.x
        return ConvexSolution(
            status=status,
            program=self.program,
            certificate=certificate,
            history=tuple(self.history),
            active=merge(self.program, certificate.support, DUST),
            seconds=self.clock.used(),
            tol=self.options.tol,
            oracle=self.oracle_names,
            cuts=tuple(self.cuts),
            values={} if status is Status.INFEASIBLE else self.layout.split(x),
            model_of=self.model,
            objective=np.nan if status is Status.INFEASIBLE else self._value(x),
        )
