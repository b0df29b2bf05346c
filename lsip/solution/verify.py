"""Checking a certificate from its own numbers: what the solver believed on the way counts for nothing."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from ..deadline import check, within
from ..errors import OutOfTime, ProofError
from ..kernel.native import by_reference, kernel
from ..model.program import Program
from ..model.status import Status
from ..oracles import Oracle
from ..proof.certificate import Array, Certificate, DataAssumption, Support, TreeAssumption
from ..proof.dual import Dual, LagrangianBound, lagrangian_bound
from ..proof.dual_bound_tightening import confined
from ..proof.equations import disagreement, equations, excused, taken_for_rounding
from ..proof.families import Bounds, family_bounds
from ..proof.gap import closed, unresolved
from ..proof.primal import broken_cones, broken_rows, holds_solution, outside
from ..proof.prove import upper_bound, with_constant
from ..proof.ray import prove_ray
from ..proof.region import TUNING as REGION
from ..proof.region import within as within_region
from ..proof.rows import DualRows, trusts
from ..reductions.chain import UNITS, forward, inverse
from ..reductions.equilibration import scaling_of
from ..reductions.rounding import data_rounding
from ..rounding import check_rounding
from ..validation import double, shown

KINDS = {Status.OPTIMAL: "optimal", Status.INFEASIBLE: "infeasible", Status.UNBOUNDED: "unbounded"}


@dataclass(frozen=True)
class VerifyTuning:
    """How a proof is checked again.

    Parameters
    ----------
    reference_seconds
        How long NumPy may split boxes before the kernel is asked: enough for nearly all models. Rows of thousands of
        coefficients take it a hundred times as long as the kernel.
    """

    reference_seconds: float = 0.5


TUNING = VerifyTuning()


@by_reference()  # first without the compiled kernel, whatever found the proof
def verify(
    program: Program,
    certificate: Certificate,
    status: Status,
    tol: float,
    *,
    atol: float | None = None,
    oracles: Sequence[Oracle] | None = None,
) -> tuple[float, ...]:
    """Prove again all that a certificate says; raises `ProofError` at the first statement that does not hold.

    What comes back are bounds of the violations, as in the certificate, which are as large as those that were proven
    this time: how far below zero they are said to be is no part of what is checked.

    The gap of an optimum has to be closed to `tol`, or to `atol`, by default what rounding leaves of the model's terms.

    `oracles`, one a family, are asked where lsip has no proof of its own; what rests on their word is no theorem, and
    a status that claims one is refused.
    """
    check_rounding()
    expected = KINDS.get(status)
    if expected not in (None, certificate.kind) or certificate.kind not in (*KINDS.values(), "none"):
        raise ProofError(f"The status {status.name} needs another certificate than one of kind {certificate.kind!r}.")
    check_numbers(program, certificate, tol)
    claims, measured = certificate.violation, max(program.finite_violation(certificate.x), 0.0)
    if certificate.kind != "infeasible" and measured > certificate.finite_violation:
        raise ProofError(f"The point misses a finite constraint by {measured:.3g}, which is more than is said.")
    _verify_whole(program, certificate)
    if atol is not None and not 0 <= double(atol) < np.inf:
        raise ProofError(f"The absolute gap is a finite number >= 0, not {shown(atol)}.")
    least, lower, upper = data_rounding(program) if atol is None else atol, certificate.lower, certificate.upper
    given, program = program, UNITS.apply(program)  # anew: nothing that a solver has learnt about it is used
    certificate = forward(program, certificate)
    if expected is not None and certificate.trusts:
        raise ProofError(f"The status {status.name} claims a proof, but takes on trust: {certificate.trusts[0]}")
    if certificate.kind == "infeasible":
        _verify_infeasible(program, certificate)
        return claims
    found = _verify_feasible(program, certificate, expected is not None, oracles)
    if expected is not None and found.trusts:
        raise ProofError(f"The status {status.name} claims a proof, but takes on trust: {found.trusts[0]}")
    values = found.values or (-np.inf,) * len(claims)
    again = inverse(program, Certificate("none", certificate.x, -np.inf, np.inf, violation=values))
    proven = tuple(map(max, claims, again.violation))
    if certificate.kind == "unbounded":
        _verify_unbounded(program, certificate)
        return proven
    size = _verify_lower(program, certificate, expected is not None)
    if lower > upper:
        raise ProofError(f"The bounds contradict each other: {lower!r} is above {upper!r}.")
    if status is Status.OPTIMAL and atol is None and not closed(lower, upper, tol, 0.0):
        least = min(least, unresolved(program, size, certificate.support) / scaling_of(given).objective)
    if status is Status.OPTIMAL and not closed(lower, upper, tol, least):
        far = f"the bounds differ by {upper - lower:.3g}"
        raise ProofError(f"The gap is not closed to tol = {tol:g} or atol = {least:.3g}: {far}.")
    return proven


def _verify_whole(program: Program, certificate: Certificate) -> None:
    """Integer variables are whole, and stay so along a direction."""
    whole = program.integer
    if not whole.any() or (certificate.upper == np.inf and certificate.kind != "unbounded"):
        return
    x, box, direction = certificate.x, certificate.box, certificate.direction
    if (x[whole] != np.rint(x[whole])).any() or (len(box) and box[whole].any()):
        raise ProofError("An integer variable is not whole at the point, or not known exactly.")
    if certificate.kind == "unbounded" and (direction is None or direction[whole].any()):
        raise ProofError("The direction moves integer variables, which need not stay whole along it.")


def check_numbers(program: Program, certificate: Certificate, tol: float) -> None:
    """Everything has the shape that the program asks for, and is a number where one is needed."""
    n, r, k = program.n, program.finite_rows, len(certificate.support)
    shapes = {
        "x": (certificate.x, (n,), False),
        "box": (certificate.box, (n,), True),
        "row_multipliers": (certificate.row_multipliers, (r,), True),
        "units": (certificate.units, (n,), True),
    }
    for name, (value, shape, optional) in shapes.items():
        if not (value.shape == shape or (optional and value.size == 0)) or not np.isfinite(value).all():
            raise ProofError(f"`{name}` of the certificate needs {shape} finite numbers; it has {value.shape}.")
    if (certificate.box < 0).any() or not certificate.finite_violation >= 0:
        raise ProofError("A half-width of the box, or the residual of the finite rows, is negative or not a number.")
    if np.isnan([certificate.lower, certificate.upper, certificate.radius, *certificate.violation]).any():
        raise ProofError("A bound or the radius is nan.")
    if len(certificate.violation) not in (0, len(program.families)):
        raise ProofError(f"There are {len(program.families)} families, and {len(certificate.violation)} violations.")
    if not 0 < double(tol) < 1:
        raise ProofError(f"The tolerance is a relative gap between 0 and 1, not {shown(tol)}.")
    for name, positions, most in (
        ("dependent", certificate.dependent, program.A.shape[0]),
        ("balanced", certificate.balanced, n),
        ("basis", certificate.basis, k + r),
    ):
        if (
            positions.ndim != 1
            or len(np.unique(positions)) != len(positions)
            or ((positions < 0) | (positions >= most)).any()
        ):
            raise ProofError(f"`{name}` of the certificate names rows or columns that there are not.")
    check_support(program, certificate.support)


def check_support(program: Program, support: tuple[Support, ...]) -> None:
    """The atoms are those of a measure on the index sets."""
    for s in support:
        if not 0 <= s.family < len(program.families) or not 0 <= s.component < len(program.families[s.family].columns):
            raise ProofError(f"There is no row {s.component} in family {s.family}.")
        domain = program.families[s.family].domain
        if s.point.shape != (domain.dim,) or not np.isfinite(s.point).all():
            raise ProofError(f"A support point of family {s.family} needs {domain.dim} numbers; it is {s.point}.")
        if not 0 <= s.multiplier < np.inf:
            raise ProofError(f"The multiplier {s.multiplier} at {s.point} is negative or not a number.")
    for f, family in enumerate(program.families):
        points = np.array([s.point for s in support if s.family == f]).reshape(-1, family.domain.dim)
        if len(points):
            lower, upper = family.domain.witness(points)
            known = np.isfinite(lower).all(axis=1) & np.isfinite(upper).all(axis=1)
            near = (np.abs(points - np.clip(points, lower, upper)) <= 1e-9 * (1 + np.abs(points))).all(axis=1)
            if not (known & near).all():
                raise ProofError(f"The support point {points[int(np.argmin(known & near))]} is not in {family.domain}.")


def _dual(program: Program, certificate: Certificate) -> Dual:
    rows = certificate.row_multipliers
    rows = rows if len(rows) else np.zeros(program.finite_rows)
    return Dual(certificate.support, rows, certificate.balanced, certificate.basis)


def _weighed(
    program: Program, c: Array, certificate: Certificate, centre: Array, rows: DualRows | None = None
) -> LagrangianBound | None:
    """What the multipliers prove; those of the basis have to be what the exact ones round to, or nearly."""
    dual = _dual(program, certificate)
    found = lagrangian_bound(c, DualRows.of(program, certificate.support) if rows is None else rows, dual, centre)
    if found is not None and not found.stands_for(dual):
        raise ProofError("The multipliers do not balance: the exact ones next to them are too far away.")
    return found


def contradiction(program: Program, certificate: Certificate) -> float:
    """How much more than 0 the combination of an infeasible program is proven to be; -inf if it proves nothing."""
    zero = np.zeros(program.n)
    found = _weighed(program, zero, certificate, np.clip(zero, program.lower, program.upper))
    return -np.inf if found is None else found.lower


def _verify_infeasible(program: Program, certificate: Certificate) -> None:
    if not certificate.lower == certificate.upper == np.inf or not np.isinf(certificate.radius):
        raise ProofError("An infeasible problem has the bounds inf and inf, without any region.")
    on_trust = trusts(program, certificate.support)
    if on_trust:
        raise ProofError(f"The status INFEASIBLE claims a proof, but takes on trust: {on_trust[0]}.")
    left = contradiction(program, certificate)
    if not left > 0:
        raise ProofError(f"The combination does not contradict itself: it leaves {left:.3g}, and not more than 0.")


def _verify_feasible(
    program: Program, certificate: Certificate, required: bool, oracles: Sequence[Oracle] | None
) -> Bounds:
    """The finite part and all families hold, if anything rests on that; what is proven of the violations."""
    x, claims = certificate.x, certificate.violation
    box = certificate.box if certificate.box.any() else None
    feasible = required or certificate.upper < np.inf
    if not feasible:
        return _verify_claims(program, x, None, claims, oracles)
    if len(claims) != len(program.families) or not all(v <= 0 for v in claims):
        raise ProofError("The point is not claimed to be feasible for every index, though the bounds rest on it.")
    _verify_finite(program, certificate, x, box)
    found = _verify_claims(program, x, box, claims, oracles)
    if not certificate.upper >= upper_bound(program, x, box):
        raise ProofError(f"The upper bound {certificate.upper!r} is below the objective at the point.")
    return found


def _verify_finite(program: Program, certificate: Certificate, x: Array, box: Array | None) -> None:
    """Bounds and inequalities hold over the box, and the box holds an exact solution of the equalities."""
    if len(outside(program, x, box)):
        raise ProofError("The point, or the box around it, leaves the bounds of a variable.")
    bad = broken_rows(program, x, box, solved=True)
    if len(bad):
        raise ProofError(f"The point breaks a finite constraint, row {bad[0]}, or is not proven to keep it.")
    if broken_cones(program, x, box):
        raise ProofError("The point breaks a conic constraint, or is not proven to keep it.")
    equal = np.flatnonzero(equations(program))
    if not len(equal):
        return
    independent = np.setdiff1d(equal, certificate.dependent)
    if len(np.setdiff1d(certificate.dependent, equal)):
        raise ProofError("Rows that are no equalities are said to follow from others.")
    dependent = certificate.dependent
    fits = not len(dependent) or disagreement(program, independent, dependent) is None
    if not fits or (len(dependent) and not excused(program, independent, dependent)):
        raise ProofError("Equalities that are said to follow from others do not, not even up to rounding.")
    if len(certificate.dependent) and not any(isinstance(a, DataAssumption) for a in certificate.assumptions):
        raise ProofError("Equalities are said to follow from others, but the assumption about their data is missing.")
    if not holds_solution(program, x, np.zeros(program.n) if box is None else box, independent):
        raise ProofError("The box around the point is not proven to hold an exact solution of the equalities.")


def _verify_claims(
    program: Program, x: Array, box: Array | None, claims: tuple[float, ...], oracles: Sequence[Oracle] | None
) -> Bounds:
    """A fresh proof of every claim about the violation that says anything."""
    if not any(np.isfinite(v) for v in claims) and not (claims and max(claims) == -np.inf):
        return Bounds(())
    # How far below zero is not checked: feasible is feasible. Above it, independent partitions may round differently.
    targets = tuple(0.0 if v <= 0 else v * (1 + 1e-9) if np.isfinite(v) else np.inf for v in claims)
    proven = _bounds(program, x, box, targets, oracles)
    for family, claimed, found, most in zip(program.families, claims, proven.values, targets, strict=True):
        if not found <= most:
            advice = " Give the oracle that said so: verify(oracle=…)." if found == np.inf and oracles is None else ""
            raise ProofError(f"{family.legend.name}: claimed violation {claimed:.3g}, proven only {found:.3g}.{advice}")
    return proven


def _bounds(
    program: Program, x: Array, box: Array | None, targets: tuple[float, ...], oracles: Sequence[Oracle] | None
) -> Bounds:
    """What NumPy proves for a while, and the kernel from scratch of families for which that is not enough."""
    if kernel().library is None:
        return family_bounds(program, x, box, target=targets, oracles=oracles)
    first = Bounds((np.inf,) * len(targets))
    with within(TUNING.reference_seconds), suppress(OutOfTime):
        first = family_bounds(program, x, box, target=targets, oracles=oracles)
    check("verification")
    still = tuple(most if not found <= most else np.inf for found, most in zip(first.values, targets, strict=True))
    if min(still, default=np.inf) == np.inf:
        return first
    # Next to a pole, and where large terms cancel, NumPy's enclosures are wider as well.
    for family, most in zip(program.families, still, strict=True):
        if most < np.inf:
            family.memory.forget()
    with by_reference(wanted=False):
        second = family_bounds(program, x, box, target=still, oracles=oracles)
    values = tuple(map(min, first.values, second.values))
    return Bounds(values, tuple(dict.fromkeys((*first.trusts, *second.trusts))))


def _verify_lower(program: Program, certificate: Certificate, everywhere: bool) -> float:
    """Prove the lower bound again; the size of all terms of the proof, inf where that is not known."""
    if certificate.lower == -np.inf or any(isinstance(a, TreeAssumption) for a in certificate.assumptions):
        return np.inf
    if everywhere and not np.isinf(certificate.radius):
        raise ProofError("The lower bound is said to hold in a region only, which is no proof of optimality.")
    if np.isinf(certificate.radius):
        found = _weighed(program, program.c, certificate, certificate.x, _rows(program, certificate))
        lower = -np.inf if found is None else with_constant(program, found.lower)
        size = np.inf if found is None else found.size + abs(program.constant)
    else:
        units = certificate.units
        if not certificate.radius >= REGION.least_radius or units.shape != (program.n,) or not (units > 0).all():
            raise ProofError("The region in which the lower bound holds has no size, or is too small to mean anything.")
        region = within_region(
            program, program.c, _dual(program, certificate), certificate.x, units, 0.0, certificate.radius
        )
        lower, size = -np.inf if region is None else with_constant(program, region[0]), np.inf
    lower -= taken_for_rounding(program, certificate.dependent, certificate.row_multipliers, certificate.x)
    if not certificate.lower <= lower:
        raise ProofError(f"The lower bound {certificate.lower!r} exceeds what the multipliers prove, {lower!r}.")
    return size


def _rows(program: Program, certificate: Certificate) -> DualRows | None:
    """The rows of the support, with bounds to which the multipliers confine points that are no worse than `upper`."""
    if not certificate.confined:
        return None
    if not certificate.lower <= certificate.upper < np.inf:
        raise ProofError("Multipliers confine points that are no worse than a feasible one, and there is none.")
    box = certificate.box if certificate.box.any() else None
    found = confined(program, _dual(program, certificate), certificate.x, box, certificate.upper)
    if found is None:
        raise ProofError("The multipliers do not bound the variables of the points that matter.")
    return found


def _verify_unbounded(program: Program, certificate: Certificate) -> None:
    if certificate.lower != -np.inf:
        raise ProofError("An unbounded problem has no lower bound.")
    if prove_ray(program, certificate.direction) is None:
        raise ProofError("The direction is not proven to improve the objective without leaving the feasible set.")
