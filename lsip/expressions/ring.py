"""Polynomials in the coordinates of the index, in rational numbers: what operations on formulas make of them."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import isqrt
from typing import Any, TypeAlias

from ..deadline import EFFORT

Exponents: TypeAlias = tuple[int, ...]
Polynomial: TypeAlias = dict[Exponents, Fraction]
Terms: TypeAlias = list[Polynomial]  # one polynomial for every element of an expression


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
        total: Polynomial = {}
        for e, c in a.items():
            for f, d in b.items():
                both = tuple(i + j for i, j in zip(e, f, strict=True))
                total[both] = total.get(both, Fraction(0)) + c * d
        return {e: c for e, c in total.items() if c}

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


def summed(parts: Terms) -> Polynomial:
    """The sum of polynomials."""
    total: Polynomial = {}
    for p in parts:
        for e, c in p.items():
            total[e] = total.get(e, Fraction(0)) + c
    return {e: c for e, c in total.items() if c}
