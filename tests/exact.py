"""Reference values that owe nothing to floating point: rational arithmetic, and functions in long decimals."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from math import comb
from typing import Any

import numpy as np

DIGITS = 60  # of every result; what cancels on the way is computed with more


def _pi() -> Decimal:
    """Machin's formula."""

    def arctan_inverse(k: int) -> Decimal:
        power = total = Decimal(1) / k
        n = 1
        while power:
            power /= -k * k
            n += 2
            if abs(power) < Decimal(10) ** -420:
                break
            total += power / n
        return total

    with localcontext() as context:
        context.prec = 430
        return 4 * (4 * arctan_inverse(5) - arctan_inverse(239))


PI = _pi()


def _series(first: Decimal, ratio: Callable[[int], Decimal]) -> Decimal:
    """Add up first, first ratio(1), first ratio(1) ratio(2), …."""
    total = term = first
    k = 1
    while term:
        term *= ratio(k)
        if abs(term) < abs(total) * Decimal(10) ** -(DIGITS + 30):
            break
        total += term
        k += 1
    return total


def _sin(u: Decimal) -> Decimal:
    u = u - (u / (2 * PI)).to_integral_value() * 2 * PI
    return _series(u, lambda k: -u * u / ((2 * k) * (2 * k + 1)))


def _cos(u: Decimal) -> Decimal:
    u = u - (u / (2 * PI)).to_integral_value() * 2 * PI
    return _series(Decimal(1), lambda k: -u * u / ((2 * k - 1) * (2 * k)))


def _arctan(u: Decimal) -> Decimal:
    if abs(u) > 1:
        return (PI / 2).copy_sign(u) - _arctan(1 / u)
    for _ in range(3):  # arctan u = 2 arctan(u / (1 + sqrt(1 + u^2)))
        u = u / (1 + (1 + u * u).sqrt())
    power = _series(u, lambda k: -u * u * (2 * k - 1) / (2 * k + 1))
    return 8 * power


def _arcsin(u: Decimal) -> Decimal:
    return (PI / 2).copy_sign(u) if abs(u) == 1 else _arctan(u / (1 - u * u).sqrt())


def _erf(u: Decimal) -> Decimal:
    if abs(u) > 12:  # 1 - erf(12) < 1e-63
        return Decimal(1).copy_sign(u)
    return 2 / PI.sqrt() * _series(u, lambda k: -u * u * (2 * k - 1) / (k * (2 * k + 1)))


def sinc(u: Decimal, order: int) -> Decimal:
    """The derivative of that order of sin(u) / u: a series near 0, and u s⁽ⁿ⁾ + n s⁽ⁿ⁻¹⁾ = sin⁽ⁿ⁾ u elsewhere."""
    if abs(u) < Decimal("0.5"):
        total, power, j = Decimal(0), Decimal(1), 0
        for j in range(80):
            if (j + order) % 2 == 0:
                total += (-1) ** ((j + order) // 2) * power / (j + order + 1)
            power *= u / (j + 1)
        return total
    waves = (_sin(u), _cos(u), -_sin(u), -_cos(u))
    value = waves[0] / u
    for n in range(1, order + 1):
        value = (waves[n] - n * value) / u
    return value


def _gammaln(u: Decimal) -> Decimal:
    """Stirling's series, far out; nearer, by the recurrence."""
    shift = Decimal(1)
    while u < 120:
        shift, u = shift * u, u + 1
    total, power = (u - Decimal("0.5")) * u.ln() - u + (2 * PI).ln() / 2, 1 / u
    for k in range(1, 60):
        total += _bernoulli(2 * k) / (2 * k * (2 * k - 1)) * power
        power /= u * u
    return total - shift.ln()


@cache
def _bernoulli(n: int) -> Decimal:
    """Bernoulli's numbers, by their recurrence in fractions."""
    numbers = [Fraction(1)]
    for m in range(1, n + 1):
        numbers.append(-sum(comb(m + 1, k) * numbers[k] for k in range(m)) / (m + 1))
    return Decimal(numbers[n].numerator) / Decimal(numbers[n].denominator)


FUNCTIONS: dict[str, Callable[[Decimal], Decimal]] = {
    "sin": _sin,
    "cos": _cos,
    "tan": lambda u: _sin(u) / _cos(u),
    "arcsin": _arcsin,
    "arccos": lambda u: PI / 2 - _arcsin(u),
    "arctan": _arctan,
    "sinh": lambda u: (u.exp() - (-u).exp()) / 2,
    "cosh": lambda u: (u.exp() + (-u).exp()) / 2,
    "tanh": lambda u: 1 - 2 / ((2 * u).exp() + 1),
    "arcsinh": lambda u: (abs(u) + (u * u + 1).sqrt()).ln().copy_sign(u),
    "arccosh": lambda u: (u + (u * u - 1).sqrt()).ln(),
    "arctanh": lambda u: ((1 + u) / (1 - u)).ln() / 2,
    "exp": lambda u: u.exp(),
    "exp2": lambda u: Decimal(2) ** u,
    "expm1": lambda u: u.exp() - 1,
    "log": lambda u: u.ln(),
    "log2": lambda u: u.ln() / Decimal(2).ln(),
    "log10": lambda u: u.log10(),
    "log1p": lambda u: (1 + u).ln(),
    "sqrt": lambda u: u.sqrt(),
    "erf": _erf,
    "erfc": lambda u: 1 - _erf(u),
    "expit": lambda u: 1 / (1 + (-u).exp()),
    "reciprocal": lambda u: 1 / u,
    "square": lambda u: u * u,
    "sinc": lambda u: sinc(u, 0),
    "ndtr": lambda u: (1 + _erf(u / Decimal(2).sqrt())) / 2,
    "gamma": lambda u: _gammaln(u).exp(),
    "gammaln": _gammaln,
    "entr": lambda u: -u * u.ln() if u else Decimal(0),
    "exprel": lambda u: (u.exp() - 1) / u if u else Decimal(1),
}


def angle(x: float, y: float) -> Decimal:
    """The angle of a point in (-pi, pi]; 0 at the origin, as NumPy has it."""
    with localcontext() as context:
        context.prec = 400
        a, b = Decimal(float(x)), Decimal(float(y))
        if a > 0:
            return _arctan(b / a)
        if a == 0:
            return (PI / 2).copy_sign(b) if b else Decimal(0)
        return _arctan(b / a) + (PI if b >= 0 else -PI)


def evaluate(name: str, u: float) -> Decimal:
    """An elementary function of a float."""
    with localcontext() as context:
        context.prec = 400
        return FUNCTIONS[name](Decimal(float(u)))


def power(u: float, k: float) -> Decimal:
    """u ** k for u > 0."""
    with localcontext() as context:
        context.prec = 100
        return Decimal(float(u)) ** Decimal(float(k))


def contains(lo: Any, hi: Any, value: Fraction | Decimal) -> bool:
    """Whether lo <= value <= hi, exactly; an end that is nan promises nothing."""
    kind = type(value)
    above = np.isnan(lo) or lo == -np.inf or (np.isfinite(lo) and kind(float(lo)) <= value)
    below = np.isnan(hi) or hi == np.inf or (np.isfinite(hi) and value <= kind(float(hi)))
    return bool(above and below)


def eliminated(rows: list[list[Fraction]], rhs: list[Fraction]) -> list[Fraction] | None:
    """The solution of a square system by Gauss; None if there is not exactly one."""
    table = [[*row, v] for row, v in zip(rows, rhs, strict=True)]
    for k in range(len(table)):
        pivot = next((i for i in range(k, len(table)) if table[i][k]), None)
        if pivot is None:
            return None
        table[k], table[pivot] = table[pivot], table[k]
        table[k] = [v / table[k][k] for v in table[k]]
        for i, row in enumerate(table):
            if i != k and row[k]:
                table[i] = [a - row[k] * b for a, b in zip(row, table[k], strict=True)]
    return [row[-1] for row in table]
