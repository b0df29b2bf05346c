"""Sums of numbers that are rounded once, however many terms there are and in whatever order they were written.

A number that was computed from others is a double and a rest, what rounding left of it; the sums of doubles and rests
are exact until they are rounded, at the end. Products are kept to twice the digits of a double, and so are quotients.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import fsum, inf, isinf
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..domains.proven import add_down, add_up, two_product, two_sum
from .operands import Ints

Array: TypeAlias = NDArray[np.float64]


class DoubleDouble(NamedTuple):
    """Doubles, and what rounding left of them; no rest where nothing was rounded."""

    value: Array
    rest: Array | None = None

    def times(self, factor: Array) -> DoubleDouble:
        """The product with doubles."""
        with np.errstate(over="ignore", under="ignore"):
            total = self.value * factor
            if (np.abs(factor) == 1.0).all():
                return DoubleDouble(total, None if self.rest is None else self.rest * factor)
            if self.rest is None and (np.abs(self.value) == 1.0).all():
                return DoubleDouble(total)
            # Mantissas neither overflow nor underflow.
            (a, i), (b, j) = np.frexp(self.value), np.frexp(factor)
            error = np.ldexp(two_product(a, b)[1], i + j)
            return _settled(total, error if self.rest is None else error + self.rest * factor)

    def over(self, divisor: Array) -> DoubleDouble:
        """The quotient by doubles that are not zero."""
        with np.errstate(over="ignore", under="ignore"):
            total = self.value / divisor
            (a, i), (b, j) = np.frexp(self.value), np.frexp(divisor)
            quotient = a / b
            product, error = two_product(quotient, b)
            rest = np.ldexp(((a - product) - error) / b, i - j)
            return _settled(total, rest if self.rest is None else rest + self.rest / divisor)

    def at(self, index: Ints) -> DoubleDouble:
        """Some of the numbers, in any arrangement."""
        return DoubleDouble(self.value[index], None if self.rest is None else self.rest[index])


def _settled(value: Array, rest: Array) -> DoubleDouble:
    """A number and a small one, as the double next to their sum and a rest."""
    if not rest.any() or not np.isfinite(value).all():  # whoever asked refuses numbers that are infinite
        return DoubleDouble(value)
    return DoubleDouble(*two_sum(value, rest))


@dataclass(frozen=True, eq=False)
class Scattered:
    """Numbers at places of an array; those at the same place are added up."""

    rows: Ints
    numbers: DoubleDouble

    @staticmethod
    def of(value: Array) -> Scattered:
        """All numbers of an array but its zeros, each at its place."""
        rows = np.flatnonzero(value)
        return Scattered(rows, DoubleDouble(value.ravel()[rows]))

    def moved(self, rows: Ints) -> Scattered:
        """The same numbers at other places."""
        return replace(self, rows=rows)


class Totals(NamedTuple):
    """Sums by place: the double next to each, and what is left of it."""

    places: Ints  # all that occur, in order
    value: Array  # infinite where the sum is larger than all doubles
    rest: Array  # rounded; zero where the value is exact, and where it is a single number


def totals(places: Ints, numbers: DoubleDouble, few: int = 16) -> Totals:
    """Add up the numbers at each place, without rounding anything but the result.

    Sums of a `few` terms at most are taken side by side.
    """
    values, where = numbers.value, places
    if numbers.rest is not None:
        rounded = np.flatnonzero(numbers.rest)
        values, where = np.append(values, numbers.rest[rounded]), np.append(where, where[rounded])
    order = np.argsort(where, kind="stable")
    values, where = values[order], where[order]
    starts = np.flatnonzero(np.concatenate([[True], where[1:] != where[:-1]]))
    parts = np.diff(np.append(starts, len(where)))
    count = np.add.reduceat(order < len(places), starts, dtype=np.intp)
    value, rest = values[starts], np.zeros(len(starts))
    several = np.flatnonzero((parts > 1) & (parts <= few))
    value[several], rest[several], sure = _sums_of_few(values, starts[several], parts[several])
    for k in (*several[~sure].tolist(), *np.flatnonzero(parts > few).tolist()):
        value[k], rest[k] = _total(values[starts[k] : starts[k] + parts[k]].tolist())
    return Totals(where[starts], value, np.where(count > 1, rest, 0.0))


def _sums_of_few(values: Array, starts: Ints, parts: Ints) -> tuple[Array, Array, NDArray[np.bool_]]:
    """The doubles next to the sums of neighbours, what is left of them, and whether they surely are that."""
    total, correction, doubt = values[starts], np.zeros(len(starts)), np.zeros(len(starts))
    with np.errstate(over="ignore", invalid="ignore"):
        for k in range(1, int(parts.max(initial=1))):
            some = np.flatnonzero(parts > k)
            total[some], error = two_sum(total[some], values[starts[some] + k])
            correction[some], left = two_sum(correction[some], error)
            doubt[some] += np.abs(left)
        total, rest = two_sum(total, correction)
        # Exactly, the sum is total + rest + something of at most this size.
        doubt = doubt * (1 + 1e-12)
        same = (total + add_up(rest, doubt) == total) & (total + add_down(rest, -doubt) == total)
        sure = np.isfinite(total) & np.isfinite(rest) & ((doubt == 0) | (same & (rest != 0)))
    return total, rest, sure


def _total(terms: list[float]) -> tuple[float, float]:
    """The double next to a sum, and the double next to what is left of it."""
    try:
        total = fsum(terms)
        return total, 0.0 if isinf(total) else fsum([*terms, -total])
    except OverflowError:  # on the way, or in the end
        if infinite := list(filter(isinf, terms)):
            return infinite[0], 0.0
        exact = sum(map(Fraction, terms), Fraction(0))
    try:
        total = float(exact)
    except OverflowError:
        return (inf if exact > 0 else -inf), 0.0
    return total, float(exact - Fraction(total))


def together(parts: list[DoubleDouble]) -> DoubleDouble:
    """Numbers one after another."""
    value = np.concatenate([p.value for p in parts])
    if all(p.rest is None for p in parts):
        return DoubleDouble(value)
    return DoubleDouble(value, np.concatenate([np.zeros(p.value.size) if p.rest is None else p.rest for p in parts]))
