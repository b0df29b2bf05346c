"""Checking a certificate from its own data: what the solver believed on the way counts for nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .certificate import (
    FINITE,
    INFEASIBLE_RADIUS,
    LEAST_RADIUS,
    Certificate,
    Support,
    admissible,
    infeasibility,
    leaks,
    leaves,
    lower_at,
    prove_feasible,
    upper_bound,
)
from .domains import Box, Finite, Interval
from .errors import ProofError
from .program import Program
from .status import Status

Array = NDArray[np.float64]
ROUNDED = 1e-14  # how far outside a curved or slanted boundary rounding may put a point


def verify(program: Program, certificate: Certificate, status: Status, tol: float) -> None:
    """Re-check a certificate from its own data; raises `ProofError` on the first statement that does not hold."""
    kinds = {Status.OPTIMAL: "optimal", Status.INFEASIBLE: "infeasible", Status.UNBOUNDED: "unbounded"}
    expected = kinds.get(status)
    if certificate.kind not in ("optimal", "infeasible", "unbounded", "none") or expected not in (
        None,
        certificate.kind,
    ):
        raise ProofError(f"The status {status.name} needs another certificate than one of kind {certificate.kind!r}.")
    _verify_data(program, certificate)
    if certificate.kind == "infeasible":
        _verify_infeasible(program, certificate)
        return
    _verify_feasible(program, certificate, required=expected is not None)
    if certificate.kind == "unbounded":
        _verify_ray(program, certificate)
        return
    _verify_bounds(program, certificate)
    gap = certificate.upper - certificate.lower
    if status is Status.OPTIMAL and not gap <= tol * max(1.0, abs(certificate.upper)) * (1 + 1e-9):
        raise ProofError(f"The gap {gap:.3g} is not closed to tol = {tol:g}.")


def _verify_data(program: Program, certificate: Certificate) -> None:
    """Everything is a number where one is needed, and every atom lies in its domain."""
    numbers = [certificate.x, certificate.row_multipliers, np.array([s.multiplier for s in certificate.support])]
    if not all(np.isfinite(v).all() for v in numbers) or certificate.x.shape != (program.n,):
        raise ProofError("The certificate holds numbers that are nan or infinite.")
    if len(certificate.row_multipliers) not in (0, program.A.shape[0]):
        raise ProofError("The certificate does not have one multiplier for every finite row.")
    if np.isnan([certificate.lower, certificate.upper, certificate.radius]).any():
        raise ProofError("A bound or the radius is nan.")
    if (
        len(certificate.row_multipliers)
        and (admissible(program, certificate.row_multipliers) != certificate.row_multipliers).any()
    ):
        raise ProofError("A multiplier pushes against a side that its finite row does not have.")
    verify_support(program, certificate.support)


def verify_support(program: Program, support: tuple[Support, ...]) -> None:
    """The atoms are those of a measure on the index sets; on boxes and finite sets exactly, else up to rounding."""
    for s in support:
        if not 0 <= s.family < len(program.families) or not 0 <= s.component < len(program.families[s.family].columns):
            raise ProofError(f"There is no row {s.component} in family {s.family}.")
        domain = program.families[s.family].domain
        rounding = 0.0 if isinstance(domain, Box | Finite | Interval) else ROUNDED
        known = s.point.shape == (domain.dim,) and np.isfinite(s.point).all()
        if not known or not domain.contains(s.point[None, :], rounding)[0]:
            raise ProofError(f"The support point {s.point} is not in {domain}.")
        if not 0 <= s.multiplier < np.inf:
            raise ProofError(f"The multiplier {s.multiplier} at {s.point} is negative or not a number.")


def _verify_infeasible(program: Program, certificate: Certificate) -> None:
    contradiction, radius = infeasibility(
        program, certificate.support, certificate.row_multipliers, _region(program, certificate)
    )
    if not contradiction > 0 or not certificate.radius >= INFEASIBLE_RADIUS or radius < certificate.radius * (1 - 1e-9):
        raise ProofError(f"The combination does not contradict itself: {contradiction:.3g} within radius {radius:.3g}.")


def _region(program: Program, certificate: Certificate) -> Array:
    units = certificate.units
    if units.shape != (program.n,) or not np.isfinite(units).all() or not (units > 0).all():
        raise ProofError("The region in which the bound holds has no size.")
    return units


def _verify_feasible(program: Program, certificate: Certificate, required: bool) -> None:
    """No index violates its constraint by more than is claimed; by nothing where a bound rests on feasibility."""
    x, claims = certificate.x, certificate.violation
    scale = 1.0 + float(np.abs(x).max(initial=0.0))
    feasible = required or certificate.upper < np.inf
    if feasible and (len(claims) != len(program.families) or not all(v <= 0 for v in claims)):
        raise ProofError("The point is not claimed to be feasible for every index, though the bounds rest on it.")
    finite = program.finite_violation(x)
    if feasible and finite > FINITE * scale:
        raise ProofError(f"The point breaks a finite constraint by {finite:.3g}.")
    if certificate.finite_violation < finite - 1e-12 * scale:
        raise ProofError(
            f"The point breaks a finite constraint by {finite:.3g}, not {certificate.finite_violation:.3g}."
        )
    verify_violations(program, x, claims)


def verify_violations(program: Program, x: Array, claims: tuple[float, ...]) -> None:
    """A fresh proof of every claim about the violation at x that says anything."""
    if not any(np.isfinite(v) for v in claims):
        return
    # How far below zero is not checked: feasible is feasible. Above it, independent partitions may round differently.
    targets = tuple(0.0 if v <= 0 else v * (1 + 1e-9) if np.isfinite(v) else np.inf for v in claims)
    proven = prove_feasible(program, x, target=targets)
    for family, claimed, found, most in zip(program.families, claims, proven, targets, strict=True):
        if not found <= most:
            raise ProofError(f"{family.name}: claimed violation {claimed:.3g}, proven only {found:.3g}.")


def _verify_bounds(program: Program, certificate: Certificate) -> None:
    slack = 1e-12 * (1 + abs(float(program.c @ certificate.x)))
    if certificate.upper < upper_bound(program, certificate.x) - slack:
        raise ProofError(f"The upper bound {certificate.upper!r} is below the objective at the point.")
    if certificate.lower == -np.inf:
        return
    units = _region(program, certificate)
    if not certificate.radius >= LEAST_RADIUS or (units < np.abs(certificate.x) * (1 - 1e-12)).any():
        raise ProofError("The region in which the lower bound holds is too small to mean anything.")
    lower = lower_at(program, certificate.support, certificate.row_multipliers, units, certificate.radius)
    if not certificate.lower <= lower + 1e-12 * (1 + abs(lower)):
        raise ProofError(f"The lower bound {certificate.lower!r} exceeds what the multipliers prove, {lower!r}.")


def _verify_ray(program: Program, certificate: Certificate) -> None:
    d = verify_direction(program, certificate.direction)
    if leaves(program, d):
        raise ProofError("The direction leaves a finite constraint or a bound.")


def verify_direction(program: Program, direction: Array | None) -> Array:
    """The direction in unit size: it improves the objective, and satisfies the rows of every index."""
    if direction is None or direction.shape != (program.n,) or not np.isfinite(direction).all() or not direction.any():
        raise ProofError("There is no direction.")
    d = direction / np.abs(direction).max()  # a direction is no better for being short
    if not program.c @ d < -1e-9 * np.abs(program.c).max():
        raise ProofError("The direction does not improve the objective.")
    allowed = leaks(program, d)
    proven = prove_feasible(program, d, scale=0.0, target=allowed)
    for family, found, most in zip(program.families, proven, allowed, strict=True):
        if not found <= most:
            raise ProofError(f"{family.name}: a(y) d may reach {found:.3g} for some y along the direction d.")
    return d
