"""Algorithm SI-CRL: learn a policy from transitions, by optimism about the models that the data do not rule out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

import lsip
from lsip.legible import legible_repr, say
from lsip.validation import numbers

from . import theory, validation
from .binary import BinaryModel
from .certify import Guarantee
from .dataset import Dataset, OptimisticSet, as_dataset
from .occupancy import optimistic_program
from .plan import LEARNED, Plan, read_plan
from .planning import METHODS, SolverOptions, plan_optimistically, refuse_infeasible
from .policy_table import policy_of
from .sicmdp import SICMDP, Specification, as_specification

Array = NDArray[np.float64]


@legible_repr
@dataclass(frozen=True, eq=False)
class Learned(Plan):
    """What SI-CRL returns: the policy, and its value in the most optimistic model, `model`.

    With the probability that `failure` leaves, the true optimum is at most `upper`.

    Examples
    --------
    >>> import envs, rl
    >>> mdp = envs.sewage(states=3, actions=2, gamma=0.9, seed=0)
    >>> learned = rl.si_crl(mdp.sample(per_pair=10_000, seed=0), mdp.specification, delta=0.01)
    >>> learned.policy.shape
    (3, 2)
    """

    models: OptimisticSet | None = field(repr=False, default=None)
    samples: int = 0  # of every pair, at least

    def save(self, path: str | Path) -> None:
        """Refused: what was learned belongs to its data."""
        raise lsip.ModelError(LEARNED)

    @property
    def failure(self) -> float:
        """How likely the true model is to lie outside the optimistic set, at most."""
        return 1.0 if self.models is None else self.models.failure

    @property
    def theorem(self) -> theory.Bound:
        """The eps for which the paper promises (eps, failure)-optimality of the algorithm with `two_successors`.

        With probability 1 - `failure`, the return is not lower than the optimum, and no V_{c_y} above u_y, by more.
        Costs and rewards are between 0 and 1 there.
        """
        S, A = self.specification.r.shape
        failure = min(max(self.failure, np.finfo(float).tiny), 1 - np.finfo(float).eps)
        return theory.error_general(S, A, gamma=self.specification.gamma, n=self.samples * S * A, delta=failure)

    @property
    def guarantee(self) -> Guarantee:
        """What holds in the true model with probability 1 - `failure`, for all y: V_{c_y} - u_y <= bound.

        The true P and the optimistic P' both lie in the set, and with v' the discounted visits of the policy under P',

            V_c^P - V_c^P' = gamma sum over (s, a) of v'(s, a) (P - P')(. | s, a) . V_c^P,

        of which each product is at most (max c - min c) / (1 - gamma) times the most mass that the set lets P move away
        from P', and all of them together at most (max c - min c) / (1 - gamma), whatever the models. So these data say
        more than the theorem, which is about the worst of all data.
        """
        if self.model is None or self.models is None:
            raise lsip.ModelError(
                "With two_successors=True the set is one of larger models; `learned.theorem` says what holds then."
            )
        spec, P = self.specification, self.model
        optimistic = SICMDP.from_specification(P, spec)
        worst = optimistic.worst_violation(self.policy)
        moved = np.minimum((self.models.upper - P).sum(axis=2), (P - self.models.lower).sum(axis=2))
        lowest, highest = spec.constraint.range or spec.costs.extremes()
        if spec.idle:  # where nothing is to be paid
            lowest, highest = min(lowest, 0.0), max(highest, 0.0)
        swing = (highest - lowest) / (1 - spec.gamma)
        visits = optimistic.occupancy(self.policy) / (1 - spec.gamma)
        shift = min(spec.gamma * float((visits * np.maximum(moved, 0.0)).sum()), 1.0) * swing
        samples, evidence = self.samples * spec.r.size, "sampled transitions leave a model that has"
        return Guarantee(
            worst.bound + shift, worst.y, self.failure, samples, worst.value, worst.assumptions, evidence=evidence
        )


@dataclass(frozen=True, eq=False)
class Relaxation:
    """The program on finitely many index points, as the published algorithm leaves it: an optimum from above."""

    x: Array
    value: float
    violation: float  # the worst that was found
    bound: float  # proven over all of Y; inf if it is not
    iterations: int
    cuts: tuple[Any, ...]  # the index points, each with its `point`
    active: tuple[lsip.ActivePoint, ...] = ()
    lower: float = -np.inf
    certified: bool = False
    status: lsip.Status = lsip.Status.ITERATION_LIMIT

    @property
    def upper(self) -> float:
        return self.value

    @property
    def gap(self) -> float:
        return np.inf


@dataclass(frozen=True)
class OnePoint:
    """The worst point of another oracle, and no other."""

    oracle: lsip.oracles.Oracle

    def maximise(
        self, violation: lsip.oracles.Violation, *, target: float = 0.0, seed: int = 0
    ) -> lsip.oracles.Separation:
        """What the oracle says, cut down to its first point."""
        separation = lsip.oracles.ask(self.oracle, violation, target=target, seed=seed)
        worst = np.argsort(-separation.values, kind="stable")[:1]
        return replace(
            separation,
            points=separation.points[worst],
            values=separation.values[worst],
            components=separation.components[worst],
            rows=None,
        )


def si_crl(
    data: Dataset,
    specification: Specification | SICMDP,
    delta: float,
    *,
    tolerance: float | None = None,
    iterations: int | None = None,
    oracle: lsip.oracles.Oracle | None = None,
    start: ArrayLike | None = None,
    two_successors: bool = False,
    method: str = "auto",
    form: str = "sparse",
    denominator: str = "pair",
    tol: float = 1e-7,
    verbose: bool = False,
    **options: Unpack[SolverOptions],
) -> Learned:
    """Semi-infinitely constrained reinforcement learning from an offline dataset.

    Parameters
    ----------
    data
        Transitions; see `Dataset` and `SICMDP.sample`.
    specification
        Everything but the transition probabilities: `mdp.specification`. A model stands for its own.
    delta
        Confidence: the true model is in the optimistic set with probability at least 1 - 2 S^2 A delta.
    tolerance, iterations
        eta and T of the algorithm as published: begin with one index point, add the worst one found at a time, and
        stop when no constraint is violated by more than eta, or after T programs. Without them the extended LSIP is
        solved to the relative gap `tol`, with proof.
    oracle
        How to maximise the violation over Y: any of `lsip.oracles`.
    start
        The first index points (k, m) when `tolerance` or `iterations` is given; the centre of Y by default.
    two_successors
        Run the modification: transform the model to one with at most two successors per pair first, for which the
        sharper sample bounds hold, and map the policy back.
    method, form
        "lp", "decompose" or "auto" as in `plan`; "sparse" or "literal" program.
    denominator
        See `Dataset.optimistic_set`.
    options
        Passed on to the solver.

    Returns
    -------
    Learned
        States that the optimistic model never visits carry no information; there, the policy is uniform.

    Raises
    ------
    InfeasibleError
        When no model of the set allows a feasible policy; it names the conflicting index points.

    Examples
    --------
    >>> import envs, rl
    >>> mdp = envs.sewage(states=4, actions=2, seed=1)
    >>> data = mdp.sample(per_pair=100_000, seed=0)
    >>> learned = rl.si_crl(data, mdp.specification, delta=1e-4)
    >>> learned.value >= rl.plan(mdp).value  # optimistic
    True
    """
    specification = _fitting(data, specification)
    if oracle is not None:
        validation.oracle(oracle)
    validation.number("tol", tol, "positive")
    if tolerance is not None:
        validation.number("tolerance", tolerance, "amount")
    if iterations is not None:
        validation.count("iterations", iterations)
    validation.flag("two_successors", two_successors)
    validation.flag("verbose", verbose)
    validation.choice("method", method, METHODS)
    if method == "decompose" and not (tolerance is None and iterations is None):
        raise lsip.ModelError('`tolerance` and `iterations` ask for the published loop, which solves LPs: method="lp".')
    if two_successors:
        binary = BinaryModel(specification)
        inner = si_crl(
            binary.data(data),
            binary.specification,
            delta,
            tolerance=tolerance,
            iterations=iterations,
            oracle=oracle,
            start=start,
            method=method,
            form=form,
            denominator=denominator,
            tol=tol,
            verbose=verbose,
            **options,
        )
        q = binary.occupancy(inner.occupancy)
        return Learned(policy_of(q), q, inner.solution, inner.method, specification, None, inner.models, _least(data))
    if tolerance is None and iterations is None:
        models = data.optimistic_set(delta, denominator=denominator)
        best = plan_optimistically(
            specification, models, method=method, form=form, tol=tol, oracle=oracle, verbose=verbose, **options
        )
        parts = best.policy, best.occupancy, best.solution, best.method, specification, best.model
        return Learned(*parts, models, _least(data))
    steps = si_crl_steps(
        data, specification, delta, oracle=oracle, start=start, form=form, denominator=denominator, **options
    )
    learned = None
    for learned in steps:
        done = learned.solution
        if verbose:
            say(f"{done.iterations:5d}  value {done.value:.9g}  violation {done.violation:.3g}")
        if done.violation <= (tolerance or 0.0) or done.iterations == iterations:
            break
    if learned is None:
        raise lsip.OutOfTime("The time limit was too short for the first program of SI-CRL.")
    return learned


def si_crl_steps(
    data: Dataset,
    specification: Specification | SICMDP,
    delta: float,
    *,
    oracle: lsip.oracles.Oracle | None = None,
    start: ArrayLike | None = None,
    form: str = "sparse",
    denominator: str = "pair",
    **options: Unpack[SolverOptions],
) -> Iterator[Learned]:
    """The published loop, one program at a time: solve it on the index points so far, then add the worst one.

    Yields a `Learned` for every program, whose `points` are those that it was solved on; ends when no violation is
    found. Parameters are those of `si_crl`.
    """
    specification = _fitting(data, specification)
    models = data.optimistic_set(delta, denominator=denominator)
    program = optimistic_program(specification, models, form)
    domain = specification.constraint.domain
    centre = 0.5 * (domain.lower + domain.upper)
    first = domain.project(centre[None, :]) if start is None else np.atleast_2d(numbers(start, "`start`"))
    enclosable = program.problem.compile().families[0].enclosable
    default = lsip.oracles.BranchAndBound() if enclosable else lsip.oracles.Multistart()
    chosen = default if oracle is None else validation.oracle(oracle)
    settings: dict[str, Any] = {**options}
    for name in ("polish", "sample_first", "start", "tol", "oracle"):
        if name in settings:
            raise lsip.ModelError(f"`{name}` is chosen by the algorithm; leave it out.")
    method = lsip.Exchange(
        oracle=OnePoint(chosen), start=[first], polish=False, sample_first=False, tol=1e-9, **settings
    )
    points, steps = list(first), lsip.exchange(program.problem, method)
    while True:
        try:
            iterate = next(steps)
        except StopIteration as end:
            refuse_infeasible(end.value)
            return
        cuts = tuple(lsip.ActivePoint("", y, 0.0, 0, 0) for y in points)
        last = Relaxation(iterate.x, iterate.value, iterate.violation, iterate.bound, iterate.iteration, cuts)
        best = read_plan(program, last)
        yield Learned(best.policy, best.occupancy, last, "lp", specification, best.model, models, _least(data))
        if iterate.cuts:
            points += list(iterate.points[0])


def _least(data: Dataset) -> int:
    """How often every pair was tried, at least."""
    return int(data.counts.sum(axis=2).min())


def _fitting(data: Dataset, specification: Specification | SICMDP) -> Specification:
    """The specification, if the data fit it."""
    spec = as_specification(specification)
    spec.check(as_dataset(data).states, data.actions)
    return spec
