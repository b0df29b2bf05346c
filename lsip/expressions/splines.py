"""Piecewise polynomials at an index: np.interp, and the splines of SciPy.

Between two knots the function is the polynomial that its coefficients say, in exact arithmetic. Splines are smooth only
up to the rounding of their coefficients: what they jump by at their knots, and what their derivatives do, is computed,
and everything is enclosed with that much more room. So expansions reach across knots wherever the spline does.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ModelError
from ..schema import Either, Schema, demand, missing
from ..validation import numbers, shown
from .elementary import EVERYWHERE, Function, by_order
from .graph import NUMBERS, PLACES, WORDS, Expression, Step, Word, as_expression
from .interval import EPS, Array, Interval, up
from .jets import Numbers
from .operations import Apply
from .operators import FUNCTION_RULES, Operators

if TYPE_CHECKING:
    from scipy.interpolate import BSpline, PPoly

Ints = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Pieces:
    """Polynomials between knots: the sum over k of coefficient[k] times (u - origin)^(degree - k)."""

    knots: Array  # (K - 1,), where a piece ends and the next one begins
    origins: Array  # (K,)
    low: Array  # (degree + 1, K), coefficients, the highest first: all between these and `high`
    high: Array

    def derivative(self) -> Pieces:
        """Of the pieces."""
        degree = len(self.low) - 1
        if degree == 0:
            zero = np.zeros((1, len(self.origins)))
            return Pieces(self.knots, self.origins, zero, zero)
        powers = np.arange(degree, 0, -1.0)[:, None]
        scaled = Interval(self.low[:-1], self.high[:-1]) * Interval.point(np.broadcast_to(powers, self.low[:-1].shape))
        return Pieces(self.knots, self.origins, scaled.lo, scaled.hi)

    def at(self, u: Array) -> Array:
        """Values, in floats."""
        piece = np.searchsorted(self.knots, u, side="right")
        w, middle = u - self.origins[piece], 0.5 * self.low + 0.5 * self.high
        total = middle[0][piece]
        for row in middle[1:]:
            total = total * w + row[piece]
        return np.where(np.isnan(u), np.nan, total)

    def over(self, u: Interval) -> Interval:
        """Enclosures: of all pieces that meet an interval."""
        first = np.searchsorted(self.knots, u.lo, side="left")
        last = np.searchsorted(self.knots, u.hi, side="right")
        lo, hi = np.full(u.shape, np.inf), np.full(u.shape, -np.inf)
        for step in range(int((last - first).max(initial=0)) + 1):
            here = np.flatnonzero((first + step <= last).ravel())
            if not len(here):
                break
            piece = (first.ravel() + step)[here]
            found = self._over_one(u.lo.ravel()[here], u.hi.ravel()[here], piece)
            lo.ravel()[here] = np.minimum(lo.ravel()[here], found.lo)
            hi.ravel()[here] = np.maximum(hi.ravel()[here], found.hi)
        unknown = np.isnan(u.lo) | np.isnan(u.hi)
        return Interval(np.where(unknown, np.nan, lo), np.where(unknown, np.nan, hi))

    def _over_one(self, lo: Array, hi: Array, piece: Ints) -> Interval:
        ends = np.concatenate([[-np.inf], self.knots, [np.inf]])
        lo, hi = np.clip(lo, ends[piece], ends[piece + 1]), np.clip(hi, ends[piece], ends[piece + 1])
        coefficients = [Interval(a[piece], b[piece]) for a, b in zip(self.low, self.high, strict=True)]
        if len(coefficients) == 1:
            return coefficients[0]
        w = Interval(lo, hi) - Interval.point(self.origins[piece])
        total: Interval = coefficients[0]
        for row in coefficients[1:]:
            total = total * w + row
        return total

    def jumps(self) -> tuple[float, float]:
        """What all jumps at knots add up to, at most, and the size of the function beside them."""
        if not len(self.knots):
            return 0.0, 0.0
        piece = np.arange(len(self.knots))
        before, after = (self._over_one(self.knots, self.knots, piece + k) for k in (0, 1))
        gap = np.maximum(np.abs(after.hi - before.lo), np.abs(before.hi - after.lo))
        size = (
            np.maximum(np.abs(before.lo), np.abs(before.hi)).max()
            + np.maximum(np.abs(after.lo), np.abs(after.hi)).max()
        )
        return float(up(np.asarray(gap.sum()), 4.0 + len(gap))), float(size)


class Spline(Function):
    """A piecewise polynomial as an elementary function; a file holds its numbers."""

    pieces: Pieces
    span: tuple[float, float]

    def __reduce__(self) -> Any:
        p = self.pieces
        return made, (p.knots, p.origins, p.low, p.high, self.span)

    @property
    def word(self) -> str:
        return "spline"

    @property
    def derivative(self) -> Spline:
        """Its pieces, differentiated."""
        p = self.pieces.derivative()
        return made(p.knots, p.origins, p.low, p.high, self.span)

    def file_data(self, spelled_out: bool) -> Step | None:
        parts = {name: getattr(self.pieces, name).tolist() for name in _PIECES}
        return {**parts, "span": None if self.span == EVERYWHERE else list(self.span)}


def made(knots: Array, origins: Array, low: Array, high: Array, span: tuple[float, float] = EVERYWHERE) -> Spline:
    """The function of some pieces, defined between the numbers of `span`."""
    levels = [Pieces(knots, origins, low, high)]
    for _ in range(3):
        levels.append(levels[-1].derivative())
    room, smooth = [], True
    for level in levels:
        gap, size = level.jumps()
        rounded = smooth and gap <= 1e-9 * size  # of a derivative, that is rounding and no jump
        # Of what is rounding, twice as much on either side: once for the centre of an expansion, once for the rest.
        room.append(2 * gap * (1 + 4 * EPS) if rounded else np.nan)
        smooth = rounded

    def derived(u: Numbers, order: int = 0) -> Numbers:
        """A derivative, at points or over intervals."""
        level = levels[order]
        if not isinstance(u, Interval):
            return np.where((u >= span[0]) & (u <= span[1]), level.at(u), np.nan)
        box = level.over(u)
        # Across a knot, a derivative is bounded only if what it is the derivative of does not jump there.
        across = np.searchsorted(knots, u.lo, side="left") < np.searchsorted(knots, u.hi, side="right")
        broken = order > 0 and any(np.isnan(r) for r in room[:order])
        extra = 0.0 if np.isnan(room[order]) else room[order]
        lo, hi = box.lo - extra, box.hi + extra
        if extra:
            lo, hi = np.nextafter(lo, -np.inf), np.nextafter(hi, np.inf)
        unbounded = across & broken
        if order > 0:  # an expansion must not reach beyond the ends
            unbounded = unbounded | (u.lo < span[0]) | (u.hi > span[1])
        if unbounded.any():
            lo, hi = np.where(unbounded, -np.inf, lo), np.where(unbounded, np.inf, hi)
        return Interval(lo, hi)

    digest = sha256(b"".join(part.tobytes() for part in (knots, origins, low, high))).hexdigest()[:12]
    spline = Spline(
        f"spline_{digest}",
        *by_order(derived),
        domain=span,
        ulps=1.0,  # unused: enclosures are those of the polynomials
        checked=EVERYWHERE,
    )
    object.__setattr__(spline, "pieces", levels[0])
    object.__setattr__(spline, "span", span)
    return spline


def interp(
    x: object, xp: object, fp: object, left: object = None, right: object = None, period: object = None
) -> Expression:
    """np.interp at an index expression: straight lines between (xp, fp), and the numbers at the ends beyond them.

    The values `fp` may be variables: it is a sum of hats then.
    """
    if isinstance(fp, Operators) and isinstance(x, Expression) and fp.ndim == 1:
        hats: Any = np.stack([interp(x, xp, row, left, right, period) for row in np.eye(fp.size)], axis=-1)
        result = hats @ fp
        result.origin = ("interp", x, xp, fp)
        return result
    if isinstance(xp, Operators) or isinstance(fp, Operators) or not isinstance(x, Operators):
        raise ModelError("np.interp takes an index expression first, numbers `xp`, and numbers or variables `fp`.")
    if period is not None or left is not None or right is not None:
        raise ModelError("np.interp takes only x, xp and fp here; use np.where for other values beyond the ends.")
    knots, values = numbers(xp, "`xp`"), numbers(fp, "`fp`")
    if knots.ndim != 1 or knots.shape != values.shape or len(knots) < 2 or not (np.diff(knots) > 0).all():
        raise ModelError("np.interp needs two or more increasing numbers `xp`, and as many `fp`.")
    rise = Interval.point(values[1:]) - Interval.point(values[:-1])
    slope = rise / (Interval.point(knots[1:]) - Interval.point(knots[:-1]))
    zero = np.zeros(1)
    low = np.stack([np.concatenate([zero, slope.lo, zero]), np.concatenate([values[:1], values])])
    high = np.stack([np.concatenate([zero, slope.hi, zero]), np.concatenate([values[:1], values])])
    result = Apply(made(knots, np.concatenate([knots[:1], knots]), low, high), as_expression(x))
    result.origin = ("interp", x)
    return result


def spline(f: PPoly | BSpline, u: Expression | ArrayLike) -> Any:
    """A spline of SciPy at an index expression: CubicSpline, PchipInterpolator, Akima1DInterpolator, PPoly, BSpline.

    The model has the piecewise polynomial whose coefficients SciPy computed, `f.c` between the knots `f.x`; a `BSpline`
    is rewritten as one first, which rounds. With `extrapolate=False` it is undefined beyond its knots. A spline whose
    values are arrays has the axes of these last, as in SciPy.

    Examples
    --------
    >>> import lsip, numpy as np
    >>> from scipy.interpolate import CubicSpline
    >>> demand = CubicSpline([0, 1, 2, 3], [1, 3, 2, 4])
    >>> z, t = lsip.Variable(name="z"), lsip.Index("t", lsip.Interval(0, 3))
    >>> problem = lsip.Problem(lsip.minimize(z), [lsip.forall(t, z >= lsip.spline(demand, t))])
    >>> print(f"{problem.solve(verbose=False).value:.6f}")
    4.000000
    """
    from scipy.interpolate import BSpline, PPoly

    poly = _pieces(f) if isinstance(f, BSpline) else f
    if not isinstance(poly, PPoly):
        raise ModelError(
            f"lsip.spline takes a spline of scipy.interpolate first, then an index; got {shown(f)}.\nIn the place of "
            "interp1d(x, y)(t), write np.interp(t, x, y)."
        )
    if not isinstance(u, Operators):
        theirs = None if isinstance(u, np.ndarray | np.generic) else getattr(u, "__array_function__", None)
        return (
            f(numbers(u, "What a spline is evaluated at", nan=True))
            if theirs is None
            else theirs(spline, (type(u),), (f, u), {})
        )  # an index of another door
    extrapolate = f.extrapolate
    if extrapolate == "periodic":
        raise ModelError("A periodic spline is none here: write lsip.spline(f, u % period) of one that is not.")
    c, x = numbers(poly.c, "coefficients"), numbers(poly.x, "knots")
    if not (np.diff(x) >= 0).all():
        raise ModelError(f"lsip.spline needs increasing knots; got {shown(x)}.")
    proper = np.diff(x) > 0  # knots of a BSpline are repeated
    c, x = c[:, proper], np.append(x[:-1][proper], x[-1])
    span = EVERYWHERE if extrapolate else (float(x[0]), float(x[-1]))
    columns = c.reshape(*c.shape[:2], -1)
    each = [Apply(_shortened(x, columns[..., j], span), as_expression(u)) for j in range(columns.shape[2])]
    result: Any = each[0] if c.ndim == 2 else np.reshape(np.stack(each, axis=-1), (*np.shape(u), *c.shape[2:]))
    result.origin = ("spline", u)
    return result


def _pieces(f: BSpline) -> PPoly:
    """A B-spline as polynomials between knots; SciPy writes them for numbers as values only."""
    from scipy.interpolate import PPoly

    columns = [PPoly.from_spline((f.t, column, f.k)) for column in f.c.reshape(len(f.c), -1).T]
    c = np.stack([p.c for p in columns], axis=-1)
    return PPoly(c.reshape(*c.shape[:2], *f.c.shape[1:]), columns[0].x)


def _shortened(x: Array, c: Array, span: tuple[float, float]) -> Spline:
    """A spline with knots x and coefficients c (degree + 1, K), with one piece where it is 0 at either end."""
    carries = np.flatnonzero(c.any(axis=0))
    first, last = (0, 0) if not len(carries) else (max(carries[0] - 1, 0), min(carries[-1] + 1, c.shape[1] - 1))
    c, origins, knots = c[:, first : last + 1].copy(), x[first : last + 1].copy(), x[first + 1 : last + 1].copy()
    return made(knots, origins, c, c, span)


def _read(step: Step, args: list[Expression], where: str) -> Expression:
    knots, origins = step["knots"], step["origins"]
    low, high = (step[end] for end in ("low", "high"))
    span = EVERYWHERE if step["span"] is None else tuple(map(float, step["span"]))
    same = {len(row) for row in (origins, *low, *high)} == {len(knots) + 1} and len(low) == len(high) > 0
    demand(same, f"{where} has other pieces than its knots say.")
    ordered = all(a < b for a, b in pairwise(knots)) and len(span) == 2 and span[0] < span[1]
    within = all(a <= b for one, other in zip(low, high, strict=True) for a, b in zip(one, other, strict=True))
    demand(ordered and within, f"{where} needs increasing knots, and coefficients between low and high.")
    knots, origins, low, high = (np.array(part, dtype=float) for part in (knots, origins, low, high))
    return Apply(made(knots, origins, low, high, (span[0], span[1])), args[0])


_PIECES: dict[str, Schema] = {"knots": NUMBERS, "origins": NUMBERS, "low": [NUMBERS], "high": [NUMBERS]}
WORDS["spline"] = Word(Apply, {"args": PLACES, **_PIECES, "span": Either(NUMBERS, missing)}, _read)
FUNCTION_RULES[np.interp] = interp
FUNCTION_RULES[spline] = spline
