"""Index sets as plain data, with points that lie in them exactly: coordinates are fractions, and membership is proven.

`nearest` turns any point into such a member; a search in floats ends with it. The sets of lsip are made by `write`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

import lsip

from .balls import Point

Array = NDArray[np.float64]
DIGITS = 120


class IndexSet(ABC):
    """A compact set of index points."""

    scalar = False  # whether lsip's index is a number rather than a vector

    @property
    @abstractmethod
    def box(self) -> tuple[Array, Array]:
        """Corners of a box around it."""

    @property
    def dim(self) -> int:
        """The number of coordinates."""
        return len(self.box[0])

    @abstractmethod
    def write(self) -> Any:
        """The set as lsip has it."""

    @abstractmethod
    def nearest(self, y: Sequence[Fraction]) -> Point:
        """A member near the point, and the point itself if it is one."""

    @abstractmethod
    def contains(self, y: Sequence[Fraction]) -> bool:
        """Whether the point is a member, decided in fractions."""

    @abstractmethod
    def corners(self) -> Array:
        """Points where maxima like to be, shape (k, m)."""

    def pull(self, y: Array) -> Array:
        """Points (N, m) moved into the set, in floats and roughly: for a search."""
        return np.clip(y, *self.box)

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Random points, shape (count, m)."""
        low, high = self.box
        return self.pull(rng.uniform(low, high, (count, self.dim)))

    def exact(self, y: Sequence[float]) -> Point:
        """A member near a point of floats."""
        return self.nearest([Fraction(float(v)) for v in y])


def _clip(v: Fraction, low: float, high: float) -> Fraction:
    return min(max(v, Fraction(low)), Fraction(high))


def _shortened(v: Fraction) -> Fraction:
    """A number of size 1 at most, to `DIGITS` bits: fractions must not grow from one step of a search to the next."""
    return Fraction(round(v * 2**DIGITS), 2**DIGITS)


@dataclass(frozen=True)
class Box(IndexSet):
    """An interval, when `scalar`, or a box."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    scalar: bool = False

    @property
    def box(self) -> tuple[Array, Array]:
        return np.array(self.low), np.array(self.high)

    def write(self) -> Any:
        return lsip.Interval(self.low[0], self.high[0]) if self.scalar else lsip.Box(self.low, self.high)

    def nearest(self, y: Sequence[Fraction]) -> Point:
        return tuple(_clip(v, a, b) for v, a, b in zip(y, self.low, self.high, strict=True))

    def contains(self, y: Sequence[Fraction]) -> bool:
        return tuple(y) == self.nearest(y)

    def corners(self) -> Array:
        middle = [(a, (a + b) / 2, b) for a, b in zip(self.low, self.high, strict=True)]
        return np.array(list(product(*middle)))


@dataclass(frozen=True)
class Ball(IndexSet):
    """The Euclidean ball."""

    centre: tuple[float, ...]
    radius: float

    @property
    def box(self) -> tuple[Array, Array]:
        centre = np.array(self.centre)
        return centre - self.radius, centre + self.radius

    def write(self) -> Any:
        return lsip.Ball(self.centre, self.radius)

    def _offset(self, y: Sequence[Fraction]) -> list[Fraction]:
        return [v - Fraction(c) for v, c in zip(y, self.centre, strict=True)]

    def contains(self, y: Sequence[Fraction]) -> bool:
        return sum(v * v for v in self._offset(y)) <= Fraction(self.radius) ** 2

    def nearest(self, y: Sequence[Fraction]) -> Point:
        """Points outside, and those within rounding of the sphere, go to a rational point of the sphere itself."""
        offset, radius = self._offset(y), Fraction(self.radius)
        square = sum(v * v for v in offset)
        if square < radius**2 * (1 - Fraction(1, 2**40)):
            return tuple(y)
        # Stereographic projection from the pole that is furthest from the point keeps all of it rational.
        length = Fraction(float(square) ** 0.5) or Fraction(1)
        last = max(range(len(offset)), key=lambda j: abs(offset[j]))
        side = 1 if offset[last] >= 0 else -1
        plane = [v / (length + abs(offset[last])) for v in offset]
        plane = [_shortened(v) for v in plane]
        plane[last] = Fraction(0)
        square = sum((v * v for v in plane), Fraction(0))
        unit = [2 * v / (1 + square) for v in plane]
        unit[last] = side * (1 - square) / (1 + square)
        return tuple(Fraction(c) + radius * u for c, u in zip(self.centre, unit, strict=True))

    def corners(self) -> Array:
        axes = np.concatenate([np.eye(self.dim), -np.eye(self.dim), np.zeros((1, self.dim))])
        return np.array(self.centre) + self.radius * axes

    def pull(self, y: Array) -> Array:
        offset = y - np.array(self.centre)
        length = np.linalg.norm(offset, axis=1, keepdims=True)
        return np.array(self.centre) + offset * np.minimum(1.0, self.radius / np.maximum(length, 1e-300))


@dataclass(frozen=True)
class Simplex(IndexSet):
    """The probability vectors."""

    size: int

    @property
    def box(self) -> tuple[Array, Array]:
        return np.zeros(self.size), np.ones(self.size)

    def write(self) -> Any:
        return lsip.Simplex(self.size)

    def contains(self, y: Sequence[Fraction]) -> bool:
        return all(v >= 0 for v in y) and sum(y) == 1

    def nearest(self, y: Sequence[Fraction]) -> Point:
        if self.contains(y):
            return tuple(y)
        kept = [max(v, Fraction(0)) for v in y]
        largest = max(range(len(kept)), key=lambda j: kept[j])
        rest = sum(kept) - kept[largest]
        if rest <= 1 and abs(1 - rest - kept[largest]) < Fraction(1, 1000):
            kept[largest] = 1 - rest
            return tuple(kept)
        whole = sum(kept)
        return tuple(v / whole for v in kept) if whole else tuple(Fraction(int(j == 0)) for j in range(self.size))

    def corners(self) -> Array:
        pairs = [(np.eye(self.size)[i] + np.eye(self.size)[j]) / 2 for i, j in combinations(range(self.size), 2)]
        return np.array([*np.eye(self.size), *pairs, np.full(self.size, 1 / self.size)])

    def pull(self, y: Array) -> Array:
        kept = np.maximum(y, 0.0)
        whole = kept.sum(axis=1, keepdims=True)
        return np.where(whole > 0, kept / np.maximum(whole, 1e-300), 1 / self.size)


@dataclass(frozen=True)
class Budget(IndexSet):
    """Deviations of at most 1 each whose sizes add up to at most the budget."""

    size: int
    budget: float

    @property
    def box(self) -> tuple[Array, Array]:
        side = np.full(self.size, min(self.budget, 1.0))
        return -side, side

    def write(self) -> Any:
        return lsip.Budget(self.size, self.budget)

    def contains(self, y: Sequence[Fraction]) -> bool:
        return all(abs(v) <= 1 for v in y) and sum(abs(v) for v in y) <= Fraction(self.budget)

    def nearest(self, y: Sequence[Fraction]) -> Point:
        kept = [_clip(v, -1.0, 1.0) for v in y]
        over = sum(abs(v) for v in kept) - Fraction(self.budget)
        if over <= 0:
            return tuple(kept)
        largest = max(range(len(kept)), key=lambda j: abs(kept[j]))
        if over < abs(kept[largest]) / 1000:
            kept[largest] -= over if kept[largest] > 0 else -over
            return tuple(kept)
        shrink = Fraction(self.budget) / (over + Fraction(self.budget))
        return tuple(v * shrink for v in kept)

    def corners(self) -> Array:
        axes = [s * self.box[1][0] * np.eye(self.size)[j] for j in range(self.size) for s in (-1.0, 1.0)]
        signs = [np.array(s) * min(1.0, self.budget / self.size) for s in product((-1.0, 1.0), repeat=self.size)]
        return np.array([*axes, *signs, np.zeros(self.size)])

    def pull(self, y: Array) -> Array:
        kept = np.clip(y, -1.0, 1.0)
        return kept * np.minimum(1.0, self.budget / np.maximum(np.abs(kept).sum(axis=1, keepdims=True), 1e-300))


@dataclass(frozen=True)
class Polytope(IndexSet):
    """The points with A y <= b; flat where two inequalities make an equation."""

    A: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]

    @cached_property
    def vertices(self) -> tuple[Point, ...]:
        """All corners, exactly: every choice of m independent rows, solved in fractions."""
        rows = [[Fraction(v) for v in row] for row in self.A]
        found: dict[Point, None] = {}
        for chosen in combinations(range(len(rows)), len(rows[0])):
            y = solve([rows[i] for i in chosen], [Fraction(self.b[i]) for i in chosen])
            if y is not None and self.contains(y):
                found[tuple(y)] = None
        return tuple(found)

    @property
    def box(self) -> tuple[Array, Array]:
        corners = self.corners()
        return corners.min(axis=0), corners.max(axis=0)

    def write(self) -> Any:
        return lsip.Polytope(self.A, self.b)

    def contains(self, y: Sequence[Fraction]) -> bool:
        return all(
            sum(Fraction(a) * v for a, v in zip(row, y, strict=True)) <= Fraction(b)
            for row, b in zip(self.A, self.b, strict=True)
        )

    def nearest(self, y: Sequence[Fraction]) -> Point:
        """An exact mixture of the corners."""
        if self.contains(y):
            return tuple(y)
        corners = self.corners()
        system = np.concatenate([corners.T, np.full((1, len(corners)), 10.0 * (1 + np.abs(corners).max()))])
        weights = [Fraction(float(w)) for w in nnls(system, np.append(np.array(y, dtype=float), system[-1, 0]))[0]]
        whole = sum(weights, Fraction(0))
        pairs = list(zip(weights, self.vertices, strict=True))
        return tuple(sum((w * v[j] for w, v in pairs), Fraction(0)) / whole for j in range(len(y)))

    def corners(self) -> Array:
        return np.array([[float(v) for v in corner] for corner in self.vertices])

    def pull(self, y: Array) -> Array:
        """Along the line to the middle, until all inequalities hold; only mixtures of corners stay in a flat one."""
        middle = self.corners().mean(axis=0)
        A, b = np.array(self.A), np.array(self.b)
        room = b - A @ middle
        if (room <= 1e-9 * (np.abs(b) + 1e-300)).any():
            basis = np.linalg.svd(self.corners() - middle)[2][: np.linalg.matrix_rank(self.corners() - middle, 1e-9)]
            y = middle + (y - middle) @ basis.T @ basis
        rise = (y - middle) @ A.T
        with np.errstate(divide="ignore", invalid="ignore"):
            stretch = np.where(rise > 1e-14 * np.abs(rise).max(initial=1e-300), np.maximum(room, 0.0) / rise, np.inf)
        flat = room <= 1e-9 * (np.abs(b) + 1e-300)
        return middle + (y - middle) * np.minimum(1.0, stretch[:, ~flat].min(axis=1, initial=np.inf))[:, None]


@dataclass(frozen=True)
class Finite(IndexSet):
    """Finitely many points."""

    points: tuple[tuple[float, ...], ...]

    @property
    def box(self) -> tuple[Array, Array]:
        points = np.array(self.points)
        return points.min(axis=0), points.max(axis=0)

    def write(self) -> Any:
        return lsip.Finite(np.array(self.points))

    def contains(self, y: Sequence[Fraction]) -> bool:
        return tuple(y) in {tuple(map(Fraction, p)) for p in self.points}

    def nearest(self, y: Sequence[Fraction]) -> Point:
        distance = np.abs(np.array(self.points) - np.array(y, dtype=float)).max(axis=1)
        return tuple(map(Fraction, self.points[int(distance.argmin())]))

    def corners(self) -> Array:
        return np.array(self.points)

    def pull(self, y: Array) -> Array:
        points = np.array(self.points)
        return points[np.abs(y[:, None] - points).max(axis=2).argmin(axis=1)]


@dataclass(frozen=True)
class Product(IndexSet):
    """Pairs of points."""

    parts: tuple[IndexSet, ...]

    @property
    def box(self) -> tuple[Array, Array]:
        boxes = [p.box for p in self.parts]
        return np.concatenate([b[0] for b in boxes]), np.concatenate([b[1] for b in boxes])

    def write(self) -> Any:
        return lsip.Product(*(p.write() for p in self.parts))

    def _split(self, y: Any) -> list[Any]:
        ends = np.cumsum([0] + [p.dim for p in self.parts])
        return [y[..., a:b] if isinstance(y, np.ndarray) else y[a:b] for a, b in pairwise(ends)]

    def contains(self, y: Sequence[Fraction]) -> bool:
        return all(p.contains(part) for p, part in zip(self.parts, self._split(list(y)), strict=True))

    def nearest(self, y: Sequence[Fraction]) -> Point:
        return tuple(v for p, part in zip(self.parts, self._split(list(y)), strict=True) for v in p.nearest(part))

    def corners(self) -> Array:
        return np.array([np.concatenate(c) for c in product(*(p.corners() for p in self.parts))])

    def pull(self, y: Array) -> Array:
        return np.concatenate([p.pull(part) for p, part in zip(self.parts, self._split(y), strict=True)], axis=1)


@dataclass(frozen=True)
class Union(IndexSet):
    """Points of at least one of the parts."""

    parts: tuple[IndexSet, ...]

    @property
    def scalar(self) -> bool:  # type: ignore[override]
        return all(p.scalar for p in self.parts)

    @property
    def box(self) -> tuple[Array, Array]:
        boxes = [p.box for p in self.parts]
        return np.min([b[0] for b in boxes], axis=0), np.max([b[1] for b in boxes], axis=0)

    def write(self) -> Any:
        return lsip.Union(*(p.write() for p in self.parts))

    def contains(self, y: Sequence[Fraction]) -> bool:
        return any(p.contains(y) for p in self.parts)

    def nearest(self, y: Sequence[Fraction]) -> Point:
        found = [p.nearest(y) for p in self.parts]
        return min(found, key=lambda z: sum((a - b) ** 2 for a, b in zip(y, z, strict=True)))

    def corners(self) -> Array:
        return np.concatenate([p.corners() for p in self.parts])

    def pull(self, y: Array) -> Array:
        pulled = np.stack([p.pull(y) for p in self.parts])
        return pulled[np.abs(pulled - y).max(axis=2).argmin(axis=0), np.arange(len(y))]


def solve(matrix: list[list[Fraction]], right: list[Fraction]) -> list[Fraction] | None:
    """The solution of a square system in fractions; None when it is singular."""
    n = len(right)
    rows = [[*row, b] for row, b in zip(matrix, right, strict=True)]
    for i in range(n):
        pivot = next((r for r in range(i, n) if rows[r][i]), None)
        if pivot is None:
            return None
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [v / rows[i][i] for v in rows[i]]
        for r in range(n):
            if r != i and rows[r][i]:
                rows[r] = [v - rows[r][i] * w for v, w in zip(rows[r], rows[i], strict=True)]
    return [row[-1] for row in rows]
