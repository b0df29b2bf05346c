"""The geometry of {y : A y <= b}: its affine hull, bounding box, corners, volume, uniform points and projection."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import factorial, gamma, pi
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError
from .points import choose, distinct, unit_ball, unit_simplex

Array = NDArray[np.float64]

_FLAT = 1e-9  # an inscribed ball smaller than this, relative to the data, counts as none
_TRIANGULATED = 6  # the largest dimension in which corners are enumerated


@dataclass(frozen=True, eq=False)
class Hull:
    """A polytope in coordinates of its affine hull: y = origin + basis z with rows z <= sides, where sides > 0."""

    origin: Array  # (m,), inside, far from all faces
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
        return self.dim <= _TRIANGULATED

    def lift(self, z: Array) -> Array:
        """From coordinates of the hull to points y."""
        lifted: Array = self.origin + z @ self.basis.T
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
        if self.small:
            return float(self._simplices[1].sum())
        normal = np.random.default_rng(0).normal(size=(100_000, self.dim))
        direction = normal / np.linalg.norm(normal, axis=1, keepdims=True)
        ball = pi ** (self.dim / 2) / gamma(self.dim / 2 + 1)
        return float(ball * np.mean(self._reach(np.zeros_like(direction), direction) ** self.dim))

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
        z = (y - self.origin) @ self.basis
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


def unit_rows(rows: Array, sides: Array) -> tuple[Array, Array]:
    """The same inequalities with rows of length 1; those that say nothing (0 <= 1) are dropped."""
    norms = np.linalg.norm(rows, axis=1)
    trivial = norms == 0
    if (trivial & (sides < 0)).any():
        raise ModelError(f"The polytope is empty: row {np.argmax(trivial & (sides < 0))} says 0 <= a negative number.")
    if trivial.all():
        raise ModelError("The polytope is unbounded: all rows of `A` are zero.")
    return rows[~trivial] / norms[~trivial, None], sides[~trivial] / norms[~trivial]


def largest_ball(rows: Array, sides: Array) -> tuple[Array, float]:
    """Centre and radius of the largest ball within unit rows; a radius of 0 if the polytope is flat; raise if empty."""
    dim = rows.shape[1]
    scale = 1.0 + float(np.abs(sides).max())  # no ball in a bounded polytope is larger, so it only caps the others
    cost = np.append(np.zeros(dim), -1.0)
    result = _linprog(cost, np.column_stack([rows, np.ones(len(rows))]), sides, [(None, None)] * dim + [(None, scale)])
    if result.status != 0:
        raise ModelError(f"The polytope could not be examined: {result.message}")
    radius = float(result.x[-1])
    if radius < -_FLAT * scale:
        raise ModelError(
            f"The polytope is empty: every point violates some inequality by a distance of {-radius:.3g} or more."
        )
    return np.array(result.x[:-1]), radius if radius > _FLAT * scale else 0.0


def affine_hull(rows: Array, sides: Array, centre: Array, radius: float) -> Hull:
    """Describe a bounded polytope, given by unit rows and its largest ball, in its affine hull."""
    if radius > 0:
        return Hull(centre, np.eye(len(centre)), rows, sides - rows @ centre)
    slack = _FLAT * (1.0 + float(np.abs(sides).max()))
    least = np.array([_linprog(row, rows, sides + slack).fun for row in rows])
    equal = least > sides - 100 * slack
    _, singular, directions = np.linalg.svd(rows[equal])
    basis = directions[int((singular > 1e-9).sum()) :].T
    base = centre - np.linalg.lstsq(rows[equal], rows[equal] @ centre - sides[equal], rcond=1e-9)[0]
    across, room = rows @ basis, sides - rows @ base
    lengths = np.linalg.norm(across, axis=1)
    proper = ~equal & (lengths > 1e-9)
    across, room = across[proper] / lengths[proper, None], room[proper] / lengths[proper]
    middle = largest_ball(across, room)[0] if basis.shape[1] else np.zeros(0)
    return Hull(base + basis @ middle, basis, across, room - across @ middle)


def outer_box(rows: Array, sides: Array) -> tuple[Array, Array, float]:
    """The bounding box of a polytope that is not empty, and a margin by which it must grow to be proven.

    Multipliers w >= 0 of the linear program for +-y[j] prove +-y[j] <= w·sides + r·y with a tiny remainder r =
    +-e[j] - w rows. If all remainders have ||r||_1 <= rho < 1, then every |y[j]| <= max |w·sides| / (1 - rho).
    """
    dim = rows.shape[1]
    bounds, remainder = np.empty((2, dim)), 0.0
    for j in range(dim):
        for i, sign in enumerate((-1.0, 1.0)):
            towards = np.zeros(dim)
            towards[j] = sign
            result = _linprog(-towards, rows, sides)
            if result.status != 0:
                side = "above" if sign > 0 else "below"
                raise ModelError(
                    f"The polytope is unbounded: y[{j}] has no bound {side}. Add inequalities, e.g. a box."
                )
            multipliers = np.maximum(-result.ineqlin.marginals, 0)
            bounds[i, j] = sign * (multipliers @ sides)
            rounding = 1e-15 * len(sides) * (multipliers @ np.abs(rows)).sum()
            remainder = max(remainder, float(np.abs(towards - multipliers @ rows).sum() + rounding))
    largest = float(np.abs(bounds).max()) + 1e-300
    if remainder > 0.5:
        raise ModelError("The bounding box of the polytope could not be proven; rescale its inequalities.")
    margin = largest * (remainder / (1 - remainder) + 1e-15 * len(sides))
    return np.minimum(bounds[0], bounds[1]), bounds[1], margin


def furthest(rows: Array, sides: Array, towards: Array) -> tuple[Array, Array]:
    """The point of {y : rows y <= sides} that is furthest in a direction, and the multipliers of its rows."""
    result = _linprog(-towards, rows, sides)
    if result.status != 0:
        raise ModelError(f"The polytope could not be searched along {towards}: {result.message}")
    return np.array(result.x), np.maximum(-result.ineqlin.marginals, 0.0)


def _linprog(cost: Array, rows: Array, sides: Array, bounds: Any = (None, None)) -> Any:
    from scipy.optimize import linprog

    options = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    return linprog(cost, A_ub=rows, b_ub=sides, bounds=bounds, method="highs", options=options)
