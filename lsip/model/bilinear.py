"""Rows that are affine in the index for every direction: sums of numbers times a coordinate of each.

A row of T maxima over m coordinates has about T m numbers for every variable, of which a direction leaves out most.
Adding them up costs less than running through the formula of the sum, and is enclosed to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..deadline import EFFORT, check
from ..domains.proven import LOST_ERROR, SMALL_PRODUCT, add_down, add_up, two_product, two_sum
from ..expressions.directions import WorstDirection
from ..expressions.interval import EPS, Interval, down, up
from ..oracles.base import Array, Ints
from .linear_form import LinearForm


@dataclass(frozen=True, eq=False)
class Terms:
    """The numbers of one row, ordered by their places in it, and the coordinates that they are multiplied with."""

    number: Array  # (Q,)
    doubt: Array
    index: Ints  # the coordinate of the index; -1 for none
    direction: Ints  # that of the direction; -1 for none
    place: Ints  # those that occur, one for each sum
    start: Ints  # where the terms of each sum begin
    count: Ints  # how many they are

    def factors(self, y: Array, v: Array) -> tuple[Array, Array]:
        """What each term is multiplied with at points (N, m) and directions (N, d)."""
        one = np.ones((len(y), 1))
        return np.hstack([y, one])[:, self.index], np.hstack([v, one])[:, self.direction]


class BilinearRows:
    """Rows (p, K + 1) whose coefficients are affine in the index, and linear in the direction."""

    def __init__(self, worst: WorstDirection, form: LinearForm, rows: Ints, places: Ints) -> None:
        """Entry e belongs to row rows[e], and its numbers to places[e] there, the last of them to the last."""
        rows, width = rows.ravel(), form.value.shape[1]
        self.dim, self.width = form.dim, int(places[0, -1]) + 1
        coordinate = np.full(len(rows), -1)
        for block in worst.blocks:
            coordinate[block.entries] = block.places
        entry, column = np.nonzero((form.value != 0) | (form.value_doubt != 0))
        of, at = np.concatenate([entry, form.row]), np.concatenate([column, form.place % width])
        number = np.concatenate([form.value[entry, column], form.slope])
        doubt = np.concatenate([form.value_doubt[entry, column], form.slope_doubt])
        index = np.concatenate([np.full(len(entry), -1), form.axis])
        self.rows = []
        for row in range(len(worst.base)):
            mine = np.flatnonzero(rows[of] == row)
            where = places[of[mine], at[mine]]
            order = np.argsort(where, kind="stable")
            mine, (place, start, count) = mine[order], np.unique(where[order], return_index=True, return_counts=True)
            self.rows.append(Terms(number[mine], doubt[mine], index[mine], coordinate[of[mine]], place, start, count))

    def table(self, points: Array) -> Array:
        """All rows at points with directions behind them: shape (N, p, K + 1)."""
        p = len(self.rows)
        found = self.at(np.repeat(points, p, axis=0), np.tile(np.arange(p), len(points)))
        return found.reshape(len(points), p, self.width)

    def at(self, points: Array, component: Ints) -> Array:
        """Row `component[n]` at a point: shape (N, K + 1)."""
        found = np.zeros((len(points), self.width))
        for some, terms in self._parts(component):
            y, v = terms.factors(points[some, : self.dim], points[some, self.dim :])
            if len(terms.start):
                found[some[:, None], terms.place] = np.add.reduceat(terms.number * v * y, terms.start, axis=1)
        return found

    def enclosed(self, points: Array, _: Array, component: Ints) -> Interval:
        """The same in outward-rounded arithmetic; of boxes that are points."""
        low, high = np.zeros((2, len(points), self.width))
        for some, terms in self._parts(component):
            y, v = terms.factors(points[some, : self.dim], points[some, self.dim :])
            if len(terms.start):
                found = _sums(terms, y, v)
                low[some[:, None], terms.place], high[some[:, None], terms.place] = found.lo, found.hi
        return Interval(low, high)

    def _parts(self, component: Ints) -> Iterator[tuple[Ints, Terms]]:
        """Points of one row, a few at a time."""
        for row, terms in enumerate(self.rows):
            mine = np.flatnonzero(component == row)
            step = max(EFFORT.batch // max(len(terms.number), 1), 1)
            for first in range(0, len(mine), step):
                check("rows")
                yield mine[first : first + step], terms


def _sums(terms: Terms, y: Array, v: Array) -> Interval:
    """Sums (N, places) of products with two factors, each as a double, what is left of it, and a doubt."""
    with np.errstate(all="ignore"):
        half, first = two_product(np.broadcast_to(terms.number, v.shape), v)
        product, second = two_product(half, y)
        left = second + first * y
        size = np.abs(y * v)
        small = ((np.abs(product) < SMALL_PRODUCT) | (np.abs(half) < SMALL_PRODUCT)) & (product != 0)
        unsure = 4 * EPS * (np.abs(second) + np.abs(first * y)) + terms.doubt * size * (1 + 4 * EPS)
        vanished = (product == 0) & (terms.number != 0) & (v != 0) & (y != 0)
        unsure += 4 * LOST_ERROR * (1 + np.abs(y)) * (small | vanished)
        total, rest, doubt = (part[:, terms.start].copy() for part in (product, left, unsure))
        for k in range(1, int(terms.count.max())):
            some: NDArray[np.intp] = np.flatnonzero(terms.count > k)
            at = terms.start[some] + k
            total[:, some], error = two_sum(total[:, some], product[:, at])
            for part in (error, left[:, at]):
                rest[:, some], lost = two_sum(rest[:, some], part)
                doubt[:, some] += np.abs(lost)
            doubt[:, some] += unsure[:, at]
        doubt = doubt * (1 + 8 * EPS * (terms.count + 1))
        total, error = two_sum(total, rest)
        exact = (doubt == 0) & (error == 0)
        low = np.where(exact, total, add_down(total, down(error - doubt)))
        high = np.where(exact, total, add_up(total, up(error + doubt)))
    return Interval(np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high))
