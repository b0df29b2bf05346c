"""The elementary functions of the language: kernel, enclosure, three derivatives and declared error of each.

Derivatives are written once, in terms of the argument u and the value f, with operators and functions of this table, so
that they serve arrays and intervals alike. NumPy admits kernels of 4 units, the best on this machine are below 1; SciPy
promises nothing, and the tests measured 2 units for erf, 300 for erfc, which loses digits as it decays.
"""

from __future__ import annotations

import numpy as np

from . import interval as iv
from .elementary import (
    EVERYWHERE,
    Function,
    Notation,
    decreasing,
    even,
    increasing,
    of_scipy,
    tangent,
    wave,
    with_derivatives,
)
from .elementary import FUNCTIONS as FUNCTIONS
from .interval import Interval
from .jets import Numbers, square
from .sinc import CHECKED_ANGLES, sinc

# Floats next to irrational numbers, each off by less than a unit.
LOG_2 = 0.6931471805599453
LOG2_E = 1.4426950408889634
LOG10_E = 0.4342944819032518
TWO_OVER_ROOT_PI = 1.1283791670955126
ONE_OVER_ROOT_2_PI = 0.3989422804014327
PI_ABOVE, HALF_PI_ABOVE = 3.1415926535897936, 1.5707963267948968  # the floats above pi and pi / 2


def scaled(factor: float, v: Numbers, ulps: float = 1.0) -> Numbers:
    """A real factor that is known to within so many units, times v."""
    formula = getattr(v, "scaled_by", None)  # of an expression
    if formula is not None:
        return formula(factor)
    product = factor * v
    if not isinstance(product, Interval):
        return product
    return Interval(iv.down(product.lo, ulps), iv.up(product.hi, ulps))


def _gap(u: Numbers) -> Numbers:
    """1 - u², with all its digits where |u| is almost 1."""
    if not isinstance(u, Interval):
        return (1.0 - u) * (1.0 + u)
    low, high = iv.magnitudes(u)
    return Interval(iv.down((1.0 - high) * (1.0 + high), 3.0), iv.up((1.0 - low) * (1.0 + low), 3.0))


def _erfc(f: Function, u: Interval) -> Interval:
    """The kernel has few digits but small errors in the tail; erf has all of them where the value is not small."""
    tail, body = decreasing(f, u), 1.0 - FUNCTIONS["erf"](u)
    return Interval(np.maximum(tail.lo, body.lo), np.minimum(tail.hi, body.hi))


_TABLE = (
    Function(
        "sin",
        np.sin,
        wave(np.pi / 2),
        lambda u, f: cos(u),
        lambda u, f: -f,
        lambda u, f: -cos(u),
        image=(-1.0, 1.0),
        ulps=4.0,
        checked=CHECKED_ANGLES,
        zero=0.0,
    ),
    Function(
        "cos",
        np.cos,
        wave(0.0),
        lambda u, f: -sin(u),
        lambda u, f: -f,
        lambda u, f: sin(u),
        image=(-1.0, 1.0),
        ulps=4.0,
        checked=CHECKED_ANGLES,
        zero=1.0,
    ),
    Function(
        "tan",
        np.tan,
        tangent,
        lambda u, f: 1.0 + square(f),
        lambda u, f: 2.0 * f * (1.0 + square(f)),
        lambda u, f: 2.0 * (1.0 + square(f)) * (1.0 + 3.0 * square(f)),
        ulps=4.0,
        checked=CHECKED_ANGLES,
        zero=0.0,
    ),
    Function(
        "arcsin",
        np.arcsin,
        increasing,
        lambda u, f: 1.0 / sqrt(_gap(u)),
        lambda u, f: u / (sqrt(_gap(u)) * _gap(u)),
        lambda u, f: (1.0 + 2.0 * square(u)) / (sqrt(_gap(u)) * square(_gap(u))),
        domain=(-1.0, 1.0),
        image=(-HALF_PI_ABOVE, HALF_PI_ABOVE),
        ulps=4.0,
        checked=(-1.0, 1.0),
        zero=0.0,
    ),
    Function(
        "arccos",
        np.arccos,
        decreasing,
        lambda u, f: -1.0 / sqrt(_gap(u)),
        lambda u, f: -u / (sqrt(_gap(u)) * _gap(u)),
        lambda u, f: -(1.0 + 2.0 * square(u)) / (sqrt(_gap(u)) * square(_gap(u))),
        domain=(-1.0, 1.0),
        image=(0.0, PI_ABOVE),
        ulps=4.0,
        checked=(-1.0, 1.0),
    ),
    Function(
        "arctan",
        np.arctan,
        increasing,
        lambda u, f: 1.0 / (1.0 + square(u)),
        lambda u, f: -2.0 * u / square(1.0 + square(u)),
        lambda u, f: (6.0 * square(u) - 2.0) / (square(1.0 + square(u)) * (1.0 + square(u))),
        image=(-HALF_PI_ABOVE, HALF_PI_ABOVE),
        ulps=4.0,
        checked=EVERYWHERE,
        zero=0.0,
    ),
    Function(
        "sinh",
        np.sinh,
        increasing,
        lambda u, f: cosh(u),
        lambda u, f: f,
        lambda u, f: cosh(u),
        ulps=4.0,
        checked=EVERYWHERE,
        zero=0.0,
    ),
    Function(
        "cosh",
        np.cosh,
        even,
        lambda u, f: sinh(u),
        lambda u, f: f,
        lambda u, f: sinh(u),
        image=(1.0, np.inf),
        ulps=4.0,
        checked=EVERYWHERE,
        zero=1.0,
    ),
    Function(
        "tanh",
        np.tanh,
        increasing,
        lambda u, f: 1.0 - square(f),
        lambda u, f: -2.0 * f * (1.0 - square(f)),
        lambda u, f: -2.0 * (1.0 - square(f)) * (1.0 - 3.0 * square(f)),
        image=(-1.0, 1.0),
        ulps=4.0,
        checked=EVERYWHERE,
        zero=0.0,
    ),
    Function(
        "arcsinh",
        np.arcsinh,
        increasing,
        lambda u, f: 1.0 / sqrt(1.0 + square(u)),
        lambda u, f: -u * _three_halves(1.0 / (1.0 + square(u))),
        lambda u, f: (2.0 - 3.0 / (1.0 + square(u))) * _three_halves(1.0 / (1.0 + square(u))),
        ulps=4.0,
        checked=EVERYWHERE,
        zero=0.0,
    ),
    Function(
        "arccosh",
        np.arccosh,
        increasing,
        lambda u, f: 1.0 / sqrt((u - 1.0) * (u + 1.0)),
        lambda u, f: -u * _three_halves(1.0 / ((u - 1.0) * (u + 1.0))),
        lambda u, f: (2.0 + 3.0 / ((u - 1.0) * (u + 1.0))) * _three_halves(1.0 / ((u - 1.0) * (u + 1.0))),
        domain=(1.0, np.inf),
        image=(0.0, np.inf),
        ulps=4.0,
        checked=(1.0, np.inf),
    ),
    Function(
        "arctanh",
        np.arctanh,
        increasing,
        lambda u, f: 1.0 / _gap(u),
        lambda u, f: 2.0 * u / square(_gap(u)),
        lambda u, f: (2.0 + 6.0 * square(u)) / (square(_gap(u)) * _gap(u)),
        domain=(-1.0, 1.0),
        ulps=4.0,
        checked=(-1.0, 1.0),
        zero=0.0,
    ),
    Function(
        "exp",
        np.exp,
        increasing,
        lambda u, f: f,
        lambda u, f: f,
        lambda u, f: f,
        image=(0.0, np.inf),
        ulps=4.0,
        checked=EVERYWHERE,
        zero=1.0,
        notation=Notation("exp({})", "e^{{{}}}", True, False),
    ),
    Function(
        "exp2",
        np.exp2,
        increasing,
        lambda u, f: scaled(LOG_2, f),
        lambda u, f: scaled(LOG_2, scaled(LOG_2, f)),
        lambda u, f: scaled(LOG_2, scaled(LOG_2, scaled(LOG_2, f))),
        image=(0.0, np.inf),
        ulps=4.0,
        checked=EVERYWHERE,
        zero=1.0,
    ),
    Function(
        "expm1",
        np.expm1,
        increasing,
        lambda u, f: exp(u),
        lambda u, f: exp(u),
        lambda u, f: exp(u),
        image=(-1.0, np.inf),
        ulps=4.0,
        checked=EVERYWHERE,
        zero=0.0,
    ),
    Function(
        "log",
        np.log,
        increasing,
        lambda u, f: 1.0 / u,
        lambda u, f: -1.0 / square(u),
        lambda u, f: 2.0 / (square(u) * u),
        domain=(0.0, np.inf),
        ulps=4.0,
        checked=(0.0, np.inf),
    ),
    Function(
        "log2",
        np.log2,
        increasing,
        lambda u, f: scaled(LOG2_E, 1.0 / u),
        lambda u, f: -scaled(LOG2_E, 1.0 / square(u)),
        lambda u, f: 2.0 * scaled(LOG2_E, 1.0 / (square(u) * u)),
        domain=(0.0, np.inf),
        ulps=4.0,
        checked=(0.0, np.inf),
    ),
    Function(
        "log10",
        np.log10,
        increasing,
        lambda u, f: scaled(LOG10_E, 1.0 / u),
        lambda u, f: -scaled(LOG10_E, 1.0 / square(u)),
        lambda u, f: 2.0 * scaled(LOG10_E, 1.0 / (square(u) * u)),
        domain=(0.0, np.inf),
        ulps=4.0,
        checked=(0.0, np.inf),
    ),
    Function(
        "log1p",
        np.log1p,
        increasing,
        lambda u, f: 1.0 / (1.0 + u),
        lambda u, f: -1.0 / square(1.0 + u),
        lambda u, f: 2.0 / (square(1.0 + u) * (1.0 + u)),
        domain=(-1.0, np.inf),
        ulps=4.0,
        checked=(-1.0, np.inf),
        zero=0.0,
    ),
    Function(
        "sqrt",
        np.sqrt,
        increasing,
        lambda u, f: 0.5 / f,
        lambda u, f: -0.25 / (f * u),
        lambda u, f: 0.375 / (f * square(u)),
        domain=(0.0, np.inf),
        image=(0.0, np.inf),
        ulps=1.0,  # IEEE: rounded correctly
        checked=(0.0, np.inf),
        notation=Notation("√({})", r"\sqrt{{{}}}", False, True),
    ),
    Function(
        "erf",
        of_scipy("erf"),
        increasing,
        lambda u, f: scaled(TWO_OVER_ROOT_PI, exp(-square(u))),
        lambda u, f: -2.0 * scaled(TWO_OVER_ROOT_PI, u * exp(-square(u))),
        lambda u, f: 2.0 * scaled(TWO_OVER_ROOT_PI, (2.0 * square(u) - 1.0) * exp(-square(u))),
        image=(-1.0, 1.0),
        ulps=8.0,
        checked=EVERYWHERE,
        zero=0.0,
    ),
    Function(
        "erfc",
        of_scipy("erfc"),
        _erfc,
        lambda u, f: -scaled(TWO_OVER_ROOT_PI, exp(-square(u))),
        lambda u, f: 2.0 * scaled(TWO_OVER_ROOT_PI, u * exp(-square(u))),
        lambda u, f: -2.0 * scaled(TWO_OVER_ROOT_PI, (2.0 * square(u) - 1.0) * exp(-square(u))),
        image=(0.0, 2.0),
        ulps=1024.0,
        checked=EVERYWHERE,
    ),
    Function(
        "expit",
        of_scipy("expit"),
        increasing,
        lambda u, f: f * expit(-u),
        lambda u, f: f * expit(-u) * (1.0 - 2.0 * f),
        lambda u, f: f * expit(-u) * (1.0 - 6.0 * f * expit(-u)),
        image=(0.0, 1.0),
        ulps=8.0,
        checked=EVERYWHERE,
    ),
    Function(
        "reciprocal",
        lambda u: 1.0 / u,
        lambda f, u: iv.reciprocal(u),
        lambda u, f: -square(f),
        lambda u, f: 2.0 * f * square(f),
        lambda u, f: -6.0 * square(square(f)),
        ulps=1.0,  # IEEE: rounded correctly
        checked=EVERYWHERE,
        pole=0.0,
        exponent=-1.0,
    ),
    # sin(u) / u; np.sinc has a factor pi in it
    with_derivatives("sinc", sinc, {"image": (-0.22, 1.0), "ulps": 8.0, "checked": CHECKED_ANGLES}),
    Function(
        "square",
        np.square,
        lambda f, u: u.square(),
        lambda u, f: 2.0 * u,
        lambda u, f: np.full((1, 1), 2.0),
        None,
        image=(0.0, np.inf),
        ulps=1.0,  # IEEE: rounded correctly
        checked=EVERYWHERE,
        exponent=2.0,
    ),
)

FUNCTIONS.update({f.name: f for f in _TABLE})

sin: Function = FUNCTIONS["sin"]
cos: Function = FUNCTIONS["cos"]
sinh: Function = FUNCTIONS["sinh"]
cosh: Function = FUNCTIONS["cosh"]
exp: Function = FUNCTIONS["exp"]
sqrt: Function = FUNCTIONS["sqrt"]
expit: Function = FUNCTIONS["expit"]


def _three_halves(w: Numbers) -> Numbers:
    """w ** (3 / 2)."""
    return w * sqrt(w)
