"""Plan in a known model, or in the best of a set of models: write one program down, or generate policies."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

import lsip
from lsip.deadline import within
from lsip.model import Answer

from . import validation
from .dataset import OptimisticSet
from .errors import InfeasibleError
from .occupancy import OccupancyProgram, fill, optimistic_program, planning_program
from .optimistic import KnownModel, Maximiser, ModelSet
from .plan import Plan, mixture_problem, proven_value, read_mixture, read_plan
from .sicmdp import SICMDP, Specification, as_model, as_specification

Array = NDArray[np.float64]
METHODS = ("auto", "lp", "decompose")
DECOMPOSE_OPTIONS = [
    name
    for name in inspect.signature(lsip.decompose).parameters
    if name not in ("problem", "maximise", "tol", "oracle", "verbose")
]


class SolverOptions(TypedDict, total=False):
    """What is passed on to `lsip.Problem.solve`, and to `lsip.decompose` if it has it."""

    master: str
    atol: float | None
    max_iterations: int
    time_limit: float | None
    polish: bool
    sample_first: bool
    seed: int
    callback: Callable[[lsip.Iterate], Any] | None
    warm_start: lsip.Solution | None


class PlanOptions(SolverOptions, total=False):
    """The same, with what to start from: index points of the one, policies of the other."""

    start: Sequence[Array] | Iterable[lsip.Extreme] | None


@dataclass(frozen=True)
class PlanTuning:
    """How a plan is made.

    Parameters
    ----------
    large
        Possible transitions (s, a, s') from which on policies are generated instead of writing one large LP.
    """

    large: int = 1_000


TUNING, CLOCK = PlanTuning(), lsip.Tuning()
STUCK = (lsip.Status.STALLED, lsip.Status.NO_INTERIOR)  # ends at which another method may get further
Way = Callable[[PlanOptions], Plan]


def plan(
    mdp: SICMDP,
    *,
    method: str = "auto",
    tol: float = 1e-7,
    oracle: lsip.oracles.Oracle | None = None,
    verbose: bool = False,
    **options: Unpack[PlanOptions],
) -> Plan:
    """The best policy of a known model, by the LSIP over its occupancy measures.

    Parameters
    ----------
    mdp
        The model.
    method
        "lp" writes the program down; "decompose" generates policies and index points together, for large models;
        "auto" chooses by size, and takes the other where the first gets no further.
    tol
        Relative gap to reach.
    oracle
        Separation over Y, one of `lsip.oracles`; certified branch-and-bound where that is possible by default.
    options
        Passed on to `lsip.Problem.solve` or `lsip.decompose`: `time_limit`, `max_iterations`, …

    Raises
    ------
    InfeasibleError
        When no policy keeps every constraint; it names the index points that conflict.

    Examples
    --------
    >>> import envs, rl
    >>> mdp = envs.sewage(states=4, actions=2, seed=1)
    >>> best = rl.plan(mdp)
    >>> best.certified, abs(best.value - mdp.value(best.policy)) < 1e-9, mdp.worst_violation(best.policy).value <= 1e-9
    (True, True, True)
    """
    mdp, limit = as_model(mdp), options.pop("time_limit", None)
    validation.number("tol", tol, "positive")
    if limit is not None:
        validation.number("time_limit", limit, "nonnegative")
    end = time.perf_counter() + (np.inf if limit is None else limit)
    # For what the policy itself returns.
    kept = 0.0 if limit is None else min(CLOCK.share * limit, CLOCK.tries * CLOCK.grace)
    entries = mdp.rows if isinstance(mdp.rows, np.ndarray) else mdp.rows.data
    ways: dict[str, Way] = {
        "lp": lambda options: _solved(planning_program(mdp), tol, oracle, verbose, options),
        "decompose": lambda options: _decomposed(
            mdp.specification, KnownModel(mdp), None, tol, oracle, verbose, options
        ),
    }
    order = _order(method, int(np.count_nonzero(entries)))
    if mdp.gamma == 1 or mdp.specification.steps is not None:
        if method == "decompose":
            raise lsip.ModelError('Averages over all time and models that end are written down: use method="lp".')
        order = ("lp",)
    best = _planned(ways, order, end - kept, options)
    try:
        with within(end - time.perf_counter()):
            reached = proven_value(mdp, best.policy, best)
    except lsip.OutOfTime:
        reached = -np.inf
    return replace(best, reached=reached, mdp=mdp)


def plan_optimistically(
    spec: Specification,
    models: OptimisticSet,
    *,
    method: str = "auto",
    form: str = "sparse",
    tol: float = 1e-7,
    oracle: lsip.oracles.Oracle | None = None,
    verbose: bool = False,
    **options: Unpack[PlanOptions],
) -> Plan:
    """The best policy in the best model of a set: the extended LSIP over z(s, a, s')."""
    spec = as_specification(spec)
    if not isinstance(models, OptimisticSet):
        raise lsip.ModelError(
            f"`models` must be an rl.OptimisticSet, as data.optimistic_set(delta) gives; got "
            f"{validation.shown(models)}."
        )
    spec.check(*models.lower.shape[:2])
    limit = options.pop("time_limit", None)
    end = time.perf_counter() + (np.inf if limit is None else validation.number("time_limit", limit, "nonnegative"))
    ways: dict[str, Way] = {
        "lp": lambda options: _solved(optimistic_program(spec, models, form), tol, oracle, verbose, options),
        "decompose": lambda options: _decomposed(spec, ModelSet(models), models, tol, oracle, verbose, options),
    }
    return _planned(ways, _order(method, int(np.count_nonzero(models.upper))), end, options)


def _order(method: str, transitions: int) -> Sequence[str]:
    """Which method comes first, and which one where that gets no further."""
    validation.choice("method", method, tuple(METHODS))
    ways = ("decompose", "lp") if transitions > TUNING.large else ("lp", "decompose")
    return ways if method == "auto" else (method,)


def _planned(ways: dict[str, Way], order: Sequence[str], end: float, options: PlanOptions) -> Plan:
    """The plan of the first method that ends with a proof, or runs out of time; the best one if none does."""
    found: list[Plan] = []
    for name in order:
        if found:  # what was given is about the first one
            options = {k: v for k, v in options.items() if k in DECOMPOSE_OPTIONS and k != "start"}  # type: ignore[assignment]
        left = end - time.perf_counter()
        if found and left <= 0:
            break
        found.append(ways[name](options if left == np.inf else {**options, "time_limit": max(left, 0.0)}))
        if found[-1].status not in STUCK:
            return found[-1]
    return min(found, key=lambda plan: plan.gap)


def _solved(
    program: OccupancyProgram,
    tol: float,
    oracle: lsip.oracles.Oracle | None,
    verbose: bool,
    options: PlanOptions,
) -> Plan:
    _check_oracle(oracle)
    solution = program.problem.solve(tol=tol, oracle=oracle, verbose=verbose, **options)
    refuse_infeasible(solution)
    return read_plan(program, solution)


def _decomposed(
    spec: Specification,
    model: KnownModel | ModelSet,
    models: OptimisticSet | None,
    tol: float,
    oracle: lsip.oracles.Oracle | None,
    verbose: bool,
    options: PlanOptions,
) -> Plan:
    """Policies and index points, generated together."""
    _check_oracle(oracle)
    unknown = [name for name in options if name not in DECOMPOSE_OPTIONS]
    if unknown:
        raise lsip.ModelError(
            f'Unknown option {", ".join(unknown)}; method "decompose", which "auto" takes for large models, has '
            f'{", ".join(DECOMPOSE_OPTIONS)}. Options of `lsip.Problem.solve` go with method="lp".'
        )
    maximise = Maximiser(spec, model)
    known: dict[str, Any] = {**options}
    solution = lsip.decompose(mixture_problem(maximise), maximise, tol=tol, oracle=oracle, verbose=verbose, **known)
    refuse_infeasible(solution)
    best = read_mixture(solution, maximise)
    return best if models is None else replace(best, model=_mixed(solution, maximise, models, best.occupancy))


def _mixed(solution: lsip.Decomposition, maximise: Maximiser, models: OptimisticSet, q: Array) -> Array:
    """P' of a mixture of policies, each with a model of its own: z / q, one atom at a time."""
    S, A = q.shape
    states = np.arange(S)
    z = np.zeros((S, A, S))
    for atom in solution.atoms:
        weight = atom.weight * maximise.occupancy(atom.data)[states, atom.data.actions]
        z[states, atom.data.actions] += weight[:, None] * maximise.model.chain(atom.data)
    seen = q > 1e-12
    z[seen] /= q[seen][:, None]
    z[~seen] = fill(models.lower[~seen], models.upper[~seen], states)
    return z


def _check_oracle(oracle: lsip.oracles.Oracle | None) -> None:
    if oracle is not None:
        validation.oracle(oracle)


def refuse_infeasible(solution: Answer | lsip.Decomposition) -> None:
    """Raise InfeasibleError, with the index points that conflict, if that is what a solution says."""
    if solution.status is not lsip.Status.INFEASIBLE:
        return
    points = solution.active
    where = "; ".join("(" + ", ".join(f"{v:.6g}" for v in a.point) + ")" for a in points[:6])
    weights = ", ".join(f"{a.multiplier:.3g}" for a in points[:6])
    why = (
        f"every one breaks that at the index point {where}"
        if len(points) == 1
        else f"those at the index points {where} contradict each other (a combination of them with weights {weights} "
        "is violated by every policy)"
    )
    raise InfeasibleError(
        f"No policy keeps every constraint: {why}. Raise the bound there, or lower the cost.",
        points,
        solution,
    )
