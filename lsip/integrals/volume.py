"""Volumes of index sets, and the means of monomials over them, as fractions times powers of pi and a square root."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import comb, factorial, isqrt, prod
from typing import NamedTuple

import numpy as np

from ..domains import Ball, Box, Domain, Product, Simplex
from ..domains import Interval as Segment
from ..errors import ModelError
from ..expressions.enclosed import known
from ..expressions.graph import Expression
from ..expressions.interval import Interval
from ..expressions.polynomials import neighbours
from ..expressions.ring import Exponents, Polynomial
from ..lifetime import remembered

PI = Interval(np.array([3.141592653589793]), np.array([3.1415926535897936]))


class ExactNumbers(NamedTuple):
    """Numbers (K,), and the same without any rounding, where they are fractions."""

    ends: Interval
    exact: list[Fraction] | None = None


@dataclass(frozen=True)
class Volume:
    """share pi^pi √root."""

    share: Fraction
    pi: int = 0
    root: int = 1

    def __mul__(self, other: Volume) -> Volume:
        return Volume(self.share * other.share, self.pi + other.pi, self.root * other.root)

    def times(self, means: Interval) -> ExactNumbers:
        """Means (K,) as integrals."""
        return ExactNumbers(means if self == Volume(Fraction(1)) else means * self.exactly([Fraction(1)]).ends)

    def exactly(self, means: list[Fraction]) -> ExactNumbers:
        """The same of means that are fractions: what is left to round is rounded once."""
        root = isqrt(self.root)
        square = root * root == self.root
        exact = [m * self.share * (root if square else 1) for m in means]
        found = between(exact)
        if square and not self.pi:
            return ExactNumbers(found, exact)
        if not square:
            found = found * np.sqrt(float(self.root)) * _ulp()
        for _ in range(self.pi):
            found = found * PI
        return ExactNumbers(found)


def _ulp() -> Interval:
    """1, with room for a square root that is rounded to nearest."""
    return Interval(np.array([1.0 - 2.0**-52]), np.array([1.0 + 2.0**-52]))


def between(values: list[Fraction]) -> Interval:
    """Fractions, each between two doubles, or as the double that it is."""
    ends = np.array([neighbours(v.numerator, v.denominator) for v in values]).reshape(-1, 2)
    lo, hi = ends[:, 0].copy(), ends[:, 1].copy()
    return Interval(lo, lo) if (lo == hi).all() else Interval(lo, hi)


def number(value: Fraction) -> Expression:
    """A fraction as a number of a model: a double, or one that is enclosed by two."""
    found = between([value])
    return known(found.lo.reshape(()), found.hi.reshape(()), [value])


def refuse(domain: Domain) -> ModelError:
    """Sets over which there is no integral yet."""
    return ModelError(
        f"Integrals are over an Interval, a Box, a Simplex, a Ball, or a Product of them; got {domain}. Substitute "
        "coordinates in which it is one, with the determinant as a factor, or give samples of it to lsip.expectation."
    )


def volume(domain: Domain) -> Volume:
    """The volume of a set within its own dimension, as `Domain.measure` has it."""
    if isinstance(domain, Product):
        return prod((volume(f) for f in domain.factors), start=Volume(Fraction(1)))
    if isinstance(domain, Segment | Box):
        sides = [Fraction(b) - Fraction(a) for a, b in zip(domain.lower.tolist(), domain.upper.tolist(), strict=True)]
        return Volume(prod((s for s in sides if s), start=Fraction(1)))
    if isinstance(domain, Simplex):
        return Volume(Fraction(1, factorial(domain.dim - 1)), 0, domain.dim)
    if isinstance(domain, Ball):
        half, odd = divmod(domain.dim, 2)
        unit = Fraction(2 ** (half + 1), prod(range(1, domain.dim + 1, 2))) if odd else Fraction(1, factorial(half))
        return Volume(unit * Fraction(domain.radius) ** domain.dim, half)
    raise refuse(domain)


def mean(p: Polynomial, domain: Domain) -> Fraction:
    """The mean of a polynomial over a set."""
    return sum((c * _monomial(e, domain) for e, c in p.items()), Fraction(0))


@remembered
def _means(domain: Domain) -> dict[Exponents, Fraction]:
    """By the exponents."""
    return {}


def _monomial(e: Exponents, domain: Domain) -> Fraction:
    """The mean of y^e; found once for every set."""
    means = _means(domain)
    if e not in means:
        means[e] = _computed(e, domain)
    return means[e]


def _computed(e: Exponents, domain: Domain) -> Fraction:
    if isinstance(domain, Product):
        parts = zip(domain.factors, domain._slices(), strict=True)
        return prod((_monomial(e[part], f) for f, part in parts), start=Fraction(1))
    if isinstance(domain, Segment | Box):
        sides = zip(e, domain.lower.tolist(), domain.upper.tolist(), strict=True)
        return prod((_power(k, Fraction(a), Fraction(b)) for k, a, b in sides), start=Fraction(1))
    if isinstance(domain, Simplex):
        top = factorial(domain.dim - 1) * prod(factorial(k) for k in e)
        return Fraction(top, factorial(domain.dim - 1 + sum(e)))
    if isinstance(domain, Ball):
        centre, radius = [Fraction(v) for v in domain.centre.tolist()], Fraction(domain.radius)
        total = Fraction(0)
        for moved in product(*(range(0, k + 1, 2) for k in e)):  # odd powers vanish
            outer = prod(
                (comb(k, j) * c ** (k - j) for k, j, c in zip(e, moved, centre, strict=True)), start=Fraction(1)
            )
            total += outer * radius ** sum(moved) * _around(moved)
        return total
    raise refuse(domain)


def _power(k: int, a: Fraction, b: Fraction) -> Fraction:
    """The mean of t^k between a and b."""
    return a**k if a == b else (b ** (k + 1) - a ** (k + 1)) / ((k + 1) * (b - a))


def _around(e: Exponents) -> Fraction:
    """The mean of u^e over the unit ball, for even exponents."""
    top = prod(i for k in e for i in range(1, k, 2))
    return Fraction(top, prod(range(len(e) + 2, len(e) + sum(e) + 1, 2)))
