"""What holds for a policy with probability 1 - δ, for all y at once: V_{c_y} - u_y <= bound, from fresh episodes.

The episodes must be drawn by the policy after it was chosen. Z_i(y) is the discounted cost of episode i, which lies in
[a, b] whatever happens, of width w = b - a. Two bounds are computed, each holds with its share of δ, and the smaller
counts.

**By a cover.** Y is cut beforehand into N cells of side ρ. For a cell C, Z_i(C) = sup over y in C of Z_i(y) lies in
[a, b], too, and V_{c_y} <= E Z(C) for y in C. The empirical Bernstein inequality (`rl.bernstein`) holds for all cells
with probability 1 - δ if it is applied with δ / N, and with the mean m(C) of a few pilot episodes as the guess. Let L
be a Lipschitz constant (in the sup norm) of the costs of the steps that were seen, g the largest sum of weights of an
episode and ω = ρ L g. Then Z_i(y) <= Z_i(C) <= Z_i(y) + ω, the same holds for m, and mean (Z_i(C) - m(C))² <= (1 + κ)
S(y) + (1 + 1/κ) ω² with S(y) = mean (Z_i(y) - m(y))² and any κ > 0. So for every λ and all y,

    V_{c_y} - u_y <= sup over y of { mean Z_i(y) - u_y + (1 + κ) f S(y) } + ω + (1 + 1/κ) f ω² + w log(N/δ) / (λ n),
                     f = ψ(λ) / (λ w).

Only the logarithm of N counts, and no cell is ever looked at: an oracle of lsip proves the supremum over all of Y,
from enclosures or from Lipschitz constants. The side ρ = m w / (2 L g n) makes ω about as small as what a finer cover
would cost.

**By a reference.** A policy that hardly varies is compared with one pilot episode Z_0: for all y at once,

    V_{c_y} - u_y <= sup over y of { Z_0(y) - u_y } + E X,     X = max(0, sup over y of { Z(y) - Z_0(y) }),

and X is one number an episode, in [0, w]: its expectation needs no cover. If all n episodes are the same, this is
within w log(1/δ) / n of the truth, and no bound can be better: a path of cost w may have the probability log(1/δ) / n
unseen.

Costs that are not discounted are those of an episode as the environment plays it, with its limit of steps. Where they
are discounted, an episode that was cut off after T steps counts with what may follow, γ^T max c / (1 - γ).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lsip
from lsip.legible import legible_repr, legibly
from lsip.model import FamilyViolation, steepest_coefficient
from lsip.solution import above
from lsip.validation import Configuration, Count, Positive, Share

from . import validation
from .bernstein import EmpiricalBernstein
from .constraint import SemiInfiniteCost
from .cost_range import check_range
from .discounted_costs import EVERY, DiscountedCosts, Form, of_episodes, of_visits
from .sicmdp import SICMDP, Specification

Array = NDArray[np.float64]
UNPROVEN = (
    "Nothing is known of the cost between points of Y: write cost and bound with NumPy's functions of y, so that they "
    "can be traced, or give Lipschitz constants, rl.SemiInfiniteCost(…, lipschitz=(L_c, L_u))."
)


ROUNDED = "rounding errors in the costs of single steps do not matter"


@dataclass(frozen=True)
class CertifyTuning(Configuration):
    """How a guarantee is computed.

    Parameters
    ----------
    inequality
        The empirical Bernstein inequality, with its λ.
    reference
        The share of δ that the comparison with one episode gets; the cover, of which only log δ counts, has the rest.
    most_routes
        Of how many distinct episodes the distance to the reference is computed; with more, there is no such bound.
    most_steps
        How many distinct steps a formula may have that is enclosed: each takes 6 kB for a while. With more, the
        supremum follows from Lipschitz constants: those that were given, else those that enclosures of so many steps
        at a time prove.
    most_costs
        How many costs may be computed then, at most: it limits the boxes;
    costs_at_once
        and how many of them are held at a time.
    stretch
        κ: what is added to the mean square so that it holds between the points of the cover.
    sharpness
        The supremum over y is proven to within this share of what chance adds,
    finest
        and never more finely than that.
    """

    inequality: EmpiricalBernstein = field(default_factory=EmpiricalBernstein)
    reference: Share = 0.8
    most_routes: Count = 16
    most_steps: Count = 100_000
    most_costs: Positive = 2e9
    costs_at_once: Positive = 4e6
    stretch: Positive = 0.01
    sharpness: Positive = 0.02
    finest: Positive = 1e-6


@legible_repr
@dataclass(frozen=True, eq=False)
class Guarantee:
    """With probability at least 1 - `delta`: V_{c_y} - u_y <= `bound` for all y in Y at once."""

    bound: float
    y: Array  # (m,), where the mean of the episodes violates most
    delta: float  # 0 where the model is known
    episodes: int  # that the bound was computed from, or other `evidence`
    mean_violation: float  # of their mean, at y
    assumptions: tuple[str, ...] = ()  # what is taken on trust besides, in sentences
    evidence: str = "fresh episodes have"

    @property
    def feasible(self) -> bool:
        """Whether the constraint is kept for every y, as far as the guarantee goes."""
        return self.bound <= 0

    @legibly
    def __str__(self) -> str:
        at = ", ".join(f"{v:.4g}" for v in self.y)
        if not self.delta:
            said = f"Proven: V_c(y) - u(y) <= {above(self.bound, 6):.6g} for all y; it is {self.mean_violation:.6g} at"
            said += f" y = ({at})"
        else:
            said = (
                f"With probability {1 - self.delta:.6g}, V_c(y) - u(y) <= {above(self.bound, 4):.4g} for all y at once;"
            )
            said += f" {self.episodes:,} {self.evidence} {self.mean_violation:.4g} at the worst, y = ({at})"
        said += f", if {' and '.join(self.assumptions)}." if self.assumptions else "."
        return said


def certify(
    problem: SICMDP | Specification | SemiInfiniteCost,
    evidence: Any,
    *,
    delta: float | None = None,
    horizon: int | None = None,
    tail: bool | None = None,
    tuning: CertifyTuning | None = None,
) -> Guarantee:
    """A bound of V_{c_y} - u_y that holds for all y at once, with probability at least 1 - delta.

    Parameters
    ----------
    problem, evidence
        A known model, an `SICMDP`, and a policy: the bound is proven, and takes no options. Or the
        `SemiInfiniteCost` of an environment and fresh `Episodes` of a fixed policy, which were not used to choose it.
        Or the `Specification` of a tabular model and discounted visits (n, S, A) of as many paths.
    delta
        How likely the bound may be wrong, 0.05 by default.
    horizon
        For episodes: the most steps of one, its time limit. Costs that are not discounted need it.
    tail
        For episodes whose costs are discounted: whether those of an episode that was cut off go on, as they do by
        default. Without, a time limit is part of the task.
    tuning
        How to compute it.

    Raises
    ------
    lsip.ModelError
        If a step of the evidence costs less or more than the `range` of the constraint says: nothing follows then.

    Examples
    --------
    >>> import envs, rl
    >>> mdp = envs.sewage(states=4, actions=2, seed=1)
    >>> rl.certify(mdp, rl.plan(mdp)).feasible
    True
    """
    delta = None if delta is None else validation.number("delta", delta, "probability")
    if tail is not None:
        validation.flag("tail", tail)
    if tuning is not None and not isinstance(tuning, CertifyTuning):
        raise lsip.ModelError(f"`tuning` is an rl.CertifyTuning(…); got {validation.shown(tuning)}.")
    if isinstance(problem, SICMDP):
        validation.unused("a known model", delta=delta, horizon=horizon, tail=tail, tuning=tuning)
        worst = problem.worst_violation(evidence)
        return Guarantee(worst.bound, worst.y, 0.0, 0, worst.value, worst.assumptions)
    if isinstance(problem, Specification):
        validation.unused("a tabular model", horizon=horizon, tail=tail)
        sample, slope = of_visits(problem, evidence), problem.costs.steepest()  # whatever the paths
    elif isinstance(problem, SemiInfiniteCost):
        if problem.gamma == 1:
            validation.unused("costs that are not discounted", tail=tail)
        sample, slope = of_episodes(problem, evidence, horizon, tail is not False), None
    else:
        raise lsip.ModelError(
            "A guarantee is about an rl.SICMDP with a policy, an rl.Specification with discounted visits, or an "
            f"rl.SemiInfiniteCost with episodes; got {validation.shown(problem)}."
        )
    if len(sample.which) < 3:
        raise lsip.ModelError(f"A guarantee needs at least 3 episodes; got {len(sample.which)}.")
    chosen = tuning or CertifyTuning()
    check_range(sample, chosen.costs_at_once)
    return _Certification(sample, slope, 0.05 if delta is None else delta, chosen).guarantee()


class _Certification:
    """One sample of episodes: its pilot, its suprema, its two bounds."""

    def __init__(self, sample: DiscountedCosts, slope: float | None, delta: float, tuning: CertifyTuning) -> None:
        self.planned = len(sample.which)  # the pilot and the cover depend on this, and not on what was seen
        self.pilot = math.ceil(math.sqrt(self.planned))
        self.sample, self.delta, self.tuning = sample, delta, tuning
        self.steps, self.of_table = sample.weights.shape[1], slope
        self.traced = sample.constraint.index is not None or self.steps <= tuning.most_steps
        self.width, self.n = sample.width, self.planned - self.pilot
        self.trusts: set[str] = set()

    def guarantee(self) -> Guarantee:
        """The smaller of the two bounds."""
        chance = self.tuning.inequality.excess(self.width, self.n, -math.log(self.delta), 0.0)
        worst = self.supremum(self.sample.mean(slice(None)), self.tolerance(chance))
        k = int(np.argmax(worst.values))
        bound = min(self.by_reference(), self.by_cover(worst.points[k]))
        trusts = tuple(sorted(self.trusts))
        return Guarantee(bound, worst.points[k], self.delta, self.planned, float(worst.values[k]), trusts)

    def by_reference(self) -> float:
        """All episodes compared with the first one; inf where too many are different."""
        sample, tuning, rest = self.sample, self.tuning, slice(self.pilot, None)
        first, shares = sample.which[0], sample.shares(rest)
        others = np.setdiff1d(np.flatnonzero(shares), [first])
        if len(others) > tuning.most_routes:
            return np.inf
        log_tests = -math.log(tuning.reference) - math.log(self.delta)
        tol = self.tolerance(tuning.inequality.excess(self.width, self.n, log_tests, 0.0))
        reference, apart = sample.episode(first), np.zeros(len(shares))
        for e in others:
            separation = self.supremum(sample.episode(e).minus(reference), tol, bounded=False)
            apart[e] = np.clip(separation.bound, 0.0, self.width)  # which costs within their range do not exceed
        excess = tuning.inequality.excess(self.width, self.n, log_tests, float(shares @ apart**2))
        return float(self.supremum(reference, tol).bound + shares @ apart) + excess

    def by_cover(self, worst: Array) -> float:
        """The bound for the λ that is best at the worst y; it holds for all of them, so that one may choose."""
        sample, tuning = self.sample, self.tuning
        log_cells, gap = self.cells()
        log_tests = log_cells - math.log(1 - tuning.reference) - math.log(self.delta)
        constant, factor = tuning.inequality.terms(self.width, self.n, log_tests)
        constant = constant + gap + (1 + 1 / tuning.stretch) * factor * gap**2
        factor = (1 + tuning.stretch) * factor
        form = sample.scattered(slice(self.pilot, None), sample.mean(slice(self.pilot)))
        k = int(np.argmin(constant + factor * form.squares(sample.costs(worst[None, :], EVERY))))
        separation = self.supremum(replace(form, factor=float(factor[k])), self.tolerance(constant[k]))
        return float(separation.bound + constant[k])

    def cells(self) -> tuple[float, float]:
        """log N of the cells that cover Y, and ω; the cells are chosen without a look at more than the pilot."""
        domain = self.sample.constraint.domain
        if isinstance(domain, lsip.Finite):
            return math.log(len(domain.points)), 0.0
        lengths = domain.upper - domain.lower
        steep = self.steepest(self.sample.part(slice(self.pilot))) * self.sample.most
        each = np.ceil(np.maximum(lengths * 2 * steep * self.planned / (domain.dim * self.width or 1.0), 1.0))
        return float(np.log(each).sum()), float((lengths / each).max()) * self.steepest(self.sample) * self.sample.reach

    def tolerance(self, chance: float) -> float:
        """How sharply suprema are proven, where chance adds so much."""
        return max(self.tuning.sharpness * chance, self.tuning.finest)

    def supremum(self, form: Form, tol: float, bounded: bool = True) -> lsip.oracles.Separation:
        """The largest value over Y of a form, minus u_y unless it is not `bounded`, with a proven bound."""
        violation = self.violation(form, bounded)
        if not violation.family.enclosable:
            raise lsip.ModelError(UNPROVEN)
        boxes = lsip.oracles.BranchAndBound.max_boxes if self.traced else self.tuning.most_costs / self.steps
        separation = lsip.oracles.supremum(violation, tol=tol, max_boxes=math.ceil(boxes))
        proven = not self.traced and self.sample.constraint.lipschitz is None  # constants, and nothing but those
        self.trusts.update([ROUNDED] if proven else separation.trusts)
        return separation

    def violation(self, form: Form, bounded: bool) -> FamilyViolation:
        """What an oracle maximises."""
        constraint, x = self.sample.constraint, lsip.Variable(1, name="x")
        bound: Any = _limit(constraint) if bounded else lambda y: np.zeros(len(y))
        if constraint.index is not None:
            one: Any = form(constraint.cost.reshape(1, -1))[0] * x[0]
            row: Any = lsip.forall(constraint.index, one <= (constraint.bound if bounded else 0.0))
        else:
            slopes = None
            if constraint.lipschitz is not None or not self.traced:
                # Squares change by 2 sqrt(S) times the change of Z_i - m, which is that of two episodes.
                change = np.abs(form.weights).sum() + 4 * form.factor * self.width * self.sample.reach
                slopes = float(self.slopes[0] * change), self.slopes[1] if bounded else 0.0
            row = lsip.Family(constraint.domain, lambda y: self.row(form, y), bound, slopes).on(x)
        program = lsip.Problem(lsip.minimize(x.sum()), [row], name="episodes").compile()
        return program.violation(0, np.ones(1))

    def row(self, form: Form, y: Any) -> Any:
        """A form at points (N, m), (N, 1); an expression for one in their place, if that is to be traced."""
        if self.traced:
            return form(self.sample.costs(y, EVERY)).reshape(len(y), 1)
        points = np.asarray(y, dtype=float)  # which an expression is not
        each = max(int(self.tuning.costs_at_once / self.steps), 1)
        parts = [form(self.sample.costs(points[i : i + each], EVERY)) for i in range(0, len(points), each)]
        return np.concatenate(parts).reshape(-1, 1)

    @cached_property
    def slopes(self) -> tuple[float, float]:
        """Lipschitz constants of costs and bound between points: as given, or proven."""
        constraint = self.sample.constraint
        if constraint.lipschitz is not None:
            of_cost, of_bound = np.broadcast_to(np.asarray(constraint.lipschitz, dtype=float), (2,))
            return float(of_cost), float(of_bound)
        limit = _limit(constraint)
        return self.steepest(self.sample), _steepest(constraint, lambda y: limit(y).reshape(len(y), 1), 1)

    def steepest(self, sample: DiscountedCosts) -> float:
        """A Lipschitz constant of the costs of the steps that a sample has, in the sup norm: proven, else as given.

        Where formulas are too long, suprema rest on those that were given, and say so.
        """
        declared, most = sample.constraint.lipschitz, self.tuning.most_steps
        if self.of_table is not None:
            return self.of_table
        if declared is not None and not self.traced:
            return self.slopes[0]
        size = sample.weights.shape[1]

        def of(first: int) -> float:
            some = slice(first, min(first + most, size))
            return _steepest(sample.constraint, lambda y: sample.costs(y, some), some.stop - first)

        proven = max(map(of, range(0, size, most)))
        if not np.isfinite(proven) and declared is None:
            raise lsip.ModelError(UNPROVEN)
        return proven if np.isfinite(proven) else self.slopes[0]


def _steepest(constraint: SemiInfiniteCost, rows: Callable[[Any], Any], size: int) -> float:
    """A proven Lipschitz constant of so many functions of y, in the sup norm; inf if there is none."""
    x = lsip.Variable(size, name="x")
    family = lsip.Family(constraint.domain, rows, lambda y: np.zeros(len(y))).on(x)
    return steepest_coefficient(lsip.Problem(lsip.minimize(x.sum()), [family], name="steps").compile().families[0])


def _limit(constraint: SemiInfiniteCost) -> Any:
    """u as a function of arrays, which one of torch is not."""
    return constraint.bounds if constraint.tensors else constraint.bound
