"""Which parts of an index set are proven to have room inside, and along which coordinates a part is flat.

Room is a box of positive width that is proven to lie in the set, by enclosures of the inequalities that cut it. Flat
are coordinates of no width, and those that two opposite inequalities, both affine, determine from the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..domains import Cell
from ..expressions.boxes import Bools, Halving, search_boxes
from ..expressions.chart import CellChart
from ..expressions.graph import Expression, Index, as_expression
from ..expressions.polynomials import Polynomials
from ..expressions.ring import Polynomial, affine, ratio, substituted, summed
from ..expressions.signs import nonnegative_on
from ..expressions.tape import Tape
from ..oracles.base import Array


@dataclass(frozen=True)
class SolidTuning:
    """How long room is looked for.

    Parameters
    ----------
    most_boxes
        Boxes that are kept of all halves: those in whose middle the inequalities have the most slack.
    radius
        Half the width of the box that is tried around the middle of another, relative to that.
    margin
        Slack that is more than rounding, relative to the largest one over the part: some sets have inequalities that
        are rounded outward.
    """

    most_boxes: int = 256
    radius: float = 2.0**-10
    margin: float = 1e-9


TUNING = SolidTuning()
DIGITS = np.finfo(float).nmant + 1


@dataclass(frozen=True, eq=False)
class Flat:
    """A part of an index set: coordinates with numbers, and others that are affine functions of the rest.

    What is left has room inside, if that is `proven`.
    """

    proven: bool
    fixed: dict[int, Fraction]
    equations: tuple[tuple[int, Polynomial], ...] = ()  # a coordinate, and what it is; none is in one after it

    @staticmethod
    def nothing() -> Flat:
        """No coordinate is flat, or there is none."""
        return Flat(True, {})

    def reduced(self, p: Polynomial) -> Polynomial:
        """A polynomial as one of the coordinates that are left, without terms that vanish."""
        dim = len(next(iter(p), ()))
        numbers = ((axis, affine(axis, 0, value, dim)) for axis, value in self.fixed.items())
        for axis, other in (*numbers, *self.equations):
            p = substituted(p, axis, other)
        return p


def flat_parts(cell: Cell, indices: tuple[Index, ...], *, alone: bool) -> Iterator[Flat]:
    """The boxes of a cell, each as a part; a set that is `alone` one box without width is that point, being a set."""
    chart = CellChart(cell, indices)
    inside = None if cell.inside is None else as_expression(cell.inside(chart.coordinates))
    cuts = None if inside is None else _Cuts(inside, chart)
    only = alone and len(cell.lower) == 1
    for lower, upper in zip(cell.lower, cell.upper, strict=True):
        fixed = {int(j): Fraction(float(lower[j])) for j in np.flatnonzero(lower == upper)}
        if cuts is None or (only and len(fixed) == len(lower)) or cuts.room(lower, upper):
            yield Flat(True, fixed)
        else:
            yield cuts.flattened(Flat(False, fixed), lower, upper)


@dataclass(frozen=True, eq=False)
class _Cuts:
    """The inequalities of a cell."""

    inside: Expression
    chart: CellChart

    def room(self, lower: Array, upper: Array) -> bool:
        """Whether some box, of positive width along all free coordinates, is proven to lie in the set."""
        search = _RoomSearch(Tape((self.inside,), self.chart.indices), lower, upper)
        with np.errstate(all="ignore"):
            search_boxes(search)
        return search.found

    def flattened(self, flat: Flat, lower: Array, upper: Array) -> Flat:
        """The same with coordinates that opposite inequalities determine, and proven where the rest has room then."""
        found = Polynomials.of(Tape((self.inside,), self.chart.indices))
        if found is None or self.chart.instead:
            return flat
        ends = [(Fraction(float(a)), Fraction(float(b))) for a, b in zip(lower, upper, strict=True)]
        dim = len(ends)
        rows = [*found.rational, *(affine(j, 1, -a, dim) for j, (a, _) in enumerate(ends))]
        rows += [affine(j, -1, b, dim) for j, (_, b) in enumerate(ends)]
        while True:
            left = list(map(flat.reduced, rows))
            if any(not any(map(any, p)) and p and min(p.values()) < 0 for p in left):
                return replace(flat, proven=False)  # rounding has moved an end: nothing is known
            left = [p for p in left if any(map(any, p))]
            straight = (p for p in left if all(sum(e) <= 1 for e in p))
            solved = next((p for p in straight if any((ratio(p, q) or 0) < 0 for q in left)), None)
            if solved is None:
                break
            unit = max((e for e in solved if any(e)), key=lambda e: abs(solved[e]))
            axis, slope = unit.index(1), solved[unit]
            other = summed([{unit: Fraction(1)}, solved], -1 / slope)
            known = tuple((j, substituted(p, axis, other)) for j, p in flat.equations)
            flat = replace(flat, equations=(*known, (axis, other)))
        gone = {*flat.fixed, *(j for j, _ in flat.equations)}
        return replace(flat, proven=_has_room(left, [j for j in range(dim) if j not in gone], ends))


class _RoomSearch(Halving):
    """The boxes of one that may meet a set, and whether one of positive width is proven to lie in it."""

    what = "index set"

    def __init__(self, tape: Tape, lower: Array, upper: Array) -> None:
        super().__init__(lower[None], upper[None])
        self.tape, self.found = tape, False
        self.rounds = DIGITS * len(lower)  # until no double lies between the ends
        with np.errstate(all="ignore"):
            self.most = tape.enclose(self.lower, self.upper).hi[0]
            self.margin = np.where(np.isfinite(self.most), TUNING.margin * np.maximum(self.most, 0.0), 0.0)

    def open_boxes(self) -> NDArray[np.intp] | None:
        self.rounds -= 1
        self.keep(~(self.tape.enclose(self.lower, self.upper).hi < 0).any(axis=1))
        if self.rounds < 0 or not len(self.lower):
            return None
        middle, reach = self.middle, TUNING.radius * (self.upper - self.lower)
        around = np.maximum(middle - reach, self.lower), np.minimum(middle + reach, self.upper)
        self.found = any((self._wide(*ends) & self._holds(*ends)).any() for ends in (around, (self.lower, self.upper)))
        if self.found or not (self.width > 0).any():
            return None
        if len(middle) > TUNING.most_boxes:
            slack = np.nan_to_num(self.tape.values(middle) - self.margin, nan=-np.inf).min(axis=1)
            self.keep(np.argsort(-slack)[: TUNING.most_boxes])
        return self.all

    def _wide(self, lower: Array, upper: Array) -> Bools:
        """Which boxes have a width along all coordinates that have one: doubles cannot be divided for ever."""
        return np.asarray(((upper > lower) | (self.width == 0)).all(axis=1))

    def _holds(self, lower: Array, upper: Array) -> Bools:
        lo = self.tape.enclose(lower, upper).lo
        kept = np.asarray(((lo > self.margin) | ((lo >= 0) & (self.most <= 0))).all(axis=1))
        if kept.any():
            kept[kept] = ~self.tape.absent(lower[kept], upper[kept]).outputs.any(axis=1)
        return kept


def _has_room(rows: list[Polynomial], free: list[int], ends: list[tuple[Fraction, Fraction]]) -> bool:
    """Whether polynomials are proven to be nonnegative on a small box around some point, in rational numbers."""
    if not free:
        return not rows
    dim = len(ends)
    for shares in _shares(len(free)):
        lower, upper = [Fraction(0)] * dim, [Fraction(0)] * dim
        for j, share in zip(free, shares, strict=True):
            a, b = ends[j]
            middle, half = a + (b - a) * share, (b - a) * Fraction(TUNING.radius)
            lower[j], upper[j] = middle - half, middle + half
        if all(nonnegative_on(p, lower, upper) for p in rows):
            return True
    return False


def _shares(k: int) -> Iterator[tuple[Fraction, ...]]:
    """Points of the unit cube: its middle, and others that are spread evenly."""
    yield (Fraction(1, 2),) * k
    from ..domains.points import additive_recurrence

    for point in additive_recurrence(TUNING.most_boxes, k).tolist():
        yield tuple(map(Fraction, point))
