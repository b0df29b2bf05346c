"""Linear equations in fractions: whether they have a solution near a point, and which rows contradict the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from .balls import Point
from .models import Row
from .sets import solve

NONE = Fraction(0)
ULPS = 16  # of the terms of a dependent row: as far as it may be off when its data were rounded


@dataclass(frozen=True)
class Equations:
    """Independent rows a x = b, and by how much the dependent ones miss what these imply, relative to the terms."""

    a: list[list[Fraction]]
    b: list[Fraction]
    contradiction: Fraction

    def correction(self, x: Sequence[Fraction], weights: Sequence[Fraction]) -> list[Fraction] | None:
        """The step to a solution of the independent rows that is least when divided by the weights; None if none."""
        missing = [b - _dot(a, x) for a, b in zip(self.a, self.b, strict=True)]
        if not any(missing):
            return [Fraction(0)] * len(x)
        moving = [any(u and w for u, w in zip(row, weights, strict=True)) for row in self.a]
        if any(m and not moves for m, moves in zip(missing, moving, strict=True)):
            return None
        a = [row for row, moves in zip(self.a, moving, strict=True) if moves]
        missing = [m for m, moves in zip(missing, moving, strict=True) if moves]
        square = [w * w for w in weights]
        gram = [[_dot([u * s for u, s in zip(p, square, strict=True)], q) for q in a] for p in a]
        z = solve(gram, missing)
        if z is None:
            return None
        return [s * sum(row[j] * v for row, v in zip(a, z, strict=True)) for j, s in enumerate(square)]


def equations(rows: Sequence[Row], x: Point, doubt: Fraction = NONE, last: Sequence[int] = ()) -> Equations:
    """The equalities among the rows, reduced by elimination, those at the positions `last` last; measured at `x`."""
    order = sorted(range(len(rows)), key=lambda i: i in last)
    equal = [rows[i] for i in order if rows[i].sense == "=="]
    return solvable([list(map(Fraction, r.a)) for r in equal], [Fraction(r.b) for r in equal], x, doubt)


def solvable(
    matrix: Sequence[list[Fraction]], right: Sequence[Fraction], x: Point | None = None, doubt: Fraction = NONE
) -> Equations:
    """The rows of `matrix` z = `right` that are independent, and how far the others contradict them.

    What is left of a coefficient counts as zero when it is at most `doubt` times the terms that cancelled in it.
    """
    kept: list[tuple[int, list[Fraction], list[Fraction]]] = []  # a column, and what is left of a row; its terms
    a: list[list[Fraction]] = []
    b: list[Fraction] = []
    worst = Fraction(0)
    for row, level in zip(matrix, right, strict=True):
        place = x if x is not None else [Fraction(1)] * len(row)
        left, size = [*row, level], [*map(abs, row), abs(level)]
        for j, other, other_size in kept:
            factor = left[j] / other[j]
            left = [u - factor * v if i != j else Fraction(0) for i, (u, v) in enumerate(zip(left, other, strict=True))]
            size = [u + abs(factor) * v for u, v in zip(size, other_size, strict=True)]
        if any(abs(v) > doubt * s for v, s in zip(left[:-1], size, strict=False)):
            pivot = max(range(len(row)), key=lambda i: abs(left[i]) * (abs(place[i]) or 1))
            kept.append((pivot, left, size))
            a.append(list(row))
            b.append(level)
        elif left[-1]:
            terms = size[-1] + sum(s * abs(v) for s, v in zip(size, place, strict=False))
            worst = max(worst, abs(left[-1]) / terms)
    return Equations(a, b, worst)


def _dot(u: Sequence[Fraction], v: Sequence[Fraction]) -> Fraction:
    return sum((p * q for p, q in zip(u, v, strict=True)), Fraction(0))
