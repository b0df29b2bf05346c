"""The geometry of {y : A y <= b} in floats: its affine hull, corners, volume, uniform points and projection."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import factorial, gamma, pi

import numpy as np
from numpy.typing import NDArray

from .furthest import furthest
from .halfspaces import Frame, HalfspaceSystem, largest_ball
from .points import choose, distinct, unit_ball, unit_simplex

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ConvexHullTuning:
    """When a polytope is flat, and when it is small.

    Parameters
    ----------
    least_ball
        An inscribed ball smaller than this, relative to the bounding box, counts as none.
    most_dimensions
        The largest dimension in which corners are enumerated.
    """

    least_ball: float = 1e-9
    most_dimensions: int = 6


TUNING = ConvexHullTuning()


@dataclass(frozen=True, eq=False)
class Hull:
    """A polytope in coordinates of its affine hull: y = origin + size basis z with rows z <= sides, where sides > 0."""

    origin: Array  # (m,), inside, far from all faces
    size: float  # about the width of the polytope, so that z is about 1
    basis: Array  # (m, k), orthonormal columns; the identity when the polytope has full dimension
    rows: Array  # (q, k), of length 1
    sides: Array  # (q,), distances of the origin from the faces

    @property
    def dim(self) -> int:
        """The dimension k of the polytope itself."""
        return int(self.basis.shape[1])

    @property
    def small(self) -> bool:
        """Whether corners are enumerated."""
        return self.dim <= TUNING.most_dimensions

    def lift(self, z: Array) -> Array:
        """From coordinates of the hull to points y."""
        lifted: Array = self.origin + self.size * (z @ self.basis.T)
        return lifted

    @cached_property
    def vertices(self) -> Array:
        """The corners, shape (K, k)."""
        if self.dim == 0:
            return np.zeros((1, 0))
        if self.dim == 1:
            return self._along(np.array([[-1.0], [1.0]]))
        from scipy.spatial import HalfspaceIntersection

        found = HalfspaceIntersection(np.column_stack([self.rows, -self.sides]), np.zeros(self.dim)).intersections
        return distinct(found[np.isfinite(found).all(axis=1)])

    def _along(self, direction: Array) -> Array:
        """The boundary points met from the origin in each of the directions (N, k)."""
        return direction * self._reach(np.zeros_like(direction), direction)[:, None]

    def _reach(self, start: Array, direction: Array) -> Array:
        """How far one can go from each start in each direction: shape (N,)."""
        speed, room = direction @ self.rows.T, self.sides - start @ self.rows.T
        steps = np.where(speed > 1e-14, np.maximum(room, 0) / np.maximum(speed, 1e-14), np.inf)
        reach: Array = steps.min(axis=1)
        return reach

    @cached_property
    def _simplices(self) -> tuple[Array, Array]:
        """Simplices that share the origin and fill the polytope: their other corners (T, k, k), and their volumes."""
        corners = self.vertices
        if self.dim == 1:
            facets = corners[:, None, :]
        else:
            from scipy.spatial import ConvexHull

            facets = corners[ConvexHull(corners).simplices]
        return facets, np.abs(np.linalg.det(facets)) / factorial(self.dim)

    @cached_property
    def volume(self) -> float:
        """The volume in dimension k; 1 for a single point."""
        if self.dim == 0:
            return 1.0
        unit = self.size**self.dim
        if self.small:
            return float(self._simplices[1].sum()) * unit
        normal = np.random.default_rng(0).normal(size=(100_000, self.dim))
        direction = normal / np.linalg.norm(normal, axis=1, keepdims=True)
        ball = pi ** (self.dim / 2) / gamma(self.dim / 2 + 1)
        return float(ball * np.mean(self._reach(np.zeros_like(direction), direction) ** self.dim)) * unit

    def place(self, u: Array) -> Array:
        """Map the unit cube of dimension k onto the polytope, evenly when it is small."""
        if self.dim == 0:
            return np.zeros((len(u), 0))
        if self.small:
            corners, volumes = self._simplices
            picked, rest = choose(u[:, 0], volumes)
            weights = unit_simplex(np.column_stack([rest, u[:, 1:]]))[:, 1:]
            even: Array = np.einsum("ij,ijk->ik", weights, corners[picked])
            return even
        ball = unit_ball(u)
        radius = np.linalg.norm(ball, axis=1, keepdims=True)
        centre = radius == 0  # reached in any direction
        along: Array = self._along(np.where(centre, self.rows[0], ball) / np.where(centre, 1.0, radius)) * radius
        return along

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Draw `n` uniform points; beyond dimension 6 by as many random walks of 10 k steps."""
        z = self.place(rng.random((n, self.dim)))
        if self.small:
            return z
        for _ in range(10 * self.dim):
            normal = rng.normal(size=z.shape)
            direction = normal / np.linalg.norm(normal, axis=1, keepdims=True)
            forward, back = self._reach(z, direction), self._reach(z, -direction)
            z = z + direction * (rng.random(n) * (forward + back) - back)[:, None]
        return z

    def project(self, y: Array) -> Array:
        """The nearest points of the polytope, in coordinates of the hull."""
        z = (y - self.origin) @ self.basis / self.size
        outside = np.flatnonzero((z @ self.rows.T > self.sides).any(axis=1))
        for i in outside:
            z[i] = self._nearest(z[i])
        return z

    def _nearest(self, z: Array) -> Array:
        """Least-distance programming after Lawson and Hanson: nonnegative least squares finds the active faces."""
        from scipy.optimize import nnls

        excess = self.rows @ z - self.sides
        scale = float(excess.max())
        if scale <= 0:
            return z
        # min ||w|| subject to -rows w >= excess, in units of the largest excess.
        target = np.append(np.zeros(self.dim), 1.0)
        weights, _ = nnls(np.vstack([-self.rows.T, excess / scale]), target, maxiter=50 * (len(excess) + self.dim))
        active = weights > 1e-12 * weights.max()
        # Solving for the active faces alone recovers the digits that the shared scaling costs.
        step, *_ = np.linalg.lstsq(self.rows[active], excess[active], rcond=None)
        nearest: Array = z - step
        return nearest


def affine_hull(system: HalfspaceSystem, lower: Array, upper: Array) -> Hull:
    """Describe a polytope that is not empty, given with its bounding box, in its affine hull."""
    frame = system.box_frame(lower, upper)
    frame = Frame.of(system, frame.centre, np.full(system.dim, frame.extent.max() / 2))  # one unit for all coordinates
    norms = np.linalg.norm(frame.rows, axis=1)
    rows, sides, near = frame.rows / norms[:, None], frame.sides / norms, frame.near
    centre, radius = frame.largest_ball() or (np.zeros(system.dim), 0.0)
    if radius > TUNING.least_ball:
        basis, sides = np.eye(system.dim), sides - rows @ centre
    else:
        centre, basis, rows, sides = _flat(rows[near], sides[near], centre)
    return Hull(frame.to_points(centre), float(frame.extent[0]), basis, rows, sides)


def _flat(rows: Array, sides: Array, centre: Array) -> tuple[Array, Array, Array, Array]:
    """The origin and the basis of a flat polytope, and the inequalities between its faces in these coordinates."""
    slack = TUNING.least_ball * (1.0 + float(np.abs(sides).max()))
    points, _, found = furthest(rows, sides + slack, -rows)
    least = np.where(found, (rows * points).sum(axis=1), -np.inf)
    equal = least > sides - 100 * slack
    _, singular, directions = np.linalg.svd(rows[equal])
    basis = directions[int((singular > 1e-9).sum()) :].T
    base = centre - np.linalg.lstsq(rows[equal], rows[equal] @ centre - sides[equal], rcond=1e-9)[0]
    across, room = rows @ basis, sides - rows @ base
    lengths = np.linalg.norm(across, axis=1)
    proper = ~equal & (lengths > 1e-9)
    across, room = across[proper] / lengths[proper, None], room[proper] / lengths[proper]
    ball = largest_ball(across, room) if basis.shape[1] else None
    middle = np.zeros(basis.shape[1]) if ball is None else ball[0]
    return base + basis @ middle, basis, across, room - across @ middle
