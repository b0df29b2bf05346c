"""Rows that are affine in the index: what they are at the origin, and the slopes that are not zero."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..deadline import EFFORT, check
from ..expressions.interval import EPS, TINY, Interval, down, up
from ..expressions.slopes import Slopes
from ..expressions.triplets import moved
from ..oracles.base import Array, Ints

Mask = NDArray[np.bool_]


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
        new, entry = self._entries(component)
        n, axis, size = new // self.value.shape[1], self.axis[entry], self._size(component)
        point, reach, bend = y[n, axis], width[n, axis], np.abs(self.slope[entry])
        value = self.value[component]

        def total(terms: Array | Mask) -> Array:
            return np.asarray(np.bincount(new, terms, size), dtype=float).reshape(value.shape)

        operations = self.dim + 4
        mid = value + total(self.slope[entry] * point)
        # Where neither a slope nor y moves it, the value is the one that is known; so it is where one product makes it.
        known = self.slope_doubt[entry]
        moves = ((bend != 0) | (known > 0)) & (np.abs(point) + reach > 0)
        rounds = moves & ((known > 0) | (reach > 0) | ((bend != 1) & (np.abs(point) != 1)))
        terms = total(moves)
        single = (terms == 1) & (value == 0) & (total(rounds) == 0)
        still: Mask = (self.value_doubt[component] == 0) & ((terms == 0) | single)
        slope = known + operations * EPS * bend
        doubt = self.value_doubt[component] + operations * EPS * np.abs(value)
        doubt = (doubt + total(np.abs(point) * slope)) * (1 + operations * EPS)
        doubt = doubt + total(reach * (bend + slope)) * (1 + operations * EPS)
        doubt = doubt + 4 * operations * TINY  # of products that underflow
        return Interval(np.where(still, mid, down(mid - doubt)), np.where(still, mid, up(mid + doubt)))

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
