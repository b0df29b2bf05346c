"""The probability simplex."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import factorial, sqrt
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ModelError
from ..legible import legibly
from ..schema import Schema, whole
from .base import Array, Cell, Domain, Vector, as_points, check_grid
from .notation import superscript
from .points import constant, coordinates, unit_simplex
from .proven import sum_bounds

UNIT = 2.0**-53  # multiples of it between 0 and 1 are floats, and so are their sums and differences there


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class Simplex(Domain):
    """The probability vectors {y in R^m : y >= 0, y[0] + … + y[m-1] = 1}.

    >>> Simplex(3).project([0.5, 0.5, 3])
    array([[0., 0., 1.]])
    """

    convex: ClassVar[bool] = True
    filed: ClassVar[Schema] = (whole,)

    def __init__(self, m: int) -> None:
        size = coordinates(m, "Simplex(m)")
        if size < 1:
            raise ModelError(f"Simplex(m) needs at least one coordinate; got m={size}.")
        lower = np.full(size, 1.0 if size == 1 else 0.0)
        self._set(lower=constant(lower, "lower", 1), upper=constant(np.ones(size), "upper", 1))

    @property
    def diameter(self) -> float:
        """The distance of two vertices."""
        return sqrt(2) if self.dim > 1 else 0.0

    @property
    def measure(self) -> tuple[int, float]:
        """The volume within the plane y[0] + … + y[m-1] = 1."""
        return self.dim - 1, sqrt(self.dim) / factorial(self.dim - 1)

    def contains(self, y: ArrayLike, tol: float = 1e-9) -> NDArray[np.bool_]:
        """Whether y >= 0 and its sum is 1."""
        points = as_points(y, self.dim, finite=False)
        # A step of length tol changes the sum by up to sqrt(m) tol.
        inside: NDArray[np.bool_] = np.abs(points.sum(axis=1) - 1) <= tol * sqrt(self.dim)
        inside &= np.all(points >= -tol, axis=1)
        return inside

    def project(self, y: ArrayLike) -> Array:
        """Lower all coordinates by one threshold and cut them off at 0, so that the sum is 1."""
        points = as_points(y, self.dim)
        points = points - points.max(axis=1, keepdims=True)  # the projection does not change, and nothing overflows
        descending = -np.sort(-points, axis=1)
        threshold = (np.cumsum(descending, axis=1) - 1) / np.arange(1, self.dim + 1)
        support = (descending > threshold).sum(axis=1)
        cut = np.maximum(points - threshold[np.arange(len(points)), support - 1][:, None], 0.0)
        projected: Array = cut / cut.sum(axis=1, keepdims=True)
        return projected

    @property
    def parameters(self) -> int:
        """One less than the number of coordinates."""
        return self.dim - 1

    def place(self, u: Array) -> Array:
        """Gaps between sorted numbers."""
        return unit_simplex(u)

    def grid(self, per_axis: int) -> Array:
        """The points whose coordinates are multiples of 1/(per_axis - 1); the vertices are among them."""
        check_grid(per_axis, max(self.dim - 1, 1))
        if per_axis == 1 or self.dim == 1:
            return np.full((1, self.dim), 1 / self.dim)
        parts = per_axis - 1
        counts = np.zeros((1, 0), dtype=int)
        for _ in range(self.dim - 1):
            left = parts - counts.sum(axis=1)
            rows = np.repeat(np.arange(len(counts)), left + 1)
            within = np.arange(len(rows)) - np.repeat(np.cumsum(left + 1) - (left + 1), left + 1)
            counts = np.column_stack([counts[rows], within])
        lattice: Array = np.column_stack([counts, parts - counts.sum(axis=1)]) / parts
        return lattice

    def support(self, d: ArrayLike) -> tuple[Array, Array]:
        """The vertex of the largest entry."""
        directions = as_points(d, self.dim)
        return np.eye(self.dim)[directions.argmax(axis=1)], directions.max(axis=1)

    def exact_support(self, d: Sequence[Fraction]) -> Fraction:
        """The largest d[j]."""
        return max(d)

    def corners(self, y: Array) -> tuple[Array, Array]:
        """All corners, with the coordinates as shares."""
        return np.broadcast_to(np.eye(self.dim), (len(y), self.dim, self.dim)), np.asarray(y, dtype=float)

    def witness(self, y: ArrayLike) -> tuple[Array, Array]:
        """Let the largest coordinate be what the others leave.

        Multiples of 2^-53 add up without rounding, so that points next to which there are some are moved there, and
        their coordinates sum to exactly 1. A coordinate that is too small for that leaves an interval of an ulp or two.
        """
        points = as_points(y, self.dim)
        outside = ~self.contains(points)
        points = np.maximum(points, 0.0)
        if outside.any():
            points[outside] = self.project(as_points(y, self.dim)[outside])
        # Moved to a multiple of `UNIT`, they change in the tenth digit at most.
        coarse = ((points == 0) | (points >= 2.0**31 * UNIT)).all(axis=1)
        points[coarse] = np.rint(points[coarse] / UNIT) * UNIT
        n, largest = np.arange(len(points)), points.argmax(axis=1)
        others = -points
        others[n, largest] = 1.0
        lower, upper = points, points.copy()
        lower[n, largest], upper[n, largest] = sum_bounds(others)
        unknown = lower[n, largest] < 0  # what is left may be negative: only where the coordinates are too many
        lower[unknown] = upper[unknown] = np.nan
        return lower, upper

    def cells(self) -> tuple[Cell, ...]:
        """The unit cube, cut by the plane as two inequalities."""
        if self.dim == 1:
            return (Cell(self.lower[None], self.upper[None], None),)
        return (Cell(self.lower[None], self.upper[None], self._inside),)

    def flat_cells(self) -> tuple[Cell, ...]:
        """The cube of shares: each coordinate takes its share of what those before it leave of 1, the last the rest."""
        k = self.dim - 1
        return (Cell(np.zeros((1, k)), np.ones((1, k)), None, _shared_out),) if k else self.cells()

    def _inside(self, y: Vector) -> Vector:
        sign = np.array([1.0, -1.0])
        return np.outer(sign, np.ones(self.dim)) @ y - sign

    def _arguments(self) -> tuple[object, ...]:
        return (self.dim,)

    @legibly
    def __str__(self) -> str:
        return "Δ" + superscript(self.dim - 1)

    def latex(self) -> str:
        """Delta, with the dimension of the set as exponent."""
        return rf"\Delta^{{{self.dim - 1}}}"


def _shared_out(shares: Any) -> Any:
    """The coordinates, none of which is ever below 0."""
    rest, taken = np.ones(1), []
    for k in range(len(shares)):
        taken.append(rest * shares[k : k + 1])
        rest = rest * (1.0 - shares[k : k + 1])
    return np.concatenate([*taken, rest])
