"""Ellipsoids."""

from __future__ import annotations

from dataclasses import dataclass
from math import gamma, pi
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ModelError
from ..legible import legibly
from ..schema import Schema, number
from ..validation import axes
from .base import Array, Cell, Domain, Vector, as_points
from .notation import point
from .points import constant, unit_ball
from .proven import LOST, ScaledDirections, add_down, add_up, dot_bounds, pulled_in, raised, two_sum


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class Ellipsoid(Domain):
    """The ellipsoid {y : (y - centre)' shape⁻¹ (y - centre) <= 1}, where `shape` is positive definite, (m, m).

    It is what L makes of the unit ball, where shape = L L', moved to the centre: half-axes are the square roots of the
    eigenvalues of `shape`. A vector (m,) of half-axes stands for the diagonal matrix of their squares.

    >>> Ellipsoid([0, 0], [[4, 0], [0, 1]]).contains([[2, 0], [0, 2]])
    array([ True, False])
    >>> Ellipsoid([0, 0], [2, 1]) == Ellipsoid([0, 0], [[4, 0], [0, 1]])
    True
    """

    convex: ClassVar[bool] = True
    filed: ClassVar[Schema] = ([number], [[number]])

    centre: Array  # (m,)
    shape: Array  # (m, m)
    _unit: Array  # (m, m), which makes (almost) the unit ball of it: ||unit (y - centre)|| <= 1
    _doubt: float  # on the ellipsoid, ||unit (y - centre)||² <= 1 + doubt; all y with at most 1 - doubt belong to it

    def __init__(self, centre: ArrayLike, shape: ArrayLike) -> None:
        c = constant(centre, "centre", 1)
        q = constant(shape, "shape", 1 if axes(shape) == 1 else 2)
        q = constant(np.diag(q**2), "shape", 2) if q.ndim == 1 else q
        if q.shape != (len(c), len(c)) or (q != q.T).any():
            raise ModelError(
                f"An ellipsoid needs a symmetric `shape`, ({len(c)}, {len(c)}) as the centre has {len(c)} coordinates, "
                f"or a vector of half-axes; got {q.tolist() if q.size <= 16 else f'one of shape {q.shape}'}. "
                "Write (Q + Q.T) / 2 for a matrix that is symmetric up to rounding."
            )
        unit, doubt = _to_ball(q)
        reach = np.nextafter(np.sqrt(np.diag(q)), np.inf)
        self._set(
            centre=c,
            shape=q,
            lower=constant(add_down(c, -reach), "centre - half-width", 1),
            upper=constant(add_up(c, reach), "centre + half-width", 1),
            _unit=unit,
            _doubt=doubt,
        )

    @property
    def axes(self) -> tuple[Array, Array]:
        """The half-axes: squares of their lengths (m,), and their directions, the columns of a matrix (m, m)."""
        squares, directions = np.linalg.eigh(self.shape)
        return np.maximum(squares, 0.0), directions

    @property
    def diameter(self) -> float:
        """Twice the longest half-axis."""
        return 2 * float(np.sqrt(self.axes[0][-1]))

    @property
    def measure(self) -> tuple[int, float]:
        """The volume of the ellipsoid."""
        ball = pi ** (self.dim / 2) / gamma(self.dim / 2 + 1)
        return self.dim, float(ball * np.prod(np.sqrt(self.axes[0])))

    def contains(self, y: ArrayLike, tol: float = 1e-9) -> NDArray[np.bool_]:
        """Whether the nearest point is within `tol`."""
        points = as_points(y, self.dim, finite=False)
        inside: NDArray[np.bool_] = (((points - self.centre) @ self._unit.T) ** 2).sum(axis=1) <= 1
        open_rows = np.flatnonzero(~inside & np.isfinite(points).all(axis=1))
        if len(open_rows):
            away = np.linalg.norm(self.project(points[open_rows]) - points[open_rows], axis=1)
            inside[open_rows] = away <= self._slack(tol)
        return inside

    def project(self, y: ArrayLike) -> Array:
        """The nearest point has a normal through y: one multiplier, by Newton's method."""
        points = as_points(y, self.dim).copy()
        outside = np.flatnonzero((((points - self.centre) @ self._unit.T) ** 2).sum(axis=1) > 1)
        if len(outside):
            squares, directions = self.axes
            away = (points[outside] - self.centre) @ directions
            # z = away / (1 + k / squares) for the least k >= 0 with ||z / half-axes|| <= 1: convex, from the left.
            k = np.zeros((len(outside), 1))
            for _ in range(100):  # Newton's steps, which double the digits
                terms = squares * (away / (squares + k)) ** 2
                value = terms.sum(axis=1, keepdims=True)
                slope = -2 * (terms / (squares + k)).sum(axis=1, keepdims=True)
                # Of value^(-1/2), which is almost straight.
                step = np.where(value > 1, 2 * value * (1 - np.sqrt(value)) / slope, 0.0)
                k = k + step
                if (step <= 1e-16 * k).all():
                    break
            z = away * (squares / (squares + k))
            z /= np.maximum(np.sqrt((z**2 / squares).sum(axis=1, keepdims=True)), 1e-300)
            points[outside] = np.clip(self.centre + z @ directions.T, self.lower, self.upper)
        return points

    def place(self, u: Array) -> Array:
        """Map the unit cube onto the unit ball, and that onto the ellipsoid."""
        squares, directions = self.axes
        return np.clip(self.centre + (unit_ball(u) * np.sqrt(squares)) @ directions.T, self.lower, self.upper)

    def support(self, d: ArrayLike) -> tuple[Array, Array]:
        """centre + shape d / sqrt(d' shape d)."""
        towards = ScaledDirections.of(as_points(d, self.dim))
        unit = towards.unit
        moved = unit @ self.shape
        length = np.sqrt(np.maximum((moved * unit).sum(axis=1), 0.0))
        y = self.centre + moved / np.where(length > 0, length, 1.0)[:, None]
        # What products that cancel have lost is part of the length's error.
        m, size = self.dim, ((np.abs(unit) @ np.abs(self.shape)) * np.abs(unit)).sum(axis=1)
        longest = np.sqrt(raised(length**2, size, 2 * m + 8))
        top, size = unit @ self.centre + longest, np.abs(unit) @ np.abs(self.centre) + longest
        return np.clip(y, self.lower, self.upper), towards.given(raised(top, size, m + 8))

    def witness(self, y: ArrayLike) -> tuple[Array, Array]:
        """Pull what is not inside towards the centre, by an ulp, two, four, …."""
        points = pulled_in(self.project(y), self.centre, self._holds)
        return points, points.copy()

    def _holds(self, y: Array) -> NDArray[np.bool_]:
        """Whether points are proven to belong to the ellipsoid."""
        offset, error = two_sum(y, -self.centre)  # together exactly y - centre
        both = np.concatenate([offset, error], axis=1)[:, None, :]
        low, high = dot_bounds(both, np.hstack([self._unit, self._unit]))  # (N, m)
        size = np.maximum(np.abs(low), np.abs(high))
        inside: NDArray[np.bool_] = dot_bounds(size, size)[1] <= np.nextafter(1 - self._doubt, -np.inf)
        return inside

    def bend(self, y: Array) -> tuple[Array, Array] | None:
        """In the plane, the curvature of an ellipse; surfaces are curved differently along different directions."""
        if self.dim > 2:
            return None
        inverse = self._unit.T @ self._unit
        offset = y - self.centre
        slope = offset @ inverse
        height, length = (offset * slope).sum(axis=1), np.maximum(np.linalg.norm(slope, axis=1), 1e-300)
        normal = np.where((height >= 1 - 1e-9)[:, None], slope / length[:, None], 0.0)  # a point of the boundary
        # The trace of the second derivatives within the tangent, over the length of the first.
        across = np.trace(inverse) - np.einsum("ni,ij,nj->n", normal, inverse, normal)
        return normal, across / length

    def cells(self) -> tuple[Cell, ...]:
        """The bounding box, cut by one quadratic inequality."""
        return (Cell(self.lower[None], self.upper[None], self._inside),)

    def _inside(self, y: Vector) -> Vector:
        # A product with a row of ones gives one component rather than a number, for arrays and expressions alike.
        return float(add_up(1.0, self._doubt)) - np.ones((1, self.dim)) @ (self._unit @ (y - self.centre)) ** 2

    def _arguments(self) -> tuple[object, ...]:
        return self.centre, self.shape

    @legibly
    def __str__(self) -> str:
        return f"E({point(self.centre)}, {self._name()})"

    def _name(self) -> str:
        if (self.shape == np.diag(np.diag(self.shape))).all():
            return f"half-axes {point(np.sqrt(np.diag(self.shape)))}"
        return "Q"

    def latex(self) -> str:
        """All y with (y - c)' Q⁻¹ (y - c) <= 1."""
        c = "y" if not self.centre.any() else f"(y - {point(self.centre)})".replace("…", r"\dots")
        return rf"\{{y \in \mathbb{{R}}^{{{self.dim}}} : {c}^\top Q^{{-1}} {c} \le 1\}}"


def _to_ball(shape: Array) -> tuple[Array, float]:
    """A matrix R with R shape R' = I up to a doubt, in the sense that all eigenvalues are within it.

    With w = R v, v' shape⁻¹ v = w' (R shape R')⁻¹ w lies between ||w||² / (1 + doubt) and ||w||² / (1 - doubt). A doubt
    below 1 also proves that `shape` is positive definite. The norm of a matrix bounds its eigenvalues.
    """
    try:
        if not (np.diag(shape) > 0).all():
            raise np.linalg.LinAlgError
        scale = np.ldexp(1.0, np.frexp(np.sqrt(np.diag(shape)))[1])  # powers of two, so that nothing is rounded
        inner = shape / scale[:, None] / scale
        unit = np.linalg.inv(np.linalg.cholesky(inner))
    except np.linalg.LinAlgError:
        raise ModelError(
            "An ellipsoid needs a positive definite `shape`; this one has the eigenvalues "
            f"{point(np.linalg.eigvalsh(shape))}. For a flat one, use fewer coordinates and a formula for the others."
        ) from None
    m = len(shape)
    low, high = dot_bounds(unit[:, None, :], inner[None])  # R shape, (m, m); symmetric, so that rows serve as columns
    middle = (low + high) / 2
    rest = np.maximum(high - middle, middle - low)
    extra = (rest @ np.abs(unit).T) * (1 + (m + 4) * 2.0**-52) + m * LOST
    low, high = dot_bounds(middle[:, None, :], unit[None])
    away = np.maximum(np.abs(high - np.eye(m)), np.abs(low - np.eye(m))) + extra
    doubt = float(away.sum(axis=1).max() * (1 + (m + 8) * 2.0**-52))
    if not doubt < 1e-3:  # in units of the squared distance: the ellipsoid is almost flat
        raise ModelError(
            "The `shape` of an ellipsoid is so close to singular that doubles cannot tell what is inside; its "
            f"eigenvalues are {point(np.linalg.eigvalsh(shape))}. Use fewer coordinates and a formula for the others."
        )
    return unit / scale, doubt


__all__ = ["Ellipsoid"]
