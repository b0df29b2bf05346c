"""What is proven about a solution and what is not, as sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import TYPE_CHECKING, Literal

import numpy as np

from ..model.status import Status
from ..solution.verify import contradiction

if TYPE_CHECKING:
    from ..solution.solution import Solution


UP, DOWN, NEAREST = ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Claim:
    """One sentence, and how far it can be relied on."""

    kind: Literal["proven", "measured", "trusted", "open"]
    text: str


def claims(solution: Solution, seen: float) -> list[Claim]:
    """Everything that the certificate says, in the order in which a reader asks.

    `seen` is the largest violation in the pictures of the page, which may be more than the solver found.
    """
    if solution.status is Status.INFEASIBLE:
        found = list(_infeasible(solution))
    elif solution.status is Status.UNBOUNDED:
        found = list(_unbounded(solution))
    else:
        found = [*_feasible(solution, seen), *_bounds(solution)]
    return found + list(_foundations(solution))


def _feasible(solution: Solution, seen: float) -> Iterator[Claim]:
    certificate = solution.certificate
    if solution.families:
        worst = max(certificate.violation, default=math.inf)
        if worst <= 0:
            yield Claim(
                _kind(solution),
                "x satisfies the constraints at every index point of Y"
                + (f", with a margin of at least {brief(-worst, DOWN)}." if worst < 0 else "."),
            )
        elif math.isfinite(worst):
            yield Claim(
                _kind(solution), f"x violates no constraint by more than {brief(worst, UP)} at any index point of Y."
            )
        else:
            yield Claim(
                "open",
                f"The largest violation that was found at x is {brief(worst_found(solution, seen))}. It may be larger "
                "between the index points that were tried.",
            )
    if solution.program.finite_rows:
        yield _finite(solution)


def _kind(solution: Solution) -> Literal["proven", "trusted"]:
    """How far a statement about every index point can be relied on."""
    return "proven" if solution.violation_proven else "trusted"


def _finite(solution: Solution) -> Claim:
    """What is known of the finite constraints."""
    certificate = solution.certificate
    if not math.isfinite(certificate.upper):
        broken = max(certificate.finite_violation, 0.0)
        return Claim(
            "measured",
            f"The finite constraints hold to {brief(broken)}." if broken else "The finite constraints hold at x.",
        )
    if not certificate.box.any():
        return Claim("proven", "x satisfies every finite constraint and every bound exactly.")
    near = brief(float(certificate.box.max()), UP)
    return Claim(
        "proven",
        f"A point that differs from x by at most {near} in every variable satisfies the finite constraints and bounds "
        "exactly, and the other claims hold for every point so near to x.",
    )


def _bounds(solution: Solution) -> Iterator[Claim]:
    maximise, certificate = solution.program.maximise, solution.certificate
    relaxed, attained = (solution.upper, solution.lower) if maximise else (solution.lower, solution.upper)
    outer, inner = (UP, DOWN) if maximise else (DOWN, UP)
    if math.isfinite(relaxed):
        bound, side = number(relaxed, rounding=outer), "above" if maximise else "below"
        yield Claim("proven", f"No feasible point has an objective {side} {bound}{_reach(solution)}.")
    else:
        yield Claim("open", f"No {'upper' if maximise else 'lower'} bound on the optimal value is known.")
    if math.isfinite(attained):
        side, value = "least" if maximise else "most", number(attained, rounding=inner)
        yield Claim(_kind(solution), f"The optimal value is at {side} {value}: x attains it.")
    elif math.isfinite(max(certificate.violation, default=math.inf)):
        yield Claim("open", "x is not proven to be feasible, so its objective does not bound the optimal value.")
    else:
        yield Claim("open", "No feasible point is proven, so the optimal value may be worse than the objective at x.")


def _infeasible(solution: Solution) -> Iterator[Claim]:
    certificate = solution.certificate
    size = contradiction(solution.program, certificate)
    yield Claim(
        "proven",
        "There is no feasible point. Weighted with the multipliers below, the constraints at these index points and "
        f"the finite constraints add up to 0 ≥ {brief(size, DOWN)}, which is false.",
    )


def _unbounded(solution: Solution) -> Iterator[Claim]:
    certificate, program = solution.certificate, solution.program
    yield Claim("proven", "x satisfies the constraints at every index point.")
    if certificate.direction is not None:
        rate = abs(float(program.c @ certificate.direction))
        yield Claim(
            "proven", f"Along the direction d the objective improves by {brief(rate, DOWN)} a unit, without end."
        )
        drift = max(certificate.drift, default=0.0)
        yield Claim(
            "proven", f"No constraint is ever met on the way: over all of Y, a(y)·d is at most {brief(drift, UP)}."
        )


def _reach(solution: Solution) -> str:
    """The region in which a bound from multipliers holds, where it is not everywhere."""
    radius, units = solution.certificate.radius, solution.certificate.units
    if not math.isfinite(radius) or not len(units):
        return ""
    near, far = float(np.min(units)) * radius, float(np.max(units)) * radius
    least = brief(near, DOWN)
    region = (
        f"|xⱼ| ≤ {least}"
        if near == far
        else f"|xⱼ| ≤ {brief(radius, DOWN)} uⱼ, {least} or more, with uⱼ the size of xⱼ here"
    )
    return f", among all x with {region} (give all variables bounds to get a statement without this condition)"


def _foundations(solution: Solution) -> Iterator[Claim]:
    """What the proof rests on."""
    for sentence in solution.certificate.assumptions:
        yield Claim("trusted", sentence)
    for family in solution.families:
        if not family.enclosable:
            yield Claim(
                "trusted", f"{family.name} is a black box: its functions are known only where they were called."
            )
    if solution.certified:
        yield Claim(
            "trusted",
            "The proof uses outward-rounded arithmetic on doubles; solution.verify() repeats it without the solver.",
        )


def worst_found(solution: Solution, seen: float) -> float:
    """The largest violation that anybody found: the solver, or the pictures of the page."""
    return max(solution.max_violation, seen)


def number(value: float, digits: int = 12, rounding: str = NEAREST) -> str:
    """A value or a bound, to read and to copy; a bound is rounded to the side on which it stays true."""
    if not math.isfinite(value):
        return "unknown" if math.isnan(value) else "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    exact = Context(prec=digits, rounding=rounding).create_decimal(Decimal(value))
    exponent = exact.adjusted()
    if -5 < exponent < digits:
        return f"{exact.normalize():f}".replace("-", "−")
    head = f"{exact.scaleb(-exponent).normalize():f}".replace("-", "−")
    power = "10" + str(exponent).translate(_RAISED)
    return {"1": power, "−1": f"−{power}"}.get(head, f"{head}\u00a0·\u00a0{power}")


def brief(value: float, rounding: str = NEAREST) -> str:
    """A size: two or three digits say enough."""
    return number(value, 3, rounding)
