"""Budgeted uncertainty: each coordinate may deviate, but not all of them fully."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb, factorial, sqrt
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ModelError
from ..legible import legibly
from ..schema import Schema, number, whole
from .base import Array, Cell, Domain, Seed, Vector, as_points
from .notation import superscript
from .points import constant, coordinates
from .proven import ScaledDirections, add_down, raised, sum_bounds


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class Budget(Domain):
    """The set {y in R^m : |y[j]| <= 1 for all j, |y[0]| + … + |y[m-1]| <= budget}, with 0 < budget <= m.

    Where sampling by rejection would take long, uniform points come from a random walk along the axes.

    >>> Budget(3, 1.5).support([[3, -1, 2]])[0]
    array([[1. , 0. , 0.5]])
    """

    convex: ClassVar[bool] = True
    filed: ClassVar[Schema] = (whole, number)

    budget: float

    def __init__(self, m: int, budget: float) -> None:
        size = coordinates(m, "Budget(m, budget)")
        total = float(constant(budget, "budget", 0))
        if size < 1 or not 0 < total <= size:
            raise ModelError(
                f"Budget(m, budget) needs m >= 1 and 0 < budget <= m; got m={size} and budget={total:g}."
                + (" With so large a budget the set is a box: use Box." if size >= 1 and total > size else "")
            )
        side = np.full(size, min(total, 1.0))
        self._set(budget=total, lower=constant(-side, "lower", 1), upper=constant(side, "upper", 1))

    @property
    def diameter(self) -> float:
        """Twice the length of a corner: as many full deviations as the budget allows, and a partial one."""
        full = int(self.budget)
        return 2 * sqrt(full + (self.budget - full) ** 2)

    @property
    def measure(self) -> tuple[int, float]:
        """The volume: 2^m times the probability that m uniform numbers add up to no more than the budget."""
        return self.dim, 2.0**self.dim * self._share

    @property
    def _share(self) -> float:
        m = self.dim
        if self.budget > m / 2:  # the sum below has fewer terms, and loses less, from the other end
            return 1.0 - _below(m, m - self.budget)
        return _below(m, self.budget)

    def contains(self, y: ArrayLike, tol: float = 1e-9) -> NDArray[np.bool_]:
        """Whether every deviation, and their sum, is within its limit."""
        size = np.abs(as_points(y, self.dim, finite=False))
        # A step of length tol changes the sum by up to sqrt(m) tol.
        inside: NDArray[np.bool_] = size.sum(axis=1) <= self.budget + tol * sqrt(self.dim)
        inside &= np.all(size <= 1 + tol, axis=1)
        return inside

    def project(self, y: ArrayLike) -> Array:
        """Lower all deviations by one threshold, found by bisection, and cut them off at 0 and 1."""
        points = as_points(y, self.dim)
        size = np.abs(points)
        low, high = np.zeros((len(points), 1)), np.maximum(size.max(axis=1, keepdims=True, initial=0.0), 1.0)
        over = np.clip(size, 0.0, 1.0).sum(axis=1, keepdims=True) > self.budget
        for _ in range(100):
            middle = (low + high) / 2
            more = np.clip(size - middle, 0.0, 1.0).sum(axis=1, keepdims=True) > self.budget
            low, high = np.where(more, middle, low), np.where(more, high, middle)
        cut = np.clip(size - np.where(over, high, 0.0), 0.0, 1.0)
        return np.where(size <= cut, points, np.sign(points) * cut)

    def place(self, u: Array) -> Array:
        """Shrink the cube along rays."""
        cube = 2 * u - 1
        largest, total = np.abs(cube).max(axis=1, keepdims=True), np.abs(cube).sum(axis=1, keepdims=True)
        gauge = np.maximum(largest, total / self.budget)
        return np.clip(cube * np.where(gauge > 0, largest / np.maximum(gauge, 1e-300), 1.0), self.lower, self.upper)

    def sample(self, n: int, seed: Seed = 0) -> Array:
        """Draw `n` uniform points."""
        rng = np.random.default_rng(seed)
        if self._share < 0.01:  # of the cube: rejection takes long
            return self._walk(self.place(rng.random((n, self.dim))), rng)
        kept = np.empty((0, self.dim))
        while len(kept) < n:
            drawn = rng.uniform(-1.0, 1.0, (int((n - len(kept)) / self._share) + 16, self.dim))
            kept = np.concatenate([kept, drawn[np.abs(drawn).sum(axis=1) <= self.budget]])
        return kept[:n]

    def _walk(self, y: Array, rng: np.random.Generator) -> Array:
        """Draw one coordinate after the other anew, given all the others."""
        for j in np.tile(np.arange(self.dim), 40):
            spent = np.abs(y).sum(axis=1) - np.abs(y[:, j])
            y[:, j] = np.clip(self.budget - spent, 0.0, 1.0) * rng.uniform(-1.0, 1.0, len(y))
        return y

    def support(self, d: ArrayLike) -> tuple[Array, Array]:
        """Spend the budget on the largest entries of d."""
        given = as_points(d, self.dim)
        order = np.argsort(-np.abs(given), axis=1, kind="stable")
        spent = np.clip(self.budget - np.arange(self.dim), 0.0, 1.0)
        y = np.empty_like(given)
        np.put_along_axis(y, order, spent * np.sign(np.take_along_axis(given, order, axis=1)) + 0.0, axis=1)
        towards = ScaledDirections.of(given)
        top = (np.abs(towards.unit) * np.abs(y)).sum(axis=1)
        return y, towards.given(raised(top, top, 2 * self.dim + 4))

    def exact_support(self, d: Sequence[Fraction]) -> Fraction:
        """The budget, spent on the largest |d[j]|."""
        left, total = Fraction(self.budget), Fraction(0)
        for size in sorted(map(abs, d), reverse=True):
            total += min(left, Fraction(1)) * size
            left = max(left - 1, Fraction(0))
        return total

    def witness(self, y: ArrayLike) -> tuple[Array, Array]:
        """Take what the deviations spend too much off the largest one."""
        points = as_points(y, self.dim)
        outside = ~self.contains(points, tol=1e-9 * min(self.budget, 1.0))
        points = np.clip(points, self.lower, self.upper)
        if outside.any():
            points[outside] = self.project(as_points(y, self.dim)[outside])
        todo = np.arange(len(points))
        while len(todo):
            spent = np.column_stack([np.abs(points[todo]), np.full(len(todo), -self.budget)])
            over = sum_bounds(spent)[1]
            todo, over = todo[over > 0], over[over > 0]
            largest = np.abs(points[todo]).argmax(axis=1)
            value = points[todo, largest]
            points[todo, largest] = np.copysign(np.maximum(add_down(np.abs(value), -over), 0.0), value)
        return points, points.copy()

    def cells(self) -> tuple[Cell, ...]:
        """The bounding box, cut by one inequality with kinks."""
        return (Cell(self.lower[None], self.upper[None], self._inside),)

    def _inside(self, y: Vector) -> Vector:
        return self.budget - np.ones((1, self.dim)) @ np.abs(y)

    def _arguments(self) -> tuple[object, ...]:
        return self.dim, self.budget

    @legibly
    def __str__(self) -> str:
        return f"{{y ∈ [-1, 1]{superscript(self.dim)} : ‖y‖₁ ≤ {self.budget:.6g}}}"

    def latex(self) -> str:
        """The cube, cut by the l1 norm."""
        return rf"\{{y \in [-1, 1]^{{{self.dim}}} : \|y\|_1 \le {self.budget:.6g}\}}"


def _below(m: int, total: float) -> float:
    """The probability that m uniform numbers add up to at most `total` <= m / 2 (Irwin and Hall)."""
    terms = (comb(m, k) * (-1) ** k * (total - k) ** m for k in range(int(total) + 1))
    return max(sum(terms) / factorial(m), 0.0)
