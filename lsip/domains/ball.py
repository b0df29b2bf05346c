"""Euclidean balls."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import gamma, pi
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ModelError
from ..legible import legibly
from ..schema import Schema, number
from .base import Array, Cell, Domain, Vector, as_points
from .notation import point
from .points import constant, unit_ball
from .proven import ScaledDirections, above, add_down, add_up, dot_bounds, pulled_in, raised, two_sum


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class Ball(Domain):
    """The ball {y : ||y - centre|| <= radius} in the Euclidean norm, with `centre` of shape (m,).

    >>> Ball([0, 0], 1).contains([[0.6, 0.8], [1, 1]])
    array([ True, False])
    """

    convex: ClassVar[bool] = True
    filed: ClassVar[Schema] = ([number], number)

    centre: Array  # (m,)
    radius: float
    _square: float  # of the radius, rounded up so that the inequality leaves out no point of the ball

    def __init__(self, centre: ArrayLike, radius: float) -> None:
        c, r = constant(centre, "centre", 1), float(constant(radius, "radius", 0))
        if r <= 0:
            raise ModelError(f"A ball needs a positive radius; got {r:g}. For a single point use Finite.")
        self._set(
            centre=c,
            radius=r,
            lower=constant(add_down(c, -r), "centre - radius", 1),
            upper=constant(add_up(c, r), "centre + radius", 1),
            _square=above(Fraction(r) ** 2),
        )

    @property
    def diameter(self) -> float:
        """Twice the radius."""
        return 2 * self.radius

    @property
    def measure(self) -> tuple[int, float]:
        """The volume of the ball."""
        return self.dim, float(pi ** (self.dim / 2) / gamma(self.dim / 2 + 1) * self.radius**self.dim)

    def contains(self, y: ArrayLike, tol: float = 1e-9) -> NDArray[np.bool_]:
        """Whether the distance from the centre is at most the radius."""
        distance = np.linalg.norm(as_points(y, self.dim, finite=False) - self.centre, axis=1)
        inside: NDArray[np.bool_] = distance <= self.radius + self._slack(tol)
        return inside

    def project(self, y: ArrayLike) -> Array:
        """Pull outside points to the sphere along the line to the centre."""
        points = as_points(y, self.dim)
        offset = points - self.centre
        distance = np.linalg.norm(offset, axis=1, keepdims=True)
        pulled = self.centre + offset * (self.radius / np.maximum(distance, self.radius))
        return np.where(distance <= self.radius, points, np.clip(pulled, self.lower, self.upper))

    def place(self, u: Array) -> Array:
        """Map the unit cube radially onto the ball."""
        return np.clip(self.centre + self.radius * unit_ball(u), self.lower, self.upper)

    def support(self, d: ArrayLike) -> tuple[Array, Array]:
        """The centre, moved by the radius along d."""
        towards = ScaledDirections.of(as_points(d, self.dim))
        unit = towards.unit
        length = np.linalg.norm(unit, axis=1)
        y = self.centre + self.radius * unit / np.where(length > 0, length, 1.0)[:, None]
        top, size = unit @ self.centre + self.radius * length, np.abs(unit) @ np.abs(self.centre)
        tops = raised(top, size + self.radius * length, self.dim + 8)
        return np.clip(y, self.lower, self.upper), towards.given(tops)

    def witness(self, y: ArrayLike) -> tuple[Array, Array]:
        """Pull what is not inside towards the centre, by an ulp of the radius, two, four, …."""
        points = pulled_in(self.project(y), self.centre, self._holds)
        return points, points.copy()

    def _holds(self, y: Array) -> NDArray[np.bool_]:
        """Whether points are proven to belong to the ball."""
        # In units of the radius, so that nothing underflows; y - centre is offset + error exactly.
        unit = float(np.ldexp(1.0, min(-int(np.frexp(self.radius)[1]), 1000)))
        parts = two_sum(y, -self.centre)
        offset, error = (part * unit for part in parts)
        radius = self.radius * unit
        inside: NDArray[np.bool_] = (offset**2).sum(axis=1) <= (1 - 1e-6) * radius**2  # beyond any doubt
        close = ~inside
        offset, error, r = offset[close], error[close], np.full((int(close.sum()), 1), radius)
        # The distance squared, less the radius squared, term by term.
        excess = dot_bounds(np.hstack([offset, 2 * offset, error, r]), np.hstack([offset, error, error, -r]))[1]
        inside[close] = excess <= 0
        kept = np.logical_and.reduce([part * unit / unit == part for part in parts]).all(axis=1)  # nothing underflowed
        return inside & (kept | ~close)

    def bend(self, y: Array) -> tuple[Array, Array]:
        """The sphere has the curvature 1 / radius."""
        offset = y - self.centre
        distance = np.linalg.norm(offset, axis=1)
        on = distance >= self.radius * (1 - 1e-9)
        normal = np.where(on[:, None], offset / np.maximum(distance, 1e-300)[:, None], 0.0)
        return normal, np.full(len(y), 1.0 / self.radius)

    def cells(self) -> tuple[Cell, ...]:
        """The bounding box, cut by one quadratic inequality."""
        return (Cell(self.lower[None], self.upper[None], self._inside),)

    def _inside(self, y: Vector) -> Vector:
        # A product with a row of ones gives one component rather than a number, for arrays and expressions alike.
        return self._square - np.ones((1, self.dim)) @ (y - self.centre) ** 2

    def _arguments(self) -> tuple[object, ...]:
        return self.centre, self.radius

    @legibly
    def __str__(self) -> str:
        return f"B({point(self.centre)}, {self.radius:.6g})"

    def latex(self) -> str:
        """B(centre, radius)."""
        return f"B({point(self.centre)}, {self.radius:.6g})".replace("…", r"\dots")
