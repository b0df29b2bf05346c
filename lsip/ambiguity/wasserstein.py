"""All distributions near that of samples: moving mass costs its distance, and the radius is what may be spent.

Mohajerin Esfahani and Kuhn (2018): the largest expectation of a loss l over the ball is the least of

    radius λ + (s_1 + … + s_N) / N   with   s_i >= l(ξ) - λ ‖ξ - ξ_i‖   for all ξ in the support, and λ >= 0.

A norm that is a maximum of linear functions becomes coordinates of the index: w >= ‖ξ - ξ_i‖ describes a polytope of
(ξ, w), over which a loss that is affine in ξ is affine. In boxes, and with the norm 1, one cube serves all samples:
ways up and ways down from each of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..domains import Ball, Box, Domain, Polytope, Simplex
from ..domains import Interval as Segment
from ..errors import ModelError
from ..expressions.affine import Affine, Variable
from ..expressions.enclosed import known
from ..expressions.graph import Expression, Index
from ..integrals.integral import samples_of
from ..integrals.volume import between
from ..model import forall
from ..validation import Array, Data, kept, numbers, real
from .losses import LossPieces, UpperBound, averaged, fresh


@dataclass(frozen=True, eq=False, init=False)
class Wasserstein:
    """Distributions within a distance of the empirical one, in the Wasserstein metric of first order.

    Parameters
    ----------
    samples
        (N, m), or (N,) for an index that is a number.
    radius
        The distance, at least 0.
    norm
        In which distances of points are measured: 1, 2 or np.inf. Losses that are affine, over a convex support, give
        constraints that are affine in an index, for any norm; others are enclosed, in few dimensions.

    The support is the set over which the index of the loss ranges; it may be unbounded, for affine losses.
    """

    samples: Array
    radius: float
    norm: float

    def __init__(self, samples: Data, radius: float, norm: float = 1) -> None:
        real("radius", radius, "is a number >= 0", lambda v: 0 <= v < np.inf)
        real("norm", norm, "is 1, 2 or np.inf", lambda v: v in (1, 2, np.inf))
        points = numbers(samples, "`samples`")
        if points.size == 0 or points.ndim not in (1, 2):
            raise ModelError(
                f"`samples` have the shape (N, m), or (N,) for numbers, with one sample or more; got {points.shape}."
            )
        object.__setattr__(self, "samples", kept(points))
        object.__setattr__(self, "radius", float(radius))
        object.__setattr__(self, "norm", float(norm))

    def worst(self, loss: LossPieces) -> UpperBound:
        """The largest expectation of a loss, as the least value of a bound."""
        domain = loss.index.domain
        points = samples_of(self.samples, domain, "ambiguity.Wasserstein")
        if self.radius == 0:  # the least of the bounds would not be attained
            return averaged(loss, points)
        price, n = Variable(name=fresh("λ"), lower=0), float(len(points))
        shares = Variable(len(points), name=fresh("s"))  # s_i / N, so that all numbers are doubles
        value = self.radius * price + shares.sum()
        slopes = loss.slopes()
        if not domain.bounded:
            there = [n * shares >= at for at in loss.at(points)]
            return UpperBound(value, [*there, *self._steepest(loss.index, slopes, price)])
        if slopes is not None and domain.convex and (self.norm == 2 or halfspaces(domain) is None):
            return UpperBound(value, self._tilted(loss, slopes, points, n * shares, price))
        rows, cube = dict[Index, list[Any]](), _cube(loss.index)
        for i, point in enumerate(points):
            index, place, distance = self._around(loss.index, point, cube)
            above = [n * shares[i] >= at - price * distance for at in loss.moved(place)]
            rows.setdefault(index, []).extend(above)
        return UpperBound(value, [forall(index, above) for index, above in rows.items()])

    def _steepest(self, index: Index, slopes: list[Affine] | None, price: Variable) -> list[Any]:
        """No loss may rise faster than moving costs."""
        if slopes is None:
            raise ModelError(
                f"Without bounds on {index.name}, a loss has to be affine in it, and this one is not. Let the index "
                "range over a bounded set."
            )
        if not np.isinf(index.domain.lower).all() or not np.isinf(index.domain.upper).all():
            raise ModelError(
                f"The support {index.domain} has some ends and lacks others; bound it, or let all be infinite."
            )
        steep = [slope for slope in slopes if slope.terms or slope.offset_matters]
        return [row for slope in steep for row in self._at_most(slope, price)]

    def _tilted(
        self, loss: LossPieces, slopes: list[Affine], points: Array, bound: Affine, price: Variable
    ) -> list[Any]:
        """The same by duality, for losses that are affine and a convex support: two rows that are affine in an index.

        The largest l(ξ) - λ ‖ξ - ξ_i‖ is the least l(ξ_i) + z . (v - ξ_i) for all v of the support, over all z from
        which the slope of l differs by at most λ, in the dual norm.
        """
        index, found = loss.index, list[Any]()
        near = Index(fresh(index.name), index.domain)
        for slope, there in zip(slopes, loss.at(points), strict=True):
            tilt = Variable(points.shape, name=fresh("z"))
            found.append(forall(near, bound >= there + (tilt * (near.reshape((-1,)) - points)).sum(axis=1)))
            found += self._at_most(slope - tilt, price)
        return found

    def _at_most(self, slope: Affine, price: Variable) -> list[Any]:
        """That slopes, (m,) or (N, m), have a dual norm of at most λ."""
        if self.norm == 1:
            return [slope <= price, -slope <= price]
        if self.norm == 2:
            u = Index(fresh("u"), Ball(np.zeros(slope.shape[-1]), 1.0))
            return [forall(u, slope @ u <= price)]
        size = Variable(slope.shape, name=fresh("size"))
        return [slope <= size, -slope <= size, size.sum(axis=-1) <= price]

    def _around(self, index: Index, point: Array, cube: Index) -> tuple[Index, Any, Any]:
        """An index, ξ as a function of it, and a function of it whose least value is the distance from a sample."""
        domain, m = index.domain, len(point)
        inside = bool((domain.lower <= point).all() and (point <= domain.upper).all())
        if isinstance(domain, Segment | Box) and (self.norm == 1 or m == 1) and inside:
            return _up_and_down(cube, index, point)
        sides = None if self.norm == 2 else halfspaces(domain)
        if sides is None:
            near = Index(fresh(index.name), domain)
            return near, near, np.linalg.norm(near.reshape((-1,)) - point, self.norm)
        rows, right = sides
        k = m if self.norm == 1 else 1
        eye, far = np.eye(m), np.ones((m, 1)) if k == 1 else np.eye(m)
        reach = 3.0 * np.abs(np.stack([domain.lower, domain.upper])).max() + 1.0  # beyond every distance
        table = np.vstack(
            [
                np.hstack([eye, -far]),
                np.hstack([-eye, -far]),
                np.hstack([rows, np.zeros((len(rows), k))]),
                np.hstack([np.zeros((k, m)), np.eye(k)]),
            ]
        )
        lifted = Polytope(table, np.concatenate([point, -point, right, np.full(k, reach)]))
        both = Index(fresh(index.name), lifted)
        return both, both[0] if not index.shape else both[:m], both[m:].sum()


def _cube(index: Index) -> Index:
    m = index.domain.dim
    return Index(fresh(index.name), Box(np.zeros(2 * m), np.ones(2 * m)))


def _up_and_down(cube: Index, index: Index, point: Array) -> tuple[Index, Any, Any]:
    """Every coordinate of a box goes up by a share of the way to its upper end, and down by one of that to its lower.

    Where it does both, it is within the box, too, and farther than it need be: such points ask for nothing new.
    """
    m, domain = len(point), index.domain
    up, down = (_ways(a, b) for a, b in ((point, domain.upper), (domain.lower, point)))
    place = point + up * cube[:m] - down * cube[m:]
    return cube, place if index.shape else place[0], up @ cube[:m] + down @ cube[m:]


def _ways(start: Array, end: Array) -> Expression:
    """end - start, without rounding."""
    exact = [Fraction(b) - Fraction(a) for a, b in zip(start.tolist(), end.tolist(), strict=True)]
    found = between(exact)
    return known(found.lo, found.hi, exact)


def halfspaces(domain: Domain) -> tuple[Array, Array] | None:
    """A polyhedron as A y <= b; None where it is not known as one."""
    m, eye = domain.dim, np.eye(domain.dim)
    if isinstance(domain, Segment | Box):
        return np.vstack([eye, -eye]), np.concatenate([domain.upper, -domain.lower])
    if isinstance(domain, Simplex):
        return np.vstack([-eye, np.ones((1, m)), -np.ones((1, m))]), np.concatenate([np.zeros(m), [1.0, -1.0]])
    if isinstance(domain, Polytope):
        return domain.A, domain.b
    return None
