"""Taylor coefficients of elementary functions, of any order, from the formulas of their first derivatives.

g = f(v) solves g' = f'(v) v', where f' is a formula in v and g: so coefficient k + 1 of g follows from those up to k of
that formula, which are known by then (Moore, Interval Analysis, chapter 11). The coefficients are intervals over boxes,
fractions where values are known exactly, and nan where nothing is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache
from math import factorial, isqrt
from typing import Any

import numpy as np

from .elementary import Function
from .functions import scaled
from .interval import Interval

Coefficient = Any  # an Interval, a Fraction, nan where it is not known; the whole numbers 0 and 1 are exact in each

NAN = float("nan")
EXACT: dict[str, dict[int, Fraction]] = {  # what functions are at whole numbers, beside their zeros
    **{name: {1: Fraction(0)} for name in ("log", "log2", "log10")},
    "gammaln": {1: Fraction(0), 2: Fraction(0)},
    "gamma": {1: Fraction(1), 2: Fraction(1), 3: Fraction(2)},
    "erfc": {0: Fraction(1)},
    "expit": {0: Fraction(1, 2)},
    "ndtr": {0: Fraction(1, 2)},
    "sinc": {0: Fraction(1)},
    "exprel": {0: Fraction(1)},
    "j0": {0: Fraction(1)},
    "sinc'": {0: Fraction(0)},
    "j0'": {0: Fraction(0)},
    "exprel'": {0: Fraction(1, 2)},
}


class Series:
    """A power series, whose coefficients are computed as they are asked for."""

    def __init__(self, coefficient: Callable[[int], Coefficient], identity: bool = False) -> None:
        self._coefficient, self.identity = coefficient, identity
        self._known: list[Coefficient] = []
        self._applied: dict[str, Series] = {}
        self._negative: Series | None = None

    def __getitem__(self, k: int) -> Coefficient:
        while len(self._known) <= k:
            self._known.append(self._coefficient(len(self._known)))
        return self._known[k]

    def __add__(self, other: Series | float) -> Series:
        if isinstance(other, Series):
            return Series(lambda k: _plus(self[k], other[k]))
        return Series(lambda k: self[k] if k else _plus(self[0], _number(self[0], other)))

    def __neg__(self) -> Series:
        if self._negative is None:
            self._negative = Series(lambda k: _minus(self[k]))
            self._negative._negative = self  # expit(u) needs expit(-u), which needs expit(u)
        return self._negative

    def __sub__(self, other: Series | float) -> Series:
        return self + -other

    def __rsub__(self, other: float) -> Series:
        return -self + other

    def __mul__(self, other: Series | float) -> Series:
        if isinstance(other, Series):
            return Series(lambda k: _total(_times(self[i], other[k - i]) for i in range(k + 1)))
        return Series(lambda k: _times(self[k], _number(self[k], other)))

    __radd__, __rmul__ = __add__, __mul__

    def __truediv__(self, other: Series) -> Series:
        def coefficient(k: int) -> Coefficient:
            rest = _total(_times(other[k - i], quotient[i]) for i in range(k))
            return _over(_plus(self[k], _minus(rest)), other[0])

        quotient = Series(coefficient)
        return quotient

    def __rtruediv__(self, other: float) -> Series:
        return Series(lambda k: 0 if k else _number(self[0], other)) / self

    def scaled_by(self, factor: float) -> Series:
        """An irrational number that is next to this float, times it."""
        return Series(lambda k: scaled(factor, self[k]) if isinstance(self[k], Interval) else _unless_zero(self[k]))

    def applied(self, f: Function) -> Series:
        """A function of it."""
        if f.name not in self._applied:
            self._applied[f.name] = _composed(f, self)
        return self._applied[f.name]


def series_at(u: Interval | Fraction) -> Series:
    """The coordinate, around a point or around all points of boxes."""
    return Series(lambda k: u if k == 0 else int(k == 1), identity=True)


def _composed(f: Function, v: Series) -> Series:
    if f.exponent == 2:
        return v * v
    if f.exponent == -1:
        return 1.0 / v
    if f.derivative is not None:
        return Series(lambda k: _tabulated(f, v, k))

    @cache
    def slope() -> Any:  # asked for when `found` is known: the sine needs the cosine, which needs the sine
        return f.first(v, found)  # type: ignore[arg-type]  # formulas are written with operators

    def coefficient(k: int) -> Coefficient:
        if k == 0:
            return f(v[0]) if isinstance(v[0], Interval) else exact_value(f, v[0])
        terms = (_times(slope()[i], _times(v[k - i], _whole(v[0], k - i))) for i in range(k))
        return _over(_total(terms), _whole(v[0], k))

    found = Series(coefficient)
    return found


def _tabulated(f: Function, v: Series, k: int) -> Coefficient:
    """A coefficient where the derivatives are functions of their own: up to three, and the last has three more."""
    u, left = v[0], k
    while left and f.derivative is not None:
        f, left = f.derivative, left - 1
    if not isinstance(u, Interval):
        return exact_value(f, u) / factorial(k) if not left and (v.identity or not k) else NAN
    if left > 3 or (k and not v.identity):
        return Interval(np.full(u.shape, np.nan), np.full(u.shape, np.nan))
    formula = (lambda u, _: f(u), f.first, f.second, f.third)[left]
    value: Any = 0.0 if formula is None else formula(u, f(u))
    return value / float(factorial(k))


def exact_value(f: Function, u: Any) -> Any:
    """What a function is at a fraction, where that is known exactly; otherwise nan."""
    if u != u:
        return NAN
    if u == 0 and f.zero == f.zero:
        return Fraction(f.zero)
    if f.name == "sqrt" and u > 0:
        root = Fraction(isqrt(u.numerator), isqrt(u.denominator))
        return root if root * root == u else NAN
    return EXACT.get(f.name, {}).get(u, NAN)


def _number(like: Coefficient, value: float) -> Coefficient:
    """A double among coefficients."""
    return value if isinstance(like, Interval) else Fraction(value)


def _whole(like: Coefficient, k: int) -> Coefficient:
    return 1 if k == 1 else float(k) if isinstance(like, Interval) else k


def _is(a: Coefficient, value: int) -> bool:
    return type(a) is int and a == value


def _unless_zero(a: Coefficient) -> Coefficient:
    return 0 if _is(a, 0) else NAN


def _plus(a: Coefficient, b: Coefficient) -> Coefficient:
    return b if _is(a, 0) else a if _is(b, 0) else a + b


def _minus(a: Coefficient) -> Coefficient:
    return a if _is(a, 0) else -a


def _times(a: Coefficient, b: Coefficient) -> Coefficient:
    if _is(a, 0) or _is(b, 0):
        return 0
    return b if _is(a, 1) else a if _is(b, 1) else a * b


def _over(a: Coefficient, b: Coefficient) -> Coefficient:
    if _is(a, 0) or _is(b, 1):
        return a
    if not isinstance(b, Interval) and b == 0:
        return NAN
    return a / b if isinstance(a, Interval | Fraction) or isinstance(b, Interval) else Fraction(a) / b


def _total(terms: Iterable[Coefficient]) -> Coefficient:
    total: Coefficient = 0
    for term in terms:
        total = _plus(total, term)
    return total
