"""Finite sets of index points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..legible import legibly
from ..schema import Schema, number
from ..validation import numbers
from .base import Array, Cell, Domain, Seed, as_points, check_grid
from .notation import point
from .points import FARTHEST, constant
from .proven import ScaledDirections, raised


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class Finite(Domain):
    """The set of the given points, of shape (K, m) or, for numbers, (K,). Repeated points count once.

    >>> Finite([0, 1, 3]).project([1.8]).item()
    1.0
    """

    filed: ClassVar[Schema] = ([[number]],)

    points: Array  # (K, m), distinct

    def __init__(self, points: ArrayLike) -> None:
        given = numbers(points, "`points`", nan=True)
        columns = given[:, None] if given.ndim == 1 else given
        every = constant(columns, "points", 2)
        first = np.unique(every, axis=0, return_index=True)[1]
        unique = constant(every[np.sort(first)], "points", 2)
        self._set(
            points=unique,
            lower=constant(unique.min(axis=0), "lower", 1),
            upper=constant(unique.max(axis=0), "upper", 1),
        )

    @property
    def diameter(self) -> float:
        """The largest distance of two points; the diagonal of the bounding box when there are very many."""
        if len(self.points) > 2000:  # their distances are not all computed
            return float(np.linalg.norm(self.upper - self.lower))
        return max(float(np.linalg.norm(self.points - p, axis=1).max()) for p in self.points)

    @property
    def measure(self) -> tuple[int, float]:
        """The number of points."""
        return 0, float(len(self.points))

    def _nearest(self, y: Array) -> tuple[Array, NDArray[np.intp]]:
        from scipy.spatial import cKDTree

        distance, which = cKDTree(self.points).query(y)
        return distance, which

    def contains(self, y: ArrayLike, tol: float = 1e-9) -> NDArray[np.bool_]:
        """Whether one of the points is within the tolerance."""
        points = as_points(y, self.dim, finite=False)
        known = np.isfinite(points).all(axis=1)
        inside = np.zeros(len(points), dtype=bool)
        if known.any():
            inside[known] = self._nearest(points[known])[0] <= self._slack(tol)
        return inside

    def project(self, y: ArrayLike) -> Array:
        """Find the nearest of the points."""
        near = as_points(y, self.dim).clip(-FARTHEST, FARTHEST)  # from further off, all are as far
        return self.points[self._nearest(near)[1]]

    @property
    def parameters(self) -> int:
        """One, which picks a point."""
        return 1

    def place(self, u: Array) -> Array:
        """Cut [0, 1] into equal pieces, one a point."""
        count = len(self.points)
        placed: Array = self.points[np.minimum((u[:, 0] * count).astype(int), count - 1)]
        return placed

    def sample(self, n: int, seed: Seed = 0) -> Array:
        """Draw `n` points with replacement, all equally likely."""
        return self.points[np.random.default_rng(seed).integers(len(self.points), size=n)]

    def spread(self, n: int) -> Array:
        """All points, or `n` of them at equal steps along the list."""
        count = len(self.points)
        return self.points if n >= count else self.points[np.arange(n) * count // n]

    def grid(self, per_axis: int) -> Array:
        """All points; `per_axis=1` gives the one nearest to the centre."""
        check_grid(per_axis, 1)
        return self.project((self.lower + self.upper)[None] / 2) if per_axis == 1 else self.points

    def support(self, d: ArrayLike) -> tuple[Array, Array]:
        """The best of the points."""
        towards = ScaledDirections.of(as_points(d, self.dim))
        values = towards.unit @ self.points.T
        tops = raised(values, np.abs(towards.unit) @ np.abs(self.points.T), self.dim + 2)
        return self.points[values.argmax(axis=1)], towards.given(tops.max(axis=1))

    def exact_support(self, d: Sequence[Fraction]) -> Fraction:
        """What is largest at a point."""
        return max(sum((a * Fraction(b) for a, b in zip(d, y, strict=True)), Fraction(0)) for y in self.points.tolist())

    def witness(self, y: ArrayLike) -> tuple[Array, Array]:
        """The nearest of the points."""
        nearest = self.project(y)
        return nearest, nearest.copy()

    def cells(self) -> tuple[Cell, ...]:
        """One box of no width a point."""
        return (Cell(self.points, self.points, None),)

    def _arguments(self) -> tuple[object, ...]:
        return (self.points,)

    @legibly
    def __str__(self) -> str:
        if len(self.points) > 6:
            return f"{{{point(self.points[0])}, …, {point(self.points[-1])}}} ({len(self.points)} points)"
        return f"{{{', '.join(map(point, self.points))}}}"

    def latex(self) -> str:
        """The points in braces."""
        shown = [point(p).replace("…", r"\dots") for p in self.points]
        if len(shown) > 6:
            shown = [shown[0], r"\dots", shown[-1]]
        return rf"\{{{', '.join(shown)}\}}"
