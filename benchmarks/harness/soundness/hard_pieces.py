"""Sums of maxima and absolute values for all points of a polytope, judged as the finitely many rows that they mean.

Such a sum is convex in the index, so it is largest at a vertex; there, each choice of pieces is a row. All numbers are
multiples of a power of two, so these rows are exact, and their optimum is known to what a linear program gives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from scipy.optimize import linprog

import lsip

from .draw import Rng
from .models import Model, Row, Truth

CLOSE = Fraction(1, 10**6)  # how closely a linear program in floats gives its optimum, relative to the numbers here


@dataclass(frozen=True)
class Bilinear:
    """x @ A @ y + a @ x + b @ y + c."""

    A: Any
    a: Any
    b: Any
    c: float

    @staticmethod
    def draw(rng: Rng, n: int, m: int) -> Bilinear:
        """Multiples of 1/8 that are not large."""
        return Bilinear(
            *(rng.integers(-16, 17, size) / 8.0 for size in ((n, m), n, m)), float(rng.integers(-16, 17)) / 8
        )

    def write(self, x: Any, y: Any) -> Any:
        """As people write it."""
        return x @ (self.A @ y) + self.a @ x + self.b @ y + self.c

    def row(self, y: Any) -> Any:
        """Its coefficients at a point, the constant last."""
        return np.append(self.A @ y + self.a, self.b @ y + self.c)


def sums_of_maxima(rng: Rng) -> Model:
    """Minimise over a box the worst value of a sum of so many maxima that nobody writes its rows."""
    n, kind = int(rng.integers(1, 4)), int(rng.integers(4))
    m = int(rng.integers(2 if kind else 1, 4))
    write, points = _set(rng, kind, m)
    pieces = [[Bilinear.draw(rng, n, m) for _ in range(count)] for count in rng.integers(1, 3, int(rng.integers(5, 8)))]
    beside = Bilinear.draw(rng, n, m)
    choices = list(product(*(range(max(len(part), 2)) for part in pieces)))
    rows = []
    for y in points:
        table = [_rows(part, y) for part in pieces]
        for choice in choices:
            total = beside.row(y) + sum(each[k] for each, k in zip(table, choice, strict=True))
            rows.append(Row((*total[:-1].tolist(), -1.0), "<=", -float(total[-1])))
    c, lower, upper = (*([0.0] * n), 1.0), (*([-3.0] * n), -1e4), (*([3.0] * n), 1e4)
    found = linprog(
        c, A_ub=[row.a for row in rows], b_ub=[row.b for row in rows], bounds=list(zip(lower, upper, strict=True))
    )
    value = Fraction(float(found.fun))
    room = CLOSE * (1 + abs(value))

    def written(model: Model, options: dict[str, Any]) -> Any:
        x = lsip.Variable(n + 1, name="x", lower=np.array(lower), upper=np.array(upper))
        y = lsip.Index("y", write())
        total = beside.write(x[:n], y)
        for part in pieces:
            each = [piece.write(x[:n], y) for piece in part]
            total = total + (abs(each[0]) if len(each) == 1 else np.maximum(*each))
        return lsip.Problem(lsip.minimize(x[n]), [lsip.forall(y, total <= x[n])]).solve(verbose=False, **options)

    truth = Truth(feasible=True, least=value - room, most=value + room)
    return Model(c, lower, upper, (), tuple(rows), truth=truth, written=written)


def _rows(part: list[Bilinear], y: Any) -> list[Any]:
    """The rows of which a maximum is the largest at a point; an absolute value is that of both signs."""
    first = part[0].row(y)
    return [first, -first] if len(part) == 1 else [piece.row(y) for piece in part]


def _set(rng: Rng, kind: int, m: int) -> tuple[Callable[[], Any], list[Any]]:
    """A box, a simplex, a budget or a polytope, and its vertices."""
    unit, cube = np.eye(m), [np.array(y) for y in _signs(m)]
    if kind == 0:
        low = rng.integers(-4, 1, m) / 2.0
        high = low + rng.integers(1, 5, m) / 2.0
        return lambda: lsip.Box(low, high), [np.where(y > 0, high, low) for y in cube]
    if kind == 1:
        return lambda: lsip.Simplex(m), list(unit)
    if kind == 2:
        pairs = [(i, j) for i in range(m) for j in range(m) if i != j]
        return lambda: lsip.Budget(m, 1.5), [s * unit[i] + 0.5 * t * unit[j] for i, j in pairs for s, t in _signs(2)]
    rows = np.vstack([unit, -unit, *cube])  # of which the last touch corners
    return lambda: lsip.Polytope(rows, np.append(np.ones(2 * m), np.full(len(cube), float(m)))), cube


def _signs(count: int) -> list[tuple[float, ...]]:
    return list(product((-1.0, 1.0), repeat=count))
