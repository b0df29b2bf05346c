"""What a solve found, and how, as plain data, and the numbers that follow from it.

Views, files and checks are functions of a `Result`, each in a file named for what it does; `Solution` lists them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

import numpy as np

from ..expressions.affine import Variable
from ..legible import legible_repr, legibly
from ..model.problem import Problem
from ..model.program import Program
from ..model.status import Status
from ..oracles import Oracle
from ..proof.certificate import Array, BoundAssumption, Certificate, Support
from ..proof.gap import relative_gap
from .active import ActivePoint
from .reading import Reading
from .written import WrittenFamily

PARTS = ("compile", "relaxation", "separation", "proof", "polish", "other")


@legible_repr
@dataclass(frozen=True)
class Effort:
    """When a solve ended, its options, and its seconds by what they were spent on.

    `compile` turns the model into a program, within the time limit, and makes its first relaxation;
    `relaxation` solves finite programs; `separation` looks for the worst index points, and proves that there are none;
    `proof` bounds the optimal value; `polish` tries Newton steps and other points. `other` is the rest.

    Examples
    --------
    >>> import lsip
    >>> x, t = lsip.Variable(2, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    >>> problem = lsip.Problem(lsip.minimize(x[0] + x[1] / 2), [lsip.forall(t, x[0] + x[1] * t >= t**2)])
    >>> effort = problem.solve(tol=1e-6, verbose=False).effort
    >>> effort.options, list(effort.seconds)
    ({'tol': '1e-06'}, ['compile', 'relaxation', 'separation', 'proof', 'polish', 'other'])
    """

    date: str = ""  # ISO 8601, with the offset of its zone
    options: Mapping[str, str] = field(default_factory=dict)  # those that were given
    seconds: Mapping[str, float] = field(default_factory=dict)  # by part, in the order of `PARTS`

    @staticmethod
    def now(options: Mapping[str, str], seconds: Mapping[str, float]) -> Effort:
        """Of a solve that ends at this moment."""
        return Effort(datetime.now().astimezone().isoformat(timespec="seconds"), options, seconds)

    @legibly
    def __str__(self) -> str:
        """The parts that took a hundredth of the time or more, in per cent of it."""
        total = sum(self.seconds.values())
        shares = {part: spent / total for part, spent in self.seconds.items()} if total > 0 else {}
        return ", ".join(f"{part} {share:.0%}" for part, share in shares.items() if share >= 0.01)


@dataclass(frozen=True, eq=False)
class Iterate:
    """One iteration of the exchange, in the sense of the user's objective.

    Examples
    --------
    >>> import lsip
    >>> x, t = lsip.Variable(2, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    >>> above = lsip.forall(t, x[0] + x[1] * t >= t**2, name="above")
    >>> problem = lsip.Problem(lsip.minimize(x[0] + x[1] / 2), [above])
    >>> solution = problem.solve(verbose=False)
    >>> last = solution.history[-1]
    >>> last.iteration >= 1, last.lower <= 0.5 <= last.upper
    (True, True)
    """

    iteration: int
    value: float  # of the relaxation
    lower: float
    upper: float
    violation: float  # worst found
    bound: float  # proven over all of Y; inf if unproven
    cuts: int  # added in this iteration
    rows: int  # cuts held by the master
    seconds: float
    x: Array = field(repr=False, default_factory=lambda: np.zeros(0))
    points: tuple[Array, ...] = field(repr=False, default=())  # a family: the new index points
    columns: int = 0  # points of X held by the master, in a decomposition

    @property
    def gap(self) -> float:
        """(upper - lower) / max(|lower|, |upper|), as in `Solution.gap`."""
        return relative_gap(self.lower, self.upper)


@dataclass(frozen=True, eq=False)
class Result:
    """The data of an answer: how the solve ended, the certificate, the history, and what both are about."""

    status: Status
    program: Program
    certificate: Certificate
    history: tuple[Iterate, ...]
    seconds: float
    tol: float
    oracle: str
    variables: tuple[Variable, ...] = ()
    model: Any = None  # the Problem, when there is one
    cuts: tuple[Support, ...] = ()  # all index points in the last master, for warm starts
    evidence: str = ""  # what was found, where it could not be proven
    oracles: tuple[Oracle, ...] = field(repr=False, default=())  # that were asked, one a family
    atol: float = 0.0  # the distance of the bounds that will do whatever the gap, in units of the objective
    kept: Any = field(repr=False, default=None)  # what its solver keeps for the next solve
    negligible: float = 1e-9  # the share of all multipliers below which an atom is no active point
    checked: bool = True  # False for what was read from a file and not verified since
    effort: Effort = field(repr=False, default=Effort())

    def __getstate__(self) -> dict[str, Any]:
        """Without what a solver keeps for the next solve, and what can be derived again."""
        return {**{k: v for k, v in vars(self).items() if k != "as_written"}, "kept": None}

    @property
    def problem(self) -> Problem | Program:
        """What was solved, as it was written: the `Problem`; the `Program` where there was none, as with `linsip`.

        `program` is what solvers see of it.
        """
        written: Problem | None = self.model
        return self.program if written is None else written

    # ---- the point and the bounds ------------------------------------------------------------------------------------

    @property
    def sign(self) -> float:
        """-1 for a maximum, which is solved as the minimum of the negative objective."""
        return -1.0 if self.program.maximise else 1.0

    @property
    def x(self) -> Array:
        """All variables, flat, in the order in which they were made."""
        return self.certificate.x[: sum(v.size for v in self.variables)] if self.variables else self.certificate.x

    @property
    def value(self) -> float:
        """The objective at `x`, which lies between `lower` and `upper` in every answer.

        Where `x` is not proven to be feasible, its objective may be better than any feasible point's; then this is the
        bound next to it. It is nan for an infeasible problem, and infinite for an unbounded one.
        """
        if self.status is Status.INFEASIBLE:
            return float("nan")
        if self.status is Status.UNBOUNDED:
            return -self.sign * np.inf
        value = self.sign * float(self.program.c @ self.certificate.x + self.program.constant)
        return min(max(value, self.lower), self.upper)

    @property
    def lower(self) -> float:
        """No feasible point has a smaller objective (for a maximum: what `x` attains)."""
        return -self.certificate.upper if self.program.maximise else self.certificate.lower

    @property
    def upper(self) -> float:
        """What `x` attains (for a maximum: no feasible point has a larger objective)."""
        return -self.certificate.lower if self.program.maximise else self.certificate.upper

    @property
    def gap(self) -> float:
        """(upper - lower) / max(|lower|, |upper|): 0 where both are the same, infinite where one of them is not known.

        An answer is OPTIMAL where this is at most `tol`, or upper - lower at most `atol`.
        """
        return relative_gap(self.lower, self.upper) if self.status.has_point else float("nan")

    @property
    def wide(self) -> bool:
        """Whether an optimum is proven to `atol` only: its gap is more than `tol`."""
        return self.status is Status.OPTIMAL and self.gap > self.tol

    # ---- what is proven ----------------------------------------------------------------------------------------------

    @property
    def certified(self) -> bool:
        """Whether the status is a theorem: proven for every index and every x, with nothing taken on trust."""
        return self.checked and self.status.claims_proof and not self.certificate.trusts

    @property
    def max_violation(self) -> float:
        """The largest a(y) x - b(y) of the constraints over an index: a bound over all of Y when `violation_proven`.

        Otherwise it is the largest that was found, and larger ones are not excluded.
        """
        proven = self._proven_violation
        if np.isfinite(proven):
            return proven
        return self.history[-1].violation if self.history else np.inf

    @property
    def violation_proven(self) -> bool:
        """Whether `max_violation` bounds the violation at every index point, rather than where somebody looked."""
        trusted = any(not isinstance(a, BoundAssumption) for a in self.certificate.trusts)
        return self.checked and not trusted and bool(np.isfinite(self._proven_violation))

    @property
    def _proven_violation(self) -> float:
        """The largest violation that is proven; inf where nothing is known of some constraint."""
        known = len(self.certificate.violation) == len(self.program.families)
        return float(max(self.certificate.violation, default=0.0)) if known else np.inf

    # ---- the dual measure --------------------------------------------------------------------------------------------

    @cached_property
    def as_written(self) -> Reading:
        """Families, index points and multipliers of the constraints as they were written."""
        return Reading.of(self.program, self.certificate, self.negligible)

    @property
    def active(self) -> tuple[ActivePoint, ...]:
        """The dual measure for a reader: the index points that hold the solution, heaviest first.

        Points and multipliers are those of the constraints as they were written; `ActivePoint` says what is shown where
        a written row has no multiplier, as at infinity.
        """
        return self.as_written.active

    @property
    def families(self) -> tuple[WrittenFamily, ...]:
        """The families of constraints over an index as they were written; `program.families` are those of solvers."""
        return self.as_written.families
