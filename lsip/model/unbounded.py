"""Constraints for all points of an unbounded box, as constraints over compact ones: polynomials in homogeneous form.

Far out, y = w / s with s between 0 and 1, and one of the w is 1 or -1. A polynomial g of degree d has s^d g(w / s) in
its place, which is a polynomial in w and s, has the same sign for s > 0, and is continuous: g <= 0 for all y is the
same as these polynomials <= 0 on boxes. Beside them there is the part near the finite end, or near 0. How far that
part reaches is the length at which lowest and highest powers are alike, so that the unit of y does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import accumulate, count
from math import log2
from operator import mul
from typing import TYPE_CHECKING, Any

import numpy as np

from ..domains import Box, Domain, Interval, Union
from ..errors import ModelError
from ..expressions.affine import Affine, Constraint, Term, enclosed
from ..expressions.graph import Expression, Index, as_expression
from ..expressions.operands import Ints
from ..expressions.parameter import Values
from ..expressions.printing import text
from ..expressions.ring import Polynomial, Ring, affine, substituted
from ..expressions.substitution import numbers_of
from ..expressions.sums import DoubleDouble
from ..lifetime import remembered
from ..oracles.base import Array
from .far_out import FarOut, FarOutError, far_body
from .identities import polynomials_of

if TYPE_CHECKING:
    from .program import Layout

Unbounded = tuple[Index, Domain, Ints, list[Any]]  # an index, its box, the coordinates without ends, and their shifts
POWERS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True, eq=False)
class Part:
    """A piece of the unbounded coordinates: an index over a box, and each of them as sign · coordinate or ±1."""

    index: Index
    shape: tuple[
        int | float, ...
    ]  # of every unbounded coordinate: the place of w in the index, or the number that it is
    scale: int | None  # the place of s in the index; None for the part near the end


@dataclass(frozen=True, eq=False)
class Placement:
    """How a point of a part is a point of the unbounded set, and what the rows of the part are multiplied with.

    Row i of the part is s^d times the written one, with d = `degrees[i]`, and y = shift + sign · length · w / s.
    """

    part: Part
    axes: tuple[int, ...]  # the unbounded coordinates among all of y
    start: int  # the first coordinate of the unbounded index
    bounded: tuple[int, ...]  # its other coordinates, counted within it
    shifts: tuple[tuple[float, int], ...]  # the finite end, or 0, and the sign of every unbounded coordinate
    length: float
    degrees: tuple[int | float, ...]

    def point(self, z: Array) -> tuple[Array, Array | None]:
        """A point (m,) of the part as one of the unbounded set; at infinity, with the direction (m,) there.

        At infinity, coordinates without a part in the direction have their finite end, or 0.
        """
        y, direction = z.copy(), np.zeros(len(z))
        inner, s = z[self.start :], self.scale(z)
        for k, j in enumerate(self.bounded):
            y[self.start + j] = inner[k]
        for axis, place, (shift, sign) in zip(self.axes, self.part.shape, self.shifts, strict=True):
            w = sign * (float(inner[place]) if isinstance(place, int) else place)
            direction[axis] = w
            y[axis] = shift + self.length * w / s if s else shift if w == 0 else np.copysign(np.inf, w)
        return y, None if s else direction

    def scale(self, z: Array) -> float:
        """s at a point of the part: 0 at infinity, and 1 all over the part near the end."""
        return 1.0 if self.part.scale is None else float(z[self.start + self.part.scale])

    @property
    def scale_axis(self) -> int | None:
        """The coordinate that s is; None near the end."""
        return None if self.part.scale is None else self.start + self.part.scale

    def divisor(self, names: tuple[str, ...], degree: float) -> str:
        """The power of the largest coordinate that a written row is divided by at infinity."""
        (axis, w) = next(
            (axis, sign * place)
            for axis, place, (_, sign) in zip(self.axes, self.part.shape, self.shifts, strict=True)
            if not isinstance(place, int)
        )
        return power_text(names[axis] if w > 0 else f"(-{names[axis]})", degree) if degree else ""

    def written(self, z: Array, row: int, value: float) -> tuple[float, Array]:
        """What the written row is where that of the part has this value at a point, and the point of the unbounded set.

        At infinity that is infinite, or 0.
        """
        s, (y, _) = self.scale(z), self.point(z)
        if s:
            return value / s ** self.degrees[row], y
        if self.degrees[row] < 0:
            return 0.0, y
        return (value if value == 0 or not self.degrees[row] else float(np.copysign(np.inf, value))), y


def placements(layout: Layout | None) -> dict[tuple[int, int], tuple[Placement, int]]:
    """By family and row of a program: of the parts of unbounded sets, with the row of the written constraint."""
    found: dict[tuple[int, int], tuple[Placement, int]] = {}
    for statement, place in {} if layout is None else layout.places.items():
        placement = getattr(statement, "placement", None)
        if placement is not None and place.family is not None:
            found |= {(place.family, i): (placement, i - place.start) for i in range(place.start, place.end)}
    return found


def power_text(base: str, power: float) -> str:
    """A power as one writes it."""
    if power < 0 or power != int(power):
        return f"{base}^{power:g}"
    return base + (str(int(power)).translate(POWERS) if power > 1 else "")


def compactified(
    indices: tuple[Index, ...], constraint: Constraint, values: Values
) -> list[tuple[tuple[Index, ...], Constraint, Placement]]:
    """Constraints over bounded sets that together mean the same as one over sets of which one is not.

    Parameters have these `values`. Each comes with where its points are among those of the unbounded set.
    """
    unbounded = [i for i in indices if not i.domain.bounded]
    (endless, *more) = unbounded
    members = endless.domain.members if isinstance(endless.domain, Union) else (endless.domain,)
    if more or not all(isinstance(box, Interval | Box) for box in members):
        raise ModelError(
            f"{text(constraint)}: only one index may be unbounded, and its set must be an Interval, a Box or a union "
            f"of them; got {', '.join(f'{i.name} ∈ {i.domain}' for i in unbounded)}. Put all unbounded coordinates "
            "into one Box."
        )
    return [part for box in members for part in _compactified(indices, constraint, values, (endless, box))]


def _compactified(
    indices: tuple[Index, ...], constraint: Constraint, values: Values, over: tuple[Index, Domain]
) -> list[tuple[tuple[Index, ...], Constraint, Placement]]:
    """The same where an index ranges over one of the boxes that make up its set."""
    endless, box = over
    found = polynomials_of(constraint.body, indices, values)
    starts = dict(zip(indices, accumulate((i.domain.dim for i in indices), initial=0), strict=False))
    start = starts[endless]
    free = np.flatnonzero(~(np.isfinite(box.lower) & np.isfinite(box.upper)))
    shifts = [_turned(box.lower[j], box.upper[j]) for j in free]
    axes = [start + int(j) for j in free]
    if found is None:
        return _charted(constraint, indices, values, (endless, box, free, shifts))
    parts, offset = found
    moved = [[_shifted(p, axes, shifts) for p in part] for part in (*parts, offset)]
    exponent = _exponent(moved, axes)
    moved = [[_stretched(p, axes, exponent) for p in part] for part in moved]
    degrees = _degrees(constraint.body, moved, axes)
    others = {i: first for i, first in starts.items() if i is not endless}
    result = []
    for part in _parts(endless, box, free, shifts, exponent):
        body = _body(constraint.body, moved, degrees, axes, start, part, others, endless, free)
        result.append(
            (
                tuple(part.index if i is endless else i for i in indices),
                Constraint(body, False, constraint.origin, constraint.name),
                Placement(
                    part,
                    tuple(axes),
                    start,
                    tuple(j for j in range(box.dim) if j not in free),
                    tuple((float(shift), sign) for shift, sign, _ in shifts),
                    2.0**exponent,
                    tuple(degrees),
                ),
            )
        )
    return result


def _charted(
    constraint: Constraint, indices: tuple[Index, ...], values: Values, unbounded: Unbounded
) -> list[tuple[tuple[Index, ...], Constraint, Placement]]:
    """The same for formulas that are no polynomials: far out, they are multiplied with powers of s."""
    endless, box, free, shifts = unbounded
    body, reason = constraint.body, ""
    if values:
        numbers = [numbers_of(e, values) for e in (*(t.coefficient for t in body.terms), body.offset)]
        body = body.substituted({node: number for known in numbers for node, number in known.items()})
    for exponent in (0, 1, 2, 4, 8, 16):  # each length is the square of the one before
        try:
            return [
                (
                    tuple(part.index if i is endless else i for i in indices),
                    Constraint(made, False, constraint.origin, constraint.name),
                    _placement(part, indices, unbounded, exponent, degrees),
                )
                for part in _parts(endless, box, free, shifts, exponent)
                for made, degrees in [_body_on(body, part, indices, unbounded, exponent)]
            ]
        except FarOutError as error:
            reason = reason or str(error)
    raise ModelError(
        f"{text(constraint)} for all {endless.name} ∈ {endless.domain}: {reason}. Divide both sides by what grows "
        "fastest, or bound the set."
    )


def _placement(
    part: Part,
    indices: tuple[Index, ...],
    unbounded: Unbounded,
    exponent: int,
    degrees: list[float],
) -> Placement:
    endless, _, free, shifts = unbounded
    start = sum(i.domain.dim for i in indices[: indices.index(endless)])
    return Placement(
        part,
        tuple(start + int(j) for j in free),
        start,
        tuple(j for j in range(endless.domain.dim) if j not in free),
        tuple((float(shift), sign) for shift, sign, _ in shifts),
        2.0**exponent,
        tuple(int(d) if d == int(d) else d for d in degrees),
    )


def _body_on(
    body: Affine,
    part: Part,
    indices: tuple[Index, ...],
    unbounded: Unbounded,
    exponent: int,
) -> tuple[Affine, list[float]]:
    """The rows on one part, and what they are multiplied with there."""
    endless, _, free, shifts = unbounded
    starts = dict(zip(indices, accumulate((i.domain.dim for i in indices), initial=0), strict=False))
    start, z = starts[endless], np.reshape(part.index, (-1,))
    axes = [start + int(j) for j in free]
    bounded = [j for j in range(endless.domain.dim) if j not in free]
    places: dict[int, Any] = {start + j: z[k] for k, j in enumerate(bounded)}
    for axis, w in zip(axes, part.shape, strict=True):
        places[axis] = z[w] if isinstance(w, int) else w
    if part.scale is None:
        for axis, (shift, sign, _) in zip(axes, shifts, strict=True):
            places[axis] = float(shift) + sign * 2.0**exponent * places[axis]
        own = [places[start + j] for j in range(endless.domain.dim)]
        near: Any = np.stack(own) if endless.shape else own[0]
        return body.substituted({endless: as_expression(near)}), [0.0] * body.size
    for index, first in starts.items():
        if index is not endless:
            places |= {first + k: index[k] if index.shape else index for k in range(index.domain.dim)}

    def leaf(polynomials: list[Polynomial]) -> dict[int, list[Any]]:
        """By their degrees far out, the coefficients of powers of 1 / s; None where an element has no such power."""
        found: dict[int, list[Any]] = {}
        for k, p in enumerate(_stretched(_shifted(p, axes, shifts), axes, exponent) for p in polynomials):
            for e, c in p.items():
                powers = [places[j] ** float(n) for j, n in enumerate(e) if n]
                parts = found.setdefault(sum(e[a] for a in axes), [None] * len(polynomials))
                parts[k] = (0.0 if parts[k] is None else parts[k]) + reduce(mul, powers, _rounded(c))
        return found or {0: [0.0] * len(polynomials)}

    ring = Ring(sum(i.domain.dim for i in indices), starts)
    instead: dict[Expression, Expression] = {i: i for i in indices if i is not endless}
    return far_body(body, FarOut(z[part.scale], ring, leaf), instead)


def _rounded(c: Fraction) -> Expression:
    """A fraction as a number of formulas."""
    value = float(c)
    return enclosed(DoubleDouble(np.array(value), np.array(float(c - Fraction(value)))))


def _turned(low: float, high: float) -> tuple[Fraction, int, bool]:
    """An unbounded coordinate as shift + sign · w: with w >= 0 from its finite end, or free."""
    if np.isfinite(low):
        return Fraction(float(low)), 1, False
    return (Fraction(float(high)), -1, False) if np.isfinite(high) else (Fraction(0), 1, True)


def _shifted(p: Polynomial, axes: list[int], shifts: list[tuple[Fraction, int, bool]]) -> Polynomial:
    """A polynomial in shift + sign · w, written out."""
    for axis, (shift, sign, _) in zip(axes, shifts, strict=True):
        p = substituted(p, axis, affine(axis, sign, shift, len(next(iter(p), ()))))
    return p


def _exponent(moved: list[list[Polynomial]], axes: list[int]) -> int:
    """Of the power of two that is nearest to the length at which lowest and highest powers are alike."""
    largest: dict[int, Fraction] = {}
    for e, c in (item for part in moved for p in part for item in p.items()):
        degree = sum(e[a] for a in axes)
        largest[degree] = max(abs(c), largest.get(degree, Fraction(0)))
    if len(largest) < 2:
        return 0
    low, high = min(largest), max(largest)
    ratio = largest[low] / largest[high]
    return round((log2(ratio.numerator) - log2(ratio.denominator)) / (high - low))


def _stretched(p: Polynomial, axes: list[int], exponent: int) -> Polynomial:
    """A polynomial in 2^exponent w."""
    return {e: c * Fraction(2) ** (exponent * sum(e[a] for a in axes)) for e, c in p.items()}


def _degrees(body: Affine, moved: list[list[Polynomial]], axes: list[int]) -> list[int]:
    """Of every row: its largest degree in the unbounded coordinates."""
    degrees = [0] * body.size
    rows = [*(t.rows.tolist() for t in body.terms), list(range(body.size))]
    for places, part in zip(rows, moved, strict=True):
        for row, p in zip(places, part, strict=True):
            degrees[row] = max([degrees[row], *(sum(e[a] for a in axes) for e in p)])
    return degrees


@remembered
def _known_parts(endless: Index) -> dict[tuple[int, Domain], tuple[Part, ...]]:
    """By the exponent and the box."""
    return {}


def _parts(
    endless: Index, box: Domain, free: Ints, shifts: list[tuple[Fraction, int, bool]], exponent: int
) -> tuple[Part, ...]:
    """The part near the end, and one for every side on which a coordinate may be the largest; the same for all rows."""
    kept = _known_parts(endless)
    if (exponent, box) not in kept:
        kept[exponent, box] = tuple(_made(endless, box, free, shifts, exponent))
    return kept[exponent, box]


def _made(
    endless: Index, box: Domain, free: Ints, shifts: list[tuple[Fraction, int, bool]], exponent: int
) -> Iterator[Part]:
    bounded = [j for j in range(box.dim) if j not in free]
    sides = [(-1.0 if both else 0.0, 1.0) for _, _, both in shifts]
    low, high = [float(box.lower[j]) for j in bounded], [float(box.upper[j]) for j in bounded]
    near = _box([*low, *(a for a, _ in sides)], [*high, *(b for _, b in sides)])
    names = _names(endless, shifts, exponent)
    yield Part(Index(next(names), near), tuple(len(bounded) + k for k in range(len(free))), None)
    for k, (first, _) in enumerate(sides):
        for sign in (1.0, -1.0) if first < 0 else (1.0,):
            rest = [side for i, side in enumerate(sides) if i != k]
            far = _box([*low, *(a for a, _ in rest), 0.0], [*high, *(b for _, b in rest), 1.0])
            others = iter(range(len(bounded), len(bounded) + len(rest)))
            shape = tuple(sign if i == k else next(others) for i in range(len(free)))
            yield Part(Index(next(names), far), shape, far.dim - 1)


def _box(lower: list[float], upper: list[float]) -> Box | Interval:
    return Interval(*lower, *upper) if len(lower) == 1 else Box(lower, upper)


def _names(endless: Index, shifts: list[tuple[Fraction, int, bool]], exponent: int) -> Iterator[str]:
    """What the indices of the parts are called: t and 1/t, or t/4 and 4/t, where the index is a number."""
    length = f"{2.0**exponent:.6g}"
    over = f"/{length}" if exponent else ""
    if not shifts:
        yield endless.name
    if not endless.domain.scalar or not shifts:
        yield from (f"{endless.name}{over}~{k}" for k in count())
    ((shift, sign, _),) = shifts
    end, name = f"{float(abs(shift)):.6g}", endless.name
    if shift:
        name = (
            f"({name} {'-' if shift > 0 else '+'} {end})"
            if sign > 0
            else f"({end if shift > 0 else '-' + end} - {name})"
        )
    elif sign < 0:
        name = f"(-{name})"
    yield from (f"{name}{over}", f"{length}/{name}", f"-{length}/{name}")


def _body(
    body: Affine,
    moved: list[list[Polynomial]],
    degrees: list[int],
    axes: list[int],
    start: int,
    part: Part,
    others: dict[Index, int],
    endless: Index,
    free: Ints,
) -> Affine:
    """The rows on one part."""
    bounded = [j for j in range(endless.domain.dim) if j not in free]
    z: Any = np.reshape(part.index, (-1,))
    places: dict[int, Any] = {start + j: z[k] for k, j in enumerate(bounded)}
    places |= {axis: z[w] if isinstance(w, int) else w for axis, w in zip(axes, part.shape, strict=True)}
    for index, first in others.items():
        places |= {first + k: index[k] if index.shape else index for k in range(index.domain.dim)}

    def formula(p: Polynomial, degree: int) -> Expression:
        total: Any = 0.0
        for e, c in p.items():
            powers = [places[k] ** float(n) for k, n in enumerate(e) if n]
            if part.scale is not None and (left := degree - sum(e[a] for a in axes)):
                powers.append(z[part.scale] ** float(left))
            total = total + reduce(mul, powers, _rounded(c))
        return as_expression(total)

    terms = []
    for term, coefficients in zip(body.terms, moved[:-1], strict=True):
        each = [formula(p, degrees[row]) for p, row in zip(coefficients, term.rows.tolist(), strict=True)]
        terms.append(Term(term.variable, term.rows, term.columns, as_expression(np.stack(each))))
    offset = as_expression(np.reshape(np.stack([formula(p, degrees[r]) for r, p in enumerate(moved[-1])]), body.shape))
    return Affine(body.shape, tuple(terms), offset)
