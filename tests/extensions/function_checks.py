"""The promises that every elementary function makes, as one function. Call `check_function` in the test of a new one.

The reference is python-flint, whose balls hold the exact values. Arguments are random ones of all sizes and hard ones:
beside the ends of the domain, around 0 and 1, subnormal, where results overflow and vanish, and the floats nearest to
multiples of pi / 2, found by continued fractions.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from lsip.expressions.elementary import Function
from lsip.expressions.interval import EPS, LARGEST, NORMAL, Interval

from .. import exact

Array = NDArray[np.float64]
Reference = Callable[[Any], Any]

BITS = 300
# Around these, results of some function overflow, vanish or round to 1.
EDGES = (0.0, 0.5, 1.0, 2.0, 5.9, 18.4, 26.5, 36.8, 37.5, 38.5, 100.0, 708.4, 709.78, 710.47, 744.4, 745.13, 1023, 1074)


def check_function(function: Function, reference: Reference, series: Reference, seed: int = 0) -> float:
    """The largest error found, in units; raises AssertionError, naming the promise, if `function` breaks one.

    Parameters
    ----------
    function
        What is declared.
    reference
        The function of a `flint.arb`.
    series
        The function of a `flint.arb_series`, for its derivatives.
    seed
        Of the random arguments.
    """
    with flint.ctx.workprec(BITS):
        u = arguments(function, 20_000, seed)
        worst = _check_error(function, reference, u)
        _check_enclosures(function, reference, u, seed)
    _check_derivatives(function, series, u, seed)
    _check_ends(function)
    return worst


def arguments(function: Function, count: int, seed: int = 0) -> Array:
    """Random and hard arguments in the domain, at least `count` of them among those that are checked."""
    rng = np.random.default_rng(seed)
    low, high = function.domain
    turns = near_turns()
    turns = np.concatenate([turns[turns < 1e10], rng.choice(turns, 200)])
    tiny = 2.0 ** -np.arange(1000.0, 1075.0)
    hard = np.concatenate([turns, tiny, _around(EDGES, rng), _around((low, high), rng)])
    found = _inside(np.concatenate([hard, -hard]), function)
    while ((found >= function.checked[0]) & (found <= function.checked[1])).sum() < count:
        n = count // 4
        size = np.concatenate(
            [10.0 ** rng.uniform(-300, 300, n), 10.0 ** rng.uniform(-4, 4, n), rng.uniform(0, 800, n)]
        )
        near = np.clip(rng.normal(size=n), max(low, -1e3), min(high, 1e3))
        found = np.concatenate([found, _inside(np.concatenate([size, -size, near]), function)])
    return found


def _around(points: tuple[float, ...], rng: np.random.Generator) -> Array:
    """The floats next to some points, and others ever further away."""
    found = [np.zeros(0)]
    for point in points:
        if np.isfinite(point):
            steps = np.arange(-20, 21) * np.spacing(abs(point))
            away = 10.0 ** rng.uniform(-18, 0, 60)
            found += [point + steps, point + away, point - away]
    return np.concatenate(found)


@cache
def near_turns() -> Array:
    """Floats of all sizes that are unusually close to a multiple of pi / 2."""
    found = []
    half_pi = Fraction(exact.PI) / 2
    for exponent in range(1024):
        scale = Fraction(2) ** (exponent - 52)
        ratio = half_pi / scale  # m / k should be close to it, with m a significand
        for p, _ in _convergents(ratio, 2**53):
            multiples = {1, 2**52 // p + 1, (2**53 - 1) // p} if p else set()
            found += [float(p * j * scale) for j in multiples if 2**52 <= p * j < 2**53]
    return np.unique(found)


def _convergents(x: Fraction, most: int) -> list[tuple[int, int]]:
    """The convergents p / q of x with p < most, and the fractions between them."""
    p, q, p_old, q_old = 1, 0, 0, 1
    found = []
    while x.denominator:
        whole = x.numerator // x.denominator
        steps = [(part * p + p_old, part * q + q_old) for part in {1, whole - 1, whole} - {0, -1}]
        found += [step for step in steps if step[0] < most]
        p, q, p_old, q_old = whole * p + p_old, whole * q + q_old, p, q
        rest = x - whole
        if p >= most or not rest:
            break
        x = 1 / rest
    return found


def _inside(u: Array, function: Function) -> Array:
    low, high = function.domain
    return u[(u >= low) & (u <= high) & np.isfinite(u)]


def units(value: float, ball: Any) -> float:
    """By how many units a result differs from the exact one; what is not a normal number is forgiven 2^-1022."""
    if np.isinf(value):  # as it should be where the ball is large, or too large even for a ball
        small = ball < LARGEST * (1 - EPS) if value > 0 else ball > -LARGEST * (1 - EPS)
        return np.inf if small else 0.0
    off = abs(flint.arb(value) - ball) - NORMAL
    return float((off / (flint.arb(abs(value)) * EPS + NORMAL * EPS)).upper()) if off > 0 else 0.0


def _check_error(function: Function, reference: Reference, u: Array) -> float:
    """Also one at a time and with strides, for which NumPy has other kernels."""
    u = u[(u >= function.checked[0]) & (u <= function.checked[1])]
    u = u[~np.isin(u, _poles(function))]
    with np.errstate(all="ignore"):
        plain = function.value(u)
        others = [function.value(u[::-1])[::-1], function.value(np.repeat(u, 3)[::3])]
        few = slice(0, None, 10)
        one_by_one = np.array([float(function.value(np.asarray(v))) for v in u[few]])
    worst = (0.0, 0.0)
    for where, values in [(slice(None), plain), *((slice(None), v) for v in others), (few, one_by_one)]:
        new = np.flatnonzero(values != plain[where]) if values is not plain else np.arange(len(u))
        for argument, value in zip(u[where][new].tolist(), values[new].tolist(), strict=True):
            ball = reference(flint.arb(argument))
            tight = np.isinf(value) or ball.rad() <= abs(ball) * EPS * 1e-3 + NORMAL
            assert tight, f"the reference is too rough at u = {argument!r}"
            worst = max(worst, (units(value, ball), argument))
    error, at = worst
    assert error <= function.ulps, (
        f"{function.name}({at!r}) is off by {error:.1f} units, more than the {function.ulps:g} that are declared"
    )
    return error


def _poles(function: Function) -> Array:
    """Where the domain ends the value may be infinite; `_check_ends` looks at that."""
    return np.array([v for v in (*function.domain, function.pole) if np.isfinite(v)])


def _check_enclosures(function: Function, reference: Reference, u: Array, seed: int) -> None:
    rng = np.random.default_rng(seed)
    u = rng.permutation(u[~np.isin(u, _poles(function))])[:1500]
    other = np.where(rng.random(len(u)) < 0.5, rng.permutation(u), u * (1 + 10.0 ** rng.uniform(-16, 0, len(u))))
    low, high = function.domain
    lower, upper = np.clip(np.minimum(u, other), low, high), np.clip(np.maximum(u, other), low, high)
    with np.errstate(all="ignore"):
        point, wide = function(Interval(u, u)), function(Interval(lower, upper))
        between = np.clip(lower + rng.random(len(u)) * (upper - lower), lower, upper)
    assert not (point.lo < function.image[0]).any(), "the image holds all enclosures"
    assert not (point.hi > function.image[1]).any(), "the image holds all enclosures"
    for i in range(len(u)):
        for v, boxes in ((u[i], (point, wide)), (between[i], (wide,))):
            if np.isfinite(v) and v not in _poles(function):
                ball = reference(flint.arb(float(v)))
                for box in boxes:
                    assert holds(box.lo[i], box.hi[i], ball), (
                        f"{function.name}({v!r}) is not in [{box.lo[i]!r}, {box.hi[i]!r}], the enclosure over "
                        f"[{lower[i]!r}, {upper[i]!r}]"
                    )


def holds(lo: float, hi: float, ball: Any) -> bool:
    """Whether an enclosure may hold the exact value, which is somewhere in a tiny ball; nan promises nothing."""
    below = lo == np.inf or (np.isfinite(lo) and flint.arb(float(lo)) > ball)
    above = hi == -np.inf or (np.isfinite(hi) and flint.arb(float(hi)) < ball)
    return not (below or above)


def _check_derivatives(function: Function, series: Reference, u: Array, seed: int) -> None:
    rng = np.random.default_rng(seed + 1)
    low, high = function.domain
    ends = [v + s * 10.0**-k for v in (low, high) if np.isfinite(v) for k in range(1, 17) for s in (1, -1)]
    usual = u[(np.abs(u) > 1e-6) & (np.abs(u) < 1e3)]
    u = np.concatenate([rng.permutation(usual)[:400], rng.permutation(u[np.abs(u) < 1e8])[:100], ends, EDGES[1:10]])
    u = u[(u > low) & (u < high) & (u != function.pole) & (u != 0.0)]
    box = Interval(u, u)
    with np.errstate(all="ignore"):
        value = function(box)
        third = None if function.third is None else function.third(box, value)
        found = [function.first(box, value), function.second(box, value), third]
    with flint.ctx.workprec(4000):
        for i, argument in enumerate(u.tolist()):
            taylor = series(flint.arb_series([flint.arb(argument), 1], prec=4)).coeffs()
            taylor += [flint.arb(0)] * (4 - len(taylor))
            for order, derivative in enumerate(found, start=1):
                ball = taylor[order] * (1, 1, 2, 6)[order]
                if derivative is None:
                    assert ball.contains(0), f"derivative {order} of {function.name} does not vanish"
                    continue
                lo, hi = (end if end.size == 1 else end[i] for end in _ends(derivative))
                assert holds(float(np.ravel(lo)[0]), float(np.ravel(hi)[0]), ball), (
                    f"derivative {order} of {function.name} at {argument!r} is not in [{lo!r}, {hi!r}]"
                )


def _ends(derivative: Any) -> tuple[Array, Array]:
    return (derivative.lo, derivative.hi) if isinstance(derivative, Interval) else (derivative, derivative)


def _check_ends(function: Function) -> None:
    low, high = function.domain
    for end, sign in ((low, -1.0), (high, 1.0)):
        if not np.isfinite(end):
            continue
        at, outside = np.array([end]), np.array([end + sign * max(abs(end), 1.0) * EPS])
        with np.errstate(all="ignore"):
            box = function(Interval(at, at))
            slope = function.first(Interval(at, at), box)
            value, beyond, undefined = function.value(at), function(Interval(outside, outside)), function.value(outside)
        assert (box.lo <= value).all(), "the value at the end of the domain, be it infinite, is in its enclosure"
        assert (value <= box.hi).all() or value == np.inf, "the same from above"
        assert not np.isfinite(slope.lo).all() or not np.isfinite(slope.hi).all(), (
            f"the slope of {function.name} is bounded at {end}, where its domain ends: expansions would reach beyond"
        )
        assert np.isnan(beyond.lo).all(), f"nothing is known of {function.name} outside of its domain"
        assert np.isnan(undefined).all(), f"{function.name} has a value outside of its domain"
