"""Index sets as images of the unit cube, with the density of their points there: what a quadrature works on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import factorial
from typing import Any

import numpy as np

from ..domains import Ball, Box, Domain, Product, Simplex
from ..domains import Interval as Segment
from ..errors import ModelError
from ..expressions.graph import PI, Expression, Index, as_expression
from .volume import number, refuse


@dataclass(frozen=True, eq=False)
class UnitCubeMap:
    """y as a function of u in the unit cube, and the density of uniform points y with respect to uniform u."""

    dim: int
    place: Callable[[Expression], list[Expression]]  # u (k,) -> the coordinates of y
    density: Callable[[Expression], Expression] | None = None  # None: 1

    def pulled_back(self, indices: tuple[Index, ...]) -> tuple[Index, dict[Index, Expression], Any]:
        """The index u, the indices of a model as functions of it, and the density."""
        u = Index("u", Box(np.zeros(max(self.dim, 1)), np.ones(max(self.dim, 1))))  # of a point, u says nothing
        y, start, instead = self.place(u), 0, dict[Index, Expression]()
        for index in indices:
            end = start + index.domain.dim
            instead[index] = as_expression(y[start] if not index.shape else np.stack(y[start:end]))
            start = end
        return u, instead, 1.0 if self.density is None else self.density(u)


def unit_cube_map(domain: Domain) -> UnitCubeMap:
    """A set as an image of the unit cube."""
    if isinstance(domain, Product):
        return _together([unit_cube_map(f) for f in domain.factors])
    if isinstance(domain, Segment | Box):
        return _box(domain)
    if isinstance(domain, Simplex):
        return _simplex(domain.dim)
    if isinstance(domain, Ball):
        return _ball(domain)
    raise refuse(domain)


def between(a: float, b: float, u: Expression) -> Expression:
    """a + (b - a) u."""
    if not (np.isfinite(a) and np.isfinite(b)):
        raise ModelError(f"An integral between {a:g} and {b:g} needs a density: lsip.expectation takes one.")
    width = Fraction(b) - Fraction(a)
    moved = u if width == 1 else number(width) * u
    return moved + a if a else moved


def _box(domain: Segment | Box) -> UnitCubeMap:
    ends = list(zip(domain.lower.tolist(), domain.upper.tolist(), strict=True))
    wide = [i for i, (a, b) in enumerate(ends) if a < b]

    def place(u: Expression) -> list[Expression]:
        return [between(a, b, u[wide.index(i)]) if a < b else as_expression(a) for i, (a, b) in enumerate(ends)]

    return UnitCubeMap(len(wide), place)


def _simplex(m: int) -> UnitCubeMap:
    """Each coordinate takes its share of what those before it leave of 1."""

    def place(u: Expression) -> list[Expression]:
        rest = as_expression(1.0)
        taken = []
        for k in range(m - 1):
            taken.append(rest * u[k])
            rest = rest * (1.0 - u[k])
        return [*taken, rest]

    def density(u: Expression) -> Expression:
        found = as_expression(float(factorial(m - 1)))
        for k in range(m - 2):
            found = found * (1.0 - u[k]) ** (m - 2 - k)
        return found

    return UnitCubeMap(m - 1, place, density)


def _ball(ball: Ball) -> UnitCubeMap:
    """Distance from the centre, longitude and, in three dimensions, the angle to an axis."""
    c, r, m = ball.centre.tolist(), ball.radius, ball.dim
    if m == 1:
        return UnitCubeMap(1, lambda u: [c[0] + r * (2.0 * u[0] - 1.0)])
    if m == 2:
        return UnitCubeMap(2, lambda u: _circle(c, r * u[0], u[1]), lambda u: 2.0 * u[0])
    if m == 3:

        def place(u: Expression) -> list[Expression]:
            angle = PI * u[2]
            return [*_circle(c, r * u[0] * np.sin(angle), u[1]), c[2] + r * u[0] * np.cos(angle)]

        return UnitCubeMap(3, place, lambda u: 3.0 * u[0] ** 2 * (PI / 2.0) * np.sin(PI * u[2]))
    raise ModelError(
        f"Over a ball in {m} dimensions, only polynomials in the index are integrated; give samples to "
        "lsip.expectation for anything else."
    )


def _circle(c: list[float], radius: Expression, turn: Expression) -> list[Expression]:
    angle = 2.0 * PI * turn
    return [c[0] + radius * np.cos(angle), c[1] + radius * np.sin(angle)]


def _together(maps: list[UnitCubeMap]) -> UnitCubeMap:
    """Side by side; points of a product are independent."""
    starts = np.cumsum([0] + [s.dim for s in maps]).tolist()
    parts = list(zip(maps, starts, strict=False))

    def place(u: Expression) -> list[Expression]:
        return [y for s, start in parts for y in s.place(u[start : start + s.dim])]

    def density(u: Expression) -> Expression:
        found: Any = 1.0
        for s, start in parts:
            if s.density is not None:
                found = s.density(u[start : start + s.dim]) * found
        return found

    return UnitCubeMap(starts[-1], place, density)
