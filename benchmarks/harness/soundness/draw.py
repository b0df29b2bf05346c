"""Random index sets and random formulas over them, with ranges that hold for every index point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import acosh, asinh, atan, atanh, erf, exp, expm1, log, log1p, pi, sinh, sqrt, tan, tanh

import numpy as np

from .formulas import Formula, apply, coordinate, number
from .sets import Ball, Box, Budget, Finite, IndexSet, Polytope, Product, Simplex, Union

Rng = np.random.Generator


def short(value: float, digits: int = 3) -> float:
    """A number with few digits, as people write them."""
    return float(f"{value:.{digits}g}")


def dyadic(value: float, bits: int = 6) -> float:
    """A number with few bits, so that sums and products of several are exact."""
    return float(round(value * 2**bits) / 2**bits)


def power_of_ten(rng: Rng, low: float, high: float) -> float:
    """A power of ten or, every other time, a number of its size."""
    k = rng.uniform(low, high)
    return float(f"1e{round(k)}") if rng.random() < 0.5 else short(10**k)


# ---- index sets ------------------------------------------------------------------------------------------------------


def interval(rng: Rng) -> IndexSet:
    low = float(rng.choice([0.0, 0.0, -1.0, short(rng.normal() * 3)]))
    width = float(rng.choice([1.0, 1.0, 2.0, short(10 ** rng.uniform(-3, 3))]))
    return Box((low,), (low + width,), scalar=True)


def box(rng: Rng, m: int | None = None) -> IndexSet:
    m = m or int(rng.integers(2, 4))
    low = [float(rng.choice([0.0, 0.0, -1.0, short(rng.normal())])) for _ in range(m)]
    width = [float(rng.choice([1.0, 1.0, 2.0, short(10 ** rng.uniform(-2, 2))])) for _ in range(m)]
    return Box(tuple(low), tuple(a + w for a, w in zip(low, width, strict=True)))


def ball_set(rng: Rng, m: int | None = None) -> IndexSet:
    m = m or int(rng.integers(2, 4))
    centre = tuple(float(rng.choice([0.0, 0.0, short(rng.normal())])) for _ in range(m))
    return Ball(centre, float(rng.choice([1.0, 1.0, 0.5, dyadic(rng.uniform(0.1, 4))])))


def simplex(rng: Rng) -> IndexSet:
    return Simplex(int(rng.integers(2, 4)))


def budget(rng: Rng) -> IndexSet:
    m = int(rng.integers(2, 4))
    return Budget(m, float(rng.choice([0.5, 1.0, 1.5, short(rng.uniform(0.1, m))])))


def polytope(rng: Rng) -> IndexSet:
    """A box with a few corners cut off."""
    m = int(rng.integers(1, 4))
    middle = np.array([dyadic(v) for v in rng.normal(size=m)])
    A = np.concatenate([np.eye(m), -np.eye(m)])
    b = np.concatenate([middle, -middle]) + [short(v) for v in rng.uniform(0.2, 2, 2 * m)]
    for _ in range(int(rng.integers(0, 3))):
        row = np.array([short(v, 2) for v in rng.normal(size=m)])
        A = np.concatenate([A, row[None]])
        b = np.append(b, short(row @ middle + abs(rng.normal()) * 0.3 + 0.05))
    return Polytope(tuple(map(tuple, A.tolist())), tuple(b.tolist()))


def flat(rng: Rng) -> IndexSet:
    """A polytope without interior: two inequalities that make one equation, through a point that satisfies it."""
    m = int(rng.integers(2, 4))
    middle = np.array([dyadic(v, 4) for v in rng.normal(size=m)])
    row = np.array([dyadic(v, 3) or 1.0 for v in rng.normal(size=m)])
    side = float(sum(Fraction(a) * Fraction(v) for a, v in zip(row.tolist(), middle.tolist(), strict=True)))
    A = np.concatenate([np.eye(m), -np.eye(m), row[None], -row[None]])
    b = np.concatenate([middle + 1.0, 1.0 - middle, [side, -side]])
    return Polytope(tuple(map(tuple, A.tolist())), tuple(b.tolist()))


def finite(rng: Rng) -> IndexSet:
    m, count = int(rng.integers(1, 4)), int(rng.integers(1, 30))
    points = {tuple(short(v) for v in rng.normal(size=m) * 2) for _ in range(count)}
    return Finite(tuple(sorted(points)))


def product(rng: Rng) -> IndexSet:
    first = (interval, finite, lambda g: ball_set(g, 2))[int(rng.integers(3))](rng)
    if isinstance(first, Finite):
        first = Finite(tuple(sorted({(p[0],) for p in first.points})))
    return Product((first, interval(rng)))


def union(rng: Rng) -> IndexSet:
    if rng.random() < 0.5:
        first, gap = interval(rng), short(rng.uniform(0.1, 2))
        low = float(first.box[1][0]) + gap
        return Union((first, Box((low,), (low + short(rng.uniform(0.1, 2)),), scalar=True)))
    second = Finite(tuple(tuple(short(v) for v in rng.normal(size=2)) for _ in range(3)))
    return Union((ball_set(rng, 2), box(rng, 2) if rng.random() < 0.5 else second))


SETS: dict[str, Callable[[Rng], IndexSet]] = {
    "interval": interval,
    "box": box,
    "ball": ball_set,
    "simplex": simplex,
    "budget": budget,
    "polytope": polytope,
    "flat": flat,
    "finite": finite,
    "product": product,
    "union": union,
}


def any_set(rng: Rng) -> IndexSet:
    """One of the kinds, intervals half of the time."""
    kinds = list(SETS.values())
    return interval(rng) if rng.random() < 0.5 else kinds[int(rng.integers(len(kinds)))](rng)


def member(rng: Rng, over: IndexSet) -> tuple[float, ...]:
    """A random point: a corner or other notable place at times, with few bits mostly."""
    if rng.random() < 0.3:
        corners = over.corners()
        return tuple(map(float, corners[int(rng.integers(len(corners)))]))
    y = over.sample(rng, 1)[0]
    low, high = over.box
    with np.errstate(divide="ignore"):
        bits = [int(12 - np.floor(np.log2(max(w, 1e-12)))) for w in high - low]
    rounded = [dyadic(v, k) for v, k in zip(y, bits, strict=True)]
    return tuple(map(float, over.exact(rounded if rng.random() < 0.7 else y)))


# ---- formulas --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ranged:
    """A formula and numbers between which its values are."""

    formula: Formula
    low: float
    high: float

    def grown(self) -> Ranged:
        """With room for the rounding of the ends."""
        room = 1e-9 * (abs(self.low) + abs(self.high)) + 1e-300
        return Ranged(self.formula, self.low - room, self.high + room)


def fit(u: Ranged, low: float, high: float) -> Ranged:
    """An affine function of u with values between `low` and `high`."""
    span = u.high - u.low
    if not span > 1e-9 * max(abs(u.low), abs(u.high)):
        middle = (low + high) / 2
        return (
            Ranged(apply("maximum", apply("minimum", u.formula, high), low), low, high)
            if span
            else Ranged(u.formula * 0.0 + middle, middle, middle)
        )
    slope = short(0.98 * (high - low) / span)
    shift = low + 0.005 * (high - low) - slope * u.low
    fitted = u.formula * slope + shift
    return Ranged(fitted, slope * u.low + shift, slope * u.high + shift).grown()


def affine(rng: Rng, over: IndexSet) -> Ranged:
    """A combination of the coordinates."""
    low, high = over.box
    j = int(rng.integers(over.dim))
    u = Ranged(coordinate(j), float(low[j]), float(high[j]))
    if over.dim == 1 or rng.random() < 0.5:
        return u
    k = int(rng.integers(over.dim))
    w = short(rng.normal())
    ends = sorted((w * float(low[k]), w * float(high[k])))
    return Ranged(u.formula + coordinate(k) * w, u.low + ends[0], u.high + ends[1]).grown()


def _rising(f: Callable[[float], float]) -> Callable[[Ranged], tuple[float, float]]:
    return lambda u: (f(u.low), f(u.high))


def _within(low: float, high: float) -> Callable[[Ranged], tuple[float, float]]:
    return lambda u: (low, high)


# A function: the arguments that it is given, and its range for them.
UNARY: dict[str, tuple[float, float, Callable[[Ranged], tuple[float, float]]]] = {
    "sin": (-7, 7, _within(-1, 1)),
    "cos": (-7, 7, _within(-1, 1)),
    "tan": (-1.3, 1.3, _rising(tan)),
    "arcsin": (-0.95, 0.95, _within(-pi / 2, pi / 2)),
    "arccos": (-0.95, 0.95, _within(0, pi)),
    "arctan": (-4, 4, _rising(atan)),
    "sinh": (-2, 2, _rising(sinh)),
    "cosh": (-2, 2, _within(1, 3.8)),
    "tanh": (-3, 3, _rising(tanh)),
    "arcsinh": (-5, 5, _rising(asinh)),
    "arccosh": (1.05, 5, _rising(acosh)),
    "arctanh": (-0.9, 0.9, _rising(atanh)),
    "exp": (-3, 2, _rising(exp)),
    "exp2": (-3, 2, _rising(lambda v: 2.0**v)),
    "expm1": (-2, 2, _rising(expm1)),
    "log": (0.1, 6, _rising(log)),
    "log2": (0.1, 6, _rising(lambda v: log(v) / log(2))),
    "log10": (0.1, 6, _rising(lambda v: log(v) / log(10))),
    "log1p": (-0.8, 5, _rising(log1p)),
    "sqrt": (0.01, 5, _rising(sqrt)),
    "sinc": (-3, 3, _within(-0.25, 1)),
    "deg2rad": (-180, 180, _within(-3.2, 3.2)),
    "erf": (-2, 2, _rising(erf)),
    "erfc": (-2, 2, _within(0, 2)),
    "expit": (-4, 4, _within(0, 1)),
    "reciprocal": (0.2, 4, lambda u: (1 / u.high, 1 / u.low)),
    "square": (-2, 2, _within(0, 4.1)),
    "absolute": (-2, 2, _within(0, 2.1)),
}


def elementary(rng: Rng, u: Ranged, name: str | None = None) -> Ranged:
    """A function of the table, of u fitted to arguments for which it is defined."""
    name = name or str(rng.choice(list(UNARY)))
    low, high, values = UNARY[name]
    inner = fit(u, low, high)
    return Ranged(apply(name, inner.formula), *values(inner)).grown()


def _monomial(rng: Rng, u: Ranged) -> Ranged:
    power = float(rng.choice([2.0, 3.0, 4.0, 5.0, 2.5, -1.0, 0.5, 1.7]))
    if power == round(power) and power > 0:
        inner = fit(u, -1.0, 1.0)
        return Ranged(inner.formula**power, -1.0, 1.0).grown()
    inner = fit(u, 0.3, 1.5)
    ends = sorted((inner.low**power, inner.high**power))
    return Ranged(inner.formula**power, *ends).grown()


def _binary(rng: Rng, u: Ranged, v: Ranged) -> Ranged:
    op = str(rng.choice(["add", "subtract", "multiply", "divide", "maximum", "minimum", "hypot", "arctan2", "power"]))
    u, v = fit(u, -1.0, 1.0), fit(v, 0.5, 2.0) if op in ("divide", "power") else fit(v, -1.0, 1.0)
    if op == "power":
        u = fit(u, 0.3, 2.0)
        return Ranged(u.formula**v.formula, 0.09, 4.1)
    if op == "arctan2" and rng.random() < 0.7:
        v = fit(v, 0.1, 1.0)  # away from the cut and the origin
    return Ranged(apply(op, u.formula, v.formula), -pi - 0.1, pi + 0.1)


def _switch(rng: Rng, u: Ranged, over: IndexSet) -> Ranged:
    """Two functions, by the side of a threshold on which the index lies."""
    at = fit(affine(rng, over), -1.0, 1.0)
    split = dyadic(rng.uniform(-0.8, 0.8), 3)
    a = fit(u, -1.0, 1.0)
    b = fit(elementary(rng, affine(rng, over)), -1.0, 1.0) if rng.random() < 0.5 else Ranged(number(0.25), 0.25, 0.25)
    op = str(rng.choice(["where_less", "where_at_most"]))
    return Ranged(apply(op, at.formula, split, a.formula, b.formula), -1.0, 1.0)


def function(rng: Rng, over: IndexSet, depth: int | None = None) -> Ranged:
    """A random function of the index, with values that are neither large nor small."""
    depth = int(rng.choice([0, 1, 1, 1, 2, 2, 3])) if depth is None else depth
    u = affine(rng, over)
    for _ in range(depth):
        draw = rng.random()
        if draw < 0.6:
            u = elementary(rng, u)
        elif draw < 0.75:
            u = _monomial(rng, u)
        elif draw < 0.93:
            u = _binary(rng, u, affine(rng, over))
        else:
            u = _switch(rng, u, over)
    return fit(u, -1.0, 1.0)
