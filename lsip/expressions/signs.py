"""Where index expressions are proven to be nonnegative over an index set, also where they touch zero.

A square root needs an argument that is nowhere negative, and a density is such a function. Boxes are halved until the
enclosures of an expression reach below zero on none of them. At a point where it is zero, enclosures are rounded to
below zero however small the box. There, three exact arguments help: an expression that is monotone on a box is least at
a corner; a polynomial is at least its smallest Bernstein coefficient, which is a rational number; and a polynomial that
is a multiple of an inequality of the set, or of the product of two, is nonnegative because the set is where these hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations, pairwise
from math import comb, prod
from typing import NamedTuple, cast

import numpy as np

from ..deadline import EFFORT
from ..domains import Cell
from .boxes import Bools, Halving, search_boxes
from .chart import CellChart
from .graph import Expression, Index, as_expression
from .interval import Array
from .operands import Ints
from .parameter import Values
from .polynomials import Polynomials
from .ring import Polynomial, affine, power_of, product, ratio, substituted
from .tape import Tape


class Open(NamedTuple):
    """A box of index points on which an expression is not proven to be nonnegative; a point, where it is negative."""

    lower: Array  # (m,)
    upper: Array

    @property
    def negative(self) -> bool:
        """Whether it is a point, at which the expression is proven to be negative."""
        return bool((self.lower == self.upper).all())

    def at(self, coordinates: Sequence[str]) -> str:
        """The place in words: t = 0.5, or 0.4 ≤ t ≤ 0.6."""
        each = zip(coordinates, self.lower.tolist(), self.upper.tolist(), strict=True)
        return ", ".join(f"{c} = {a:.6g}" if a == b else f"{a:.6g} ≤ {c} ≤ {b:.6g}" for c, a, b in each)


@dataclass(frozen=True, eq=False)
class GuardedCell:
    """A cell of an index set, and what is known to be nonnegative there besides: conditions of np.where."""

    cell: Cell
    indices: tuple[Index, ...]
    values: Values | None = None
    guards: tuple[Expression, ...] = ()

    def open_box(self, formula: Expression) -> Open | None:
        """None if all elements of the formula are proven to be nonnegative, where all guards are."""
        return _SignSearch(self, CellChart(self.cell, self.indices), formula).run()


class _SignSearch(Halving):
    """The boxes of a cell on which some element of a formula may be negative."""

    what = "signs"

    def __init__(self, part: GuardedCell, chart: CellChart, formula: Expression) -> None:
        cell = part.cell
        super().__init__(cell.lower, cell.upper)
        self.chart, self.size, self.found = chart, formula.size, cast("Open | None", None)
        inside = () if cell.inside is None else (as_expression(cell.inside(chart.coordinates)),)
        self.guards = [g.size for g in part.guards]
        self.cuts = sum(e.size for e in inside)
        outputs = (formula, *part.guards, *inside)
        self.tape = self._tape(outputs, part.values)
        self.alone = self._tape((formula,), part.values)
        own = Polynomials.of(self.alone)
        self.polynomials = None if own is None else own.rational
        self.settled = np.zeros(self.size, dtype=bool)  # nonnegative because the set is where that holds
        known_cuts: list[tuple[bool, list[Polynomial]]] = []
        for e in (*part.guards, *inside) if own is not None else ():
            known = Polynomials.of(self._tape((e,), part.values))
            cuts = [] if known is None else known.rational
            # A guard of an element says nothing about the others.
            each = any(e is g for g in part.guards) and e.size == self.size
            known_cuts += [(each, cuts)]
        for k, p in enumerate(self.polynomials or ()):
            mine = [q for each, cuts in known_cuts for q in (cuts[k : k + 1] if each else cuts)]
            products = (product(q, r) for q, r in combinations(mine[:12], 2))  # products of two
            self.settled[k] = any((ratio(p, q) or 0) > 0 for q in chain(mine, products))

    def _tape(self, outputs: tuple[Expression, ...], values: Values | None) -> Tape:
        return Tape(outputs, self.chart.indices, self.chart.instead or None, values)

    def run(self) -> Open | None:
        """None if nothing is negative."""
        search_boxes(self)
        return self.found

    def open_boxes(self) -> Ints | None:
        left = self._left(self.lower, self.upper)
        kept = left.any(axis=1)
        self.keep(kept)
        self.keep(self._sharper(self.lower, self.upper, left[kept]))
        centre = self.middle
        negative = self._negative(centre)
        if negative.any():
            point = self.chart.points(centre[negative][:1])[0]
            self.found = Open(point, point)
            return None
        small = ((self.upper - self.lower) <= 2.0**-30 * self.width).all(axis=1)  # not halved any further
        if len(self.lower) and (small.any() or len(self.lower) > EFFORT.boxes):
            first = [int(np.argmax(small))]
            found = self.chart.enclosed(self.lower[first], self.upper[first])
            self.found = Open(found[0][0], found[1][0])
            return None
        return self.all

    def _parts(self, lower: Array, upper: Array) -> tuple[Array, Array, list[tuple[Array, Array]], Array]:
        """Ends of the formula (N, size), of the guards, and the upper ends of what is nonnegative on the set."""
        with np.errstate(all="ignore"):
            found = self.tape.enclose(lower, upper)
        ends = np.cumsum([self.size, *self.guards])
        guards = [(found.lo[:, a:b], found.hi[:, a:b]) for a, b in pairwise(ends.tolist())]
        return found.lo[:, : self.size], found.hi[:, : self.size], guards, found.hi[:, ends[-1] :]

    def _left(self, lower: Array, upper: Array) -> Bools:
        """Which elements may be negative on which boxes (N, size), somewhere on the set and where the guards hold."""
        low, _, guards, cuts = self._parts(lower, upper)
        left = ~(low >= 0) & ~self.settled
        left &= ~(cuts < 0).any(axis=1, keepdims=True)
        for _, high in guards:
            left &= ~(high < 0)
        return np.asarray(left)

    def _sharper(self, lower: Array, upper: Array, left: Bools) -> Bools:
        """Which boxes (N,) are left, where elements that are monotone or polynomials are looked at again."""
        left = left.copy()
        coefficients = sum(_count(p) for p in self.polynomials or ())
        if self.polynomials is not None and len(lower) * coefficients <= 2000:
            for n, k in np.argwhere(left).tolist():
                left[n, k] = not nonnegative_on(self.polynomials[k], lower[n].tolist(), upper[n].tolist())
        if left.any():
            with np.errstate(all="ignore"):
                slopes = self.alone.gradients(lower, upper)
                for k in np.flatnonzero(left.any(axis=0)).tolist():
                    rising, falling = slopes.lo[:, :, k].T >= 0, slopes.hi[:, :, k].T <= 0
                    low, high = np.where(falling, upper, lower), np.where(rising, lower, upper)
                    points = (low >= high).all(axis=1)
                    corners = low[points]  # one array for both ends: what rounds nothing at a point stays exact
                    left[points, k] &= ~(self.alone.enclose(corners, corners).lo[:, k] >= 0)
                    left[~points, k] &= ~(self.alone.enclose(low[~points], high[~points]).lo[:, k] >= 0)
        return np.asarray(left.any(axis=1))

    def _negative(self, z: Array) -> Bools:
        """At which points (N, k) of the set some element is proven to be negative, though the guards hold."""
        if not len(z):
            return np.zeros(0, dtype=bool)
        with np.errstate(all="ignore"):
            found = self.tape.enclose(z, z)
        ends = np.cumsum([self.size, *self.guards])
        negative = found.hi[:, : self.size] < 0
        for a, b in pairwise(ends.tolist()):
            negative &= found.lo[:, a:b] >= 0
        return np.asarray(negative.any(axis=1) & (found.lo[:, ends[-1] :] >= 0).all(axis=1))


def _degrees(p: Polynomial) -> list[int]:
    return [max(k) for k in zip(*p, strict=True)] if p else []


def _count(p: Polynomial) -> int:
    return prod(k + 1 for k in _degrees(p))


def nonnegative_on(p: Polynomial, lower: Sequence[float | Fraction], upper: Sequence[float | Fraction]) -> bool:
    """Whether no Bernstein coefficient of a polynomial over a box is negative: then it is nowhere negative there."""
    return all(c >= 0 for c in _bernstein(p, [Fraction(v) for v in lower], [Fraction(v) for v in upper]))


def _bernstein(p: Polynomial, lower: list[Fraction], upper: list[Fraction]) -> Iterator[Fraction]:
    degrees = _degrees(p)
    for axis, (a, b) in enumerate(zip(lower, upper, strict=True)):
        if p:
            p = _along(p, axis, degrees[axis], a, b)
    yield from p.values()


def _along(p: Polynomial, axis: int, degree: int, a: Fraction, b: Fraction) -> Polynomial:
    """The same in y = a + (b - a) s along an axis, with powers of s replaced by Bernstein polynomials."""
    found: Polynomial = {}
    for e, c in substituted(p, axis, affine(axis, b - a, a, len(next(iter(p))))).items():
        for i in range(e[axis], degree + 1):
            place = power_of(e, axis, i)
            found[place] = found.get(place, Fraction(0)) + c * Fraction(comb(i, e[axis]), comb(degree, e[axis]))
    return found
