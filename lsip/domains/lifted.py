"""Convex index sets as cone programs have them: y = place w + origin, where rows w <= sides and w is in a cone.

Duality turns "for all y" into one finite program with such a description, whatever the set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..lifetime import remembered
from .ball import Ball
from .base import Array, Domain
from .box import Box
from .budget import Budget
from .ellipsoid import Ellipsoid
from .finite import Finite
from .intersection import Intersection
from .interval import Interval
from .polytope import Polytope
from .product import Product
from .simplex import Simplex
from .union import Union


@dataclass(frozen=True, eq=False)
class Lifted:
    """A set of points y = place w + origin, for all w in a cone with rows w <= sides, or == sides where they are equal.

    The first coordinates of w are nonnegative; the last are second-order cones (t, u) with t >= |u|, one after another.
    """

    place: sparse.csr_array  # (m, k)
    origin: Array  # (m,)
    rows: sparse.csr_array  # (q, k)
    sides: Array  # (q,)
    equal: NDArray[np.bool_]  # (q,)
    centre: Array  # (k,), a w inside
    cones: tuple[int, ...] = ()  # sizes of the second-order cones, 1 + the length of u
    corners: bool = False  # whether only the columns of `place` are points of the set, and w their weights

    @property
    def size(self) -> int:
        """How many coordinates w has."""
        return int(self.place.shape[1])


@remembered
def lifted(domain: Domain) -> tuple[Lifted, ...]:
    """The parts of a union, each so described; nothing where one of them is not known to be convex. Found once."""
    members = domain.members if isinstance(domain, Union) else (domain,)
    parts = [_points(part) if isinstance(part, Finite) else _one(part, _deep(part)) for part in members]
    return tuple(p for p in parts if p is not None) if all(p is not None for p in parts) else ()


def _deep(domain: Domain) -> Array:
    """A point inside."""
    match domain:
        case Product():
            return np.concatenate([_deep(factor) for factor in domain.factors])
        case Polytope():
            return domain.deepest
        case Simplex():
            return np.full(domain.dim, 1.0 / domain.dim)
        case Intersection():
            return domain._anchor
    return 0.5 * domain.lower + 0.5 * domain.upper


def _points(domain: Finite) -> Lifted:
    """All means of the points; only these themselves belong to the set."""
    count = len(domain.points)
    return replace(_hull(domain.points, np.full(count, 1.0 / count)), corners=True)


def _one(domain: Domain, y: Array) -> Lifted | None:
    """A convex set, and its point y inside."""
    match domain:
        case Interval() | Box():
            eye, none = sparse.eye_array(domain.dim, format="csr"), np.zeros(domain.dim, dtype=bool)
            return Lifted(eye, domain.lower, eye, domain.upper - domain.lower, none, y - domain.lower)
        case Polytope():
            eye, sides = sparse.eye_array(domain.dim, format="csr"), domain.b - domain.A @ domain.lower
            none = np.zeros(len(sides), dtype=bool)
            return Lifted(eye, domain.lower, sparse.csr_array(domain.A), sides, none, y - domain.lower)
        case Budget():
            return _budget(domain.dim, domain.budget, y)
        case Simplex():
            return _hull(np.eye(domain.dim), y)
        case Ball():
            return _ellipsoid(domain.centre, domain.radius * np.eye(domain.dim), y)
        case Ellipsoid():
            return _ellipsoid(domain.centre, np.asarray(np.linalg.cholesky(domain.shape), dtype=float), y)
        case Product():
            return _together(
                [_one(f, z[0]) for f, z in zip(domain.factors, domain.split(y), strict=True)], linked=False
            )
        case Intersection():
            return _together([_one(member, y) for member in domain.members], linked=True)
    return None


def _budget(m: int, budget: float, y: Array) -> Lifted:
    """Deviations up and down, at most 1 each, and `budget` in all."""
    eye = sparse.eye_array(m)
    rows = sparse.vstack([sparse.hstack([eye, eye]), np.ones((1, 2 * m))], format="csr")
    place = sparse.hstack([eye, -eye], format="csr")
    size = np.abs(y)
    more = 0.25 * max(min(1 - float(size.max()), (budget - float(size.sum())) / m), 0.0)
    centre = np.concatenate([np.maximum(y, 0.0), np.maximum(-y, 0.0)]) + more
    sides = np.append(np.ones(m), budget)
    return Lifted(place, np.zeros(m), sparse.csr_array(rows), sides, np.zeros(m + 1, dtype=bool), centre)


def _hull(points: Array, centre: Array) -> Lifted:
    """Means of points (N, m), with weights that add up to 1."""
    rows = sparse.csr_array(np.ones((1, len(points))))
    return Lifted(
        sparse.csr_array(points.T), np.zeros(points.shape[1]), rows, np.ones(1), np.ones(1, dtype=bool), centre
    )


def _ellipsoid(centre: Array, axes: Array, y: Array) -> Lifted:
    """What `axes` make of the unit ball: t = 1, t >= |u|."""
    m = len(centre)
    place = sparse.csr_array(np.concatenate([np.zeros((m, 1)), axes], axis=1))
    inside = np.append(1.0, np.linalg.solve(axes, y - centre))
    return Lifted(
        place, centre, sparse.csr_array(np.eye(1, m + 1)), np.ones(1), np.ones(1, dtype=bool), inside, (m + 1,)
    )


def _together(given: Sequence[Lifted | None], linked: bool) -> Lifted | None:
    """The product of sets, or, where they are linked, the points that are in all of them."""
    parts = [part for part in given if part is not None]
    if len(parts) < len(given):
        return None
    first, rows = parts[0], sparse.block_diag([p.rows for p in parts], format="csr")
    place, origin = sparse.block_diag([p.place for p in parts], format="csr"), np.concatenate([p.origin for p in parts])
    sides, equal = [p.sides for p in parts], [p.equal for p in parts]
    if linked:
        m = len(first.origin)
        for i, part in enumerate(parts[1:], start=1):
            rows = sparse.vstack([rows, place[:m] - place[i * m : (i + 1) * m]], format="csr")
            sides.append(part.origin - first.origin)
            equal.append(np.ones(m, dtype=bool))
        place, origin = place[:m], first.origin
    # Nonnegative coordinates of all parts come first, then the cones.
    starts = np.cumsum([0] + [p.size for p in parts]).tolist()
    plain = [np.arange(s, s + p.size - sum(p.cones)) for s, p in zip(starts, parts, strict=False)]
    curved = [np.arange(s + p.size - sum(p.cones), s + p.size) for s, p in zip(starts, parts, strict=False)]
    order = np.concatenate([*plain, *curved])
    return Lifted(
        sparse.csr_array(sparse.csc_array(place)[:, order]),
        origin,
        sparse.csr_array(sparse.csc_array(rows)[:, order]),
        np.concatenate(sides),
        np.concatenate(equal),
        np.concatenate([p.centre for p in parts])[order],
        tuple(size for p in parts for size in p.cones),
    )
