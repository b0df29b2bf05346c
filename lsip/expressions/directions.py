"""Convex functions as what is largest over directions v: |r|, maxima and norms, and how far a matrix is semidefinite.

Each is a support function: sup of w(v) · q over a compact set of directions v, for numbers q that are affine in the
variables. The worst direction for given q has a closed form, so that nobody has to search for it; a row for one
direction is affine in the variables, and holds whatever the direction came from.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import isqrt
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from ..domains import Ball, Box, Domain, Simplex, Union
from .graph import Expression, Index
from .interval import EPS, TINY
from .operands import Ints

Array = NDArray[np.float64]


class Directions(ABC):
    """A set of directions, and its support function; all methods take q of shape (..., size)."""

    vertices: ClassVar[bool] = False  # whether finitely many directions are enough: `rows` has them

    @abstractmethod
    def domain(self, size: int) -> Domain:
        """The set, for so many numbers."""

    def weights(self, v: Expression) -> Any:
        """What a direction multiplies the numbers with."""
        return v

    def rows(self, size: int) -> Array:
        """The weights (R, size) of finitely many directions among which there always is a worst one."""
        raise NotImplementedError

    @abstractmethod
    def value(self, q: Array) -> Array:
        """The support function, rounded."""

    def above(self, q: Array, doubt: Array) -> Array:
        """A proven upper bound of it, for all numbers that are off from q by no more than their `doubt`."""
        total = self.value(q) + self.swing(doubt)
        return total + 4 * (q.shape[-1] + 4) * (EPS * (np.abs(q) + doubt).sum(axis=-1) + TINY)

    @abstractmethod
    def swing(self, doubt: Array) -> Array:
        """By how much it moves at most, where no number moves by more than its `doubt`."""

    @abstractmethod
    def worst(self, q: Array) -> Array:
        """A worst direction, (..., dim)."""


@final
class Absolute(Directions):
    """|r|: a sign, and all between."""

    vertices = True

    def domain(self, size: int) -> Domain:
        return Box([-1.0], [1.0])

    def rows(self, size: int) -> Array:
        return np.array([[1.0], [-1.0]])

    def value(self, q: Array) -> Array:
        return np.abs(q[..., 0])

    def swing(self, doubt: Array) -> Array:
        return doubt[..., 0]

    def worst(self, q: Array) -> Array:
        return np.where(q < 0, -1.0, 1.0)


@final
class Largest(Directions):
    """The largest of some numbers: shares that add up to one."""

    vertices = True

    def domain(self, size: int) -> Domain:
        return Simplex(size)

    def rows(self, size: int) -> Array:
        return np.eye(size)

    def value(self, q: Array) -> Array:
        return np.asarray(q.max(axis=-1))

    def swing(self, doubt: Array) -> Array:
        return np.asarray(doubt.max(axis=-1))

    def worst(self, q: Array) -> Array:
        return np.eye(q.shape[-1])[q.argmax(axis=-1)]


@final
class Euclidean(Directions):
    """The Euclidean norm: the unit ball."""

    def domain(self, size: int) -> Domain:
        return Ball(np.zeros(size), 1.0)

    def value(self, q: Array) -> Array:
        size, unit = _parts(q)
        return size * np.linalg.norm(unit, axis=-1)

    def swing(self, doubt: Array) -> Array:
        return self.value(doubt) * (1 + 4 * (doubt.shape[-1] + 4) * EPS) + 4 * TINY

    def worst(self, q: Array) -> Array:
        unit = _parts(q)[1]
        return unit / np.maximum(np.linalg.norm(unit, axis=-1, keepdims=True), 1.0)


@final
class Definite(Directions):
    """The largest eigenvalue of a symmetric matrix, where that is at most zero, and no less than it otherwise.

    Directions are the vectors whose largest element is one in size: v' Q v is at most zero for all of them just where
    no eigenvalue of Q is positive, and at most the largest eigenvalue then, since no vector is shorter than one. Zero,
    for which nothing could ever be strict, is not among them.
    """

    def domain(self, size: int) -> Domain:
        k, ones = isqrt(size), np.ones(isqrt(size))
        return Union(*(Box(np.where(np.arange(k) == j, 1.0, -1.0), ones) for j in range(k)))

    def weights(self, v: Expression) -> Any:
        return (v.reshape(-1, 1) * v.reshape(1, -1)).ravel()

    def value(self, q: Array) -> Array:
        return self._stretched(_eigen(_symmetric(q))[0][..., -1], isqrt(q.shape[-1]))

    def above(self, q: Array, doubt: Array) -> Array:
        """From an approximate Q = V L V': its largest element, but for what is left and for V that is not orthogonal.

        No eigenvalue moves by more than the largest sum of a row of a symmetric matrix that is added.
        """
        matrix, k = _symmetric(q), isqrt(q.shape[-1])
        values, vectors = _eigen(matrix)
        size, rounding = np.abs(vectors), 4 * (k + 4) * EPS
        product = (vectors * values[..., None, :]) @ _turned(vectors)
        left = np.abs(matrix - product) + 4 * (k + 4) * TINY
        left = left + rounding * ((size * np.abs(values)[..., None, :]) @ _turned(size) + np.abs(matrix))
        skew = np.abs(_turned(vectors) @ vectors - np.eye(k)) + rounding
        rest, bent = (part.sum(axis=-1).max(axis=-1) for part in (left, skew))
        top = values[..., -1]
        largest = top + (np.abs(top) * bent + rest + self._moved(doubt)) * (1 + rounding) + rounding * np.abs(top)
        return self._stretched(np.where(np.isnan(largest), np.inf, largest), k)

    def swing(self, doubt: Array) -> Array:
        return isqrt(doubt.shape[-1]) * self._moved(doubt)

    def worst(self, q: Array) -> Array:
        vectors = _eigen(_symmetric(q))[1][..., -1]
        place = np.abs(vectors).argmax(axis=-1)[..., None]
        return np.clip(vectors / np.take_along_axis(vectors, place, axis=-1), -1.0, 1.0)

    @staticmethod
    def _moved(doubt: Array) -> Array:
        k = isqrt(doubt.shape[-1])
        table = doubt.reshape(*doubt.shape[:-1], k, k)
        moved: Array = np.maximum(table, _turned(table)).sum(axis=-1).max(axis=-1) * (1 + 4 * (k + 4) * EPS) + TINY
        return moved

    @staticmethod
    def _stretched(largest: Array, k: int) -> Array:
        """v' Q v is at most the largest eigenvalue times |v|^2, which is between 1 and k."""
        return np.where(largest > 0, k * largest * (1 + 4 * EPS), largest)


def _parts(q: Array) -> tuple[Array, Array]:
    """The largest size (...,) among numbers (..., size), and they in units of it, whose squares do not underflow."""
    size = np.abs(q).max(axis=-1)
    return size, q / np.where(size > 0, size, 1.0)[..., None]


def _symmetric(q: Array) -> Array:
    """v' Q v is that of the symmetric part; halves are exact."""
    k = isqrt(q.shape[-1])
    matrix = q.reshape(*q.shape[:-1], k, k)
    return 0.5 * matrix + 0.5 * _turned(matrix)


def _turned(matrix: Array) -> Array:
    return np.swapaxes(matrix, -1, -2)


def _eigen(matrix: Array) -> tuple[Array, Array]:
    """Eigenvalues, in order, and eigenvectors; nan, and any, for what is not finite."""
    known = np.asarray(np.isfinite(matrix).all(axis=(-1, -2)))
    values, vectors = np.linalg.eigh(np.where(known[..., None, None], matrix, 0.0))
    return np.where(known[..., None], values, np.nan), vectors


@dataclass(frozen=True, eq=False)
class Block:
    """Support functions over one kind of directions: each of some entries, and added to some row."""

    kind: Directions
    rows: Ints  # (E,), to which row each is added
    entries: Ints  # (E, size), the numbers that each is of
    places: Ints  # (E, dim), the coordinates of its direction in that of the row


@dataclass(frozen=True, eq=False)
class WorstDirection:
    """Rows that are largest over a direction in closed form: an entry each, and support functions of others.

    Entries are affine in the variables, with formulas of the indices as coefficients; directions are the coordinates of
    `index`, which nobody but the solver sees.
    """

    index: Index
    base: Ints  # (p,), the entry that each row begins with
    blocks: tuple[Block, ...]

    def value(self, q: Array) -> Array:
        """The rows (..., p) for entries (..., P)."""
        return self._total(q[..., self.base], [b.kind.value(q[..., b.entries]) for b in self.blocks])

    def above(self, q: Array, doubt: Array) -> Array:
        """Proven upper bounds of them, for all entries that are off from q by no more than their `doubt`."""
        parts = [b.kind.above(q[..., b.entries], doubt[..., b.entries]) for b in self.blocks]
        base = q[..., self.base] + doubt[..., self.base]
        size = self._total(np.abs(base), [np.abs(part) for part in parts])
        count = 4 + sum(len(b.rows) for b in self.blocks)
        return self._total(base, parts) + 2 * count * (EPS * size + TINY)

    def swing(self, doubt: Array) -> Array:
        """By how much rows move at most, where no entry moves by more than its `doubt`."""
        total = self._total(doubt[..., self.base], [b.kind.swing(doubt[..., b.entries]) for b in self.blocks])
        return total * (1 + 2 * (4 + sum(len(b.rows) for b in self.blocks)) * EPS)

    def worst(self, q: Array) -> Array:
        """A worst direction of every row, (..., p, dim)."""
        lead = q.shape[:-1]
        found = np.empty((*lead, len(self.base), self.index.domain.dim))
        found[...] = self.index.domain.project(np.zeros(self.index.domain.dim))[0]  # where a row has no such part
        for b in self.blocks:
            found[..., b.rows[:, None], b.places] = b.kind.worst(q[..., b.entries])
        return found

    def _total(self, base: Array, parts: list[Array]) -> Array:
        total = base.copy()
        for b, part in zip(self.blocks, parts, strict=True):
            add_at(total, b.rows, part)
        return total


def add_at(total: Array, rows: Ints, part: Array) -> None:
    """Add parts (..., E) to the elements `rows` (E,) of totals (..., n), in place."""
    np.add.at(np.moveaxis(total, -1, 0), rows, np.moveaxis(part, -1, 0))
