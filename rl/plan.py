"""A plan: a policy, its value, and the proof."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

import lsip
from lsip.legible import legibly
from lsip.proof import closed, relative_gap
from lsip.solution import above, below, limited

from . import checkpoint, plan_file
from .occupancy import OccupancyProgram, most_share, planning_program
from .optimistic import KnownModel, Maximiser
from .policy_table import policy_of
from .sicmdp import SICMDP, Specification, as_model

Array = NDArray[np.float64]
LEARNED = (
    "Only the plan of a known model can be saved; what was learned belongs to its data. Keep those, as in "
    "np.save('counts.npy', data.counts), and learn from rl.Dataset(counts) again."
)
# The gap between the value of the policy itself and the bound, at most, in tolerances: one is that of the solve, and
# the other is for the policy, which is not the point of the solve to the last digit.
CLOSED = 2.0


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


@dataclass(frozen=True, eq=False)
class Plan:
    """A policy and what is proven about it.

    `value` is V_r of the policy in its model; `lower <= optimum <= upper` holds for the best policy (and, for
    `si_crl`, the best model of the optimistic set).

    Examples
    --------
    >>> import envs, rl
    >>> best = rl.plan(envs.sewage(states=3, actions=2, gamma=0.9, seed=0))
    >>> best.certified, best.policy.shape
    (True, (3, 2))
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
        return closed(self.lower, self.upper, CLOSED * self.solution.tol, CLOSED * self.solution.atol)

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

    def verify(self, *, time_limit: float | None = None) -> Plan:
        """Re-check the proof, with nothing kept from the solve; `lsip.ProofError` if it fails.

        After `time_limit` seconds the check ends with `lsip.OutOfTime`, which says nothing about the proof.
        """
        with limited(time_limit):
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


def read_plan(program: OccupancyProgram, solution: Solved) -> Plan:
    """What a solution of an occupancy program says about the policy."""
    q = np.maximum(program.occupancy(solution.x), 0.0)
    return Plan(policy_of(q), q, solution, "lp", program.specification, program.model(solution.x))


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


def proven_value(mdp: SICMDP, policy: Array, solved: Plan | None = None) -> float:
    """V_r of a policy, rounded down; -inf unless it is proven to keep the constraint for every y.

    A mixture that was `solved` for has enclosed the same costs before; without it, nothing is taken from a solve.
    """
    known = None
    if solved is not None and solved.method == "decompose":
        known = lambda visits: solved.solution.program.violation(0, np.append(0.0, visits))  # noqa: E731
    doubt = mdp.doubt(policy)
    if not np.isfinite(doubt) or not mdp.keeps(policy, known):
        return -np.inf
    value = mdp.value(policy)
    return float(value - 2 * doubt * np.abs(mdp.r).max())


def check_proof(plan: Plan) -> None:
    """ProofError, unless the bounds of a plan are proven and its policy belongs to them."""
    solution = plan.solution
    if plan.method == "decompose":
        known = solution.maximise
        maximise = Maximiser(known.spec, known.model)  # without the values of its last call
        for atom in solution.atoms:
            factors = maximise.factors(atom.data)
            reached, radius = maximise.reached(atom.data, factors(maximise.spec.mu, True), factors)
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
    value = float((plan.occupancy * spec.r).sum()) / spec.share
    if abs(value - plan.value) > 1e-6 * (1 + abs(value)) or (policy_of(plan.occupancy) != plan.policy).any():
        raise lsip.ProofError(f"The policy returns {value:.9g}, and is not the one of the proof, {plan.value:.9g}.")
    if plan.mdp is not None or plan.reached is not None:
        proven = -np.inf if plan.mdp is None else proven_value(plan.mdp, plan.policy)
        if plan.reached is None or not plan.reached <= proven:
            raise lsip.ProofError("The policy itself is not proven to return what is claimed and keep the constraint.")
