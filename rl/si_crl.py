"""Algorithm SI-CRL: learn a policy from transitions, by optimism about the models that the data do not rule out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lsip

from .binary import BinaryModel
from .dataset import Dataset, OptimisticSet
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
    tol: float = 1e-8,
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
    if binary_limits := options.pop("_limits", None):
        models = OptimisticSet.within(models, *binary_limits)
    if tolerance is None and iterations is None:
        found = plan_optimistically(
            specification, models, method=method, form=form, tol=tol, oracle=oracle, verbose=verbose, **options
        )
    else:
        found = _as_published(specification, models, tolerance, iterations, oracle, start, form, verbose, options)
    return Learned(
        found.policy, found.occupancy, found.solution, found.method, specification, found.model, models
    )
