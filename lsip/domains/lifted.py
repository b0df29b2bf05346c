"""Convex index sets as what a cone program says of them: y = place w + origin, where rows w <= sides and w is in a cone.

Duality turns "for all y" into one finite program with such a description, whatever the set.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

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
    cones: tuple[int, ...] = ()  # sizes of the second-order cones, 1 + the length of u

    @property
    def size(self) -> int:
        """How many coordinates w has."""
        return int(self.place.shape[1])


def lifted(domain: Domain) -> tuple[Lifted, ...]:
    """The parts of a union, each so described; nothing where one of them is not known to be convex."""
    parts = [_one(part) for part in (domain.members if isinstance(domain, Union) else (domain,))]
    return tuple(p for p in parts if p is not None) if all(p is not None for p in parts) else ()


def _one(domain: Domain) -> Lifted | None:
    match domain:
        case Interval() | Box():
            return _box(domain.lower, domain.upper)
        case Budget():
            return _budget(domain.dim, domain.budget)
        case Simplex():
            return _hull(np.eye(domain.dim))
        case Finite():
            return _hull(domain.points)
        case Polytope():
            eye = sparse.eye_array(domain.dim, format="csr")
            sides = domain.b - domain.A @ domain.lower
            return Lifted(eye, domain.lower, sparse.csr_array(domain.A), sides, _all(False, len(sides)))
        case Ball():
            return _ellipsoid(domain.centre, domain.radius * np.eye(domain.dim))
        case Ellipsoid():
            return _ellipsoid(domain.centre, np.linalg.cholesky(domain.shape))
        case Product():
            parts = [_one(factor) for factor in domain.factors]
            known = [part for part in parts if part is not None]
            return _together(known, linked=False) if len(known) == len(parts) else None
        case Intersection():
            parts = [_one(member) for member in domain.members]
            known = [part for part in parts if part is not None]
            return _together(known, linked=True) if len(known) == len(parts) else None
    return None


def _all(value: bool, count: int) -> NDArray[np.bool_]:
    return np.full(count, value)


def _box(lower: Array, upper: Array) -> Lifted:
    eye = sparse.eye_array(len(lower), format="csr")
    return Lifted(eye, lower, eye, upper - lower, _all(False, len(lower)))


def _budget(m: int, budget: float) -> Lifted:
    """Deviations up and down, at most 1 each, and `budget` in all."""
    eye = sparse.eye_array(m)
    rows = sparse.vstack([sparse.hstack([eye, eye]), np.ones((1, 2 * m))], format="csr")
    place = sparse.hstack([eye, -eye], format="csr")
    return Lifted(place, np.zeros(m), sparse.csr_array(rows), np.append(np.ones(m), budget), _all(False, m + 1))


def _hull(points: Array) -> Lifted:
    """Means of points (N, m), with weights that add up to 1."""
    place = sparse.csr_array(points.T)
    rows = sparse.csr_array(np.ones((1, len(points))))
    return Lifted(place, np.zeros(points.shape[1]), rows, np.ones(1), _all(True, 1))


def _ellipsoid(centre: Array, axes: Array) -> Lifted:
    """What `axes` make of the unit ball: t = 1, t >= |u|."""
    m = len(centre)
    place = sparse.csr_array(np.concatenate([np.zeros((m, 1)), axes], axis=1))
    rows = sparse.csr_array(np.eye(1, m + 1))
    return Lifted(place, centre, rows, np.ones(1), _all(True, 1), (m + 1,))


def _together(parts: list[Lifted], linked: bool) -> Lifted:
    """The product of sets, or, where they are linked, the points that are in all of them."""
    rows, sides = sparse.block_diag([p.rows for p in parts], format="csr"), [p.sides for p in parts]
    equal = [p.equal for p in parts]
    if linked:
        first, empty = parts[0], sparse.csr_array(parts[0].place.shape)
        for i, part in enumerate(parts[1:], start=1):
            blocks = [sparse.csr_array((len(first.origin), p.size)) for p in parts]
            blocks[0], blocks[i] = first.place, -part.place
            rows = sparse.vstack([rows, sparse.hstack(blocks)], format="csr")
            sides.append(part.origin - first.origin)
            equal.append(_all(True, len(first.origin)))
        blocks = [first.place, *(sparse.csr_array((empty.shape[0], p.size)) for p in parts[1:])]
        place, origin = sparse.hstack(blocks, format="csr"), first.origin
    else:
        place, origin = sparse.block_diag([p.place for p in parts], format="csr"), np.concatenate([p.origin for p in parts])
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
        tuple(size for p in parts for size in p.cones),
    )
