"""The relaxation of a decomposed program: columns, which are points of X, and rows, at index points, together.

A master program mixes the points of X found so far under the index points found so far. Its multipliers lambda, a
measure on Y, give a new linear function to maximise,

    L(lambda) = min over X of c x + sum_j lambda_j (a(y_j) x - b(y_j)),

which is a lower bound of the optimum for every lambda >= 0, and a new point of X for the master. Multipliers are
smoothed towards those of the best bound so far, which keeps them from swinging.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..deadline import check
from ..domains import Domain
from ..errors import ModelError
from ..masters.columns import ColumnMaster, Mixture
from ..model.program import STORAGE, Program
from ..model.status import Status
from ..oracles import Oracle, Separation, is_prover
from ..proof.certificate import Array, Certificate, Support
from ..proof.dual import Dual
from ..proof.families import Bounds, family_bounds
from ..proof.linear_algebra import ROUNDING
from ..proof.primal import NotProven, broken_rows
from ..proof.prove import DualBound, Incumbent, feasible_at, upper_bound
from ..proof.rows import trusts
from ..reductions.equilibration import Scaling
from ..reductions.rounding import data_rounding
from ..solution.messages import infeasible_on_trust
from ..validation import shown
from .anytime_bounds import share, slater_point
from .certification import recheck
from .mixture import Atom, Extreme, Maximise, MixedPoint, MixtureCuts, PricedBound, beyond, mixed
from .options import Options
from .rays import ROUNDED
from .relaxation import Relaxation, Search, counted, objective
from .rows import Known, cuts_at, first_cuts
from .sampling import SampledRows
from .state import End, Proposal, State
from .tuning import DEFAULTS


def least_gap(program: Program) -> float:
    """The absolute gap that will do over a set X that is not written down: costs are taken as they are."""
    return data_rounding(program, float(np.abs(program.c).max(initial=0.0)))


@dataclass(frozen=True, eq=False)
class MixtureProposal(Proposal):
    """A mixture of points of X; `mixture` gives the point with some weights, and the half-widths of its box."""

    mixture: Callable[[Array], tuple[Array, Array]] | None = None

    def towards(self, other: Proposal, share: float) -> Proposal:
        if self.mixture is None or self.weights is None or other.weights is None:
            return self
        weights = np.zeros(max(len(self.weights), len(other.weights)))
        weights[: len(self.weights)] += (1 - share) * self.weights
        weights[: len(other.weights)] += share * other.weights
        x, box = self.mixture(weights)
        return MixtureProposal(x, box=box, weights=weights, mixture=self.mixture)

    def feasible(
        self, program: Program, oracles: Sequence[Oracle], known: Bounds | None, seconds: float
    ) -> Incumbent | NotProven:
        if self.weights is None or self.box is None:
            return NotProven("the point is no mixture of points of X")
        bad = broken_rows(program, self.x, self.box)
        if len(bad):
            return NotProven("the point found keeps a finite constraint only up to rounding", True, bad)
        if known is None:
            known = family_bounds(program, self.x, self.box, seconds=seconds, oracles=oracles)
        return feasible_at(program, MixedPoint(self.x, self.box, weights=self.weights), known)


class DecomposedRelaxation(Relaxation):
    """Mixtures of points of X under cuts."""

    held: MixtureCuts

    def __init__(self, program: Program, maximise: Maximise, start: Sequence[Extreme], options: Options) -> None:
        super().__init__(Scaling.none(program).apply(), options, atol=least_gap(program))
        self.maximise, self.first_points = maximise, start
        self.start = MixtureProposal(np.clip(np.zeros(program.n), program.lower, program.upper))
        self.strategies, self.sampling = (Inside(self),), self._sample
        self.outline = f"{counted(program.n, 'variable')}, points of X by linear maximisation", ""
        self.master, self.held = ColumnMaster(program.c, options.tol), MixtureCuts(program)
        self.data: list[Any] = []  # what came with each point
        self.radii = np.zeros((0, program.n))  # half-widths of each
        self.first = [_few(f.domain) for f in program.families]
        self.sampled = [SampledRows(f, y, self.tuning) for f, y in zip(program.families, self.first, strict=True)]
        self.seen: list[Separation] = []  # what sampled rows showed last, where it was not worth rows
        self.best, self.bound = np.zeros(0), -np.inf  # multipliers of the best lower bound, and that bound
        self._last: tuple[Array, float, Incumbent | None] = np.zeros(0), -np.inf, None  # prices, bound and best point
        self.margin = 0.0  # of the next relaxation
        self.calls, self.still = 0, 0  # linear maximisations, and relaxations in a row that changed nothing

    # ---- the finite program ---------------------------------------------------------------------------------------

    def propose(self, state: State) -> Proposal | End:
        if state.closing:  # `maximise` may take long
            return End(Status.TIME_LIMIT)
        if not self.calls:
            self._open()
        state.margin = self.margin
        while True:
            check("exchange")
            found = self.master.solve(state.margin)
            found = None if found is None else self._with_rows(state, found)
            if found is not None:
                break
            if state.margin > 0:
                state.margin = 0.0
                continue
            end = self._find_feasible(state)
            if end is not None:
                return end
        self._price_smoothed(found)
        proposal = self._proposal(found)
        if self._stands(found, state.incumbent):
            return End(Status.STALLED)
        state.accept(proposal, self.held.terms(self.best, proposal.x))
        state.relaxed, state.proven = self.bound, self.lower_bound(state, proposal, state.x, 0.0)
        total = float(found.multipliers.sum())
        cost = self.tuning.margin_share * state.allowed(state.proposal.value)
        self.margin = cost / total if total > 0 else state.margin
        return state.proposal

    def _open(self) -> None:
        """The first points of X, and the first rows."""
        for extreme in self.first_points:
            self._keep(extreme)
        self.master.add_rows(self.held.a, self.held.b)
        self._price(np.zeros(len(self.held.b)), 1.0)
        self.add(first_cuts(self.program, self.first))

    def _with_rows(self, state: State, found: Mixture) -> Mixture | None:
        """Add index points while the mixture breaks rows by enough to matter; None if no mixture keeps them."""
        for _ in range(self.tuning.tries):
            x = self._mix(found.weights)
            value = objective(self.program, x)
            near = self._near(state, value)
            self.seen = [
                sampled.separate(self.program.violation(f, x), -state.margin, near)
                for f, sampled in enumerate(self.sampled)
            ]
            new = cuts_at(self.seen, -state.margin, DEFAULTS.patience)
            little = 0.0 if near else self.tuning.share * max(value - self.bound, 0.0)
            if not new or max(s.worst for s in self.seen) * max(float(found.multipliers.sum()), 1.0) <= little:
                return found
            self.add(new)
            self.seen = [Separation(s.points[:0], s.values[:0], np.inf, s.components[:0]) for s in self.seen]
            again = self.master.solve(state.margin)
            if again is None:
                return None
            found = again
        return found

    def _near(self, state: State, value: float) -> bool:
        """Whether a proof is worth its price: the gap is almost shut, or there is no feasible point yet."""
        if value - self.bound <= state.allowed(value):
            return True
        return state.incumbent is None and self.program.n > STORAGE.most_dense and all(map(is_prover, self.oracles))

    def _sample(self, state: State, point: Proposal) -> list[Separation] | None:
        return None if self._near(state, point.value) else self.seen

    def _proposal(self, found: Mixture) -> Proposal:
        x, box = self._mixture(found.weights)
        support, rows = self.held.measure(self.best)
        value, excess = objective(self.program, x), self.held.finite_violation(x, box)
        return MixtureProposal(
            x, value, support, rows, box=box, weights=found.weights, excess=excess, mixture=self._mixture
        )

    def _find_feasible(self, state: State) -> End | None:
        """No mixture of the known points keeps the known rows: find one that does, or prove that there is none."""
        for _ in range(max(self.options.max_iterations, Options.max_iterations)):  # however few may follow it
            check("exchange")
            found = self.master.best_margin()
            if found.slack < 0:
                return None
            before = len(self.master.points)
            if self._price(found.multipliers, 0.0) > 0:
                return self._infeasible(state, found.multipliers)
            slope, level = found.multipliers @ self.held.a, found.multipliers @ self.held.b
            values = self.master.points[before:] @ slope - level
            if values.min() >= found.slack - 1e-13 * (1 + np.abs(self.held.b).max()):
                break  # nothing in X is further inside, to rounding
        return End(Status.STALLED)

    def _infeasible(self, state: State, multipliers: Array) -> End:
        support, rows = self.held.measure(multipliers)
        on_trust = trusts(self.program, support)
        if on_trust:
            return End(Status.UNCERTIFIED, infeasible_on_trust(on_trust))
        certificate = Certificate("infeasible", state.x, np.inf, np.inf, support=support, row_multipliers=rows)
        return End(Status.INFEASIBLE, certificate=certificate)

    def add(self, new: list[Support], known: Known | None = None) -> int:
        before, count = len(self.held.b), self.held.add(new)
        self.master.add_rows(self.held.a[before:], self.held.b[before:])
        return count

    def inner_point(self, margin: float = np.inf) -> Proposal | None:
        for _ in range(self.tuning.tries if margin == np.inf else 0):
            found = self.master.best_margin()
            if found.slack < 0:
                return self._proposal(found)
            self._price(found.multipliers, 0.0)
        return None

    # ---- points of X ----------------------------------------------------------------------------------------------

    def _keep(self, extreme: Extreme) -> None:
        program = self.program
        points = np.atleast_2d(np.asarray(extreme.x, dtype=float))
        if points.ndim != 2 or points.shape[1] != program.n or not np.isfinite(points).all():
            raise ModelError(f"`maximise` must give finite points of shape ({program.n},); got {points.shape}.")
        data = extreme.data if len(points) > 1 and isinstance(extreme.data, list) else [extreme.data] * len(points)
        if len(data) != len(points):
            raise ModelError(f"`maximise` gave {len(points)} points with {len(data)} items of data.")
        try:
            radii = np.broadcast_to(np.asarray(extreme.radius, dtype=float), points.shape)
        except (TypeError, ValueError):
            radii = np.full(points.shape, np.nan)
        if not (np.isfinite(radii).all() and (radii >= 0).all()):
            raise ModelError(
                f"`radius` of an Extreme is a number >= 0, or one for each of its; got {shown(extreme.radius)}."
            )
        out = beyond(program, points)
        if (out > radii + ROUNDING * self.held.reach).any():
            raise ModelError(
                f"`maximise` gave a point outside the bounds of the variables, by {out.max():.3g}; these must hold on "
                "all of X. If X keeps them and its points are inexact, say how far off they are: Extreme(radius=…)."
            )
        radii = np.maximum(radii, out)  # the point of X is inside, so that much off is what was given
        self.master.add_points(points)
        self.radii = np.concatenate([self.radii, radii])
        self.data += data

    def _price_smoothed(self, found: Mixture) -> None:
        """A new point of X for the master, half-way between its multipliers and the best so far, or at its own."""
        best, own = (
            np.resize(np.append(self.best, np.zeros(len(found.multipliers))), len(found.multipliers)),
            found.multipliers,
        )
        slope = self.program.c + own @ self.held.a[: len(own)]
        for multipliers in (0.5 * (best + own), own) if len(self.best) else (own,):
            before = len(self.master.points)
            self._price(multipliers, 1.0)
            gain = found.price - float((self.master.points[before:] @ slope).min())
            if gain > self.tuning.share**2 * (objective(self.program, self._mix(found.weights)) - self.bound):
                return

    def _stands(self, found: Mixture, best: Incumbent | None) -> bool:
        """Whether neither new points nor new rows change prices, the bound or the best point, time and again.

        Columns come one by one, so that a mixture which stays says little. But with the same prices, the same point of
        X is found again.
        """
        prices = np.append(found.price, found.multipliers[found.multipliers > 0])
        before, bound, point = self._last
        least = self.accuracy * (1 + np.abs(prices).max())
        same = len(prices) == len(before) and np.abs(prices - before).max() <= least
        same = same and self.bound <= bound + least and best is point
        self.still, self._last = self.still + 1 if same else 0, (prices, self.bound, best)
        return self.still > DEFAULTS.patience  # that of `options` is without end

    def _price(self, multipliers: Array, objective: float) -> float:
        """Ask for the point of X that these multipliers want, and take the bound that comes with it."""
        bound, extreme = self.held.relaxed(objective, multipliers, self.maximise)
        self.calls += 1
        self._keep(extreme)
        shaved = bound - ROUNDED * (1 + abs(bound))
        if objective and shaved > self.bound:
            self.bound, self.best = shaved, multipliers
        return bound

    # ---- mixtures -------------------------------------------------------------------------------------------------

    def _mix(self, weights: Array) -> Array:
        """The point with these weights; points that came later have none."""
        return weights @ self.master.points[: len(weights)]

    def _mixture(self, weights: Array) -> tuple[Array, Array]:
        """The same, and half-widths of a box that holds a mixture of points of X, with some room for a check of it."""
        used = np.flatnonzero(weights > 0)
        x, box = mixed(weights[used], self.master.points[used], self.radii[used])
        return x, 1.5 * box

    def lower_bound(self, state: State, proposal: Proposal, centre: Array, allowed: float) -> DualBound:
        support, rows = self.held.measure(self.best)
        return PricedBound(self.bound, Dual(support, rows), size=self.held.terms(self.best, centre))

    def extras(self, best: Incumbent | None, last: Proposal) -> dict[str, Any]:
        behind = last if best is None or not isinstance(best.point, MixedPoint) else best.point
        weights = [] if behind.weights is None else behind.weights.tolist()
        every = zip(weights, self.master.points, self.data, self.radii, strict=False)
        atoms = tuple(Atom(*each) for each in every if each[0] > 0)
        return {"atoms": atoms, "calls": self.calls, "maximise": self.maximise}


class Inside:
    """Turns every proven point into a feasible one, by a mixture with one that has room; found once."""

    def __init__(self, relaxation: DecomposedRelaxation) -> None:
        self.relaxation = relaxation
        self.room: tuple[Proposal, float] | None = None

    def __call__(self, search: Search, separations: list[Separation]) -> End | None:
        state, relaxation = search.state, self.relaxation
        violation = max(state.violation.worst, state.proposal.excess)
        if not 0 < violation < np.inf:
            return None
        self.room = self.room or slater_point(search)
        if self.room is None:
            return None
        point = state.proposal.towards(self.room[0], share(violation, self.room[1]))
        upper = np.inf if state.incumbent is None else state.incumbent.upper
        if not upper_bound(relaxation.program, point.x, point.box) < upper:
            return None
        found = point.feasible(relaxation.program, relaxation.oracles, None, search.clock.left())
        if isinstance(found, NotProven):
            return None
        state.keep_feasible(found)
        relaxation.margin = min(relaxation.margin, relaxation.tuning.margin_share * self.room[1])
        return recheck(search)


def _few(domain: Domain) -> Array:
    """Index points to begin with."""
    return domain.grid({1: 9, 2: 4}[domain.dim]) if domain.dim <= 2 else domain.spread(16)
