"""What is left of a function when the first k terms of its Taylor series at c are divided out: r = f[c, …, c, u].

    f(u) = a_0 + a_1 (u - c) + … + a_(k-1) (u - c)^(k-1) + r(u) (u - c)^k,

where a_j are the Taylor coefficients of f at c. So (f(u) - f(c)) / (u - c) is r for k = 1: smooth at u = c, too. It is
a mean value of derivatives (Hermite and Genocchi): for 0 < s < 1,

    r⁽ⁿ⁾(u) = ∫ s^n (1 - s)^(k-1) / (k-1)! f⁽ᵏ⁺ⁿ⁾(c + s (u - c)) ds = n! a_(k+n) over the hull of c and u.

That encloses all derivatives of r over a box, and says whether they are monotone. Values at points come from the Taylor
series of f near c, with its rest, and from the definition farther away.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import factorial
from typing import Any, ClassVar

import numpy as np

from ..errors import ModelError
from ..schema import number, text, whole
from .elementary import EVERYWHERE, Function, known
from .graph import Expression, Fields, ProofSteps, Step, varying
from .interval import EPS, NORMAL, Array, Interval
from .jets import Numbers
from .operations import Apply
from .power_series import Coefficient, series_at

TERMS = 22  # of Taylor series at c: (1 / 5)^22 is below the rounding of doubles


@dataclass(frozen=True)
class Expansion:
    """The Taylor series of a function at a point, and how far it is used."""

    coefficients: tuple[Interval, ...]  # (1, 1) each
    rest: Interval  # the coefficient of the first power that is left out, within the radius
    radius: float

    def near(self, u: Array, at: float, k: int, n: int) -> Interval:
        """Derivative n of what is left when k terms are divided out, at points within the radius.

        Term j is a_j (j - k)! / (j - k - n)! (u - c)^i with i = j - k - n, and the rest is one more of them. In
        Horner's rule, it is rounded twice i times and once more, and so is u - c in it i times, and its number three
        times: by (3 i + 4) EPS / 2 in all, of its size.
        """
        d, value = u - at, np.zeros_like(u)
        doubt, size = np.zeros_like(u), np.abs(d)
        terms = (*self.coefficients, self.rest)
        if k + n >= len(terms):
            return Interval(np.full_like(u, -np.inf), np.full_like(u, np.inf))
        for j in range(len(terms) - 1, k + n - 1, -1):
            factor = float(factorial(j - k) // factorial(j - k - n))
            low, high = factor * terms[j].lo.item(), factor * terms[j].hi.item()
            middle = 0.5 * low + 0.5 * high
            value = value * d + middle
            doubt = doubt * size + ((high - low) + 4 * (j - k - n + 2) * EPS * max(abs(low), abs(high)))
        doubt = doubt * (1 + 16 * len(terms) * EPS) + NORMAL
        return Interval(value - doubt, value + doubt)


@lru_cache(maxsize=256)
def _expansion(name: str, at: float) -> Expansion | None:
    """None where the function has no Taylor series there."""
    f = known(name)
    with np.errstate(all="ignore"):
        around = series_at(Interval.point(np.full((1, 1), at)))
        coefficients = []
        for j in range(TERMS):
            a = _interval(around.applied(f)[j], (1, 1))
            if not (np.isfinite(a.lo).all() and np.isfinite(a.hi).all()):
                break
            coefficients.append(a)
        if len(coefficients) < 2 or not smooth(f, Interval.point(np.full((1, 1), at))).all():
            return None
        last, radius = len(coefficients) - 1, 8.0 * max(1.0, abs(at))
        while radius > EPS:
            ball = Interval(np.full((1, 1), at - radius), np.full((1, 1), at + radius))
            rest = _interval(series_at(ball).applied(f)[last], (1, 1))
            largest = max(float(np.abs(a.lo).max()) * radius**j for j, a in enumerate(coefficients[:last]))
            size = max(abs(rest.lo.item()), abs(rest.hi.item()))
            if smooth(f, ball).all() and size * radius**last <= EPS * largest:
                return Expansion(tuple(coefficients[:last]), rest, radius)
            radius /= 2
    return None


def _interval(a: Coefficient, shape: tuple[int, ...]) -> Interval:
    """A coefficient over boxes."""
    if not isinstance(a, Interval):
        return Interval.point(np.full(shape, float(a)))
    return Interval(np.broadcast_to(a.lo, shape), np.broadcast_to(a.hi, shape))


def smooth(f: Function, u: Interval) -> Any:
    """Over which boxes a function is proven to be continuous, and to have all derivatives inside of them."""
    value, (low, high) = f(u), f.domain
    return (u.lo >= low) & (u.hi <= high) & np.isfinite(value.lo) & np.isfinite(value.hi)


@dataclass(frozen=True)
class DividedDifference(Function):
    """Derivative `n` of f[c, …, c, u], as a function of u; `of` is the name of f, and c = `at` stands there k times."""

    of: str = ""
    at: float = 0.0
    k: int = 1
    n: int = 0

    def __reduce__(self) -> tuple[Any, ...]:
        return divided_difference, (self.of, self.at, self.k, self.n)

    @property
    def derivative(self) -> Function:
        return divided_difference(self.of, self.at, self.k, self.n + 1)

    def evaluate(self, u: Numbers, order: int) -> Any:
        """Its derivative of that order, at points or over intervals."""
        n = self.n + order
        with np.errstate(all="ignore"):
            if not isinstance(u, Interval):
                v = np.asarray(u, dtype=float)
                box = self._at_points(np.atleast_1d(v), n)
                return np.where(box.lo == box.hi, box.lo, 0.5 * box.lo + 0.5 * box.hi).reshape(v.shape)
            return self._over(u, n)

    def _at_points(self, u: Array, n: int) -> Interval:
        """Enclosures of derivative n at points: by the series near c, by the definition elsewhere."""
        expansion = _expansion(self.of, self.at)
        assert expansion is not None, "it was checked when the function was made"
        close = np.abs(u - self.at) <= expansion.radius * (1 - EPS)
        near = expansion.near(np.where(close, u, self.at), self.at, self.k, n)
        far = self._defined(Interval.point(np.where(close, self._elsewhere, u)), n)
        return Interval(np.where(close, near.lo, far.lo), np.where(close, near.hi, far.hi))

    @property
    def _elsewhere(self) -> float:
        """A number that is not c."""
        return self.at + max(1.0, abs(self.at))

    def _defined(self, u: Interval, n: int) -> Interval:
        """Derivative n by the definition, where u is not c: f(u) - a_0, divided by u - c, and so on, k times.

        (u - c) r = s gives (u - c) r⁽ⁿ⁾ + n r⁽ⁿ⁻¹⁾ = s⁽ⁿ⁾.
        """
        expansion = _expansion(self.of, self.at)
        assert expansion is not None
        series = series_at(u).applied(known(self.of))
        below = 1.0 / (u - self.at)
        parts = [_interval(series[j], u.shape) * float(factorial(j)) for j in range(n + 1)]
        for i in range(self.k):
            a = expansion.coefficients[i]
            left = [parts[0] - a if a.lo != a.hi else parts[0] + -a.lo.item(), *parts[1:]]
            parts = [left[0] * below]
            for j in range(1, n + 1):
                parts.append((left[j] - parts[j - 1] * float(j)) * below)
        return parts[n]

    def _over(self, u: Interval, n: int) -> Interval:
        """Over boxes: mean values, monotone or not; and the definition, where c is not in them."""
        f, c = known(self.of), self.at
        hull = Interval(np.minimum(u.lo, c), np.maximum(u.hi, c))
        series = series_at(hull).applied(f)
        proven = smooth(f, hull)
        mean = _interval(series[self.k + n], u.shape) * float(factorial(n))
        slope = _interval(series[self.k + n + 1], u.shape) * float(factorial(n + 1))
        middle = np.clip(0.5 * u.lo + 0.5 * u.hi, u.lo, u.hi)
        low, high, centre = (self._at_points(v, n) for v in (u.lo, u.hi, middle))
        bent = centre + slope * (u - middle)
        rises, falls = slope.lo >= 0, slope.hi <= 0
        lo = np.where(rises, low.lo, np.where(falls, high.lo, np.fmax(bent.lo, mean.lo)))
        hi = np.where(rises, high.hi, np.where(falls, low.hi, np.fmin(bent.hi, mean.hi)))
        point = u.lo == u.hi
        lo, hi = np.where(point, low.lo, lo), np.where(point, low.hi, hi)
        lo, hi = (np.where((proven | point) & ~np.isnan(v), v, end) for v, end in ((lo, -np.inf), (hi, np.inf)))
        apart = (u.lo > c) | (u.hi < c)
        if apart.any():
            away = Interval(np.where(apart, u.lo, self._elsewhere), np.where(apart, u.hi, self._elsewhere))
            direct = self._defined(away, n)
            lo = np.where(apart, np.fmax(lo, direct.lo), lo)
            hi = np.where(apart, np.fmin(hi, direct.hi), hi)
        return Interval(lo, hi)


@lru_cache(maxsize=1024)
def divided_difference(of: str, at: float, k: int, n: int = 0) -> DividedDifference:
    """f[c, …, c, u], where c = `at` stands k times, or its derivative n; an error where f has no such Taylor series."""
    expansion = _expansion(of, at)
    if expansion is None or len(expansion.coefficients) < k:
        raise ModelError(f"{of} has no Taylor series with {k} known terms at {at:.6g}, so it cannot be divided there.")
    return DividedDifference(
        name=f"{of}[{', '.join([f'{at:.17g}'] * k)}]" + "'" * n,
        value=lambda u: divided_difference(of, at, k, n).evaluate(u, 0),
        shape=lambda f, u: f.evaluate(u, 0),  # type: ignore[attr-defined]
        first=lambda u, _: divided_difference(of, at, k, n).evaluate(u, 1),
        second=lambda u, _: divided_difference(of, at, k, n).evaluate(u, 2),
        third=lambda u, _: divided_difference(of, at, k, n).evaluate(u, 3),
        domain=known(of).domain,
        ulps=1.0,  # unused: enclosures have their own errors
        checked=EVERYWHERE,
        of=of,
        at=at,
        k=k,
        n=n,
    )


class Divided(Apply):
    """A divided difference of an elementary function, element by element."""

    op = "divided"
    schema: ClassVar[Fields] = {"args": [whole], "of": text, "at": number, "times": whole, "order": whole}

    function: DividedDifference

    def __init__(self, function: DividedDifference, u: Expression) -> None:
        super().__init__(function, u)

    def with_args(self, *args: Expression) -> Expression:
        return Divided(self.function, args[0])

    def derivative(self, args: list[Expression | None]) -> Expression:
        (du,) = varying(args)
        f = self.function
        slope: Any = Divided(divided_difference(f.of, f.at, f.k, f.n + 1), self.args[0])
        found: Expression = slope * du
        return found

    def key(self) -> tuple[Any, ...] | None:
        f = self.function
        return (f.of, f.at, f.k, f.n)

    @property
    def word(self) -> str:
        return self.op

    def file_data(self) -> Step | None:
        f = self.function
        return {"of": f.of, "at": f.at, "times": f.k, "order": f.n}

    @classmethod
    def read(cls, step: Step, args: list[Expression], where: str) -> Expression:
        return Divided(divided_difference(step["of"], float(step["at"]), step["times"], step["order"]), args[0])

    def proven(self, steps: ProofSteps, args: list[list[int]]) -> list[int]:
        f = self.function
        if f.n:
            raise ModelError(f"The format of proofs has no name for a derivative of {f.of}, as in {self}.")
        return [steps.step(self.op, a, of=f.of, at=f.at, times=f.k) for a in args[0]]


def at_limit(of: str, at: Fraction, k: int) -> Any:
    """f[c, …, c] with c k + 1 times, the Taylor coefficient k, as a fraction; nan where it is not known exactly."""
    return series_at(at).applied(known(of))[k]
