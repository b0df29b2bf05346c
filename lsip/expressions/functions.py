"""The elementary functions of the language: value, enclosure, and three derivatives each.

Derivatives are written once, in terms of the argument u and the value f, with operators and `call`, so that they
serve arrays and intervals alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from . import interval as iv
from .interval import Array, Interval
from .jets import Numbers, square
from .sinc import sinc


@dataclass(frozen=True)
class Function:
    """A smooth function of one real variable; `third` is None where it vanishes."""

    name: str
    value: Callable[[Any], Any]
    enclosure: Callable[[Interval], Interval]
    first: Callable[[Numbers, Numbers], Numbers]
    second: Callable[[Numbers, Numbers], Numbers]
    third: Callable[[Numbers, Numbers], Numbers] | None
    low: float = -np.inf  # defined for arguments between these
    high: float = np.inf

    def __call__(self, u: Numbers) -> Numbers:
        return self.enclosure(self._inside(u)) if isinstance(u, Interval) else self.value(u)

    def _inside(self, u: Interval) -> Interval:
        """The arguments for which the function is defined; nothing is known where u has none."""
        if not self.partial:
            return u
        lo, hi = np.maximum(u.lo, self.low), np.minimum(u.hi, self.high)
        return Interval(np.where(lo <= hi, lo, np.nan), np.where(lo <= hi, hi, np.nan))

    @property
    def partial(self) -> bool:
        """Whether some arguments are outside of its domain."""
        return self.low > -np.inf or self.high < np.inf


def _rounded(factor: Any, v: Numbers) -> Numbers:
    """A factor that is itself the result of a few roundings, times v."""
    product = factor * v
    if not isinstance(product, Interval):
        return product
    return Interval(iv.down(product.lo, iv.FUNCTION_ULPS), iv.up(product.hi, iv.FUNCTION_ULPS))


_TABLE = (
    Function("sin", np.sin, iv.sin, lambda u, f: cos(u), lambda u, f: -f, lambda u, f: -cos(u)),
    Function("cos", np.cos, iv.cos, lambda u, f: -sin(u), lambda u, f: -f, lambda u, f: sin(u)),
    Function(
        "tan",
        np.tan,
        iv.tan,
        lambda u, f: 1.0 + square(f),
        lambda u, f: 2.0 * f * (1.0 + square(f)),
        lambda u, f: 2.0 * (1.0 + square(f)) * (1.0 + 3.0 * square(f)),
    ),
    Function(
        "arcsin",
        np.arcsin,
        iv.monotone(np.arcsin),
        lambda u, f: 1.0 / sqrt(1.0 - square(u)),
        lambda u, f: u / (sqrt(1.0 - square(u)) * (1.0 - square(u))),
        lambda u, f: (1.0 + 2.0 * square(u)) / (sqrt(1.0 - square(u)) * square(1.0 - square(u))),
        -1.0,
        1.0,
    ),
    Function(
        "arccos",
        np.arccos,
        iv.decreasing(np.arccos),
        lambda u, f: -1.0 / sqrt(1.0 - square(u)),
        lambda u, f: -u / (sqrt(1.0 - square(u)) * (1.0 - square(u))),
        lambda u, f: -(1.0 + 2.0 * square(u)) / (sqrt(1.0 - square(u)) * square(1.0 - square(u))),
        -1.0,
        1.0,
    ),
    Function(
        "arctan",
        np.arctan,
        iv.monotone(np.arctan),
        lambda u, f: 1.0 / (1.0 + square(u)),
        lambda u, f: -2.0 * u / square(1.0 + square(u)),
        lambda u, f: (6.0 * square(u) - 2.0) / (square(1.0 + square(u)) * (1.0 + square(u))),
    ),
    Function("sinh", np.sinh, iv.monotone(np.sinh), lambda u, f: cosh(u), lambda u, f: f, lambda u, f: cosh(u)),
    Function("cosh", np.cosh, iv.cosh, lambda u, f: sinh(u), lambda u, f: f, lambda u, f: sinh(u)),
    Function(
        "tanh",
        np.tanh,
        iv.monotone(np.tanh, -1.0, 1.0),
        lambda u, f: 1.0 - square(f),
        lambda u, f: -2.0 * f * (1.0 - square(f)),
        lambda u, f: -2.0 * (1.0 - square(f)) * (1.0 - 3.0 * square(f)),
    ),
    Function("exp", np.exp, iv.monotone(np.exp, low=0.0), lambda u, f: f, lambda u, f: f, lambda u, f: f),
    Function(
        "expm1",
        np.expm1,
        iv.monotone(np.expm1, low=-1.0),
        lambda u, f: exp(u),
        lambda u, f: exp(u),
        lambda u, f: exp(u),
    ),
    Function(
        "log",
        np.log,
        iv.monotone(np.log),
        lambda u, f: 1.0 / u,
        lambda u, f: -1.0 / square(u),
        lambda u, f: 2.0 / (square(u) * u),
        0.0,
    ),
    Function(
        "log1p",
        np.log1p,
        iv.monotone(np.log1p),
        lambda u, f: 1.0 / (1.0 + u),
        lambda u, f: -1.0 / square(1.0 + u),
        lambda u, f: 2.0 / (square(1.0 + u) * (1.0 + u)),
        -1.0,
    ),
    Function(
        "sqrt",
        np.sqrt,
        iv.monotone(np.sqrt, low=0.0),
        lambda u, f: 0.5 / f,
        lambda u, f: -0.25 / (f * u),
        lambda u, f: 0.375 / (f * square(u)),
        0.0,
    ),
    Function(
        "erf",
        special.erf,
        iv.monotone(special.erf, -1.0, 1.0),
        lambda u, f: _rounded(2.0 / np.sqrt(np.pi), exp(-square(u))),
        lambda u, f: _rounded(-4.0 / np.sqrt(np.pi), u * exp(-square(u))),
        lambda u, f: _rounded(4.0 / np.sqrt(np.pi), (2.0 * square(u) - 1.0) * exp(-square(u))),
    ),
    Function(
        "reciprocal",
        lambda u: 1.0 / u,
        iv.reciprocal,
        lambda u, f: -square(f),
        lambda u, f: 2.0 * f * square(f),
        lambda u, f: -6.0 * square(square(f)),
    ),
    Function(  # sin(u) / u; np.sinc has a factor pi in it
        "sinc",
        sinc,
        sinc,
        lambda u, f: sinc(u, 1),
        lambda u, f: sinc(u, 2),
        lambda u, f: sinc(u, 3),
    ),
    Function("square", np.square, Interval.square, lambda u, f: 2.0 * u, lambda u, f: np.full((1, 1), 2.0), None),
)

FUNCTIONS: dict[str, Function] = {f.name: f for f in _TABLE}

sin: Function = FUNCTIONS["sin"]
cos: Function = FUNCTIONS["cos"]
sinh: Function = FUNCTIONS["sinh"]
cosh: Function = FUNCTIONS["cosh"]
exp: Function = FUNCTIONS["exp"]
sqrt: Function = FUNCTIONS["sqrt"]


def power(u: Numbers, k: Array) -> Numbers:
    """u ** k for an array of constant exponents."""
    return iv.power(u, k) if isinstance(u, Interval) else u**k


def power_first(k: Array) -> Callable[[Numbers, Numbers], Numbers]:
    return _falling(k, k, 1)


def power_second(k: Array) -> Callable[[Numbers, Numbers], Numbers]:
    return _falling(k, k * (k - 1), 2)


def power_third(k: Array) -> Callable[[Numbers, Numbers], Numbers]:
    return _falling(k, k * (k - 1) * (k - 2), 3)


def _falling(k: Array, factor: Array, order: int) -> Callable[[Numbers, Numbers], Numbers]:
    """factor u ** (k - order); the exponent of a vanishing term is 0, so that it stays defined at u = 0.

    Where k is not whole, the factor is rounded; below 1 so is the exponent, which is negative then, and changes the
    power by a multiple of log u.
    """
    lower = np.where(factor == 0, 0.0, k - order)
    if (k == np.round(k)).all():
        return lambda u, f: factor * power(u, lower)
    doubt = np.where((k < 1) & (k != np.round(k)), 2 * iv.EPS * np.abs(lower), 0.0)

    def derivative(u: Numbers, f: Numbers) -> Numbers:
        v = power(u, lower)
        if isinstance(v, Interval) and doubt.any():
            low, high = (1.0 + doubt * np.abs(np.log(np.maximum(end, 0.0))) for end in (u.hi, u.lo))
            v = Interval(np.where(doubt > 0, v.lo / low, v.lo), np.where(doubt > 0, v.hi * high, v.hi))
        return _rounded(factor, v)

    return derivative
