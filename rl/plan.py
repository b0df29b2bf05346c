"""Plan in a known model: the policy, its value, and the proof."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

import lsip
from lsip.deadline import within
from lsip.legible import legibly
from lsip.model import Answer
from lsip.proof import closed, relative_gap
from lsip.solution import above, below

from . import checkpoint, plan_file, validation
from .dataset import OptimisticSet
from .errors import InfeasibleError
from .occupancy import OccupancyProgram, fill, most_share, optimistic_program, planning_program
from .optimistic import KnownModel, Maximiser, ModelSet
from .sicmdp import SICMDP, Specification, as_model, as_specification, policy_of

Array = NDArray[np.float64]
METHODS = ("auto", "lp", "decompose")
LEARNED = (
    "Only the plan of a known model can be saved; what was learned belongs to its data. Keep those, as in "
    "np.save('counts.npy', data.counts), and learn from rl.Dataset(counts) again."
)
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


class Solved(Protocol):
    """What a plan reads from a solution of an occupancy program, or of a relaxation of one."""

    @property
    def x(self) -> Array:
        """All variables of the program."""

    @property
    def value(self) -> float:
        """V_r of the policy."""

    @property
    def lower(self) -> float:
        """The optimum is at least this."""

    @property
    def upper(self) -> float:
        """The optimum is at most this."""

    @property
    def certified(self) -> bool:
        """Whether the bounds are proven."""

    @property
    def status(self) -> lsip.Status:
        """How the solve ended."""

    @property
    def active(self) -> tuple[lsip.ActivePoint, ...]:
        """The index points that hold the value down."""


@dataclass(frozen=True)
class PlanTuning:
    """How a plan is made.

    Parameters
    ----------
    large
        Possible transitions (s, a, s') from which on policies are generated instead of writing one large LP.
    kept, most_kept
        The share of a time limit, and the seconds at most, for proving what the policy itself returns.
    closed
        Times the tolerance: the gap between the value of the policy itself and the bound, at most.
    """

    large: int = 1_000
    kept: float = 0.1
    most_kept: float = 1.0
    closed: float = 2.0


TUNING = PlanTuning()


@dataclass(frozen=True, eq=False)
class Plan:
    """A policy and what is proven about it.

    `value` is V_r of the policy in its model; `lower <= optimum <= upper` holds for the best policy (and, for
    `si_crl`, the best model of the optimistic set).
    """

    policy: Array  # (S, A)
    occupancy: Array  # q(s, a), of sum one
    solution: Any  # lsip.Solution or lsip.Decomposition
    method: str  # "lp" or "decompose"
    specification: Specification = field(repr=False)
    model: Array | None = field(repr=False, default=None)  # P' (S, A, S) that the policy is optimistic about
    # In a known model, V_r of the policy, rounded down; -inf unless it is proven to keep the constraint.
    reached: float | None = field(default=None, kw_only=True)
    mdp: SICMDP | None = field(repr=False, default=None, kw_only=True)  # the known model that this is about

    @property
    def value(self) -> float:
        """V_r of the policy in its model."""
        return float(self.solution.value)

    @property
    def lower(self) -> float:
        """The optimum is at least this."""
        lower = float(self.solution.lower)
        return lower if self.reached is None else min(lower, self.reached)

    @property
    def upper(self) -> float:
        """The optimum is at most this."""
        return float(self.solution.upper)

    @property
    def gap(self) -> float:
        """(upper - lower) / max(|lower|, |upper|), as in `lsip.Solution.gap`."""
        return relative_gap(self.lower, self.upper)

    @property
    def certified(self) -> bool:
        """Whether the bounds, and the constraint for every y, are proven.

        In a known model, that is about the policy itself: with a discount close to 1, even the rounding of an occupancy
        measure is amplified to a policy that breaks the constraint, and then this is False.
        """
        if self.reached is None or not self.solution.certified:
            return bool(self.solution.certified)
        return closed(self.lower, self.upper, TUNING.closed * self.solution.tol, TUNING.closed * self.solution.atol)

    @property
    def status(self) -> lsip.Status:
        """How the solve ended."""
        return self.solution.status

    @property
    def active(self) -> tuple[lsip.ActivePoint, ...]:
        """The index points that hold the value down, with multipliers: what one more unit of u_y is worth."""
        return self.solution.active

    @property
    def points(self) -> Array:
        """All index points that the last master held: (k, m)."""
        held = self.solution.cuts if self.method == "lp" else self.solution.certificate.support
        return np.array([c.point for c in held]).reshape(-1, self.specification.constraint.domain.dim)

    def verify(self) -> Plan:
        """Re-check the proof, with nothing kept from the solve; `lsip.ProofError` if it fails."""
        check_proof(self)
        return self

    def save(self, path: str | Path) -> None:
        """Write the plan of a known model and its proof to an .npz file; no code is stored, or run on loading."""
        checkpoint.check_target(path)
        if self.model is not None:
            raise lsip.ModelError(LEARNED)
        if isinstance(self.solution, lsip.Decomposition):
            plan_file.save_mixture(self.solution, path)
        else:
            self.solution.save(path)

    @classmethod
    def load(cls, path: str | Path, mdp: SICMDP) -> Plan:
        """The plan of `mdp` in a file of `save`; its proof is checked against `mdp`, and ProofError if it fails."""
        mdp = as_model(mdp)
        if plan_file.is_mixture(path):
            maximise = Maximiser(mdp.specification, KnownModel(mdp))
            mixture = plan_file.load_mixture(path, mixture_problem(maximise), maximise)
            loaded = read_mixture(mixture, maximise)
        else:
            program = planning_program(mdp)
            loaded = read_plan(program, lsip.Solution.load(path, program.problem, verify=False))
        loaded = replace(loaded, reached=proven_value(mdp, loaded.policy), mdp=mdp).verify()
        return replace(loaded, solution=replace(loaded.solution, checked=True))

    @legibly
    def __str__(self) -> str:
        lines = [
            f"value  {self.value:.9g}, optimum within [{below(self.lower, 9):.9g}, {above(self.upper, 9):.9g}]"
            + (", proven" if self.certified else f" ({self.status.name})"),
        ]
        for a in self.active:
            at = ", ".join(f"{v:.6g}" for v in a.point)
            lines.append(f"active at y = ({at}), multiplier {a.multiplier:.6g}")
        return "\n".join(lines)

    __repr__ = __str__


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
        "auto" chooses by size.
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
    began, mdp = time.perf_counter(), as_model(mdp)
    limit = options.get("time_limit")
    if limit is not None:
        validation.number("time_limit", limit, "nonnegative")
        options["time_limit"] = limit - min(TUNING.kept * limit, TUNING.most_kept)
    entries = mdp.rows if isinstance(mdp.rows, np.ndarray) else mdp.rows.data
    validation.number("tol", tol, "positive")
    if _choose(method, int(np.count_nonzero(entries))) == "decompose":
        best = _decomposed(mdp.specification, KnownModel(mdp), None, tol, oracle, verbose, options)
    else:
        best = _solved(planning_program(mdp), tol, oracle, verbose, options)
    left = None if limit is None else max(began + limit - time.perf_counter(), 0.0)
    try:
        with within(left):
            reached = proven_value(mdp, best.policy, best)
    except lsip.OutOfTime:
        reached = -np.inf
    return replace(best, reached=reached, mdp=mdp)


def proven_value(mdp: SICMDP, policy: Array, solved: Plan | None = None) -> float:
    """V_r of a policy, rounded down; -inf unless it is proven to keep the constraint for every y.

    A mixture that was `solved` for has enclosed the same costs before; without it, nothing is taken from a solve.
    """
    known = None
    if solved is not None and solved.method == "decompose":
        known = lambda visits: solved.solution.program.violation(0, np.append(0.0, visits))  # noqa: E731
    if not mdp.keeps(policy, known):
        return -np.inf
    value, doubt = mdp.value(policy), mdp.doubt(policy)
    return float(value - 2 * doubt * np.abs(mdp.r).max())


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
    if _choose(method, int(np.count_nonzero(models.upper))) == "decompose":
        return _decomposed(spec, ModelSet(models), models, tol, oracle, verbose, options)
    return _solved(optimistic_program(spec, models, form), tol, oracle, verbose, options)


def read_plan(program: OccupancyProgram, solution: Solved) -> Plan:
    """What a solution of an occupancy program says about the policy."""
    q = np.maximum(program.occupancy(solution.x), 0.0)
    return Plan(policy_of(q), q, solution, "lp", program.specification, program.model(solution.x))


def _choose(method: str, entries: int) -> str:
    validation.choice("method", method, tuple(METHODS))
    return method if method != "auto" else "decompose" if entries > TUNING.large else "lp"


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


def mixture_problem(maximise: Maximiser) -> lsip.Problem:
    """What is decomposed: a program in x = (V_r, discounted visits)."""
    spec = maximise.spec
    visits = most_share(spec, maximise.horizon) / (1 - spec.gamma)
    most = visits * np.concatenate([[np.abs(spec.r).max()], np.ones(spec.costs.size)])
    x = lsip.Variable(maximise.size, lower=-most, upper=most, name="x")
    return lsip.Problem(lsip.maximize(x[0]), [spec.costs.on(x[1:])], name="SICMDP")


def read_mixture(solution: lsip.Decomposition, maximise: Maximiser) -> Plan:
    """What a mixture of deterministic policies says about one policy."""
    q = np.zeros(maximise.spec.r.shape)
    for atom in solution.atoms:
        q += atom.weight * maximise.occupancy(atom.data)
    return Plan(policy_of(q), q, solution, "decompose", maximise.spec)


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


def check_proof(plan: Plan) -> None:
    """ProofError, unless the bounds of a plan are proven and its policy belongs to them."""
    solution = plan.solution
    if plan.method == "decompose":
        known = solution.maximise
        maximise = Maximiser(known.spec, known.model)  # without the values of its last call
        for atom in solution.atoms:
            reached, radius = maximise.reached(atom.data, maximise.visits(atom.data))
            if not (np.abs(reached - atom.x) <= radius + atom.radius).all() or not (radius <= 4 * atom.radius).all():
                raise lsip.ProofError("A policy of the mixture does not have the return and the visits that it claims.")
        solution.verify(maximise)
    elif isinstance(solution, lsip.Solution):
        solution.verify()
    else:
        raise lsip.ProofError(
            "Nothing is proven: the algorithm as published ends with finitely many index points. Without `tolerance` "
            "and `iterations`, rl.si_crl ends with a proof."
        )
    spec = plan.specification
    value = float((plan.occupancy * spec.r).sum()) / (1 - spec.gamma)
    if abs(value - plan.value) > 1e-6 * (1 + abs(value)) or (policy_of(plan.occupancy) != plan.policy).any():
        raise lsip.ProofError(f"The policy returns {value:.9g}, and is not the one of the proof, {plan.value:.9g}.")
    if plan.mdp is not None or plan.reached is not None:
        proven = -np.inf if plan.mdp is None else proven_value(plan.mdp, plan.policy)
        if plan.reached is None or not plan.reached <= proven:
            raise lsip.ProofError("The policy itself is not proven to return what is claimed and keep the constraint.")


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
