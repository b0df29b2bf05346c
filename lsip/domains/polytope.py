"""Bounded polyhedra given by inequalities."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ModelError
from .base import Array, Cell, Domain, Seed, as_points
from .hull import Hull, affine_hull, furthest, largest_ball, outer_box, unit_rows
from .notation import superscript
from .points import constant


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class Polytope(Domain):
    """The polytope {y : A y <= b}, with `A` of shape (q, m) and `b` of shape (q,).

    It must be bounded and not empty; both are checked here. It may be flat: equations are pairs of inequalities.
    Sampling is exactly uniform up to dimension 6 and by a random walk (hit and run) beyond.

    >>> triangle = Polytope([[-1, 0], [0, -1], [1, 1]], [0, 0, 1])
    >>> triangle.upper
    array([1., 1.])
    >>> triangle.project([1, 1])
    array([[0.5, 0.5]])
    """

    A: Array  # (q, m)
    b: Array  # (q,)
    _hull: Hull
    _margin: float  # the polytope is proven to lie in its bounding box grown by this much on every side

    def __init__(self, A: ArrayLike, b: ArrayLike) -> None:
        rows, sides = constant(A, "A", 2), constant(b, "b", 1)
        if len(rows) != len(sides):
            raise ModelError(
                f"A polytope A y <= b needs one number in `b` a row of `A`; got {len(rows)} rows, {len(sides)}."
            )
        unit = unit_rows(rows, sides)
        ball = largest_ball(*unit)
        lower, upper, margin = outer_box(*unit)
        self._set(
            A=rows,
            b=sides,
            lower=constant(lower, "lower", 1),
            upper=constant(upper, "upper", 1),
            _hull=affine_hull(*unit, *ball),
            _margin=margin,
        )

    def _lift(self, z: Array) -> Array:
        return np.clip(self._hull.lift(z), self.lower, self.upper)

    @cached_property
    def vertices(self) -> Array:
        """The corners, shape (K, m); there may be very many in higher dimensions."""
        return self._lift(self._hull.vertices)

    @cached_property
    def diameter(self) -> float:
        """The largest distance of two corners; the diagonal of the bounding box beyond dimension 6."""
        diagonal = float(np.linalg.norm(self.upper - self.lower))
        if not self._hull.small:
            return diagonal
        return max(float(np.linalg.norm(self.vertices - v, axis=1).max()) for v in self.vertices)

    @property
    def measure(self) -> tuple[int, float]:
        """The volume within its affine hull (estimated by random rays beyond dimension 6)."""
        return self._hull.dim, self._hull.volume

    def contains(self, y: ArrayLike, tol: float = 1e-9) -> NDArray[np.bool_]:
        """Whether A y <= b, where `tol` is a distance from each plane."""
        points = as_points(y, self.dim, finite=False)
        slack = self._slack(tol) * np.linalg.norm(self.A, axis=1)
        inside: NDArray[np.bool_] = (points @ self.A.T <= self.b + slack).all(axis=1)
        return inside

    def project(self, y: ArrayLike) -> Array:
        """Solve a small least-distance problem for each point outside."""
        points = as_points(y, self.dim).copy()
        # In a flat polytope rounding alone moves points off the hull, so only a tiny distance counts as inside.
        outside = ~self.contains(points, tol=0.0 if self._hull.dim == self.dim else 1e-15)
        if outside.any():
            points[outside] = self._lift(self._hull.project(points[outside]))
        return points

    @property
    def parameters(self) -> int:
        """The dimension of the affine hull."""
        return self._hull.dim

    def place(self, u: Array) -> Array:
        """Pick a simplex of a triangulation by volume, then a point in it; along rays beyond dimension 6."""
        return self._lift(self._hull.place(u))

    def sample(self, n: int, seed: Seed = 0) -> Array:
        """Draw `n` uniform points."""
        rng = np.random.default_rng(seed)
        return self._lift(self._hull.sample(n, rng))

    def support(self, d: ArrayLike) -> tuple[Array, Array]:
        """A linear program each; its multipliers w >= 0 prove d · y <= w · b + |d - w A| · |y|."""
        directions = as_points(d, self.dim)
        points, tops = np.empty_like(directions), np.empty(len(directions))
        reach = np.maximum(np.abs(self.lower), np.abs(self.upper)) + self._margin
        size, rounding = np.abs(self.A), (len(self.b) + self.dim + 8) * 2.0**-52
        for i, towards in enumerate(directions):
            points[i], w = furthest(self.A, self.b, towards)
            rest = np.abs(towards - w @ self.A) + rounding * (np.abs(towards) + w @ size)
            tops[i] = w @ self.b + rest @ reach * (1 + rounding) + rounding * (w @ np.abs(self.b))
        return self.project(points), tops

    def cells(self) -> tuple[Cell, ...]:
        """The bounding box, cut by the inequalities."""
        return (Cell(self.lower[None] - self._margin, self.upper[None] + self._margin, self._inside),)

    def _inside(self, y: Any) -> Any:
        return self.b - self.A @ y

    def _arguments(self) -> tuple[object, ...]:
        return self.A, self.b

    def __str__(self) -> str:
        return f"{{y ∈ ℝ{superscript(self.dim)} : A y ≤ b}} ({len(self.b)} rows)"

    def latex(self) -> str:
        """The set of y with A y <= b."""
        return rf"\{{y \in \mathbb{{R}}^{{{self.dim}}} : A y \le b\}}"
