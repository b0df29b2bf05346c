"""From what a solver believes to what is proven: a point, multipliers, or a direction in, a certificate out.

This is the only place where certificates are made. Whatever the relaxation was, linear, convex or decomposed, its
answer is a proposal; what comes out holds without the solver, or says what it takes on trust.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..expressions.interval import EPS, down, up
from ..model.program import Program
from ..oracles import Oracle
from .certificate import Array, Certificate, Support
from .dual import Dual, LagrangianBound, lagrangian_bound
from .dual_bound_tightening import confined
from .dual_repair import balanced, rebalanced
from .equations import taken_for_rounding
from .families import Bounds, family_bounds
from .linear_algebra import ROUNDING, UNDERFLOW, product
from .primal import FinitePoint, NotProven, finite_point
from .ray import prove_ray
from .region import sentence, within
from .rows import DualRows, settled, trusts


@dataclass(frozen=True, eq=False)
class Incumbent:
    """A point that is proven to satisfy everything, and its objective, rounded up."""

    point: FinitePoint
    bounds: Bounds
    upper: float


@dataclass(frozen=True, eq=False)
class DualBound:
    """What multipliers prove about the optimal value."""

    value: float
    dual: Dual
    radius: float = np.inf
    units: Array | None = None
    size: float = np.inf  # of all the terms that were added up, without their signs; inf where that is not known
    within: tuple[Array, Array] | None = None  # bounds to which the multipliers confine the points that matter

    def around(self, program: Program, centre: Array) -> DualBound:
        """The same bound written around another point, as whoever checks it there will find it."""
        if np.isfinite(self.radius):
            return self
        rows = DualRows.of(program, self.dual.support)
        rows = rows if self.within is None else replace(rows, bounds=self.within)
        found = lagrangian_bound(program.c, rows, self.dual, centre)
        if found is None:
            return replace(self, value=-np.inf)
        known = _bound(program, self.dual, found)
        return replace(self, value=known.value, size=known.size)

    def at(self, program: Program, point: FinitePoint) -> DualBound:
        """The same bound without what equalities that follow from others up to rounding may have added to it."""
        gained = taken_for_rounding(program, point.dependent, self.dual.row_multipliers, point.x)
        return replace(self, value=self.value - 1.01 * gained) if gained else self


def prove_feasible(
    program: Program,
    x: Array,
    known: Bounds | None = None,
    *,
    seconds: float = np.inf,
    oracles: Sequence[Oracle] | None = None,
) -> Incumbent | NotProven:
    """x, or a point next to it, as one that is feasible; `known` bounds of x itself are not proven again."""
    point = finite_point(program, x)
    if isinstance(point, NotProven):
        return point
    same = point.box is None and (point.x == x).all()
    if known is None or not same:
        known = family_bounds(program, point.x, point.box, seconds=seconds, oracles=oracles)
    return feasible_at(program, point, known)


def feasible_at(program: Program, point: FinitePoint, bounds: Bounds) -> Incumbent | NotProven:
    """A point that keeps the finite part, and bounds that were proven over its whole box, as a feasible point."""
    if bounds.worst > 0:
        return NotProven("a constraint over an index is not proven to hold for every index point")
    return Incumbent(point, bounds, upper_bound(program, point.x, point.box))


def upper_bound(program: Program, x: Array, box: Array | None = None) -> float:
    """c x, rounded up, for every x in the box."""
    value = product(program.c[None, :], x, box).hi[0] + program.constant
    return float(up(np.asarray(value), 2.0))


def prove_lower(
    program: Program,
    support: tuple[Support, ...],
    row_multipliers: Array,
    centre: Array,
    units: Array,
    allowed: float,
    spare: tuple[Support, ...] = (),
) -> DualBound:
    """The best bound that these multipliers, or some next to them, prove for all x; within a region if that fails.

    About `allowed` may be given up. `spare` are atoms that may be used besides.
    """
    dual = Dual(support, row_multipliers if len(row_multipliers) else np.zeros(program.finite_rows))
    found = balanced(program, program.c, dual, centre, allowed, spare)
    if found is not None and np.isfinite(found[1].lower):
        return _bound(program, *found)
    used = Dual(tuple(s for s in support if s.multiplier > 0), dual.row_multipliers)
    region = within(program, program.c, used, centre, units, allowed)
    if region is None:
        return DualBound(-np.inf, dual)
    size = float(np.abs(program.c) @ np.abs(centre)) + abs(region[0])
    return DualBound(_shaved(program, region[0], size), used, region[1], units, size)


def prove_confined(
    program: Program, support: tuple[Support, ...], row_multipliers: Array, best: Incumbent
) -> DualBound | None:
    """What multipliers prove that confine all points that are no worse than the best one; None if they do not."""
    dual = Dual(settled(program, support), program.admissible(row_multipliers))
    rows = confined(program, dual, best.point.x, best.point.box, best.upper)
    if rows is None:
        return None
    found = lagrangian_bound(program.c, rows, dual, best.point.x)
    if found is None or not np.isfinite(found.lower):
        return None
    # On another machine, bounds that a confinement proves are a little different.
    value = _shaved(program, found.lower - 1e-3 * float(found.charge.sum()), found.size)
    return DualBound(value, dual, size=found.size + abs(program.constant), within=rows.bounds)


def reproven(program: Program, dual: Dual, centre: Array, allowed: float) -> DualBound | None:
    """What multipliers prove for all x with the basis of an earlier proof; None if more than `allowed` is given up."""
    found = rebalanced(program, program.c, dual, centre, allowed)
    if found is None or not np.isfinite(found[1].lower):
        return None
    return _bound(program, *found)


def _bound(program: Program, dual: Dual, found: LagrangianBound) -> DualBound:
    """What weighed multipliers prove."""
    return DualBound(_shaved(program, found.lower, found.size), dual, size=found.size + abs(program.constant))


def row_terms(program: Program, x: Array, rows: Sequence[Support]) -> list[float]:
    """The size of the terms of each row at x."""
    found = [0.0] * len(rows)
    for f, family in enumerate(program.families):
        places = [k for k, s in enumerate(rows) if s.family == f]
        if places:
            component = np.array([rows[k].component for k in places], dtype=np.intp)
            a, b = family.chosen(np.array([rows[k].point for k in places]), component)
            terms = (np.abs(a) * np.abs(x)[family.columns[component]]).sum(axis=1) + np.abs(b)
            for k, v in zip(places, terms.tolist(), strict=True):
                found[k] = v
    return found


def rounding_of(terms: float) -> float:
    """What rounding leaves of terms of that size; more than all that underflows."""
    return max(ROUNDING * terms, UNDERFLOW) if np.isfinite(terms) else UNDERFLOW


def with_constant(program: Program, lower: float) -> float:
    """A bound on c x as one on the objective, rounded down."""
    return float(down(np.asarray(lower + program.constant))) if program.constant else lower


def _shaved(program: Program, lower: float, size: float) -> float:
    """The same, whose terms are of that size in all, with a little room for whoever proves it again."""
    value = with_constant(program, lower)
    # So that another machine's sums prove it too.
    return value - ROUNDING * (abs(value) + abs(program.constant)) - 4 * EPS * size


def optimal(program: Program, feasible: Incumbent | None, lower: DualBound, x: Array, bounds: Bounds) -> Certificate:
    """What is known at the end of a solve: bounds on the optimal value, and the point behind the upper one.

    Without a feasible point, x and what is proven about its violation stand in for one.
    """
    certificate = Certificate(
        "optimal",
        x if feasible is None else feasible.point.x,
        lower.value if feasible is None else min(lower.value, feasible.upper),
        np.inf if feasible is None else feasible.upper,
        lower.radius,
        lower.dual.support,
        lower.dual.row_multipliers,
        bounds.values if feasible is None else feasible.bounds.values,
        balanced=lower.dual.balanced,
        basis=lower.dual.basis,
        confined=lower.within is not None,
        assumptions=(*(bounds if feasible is None else feasible.bounds).trusts, *_region(program, lower)),
    )
    if feasible is not None:
        certificate = _at(program, certificate, feasible)
    units = np.zeros(0) if lower.units is None else lower.units
    return replace(certificate, units=units, finite_violation=max(program.finite_violation(certificate.x), 0.0))


def _at(program: Program, certificate: Certificate, feasible: Incumbent) -> Certificate:
    """A certificate with its feasible point."""
    point = feasible.point
    return replace(
        certificate,
        box=np.zeros(0) if point.box is None else point.box,
        dependent=point.dependent,
        assumptions=(*point.assumptions(program), *certificate.assumptions),
    )


def _region(program: Program, lower: DualBound) -> tuple[str, ...]:
    if np.isinf(lower.radius) or lower.units is None:
        return ()
    return (sentence(program, lower.radius, lower.units),)


def infeasible(
    program: Program, support: tuple[Support, ...], row_multipliers: Array, x: Array, spare: tuple[Support, ...] = ()
) -> Certificate | None:
    """A contradiction: multipliers whose combination no x satisfies; None if that is not proven without any trust."""
    zero = np.zeros(program.n)
    centre = np.clip(zero, program.lower, program.upper)
    dual = Dual(support, row_multipliers if len(row_multipliers) else np.zeros(program.finite_rows))
    used, weighed = _contradicting(program, dual, centre)
    if weighed is None or not 0 < weighed.base < np.inf:
        return None
    if weighed.lower > 0 and weighed.stands_for(used):  # rows that cancel exactly, as both sides of one sum do
        made = used
    else:
        # Of a contradiction, that may be given up for balancing it.
        found = balanced(program, zero, dual, centre, 0.1 * weighed.base, spare)
        if found is None or not found[1].lower > 0:
            return None
        made = found[0]
    if trusts(program, made.support):
        return None
    return Certificate(
        "infeasible", x, np.inf, np.inf, support=made.support, row_multipliers=made.row_multipliers,
        balanced=made.balanced, basis=made.basis,
    )  # fmt: skip


def _contradicting(program: Program, dual: Dual, centre: Array) -> tuple[Dual, LagrangianBound | None]:
    """The atoms of the combination that are proven to lie in their index sets, and what it proves as it is."""
    used = replace(dual, support=settled(program, (s for s in dual.support if s.multiplier > 0)))
    return used, lagrangian_bound(np.zeros(program.n), DualRows.of(program, used.support), used, centre)


def unbounded(
    program: Program, feasible: Incumbent, direction: Array | None, seconds: float = np.inf
) -> Certificate | None:
    """A direction of unboundedness from a feasible point; None if it is not proven."""
    ray = prove_ray(program, direction, seconds)
    if ray is None or feasible.bounds.trusts:
        return None
    certificate = Certificate(
        "unbounded", feasible.point.x, -np.inf, feasible.upper, violation=feasible.bounds.values,
        finite_violation=max(program.finite_violation(feasible.point.x), 0.0), direction=ray.direction, drift=ray.drift,
    )  # fmt: skip
    return _at(program, certificate, feasible)
