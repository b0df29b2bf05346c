"""Bounded polyhedra given by inequalities."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ModelError
from ..legible import legibly
from ..schema import Schema, number
from .base import Array, Cell, Domain, Seed, Vector, as_points, no_witness
from .chart import PolytopeChart, find_chart
from .facets import facets
from .halfspaces import Frame, HalfspaceSystem, outer_box
from .hull import Hull, affine_hull
from .notation import superscript
from .points import constant
from .proven import ScaledDirections


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class Polytope(Domain):
    """The polytope {y : A y <= b}, with `A` of shape (q, m) and `b` of shape (q,).

    It must be bounded and not empty; both are proven here, in rational arithmetic where floats cannot tell, up to
    2,000 numbers in `A`. It may be flat: equations are pairs of opposite inequalities. One that is larger than that and
    flat, or almost, is accepted without proof, and `witness` then finds nothing; leave rows out, or use a Simplex or a
    product of smaller sets.
    Sampling is exactly uniform up to dimension 6 and by a random walk (hit and run) beyond.

    >>> triangle = Polytope([[-1, 0], [0, -1], [1, 1]], [0, 0, 1])
    >>> triangle.upper
    array([1., 1.])
    >>> triangle.project([1, 1])
    array([[0.5, 0.5]])
    """

    convex: ClassVar[bool] = True
    filed: ClassVar[Schema] = ([[number]], [number])

    A: Array  # (q, m)
    b: Array  # (q,)
    _system: HalfspaceSystem
    _hull: Hull
    _chart: PolytopeChart | None

    def __init__(self, A: ArrayLike, b: ArrayLike) -> None:
        rows, sides = constant(A, "A", 2), constant(b, "b", 1)
        if len(rows) != len(sides):
            raise ModelError(
                f"A polytope A y <= b needs one number in `b` a row of `A`; got {len(rows)} rows, {len(sides)}."
            )
        system = HalfspaceSystem.read(rows, sides)
        lower, upper = outer_box(system)
        self._set(
            A=rows,
            b=sides,
            lower=constant(lower, "lower", 1),
            upper=constant(upper, "upper", 1),
            _system=system,
            _hull=affine_hull(system, lower, upper),
            _chart=find_chart(system, lower, upper),
        )

    @classmethod
    def from_vertices(cls, points: ArrayLike) -> Polytope:
        """The convex hull of points, shape (N, m), as the inequalities of its facets.

        No given point is left out. Facets that doubles cannot describe exactly are moved outward by a rounding: the
        polytope is what `A` and `b` say.

        >>> Polytope.from_vertices([[0, 0], [1, 0], [0, 1], [0.2, 0.2]]).b
        array([0., 0., 1.])
        """
        return cls(*facets(constant(points, "points", 2)))

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
    def deepest(self) -> Array:
        """A point that is as far as can be from all planes, within the affine hull."""
        return np.clip(self._hull.origin, self.lower, self.upper)

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
        tiny = 1e-15 * min(1.0, float((self.upper - self.lower).max()))
        outside = ~self.contains(points, tol=0.0 if self._hull.dim == self.dim else tiny)
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
        """A linear program each; its multipliers w >= 0 prove d · y <= w · b + (d - w A) · y."""
        towards = ScaledDirections.of(as_points(d, self.dim))
        moving: NDArray[np.bool_] = (towards.unit != 0).any(axis=1)
        points, tops = np.tile(self.deepest, (len(moving), 1)), np.zeros(len(moving))
        if moving.any():
            unit = towards.unit[moving]
            ends, multipliers, found = self._frame.furthest(unit)
            # Without multipliers the bounding box remains.
            ends = np.where(found[:, None], ends, np.where(unit > 0, self.upper, self.lower))
            points[moving] = self.project(ends)
            tops[moving] = self._system.bound(unit, multipliers).over(self.lower, self.upper)
        return points, towards.given(tops)

    @cached_property
    def _frame(self) -> Frame:
        return self._system.box_frame(self.lower, self.upper)

    def witness(self, y: ArrayLike) -> tuple[Array, Array]:
        """Solve the equations, and pull what is not inside a few ulps towards the middle."""
        points = as_points(y, self.dim)
        if self._chart is None:
            return no_witness(points)
        far = ~self.contains(points, tol=1e-9 * float((self.upper - self.lower).max()) / self._slack(1.0))
        if far.any():
            points = points.copy()
            points[far] = self.project(points[far])
        return self._chart.witness(points)

    def cells(self) -> tuple[Cell, ...]:
        """The bounding box, cut by the inequalities."""
        return (Cell(self.lower[None], self.upper[None], self._inside),)

    def _inside(self, y: Vector) -> Vector:
        return self.b - self.A @ y

    def _arguments(self) -> tuple[object, ...]:
        return self.A, self.b

    @legibly
    def __str__(self) -> str:
        return f"{{y ∈ ℝ{superscript(self.dim)} : A y ≤ b}} ({len(self.b)} rows)"

    def latex(self) -> str:
        """The set of y with A y <= b."""
        return rf"\{{y \in \mathbb{{R}}^{{{self.dim}}} : A y \le b\}}"
