"""Intersections of domains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from math import gamma, pi
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ModelError
from ..legible import legibly
from ..schema import Schema
from ..validation import shown
from .barrier import Barrier
from .base import COMBINED, Array, Cell, Domain, Seed, Vector, as_points, box_support, no_witness
from .box import Box
from .consensus import Agreement, agree
from .finite import Finite
from .halfspaces import Bound
from .interval import Interval
from .points import additive_recurrence, constant, unit_ball
from .polytope import Polytope
from .product import Product
from .proven import ScaledDirections, add_up, sum_bounds
from .simplex import Simplex
from .union import Union


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class Intersection(Domain):
    """The points that lie in all members, which are convex and have the same m; written `Ball([0, 0], 1) & Box(…)`.

    `&` makes a simpler set where there is one: boxes meet in a box, polyhedra in a polytope, unions member by member.
    It is proven that the intersection is not empty. Volumes are estimated.

    >>> from lsip.domains import Ball, Box
    >>> (Ball([0, 0], 1) & Box([0, 0], [1, 1])).contains([[0.6, 0.8], [0.8, 0.8], [-0.1, 0]])
    array([ True, False, False])
    """

    convex: ClassVar[bool] = True
    filed: ClassVar[Schema] = [Domain]

    members: tuple[Domain, ...]
    _anchor: Array  # (m,), deep inside
    _basis: Array  # (m, k), directions along the set, as long as it is wide, about
    _barrier: Barrier | None  # what keeps points strictly inside, where there is room and it is known

    def __init__(self, *members: Domain) -> None:
        known = all(isinstance(d, Domain) for d in members)
        flat = tuple(dict.fromkeys(part for d in members for part in _parts(d))) if known else members
        if not known or len(flat) < 2 or not all(_usable(d) for d in flat):
            raise ModelError(
                "An intersection needs two or more convex sets, as in Ball([0, 0], 1) & Box([0, 0], [1, 1]); got "
                f"{', '.join(map(shown, flat)) or 'none'}. Cut others by inequalities: domain.where(lambda y: …)."
            )
        for other in flat[1:]:
            _check_dimensions(flat[0], other)
        lower, upper = np.max([d.lower for d in flat], axis=0), np.min([d.upper for d in flat], axis=0)
        if (lower > upper).any():
            raise _empty(flat)
        self._set(
            members=flat, lower=lower, upper=upper, _basis=np.zeros((len(lower), 0)), _barrier=None
        )  # not known yet
        common = agree(
            [d.project for d in flat], (lower + upper)[None] / 2, (lower + upper)[None] / 2, None, self._size
        )
        self._check(common)
        towards = np.concatenate([-np.eye(self.dim), np.eye(self.dim), self._directions()])
        ends, tops = self.support(towards)
        lower, upper = np.maximum(lower, -tops[: self.dim]), np.minimum(upper, tops[self.dim : 2 * self.dim])
        if (lower > upper).any():
            raise _empty(flat)
        held = self.contains(ends, 0.0)  # the sets may not have agreed upon others
        anchor = ends[held].mean(axis=0) if held.any() else ends.mean(axis=0)
        _, widths, basis = np.linalg.svd(ends - anchor, full_matrices=False)
        wide = widths > 1e-7 * max(widths[0], 1e-300)  # flat where it is less
        self._set(
            lower=constant(lower, "lower", 1),
            upper=constant(upper, "upper", 1),
            _anchor=np.clip(anchor, lower, upper),
            _basis=basis[wide].T * widths[wide] / np.sqrt(len(ends)),
        )
        if self.parameters == self.dim:
            self._set(_barrier=Barrier.of(self.members, self._anchor))
        if np.isnan(self.witness(self._anchor)[0]).any():
            raise ModelError(
                f"No point is proven to lie in {self}: the sets touch, at most, and floats cannot tell. Make one of "
                "them a little larger, or write the set without the others."
            )

    @property
    def _tolerance(self) -> float:
        """Of membership: points on a flat set are rounded."""
        return 0.0 if self.parameters == self.dim else 1e-13

    @property
    def _size(self) -> float:
        return float(np.linalg.norm(self.upper - self.lower)) or 1.0

    def _directions(self) -> Array:
        return 2 * additive_recurrence(17, self.dim)[1:] - 1  # the first one is 0

    def _check(self, common: Agreement) -> None:
        """Refuse sets that are proven to have no point in common: normals that add up to 0 tell them apart."""
        towards = common.points - common.copies  # (k, 1, m)
        if self._bound(towards, np.zeros((1, self.dim)))[0] < 0:
            raise _empty(self.members)

    def _bound(self, prices: Array, d: Array) -> Array:
        """Proven upper bounds (N,) of d · y, for any prices (k, N, m): each set has a bound along its own."""
        low, high = sum_bounds(np.stack([d, *-prices], axis=-1))  # what no price balances; the bounding box bounds it
        total = Bound(low, high, np.zeros(len(d))).over(self.lower, self.upper)
        for member, price in zip(self.members, prices, strict=True):
            found = member.support(price)
            assert found is not None
            total = add_up(total, found[1])
        return total

    @property
    def diameter(self) -> float:
        """The least of the members' diameters and the diagonal of the bounding box: an upper bound."""
        return min(float(np.linalg.norm(self.upper - self.lower)), *(d.diameter for d in self.members))

    @cached_property
    def measure(self) -> tuple[int, float]:
        """The volume within the affine hull, estimated along rays."""
        k = self.parameters
        if k == 0:
            return 0, 1.0
        normal = np.random.default_rng(0).normal(size=(20_000, k))  # rays along which the volume is estimated
        unit = normal / np.linalg.norm(normal, axis=1, keepdims=True)
        ball = pi ** (k / 2) / gamma(k / 2 + 1)
        stretch = float(np.sqrt(np.linalg.det(self._basis.T @ self._basis)))
        return k, float(ball * np.mean(self._reach(self._anchor, unit @ self._basis.T) ** k) * stretch)

    def contains(self, y: ArrayLike, tol: float = 1e-9) -> NDArray[np.bool_]:
        """Whether all members contain the point."""
        inside: NDArray[np.bool_] = np.logical_and.reduce([d.contains(y, tol) for d in self.members])
        return inside

    def project(self, y: ArrayLike) -> Array:
        """Project onto all members at once, until they agree."""
        points = as_points(y, self.dim).copy()
        outside = ~self._holds(points)
        if outside.any():
            points[outside] = self._nearest(points[outside])
        return points

    def _nearest(self, y: Array) -> Array:
        """The projections onto single members where the others hold them; else what all agree upon."""
        nearest, todo = np.empty_like(y), np.arange(len(y))
        for member in self.members:
            found = member.project(y[todo])
            held = self._holds(found)
            nearest[todo[held]] = found[held]
            todo = todo[~held]
            if not len(todo):
                return nearest
        start = np.clip(y[todo], self.lower, self.upper)
        nearest[todo] = self._settled(agree([d.project for d in self.members], start, y[todo], None, self._size))
        return nearest

    def _settled(self, found: Agreement) -> Array:
        """Points that all members agreed upon, those that rounding left outside of some put onto the last one."""
        points = np.clip(found.points, self.lower, self.upper)
        for member in self.members:
            points = np.where(member.contains(points, 0.0)[:, None], points, member.project(points))
        return np.clip(points, self.lower, self.upper)

    def _holds(self, y: Array) -> NDArray[np.bool_]:
        """Whether points are inside, but for the rounding of a flat set."""
        tol = self._tolerance
        return self.contains(y, tol)

    @property
    def parameters(self) -> int:
        """The dimension of the affine hull."""
        return int(self._basis.shape[1])

    def _reach(self, start: Array, along: Array) -> Array:
        """How far rays (N, m) from points inside lead to the boundary, (N,)."""
        low, high = np.zeros(len(along)), np.zeros(len(along))
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = np.where(along > 0, (self.upper - start) / along, (self.lower - start) / along)
        high = np.maximum(np.where(along == 0, np.inf, ends).min(axis=1), 0.0)
        high = np.where(np.isfinite(high), high, 0.0)
        tol = self._tolerance
        for _ in range(55):  # halvings: as many as tell doubles apart
            middle = (low + high) / 2
            inside = self.contains(start + middle[:, None] * along, tol)
            low, high = np.where(inside, middle, low), np.where(inside, high, middle)
        return low

    def place(self, u: Array) -> Array:
        """Shrink a ball along rays from the middle."""
        if not self.parameters:
            return np.repeat(self._anchor[None], len(u), axis=0)
        along = unit_ball(u) @ self._basis.T
        length = np.linalg.norm(unit_ball(u), axis=1)
        unit = np.where(length[:, None] > 0, along / np.maximum(length, 1e-300)[:, None], self._basis[:, 0])
        moved = self._anchor + unit * (length * self._reach(self._anchor, unit))[:, None]
        return np.clip(moved, self.lower, self.upper)

    def sample(self, n: int, seed: Seed = 0) -> Array:
        """Draw from the bounding box, and keep what is inside; by a random walk where that is too little, or flat."""
        rng = np.random.default_rng(seed)
        kept, drawn = np.empty((0, self.dim)), 0
        while self.parameters == self.dim and len(kept) < n and (len(kept) + 8) >= 0.02 * drawn:
            points = rng.uniform(self.lower, self.upper, size=(2 * n + 16, self.dim))
            kept, drawn = np.concatenate([kept, points[self.contains(points, 0.0)]]), drawn + len(points)
        return kept[:n] if len(kept) >= n else self._walk(self.place(rng.random((n, self.parameters))), rng)

    def _walk(self, y: Array, rng: np.random.Generator) -> Array:
        """Draw a point of the line through each one in a random direction, again and again."""
        for _ in range(10 * self.parameters if len(y) else 0):  # steps of the walk
            along = rng.normal(size=(len(y), self.parameters)) @ self._basis.T
            forward, back = self._reach(y, along), self._reach(y, -along)
            y = y + along * (rng.random(len(y)) * (forward + back) - back)[:, None]
        return np.clip(y, self.lower, self.upper)

    def support(self, d: ArrayLike) -> tuple[Array, Array]:
        """The prices on which the members agree split d into a part for each of them, with bounds that add up."""
        towards = ScaledDirections.of(as_points(d, self.dim))
        length = np.linalg.norm(towards.unit, axis=1, keepdims=True)
        y, tops = box_support(towards.unit, self.lower, self.upper)
        todo = np.arange(len(y))
        for member in self.members:  # one alone decides, where the others hold its maximiser
            found = member.support(towards.unit[todo])
            assert found is not None
            tops[todo] = np.minimum(tops[todo], found[1])
            held = self._holds(found[0])
            y[todo[held]] = found[0][held]
            todo = todo[~held]
        if len(todo):
            y[todo], tops[todo] = self._furthest(towards.unit[todo], length[todo], tops[todo])
        return np.clip(y, self.lower, self.upper), towards.given(tops)

    def _furthest(self, d: Array, length: Array, tops: Array) -> tuple[Array, Array]:
        """Points (N, m) furthest along d, and upper bounds (N,) that are at most those known: where no set is alone.

        The barrier comes close, whatever the angles at which the sets meet; then they agree to the last digits.
        """
        unit, prices = d / np.where(length > 0, length, 1.0), None
        start = np.repeat((self.lower + self.upper)[None] / 2, len(d), axis=0)
        if self._barrier is not None:
            start, prices = self._barrier.furthest(unit, self._size)
            tops = np.minimum(tops, self._bound(prices * length, d))
        common = agree([member.project for member in self.members], start, None, unit, self._size, prices)
        tops = np.minimum(tops, self._bound(common.prices * length, d))
        points = self._settled(common)
        if prices is None:
            return points, tops
        better = self._holds(points) & ((d * points).sum(axis=1) >= (d * start).sum(axis=1))
        return np.where(better[:, None], points, start), tops

    def witness(self, y: ArrayLike) -> tuple[Array, Array]:
        """Pull towards the middle, by an ulp, two, four, …, until all members prove that they hold the same point."""
        start = as_points(y, self.dim)
        far = ~self.contains(start)
        if far.any():
            start = start.copy()
            start[far] = self.project(start[far])
        lower, upper = no_witness(start)
        todo = np.arange(len(start))
        for i in range(55):  # doublings of an ulp, up to the whole way
            step = 2.0 ** (i - 54) if i else 0.0
            lower[todo], upper[todo] = self._common(start[todo] + step * (self._anchor - start[todo]))
            todo = todo[np.isnan(lower[todo]).any(axis=1)]
            if not len(todo):
                break
        return lower, upper

    def _common(self, y: Array) -> tuple[Array, Array]:
        """Boxes (N, m) near y in which every member proves that there is one point of all; nan where none is found.

        A flat member may know a point only up to an ulp of one coordinate. The others, which are convex, hold it if
        they hold both ends.
        """
        points = y
        for member in self.members:
            low, high = member.witness(points)
            points = np.where(np.isnan(low), points, low / 2 + high / 2)
        lower, upper = no_witness(y)
        for i, member in enumerate(self.members):
            low, high = member.witness(points)
            found = ((low != high).sum(axis=1) <= 1) & np.isnan(lower).any(axis=1)
            for other in (d for j, d in enumerate(self.members) if j != i):
                for end in (low, high):
                    at = np.where(np.isnan(end), points, end)
                    found &= (np.stack(other.witness(at)) == end).all(axis=(0, 2))
            lower[found], upper[found] = low[found], high[found]
        return lower, upper

    def cells(self) -> tuple[Cell, ...]:
        """The bounding box, cut by the inequalities of all members."""
        cuts = [cell.inside for d in self.members for cell in d.cells() if cell.inside is not None]
        return (Cell(self.lower[None], self.upper[None], _all(cuts)),)

    def flat_cells(self) -> tuple[Cell, ...]:
        """The same in the coordinates of a member that is flat, if there is one."""
        for i, member in enumerate(self.members):
            (host,) = member.flat_cells()
            if host.place is not None:
                rest = [d.cells()[0] for j, d in enumerate(self.members) if j != i]
                return (Cell(host.lower, host.upper, _on(host, rest, self.lower, self.upper), host.place),)
        return self.cells()

    def _arguments(self) -> tuple[object, ...]:
        return self.members

    @legibly
    def __str__(self) -> str:
        return " ∩ ".join(f"({d})" if isinstance(d, Product) else str(d) for d in self.members)

    def latex(self) -> str:
        """The members, cut with each other."""
        return r" \cap ".join(f"({d.latex()})" if isinstance(d, Product) else d.latex() for d in self.members)


def _parts(domain: Domain) -> tuple[Domain, ...]:
    return domain.members if isinstance(domain, Intersection) else (domain,)


def _usable(domain: object) -> bool:
    """Whether it is known to be convex, to be one box with inequalities, and where it ends in every direction."""
    if not (isinstance(domain, Domain) and domain.convex):
        return False
    cells = domain.cells()
    return len(cells) == len(cells[0].lower) == 1 and domain.support(np.zeros((1, domain.dim))) is not None


def _empty(members: tuple[Domain, ...]) -> ModelError:
    return ModelError(f"The intersection {' ∩ '.join(map(str, members))} is empty.")


def _all(cuts: list[Callable[[Vector], Any]]) -> Callable[[Vector], Any] | None:
    """What several inequalities say of one point."""
    if not cuts:
        return None
    return cuts[0] if len(cuts) == 1 else lambda y: np.concatenate([cut(y) for cut in cuts])


def _on(host: Cell, others: list[Cell], lower: Array, upper: Array) -> Callable[[Vector], Any]:
    """Inequalities of the coordinates z of a cell: its own, those of others at y(z), and the bounding box."""
    place = host.place
    assert place is not None

    def inside(z: Vector) -> Any:
        y = place(z)
        cuts = [] if host.inside is None else [host.inside(z)]
        return np.concatenate([*cuts, *(c.inside(y) for c in others if c.inside is not None), y - lower, upper - y])

    return inside


def _check_dimensions(a: Domain, b: Domain) -> None:
    if a.dim != b.dim:
        raise ModelError(f"Sets that meet need one dimension; got {a} of dimension {a.dim}, {b} of dimension {b.dim}.")


def intersect(a: Domain, b: Domain) -> Domain:
    """The simplest set for a & b."""
    _check_dimensions(a, b)
    if isinstance(b, Union) or (isinstance(b, Finite) and not isinstance(a, Union)):
        a, b = b, a
    if isinstance(a, Union):
        return _any([(member, b) for member in a.members], (a, b))
    if isinstance(a, Finite):
        lower, upper = b.witness(a.points)
        held = ((lower == a.points) & (upper == a.points)).all(axis=1)
        if not held.any():
            raise _empty((a, b))
        return Finite(a.points[held])
    if isinstance(a, Interval | Box) and isinstance(b, Interval | Box):
        lower, upper = np.maximum(a.lower, b.lower), np.minimum(a.upper, b.upper)
        if (lower > upper).any():
            raise _empty((a, b))
        both = isinstance(a, Interval) and isinstance(b, Interval)
        return Interval(float(lower[0]), float(upper[0])) if both else Box(lower, upper)
    factors = _factors(a, b)
    if factors is not None:
        return Product(*(one & other for one, other in factors))
    return _met([*_parts(a), *_parts(b)])


def _any(pairs: list[tuple[Domain, Domain]], given: tuple[Domain, ...]) -> Domain:
    """The union of those intersections that are not empty."""
    found = []
    for one, other in pairs:
        try:
            found.append(one & other)
        except ModelError as error:
            if "is empty" not in str(error):
                raise
    if not found:
        raise _empty(given)
    return found[0] if len(found) == 1 else Union(*found)


def _factors(a: Domain, b: Domain) -> list[tuple[Domain, Domain]] | None:
    """The factors of two sets that are cut along the same coordinates, or of one and of a box; None if they are not."""
    if not isinstance(a, Product):
        a, b = b, a
    if not isinstance(a, Product):
        return None
    if isinstance(b, Product):
        same = [f.dim for f in a.factors] == [f.dim for f in b.factors]
        return list(zip(a.factors, b.factors, strict=True)) if same else None
    if not isinstance(b, Box):
        return None
    ends = list(accumulate((f.dim for f in a.factors), initial=0))
    sides = [(b.lower[i:j], b.upper[i:j]) for i, j in pairwise(ends)]
    return [
        (f, Interval(float(low[0]), float(high[0])) if isinstance(f, Interval) else Box(low, high))
        for f, (low, high) in zip(a.factors, sides, strict=True)
    ]


def _met(members: list[Domain]) -> Domain:
    """Sets with linear inequalities become one polytope, if one of them is no box; boxes become one box."""
    linear = [d for d in members if isinstance(d, Interval | Box | Simplex | Polytope)]
    others = [d for d in members if not isinstance(d, Interval | Box | Simplex | Polytope)]
    if len(linear) > 1:
        A, b = (np.concatenate(part) for part in zip(*map(_rows, linear), strict=True))
        boxes = all(isinstance(d, Interval | Box) for d in linear)
        met: list[Domain] = [linear[0] & linear[1]] if boxes else [Polytope(A, b)]
    else:
        met = [*linear]
    return met[0] if not others else Intersection(*met, *others)


def _rows(domain: Domain) -> tuple[Array, Array]:
    """The inequalities A y <= b of a set that has no others."""
    if isinstance(domain, Polytope):
        return domain.A, domain.b
    eye, ones = np.eye(domain.dim), np.ones((1, domain.dim))
    if isinstance(domain, Simplex):
        return np.concatenate([-eye, ones, -ones]), np.concatenate([np.zeros(domain.dim), [1.0, -1.0]])
    return np.concatenate([-eye, eye]), np.concatenate([-domain.lower, domain.upper])


COMBINED["&"] = intersect
