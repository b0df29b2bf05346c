"""The largest value of a polynomial on an interval, in whole numbers: a bound that no rounding keeps up.

On an interval, a polynomial lies below the largest of its Bernstein coefficients, and the first and the last are its
values at the ends. Halving the interval (de Casteljau) brings coefficients and values together, quadratically fast.
Everything is done in integers over one common denominator, so that values of either sign are told apart however close
to zero they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import comb, lcm

from ..deadline import EFFORT, beat, left
from ..expressions.polynomials import neighbours


@dataclass(frozen=True)
class Range:
    """What is known of a polynomial on an interval: no value is above `bound`, and `value` is attained at `point`."""

    bound: float
    value: float
    point: float


@dataclass(frozen=True, eq=False)
class _Part:
    """The part [place, place + 1] / 2^level of an interval, with Bernstein coefficients in units of 1 / `unit`."""

    coefficients: list[int]
    unit: int
    level: int = 0
    place: int = 0

    @property
    def most(self) -> Fraction:
        """What no value on this part exceeds."""
        return Fraction(max(self.coefficients), self.unit)

    def halves(self) -> tuple[_Part, _Part]:
        """Both halves: nothing is divided by two, so that units become smaller instead."""
        row, degree = self.coefficients, len(self.coefficients) - 1
        left, right = [row[0] << degree], [row[-1] << degree]
        for k in range(1, degree + 1):
            row = [a + b for a, b in pairwise(row)]
            left.append(row[0] << (degree - k))
            right.append(row[-1] << (degree - k))
        unit, level, place = self.unit << degree, self.level + 1, 2 * self.place
        return _Part(left, unit, level, place), _Part(right[::-1], unit, level, place + 1)

    def ends(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """The values at both ends, and where these are, as shares of the interval."""
        shares = (Fraction(self.place + k, 2**self.level) for k in (0, 1))
        values = (Fraction(self.coefficients[k], self.unit) for k in (0, -1))
        return tuple(zip(values, shares, strict=True))


def value_at(coefficients: Sequence[Fraction], y: float) -> float:
    """The value of sum c_i y^i, rounded once."""
    point, total = Fraction(y), Fraction(0)
    for c in reversed(coefficients):
        total = total * point + c
    return float(total)


def largest(coefficients: Sequence[Fraction], lower: float, upper: float, target: float, alert: float) -> Range:
    """A bound of sum c_i y^i on [lower, upper]: at most the `target`, unless a value above `alert` is found first."""
    whole = _Part(*_bernstein(coefficients, Fraction(lower), Fraction(upper)))
    best, goal, halvings = max(whole.ends()), Fraction(target), 0
    parts, done = [whole], list[Fraction]()
    while parts:
        part = parts.pop()
        most = part.most
        tired = part.level >= 60 or halvings >= EFFORT.boxes // 4 or left() < 0  # halvings that tell doubles apart
        if most <= goal or best[0] > alert or tired:
            done.append(most)
            continue
        beat("branch-and-bound in whole numbers")
        halvings += 1
        halves = part.halves()
        best = max(best, halves[0].ends()[1])
        parts += halves
    where = float(Fraction(lower) + (Fraction(upper) - Fraction(lower)) * best[1])
    bound = max(done)
    return Range(neighbours(bound.numerator, bound.denominator)[1], float(best[0]), min(max(where, lower), upper))


def _bernstein(coefficients: Sequence[Fraction], lower: Fraction, upper: Fraction) -> tuple[list[int], int]:
    """Bernstein coefficients on an interval as whole numbers, and what to divide them by."""
    degree = len(coefficients) - 1
    below = lcm(*(c.denominator for c in coefficients))
    q = lcm(lower.denominator, upper.denominator)
    p, r = int(lower * q), int((upper - lower) * q)
    shifted = [0] * (degree + 1)  # of sum c_i (p + r u)^i q^(degree - i), by powers of u
    for i, c in enumerate(reversed(coefficients)):
        shifted = [p * a + r * b for a, b in zip(shifted, [0, *shifted], strict=False)]
        shifted[0] += int(c * below) * q**i
    whole = lcm(*(comb(degree, j) for j in range(degree + 1)))
    scaled = [whole // comb(degree, j) * a for j, a in enumerate(shifted)]
    found = [sum(comb(k, j) * scaled[j] for j in range(k + 1)) for k in range(degree + 1)]
    return found, below * q**degree * whole
