"""Proofs: bounds from multipliers, feasibility over the whole index set, infeasibility, unboundedness.

Everything here is computed with outward rounding from the data that a `Certificate` holds, and from nothing that the
solver believed on the way. All statements are about the minimisation form of a `Program`.

A lower bound from multipliers needs c + sum lambda_i a(y_i) = 0 in every free variable, which floats meet only up to
rounding. What is left over is charged against a region |x_j| <= radius units_j that is made as large as the tolerance
allows; the bound holds for every x in it, and for every x at all when the radius is infinite (as it is when all
variables are bounded).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .errors import ProofError
from .expressions.interval import EPS, Interval
from .oracles import prover
from .program import DENSE, Program
from .status import Status

Array = NDArray[np.float64]
FINITE = 1e-7  # how far finite rows may be broken, relative to the size of x: the accuracy of LP solvers
LEAK = 1e-11  # how far a(y) d may exceed zero along a direction of unit size: what rounding the data means
INFEASIBLE_RADIUS = 1e6  # how far from the origin a contradiction must hold to be called one
LEAST_RADIUS = 10.0  # a bound that holds only nearer than this proves nothing worth the name


@dataclass(frozen=True, eq=False)
class Support:
    """One atom of the dual measure."""

    family: int
    component: int
    point: Array  # (m,)
    multiplier: float


@dataclass(frozen=True, eq=False)
class Certificate:
    """What is proven, with the data that proves it; `kind` says which of the fields matter."""

    kind: str  # "optimal", "infeasible", "unbounded" or "none"
    x: Array
    lower: float
    upper: float
    radius: float = np.inf
    support: tuple[Support, ...] = ()
    row_multipliers: Array = field(default_factory=lambda: np.zeros(0))
    violation: tuple[float, ...] = ()  # a family: sup over Y of a(y) x - b(y) is at most this; inf if unproven
    finite_violation: float = 0.0  # measured, to rounding: finite rows and bounds
    units: Array = field(default_factory=lambda: np.zeros(0))  # (n,), the shape of the region that `radius` scales
    direction: Array | None = None  # of unboundedness
    drift: tuple[float, ...] = ()  # a family: sup over Y of a(y) d for the direction d


def point_rows(program: Program, support: tuple[Support, ...]) -> tuple[Any, Any, Interval]:
    """Enclosures of the rows at the support: midpoints and radii (k, n), sparse if large, and the rhs."""
    shape = (len(support), program.n)
    entries: list[tuple[Array, Array, Any, Any]] = []
    low, high = np.zeros(shape[0]), np.zeros(shape[0])
    for f, family in enumerate(program.families):
        mine = [i for i, s in enumerate(support) if s.family == f]
        if not mine:
            continue
        y = np.array([support[i].point for i in mine])
        component = np.array([support[i].component for i in mine])
        a, b = family.enclosed(y, component)
        a_lo, a_hi = a.lo, a.hi
        centre = 0.5 * a_lo + 0.5 * a_hi
        columns = family.columns[component]
        place = np.broadcast_to(np.array(mine)[:, None], columns.shape)
        entries.append(
            (centre.ravel(), np.maximum(a_hi - centre, centre - a_lo).ravel(), place.ravel(), columns.ravel())
        )
        low[mine], high[mine] = b.lo, b.hi
    if not entries:
        empty = np.zeros(shape) if program.n <= DENSE else sparse.csr_matrix(shape)
        return empty, empty, Interval(low, high)
    mid, rad, i, j = (np.concatenate(part) for part in zip(*entries, strict=True))
    if program.n <= DENSE:
        dense = np.zeros((2, *shape))
        np.add.at(dense[0], (i, j), mid)
        np.add.at(dense[1], (i, j), rad)
        return dense[0], dense[1], Interval(low, high)
    used = (mid != 0) | (rad != 0)  # padding repeats column 0 with a zero
    at_used = (i[used], j[used])
    return (
        sparse.csr_matrix((mid[used], at_used), shape),
        sparse.csr_matrix((rad[used], at_used), shape),
        Interval(low, high),
    )


def lagrangian(
    program: Program, c: Array, support: tuple[Support, ...], row_multipliers: Array, units: Array
) -> tuple[float, float]:
    """(base, drift): c x >= base - radius drift for every feasible x in the region of that radius >= 1."""
    weight = np.array([s.multiplier for s in support])
    if len(weight) and weight.min() < 0:
        raise ProofError(f"A multiplier is negative: {weight.min()}.")
    mid, rad, b = point_rows(program, support)
    mu = row_multipliers if len(row_multipliers) else np.zeros(program.A.shape[0])
    plus = np.where(np.isfinite(program.row_upper), np.maximum(mu, 0.0), 0.0)
    minus = np.where(np.isfinite(program.row_lower), np.maximum(-mu, 0.0), 0.0)
    mu = plus - minus
    terms = len(support) + program.A.shape[0] + 8
    reduced = c + mid.T @ weight
    size = np.abs(c) + abs(mid).T @ weight
    # Half a unit in the last place for every product and every sum that a column takes part in.
    column_terms = 8 + (mid.getnnz(axis=0) if sparse.issparse(mid) else len(mid))
    if program.A.shape[0]:
        reduced, size = reduced + program.A.T @ mu, size + abs(program.A).T @ np.abs(mu)
        column_terms = column_terms + program.A.getnnz(axis=0)
    doubt = (rad.T @ weight) * (1 + terms * EPS) + column_terms * EPS * size
    products = [
        weight * b.hi,
        plus * np.where(plus > 0, program.row_upper, 0.0),
        -minus * np.where(minus > 0, program.row_lower, 0.0),
    ]
    base = -sum(float(v.sum()) for v in products)
    base -= terms * EPS * sum(float(np.abs(v).sum()) for v in products)
    # min over the box of reduced . x: an end that is finite is used, the rest is charged to the radius.
    low, high = reduced - doubt, reduced + doubt
    rise, fall = np.maximum(high, 0.0), np.maximum(-low, 0.0)
    with np.errstate(invalid="ignore"):
        at_lower = np.where(np.isfinite(program.lower), np.minimum(low * program.lower, high * program.lower), 0.0)
        at_upper = np.where(np.isfinite(program.upper), np.minimum(low * program.upper, high * program.upper), 0.0)
    bounded = np.isfinite(program.lower) & np.isfinite(program.upper)
    gain = np.where(bounded, np.minimum(at_lower, at_upper), 0.0)
    reach = units
    charge = np.zeros(program.n)
    only_low = np.isfinite(program.lower) & ~np.isfinite(program.upper)
    only_high = np.isfinite(program.upper) & ~np.isfinite(program.lower)
    neither = ~np.isfinite(program.lower) & ~np.isfinite(program.upper)
    gain = np.where(only_low & (low >= 0), at_lower, gain)
    gain = np.where(only_high & (high <= 0), at_upper, gain)
    charge = np.where(only_low & (low < 0), fall * (reach + np.abs(np.where(only_low, program.lower, 0.0))), charge)
    gain = np.where(only_low & (low < 0), np.minimum(at_lower, 0.0), gain)
    charge = np.where(only_high & (high > 0), rise * (reach + np.abs(np.where(only_high, program.upper, 0.0))), charge)
    gain = np.where(only_high & (high > 0), np.minimum(at_upper, 0.0), gain)
    charge = np.where(neither, np.maximum(rise, fall) * reach, charge)
    total = base + float(gain.sum()) - (program.n + 4) * EPS * (float(np.abs(gain).sum()) + abs(base))
    return total, float(charge.sum()) * (1 + (program.n + 4) * EPS)


def lower_bound(
    program: Program, support: tuple[Support, ...], row_multipliers: Array, units: Array, slack: float
) -> tuple[float, float]:
    """(lower, radius): no feasible x within the radius is below `lower`; at most `slack` is given up for reach."""
    base, drift = lagrangian(program, program.c, support, row_multipliers, units)
    base += program.constant
    if drift == 0:
        return base, np.inf
    radius = slack / drift
    if radius < LEAST_RADIUS:
        radius = LEAST_RADIUS
    return base - radius * drift, radius


def refit(
    program: Program, support: tuple[Support, ...], row_multipliers: Array, x: Array
) -> tuple[tuple[Support, ...], Array]:
    """The heavier atoms, and the finite rows, with multipliers corrected so that they balance the objective better.

    What c + sum lambda a + A' mu leaves over in the variables that are away from their bounds at x should be zero. A
    relaxation that leans on far-away bounds carries light atoms only for their sake; without them the measure may be
    exact.
    """
    heaviest = max((s.multiplier for s in support), default=0.0)
    kept = tuple(s for s in support if s.multiplier > 1e-4 * heaviest)
    mid, _, _ = point_rows(program, kept)
    near = 1e-9 * (1 + np.abs(x))
    free = (x > program.lower + near) & (x < program.upper - near)
    held = np.flatnonzero(row_multipliers)
    matrix = np.concatenate([mid, program.A[held].toarray()])[:, free]
    weight = np.concatenate([[s.multiplier for s in kept], row_multipliers[held]])
    size = np.maximum(np.abs(weight), 1e-3 * heaviest)  # corrections are sought in proportion
    for _ in range(2):
        over = program.c[free] + matrix.T @ weight
        weight = weight - size * np.linalg.lstsq((size[:, None] * matrix).T, over, rcond=None)[0]
    rows = row_multipliers.copy()
    rows[held] = weight[len(kept) :]
    atoms = tuple(replace(s, multiplier=max(float(w), 0.0)) for s, w in zip(kept, weight, strict=False))
    return atoms, admissible(program, rows)


def infeasibility(
    program: Program, support: tuple[Support, ...], row_multipliers: Array, units: Array
) -> tuple[float, float]:
    """(contradiction, radius): a positive lower bound on the zero objective leaves no feasible x within the radius."""
    base, drift = lagrangian(program, np.zeros(program.n), support, row_multipliers, units)
    if base <= 0:
        return base, 0.0
    return base, np.inf if drift == 0 else 0.5 * base / drift


def upper_bound(program: Program, x: Array) -> float:
    """c x, rounded up."""
    terms = program.c * x
    return float(terms.sum() + program.constant + (program.n + 4) * EPS * (np.abs(terms).sum() + abs(program.constant)))


def prove_feasible(program: Program, x: Array, scale: float = 1.0, target: float = 0.0) -> tuple[float, ...]:
    """A proven bound of the violation over each family's whole index set; inf where nothing can be proven."""
    bounds = []
    for f, family in enumerate(program.families):
        asked = prover(family)
        found = asked.maximise(program.violation(f, x, scale), family.domain, target=target) if asked else None
        bounds.append(found.bound if found else np.inf)
    return tuple(bounds)


def admissible(program: Program, row_multipliers: Array) -> Array:
    """Multipliers of finite rows without those that push against a side the row does not have."""
    usable = np.where(row_multipliers > 0, np.isfinite(program.row_upper), np.isfinite(program.row_lower))
    return np.where(usable, row_multipliers, 0.0)


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
    for s in certificate.support:
        if not 0 <= s.family < len(program.families) or not 0 <= s.component < len(program.families[s.family].columns):
            raise ProofError(f"There is no row {s.component} in family {s.family}.")
        domain = program.families[s.family].domain
        if s.point.shape != (domain.dim,) or not np.isfinite(s.point).all() or not domain.contains(s.point[None, :])[0]:
            raise ProofError(f"The support point {s.point} is not in {domain}.")
        if s.multiplier < 0:
            raise ProofError(f"A multiplier is negative: {s.multiplier}.")


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
    if not any(np.isfinite(v) for v in claims):
        return
    proven = prove_feasible(program, x, target=max((v for v in claims if np.isfinite(v)), default=0.0))
    for family, claimed, found in zip(program.families, claims, proven, strict=True):
        # Independent partitions round differently in the last digits.
        if np.isfinite(claimed) and not found <= max(claimed, 0.0) + 1e-13 * scale:
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
    base, drift = lagrangian(program, program.c, certificate.support, certificate.row_multipliers, units)
    lower = base + program.constant - (certificate.radius * drift if drift else 0.0)
    if not certificate.lower <= lower + 1e-12 * (1 + abs(lower)):
        raise ProofError(f"The lower bound {certificate.lower!r} exceeds what the multipliers prove, {lower!r}.")


def _verify_ray(program: Program, certificate: Certificate) -> None:
    d = certificate.direction
    if d is None or d.shape != (program.n,) or not np.isfinite(d).all() or not d.any():
        raise ProofError("There is no direction.")
    d = d / np.abs(d).max()  # a direction is no better for being short
    if not program.c @ d < -1e-9 * np.abs(program.c).max():
        raise ProofError("The direction does not improve the objective.")
    ends = np.concatenate([np.where(np.isfinite(program.lower), -d, 0.0), np.where(np.isfinite(program.upper), d, 0.0)])
    rows = program.A @ d
    above = np.where(np.isfinite(program.row_upper), rows, 0.0)
    below = np.where(np.isfinite(program.row_lower), -rows, 0.0)
    if max(ends.max(initial=0.0), above.max(initial=0.0), below.max(initial=0.0)) > FINITE:
        raise ProofError("The direction leaves a finite constraint or a bound.")
    for family, found in zip(program.families, prove_feasible(program, d, scale=0.0, target=LEAK), strict=True):
        if not found <= LEAK:
            raise ProofError(f"{family.name}: a(y) d may reach {found:.3g} for some y along the direction d.")
