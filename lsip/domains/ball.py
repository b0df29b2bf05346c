"""Euclidean balls."""

from __future__ import annotations

from dataclasses import dataclass
from math import gamma, pi
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ModelError
from .base import Array, Cell, Domain, as_points, raised
from .notation import point
from .points import constant, unit_ball


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class Ball(Domain):
    """The ball {y : ||y - centre|| <= radius} in the Euclidean norm, with `centre` of shape (m,).

    >>> Ball([0, 0], 1).contains([[0.6, 0.8], [1, 1]])
    array([ True, False])
    """

    centre: Array  # (m,)
    radius: float

    def __init__(self, centre: ArrayLike, radius: float) -> None:
        c, r = constant(centre, "centre", 1), float(constant(radius, "radius", 0))
        if r <= 0:
            raise ModelError(f"A ball needs a positive radius; got {r:g}. For a single point use Finite.")
        self._set(
            centre=c, radius=r, lower=constant(c - r, "centre - radius", 1), upper=constant(c + r, "centre + radius", 1)
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
        directions = as_points(d, self.dim)
        length = np.linalg.norm(directions, axis=1)
        y = self.centre + self.radius * directions / np.maximum(length, 1e-300)[:, None]
        top, size = directions @ self.centre + self.radius * length, np.abs(directions) @ np.abs(self.centre)
        return np.clip(y, self.lower, self.upper), raised(top, size + self.radius * length, self.dim + 8)

    def bend(self, y: Array) -> tuple[Array, Array]:
        """The sphere has the curvature 1 / radius."""
        offset = y - self.centre
        distance = np.linalg.norm(offset, axis=1)
        on = distance >= self.radius * (1 - 1e-9)
        normal = np.where(on[:, None], offset / np.maximum(distance, 1e-300)[:, None], 0.0)
        return normal, np.full(len(y), 1.0 / self.radius)

    def cells(self) -> tuple[Cell, ...]:
        """The bounding box, cut by one quadratic inequality."""
        # Outward by an ulp: the corner centre - radius may have been rounded into the ball.
        lower, upper = np.nextafter(self.lower, -np.inf), np.nextafter(self.upper, np.inf)
        return (Cell(lower[None], upper[None], self._inside),)

    def _inside(self, y: Any) -> Any:
        # A product with a row of ones gives one component rather than a number, for arrays and expressions alike.
        return self.radius**2 - np.ones((1, self.dim)) @ (y - self.centre) ** 2

    def _arguments(self) -> tuple[object, ...]:
        return self.centre, self.radius

    def __str__(self) -> str:
        return f"B({point(self.centre)}, {self.radius:.6g})"

    def latex(self) -> str:
        """B(centre, radius)."""
        return str(self)
