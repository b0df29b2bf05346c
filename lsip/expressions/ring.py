"""Polynomials in the coordinates of the index, in rational numbers: their arithmetic, and formulas written out."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from fractions import Fraction
from math import isqrt
from typing import Any, TypeAlias, TypeVar

from ..deadline import EFFORT

Exponents: TypeAlias = tuple[int, ...]
Polynomial: TypeAlias = dict[Exponents, Fraction]
Terms: TypeAlias = list[Polynomial]  # one polynomial for every element of an expression
Key = TypeVar("Key", bound=Hashable)


class NotPolynomialError(Exception):
    """A formula holds something else, or has too many terms."""


class Ring:
    """Polynomials in `dim` coordinates, those of each index from its offset on; how many terms were made is counted."""

    def __init__(self, dim: int, offsets: Mapping[Any, int]) -> None:
        self.dim, self.offsets, self.count = dim, offsets, 0
        self.zero: Exponents = (0,) * dim
        self.highest = isqrt(EFFORT.exact // 10)  # degree, up to which a product in one coordinate takes no longer

    def unit(self, axis: int) -> Exponents:
        """The exponents of one coordinate."""
        return tuple(int(k == axis) for k in range(self.dim))

    def number(self, v: Fraction) -> Polynomial:
        """A constant."""
        return {self.zero: v} if v else {}

    def product(self, a: Polynomial, b: Polynomial) -> Polynomial:
        """All terms of one times all of the other."""
        degree = max(map(sum, a), default=0) + max(map(sum, b), default=0)
        self.counted(len(a) * len(b))
        if degree > self.highest:
            raise NotPolynomialError
        return product(a, b)

    def power(self, u: Polynomial, k: float) -> Polynomial:
        """A whole power."""
        if k != int(k) or not 0 <= k <= self.highest:
            raise NotPolynomialError
        found = self.number(Fraction(1))
        for _ in range(int(k)):
            found = self.product(found, u)
        return found

    def counted(self, terms: int) -> None:
        """Stop where too many terms were made."""
        self.count += terms
        if self.count > EFFORT.exact:
            raise NotPolynomialError


def repeated(u: Terms, size: int) -> Terms:
    """Scalars stand for as many elements as are needed."""
    return u * size if len(u) == 1 else u


def summed(parts: Iterable[Mapping[Key, Fraction]], factor: Fraction | int = 1) -> dict[Key, Fraction]:
    """The sum of polynomials, or of equations; all but the first are multiplied with a factor."""
    first, *others = parts
    total = dict(first)
    for p in others:
        for e, c in p.items():
            total[e] = total.get(e, Fraction(0)) + (c if factor == 1 else factor * c)
    return {e: c for e, c in total.items() if c}


def product(p: Polynomial, q: Polynomial) -> Polynomial:
    """The product of two polynomials, written out."""
    total: Polynomial = {}
    for e, c in p.items():
        for f, d in q.items():
            place = tuple(i + j for i, j in zip(e, f, strict=True))
            total[place] = total.get(place, Fraction(0)) + c * d
    return {e: c for e, c in total.items() if c}


def affine(axis: int, slope: Fraction | int, constant: Fraction | int, dim: int) -> Polynomial:
    """constant + slope y_axis."""
    unit, zero = tuple(int(k == axis) for k in range(dim)), (0,) * dim
    return {e: Fraction(c) for e, c in ((unit, slope), (zero, constant)) if c}


def power_of(e: Exponents, axis: int, power: int) -> Exponents:
    """The same exponents, but for that of one coordinate."""
    return (*e[:axis], power, *e[axis + 1 :])


def substituted(p: Polynomial, axis: int, other: Polynomial) -> Polynomial:
    """p with another polynomial in the place of a coordinate."""
    powers: list[Polynomial] = []
    total: Polynomial = {}
    for e, c in p.items():
        while len(powers) <= e[axis]:
            powers.append(product(powers[-1], other) if powers else {(0,) * len(e): Fraction(1)})
        rest = power_of(e, axis, 0)
        for f, d in powers[e[axis]].items():
            place = tuple(a + b for a, b in zip(rest, f, strict=True))
            total[place] = total.get(place, Fraction(0)) + c * d
    return {e: c for e, c in total.items() if c}


def division(p: Polynomial, axis: int, root: Polynomial) -> tuple[Polynomial, Polynomial]:
    """Quotient and rest of p by y_axis - root, by Horner's scheme; `root` has no y_axis.

    >>> division({(2,): Fraction(1), (0,): Fraction(-1)}, 0, {(0,): Fraction(1)})[0]
    {(1,): Fraction(1, 1), (0,): Fraction(1, 1)}
    """
    quotient: Polynomial = {}
    value: Polynomial = {}
    for power in range(max((e[axis] for e in p), default=0), -1, -1):
        here = {power_of(e, axis, 0): c for e, c in p.items() if e[axis] == power}
        value = summed([product(value, root), here])
        if power:
            quotient |= {power_of(e, axis, power - 1): c for e, c in value.items()}
    return quotient, value


def ratio(p: Polynomial, q: Polynomial) -> Fraction | None:
    """The number that p is q times; None if there is none."""
    if not p or p.keys() != q.keys():
        return None
    share = next(c / q[e] for e, c in p.items())
    return share if all(c == share * q[e] for e, c in p.items()) else None
