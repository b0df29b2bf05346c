"""Division of polynomials by y_i - r, where r is a number or another coordinate, in rational numbers."""

from __future__ import annotations

from fractions import Fraction

from .ring import Exponents, Polynomial


def division(p: Polynomial, axis: int, root: Polynomial) -> tuple[Polynomial, Polynomial]:
    """Quotient and rest of p by y_axis - root, by Horner's scheme; `root` has one term at most, without y_axis.

    >>> division({(2,): Fraction(1), (0,): Fraction(-1)}, 0, {(0,): Fraction(1)})[0]
    {(1,): Fraction(1, 1), (0,): Fraction(1, 1)}
    """
    quotient: Polynomial = {}
    value: Polynomial = {}
    for power in range(max((e[axis] for e in p), default=0), -1, -1):
        here = {_with(e, axis, 0): c for e, c in p.items() if e[axis] == power}
        value = _sum(_product(value, root), here)
        if power:
            quotient |= {_with(e, axis, power - 1): c for e, c in value.items()}
    return quotient, value


def _with(e: Exponents, axis: int, power: int) -> Exponents:
    return (*e[:axis], power, *e[axis + 1 :])


def _product(p: Polynomial, q: Polynomial) -> Polynomial:
    """Of a polynomial and one with a single term, at most."""
    return {tuple(a + b for a, b in zip(e, f, strict=True)): c * d for f, d in q.items() for e, c in p.items()}


def _sum(p: Polynomial, q: Polynomial) -> Polynomial:
    total = dict(p)
    for e, c in q.items():
        total[e] = total.get(e, Fraction(0)) + c
    return {e: c for e, c in total.items() if c}
