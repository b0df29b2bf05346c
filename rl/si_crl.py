"""Algorithm SI-CRL: learn a policy from transitions, by optimism about the models that the data do not rule out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lsip

from .binary import BinaryModel
from .dataset import Dataset, OptimisticSet
from .errors import InfeasibleError
from .plan import Plan, plan_optimistically, read_plan
from .planning import optimistic_program
from .sicmdp import Specification, policy_of

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Learned(Plan):
    """What SI-CRL returns: the policy, and its value in the most optimistic model, `model`.

    With the probability that `failure` leaves, the true optimum is at most `upper`.
    """

    models: OptimisticSet | None = field(repr=False, default=None)

    @property
    def failure(self) -> float:
        """How likely the true model is to lie outside the optimistic set, at most."""
        return 1.0 if self.models is None else self.models.failure


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


def si_crl(
    data: Dataset,
    specification: Specification,
    delta: float,
    *,
    tolerance: float | None = None,
    iterations: int | None = None,
    oracle: Any = None,
    start: Any = None,
    two_successors: bool = False,
    method: str = "auto",
    form: str = "sparse",
    denominator: str = "pair",
    tol: float = 1e-7,
    verbose: bool = False,
    **options: Any,
) -> Learned:
    """Semi-infinitely constrained reinforcement learning from an offline dataset.

    Parameters
    ----------
    data
        Transitions; see `Dataset` and `SICMDP.sample`.
    specification
        Everything but the transition probabilities: `mdp.specification`.
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
    if data.counts.shape[:2] != specification.r.shape:
        raise lsip.ModelError(
            f"The data have {data.states} states and {data.actions} actions, the specification "
            f"{specification.states} and {specification.actions}."
        )
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
        return Learned(policy_of(q), q, inner.solution, inner.method, specification, None, inner.models)
    models = data.optimistic_set(delta, denominator=denominator)
    if tolerance is None and iterations is None:
        found = plan_optimistically(
            specification, models, method=method, form=form, tol=tol, oracle=oracle, verbose=verbose, **options
        )
    else:
        found = _as_published(specification, models, tolerance, iterations, oracle, start, form, verbose, options)
    return Learned(found.policy, found.occupancy, found.solution, found.method, specification, found.model, models)


def _as_published(
    spec: Specification,
    models: OptimisticSet,
    tolerance: float | None,
    iterations: int | None,
    oracle: Any,
    start: Any,
    form: str,
    verbose: bool,
    options: dict[str, Any],
) -> Plan:
    """The loop of the algorithm: solve the program on the points so far, add the worst point, until it is good."""
    program = optimistic_program(spec, models, form)
    domain = spec.constraint.domain
    first = domain.project(0.5 * (domain.lower + domain.upper)[None, :]) if start is None else np.atleast_2d(start)
    enclosable = program.problem.compile().families[0].enclosable
    chosen = oracle or (lsip.oracles.BranchAndBound(points=1) if enclosable else lsip.oracles.Multistart())
    method = lsip.Exchange(
        oracle=chosen, start=[first], polish=False, look=False, max_iterations=iterations or 1000, tol=1e-9, **options
    )
    points = list(first)
    last = None
    for iterate in lsip.exchange(program.problem, method):
        last = iterate
        if verbose:
            print(f"{iterate.iteration:5d}  value {iterate.value:.9g}  violation {iterate.violation:.3g}", flush=True)
        if iterate.violation <= (tolerance or 0.0) or iterate.iteration == iterations:
            break
        points += list(iterate.points[0])
    if last is None:
        raise InfeasibleError("No model of the optimistic set allows a feasible policy; solve without `tolerance`.")
    cuts = tuple(lsip.ActivePoint("", y, 0.0, 0, 0) for y in points)
    return read_plan(program, Relaxation(last.x, last.value, last.violation, last.bound, last.iteration, cuts))
