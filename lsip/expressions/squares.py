"""Sums of squares, and how one is kept below what is affine: as a rotated second-order cone.

For every unit u > 0, sum r^2 <= b just where |(2 sqrt(u) r, b - u)| <= b + u. That is largest over directions in a
ball, as a norm is, so rows, cuts and proofs are those of norms; what people see is sum r^2 - b. Units are powers of
four: they round nothing, and bring the numbers of the cone near those of r.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import frexp
from typing import Any, final

import numpy as np

from ..domains import Ball, Domain
from .affine import Affine, Term, linear_rule
from .directions import Directions, Euclidean, Quadratics, known_rest, squares
from .graph import Constant, Expression
from .interval import EPS, TINY, Array
from .operands import Ints
from .operators import FUNCTION_RULES


@final
class SumOfSquares(Directions):
    """The sum of squares, of which a rotated cone makes rows."""

    def domain(self, size: int) -> Domain:
        raise NotImplementedError

    def typed(self, parts: list[Any]) -> tuple[Any, ...]:
        each = [("power", part, 2) for part in parts]
        return each[0] if len(parts) == 1 else ("sum", ("power", ("stack", *parts), 2))

    def value(self, q: Array) -> Array:
        return np.asarray((q * q).sum(axis=-1))

    def swing(self, doubt: Array) -> Array:
        return np.full(doubt.shape[:-1], np.inf)

    def model(self, q: Quadratics, doubt: Array) -> tuple[Array, Array]:
        raise NotImplementedError

    def worst(self, q: Array) -> Array:
        raise NotImplementedError


@final
class RotatedCone(Directions):
    """sum r^2 - b times a scale, of numbers (2 sqrt(u) r, b, -u, -b, -u) times it, which rows weigh with (v, v, 1, 1).

    The point v is one of a ball: its last coordinate is that of b and of -u.

    Rows are at most N - L for N = |(2 sqrt(u) r, b - u)| and L = b + u, and 4 u (sum r^2 - b) = (N - L) (N + L). Since
    N >= u - b, the second factor is at least 2 u: rows are at most twice what is seen, where that is positive. Of
    directions, whose scale is zero, N - L is what is seen.
    """

    sharp = False

    def domain(self, size: int) -> Domain:
        return Ball(np.zeros(size - 3), 1.0)

    def weights(self, v: Expression) -> Any:
        return FUNCTION_RULES[np.concatenate]([v, v[-1:], np.ones(2)])

    def factors(self, places: Ints) -> tuple[Ints, Ints]:
        none = np.full((*places.shape[:-1], 2), -1)
        first = np.concatenate([places, places[..., -1:], none], axis=-1)
        return first, np.full_like(first, -1)

    def room(self, v: Array) -> float:
        return float(1.0 - v[-1])

    def typed(self, parts: list[Any]) -> tuple[Any, ...]:
        return ("add", ("norm", ("stack", *parts[:-4], ("add", *parts[-4:-2]))), ("add", *parts[-2:]))

    def stretch(self, size: int) -> int:
        return 2

    def value(self, q: Array) -> Array:
        r, b, u = q[..., :-4], q[..., -4], -q[..., -3]
        scale = np.where(u > 0, u, 1.0)
        flat = Euclidean().value(_norm_of(q)) - b - u
        return np.where(u > 0, (r * (r / (4.0 * scale)[..., None])).sum(axis=-1) - b, flat)

    def above(self, q: Array, doubt: Array) -> Array:
        rounding = 8 * (q.shape[-1] + 8) * EPS
        off, wide, u = doubt[..., -4], doubt[..., -3], -q[..., -3]
        most, b, least = np.abs(q[..., :-4]) + doubt[..., :-4], q[..., -4], u - wide
        scale = np.where(least > 0, least * (1 - 4 * EPS), 1.0)
        total = (most * (most / (4.0 * scale)[..., None])).sum(axis=-1)
        seen = total - b + off + rounding * (total + np.abs(b) + off) + 8 * q.shape[-1] * TINY
        size = np.abs(b) + np.abs(u) + off + wide
        flat = Euclidean().above(_norm_of(q), _norm_of(doubt) + rounding * size[..., None])
        return np.where(least > 0, seen, flat - b - u + off + wide + rounding * size)

    def swing(self, doubt: Array) -> Array:
        return np.full(doubt.shape[:-1], np.inf)

    def model(self, q: Quadratics, doubt: Array) -> tuple[Array, Array]:
        """Squares of quadratics v + s d + d' H d / 2, up to the second order; what is of third counts in full."""
        r, off = q.only(slice(None, -4)), doubt[..., :-4]
        bend, slope = r.bend, np.abs(r.slope).sum(axis=-1)
        most, rounding = np.abs(r.value) + slope + bend, 8 * (r.levels.shape[-2] + q.m + 8) * EPS
        unit, wide = -q.value[..., -3], q.swing[..., -3] + doubt[..., -3]
        least = unit * (1 - rounding) - wide
        known = least > 0
        scale, largest = (np.where(known, 0.25 / np.where(known, part, 1.0), np.nan) for part in (unit, least))
        table = squares(r.value, r.slope)
        table[..., 1 + q.m :] += 2 * np.einsum("...k,...kl->...l", r.value, r.levels[..., 1 + q.m :])
        last, total = q.levels[..., -4, :], (most * most).sum(axis=-1)
        rest = (2 * slope * bend + bend * bend + 2 * most * off + off * off).sum(axis=-1) * largest
        rest = rest + total * (largest - scale) + doubt[..., -4]
        rest = rest * (1 + rounding) + rounding * (total * largest + np.abs(last).sum(axis=-1))
        return table * scale[..., None] - last, known_rest(rest)

    def worst(self, q: Array) -> Array:
        return Euclidean().worst(_norm_of(q))


def _norm_of(q: Array) -> Array:
    """The numbers (..., k + 1) whose norm counts: (2 sqrt(u) r, b - u)."""
    return np.concatenate([q[..., :-4], (q[..., -4] + q[..., -3])[..., None]], axis=-1)


def rotated(r: Affine, b: Affine) -> Affine:
    """The numbers (E, k + 4) of rotated cones that keep the sums of squares of rows of r (E, k) below b (E,)."""
    r = _without_zeros(r)
    unit, (count, size) = _unit(r), r.shape
    less = Affine((), (), Constant(np.array(-unit)))
    parts = [linear_rule("multiply", (r, np.array(2.0 * np.sqrt(unit)))), b, linear_rule("negative", (b,)), less]
    places = np.arange(count)[:, None]
    last = np.full((count, 1), count * (size + 2))
    index = [places * size + np.arange(size), count * size + places, last, count * (size + 1) + places, last]
    joined = Affine.join([part.gather(np.arange(part.size)) for part in parts])
    return joined.gather(np.concatenate(index, axis=1))


def _without_zeros(u: Affine) -> Affine:
    """The same without coefficients that are zero: columns of nothing else are none of the cone's."""
    kept = []
    for term in u.terms:
        mine = np.ones(len(term.rows), dtype=bool) if term.numbers is None else term.numbers.value != 0
        if not mine.all():
            rest = None if term.rest is None else term.rest[mine]
            numbers: Any = term.numbers
            term = Term(term.variable, term.rows[mine], term.columns[mine], Constant(numbers.value[mine]), rest)
        kept.append(term)
    return Affine(u.shape, tuple(kept), u.varying, u.constants)


def _unit(r: Affine) -> float:
    """A power of four near the sum of squares of a row where variables are zero; 1 where that is not known."""
    known = r.offset
    rows: Array = known.value if isinstance(known, Constant) else np.zeros((1, 1))
    sums = (rows * rows).sum(axis=-1) if np.abs(rows).max(initial=0.0) < 1e100 else np.zeros(1)
    typical = float(np.median(sums[sums > 0])) if (sums > 0).any() else 1.0
    return 4.0 ** (frexp(typical)[1] // 2)


def alike(a: object, b: object) -> bool:
    """Whether two operands are the same array of expressions, however it was turned."""
    first, second = _unturned(a), _unturned(b)
    if first is second:
        return True
    if not (isinstance(first, Affine) and isinstance(second, Affine)) or first.shape != second.shape:
        return False
    return _numbers(first) is not None and _numbers(first) == _numbers(second)


def _unturned(u: object) -> object:
    """A vector without transpositions, which leave it as it is."""
    while isinstance(u, Affine) and u.ndim == 1 and u.origin[:1] in (("transpose",), ("ravel",)):
        if u.origin[1].shape != u.shape:
            break
        u = u.origin[1]
    return u


def _numbers(u: Affine) -> Sequence[Any] | None:
    """What an array is made of, where that is numbers; None elsewhere."""
    if u.varying is not None or any(t.numbers is None for t in u.terms):
        return None
    terms = [(*t.place, t.coefficient.value.tobytes(), None if t.rest is None else t.rest.tobytes()) for t in u.terms]  # type: ignore[attr-defined]
    offset: Any = u.offset
    return [*terms, offset.value.tobytes() if isinstance(offset, Constant) else id(offset)]
