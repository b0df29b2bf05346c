"""One polynomial in several coordinates, expanded about the centres of boxes: sharper than its terms one by one.

For given x, g(y) = a(y) x - b(y) is one polynomial, and what the terms a_j(y) x_j leave open need not be added up where
they cancel. Its coefficients are sums of rational numbers, without error, and so are those about the origin of a patch
of the index set, in whole numbers; only the way from there to the centre of a box, which is short, is one of doubles.
That keeps the rounding small beside g itself, not beside its terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache, cached_property, lru_cache
from itertools import product
from math import comb, lcm, prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..deadline import EFFORT
from ..domains.proven import LOST
from ..expressions.interval import EPS
from ..expressions.jets import triangle
from ..expressions.ring import Polynomial

Array = NDArray[np.float64]
Ints = NDArray[np.intp]

# Along one coordinate: binomial coefficients up to there are doubles, and no power of a coordinate is so small that its
# loss by underflow is worth more than `LOST`.
HIGHEST_DEGREE = 50


class Expanded(NamedTuple):
    """Polynomials in d, |d_i| <= 1, about the centres of N boxes."""

    quadratic: Array  # (N, 1 + m + m (m + 1) / 2): values, gradients and packed Hessians
    rest: Array  # (N,): nowhere is more than that to be added to the quadratics
    varies: Array  # (N, m), roughly how much along each axis, beside the linear part


class _Patches(NamedTuple):
    """The polynomial as one of z, where y = origin + unit z, once for every patch; or of one of them."""

    origin: Array  # (P, m)
    unit: Array  # (P, m), powers of two
    table: Array  # (P, ...), coefficients by powers of z, rounded once


def expandable(rows: Sequence[Polynomial], m: int) -> bool:
    """Whether polynomials in m coordinates are small enough, all together."""
    degrees = [_degrees(g, m) for g in rows]
    return max(map(max, degrees)) <= HIGHEST_DEGREE and sum(map(_products, degrees)) <= EFFORT.exact // 4


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
        self.count = 4  # parts along each coordinate, with an origin each
        self._numbers: dict[int, int] = {}  # of the patches that are known, in the order of
        self._patches = _Patches(np.zeros((0, self.dim)), np.zeros((0, self.dim)), np.zeros((0, *self.whole.shape)))

    @property
    def products(self) -> int:
        """Multiplications by substitutions for one box."""
        return _products(self.degrees)

    def about(self, centre: Array, radius: Array) -> Expanded:
        """The polynomial at centre + radius d."""
        n, m, batch = len(centre), self.dim, max(EFFORT.cached // self.whole.size, 32)  # boxes at once, 32 at least
        found = Expanded(np.empty((n, len(self._places))), np.empty(n), np.empty((n, m)))
        number = self._numbered(centre, radius)
        for i in range(0, n, batch):
            some = slice(i, i + batch)
            patches = _Patches(*(part[number[some]] for part in self._patches))
            for all_of_them, part in zip(found, self._about(patches, centre[some], radius[some]), strict=True):
                all_of_them[some] = part
        return found

    def _about(self, patches: _Patches, centre: Array, radius: Array) -> Expanded:
        """The same for some boxes, each with its patch.

        Numbers of a substitution have a relative error of 2 d + 3 roundings at most: those of (c - origin)^(k - j), of
        radius^j and of two products. A sum of d + 1 products adds d + 1, and the coefficients are rounded once. All
        coefficients together are then off by no more than that many roundings (Higham, section 3.1) of the sum of
        |coefficient| (|c| + radius)^k, since sum_j binomial(k, j) |c|^(k-j) radius^j is that power. What underflows is
        less than `LOST` beside numbers up to one; larger ones are powers of |c| + radius, and coefficients.
        """
        n, local, size = len(centre), patches.table, np.abs(patches.table)
        c, r = (centre - patches.origin) / patches.unit, radius / patches.unit
        reach, total = np.abs(c) + r, size.reshape(n, -1).sum(axis=1)
        for axis, degree in enumerate(self.degrees):
            moved = _substitution(c[:, axis], r[:, axis], degree) @ local.reshape(n, degree + 1, -1)
            local = np.moveaxis(moved.reshape(n, *local.shape[1:]), 1, -1)
            powers = np.vander(reach[:, axis], degree + 1, increasing=True)
            size = (powers[:, None] @ size.reshape(n, degree + 1, -1)).reshape(n, *size.shape[2:])
        roundings = sum(3 * d + 4 for d in self.degrees) + 2
        most = (1 + total) * np.maximum(reach.max(axis=1), 1.0) ** sum(self.degrees)
        doubt = 0.6 * roundings * EPS * size + LOST * most
        return self._sorted(local.reshape(n, -1), doubt)

    def _sorted(self, local: Array, doubt: Array) -> Expanded:
        """Coefficients as quadratics and the rest."""
        quadratic = local[:, self._places] * self._factors
        sizes = np.abs(local) @ self._shares
        return Expanded(quadratic, sizes[:, 0] * (1 + (local.shape[1] + 8) * EPS) + doubt, sizes[:, 1:])

    def _numbered(self, centre: Array, radius: Array) -> Ints:
        """The patch of every box: the one that it lies in, or one for all large boxes. Any choice is a right one."""
        half = self.half / self.count
        with np.errstate(all="ignore"):
            place = np.nan_to_num((centre - self.lower) / (2 * half))
        inside = np.clip(place, 0, self.count - 1).astype(np.intp)
        key = 1 + inside @ self.count ** np.arange(self.dim)
        keys, first, which = np.unique(
            np.where((radius <= half).all(axis=1), key, 0), return_index=True, return_inverse=True
        )
        new = []
        for k, box in zip(keys.tolist(), first.tolist(), strict=True):
            if k not in self._numbers:
                middle = self.lower + (self.half if k == 0 else (2 * inside[box] + 1) * half)
                new.append(self._patch(middle, self.half if k == 0 else 2 * half))
                self._numbers[k] = len(self._numbers)
        if new:
            parts = zip(self._patches, zip(*new, strict=True), strict=True)
            self._patches = _Patches(*(np.concatenate([old, np.stack(more)]) for old, more in parts))
        numbers = np.array([self._numbers[k] for k in keys.tolist()], dtype=np.intp)
        return np.asarray(numbers[which.reshape(-1)])

    def _patch(self, middle: Array, size: Array) -> _Patches:
        """Rewrite the polynomial in whole numbers, for one patch."""
        exponent = np.clip(np.frexp(np.where(size > 0, size, 1.0))[1], -900, 900)  # far from where doubles end
        unit = np.ldexp(1.0, exponent)
        with np.errstate(over="ignore", invalid="ignore"):
            short = np.round(middle / (unit * 2.0**-6)) * (unit * 2.0**-6)
        origin = np.where(np.isfinite(short), short, middle)
        whole, below = self.whole, self.below
        for axis, degree in enumerate(self.degrees):
            moved, unmoved = _whole_substitution(float(origin[axis]), float(unit[axis]), degree)
            whole = np.moveaxis(np.tensordot(whole, moved, axes=(axis, 0)), -1, axis)
            below *= unmoved
        table = np.array([_ratio(v, below) for v in whole.ravel().tolist()]).reshape(whole.shape)
        return _Patches(origin, unit, table)

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
    def _shares(self) -> Array:
        """How much the size of a coefficient adds to the rest, and how much it says about each axis: (S, 1 + m).

        Slopes say little about where to split, since quadratics are bounded well.
        """
        degree = self._powers.sum(axis=1, keepdims=True)
        return np.concatenate([degree > 2, (self._powers > 0) * np.where(degree > 1, 1.0, 1e-3)], axis=1)


def _substitution(c: Array, r: Array, degree: int) -> Array:
    """Coefficients of (c + r d)^k by powers j of d, (N, j, k)."""
    difference, choose = _binomials(degree)
    shift, stretch = (np.vander(v, degree + 1, increasing=True) for v in (c, r))
    found: Array = shift[:, difference]
    found *= choose
    found *= stretch[:, :, None]
    return found


@cache
def _binomials(degree: int) -> tuple[Ints, Array]:
    """k - j, and how many choices there are of j out of k, (j, k); zero and none where j > k."""
    k, j = np.meshgrid(np.arange(degree + 1), np.arange(degree + 1))
    choose = [[float(comb(b, a)) for b in range(degree + 1)] for a in range(degree + 1)]
    return np.maximum(k - j, 0), np.array(choose)


@lru_cache(maxsize=128)
def _whole_substitution(origin: float, unit: float, degree: int) -> tuple[NDArray[Any], int]:
    """Coefficients of (origin + unit z)^k by powers j of z, (k, j), as whole numbers, and what to divide them by."""
    a, b = Fraction(origin), Fraction(unit)
    q = lcm(a.denominator, b.denominator)
    p, r = int(a * q), int(b * q)
    found = np.zeros((degree + 1, degree + 1), dtype=object)
    for k in range(degree + 1):
        for j in range(k + 1):
            found[k, j] = comb(k, j) * p ** (k - j) * r**j * q ** (degree - k)
    return found, q**degree


def _degrees(g: Polynomial, m: int) -> list[int]:
    """The highest power of each coordinate; at least two, so that there is a place for every quadratic."""
    return [max((e[axis] for e in g if e[axis] > 2), default=2) for axis in range(m)]


def _products(degrees: list[int]) -> int:
    """Multiplications by the substitutions along all axes."""
    return prod(d + 1 for d in degrees) * (sum(degrees) + len(degrees))


def _ratio(numerator: int, denominator: int) -> float:
    """The nearest double; nan, of which nothing is known, if it is too large."""
    try:
        return numerator / denominator
    except OverflowError:
        return np.nan
