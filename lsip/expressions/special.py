"""Special functions of SciPy: gamma and its logarithm for positive arguments, ndtr, exprel, and entropies."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from . import exprel as exponential
from .arithmetic import register, rule
from .elementary import DERIVATIVES, EVERYWHERE, Function, increasing, of_scipy, with_derivatives
from .functions import FUNCTIONS, ONE_OVER_ROOT_2_PI, exp, scaled
from .graph import Expression, as_expression
from .interval import Array, Interval, widened
from .jets import Numbers, square
from .operations import Apply

# Where gamma is least, between two doubles, and a number below its value there and that of its logarithm.
LEAST_AT, LEAST_GAMMA, LEAST_LOG = (1.461632144968362, 1.4616321449683625), 0.8856031944108886, -0.12148629053584964
POLYGAMMA_ULPS = 32.0  # 4 were measured
EULER = 0.5772156649015329
ONE_OVER_E = (0.36787944117144228, 0.36787944117144239)  # the doubles around it, where -u log(u) is largest


log = FUNCTIONS["log"]
_digamma, _any_polygamma, _scipys_gammaln, _zetac = map(of_scipy, ("digamma", "polygamma", "gammaln", "zetac"))


def _positive(kernel: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """A kernel that is not defined for negative numbers."""
    return lambda u: np.where(np.asarray(u) >= 0, kernel(np.abs(u)), np.nan)


def _valley(least: float) -> Callable[[Function, Interval], Interval]:
    """Decreasing down to its least value, and increasing from there on."""

    def shape(f: Function, u: Interval) -> Interval:
        at_low, at_high = f.value(u.lo), f.value(u.hi)
        box = widened(np.minimum(at_low, at_high), np.maximum(at_low, at_high), f.ulps)
        turns = (u.lo <= LEAST_AT[1]) & (u.hi >= LEAST_AT[0])
        return Interval(np.where(turns, least, box.lo), box.hi)

    return shape


def _entropy(f: Function, u: Interval) -> Interval:
    """Increasing up to 1 / e, and decreasing from there on."""
    at_low, at_high = f.value(u.lo), f.value(u.hi)
    box = widened(np.minimum(at_low, at_high), np.maximum(at_low, at_high), f.ulps)
    turns = (u.lo <= ONE_OVER_E[1]) & (u.hi >= ONE_OVER_E[0])
    return Interval(box.lo, np.where(turns, ONE_OVER_E[1], box.hi))


def _polygamma(u: Numbers, n: int = 0) -> Numbers:
    """The n-th derivative of digamma on positive numbers: monotone, increasing if n is even."""
    if not isinstance(u, Interval):
        return _digamma(u) if n == 0 else _any_polygamma(n, u)
    ends = (u.lo, u.hi) if n % 2 == 0 else (u.hi, u.lo)
    low, high = (_digamma(v) if n == 0 else _any_polygamma(n, v) for v in ends)
    return widened(low, high, POLYGAMMA_ULPS)


digamma = with_derivatives(
    "psi", _polygamma, {"domain": (0.0, np.inf), "ulps": POLYGAMMA_ULPS, "checked": (0.0, np.inf)}
)
trigamma, tetragamma = DERIVATIVES["psi'"], DERIVATIVES["psi''"]


@cache
def _zeta_series(first: float, shift: float, terms: int = 60) -> Array:
    """Coefficients of log gamma around a point where it vanishes: first w + Σ (ζ(k) - shift) (-w)^k / k."""
    k = np.arange(2.0, terms)
    return np.concatenate([[0.0, first], _zetac(k) / k * (-1) ** k + (1 - shift) * (-1) ** k / k])


def _gammaln(u: Array) -> Array:
    """SciPy's, but for arguments around 1 and 2, where the value is small and has to keep its digits, and tiny ones."""
    u = np.asarray(u, dtype=float)
    value = np.where(u < 1e-20, -np.log(u), _scipys_gammaln(u))
    for zero, reach, first in ((1.0, 0.25, -EULER), (2.0, 0.5, 1.0 - EULER)):
        near = np.abs(u - zero) <= reach
        w = np.where(near, u - zero, 0.0)
        value = np.where(near, np.polynomial.polynomial.polyval(w, _zeta_series(first, zero - 1.0)[1:]) * w, value)
    return value


_TABLE = (
    Function(
        "ndtr",
        of_scipy("ndtr"),
        increasing,
        lambda u, f: scaled(ONE_OVER_ROOT_2_PI, exp(-0.5 * square(u))),
        lambda u, f: -scaled(ONE_OVER_ROOT_2_PI, u * exp(-0.5 * square(u))),
        lambda u, f: scaled(ONE_OVER_ROOT_2_PI, (square(u) - 1.0) * exp(-0.5 * square(u))),
        image=(0.0, 1.0),
        ulps=4096.0,  # of which it needs 1,000 where it almost vanishes
        checked=EVERYWHERE,
    ),
    Function(
        "gamma",
        _positive(of_scipy("gamma")),
        _valley(LEAST_GAMMA),
        lambda u, f: f * digamma(u),
        lambda u, f: f * (square(digamma(u)) + trigamma(u)),
        lambda u, f: f * (digamma(u) * (square(digamma(u)) + 3.0 * trigamma(u)) + tetragamma(u)),
        domain=(0.0, np.inf),
        image=(LEAST_GAMMA, np.inf),
        ulps=16.0,
        checked=(0.0, np.inf),
    ),
    Function(
        "gammaln",
        _positive(_gammaln),
        _valley(LEAST_LOG),
        lambda u, f: digamma(u),
        lambda u, f: trigamma(u),
        lambda u, f: tetragamma(u),
        domain=(0.0, np.inf),
        image=(LEAST_LOG, np.inf),
        ulps=64.0,
        checked=(0.0, np.inf),
    ),
    Function(
        "entr",
        lambda u: np.where(u < 0, np.nan, of_scipy("entr")(u)),  # where SciPy says -inf
        _entropy,
        lambda u, f: -1.0 - log(u),
        lambda u, f: -1.0 / u,
        lambda u, f: 1.0 / square(u),
        domain=(0.0, np.inf),
        image=(-np.inf, ONE_OVER_E[1]),
        ulps=16.0,
        checked=(0.0, np.inf),
        zero=0.0,
    ),
    with_derivatives(
        "exprel",
        exponential.exprel,
        {"image": (0.0, np.inf), "ulps": exponential.EXPREL_ULPS, "checked": EVERYWHERE},
    ),
)
for _function in _TABLE:
    register(_function)

DERIVATIVES[digamma.name] = digamma


@rule("psi", "digamma")
def _apply(u: Expression) -> Expression:
    return Apply(digamma, u)


def _weighted_logarithm(x: Expression, y: Expression) -> Expression:
    """x log(y), which is 0 where x is."""
    return as_expression(x * np.log(y))


def _relative_entropy(x: Expression, y: Expression) -> Expression:
    """x log(x / y), as -entr(x) - x log(y)."""
    return as_expression(-Apply(FUNCTIONS["entr"], x) - _weighted_logarithm(x, y))


rule("xlogy")(_weighted_logarithm)
rule("xlog1py")(lambda x, y: as_expression(x * np.log1p(y)))
rule("rel_entr")(_relative_entropy)
rule("kl_div")(lambda x, y: as_expression(_relative_entropy(x, y) - x + y))
