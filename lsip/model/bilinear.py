"""Rows that are affine in the index for every direction: sums of numbers times a coordinate of it, and of directions.

A row of T maxima over m coordinates has about T m numbers for every variable, of which a direction leaves out most.
Adding them up costs less than running through the formula of the sum, and is enclosed to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from ..deadline import EFFORT, check
from ..domains.proven import LOST_ERROR, SMALL_PRODUCT, add_down, add_up, leading_bits, two_product, two_sum
from ..expressions.directions import WorstDirection
from ..expressions.interval import EPS, Interval, down, up
from ..masters.base import Matrix, is_sparse
from ..oracles.base import Array, Ints
from .linear_form import LinearForm


@dataclass(frozen=True, eq=False)
class Terms:
    """The numbers of one row by the products that they are multiplied with, and by their places, one for each sum."""

    number: Array  # (Q,)
    doubt: Array
    product: Ints  # (Q,), which product
    at: Ints  # (Q,), which of the places
    index: Ints  # the coordinate of the index in each product; -1 for none
    direction: Ints  # (2, …), those of the direction; -1 for none
    place: Ints  # those that occur

    @staticmethod
    def of(number: Array, doubt: Array, index: Ints, direction: Ints, place: Ints) -> Terms:
        """Numbers with coordinates and places; where a place has a product twice, that counts as two products."""
        key = np.stack([place, *direction, index])
        order = np.lexsort(key)
        change = np.concatenate([[True], (np.diff(key[:, order], axis=1) != 0).any(axis=0)])[: len(order)]
        again = np.empty_like(order)
        again[order] = np.arange(len(order)) - np.maximum.accumulate(np.where(change, np.arange(len(order)), 0))
        kinds, product = np.unique(np.stack([index, *direction, again]), axis=1, return_inverse=True)
        places, at = np.unique(place, return_inverse=True)
        return Terms(number, doubt, product.ravel(), at.ravel(), kinds[0], kinds[1:3], places)

    def table(self, number: Array) -> Matrix:
        """Such numbers by products and places."""
        shape = len(self.index), len(self.place)
        if 1.5 * len(number) < shape[0] * shape[1]:  # what entries with their places take, beside entries
            return sparse.csr_matrix((number, (self.product, self.at)), shape)
        dense = np.zeros(shape)
        dense[self.product, self.at] = number
        return dense

    @cached_property
    def tables(self) -> tuple[Matrix, list[Matrix], Matrix, Matrix]:
        """The numbers: all of each, their leading bits, what is left of them, and the doubt about them."""

        def size_of(part: Array) -> Array:
            size = np.zeros(len(self.place))
            np.maximum.at(size, self.at, np.abs(part))
            return size[self.at]

        parts, left = leading_bits(self.number, size_of, len(self.index))
        return self.table(self.number), [self.table(part) for part in parts], self.table(left), self.table(self.doubt)

    def products(self, y: Array, v: Array) -> tuple[Array, Array, Array]:
        """At points (N, m) and directions (N, d): rounded, what that leaves, and in which units digits may be lost."""
        one = np.ones((len(y), 1))
        first, second = np.hstack([v, one])[:, self.direction].transpose(1, 0, 2)
        y = np.hstack([y, one])[:, self.index]
        half, left = two_product(first, second)
        product, lost = two_product(half, y)
        least = float(np.abs(self.number[self.number != 0]).min(initial=1.0))
        small = np.minimum(np.abs(product) * least, np.minimum(np.abs(half), np.abs(product))) < SMALL_PRODUCT
        return product, lost + left * y, (small & (first != 0) & (second != 0) & (y != 0)) * (1.0 + np.abs(y))


class BilinearRows:
    """Rows (p, K + 1) whose coefficients are affine in the index, and linear in the direction."""

    def __init__(self, worst: WorstDirection, form: LinearForm, rows: Ints, places: Ints) -> None:
        """Entry e belongs to row rows[e], and its numbers to places[e] there, the last of them to the last."""
        rows, width = rows.ravel(), form.value.shape[1]
        self.dim, self.width = form.dim, int(places[0, -1]) + 1
        coordinate = np.full((2, len(rows)), -1)
        for block in worst.blocks:
            coordinate[:, block.entries] = block.kind.factors(block.places)
        entry, column = np.nonzero((form.value != 0) | (form.value_doubt != 0))
        of, at = np.concatenate([entry, form.row]), np.concatenate([column, form.place % width])
        number = np.concatenate([form.value[entry, column], form.slope])
        doubt = np.concatenate([form.value_doubt[entry, column], form.slope_doubt])
        index = np.concatenate([np.full(len(entry), -1), form.axis])
        self.rows = []
        for row in range(len(worst.base)):
            mine = np.flatnonzero(rows[of] == row)
            where = places[of[mine], at[mine]]
            self.rows.append(Terms.of(number[mine], doubt[mine], index[mine], coordinate[:, of[mine]], where))

    def table(self, points: Array) -> Array:
        """All rows at points with directions behind them: shape (N, p, K + 1)."""
        p = len(self.rows)
        found = self.at(np.repeat(points, p, axis=0), np.tile(np.arange(p), len(points)))
        return found.reshape(len(points), p, self.width)

    def at(self, points: Array, component: Ints) -> Array:
        """Row `component[n]` at a point: shape (N, K + 1)."""
        found = np.zeros((len(points), self.width))
        for some, terms in self._parts(component):
            if len(terms.place):
                products = terms.products(points[some, : self.dim], points[some, self.dim :])[0]
                found[some[:, None], terms.place] = products @ terms.tables[0]
        return found

    def enclosed(self, points: Array, _: Array, component: Ints) -> Interval:
        """The same in outward-rounded arithmetic; of boxes that are points."""
        low, high = np.zeros((2, len(points), self.width))
        for some, terms in self._parts(component):
            if len(terms.place):
                found = _sums(terms, *terms.products(points[some, : self.dim], points[some, self.dim :]))
                low[some[:, None], terms.place], high[some[:, None], terms.place] = found.lo, found.hi
        return Interval(low, high)

    def _parts(self, component: Ints) -> Iterator[tuple[Ints, Terms]]:
        """Points of one row, a few at a time."""
        for row, terms in enumerate(self.rows):
            mine = np.flatnonzero(component == row)
            step = max(EFFORT.batch // max(len(terms.index), len(terms.place), 1), 1)
            for first in range(0, len(mine), step):
                check("rows")
                yield mine[first : first + step], terms


def _sums(terms: Terms, given: Array, lost: Array, small: Array) -> Interval:
    """Sums (N, places) of numbers times products, nearly to the last bit."""
    k, (whole, leading, rest, unknown) = len(terms.index), terms.tables
    with np.errstate(all="ignore"):
        parts, left = leading_bits(given, lambda part: np.abs(part).max(axis=1, keepdims=True), k)
        # All of this is so little that its own rounding hardly counts.
        remainder = (left + lost) @ whole + (given - left) @ rest
        sizes = (np.abs(left) + np.abs(lost)) @ abs(whole) + np.abs(given) @ abs(rest)
        doubt = 2 * (k + 8) * EPS * sizes + (np.abs(given) @ unknown) * (1 + 2 * (k + 8) * EPS)
        if small.any():
            doubt += 4 * LOST_ERROR * (small @ (1.0 + abs(whole).toarray() if is_sparse(whole) else 1.0 + abs(whole)))
        total, error = np.zeros((2, *doubt.shape))
        for part in (*(a @ b for a in parts for b in leading), remainder):
            total, first = two_sum(total, part)
            error, second = two_sum(error, first)
            doubt += np.abs(second)
        doubt = doubt * (1 + 64 * EPS)
        total, error = two_sum(total, error)
        exact = (doubt == 0) & (error == 0)
        low = np.where(exact, total, add_down(total, down(error - doubt)))
        high = np.where(exact, total, add_up(total, up(error + doubt)))
    return Interval(np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high))
