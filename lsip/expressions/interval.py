"""Arrays of intervals with outward rounding: the arithmetic that turns a computation into a proof.

Every operation is done in double precision, rounded to nearest, and then moved outward by at least one unit in the
last place, so that the result contains every value that exact arithmetic could give. Powers and elementary functions
are moved outward by as many units as each of them declares. An endpoint that cannot be computed is nan, which means
"nothing is known"; whoever reads an enclosure treats it as infinite.

Constants, and derivatives that are constant, are points: intervals whose two ends are one and the same array. Sums and
products of points stay points while they round nothing, which makes them cheap; once anything rounds, they do not.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from ..domains.proven import SPLIT
from .operands import Key

Array: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
Matrix: TypeAlias = Array | sparse.csr_array

EPS = 2.0**-52
TINY = 2.0**-1074
NORMAL = 2.0**-1022  # the least number with all its digits
LARGEST = float(np.finfo(float).max)


def down(v: Array, ulps: float = 1.0) -> Array:
    """A value strictly below everything that rounds to `v` within `ulps` units in the last place."""
    v = np.minimum(v, LARGEST)  # what overflowed is at least that
    v -= _units(v, ulps)
    return v


def up(v: Array, ulps: float = 1.0) -> Array:
    """A value strictly above everything that rounds to `v` within `ulps` units in the last place."""
    v = np.maximum(v, -LARGEST)
    v += _units(v, ulps)
    return v


def _units(v: Array, ulps: float) -> Array:
    """So many units in the last place, and of the least double; in place, since large arrays cost what they move."""
    room = np.abs(v)
    room *= ulps * EPS
    room += ulps * TINY
    return room


def _sums(low: Array, high: Array) -> Interval:
    """From `low` to `high`, each a sum of two numbers that was rounded once.

    A sum that is not a normal number has lost nothing: nothing has to be added for underflow, and zero stays zero.
    """
    low, high = np.minimum(low, LARGEST), np.maximum(high, -LARGEST)
    low -= np.abs(low) * EPS
    high += np.abs(high) * EPS
    return Interval(low, high)


def widened(low: Array, high: Array, ulps: float) -> Interval:
    """From `low` to `high`, results of a function whose kernel is right to so many units.

    Results that are not normal numbers are not trusted: some kernels flush them to zero.
    """
    low, high = np.minimum(low, LARGEST), np.maximum(high, -LARGEST)
    return Interval(low - (np.abs(low) * (ulps * EPS) + NORMAL), high + (np.abs(high) * (ulps * EPS) + NORMAL))


def _exact(a: Array, b: Array | float, total: Array) -> NDArray[np.bool_]:
    """Whether a + b rounded to `total` without error (Knuth's two-sum)."""
    part = total - a
    return (a - (total - part)) + (b - part) == 0


def _exact_product(a: Array, b: Array | float, product: Array) -> NDArray[np.bool_]:
    """Whether a b rounded to `product` without error (Dekker's product); says no where the test itself could round."""
    p, q = SPLIT * a, SPLIT * b
    p, q = p - (p - a), q - (q - b)
    error = ((p * q - product) + p * (b - q) + (a - p) * q) + (a - p) * (b - q)
    return (error == 0) & (np.abs(product) > 1e-250) | (a == 0) | (b == 0)


def _outward(v: Array, exact: NDArray[np.bool_]) -> Interval:
    """A rounded result: a point where nothing was lost."""
    return Interval(v, v) if exact.all() else Interval(np.where(exact, v, down(v)), np.where(exact, v, up(v)))


def _hull(products: tuple[Array, ...], factors: tuple[tuple[Array, Array | float], ...]) -> Interval:
    """From the least to the largest product of ends, outward; nothing is known where one of the ends is not."""
    lo, hi = np.minimum(*products[:2]), np.maximum(*products[:2])
    for part in products[2:]:
        np.minimum(lo, part, out=lo)
        np.maximum(hi, part, out=hi)
    if np.isnan(lo).any():
        known = reduce(np.logical_and, (~np.isnan(end) for pair in factors for end in pair))
        # fmin and fmax pass over the nan of 0 * inf, which stands for 0 here.
        lo = np.where(known, reduce(np.fmin, products), np.nan)
        hi = np.where(known, reduce(np.fmax, products), np.nan)
    if lo.all() and hi.all():
        return Interval(down(lo), up(hi))
    # A factor that is zero, and no product that underflowed, makes an end of zero exactly.
    lost = reduce(np.logical_or, ((p == 0) & (a != 0) & (b != 0) for p, (a, b) in zip(products, factors, strict=True)))
    return Interval(np.where((lo == 0) & ~lost, lo, down(lo)), np.where((hi == 0) & ~lost, hi, up(hi)))


class Interval:
    """An array of closed intervals [lo, hi]; immutable, and closed under the operations an expression needs."""

    __slots__ = ("hi", "lo")
    __array_ufunc__ = None  # NumPy arrays on the left defer to the reflected operators below

    def __init__(self, lo: Array, hi: Array) -> None:
        self.lo = lo
        self.hi = hi

    @classmethod
    def point(cls, value: ArrayLike) -> Interval:
        """The interval that holds exactly the given floats."""
        v = np.asarray(value, dtype=float)
        return cls(v, v)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.lo.shape

    @property
    def exact(self) -> bool:
        """Whether these are points: both ends one array."""
        return self.lo is self.hi

    def each(self, operation: Callable[[Array], Array]) -> Interval:
        """Move the elements of both ends alike."""
        lo = operation(self.lo)
        return Interval(lo, lo if self.exact else operation(self.hi))

    def __getitem__(self, key: Key) -> Interval:
        return self.each(lambda v: v[key])

    def reshape(self, *shape: int) -> Interval:
        return self.each(lambda v: v.reshape(*shape))

    def __neg__(self) -> Interval:
        if self.exact:
            return self.each(np.negative)
        return Interval(-self.hi, -self.lo)

    def __add__(self, other: Interval | Array | float) -> Interval:
        if isinstance(other, Interval):
            if not (self.exact or other.exact):
                return _sums(self.lo + other.lo, self.hi + other.hi)
            self, other = (self, other.lo) if other.exact else (other, self.lo)
        # A sum with a constant that rounds nothing stays exact: the ends of a box then meet a kink such as |y - 1/2|
        # sharply.
        lo = self.lo + other
        if self.exact:
            return _outward(lo, _exact(self.lo, other, lo))
        hi = self.hi + other
        return Interval(
            np.where(_exact(self.lo, other, lo), lo, down(lo)), np.where(_exact(self.hi, other, hi), hi, up(hi))
        )

    __radd__ = __add__

    def __sub__(self, other: Interval | Array | float) -> Interval:
        if isinstance(other, Interval):
            return _sums(self.lo - other.hi, self.hi - other.lo)
        return _sums(self.lo - other, self.hi - other)

    def __rsub__(self, other: Array | float) -> Interval:
        return _sums(other - self.hi, other - self.lo)

    def __mul__(self, other: Interval | Array | float) -> Interval:
        if isinstance(other, Interval):
            if not (self.exact or other.exact):
                p, q = self.lo * other.lo, self.lo * other.hi
                r, s = self.hi * other.lo, self.hi * other.hi
                a, b, c, d = self.lo, self.hi, other.lo, other.hi
                return _hull((p, q, r, s), ((a, c), (a, d), (b, c), (b, d)))
            self, other = (self, other.lo) if other.exact else (other, self.lo)
        p = self.lo * other
        if self.exact:
            return _outward(p, _exact_product(self.lo, other, p))
        return _hull((p, self.hi * other), ((self.lo, other), (self.hi, other)))

    __rmul__ = __mul__

    def __truediv__(self, other: Interval | Array | float) -> Interval:
        if isinstance(other, Interval) and not other.exact:
            return self * reciprocal(other)
        divisor = other.lo if isinstance(other, Interval) else other
        p, q = self.lo / divisor, self.hi / divisor
        return Interval(down(np.minimum(p, q)), up(np.maximum(p, q)))  # a division by zero leaves nan or infinities

    def __rtruediv__(self, other: Array | float) -> Interval:
        return reciprocal(self) * other

    def square(self) -> Interval:
        """The range of v * v, which is never negative."""
        if self.exact:
            return self * self
        low, high = magnitudes(self)
        return Interval(np.maximum(down(low * low), 0.0), up(high * high))

    def sum(self) -> Interval:
        """The sum over the last axis."""
        k = self.lo.shape[-1]
        if self.exact and (k == 1 or _whole(self.lo)):
            return self.each(lambda v: v.sum(-1))
        slack = k * EPS * np.maximum(np.abs(self.lo), np.abs(self.hi)).sum(-1) + k * TINY
        low = self.lo.sum(-1) - slack
        # A sum of squares is nowhere negative, also where all of them vanish: a norm is defined there.
        low = np.where((self.lo >= 0).all(-1), np.maximum(low, 0.0), low)
        return Interval(low, self.hi.sum(-1) + slack)

    def linear(self, matrix: Matrix) -> Interval:
        """`matrix` (r, k) applied to the last axis: midpoint, radius, and the a-priori error of both products."""
        if self.exact:
            return _weighted_sums(matrix, self.lo)
        mid = 0.5 * self.lo + 0.5 * self.hi
        rad = up(np.maximum(self.hi - mid, mid - self.lo))
        size, k = abs(matrix), matrix.shape[1]
        centre = apply_matrix(matrix, mid)
        slack = apply_matrix(size, rad) + (k + 4) * EPS * apply_matrix(size, np.abs(mid) + rad) + k * TINY
        low = down(centre - slack, 2.0)
        if (self.lo >= 0).all() and not (_entries(matrix) < 0).any():  # as that of a sum of squares
            low = np.maximum(low, 0.0)
        return Interval(low, up(centre + slack, 2.0))


def _entries(matrix: Matrix) -> Array:
    return matrix if isinstance(matrix, np.ndarray) else matrix.data


def _weighted_sums(matrix: Matrix, v: Array) -> Interval:
    """`matrix` (r, k) applied to points: sums in which nothing can have been rounded are points again.

    Nothing is, where all terms are whole numbers, or where at most one term is not zero, one of whose factors is 1 or
    -1. A coefficient that is zero for every index stays zero then, and needs no multiplier to balance it.
    """
    size = apply_matrix(abs(matrix), np.abs(v))
    terms = _pairs(matrix, v, _used, _used)
    simple = (terms <= 1) & (_pairs(matrix, v, _scales, _scales) == 0)
    broken = _pairs(matrix, v, _used, _broken) + _pairs(matrix, v, _broken, _used)
    value = apply_matrix(matrix, v)
    exact = (simple | ((broken == 0) & (size < 2.0**52))) & np.isfinite(value)
    if exact.all():
        return Interval(value, value)
    slack = np.where(exact, 0.0, (terms + 4) * EPS * size + terms * TINY)
    return Interval(np.where(exact, value, down(value - slack, 2.0)), np.where(exact, value, up(value + slack, 2.0)))


def _pairs(matrix: Matrix, v: Array, left: Callable[[Array], Bools], right: Callable[[Array], Bools]) -> Array:
    """How many products of a row and v have a left factor and a right one of these kinds."""
    if not isinstance(matrix, np.ndarray):
        marked = sparse.csr_array((left(matrix.data).astype(float), matrix.indices, matrix.indptr), shape=matrix.shape)
        return apply_matrix(marked, right(v).astype(float))
    return apply_matrix(left(matrix).astype(float), right(v).astype(float))


def _used(v: Array) -> Bools:
    return v != 0


def _scales(v: Array) -> Bools:
    return (v != 0) & (np.abs(v) != 1)


def _broken(v: Array) -> Bools:
    return v != np.rint(v)


def _whole(v: Array) -> bool:
    """Whether these are whole numbers that add up without rounding."""
    return bool((v == np.rint(v)).all() and np.abs(v).sum() < 2.0**52)


def apply_matrix(matrix: Matrix, v: Array) -> Array:
    """`matrix` (r, k), dense or sparse, applied to the last axis of `v`."""
    flat = v.reshape(-1, v.shape[-1])
    return np.asarray((matrix @ flat.T).T).reshape(*v.shape[:-1], matrix.shape[0])


def magnitudes(u: Interval) -> tuple[Array, Array]:
    """The smallest and largest absolute value in each interval."""
    a, b = np.abs(u.lo), np.abs(u.hi)
    return np.where((u.lo <= 0) & (u.hi >= 0), 0.0, np.minimum(a, b)), np.maximum(a, b)


def reciprocal(u: Interval) -> Interval:
    """1 / u; unbounded on the side on which u touches 0, and everywhere if u has 0 inside."""
    positive, negative = u.lo >= 0, u.hi <= 0
    lo = np.where(positive | negative, down(1.0 / u.hi), -np.inf)
    hi = np.where(positive | negative, up(1.0 / u.lo), np.inf)
    # An endpoint 0 is approached from inside, whatever its sign bit says.
    hi = np.where(positive & (u.lo == 0), np.inf, hi)
    lo = np.where(negative & (u.hi == 0), -np.inf, lo)
    return Interval(lo, hi)


def absolute(u: Interval) -> Interval:
    return Interval(*magnitudes(u))
