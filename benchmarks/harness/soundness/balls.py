"""The judge's arithmetic: formulas in balls of `BITS` bits around exact points, and exact fractions of doubles.

Everything here encloses: a ball contains the true value, so what it proves is proven. Where a condition cannot be
decided, the ball holds both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from math import inf, nextafter
from typing import Any

from flint import arb, ctx, fmpq

from .formulas import Formula

BITS = 400
LONGEST = 20_000  # binary digits before or after the point
Point = tuple[Fraction, ...]


@contextmanager
def precise() -> Iterator[None]:
    """Work with `BITS` bits inside."""
    with ctx.workprec(BITS):
        yield


def ball(value: float | Fraction) -> Any:
    """The number itself if it is a double, and a ball around it if it is a fraction that has no finite expansion."""
    return arb(fmpq(value.numerator, value.denominator)) if isinstance(value, Fraction) else arb(value)


def fraction(value: Any) -> Fraction:
    """A ball without radius as it is."""
    mantissa, exponent = value.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def below(value: Any) -> Fraction | None:
    """A fraction that is proven to be at most the value; None when there is none of a bearable length."""
    return _end(value.lower(), Fraction(-1)) if value.is_finite() else None


def above(value: Any) -> Fraction | None:
    """A fraction that is proven to be at least the value; None when there is none of a bearable length."""
    return _end(value.upper(), Fraction(1)) if value.is_finite() else None


def _end(value: Any, side: Fraction) -> Fraction | None:
    """A number without radius, moved a little to that side where it has too many digits before or after the point."""
    size = abs(value)
    if size > arb(2) ** LONGEST:
        return None
    if not value.is_zero() and size < arb(2) ** -LONGEST:
        outward = (value > 0) == (side > 0)
        return side / 2**LONGEST if outward else Fraction(0)
    return fraction(value)


def _log(u: Any) -> Any:
    return arb.neg_inf() if u.is_zero() else u.log()


def _power(u: Any, k: Any) -> Any:
    whole = k.unique_fmpz() if k.is_exact() and k.is_integer() else None
    if whole is not None:
        return u ** int(whole)
    if u.is_zero():
        return arb(0) if k > 0 else arb.nan()
    return u**k


def _maximum(u: Any, v: Any) -> Any:
    return u.max(v)


def _minimum(u: Any, v: Any) -> Any:
    return u.min(v)


def _angle(v: Any, u: Any) -> Any:
    return arb(0) if u.is_zero() and v.is_zero() else arb.atan2(v, u)


def _where(holds: Callable[[Any, Any], bool], fails: Callable[[Any, Any], bool]) -> Callable[..., Any]:
    def choose(u: Any, v: Any, a: Any, b: Any) -> Any:
        if holds(u, v):
            return a
        return b if fails(u, v) else a.union(b)

    return choose


BALLS: dict[str, Callable[..., Any]] = {
    "add": lambda u, v: u + v,
    "subtract": lambda u, v: u - v,
    "multiply": lambda u, v: u * v,
    "divide": lambda u, v: u / v,
    "negative": lambda u: -u,
    "power": _power,
    "square": lambda u: u**2,
    "reciprocal": lambda u: 1 / u,
    "absolute": abs,
    "maximum": _maximum,
    "minimum": _minimum,
    "arctan2": _angle,
    "hypot": lambda u, v: (u**2 + v**2).sqrt(),
    "where_less": _where(lambda u, v: u < v, lambda u, v: u >= v),
    "where_at_most": _where(lambda u, v: u <= v, lambda u, v: u > v),
    "sin": lambda u: u.sin(),
    "cos": lambda u: u.cos(),
    "tan": lambda u: u.tan(),
    "arcsin": lambda u: u.asin(),
    "arccos": lambda u: u.acos(),
    "arctan": lambda u: u.atan(),
    "sinh": lambda u: u.sinh(),
    "cosh": lambda u: u.cosh(),
    "tanh": lambda u: u.tanh(),
    "arcsinh": lambda u: u.asinh(),
    "arccosh": lambda u: u.acosh(),
    "arctanh": lambda u: u.atanh(),
    "exp": lambda u: u.exp(),
    "exp2": lambda u: arb(2) ** u,
    "expm1": lambda u: u.expm1(),
    "log": _log,
    "log2": lambda u: _log(u) / arb(2).log(),
    "log10": lambda u: _log(u) / arb(10).log(),
    "log1p": lambda u: _log(1 + u) if (1 + u).is_zero() else u.log1p(),
    "sqrt": lambda u: u.sqrt(),
    "sinc": lambda u: u.sinc_pi(),
    "deg2rad": lambda u: u * arb.pi() / 180,
    "erf": lambda u: u.erf(),
    "erfc": lambda u: u.erfc(),
    "expit": lambda u: 1 / (1 + (-u).exp()),
}


def evaluate(formula: Formula, y: Sequence[Any]) -> Any:
    """The value at a point whose coordinates are balls."""
    if formula.op == "number":
        return arb(formula.number)
    if formula.op == "coordinate":
        return y[int(formula.number)]
    return BALLS[formula.op](*(evaluate(p, y) for p in formula.parts))


def at(formula: Formula, point: Point) -> Any:
    """The value at an exact point."""
    return evaluate(formula, [ball(v) for v in point])


def rounded(value: Fraction, up: bool) -> float:
    """The nearest double on that side."""
    near = float(value)
    if Fraction(near) == value or (Fraction(near) > value) == up:
        return near
    return nextafter(near, inf if up else -inf)
