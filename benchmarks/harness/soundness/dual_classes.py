"""Models whose multipliers are judged as users see them: over all sets, unions of many kinds, half lines and lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lsip

from .balls import Point
from .draw import Rng, any_set, ball_set, box, dyadic, interval, short
from .formulas import Formula, coordinate, number, times, total
from .models import Atom, Family, Model, Row
from .planted import Plan, cost, known, planted, turned
from .sets import Box, Finite, IndexSet, Union

Array = NDArray[np.float64]
Polynomial = list[Fraction]  # coefficients, the constant first
FAR = 6  # powers of ten that a search goes out


def duals(rng: Rng) -> Model:
    """Any planted model that is declared, with equalities among its rows."""
    plan = Plan(any_set, variables=(1, 4), equalities=(0, 1), units=bool(rng.random() < 0.3))
    return _judged(rng, plan)


def unions(rng: Rng) -> Model:
    """Over unions: intervals that touch or lie apart, isolated points, boxes that overlap, discs."""
    return _judged(rng, Plan(_union, variables=(1, 3), families=(1, 2), units=bool(rng.random() < 0.3)))


def _judged(rng: Rng, plan: Plan) -> Model:
    return replace(planted(rng, plan), door="declared", duals=True)


def _union(rng: Rng) -> IndexSet:
    shape = str(rng.choice(["touching", "apart", "points", "overlapping", "discs", "three"]))
    first = interval(rng)
    low, high = float(first.box[0][0]), float(first.box[1][0])
    if shape in ("touching", "apart", "three"):
        gap = 0.0 if shape == "touching" else short(rng.uniform(1e-3, 2))
        second = Box((high + gap,), (high + gap + short(rng.uniform(0.1, 2)),), scalar=True)
        if shape != "three":
            return Union((first, second))
        end = float(second.box[1][0]) + short(rng.uniform(1e-3, 1))
        return Union((first, second, Box((end,), (end + short(rng.uniform(0.1, 2)),), scalar=True)))
    if shape == "points":
        alone = tuple((short(v),) for v in rng.uniform(low - 2, high + 2, 2))
        return Union((Box((low,), (high,)), Finite(alone)))
    if shape == "overlapping":
        base = box(rng, 2)
        a, b = base.box
        return Union((base, Box(tuple((a + b) / 2), tuple(b + (b - a)))))
    return Union((ball_set(rng, 2), ball_set(rng, 2)))


# ---- half lines ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ray(IndexSet):
    """[end, inf), (-inf, end], or all numbers."""

    end: float
    sign: int  # 1 or -1; 0 for the line
    length: float  # of what happens on it
    scalar: bool = True

    @property
    def box(self) -> tuple[Array, Array]:
        """What a search looks at first; beyond, it takes ever longer steps."""
        low = self.end if self.sign > 0 else self.end - 64 * self.length
        high = self.end if self.sign < 0 else self.end + 64 * self.length
        return np.array([low]), np.array([high])

    def write(self) -> Any:
        return lsip.Interval(self.end if self.sign > 0 else -inf, self.end if self.sign < 0 else inf)

    def nearest(self, y: Sequence[Fraction]) -> Point:
        v, end = y[0], Fraction(self.end)
        return (max(v, end) if self.sign > 0 else min(v, end) if self.sign < 0 else v,)

    def contains(self, y: Sequence[Fraction]) -> bool:
        return tuple(y) == self.nearest(y)

    def corners(self) -> Array:
        steps = self.length * np.concatenate([[0.0], 10.0 ** np.arange(-3, FAR)])
        sides = [steps] if self.sign else [steps, -steps]
        return self.end + (self.sign or 1) * np.concatenate(sides)[:, None]

    def pull(self, y: Array) -> Array:
        return np.clip(y, self.end if self.sign > 0 else -np.inf, self.end if self.sign < 0 else np.inf)

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        far = self.length * 10 ** rng.uniform(-3, FAR, (count, 1))
        side = self.sign or rng.choice([-1, 1], (count, 1))
        return np.asarray(self.end + side * far)


def half_lines(rng: Rng) -> Model:
    """Polynomials over a half line, or a line, that touch at chosen points, at the end or at infinity.

    b = a x - slack with a slack that is a square, times the distance to the end where there is one; that of a model
    which is held at infinity has a lower degree than the columns. All numbers are short, so that x is feasible exactly.
    """
    sign = int(rng.choice([1, 1, -1, 0]))
    unit = float(2.0 ** rng.integers(-6, 7)) if rng.random() < 0.4 else 1.0
    over = Ray(dyadic(rng.normal() * 3, 2) * unit, sign, unit)
    n = int(rng.integers(1, 4))
    columns = [[Fraction(1)], [Fraction(0), Fraction(1)], [Fraction(0)] * 2 + [Fraction(1)]][:n]
    columns = columns if n == 3 else [columns[0], *[[Fraction(0)] * 2 + [Fraction(1)]] * (n - 1)]
    columns = [[c / Fraction(unit) ** k for k, c in enumerate(p)] for p in columns]
    x = [Fraction(dyadic(v, 2)) for v in rng.normal(size=n) * 2]
    held = str(rng.choice(["inside", "end", "infinity", "both"])) if n > 1 else "inside"
    held = "inside" if held in ("end", "both") and not sign else held
    at = Fraction(over.end) + (sign or 1) * Fraction(dyadic(rng.uniform(0.25, 4), 3)) * Fraction(unit)
    touch = [Fraction(dyadic(rng.uniform(0.5, 2), 3))]
    room = _times(touch, [Fraction(1)])
    points: list[tuple[float, Fraction]] = []
    step = [-at / Fraction(unit), 1 / Fraction(unit)]
    away = [-sign * Fraction(over.end) / Fraction(unit), sign / Fraction(unit)]
    if held == "inside":
        room, points = _times(room, _times(step, step)), [(float(at), Fraction(1))]
    elif held == "end":
        room, points = _times(room, away), [(over.end, Fraction(1))]
    elif held == "infinity":
        points = [(inf * (sign or 1), Fraction(1))]
    else:
        room, points = _times(room, away), [(over.end, Fraction(1)), (inf * sign, Fraction(1))]
    side = [-v for v in room]
    for value, column in zip(x, columns, strict=True):
        side = _plus(side, [value * c for c in column])
    family = Family(over, tuple(map(_formula, columns)), _formula(side), above=True)
    atoms = [Atom(0, (Fraction(p),), short(rng.uniform(0.2, 3))) for p, _ in points if isfinite(p)]
    far = [short(rng.uniform(0.2, 3)) for p, _ in points if not isfinite(p)]
    c = [cost([family], [], atoms, j) for j in range(n)]
    for w in far:  # the leading coefficients: those of t², in units
        c = [v + w * float(p[2] * Fraction(unit) ** 2 if len(p) > 2 else 0) for v, p in zip(c, columns, strict=True)]
    rows: list[Row] = []
    if rng.random() < 0.3 and n > 1:
        a = [dyadic(v, 2) for v in rng.normal(size=n)]
        rows = [
            Row(
                tuple(a),
                "==" if rng.random() < 0.5 else "<=",
                float(sum(Fraction(u) * v for u, v in zip(a, x, strict=True))),
            )
        ]
        weight = short(rng.uniform(0.1, 1))
        c = [v - weight * u for v, u in zip(c, a, strict=True)]
    model = Model(
        c=tuple(map(float, c)),
        lower=tuple(float(v) - short(rng.uniform(1, 9)) for v in x),
        upper=tuple(float(v) + short(rng.uniform(1, 9)) for v in x),
        families=(family,),
        rows=tuple(rows),
        duals=True,
        limit=_Limit(tuple(map(tuple, columns)), tuple(side)),
    )
    model = turned(model) if rng.random() < 0.5 else model
    return known(model, tuple(x))


@dataclass(frozen=True)
class _Limit:
    """The leading coefficients of a family of polynomials, where its rows are divided by a power."""

    columns: tuple[tuple[Fraction, ...], ...]
    side: tuple[Fraction, ...]

    def __call__(self, family: int, point: tuple[float, ...], divided_by: str) -> tuple[list[Fraction], Fraction]:
        power = 2 if "²" in divided_by else 1
        turn = Fraction(-1 if point[0] < 0 and power % 2 else 1)
        each = [turn * p[power] if len(p) > power else Fraction(0) for p in (*self.columns, self.side)]
        return each[:-1], each[-1]


def _times(p: Polynomial, q: Polynomial) -> Polynomial:
    found = [Fraction(0)] * (len(p) + len(q) - 1)
    for i, u in enumerate(p):
        for j, v in enumerate(q):
            found[i + j] += u * v
    return found


def _plus(p: Polynomial, q: Polynomial) -> Polynomial:
    return [
        (p[k] if k < len(p) else Fraction(0)) + (q[k] if k < len(q) else Fraction(0))
        for k in range(max(len(p), len(q)))
    ]


def _formula(p: Polynomial) -> Formula:
    t = coordinate(0)
    terms = [times(float(c), t if k == 1 else t ** float(k)) for k, c in enumerate(p) if k and c]
    if not terms:
        return number(float(p[0]))
    return total([*terms, number(float(p[0]))]) if p[0] else total(terms)
