"""The answers of CVXPY models: lsip's `Solution`, asked for CVXPY variables, and the proof for a convex finite part."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...certificate import (
    FINITE,
    INFEASIBLE_RADIUS,
    LEAST_RADIUS,
    infeasibility,
    lower_at,
)
from ...errors import ModelError, ProofError
from ...program import Program
from ...solution import Solution
from ...status import Status
from ...verification import verify_direction, verify_support, verify_violations
from .affine import dense
from .cones import Cones
from .package import cp

Array = NDArray[np.float64]
BALANCE = 1e-7  # of a combination that contradicts itself, relative to its terms: what conic solvers reach
ROUNDING = 1e-12  # what evaluating an objective in floating point may lose, relative to its size


@dataclass(frozen=True, eq=False, repr=False)
class ModelSolution(Solution):
    """A solution of a linear CVXPY model: `solution[x]` for CVXPY variables and expressions.

    `x`, `program` and `certificate` are about the linear program that CVXPY makes of the model.
    """

    values: dict[int, Array] = field(default_factory=dict)  # of the CVXPY variables, by id

    def __getitem__(self, item: Any) -> Any:
        """The value of a CVXPY variable or expression at this solution, whatever was solved since."""
        if not isinstance(item, cp.Expression):
            raise ModelError(f"solution[…] takes a CVXPY variable or expression; got {type(item).__name__}.")
        missing = [v.name() for v in item.variables() if v.id not in self.values]
        if missing:
            raise ModelError(f"{', '.join(missing)} has no value in this solution ({self.status.name}).")
        if isinstance(item, cp.Variable):
            return self.values[item.id].copy()
        return item.tree_copy({id(v): cp.Constant(self.values[v.id]) for v in item.variables()}).value

    def verify(self, tol: float | None = None) -> ModelSolution:
        super().verify(tol)
        return self


@dataclass(frozen=True, eq=False)
class Model:
    """What a convex proof is about: CVXPY's canonical form, and the model itself with its parameters fixed."""

    carrier: Program  # c, A, b of the canonical form, b as both sides of every row; the families over its columns
    cones: Cones
    place: NDArray[np.intp]  # the carrier's column of every element of x
    objective: Any  # a CVXPY expression, to be minimised
    finite: tuple[Any, ...]  # CVXPY constraints
    variables: tuple[Any, ...]

    def put(self, expression: Any, values: dict[int, Array]) -> Any:
        """A CVXPY expression or constraint with numbers for its variables."""
        return expression.tree_copy({id(v): cp.Constant(values[v.id]) for v in expression.variables()})

    def value(self, values: dict[int, Array]) -> float:
        """The objective (as a minimum)."""
        return float(self.put(self.objective, values).value)

    def finite_violation(self, values: dict[int, Array]) -> float:
        """The largest amount by which finite constraints, and attributes of variables, are broken; measured."""
        rows = [float(np.max(self.put(c, values).violation(), initial=0.0)) for c in self.finite]
        kinds = [
            float(np.abs(dense(v.project(x)) - x).max(initial=0.0)) for v in self.variables for x in [values[v.id]]
        ]
        return max([0.0, *rows, *kinds])


@dataclass(frozen=True, eq=False, repr=False)
class ConvexSolution(ModelSolution):
    """A solution of a CVXPY model with a convex finite part.

    `x` holds the user's variables, column by column. That it satisfies every constraint for all indices is proven
    as ever. The lower bound is weak duality for CVXPY's canonical form, with multipliers that are proven to lie in the
    dual cone; it holds for all canonical points within `certificate.radius` times `certificate.units`. The upper bound
    is the objective at `x`, as CVXPY evaluates it; finite constraints hold to the solver's tolerance,
    `certificate.finite_violation`.
    """

    model_of: Model | None = None
    objective: float = np.nan  # at x, as a minimum

    def save(self, path: Any) -> None:
        """Refused: the proof is about a CVXPY model, and no file without code can hold that."""
        raise ModelError(
            "A solution of a convex CVXPY model is not saved, because its proof needs the model. Save the "
            "values of the variables, and solve again where the proof is wanted."
        )

    @property
    def value(self) -> float:
        if self.status is Status.INFEASIBLE:
            return float("nan")
        if self.status is Status.UNBOUNDED:
            return -self._sign * np.inf
        return self._sign * self.objective

    @property
    def message(self) -> str:
        finite, scale = self.certificate.finite_violation, 1.0 + float(np.abs(self.x).max(initial=0.0))
        if self.certified or finite <= FINITE * scale:
            return super().message
        return f"{self.status.value} The solver breaks finite constraints by {finite:.1g}; ask it for more accuracy."

    def verify(self, tol: float | None = None) -> ConvexSolution:
        """Re-check the proof from the certificate and the model, without a solver; ProofError if it fails."""
        tol = self.tol if tol is None else tol
        program, certificate, model = self._forgetful(), self.certificate, self.model_of
        if model is None:
            raise ProofError("The solution does not hold the model that it is about.")
        for family in model.carrier.families:
            family.covers = []
        if self.status is Status.INFEASIBLE:
            _check_infeasible(model, certificate)
            return self
        _check_feasible(program, model, certificate, self.values, self.certified)
        if self.status is Status.UNBOUNDED:
            _check_ray(model, certificate)
            return self
        upper = model.value(self.values)
        if certificate.upper < upper - ROUNDING * (1 + abs(upper)):
            raise ProofError(f"The upper bound {certificate.upper!r} is below the objective at the point, {upper!r}.")
        if certificate.lower > -np.inf:
            _check_lower(model, certificate)
        gap = abs(certificate.upper - certificate.lower)
        if self.status is Status.OPTIMAL and not gap <= tol * max(1.0, abs(certificate.upper)) * (1 + 1e-9):
            raise ProofError(f"The gap {gap:.3g} is not closed to tol = {tol:g}.")
        return self


def _check_dual(model: Model, certificate: Any) -> None:
    if not model.cones.proves_dual(certificate.row_multipliers):
        raise ProofError("The multipliers of the finite part are not proven to lie in the dual cone.")
    if not (np.isfinite(certificate.units).all() and (certificate.units > 0).all()):
        raise ProofError("The region in which the bound holds has no size.")
    verify_support(model.carrier, certificate.support)


def _check_infeasible(model: Model, certificate: Any) -> None:
    _check_dual(model, certificate)
    base, radius = infeasibility(
        model.carrier, certificate.support, certificate.row_multipliers, certificate.units, BALANCE
    )
    if not base > 0 or not certificate.radius >= INFEASIBLE_RADIUS or radius < certificate.radius * (1 - 1e-9):
        raise ProofError(f"The combination does not contradict itself: {base:.3g} within radius {radius:.3g}.")


def _check_feasible(program: Program, model: Model, certificate: Any, values: dict[int, Array], required: bool) -> None:
    claims = certificate.violation
    feasible = required or certificate.upper < np.inf
    if feasible and (len(claims) != len(program.families) or not all(v <= 0 for v in claims)):
        raise ProofError("The point is not claimed to be feasible for every index, though the bounds rest on it.")
    scale = 1.0 + float(np.abs(certificate.x).max(initial=0.0))
    finite = model.finite_violation(values)
    if (feasible and finite > FINITE * scale) or finite > certificate.finite_violation + 1e-12 * scale:
        raise ProofError(f"The point breaks a finite constraint by {finite:.3g}.")
    verify_violations(program, certificate.x, claims)


def _check_lower(model: Model, certificate: Any) -> None:
    _check_dual(model, certificate)
    seen = np.zeros(model.carrier.n)
    np.maximum.at(seen, model.place, np.abs(certificate.x))
    if not certificate.radius >= LEAST_RADIUS or (certificate.units < seen * (1 - 1e-12)).any():
        raise ProofError("The region in which the lower bound holds is too small to mean anything.")
    lower = lower_at(
        model.carrier, certificate.support, certificate.row_multipliers, certificate.units, certificate.radius
    )
    if not certificate.lower <= lower + ROUNDING * (1 + abs(lower)):
        raise ProofError(f"The lower bound {certificate.lower!r} exceeds what the multipliers prove, {lower!r}.")


def _check_ray(model: Model, certificate: Any) -> None:
    """The direction is one of the canonical form: it improves, stays in the cone, and satisfies every index."""
    d = verify_direction(model.carrier, certificate.direction)
    if model.cones.residual(-(model.carrier.A @ d)) > FINITE:
        raise ProofError("The direction leaves the finite constraints.")
