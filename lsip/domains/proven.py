"""Sums and products of floats with proven bounds, for many points at once.

Error-free transformations (Knuth's sum, Dekker's product) say exactly what an operation has rounded away. What they
leave in doubt is of second order, and nothing at all where nothing was rounded: a point on a face is seen to lie on it.
Where something overflows, bounds are nan or infinite, and prove nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ulp

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .points import FARTHEST

Array = NDArray[np.float64]

SPLIT = 134217729.0  # 2^27 + 1 cuts a double into two halves
SMALL_PRODUCT = 1e-250  # products below this may lose digits of their rounding error
LOST_ERROR = 1e-265  # more than all of that error
LOST = 1e-300  # more than products that underflow can lose
_LARGEST = float(np.finfo(float).max)


def two_sum(a: ArrayLike, b: ArrayLike) -> tuple[Array, Array]:
    """The rounded sum and its error: together exactly a + b."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """The rounded product and its error: together exactly a b, up to `LOST_ERROR` below `SMALL_PRODUCT`."""
    product = a * b
    p, q = SPLIT * a, SPLIT * b
    p, q = p - (p - a), q - (q - b)
    return product, ((p * q - product) + p * (b - q) + (a - p) * q) + (a - p) * (b - q)


def leading_bits(values: Array, size_of: Callable[[Array], Array], k: int) -> tuple[list[Array], Array]:
    """Numbers as a few parts, the leading bits first, and what is left of them.

    Parts of two such arrays have so few bits that k products of them add up without rounding, in whatever order, where
    `size_of` gives all of these the same size (Ozaki, Ogita, Oishi, Rump, Error-free transformations of matrix
    multiplication, 2012). That is work for any matrix product.
    """
    parts: list[Array] = []
    bits, most = int(np.ceil((53 + np.log2(max(k, 1))) / 2)), 4  # all bits of numbers that differ by a factor of 1000
    while len(parts) < most and values.any():
        shift = np.ldexp(1.0, np.frexp(size_of(values))[1] + bits)
        parts.append((values + shift) - shift)
        values = values - parts[-1]
    return parts, values


def add_up(a: ArrayLike, b: ArrayLike) -> Array:
    """The least float that is not below a + b."""
    total, error = two_sum(a, b)
    return np.where(error <= 0, total, np.nextafter(total, np.inf))


def add_down(a: ArrayLike, b: ArrayLike) -> Array:
    """The largest float that is not above a + b."""
    total, error = two_sum(a, b)
    return np.where(error >= 0, total, np.nextafter(total, -np.inf))


def sum_bounds(terms: Array) -> tuple[Array, Array]:
    """Lower and upper bounds of the sums of `terms` (..., n) along the last axis: the neighbouring floats, mostly."""
    with np.errstate(over="ignore", invalid="ignore"):
        if not terms.size:
            nothing = np.zeros(terms.shape[:-1])
            return nothing, nothing
        total, errors = _paired(terms)
        correction, left = _paired(errors)
        doubt = np.abs(left).sum(axis=-1) * (1 + 2.0**-51 * (terms.shape[-1] + 1))
        # Exactly, the sum is total + correction + something of size at most doubt.
        total, correction = two_sum(total, correction)
        return add_down(total, add_down(correction, -doubt)), add_up(total, add_up(correction, doubt))


def _paired(terms: Array) -> tuple[Array, Array]:
    """The sums of `terms` (..., n), added up in pairs, and the errors (..., n - 1) of all these sums."""
    errors = []
    while (n := terms.shape[-1]) > 1:
        total, error = two_sum(terms[..., : n // 2], terms[..., n // 2 : 2 * (n // 2)])
        errors.append(error)
        terms = np.concatenate([total, terms[..., 2 * (n // 2) :]], axis=-1)
    none = np.zeros((*terms.shape[:-1], 0))
    return (terms[..., 0] if n else np.zeros(terms.shape[:-1])), np.concatenate([none, *errors], axis=-1)


def dot_bounds(a: Array, b: Array) -> tuple[Array, Array]:
    """Lower and upper bounds of the sums of a b along the last axis; a and b of shapes (..., n) that fit."""
    with np.errstate(over="ignore", invalid="ignore"):
        product, error = two_product(a, b)
        lost = LOST_ERROR * ((np.abs(product) < SMALL_PRODUCT) & (a != 0) & (b != 0)).sum(axis=-1)
        lower, upper = sum_bounds(np.concatenate([product, error], axis=-1))
        return add_down(lower, -lost), add_up(upper, lost)


def raised(value: Array, size: Array, operations: float) -> Array:
    """A proven upper bound of what rounds to `value` in so many operations, whose terms add up to `size`."""
    bound: Array = value + operations * 2.0**-52 * size + operations * LOST
    return bound


@dataclass(frozen=True, eq=False)
class ScaledDirections:
    """Rows of d (N, m) times powers of two, whose largest entries lie in [1/2, 1), so that nothing overflows."""

    unit: Array  # (N, m)
    exponent: NDArray[np.intc]  # (N,)
    lost: NDArray[np.bool_]  # (N,), whether some small entry has underflowed

    @classmethod
    def of(cls, d: Array) -> ScaledDirections:
        """Scale the rows of d."""
        exponent = np.frexp(np.abs(d).max(axis=1, initial=0.0))[1]
        unit = np.ldexp(d, -exponent[:, None])
        return cls(unit, exponent, (np.ldexp(unit, exponent[:, None]) != d).any(axis=1))

    def given(self, top: Array) -> Array:
        """Upper bounds (N,) along the scaled rows, as upper bounds along the given ones; nan becomes inf."""
        missed = self.unit.shape[1] * ulp(0.0) * FARTHEST * 4
        top = np.where(np.isnan(top), np.inf, np.where(self.lost, add_up(top, missed), top))
        with np.errstate(over="ignore"):
            scaled = np.maximum(np.ldexp(top, self.exponent), -_LARGEST)
        return np.where(np.abs(scaled) < 1e-300, np.nextafter(scaled, np.inf), scaled)


def above(value: Fraction) -> float:
    """The least float that is not below a rational number."""
    rounded = float(value)
    return rounded if Fraction(rounded) >= value else float(np.nextafter(rounded, np.inf))


def pulled_in(points: Array, centre: Array, holds: Callable[[Array], NDArray[np.bool_]]) -> Array:
    """Points (N, m); those that are not proven to belong to a set are pulled towards its centre, by an ulp, two, …."""
    points = points.copy()
    todo = np.flatnonzero(~holds(points))
    start, step = points[todo] - centre, 2.0**-53
    while len(todo):
        step *= 2
        points[todo] = centre + (1 - min(step, 1.0)) * start
        left = np.zeros(len(todo), dtype=bool) if step >= 1 else ~holds(points[todo])
        todo, start = todo[left], start[left]
    return points
