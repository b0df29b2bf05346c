"""The uncertainty sets of PyROS as index sets: parameters q = origin + place w, where w ranges over a set of ours.

Sets that PyROS describes by deviations or factors keep them as the index, so that no number is rounded on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from operator import add, and_, mul
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from ...domains import Box, Budget, Domain, Ellipsoid, Finite, Interval, Polytope
from ...errors import ModelError
from ...expressions.decision_rule import EntrySlice
from ...expressions.folds import Pieces, breaks_of, fold, refuse_outside
from ...expressions.graph import Index
from ...expressions.interval import EPS, TINY
from .comparison import Value
from .recourse import Bends

if TYPE_CHECKING:
    from pyomo.contrib.pyros import UncertaintySet

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Image:
    """All q = origin + place w, for w in a domain; without one, the origin alone."""

    origin: Array  # (n,)
    place: Array  # (n, k)
    domain: Domain | None

    @staticmethod
    def itself(domain: Domain) -> Image:
        return Image(np.zeros(domain.dim), np.eye(domain.dim), domain)

    def independent(self) -> list[int]:
        """Parameters of which all others are affine functions on the set, so that rules need to see no more."""
        if self.domain is None:
            return []
        from scipy.linalg import qr

        finite = isinstance(self.domain, Finite)
        points = self.domain.grid(2) if finite else self.domain.spread(4 * self.domain.dim + 4)
        around = self.place @ (points - points.mean(axis=0)).T
        _, triangle, order = qr(around.T / np.maximum(np.abs(around).max(axis=1), TINY), mode="economic", pivoting=True)
        sizes = np.abs(np.diag(triangle))
        return sorted(order[: int((sizes > np.sqrt(EPS) * sizes.max()).sum())].tolist())

    @property
    def plain(self) -> bool:
        """Whether the parameters are the index."""
        square = self.place.shape[0] == self.place.shape[1]
        return square and not self.origin.any() and bool((self.place == np.eye(len(self.place))).all())

    def values(self, index: Index | None) -> tuple[Value, ...]:
        """The parameters as formulas of the index."""
        if index is None:
            return tuple(map(float, self.origin))
        entries: list[Any] = list(index.reshape((-1,)))
        found = []
        for start, row in zip(self.origin.tolist(), self.place.tolist(), strict=True):
            terms = [w if a == 1.0 else a * w for a, w in zip(row, entries, strict=True) if a]
            found.append(reduce(add, [*terms, start] if start or not terms else terms))
        return tuple(found)

    def bends(self, index: Index, seen: Sequence[int], pieces: Pieces) -> Bends:
        """Pieces along parameters that are seen, each of which is a multiple of one entry of the index, moved."""
        for i in seen:
            if np.count_nonzero(self.place[i]) > 1:
                raise ModelError(
                    "Rules with `decision_rule_pieces` need a set in which every uncertain parameter moves by itself, "
                    "such as a BoxSet, PolyhedralSet or EllipsoidalSet; in a set of factors, or of deviations that "
                    "differ up and down, parameters are sums."
                )
        entry = [int(np.flatnonzero(self.place[i])[0]) for i in seen]
        scale, origin = np.ones(index.domain.dim), np.zeros(index.domain.dim)
        scale[entry], origin[entry] = self.place[seen, entry], self.origin[list(seen)]
        breaks, lower, upper = breaks_of(index, pieces, origin, scale), index.domain.lower, index.domain.upper
        ends = np.sort([self.at(end)[list(seen)] for end in (lower, upper)], axis=0)
        refuse_outside(pieces, "the uncertainty set", *ends)
        folded = fold(index, breaks)
        found: list[tuple[EntrySlice, Value]] = []
        for j, k in enumerate(entry):
            a, start = float(scale[k]), float(origin[k])
            for place, (low, high) in zip(folded.parts(k).tolist(), folded.limits(k), strict=True):
                part: Any = folded.part(place)  # of the index; where the parameter falls, its own is what is left
                moved = a * part if a > 0 else a * (part - (high - low))
                found.append((EntrySlice(j, *sorted((start + a * low, start + a * high))), part if a == 1 else moved))
        return Bends(tuple(part for part, _ in found), lambda j, value: [v for part, v in found if part.entry == j])

    def at(self, point: Array) -> Array:
        """The parameters at an index point."""
        return np.asarray(self.origin + self.place @ point)


def image_of(given: UncertaintySet) -> Image:
    """An uncertainty set of PyROS; an error with a sentence where it is not one that is known."""
    from pyomo.contrib.pyros import UncertaintySet

    if not isinstance(given, UncertaintySet):
        raise ModelError(
            f"`uncertainty_set` is a set of pyomo.contrib.pyros, such as BoxSet([(0, 1)]); got {type(given).__name__}."
        )
    try:
        return _read(given)
    except ModelError as error:
        raise ModelError(f"The uncertainty set, a {type(given).__name__}, cannot be read: {error}") from error


def _read(given: UncertaintySet) -> Image:
    for kind in type(given).__mro__:
        if kind in _readers():
            return _readers()[kind](given)
    raise ModelError(
        "it is a set of your own. Known are BoxSet, CardinalitySet, BudgetSet, PolyhedralSet, FactorModelSet, "
        "AxisAlignedEllipsoidalSet, EllipsoidalSet, DiscreteScenarioSet, and IntersectionSet and CartesianProductSet "
        "of these; write it as one of them, or the model in lsip's own language."
    )


@cache
def _readers() -> dict[type, Callable[[Any], Image]]:
    from pyomo.contrib import pyros

    return {
        pyros.BoxSet: lambda s: _box(*np.asarray(s.bounds, dtype=float).T),
        pyros.CardinalitySet: _cardinality,
        pyros.BudgetSet: _budget,
        pyros.PolyhedralSet: lambda s: Image.itself(Polytope(s.coefficients_mat, s.rhs_vec)),
        pyros.FactorModelSet: _factors,
        pyros.AxisAlignedEllipsoidalSet: _axis_aligned,
        pyros.EllipsoidalSet: _ellipsoid,
        pyros.DiscreteScenarioSet: lambda s: Image.itself(Finite(np.asarray(s.scenarios, dtype=float))),
        pyros.IntersectionSet: _intersection,
        pyros.CartesianProductSet: lambda s: _product([_read(part) for part in s._all_sets]),
    }


def _box(lower: Array, upper: Array) -> Image:
    """Parameters whose bounds are equal are numbers."""
    if not (np.isfinite(lower).all() and np.isfinite(upper).all()):
        raise ModelError("a bound is infinite or nan. Give every parameter two bounds.")
    open_ = lower != upper
    if not open_.any():
        return Image(lower, np.zeros((len(lower), 0)), None)
    domain = Interval(lower[open_][0], upper[open_][0]) if open_.sum() == 1 else Box(lower[open_], upper[open_])
    return Image(np.where(open_, 0.0, lower), np.eye(len(lower))[:, open_], domain)


def _cardinality(given: Any) -> Image:
    """Deviations up and down as shares of the largest ones, of which `gamma` may be spent."""
    origin, gamma = np.asarray(given.origin, dtype=float), float(given.gamma)
    up, down = (np.asarray(d, dtype=float) for d in (given.positive_deviation, given.negative_deviation))
    if (up == down).all() and gamma > 0 and up.any():
        moving = up > 0
        m = int(moving.sum())
        place = np.diag(up)[:, moving]
        return Image(origin, place, Budget(m, min(gamma, m)) if m > 1 else Interval(-min(gamma, 1.0), min(gamma, 1.0)))
    place = np.hstack([np.diag(up)[:, up > 0], -np.diag(down)[:, down > 0]])
    return Image(origin, place, _shares(place.shape[1], np.ones((1, place.shape[1])), np.array([gamma])))


def _shares(k: int, rows: Array, sides: Array) -> Domain | None:
    """[0, 1]^k with further rows; None where these leave one point, 0."""
    if (sides < 0).any() or np.isnan(sides).any():
        raise ModelError("it is empty: a limit is below 0, or nan.")
    if k == 0 or (sides == 0).all():
        return None
    eye = np.eye(k)
    return Polytope(np.vstack([eye, -eye, rows]), np.concatenate([np.ones(k), np.zeros(k), sides]))


def _budget(given: Any) -> Image:
    """Deviations from the origin, upward, in groups that may spend so much each."""
    rows, sides = np.asarray(given.budget_membership_mat, dtype=float), np.asarray(given.budget_rhs_vec, dtype=float)
    eye = np.eye(rows.shape[1])
    return Image(
        np.asarray(given.origin, dtype=float),
        eye,
        Polytope(np.vstack([rows, -eye]), np.concatenate([sides, np.zeros(len(eye))])),
    )


def _factors(given: Any) -> Image:
    """Factors in [-1, 1] whose sum is at most a share `beta` of their number."""
    place, count = np.asarray(given.psi_mat, dtype=float), int(given.number_of_factors)
    ones, limit = np.ones(count), float(given.beta) * count
    cube: Domain = Interval(-1.0, 1.0) if count == 1 else Box(-ones, ones)
    if limit < count:
        eye = np.eye(count)
        cube = Polytope(np.vstack([eye, -eye, ones, -ones]), np.concatenate([np.ones(2 * count), [limit, limit]]))
    return Image(np.asarray(given.origin, dtype=float), place, cube)


def _axis_aligned(given: Any) -> Image:
    """Parameters without a half-length are numbers."""
    centre, half = np.asarray(given.center, dtype=float), np.asarray(given.half_lengths, dtype=float)
    moving = half > 0
    if moving.sum() <= 1:
        return _box(centre - half, centre + half)
    return Image(np.where(moving, 0.0, centre), np.eye(len(half))[:, moving], Ellipsoid(centre[moving], half[moving]))


def _ellipsoid(given: Any) -> Image:
    """(q - centre)' shape⁻¹ (q - centre) <= scale; of one parameter, an interval."""
    centre, shape = np.asarray(given.center, dtype=float), np.asarray(given.shape_matrix, dtype=float)
    scaled = float(given.scale) * shape
    if not scaled.any() or len(centre) == 1:
        half = np.sqrt(np.diag(scaled))
        return _box(centre - half, centre + half)
    return Image.itself(Ellipsoid(centre, scaled))


def _product(parts: Sequence[Image]) -> Image:
    domains = [part.domain for part in parts if part.domain is not None]
    place = block_diag(*(part.place for part in parts))
    return Image(np.concatenate([part.origin for part in parts]), place, reduce(mul, domains) if domains else None)


def _intersection(given: Any) -> Image:
    """Sets of the parameters themselves; and at most one of deviations or factors, cut by the planes of the others."""
    from pyomo.contrib.pyros import BoxSet, DiscreteScenarioSet

    members = list(given.all_sets)
    for member in members:
        if isinstance(member, DiscreteScenarioSet):
            inside = [s for s in member.scenarios if all(other.point_in_set(s) for other in members)]
            if not inside:
                raise ModelError("it is empty: no scenario lies in all sets.")
            return Image.itself(Finite(np.asarray(inside, dtype=float)))
    images = [
        Image.itself(Box(*np.asarray(m.bounds, dtype=float).T)) if isinstance(m, BoxSet) else _read(m) for m in members
    ]
    planes = [_planes(image) for image in images]
    others = [image for image, found in zip(images, planes, strict=True) if found is None]
    if all(image.plain for image in others):
        each = zip(images, planes, strict=True)
        sets = [image.domain if image.plain or cut is None else Polytope(*cut) for image, cut in each]
        return Image.itself(reduce(and_, [s for s in sets if s is not None]))
    first, *more = others
    if more or first.domain is None:
        names = ", ".join(type(member).__name__ for member in members)
        raise ModelError(
            f"of its sets, {names}, at most one may be of deviations or factors, beside boxes and polyhedra. Write the "
            "others as a PolyhedralSet."
        )
    eye, domain = np.eye(first.domain.dim), first.domain
    for rows, sides in (cut for cut in planes if cut is not None):
        moved = np.concatenate([sides - rows @ first.origin, domain.upper, -domain.lower])
        domain = domain & Polytope(np.vstack([rows @ first.place, eye, -eye]), moved)
    return Image(first.origin, first.place, domain)


def _planes(image: Image) -> tuple[Array, Array] | None:
    """A set of the parameters themselves, or one that is moved, as A q <= b; None where it is not known as such."""
    domain, n = image.domain, len(image.origin)
    if image.place.shape != (n, n) or (image.place != np.eye(n)).any():
        return None
    if isinstance(domain, Box):
        eye = np.eye(n)
        return np.vstack([eye, -eye]), np.concatenate([domain.upper, -domain.lower])
    return (domain.A, domain.b + domain.A @ image.origin) if isinstance(domain, Polytope) else None
