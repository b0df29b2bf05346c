"""Polynomials of one expression as sums of Chebyshev polynomials, with enclosures in closed form.

T_k(x) = cos(k arccos x) is bounded by 1 on [-1, 1], and computed there within a few units of k. Its derivatives at a
point are sums of Chebyshev polynomials with positive weights that add up to T_k⁽ʲ⁾(1), the product of
(k² - i²) / (2i + 1) over i < j. Over a box, a derivative differs from that at the middle by no more than the radius
times a bound of the next one:

    |T_k⁽ʲ⁾(x)| <= T_k⁽ʲ⁾(1)  on [-1, 1],  times exp(k² d) for |x| <= 1 + d

(the Taylor series at 1 has positive terms, and T_k⁽ʲ⁺¹⁾(1) <= k² T_k⁽ʲ⁾(1)), and where x keeps away from the ends, with
T_k' = k sin(k a) / sin a for x = cos a, and (1 - x²) T_k⁽ʲ⁺²⁾ = (2j + 1) x T_k⁽ʲ⁺¹⁾ - (k² - j²) T_k⁽ʲ⁾,

    |T_k'| <= k / √(1 - x²),   |T_k⁽ʲ⁺²⁾| <= ((2j + 1) |x| |T_k⁽ʲ⁺¹⁾| + k² |T_k⁽ʲ⁾|) / (1 - x²).

A chain of products T_k+1 = 2 x T_k - T_k-1 widens like (1 + √2)ᵏ instead, even at points.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from . import jets
from .defined import Doubt
from .functions import FUNCTIONS
from .graph import Expression, Pass
from .interval import EPS, Array, Interval, down, up
from .jets import Jet, Numbers

CHEBYSHEV_DEGREE = 512  # up to which coefficients of third derivatives, which add up to k^6 / 15, are whole doubles
_ARCCOS, _COS = FUNCTIONS["arccos"], FUNCTIONS["cos"]


class Derived(NamedTuple):
    """Derivatives of one order of R sums, and what they are off by when they are computed."""

    weights: Array  # (K + 1, R)
    turning: Array  # (R,), for every unit of the angle
    fixed: Array  # (R,)


class ChebyshevSums(Expression):
    """The sums `rows` (R, K + 1) @ (T_0, …, T_K) of x = (u - centre) / radius, for one element of u after another.

    Entries of `rows` may be off by one unit each.
    """

    def __init__(self, u: Expression, rows: Array, centre: float = 0.0, radius: float = 1.0) -> None:
        self.args, self.rows, self.centre, self.radius = (u,), rows, centre, radius
        self.count, degree = len(rows), rows.shape[1] - 1
        self.shape = (u.size * self.count,)
        self.degrees = np.arange(degree + 1.0)
        unit = (np.count_nonzero(rows, axis=1) == 1).all() and (rows.max(axis=1) == 1.0).all()
        self.chosen = rows.argmax(axis=1) if unit else None  # of plain Chebyshev polynomials, their degrees
        self.sizes = np.abs(rows)
        self._sums: dict[int, Derived] = {}
        # Beside rounding, |x| may exceed 1 by 16 EPS: exp(z) <= 1 + 2 z for z <= 1.
        self.ends = _ends(degree) * (1.0 + 32.0 * (degree + 1) ** 2 * EPS)

    def with_args(self, *args: Expression) -> Expression:
        return ChebyshevSums(args[0], self.rows, self.centre, self.radius)

    def forward(self, args: list[Jet[Numbers]], run: Pass) -> Jet[Numbers]:
        u = args[0]
        order = 0 if u.gradient is None else run.order
        f = self._enclosed(u.value, order) if isinstance(u.value, Interval) else self._values(u.value, order)
        if order == 0:
            return Jet(f[0])
        if u.value.shape[-1] > 1:
            each = np.repeat(np.arange(u.value.shape[-1]), self.count)
            u = jets.each(u, lambda v: v[..., each])
        third = (lambda u, v: f[3]) if order == 3 else None
        return jets.chain(u, lambda u: f[0], lambda u, v: f[1], lambda u, v: f[2], third, order)

    def doubt(self, args: list[Interval], doubts: list[Doubt], value: Interval, run: Pass) -> Doubt:
        return super().doubt(args, [np.repeat(doubts[0], self.count, axis=-1)], value, run)

    def key(self) -> tuple[Any, ...] | None:
        return None

    def places(self, row: int) -> Any:
        """Where the values of one sum stand, for every element of u."""
        return np.arange(self.args[0].size) * self.count + row

    def _derived(self, order: int) -> Derived:
        """Derivatives in x of that order, as sums of Chebyshev polynomials.

        Their weights add up to T_k⁽ʲ⁾(1). What is computed with them is off, in units of EPS, by k times the angle and
        its error; by the error of the cosine, and one for each entry of `rows`; and by the length of the sum and 4 for
        each product with a matrix, of which there are none, one or two.
        """
        if order not in self._sums:
            degree, plain = len(self.degrees) - 1, self.chosen is not None
            length = self.degrees if plain else degree  # of sums without their zeros
            roundings = (order > 0 if plain else 2.0) * (length + 4.0) + _COS.ulps + 1.0
            terms = (EPS * self.degrees * (_ARCCOS.ulps + 1.0), EPS * roundings)
            turning, fixed = (up(self.sizes @ (self.ends[order] * v), 4.0 * (degree + 4)) for v in terms)
            self._sums[order] = Derived((self.rows @ _derivatives(degree)[order]).T, turning, fixed)
        return self._sums[order]

    def _at(self, table: Array, order: int) -> Array:
        """A derivative (N, elements, R) in x, from the Chebyshev polynomials (N, elements, K + 1)."""
        if order == 0 and self.chosen is not None:
            return table[..., self.chosen]
        return table @ self._derived(order).weights

    def _bound(self, sizes: Array) -> Array:
        """An upper bound of all sums, given those (N, elements, K + 1) of Chebyshev polynomials or of derivatives."""
        if self.chosen is not None:
            return sizes[..., self.chosen]
        return (sizes @ self.sizes.T) * (1.0 + (2.0 * len(self.degrees) + 16.0) * EPS)

    def _values(self, u: Array, order: int) -> list[Array]:
        x = (u - self.centre) / self.radius
        _, table = _table(x, self.degrees)
        beyond = np.abs(x) > 1.0
        if beyond.any():
            angle = np.arccosh(np.abs(x[beyond]))[..., None] * self.degrees
            table[beyond] = np.cosh(angle) * np.where((x[beyond] < 0)[..., None] & (self.degrees % 2 == 1), -1.0, 1.0)
        found = [self._at(table, j) / self.radius**j for j in range(order + 1)]
        return [v.reshape(len(u), -1) for v in found]

    def _enclosed(self, u: Interval, order: int) -> list[Interval]:
        x = u if (self.centre, self.radius) == (0.0, 1.0) else (u - self.centre) / self.radius
        middle = np.clip(0.5 * x.lo + 0.5 * x.hi, -1.0, 1.0)
        reach = up(np.maximum(x.hi - middle, middle - x.lo), 2.0)[..., None]
        angle, table = _table(middle, self.degrees)
        sizes = [self._bound(b) for b in self._sizes(np.maximum(np.abs(x.lo), np.abs(x.hi))[..., None], order + 1)]
        found = []
        for j in range(order + 1):
            value, sums = self._at(table, j), self._derived(j)
            room = up(reach * sizes[j + 1] + angle * sums.turning + sums.fixed, 4.0)
            lo, hi = np.maximum(down(value - room), -sizes[j]), np.minimum(up(value + room), sizes[j])
            box = Interval(lo.reshape(len(middle), -1), hi.reshape(len(middle), -1))
            for _ in range(j if self.radius != 1.0 else 0):
                box = box / self.radius
            found.append(box)
        return found

    def _sizes(self, far: Array, order: int) -> list[Array]:
        """Bounds (N, elements, K + 1) of |T_k| and of its derivatives up to `order`, for |x| <= far."""
        k, ends = self.degrees, self.ends[: order + 1]
        beyond = far - 1.0
        if (beyond > 16.0 * EPS).any():
            growth = up(np.exp(up(np.square(k) * np.maximum(beyond, 0.0), 4.0)), 8.0)
            ends = ends[:, None, None, :] * growth * (1.0 + 4.0 * EPS)
        # Where the ends are reached this is infinite, and times zero undefined: the other bound counts.
        steep = up(1.0 / np.maximum(down((1.0 - far) * (1.0 + far), 3.0), 0.0), 2.0)
        sizes = [np.broadcast_to(ends[0], (*far.shape[:-1], len(k)))]
        for j in range(order):
            if j == 0:
                inner = k * np.sqrt(steep)
            else:
                inner = ((2.0 * j - 1.0) * far * sizes[j] + np.square(k) * sizes[j - 1]) * steep
            sizes.append(np.fmin(inner * (1.0 + 16.0 * EPS), ends[j + 1]))
        return sizes


def _table(x: Array, degrees: Array) -> tuple[Array, Array]:
    """The angles of |x|, and T_k of x in [-1, 1], along a new last axis; numbers beyond are moved to the ends.

    T_k(-x) = (-1)ᵏ T_k(x) keeps angles below a quarter of a turn, where they have all their digits.
    """
    angle = np.arccos(np.minimum(np.abs(x), 1.0))[..., None]
    table = np.cos(angle * degrees)
    table[..., 1::2] *= np.where(x < 0, -1.0, 1.0)[..., None]
    return angle, table


@cache
def _derivatives(degree: int) -> tuple[Array, ...]:
    """Matrices (K + 1, K + 1) whose rows are the coefficients of T_k, T_k', T_k'', T_k''': whole numbers, exact.

    T_k' = 2 k (T_k-1 + T_k-3 + …), with T_0 once only.
    """
    k = np.arange(degree + 1)
    step = np.where((k < k[:, None]) & ((k[:, None] - k) % 2 == 1), 2.0 * k[:, None], 0.0)
    step[:, 0] /= 2.0
    found = [np.eye(degree + 1)]
    for _ in range(3):
        found.append(found[-1] @ step)
    return tuple(found)


@cache
def _ends(degree: int) -> Array:
    """T_k⁽ʲ⁾(1) for j up to 4: shape (5, K + 1), rounded up."""
    k = np.arange(degree + 1.0)
    found = [np.ones(degree + 1)]
    for j in range(4):
        found.append(up(found[-1] * np.maximum(np.square(k) - j * j, 0.0) / (2 * j + 1), 4.0) * (k > j))
    return np.array(found)
