"""Rows that are affine in the index: what they are at the origin, and the slopes that are not zero."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..deadline import EFFORT, check
from ..expressions.interval import EPS, NORMAL, TINY, Interval, down, up
from ..expressions.slopes import Slopes
from ..expressions.triplets import moved
from ..oracles.base import Array, Ints

Mask = NDArray[np.bool_]


class Sums(NamedTuple):
    """What slopes add to rows over boxes, (N, K + 1) each."""

    moved: Array  # at the middles
    terms: Array  # how many products are not zero
    doubt: Array  # what is not known of the products
    swing: Array  # how far they go within the boxes
    rounds: Array  # how many of them round


@dataclass(frozen=True, eq=False)
class LinearForm:
    """p rows with K coefficients and the rhs as last column: value + slope · y, each known up to a doubt."""

    value: Array  # (p, K + 1)
    value_doubt: Array  # (p, K + 1)
    place: Ints  # of the slopes, in the flattened (p, K + 1), sorted
    axis: Ints
    slope: Array
    slope_doubt: Array
    dim: int  # m

    @staticmethod
    def of(found: Slopes, places: Ints, shape: tuple[int, int], dim: int) -> LinearForm:
        """Numbers at their places in the flattened rows; all others are zero."""
        value, value_doubt = np.zeros(shape), np.zeros(shape)
        value.ravel()[places], value_doubt.ravel()[places] = _middles(found.value)
        slope, doubt = _middles(found.slope)
        place = places[found.row]
        order = np.argsort(place, kind="stable")
        return LinearForm(value, value_doubt, place[order], found.axis[order], slope[order], doubt[order], dim)

    @property
    def exact(self) -> bool:
        """Whether nothing of it is in doubt."""
        return not (self.value_doubt.any() or self.slope_doubt.any())

    @property
    def row(self) -> Ints:
        """The rows that the slopes belong to."""
        return self.place // self.value.shape[1]

    def table(self, y: Array) -> Array:
        """All rows at the points y (N, m): shape (N, p, K + 1)."""
        slopes = sparse.csr_array((self.slope, (self.place, self.axis)), shape=(self.value.size, self.dim))
        return self.value + (slopes @ y.T).T.reshape(len(y), *self.value.shape)

    def largest(self, y: Array) -> Array:
        """The largest sizes of all numbers at the points y (N, m): shape (p, K + 1)."""
        found = np.abs(self.value)
        places, inverse = np.unique(self.place, return_inverse=True)
        slopes = sparse.csr_array((self.slope, (inverse, self.axis)), shape=(len(places), self.dim))
        found.ravel()[places] = np.abs(self.value.ravel()[places, None] + slopes @ y.T).max(axis=1)
        return found

    def slopes(self, component: Ints) -> Array:
        """The slopes of rows: shape (m, N, K + 1)."""
        found = np.zeros((self.dim, len(component), self.value.shape[1]))
        new, entry = self._entries(component)
        found[self.axis[entry], new // self.value.shape[1], new % self.value.shape[1]] = self.slope[entry]
        return found

    def at(self, y: Array, component: Ints) -> Array:
        """Row `component[n]` at the point y[n]: shape (N, K + 1)."""
        parts = []
        for some in self._blocks(len(y)):
            new, entry = self._entries(component[some])
            n = new // self.value.shape[1]
            moves = np.bincount(new, self.slope[entry] * y[some][n, self.axis[entry]], self._size(component[some]))
            parts.append(self.value[component[some]] + moves.reshape(-1, self.value.shape[1]))
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def by_axis(self, component: Ints) -> tuple[Ints, Ints, tuple[Ints, Ints]]:
        """The pairs of a row and an axis along which it has slopes: which of the rows, which axis, and the slopes.

        Of the slopes, the pair that each belongs to, and which it is.
        """
        new, entry = self._entries(component)
        pair, inverse = np.unique((new // self.value.shape[1]) * self.dim + self.axis[entry], return_inverse=True)
        return pair // self.dim, pair % self.dim, (inverse, entry)

    def _entries(self, component: Ints) -> tuple[Ints, Ints]:
        """The slopes of rows: their places in the flattened (N, K + 1), and which they are."""
        width = self.value.shape[1]
        new, entry = moved(self.row, len(self.value), component)
        return new * width + self.place[entry] % width, entry

    def _size(self, component: Ints) -> int:
        return len(component) * self.value.shape[1]

    def _blocks(self, count: int) -> Iterator[slice]:
        """Points a few at a time, so that no table becomes large; raises `OutOfTime` at the deadline."""
        size = max(EFFORT.batch // self.value.shape[1], 1)
        for start in range(0, max(count, 1), size):
            check("rows")
            yield slice(start, start + size)

    def enclosed(self, lower: Array, upper: Array, component: Ints) -> Interval:
        """The same over the boxes [lower[n], upper[n]], outward rounded; exact where nothing is rounded."""
        parts = [self._enclosed(lower[s], upper[s], component[s]) for s in self._blocks(len(lower))]
        if len(parts) == 1:
            return parts[0]
        return Interval(np.concatenate([p.lo for p in parts]), np.concatenate([p.hi for p in parts]))

    def _enclosed(self, lower: Array, upper: Array, component: Ints) -> Interval:
        y = np.clip(0.5 * lower + 0.5 * upper, lower, upper)
        width = up(np.maximum(upper - y, y - lower)) * (upper > lower)
        value, value_doubt = self.value[component], self.value_doubt[component]
        sums = self._summed(y, width, component)
        operations = self.dim + 4
        mid = value + sums.moved
        # Where neither a slope nor y moves it, the value is the one that is known; so it is where one product makes it.
        single = (sums.terms == 1) & (value == 0) & (sums.rounds == 0)
        still: Mask = (value_doubt == 0) & ((sums.terms == 0) | single)
        doubt = value_doubt + operations * EPS * np.abs(value)
        doubt = (doubt + sums.doubt) * (1 + operations * EPS)
        doubt = doubt + sums.swing * (1 + operations * EPS)
        doubt = doubt + 4 * operations * TINY  # of products that underflow
        return Interval(np.where(still, mid, down(mid - doubt)), np.where(still, mid, up(mid + doubt)))

    def _summed(self, y: Array, width: Array, component: Ints) -> Sums:
        """What slopes add to row `component[n]` over the box of that half-width around y[n], (N, K + 1) each.

        Where a row is asked at many points, that is a product of matrices; elsewhere its entries are written out.
        """
        known, bend, operations = self.slope_doubt, np.abs(self.slope), self.dim + 4
        slope = known + operations * EPS * bend
        there, odd = (bend != 0) | (known > 0), bend != 1
        point, still = np.abs(y), width == 0
        moving = (point > 0) | ~still
        # Pairs of factors: of a slope, and of a coordinate.
        moved, terms, doubt, swing = (self.slope, y), (there, moving), (slope, point), (bend + slope, width)
        rounds = (
            (there & (known > 0), moving),
            (there & (known == 0), ~still),
            (there & (known == 0) & odd, moving & still & (point != 1)),
        )
        total = self._products(component)
        first, *others = (total(*pair) for pair in rounds)
        return Sums(total(*moved), total(*terms), total(*doubt), total(*swing), sum(others, first))

    def _products(self, component: Ints) -> Callable[[Array | Mask, Array | Mask], Array]:
        """What adds up slopes, or what stands for them, times coordinates (N, m) in row `component[n]`: (N, K + 1)."""
        width, places = self.value.shape[1], np.unique(component)
        if len(component) < 8 * len(places):  # matrices of so few columns are no faster than their entries
            new, entry = self._entries(component)
            n, axis = new // width, self.axis[entry]

            def each(slope: Array | Mask, point: Array | Mask) -> Array:
                terms = slope[entry] * point[n, axis]
                return np.asarray(np.bincount(new, terms, self._size(component)), dtype=float).reshape(-1, width)

            return each
        rows = [(np.flatnonzero(component == c), slice(*np.searchsorted(self.row, [c, c + 1]))) for c in places]

        def together(slope: Array | Mask, point: Array | Mask) -> Array:
            found = np.zeros((len(component), width))
            for mine, entry in rows:
                at = self.place[entry] % width, self.axis[entry]
                matrix = sparse.csr_array((slope[entry].astype(float), at), shape=(width, self.dim))
                found[mine] = (matrix @ point[mine].T.astype(float)).T
            return found

        return together

    def weighted(self, w: Array) -> tuple[Array, Array, Array, Array]:
        """The rows times weights w (p, K + 1), as v + d · y: v (p,) and its doubt, d (p, m) and its doubt."""
        size, flat = np.abs(w), w.ravel()[self.place]
        constant = _sums(self.value, self.value_doubt, w, size)
        operations = w.shape[1] + 4
        group = self.row * self.dim + self.axis

        def total(terms: Array | Mask) -> Array:
            return np.asarray(np.bincount(group, terms, len(w) * self.dim), dtype=float).reshape(len(w), self.dim)

        largest, weight = np.abs(self.slope), np.abs(flat)
        lost = total(((largest > 0) | (self.slope_doubt > 0)) & (weight > 0)) > 0
        doubt = total((self.slope_doubt + operations * EPS * largest) * weight) * (1 + operations * EPS)
        return *constant, total(self.slope * flat), doubt + 4 * operations * TINY * lost

    def swing(self, reach: Array, spread: Array) -> Array:
        """How far rows (p,) move with weights within `spread`, at most: the largest coefficients where |y| <= reach."""
        largest = np.abs(self.value) + self.value_doubt + 2 * self.dim * TINY
        np.add.at(largest.ravel(), self.place, reach[self.axis] * (np.abs(self.slope) + self.slope_doubt))
        operations = spread.shape[1] + self.dim + 8
        swing = (largest * spread).sum(axis=-1) * (1 + operations * EPS) + operations * TINY
        return np.where(spread.any(axis=-1), swing, 0.0)

    def fractions(self, w: Array, row: int) -> tuple[Fraction, list[Fraction]] | None:
        """A row times weights w (K + 1,), as v + d · y, in rational numbers; None where something of it is in doubt."""
        mine = np.flatnonzero(self.row == row)
        if self.value_doubt[row].any() or self.slope_doubt[mine].any():
            return None
        weights = [Fraction(v) for v in w.tolist()]
        constant = sum(
            (Fraction(a) * b for a, b in zip(self.value[row].tolist(), weights, strict=True) if a and b), Fraction()
        )
        slopes = [Fraction()] * self.dim
        for i in mine.tolist():
            slopes[int(self.axis[i])] += Fraction(float(self.slope[i])) * weights[int(self.place[i]) % len(weights)]
        return constant, slopes


def _middles(ends: Interval) -> tuple[Array, Array]:
    """Numbers in the middle of intervals, and how far from these the ends are."""
    mid = 0.5 * (ends.lo + ends.hi)
    return mid, up(np.maximum(ends.hi - mid, mid - ends.lo), 2.0) * (ends.hi > ends.lo)


def _sums(mid: Array, doubt: Array, w: Array, size: Array) -> tuple[Array, Array]:
    """Sums of numbers (p, K + 1) known up to `doubt`, times the weights (p, K + 1), and what is not known of them.

    Half a unit in the last place for every product and every sum, and as much again for the sums of doubts themselves.
    Products that are not zero may underflow.
    """
    operations = w.shape[1] + 4
    largest = np.abs(mid)
    lost = operations * TINY * (((largest > 0) | (doubt > 0)) & (size > 0)).any(axis=-1)
    known = ((doubt + operations * EPS * largest) * size).sum(axis=-1) * (1 + operations * EPS)
    return (mid * w).sum(axis=-1), known + 4 * lost


def in_units(form: LinearForm | None, factors: Array) -> LinearForm | None:
    """The numbers of rows times factors; what underflows is doubt. None if something overflows."""
    if form is None:
        return None
    own = factors.ravel()[form.place]
    with np.errstate(over="ignore", under="ignore"):
        value, slope = form.value * factors, form.slope * own
        found = replace(
            form,
            value=value,
            value_doubt=_doubt(form.value_doubt, value, form.value, factors),
            slope=slope,
            slope_doubt=_doubt(form.slope_doubt, slope, form.slope, own),
        )
    numbers = (found.value, found.value_doubt, found.slope, found.slope_doubt)
    return found if all(np.isfinite(part).all() for part in numbers) else None


def _doubt(doubt: Array, scaled: Array, given: Array, factors: Array) -> Array:
    """The doubt about scaled numbers: that about the given ones, and what underflow may have taken of either."""
    lost = (doubt > 0) | (scaled / factors != given)
    return np.where(lost, np.nextafter(doubt * factors, np.inf) + TINY, 0.0)


def multiplied(u: Interval, factor: Array | float) -> Interval:
    """Intervals times factors; what underflows is rounded outward."""
    lo, hi = u.lo * factor, u.hi * factor
    lost = lo / factor != u.lo, hi / factor != u.hi
    if u.exact and not lost[0].any():
        return Interval(lo, lo)
    lo = np.where(lost[0] & (np.abs(lo) < NORMAL), np.nextafter(lo, -np.inf), lo)
    hi = np.where(lost[1] & (np.abs(hi) < NORMAL), np.nextafter(hi, np.inf), hi)
    large = np.finfo(float).max  # what overflows is larger than every double, and no more is known of it
    lo = np.where((lo == np.inf) & (u.lo < np.inf), large, lo)
    return Interval(lo, np.where((hi == -np.inf) & (u.hi > -np.inf), -large, hi))
