"""One polynomial in several coordinates, expanded about the centres of boxes: sharper than its terms one by one.

For given x, g(y) = a(y) x - b(y) is one polynomial, and what the terms a_j(y) x_j leave open need not be added up where
they cancel. Its coefficients are sums of rational numbers, without error, and so are those about the origin of a patch
of the index set, in whole numbers; only the way from there to the centre of a box, which is short, is one of doubles.
That keeps the rounding small beside g itself, not beside its terms.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import comb, lcm, prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..domains.proven import LOST
from ..expressions.interval import EPS
from ..expressions.jets import triangle
from ..expressions.polynomials import Polynomial

Array = NDArray[np.float64]
Ints = NDArray[np.intp]


@dataclass(frozen=True)
class ExpansionTuning:
    """Which polynomials are expanded, and how.

    Parameters
    ----------
    highest_degree
        Along one coordinate. Binomial coefficients up to there are doubles, and no power of a coordinate is so small
        that its loss by underflow is worth more than `LOST`.
    most_products
        Multiplications for one box, at most.
    patches
        Along each coordinate, in two and in three of them: so many parts of the index set have an origin of their own,
        for the boxes that are no larger.
    fraction
        Of its size, to which the origin of a patch is rounded: short numbers are multiplied faster.
    batch
        Coefficients of all boxes that are expanded at once.
    """

    highest_degree: int = 50
    most_products: int = 60_000
    patches: tuple[int, ...] = (8, 4)
    fraction: float = 2.0**-6
    batch: int = 1_000_000


TUNING = ExpansionTuning()


class Expanded(NamedTuple):
    """Polynomials in d, |d_i| <= 1, about the centres of N boxes."""

    quadratic: Array  # (N, 1 + m + m (m + 1) / 2): values, gradients and packed Hessians
    rest: Array  # (N,), what no more than is added to the quadratics anywhere
    varies: Array  # (N, m), roughly how much along each axis, beside the linear part


class _Patch(NamedTuple):
    """The polynomial as one of z, where y = origin + unit z."""

    origin: Array  # (m,)
    unit: Array  # (m,), powers of two
    table: Array  # coefficients by powers of z, rounded once


def expandable(g: Polynomial, m: int) -> bool:
    """Whether a polynomial in m coordinates is small enough."""
    degrees = _degrees(g, m)
    return max(degrees) <= TUNING.highest_degree and sum(_products(degrees)) <= TUNING.most_products


class Expansion:
    """A polynomial, over the boxes of one cell between `lower` (m,) and `upper` (m,)."""

    def __init__(self, g: Polynomial, lower: Array, upper: Array) -> None:
        self.dim, self.lower = len(lower), lower
        self.half = 0.5 * upper - 0.5 * lower
        self.degrees = _degrees(g, self.dim)
        self.below = lcm(*(c.denominator for c in g.values()))
        self.whole: NDArray[Any] = np.zeros([d + 1 for d in self.degrees], dtype=object)
        for exponents, c in g.items():
            self.whole[exponents] = int(c * self.below)
        self.count = TUNING.patches[self.dim - 2]
        self._patches: dict[int, _Patch] = {}

    def about(self, centre: Array, radius: Array) -> Expanded:
        """The polynomial at centre + radius d."""
        size = max(TUNING.batch // self.whole.size, 1)
        starts = range(0, max(len(centre), 1), size)
        parts = [self._about(centre[i : i + size], radius[i : i + size]) for i in starts]
        return Expanded(*(np.concatenate(field) for field in zip(*parts, strict=True)))

    def _about(self, centre: Array, radius: Array) -> Expanded:
        """The same for a batch.

        Numbers of a substitution have a relative error of 2 d + 3 roundings at most: those of (c - origin)^(k - j), of
        radius^j and of two products. A sum of d + 1 products adds d + 1, and the coefficients are rounded once. All
        coefficients together are then off by no more than that many roundings (Higham, section 3.1) of the sum of
        |coefficient| (|c| + radius)^k, since sum_j binomial(k, j) |c|^(k-j) radius^j is that power.
        """
        patches, which = self._chosen(centre, radius)
        origin, unit, table = (np.stack([p[i] for p in patches])[which] for i in range(3))
        c, r = (centre - origin) / unit, radius / unit
        reach = np.abs(c) + r
        local, size = table, np.abs(table)
        for axis, degree in enumerate(self.degrees):
            shape = local.shape[2:]
            flat = _substitution(c[:, axis], r[:, axis], degree) @ local.reshape(len(c), degree + 1, -1)
            local = np.moveaxis(flat.reshape(len(c), degree + 1, *shape), 1, -1)
            size = np.einsum("nk,nk...->n...", np.vander(reach[:, axis], degree + 1, increasing=True), size)
        roundings = sum(3 * d + 4 for d in self.degrees) + 2
        lost = (1 + np.abs(table).reshape(len(c), -1).sum(axis=1)) * np.maximum(reach.max(axis=1), 1.0) ** sum(
            self.degrees
        )
        doubt = 0.6 * roundings * EPS * size + LOST * lost
        return self._sorted(local.reshape(len(c), -1), doubt)

    def _sorted(self, local: Array, doubt: Array) -> Expanded:
        """Coefficients as quadratics and the rest, of which even powers count where they are positive."""
        quadratic = local[:, self._places] * self._factors
        sizes = np.abs(local)
        with np.errstate(invalid="ignore"):
            high = np.where(self._even, np.maximum(local, 0.0), sizes) @ self._high
        return Expanded(quadratic, high * (1 + (local.shape[1] + 8) * EPS) + doubt, sizes @ self._shares)

    def _chosen(self, centre: Array, radius: Array) -> tuple[list[_Patch], Ints]:
        """The patches to use, and which of them for each box: the one that it lies in, or one for all large ones."""
        half = self.half / self.count
        with np.errstate(all="ignore"):
            place = np.nan_to_num((centre - self.lower) / (2 * half))
        inside = np.clip(place, 0, self.count - 1).astype(np.intp)
        number = 1 + inside @ self.count ** np.arange(self.dim)
        number = np.where((radius <= half).all(axis=1), number, 0)
        keys, first, which = np.unique(number, return_index=True, return_inverse=True)
        for key, n in zip(keys.tolist(), first.tolist(), strict=True):
            if key not in self._patches:
                middle = self.lower + (self.half if key == 0 else (2 * inside[n] + 1) * half)
                self._patches[key] = self._patch(middle, self.half if key == 0 else 2 * half)
        return [self._patches[key] for key in keys.tolist()], which.ravel()

    def _patch(self, middle: Array, size: Array) -> _Patch:
        """Rewrite the polynomial in whole numbers."""
        unit = np.exp2(np.ceil(np.log2(np.where(size > 0, size, 1.0))))
        origin = np.round(middle / (unit * TUNING.fraction)) * (unit * TUNING.fraction)
        whole, below = self.whole, self.below
        for axis, degree in enumerate(self.degrees):
            a, b = Fraction(float(origin[axis])), Fraction(float(unit[axis]))
            q = lcm(a.denominator, b.denominator)
            p, r = int(a * q), int(b * q)
            moved = np.zeros((degree + 1, degree + 1), dtype=object)
            for k in range(degree + 1):
                for j in range(k + 1):
                    moved[k, j] = comb(k, j) * p ** (k - j) * r**j * q ** (degree - k)
            whole = np.moveaxis(np.tensordot(whole, moved, axes=(axis, 0)), -1, axis)
            below *= q**degree
        table = np.array([_ratio(v, below) for v in whole.ravel().tolist()]).reshape(whole.shape)
        return _Patch(origin, unit, table)

    @cached_property
    def _powers(self) -> Ints:
        """Exponents (S, m) in the order of the coefficients."""
        return np.array(list(product(*(range(d + 1) for d in self.degrees))), dtype=np.intp)

    @cached_property
    def _places(self) -> Ints:
        """Where values, gradients and Hessians stand."""
        unit = np.eye(self.dim, dtype=np.intp)
        wanted = np.concatenate(
            [np.zeros((1, self.dim), dtype=np.intp), unit, *(unit[[a]] + unit[b] for a, b in self._pairs)]
        )
        return np.ravel_multi_index(tuple(wanted.T), self.whole.shape)

    @property
    def _pairs(self) -> list[tuple[int, int]]:
        i, j = triangle(self.dim)
        return list(zip(i.tolist(), j.tolist(), strict=True))

    @cached_property
    def _factors(self) -> Array:
        """Second derivatives are twice the coefficients of squares."""
        return np.array([1.0] * (1 + self.dim) + [2.0 if a == b else 1.0 for a, b in self._pairs])

    @cached_property
    def _high(self) -> Array:
        """One for every power that is not in the quadratic."""
        return (self._powers.sum(axis=1) > 2).astype(float)

    @cached_property
    def _even(self) -> NDArray[np.bool_]:
        """Powers that are nowhere negative."""
        return np.asarray((self._powers % 2 == 0).all(axis=1))

    @cached_property
    def _shares(self) -> Array:
        """How much a coefficient says about each axis, (S, m): slopes little, since quadratics are bounded well."""
        degree = self._powers.sum(axis=1)
        return np.asarray(self._powers > 0, dtype=float) * np.where(degree > 1, 1.0, 1e-3)[:, None]


def _substitution(c: Array, r: Array, degree: int) -> Array:
    """Coefficients of (c + r d)^k by powers j of d, (N, j, k)."""
    k, j = np.meshgrid(np.arange(degree + 1), np.arange(degree + 1))
    choose = np.array([[float(comb(b, a)) for b in range(degree + 1)] for a in range(degree + 1)])
    shift, stretch = (np.vander(v, degree + 1, increasing=True) for v in (c, r))
    found: Array = choose * shift[:, np.maximum(k - j, 0)] * stretch[:, :, None]
    return found


def _degrees(g: Polynomial, m: int) -> list[int]:
    """The highest power of each coordinate; at least two, so that there is a place for every quadratic."""
    return [max((e[axis] for e in g if e[axis] > 2), default=2) for axis in range(m)]


def _products(degrees: list[int]) -> list[int]:
    """Multiplications by the substitutions along each axis."""
    size = prod(d + 1 for d in degrees)
    return [size * (d + 1) for d in degrees]


def _ratio(numerator: int, denominator: int) -> float:
    """The nearest double; nan, of which nothing is known, if it is too large."""
    try:
        return numerator / denominator
    except OverflowError:
        return np.nan
