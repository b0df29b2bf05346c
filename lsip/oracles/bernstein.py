"""Bounds of polynomials on intervals in whole numbers, which no rounding keeps up.

On an interval, a polynomial lies below the largest of its Bernstein coefficients, and the first and the last are its
values at the ends. Smaller intervals bring coefficients and values together, quadratically fast. Everything is done in
integers over one common denominator, so that values of either sign are told apart however close to zero they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import comb, lcm

import numpy as np

from ..deadline import check
from ..domains import Cell
from ..expressions.interval import up
from ..expressions.polynomials import by_powers, neighbours
from .base import Array, Rows
from .bounder import BoxBounds, BoxView, swing
from .taylor import Taylor


class Bernstein(Taylor):
    """Taylor expansions of rows on a line; where those exceed all that is attained, bounds in whole numbers."""

    def __init__(self, family: Rows, cell: Cell, order: int = 2, kept: bool = True) -> None:
        super().__init__(family, cell, order, kept)
        self._last: tuple[bytes, list[RationalRow] | None] = (b"", None)

    def rows(self, weights: Array) -> list[RationalRow] | None:
        """The rows times these weights; those for the last ones are kept."""
        key = weights.tobytes()
        if self._last[0] != key:
            self._last = key, rational_rows(self.family, self.cell, weights)
        return self._last[1]

    def bound(self, boxes: BoxView, weights: Array, spread: Array | None) -> BoxBounds | None:
        """Bounds for weights (p, K + 1) and all others within their spread."""
        found, rows = super().bound(boxes, weights, spread), self.rows(weights)
        if found is None or rows is None or not len(boxes):
            return found
        upper, points, model, _ = found
        best, row = np.unravel_index(model.argmax(), model.shape)
        attained = rows[row].at(float(points[best, row, 0]))
        for c, g in enumerate(rows):
            open_boxes = np.flatnonzero(upper[:, c] > attained)
            open_boxes = open_boxes[np.argsort(boxes["lower"][open_boxes, 0])]
            lower, higher = boxes["lower"][open_boxes], boxes["upper"][open_boxes]
            bound, stretches = np.empty(len(open_boxes)), [(0, len(open_boxes))] if len(open_boxes) else []
            while stretches:  # of neighbours, as long as they are bounded well enough together
                check("branch-and-bound in whole numbers")
                i, j = stretches.pop()
                bound[i:j], value, point = g.bound(float(lower[i, 0]), float(higher[j - 1, 0]))
                attained = max(attained, value)
                if j - i > 1 and bound[i] > attained:
                    stretches += [(i, (i + j) // 2), ((i + j) // 2, j)]
                elif j - i == 1:
                    model[open_boxes[i], c], points[open_boxes[i], c] = value, point
            if spread is not None:
                bound = up(bound + swing(self.family, lower, higher, spread).reshape(-1, self.p)[:, c])
            upper[open_boxes, c] = np.minimum(upper[open_boxes, c], bound)
        return BoxBounds(upper, points, np.minimum(model, upper))


class RationalRow:
    """The polynomial sum c_i y^i."""

    def __init__(self, coefficients: Sequence[Fraction]) -> None:
        degree = len(coefficients) - 1
        self.below = lcm(*(c.denominator for c in coefficients))
        self.whole = [int(c * self.below) for c in reversed(coefficients)]
        self.unit = lcm(*(comb(degree, j) for j in range(degree + 1)))

    def at(self, y: float) -> float:
        """The value at a point, rounded once."""
        p, q = y.as_integer_ratio()
        total, power = 0, 1
        for c in self.whole:
            total, power = total * p + c * power, power * q
        return neighbours(total * q, self.below * power)[0]

    def bound(self, lower: float, upper: float) -> tuple[float, float, float]:
        """What no value on an interval exceeds, a value that is attained, rounded down, and where that is."""
        coefficients, below = self._bernstein(Fraction(lower), Fraction(upper))
        value, point = max((coefficients[0], lower), (coefficients[-1], upper))
        return neighbours(max(coefficients), below)[1], neighbours(value, below)[0], point

    def _bernstein(self, lower: Fraction, upper: Fraction) -> tuple[list[int], int]:
        """Bernstein coefficients on an interval as whole numbers, and what to divide them by."""
        degree = len(self.whole) - 1
        q = lcm(lower.denominator, upper.denominator)
        p, r = int(lower * q), int((upper - lower) * q)
        row, power = [0] * (degree + 1), 1  # of sum c_i (p + r u)^i q^(degree - i), by powers of u
        for c in self.whole:
            row = [p * a + r * b for a, b in zip(row, [0, *row], strict=False)]
            row[0] += c * power
            power *= q
        row = [self.unit // comb(degree, j) * a for j, a in enumerate(row)]
        for k in range(1, degree + 1):  # Pascal's triangle: sum_j comb(k, j) row_j
            row[k:] = [a + b for a, b in zip(row[k - 1 :], row[k:], strict=False)]
        return row, self.below * q**degree * self.unit


def rational_rows(family: Rows, cell: Cell, weights: Array) -> list[RationalRow] | None:
    """Rows times weights on an interval; None if not all of them are polynomials of a scalar index."""
    if family.domain.dim != 1 or cell.inside is not None or cell.place is not None:
        return None
    found = []
    for c, w in enumerate(weights):
        g = family.polynomial(c, w)
        if g is None:
            return None
        found.append(RationalRow(by_powers(g)))
    return found
