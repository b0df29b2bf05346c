"""Convex functions as what is largest over directions v: |r|, maxima and norms, and how far a matrix is semidefinite.

Each is a support function: sup of w(v) · q over a compact set of directions v, for numbers q that are affine in the
variables. The worst direction for given q has a closed form, so that nobody has to search for it; a row for one
direction is affine in the variables, and holds whatever the direction came from.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import isqrt
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from ..domains import Ball, Box, Domain, Simplex, Union
from .graph import Expression, Index
from .interval import EPS, TINY
from .jets import triangle
from .operands import Ints
from .quadratics import quadratic_weights

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Quadratics:
    """Quadratics in d, |d_i| <= 1: value, gradient and upper triangle of the Hessian, in the last axis of `levels`."""

    levels: Array  # (..., size, levels)
    m: int

    def only(self, places: Any) -> Quadratics:
        """Some of them."""
        return Quadratics(self.levels[..., places, :], self.m)

    @property
    def value(self) -> Array:
        return self.levels[..., 0]

    @property
    def slope(self) -> Array:
        return self.levels[..., 1 : 1 + self.m]

    @property
    def bend(self) -> Array:
        """What the part of second order is at most, (..., size)."""
        return np.abs(self.levels[..., 1 + self.m :]) @ quadratic_weights(self.m)

    @property
    def swing(self) -> Array:
        """How far from their values they are at most, (..., size)."""
        return np.abs(self.slope).sum(axis=-1) + self.bend


def _in_range(size: Array) -> NDArray[np.bool_]:
    """Where squares of numbers that add up to such sizes are as accurate as rounding allows."""
    # Beyond, squares or what rounding takes from them under- or overflow.
    return np.asarray((size > 1e-120) & (size < 1e120))


def squares(u: Array, g: Array) -> Array:
    """|u + g d|^2 as a quadratic (..., levels), for vectors u (..., k) and slopes g (..., k, m)."""
    i, j = triangle(g.shape[-1])
    slope, bend = 2 * np.einsum("...k,...km->...m", u, g), 2 * np.einsum("...ki,...kj->...ij", g, g)[..., i, j]
    return np.concatenate([(u * u).sum(axis=-1)[..., None], slope, bend], axis=-1)


class Directions(ABC):
    """A set of directions, and its support function; all methods take q of shape (..., size)."""

    vertices: ClassVar[bool] = False  # whether finitely many directions are enough: `rows` has them
    sharp: ClassVar[bool] = True  # whether the worst direction attains what `value` says

    @abstractmethod
    def domain(self, size: int) -> Domain:
        """The set, for so many numbers."""

    def weights(self, v: Expression) -> Any:
        """What a direction multiplies the numbers with."""
        return v

    def factors(self, places: Ints) -> tuple[Ints, Ints]:
        """The coordinates (..., size) with whose product each number is multiplied, of all (..., dim); -1 for none."""
        return places, np.full_like(places, -1)

    def room(self, v: Array) -> float:
        """How much room a row in that direction gains where the support function may be larger by one."""
        return 1.0

    def rows(self, size: int) -> Array:
        """The weights (R, size) of finitely many directions among which there always is a worst one."""
        raise NotImplementedError

    @abstractmethod
    def typed(self, parts: list[Any]) -> tuple[Any, ...]:
        """How the support function of these is printed."""

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
    def model(self, q: Quadratics, doubt: Array) -> tuple[Array, Array]:
        """A quadratic (..., levels) that is nowhere less on a box, but for what is left (...,): inf for none."""

    def stretch(self, size: int) -> int:
        """How many times as much as the support function, where that is positive, a row may be."""
        return 1

    @abstractmethod
    def worst(self, q: Array) -> Array:
        """A worst direction, (..., dim)."""


@final
class Magnitude(Directions):
    """|r|: a sign, and all between."""

    vertices = True

    def domain(self, size: int) -> Domain:
        return Box([-1.0], [1.0])

    def rows(self, size: int) -> Array:
        return np.array([[1.0], [-1.0]])

    def typed(self, parts: list[Any]) -> tuple[Any, ...]:
        return ("absolute", *parts)

    def value(self, q: Array) -> Array:
        return np.abs(q[..., 0])

    def swing(self, doubt: Array) -> Array:
        return doubt[..., 0]

    def model(self, q: Quadratics, doubt: Array) -> tuple[Array, Array]:
        """Where the sign is known, the number with that sign; its largest size elsewhere."""
        size, span = np.abs(q.value[..., 0]), (q.swing + doubt)[..., 0] * (1 + 64 * EPS)
        known = size > span
        levels = np.where(known[..., None], np.sign(q.value) * q.levels[..., 0, :], 0.0)
        return levels, np.where(known, doubt[..., 0], (size + span) * (1 + 8 * EPS))

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

    def typed(self, parts: list[Any]) -> tuple[Any, ...]:
        return ("maximum", *parts)

    def value(self, q: Array) -> Array:
        return np.asarray(q.max(axis=-1))

    def swing(self, doubt: Array) -> Array:
        return np.asarray(doubt.max(axis=-1))

    def model(self, q: Quadratics, doubt: Array) -> tuple[Array, Array]:
        """The number that is the largest on all of the box; where there is none, what all are at most."""
        span = (q.swing + doubt) * (1 + 64 * EPS)
        top = q.value.argmax(axis=-1)[..., None]
        low = np.take_along_axis(q.value - span, top, axis=-1)
        others = np.where(np.arange(q.value.shape[-1]) == top, -np.inf, q.value + span).max(axis=-1)
        known = low[..., 0] > others
        levels = np.where(known[..., None], np.take_along_axis(q.levels, top[..., None], axis=-2)[..., 0, :], 0.0)
        most = (q.value + span).max(axis=-1)
        rest = np.take_along_axis(doubt, top, axis=-1)[..., 0]
        return levels, np.where(known, rest, most + 8 * EPS * np.abs(most))

    def worst(self, q: Array) -> Array:
        return np.eye(q.shape[-1])[q.argmax(axis=-1)]


@final
class Euclidean(Directions):
    """The Euclidean norm: the unit ball."""

    def domain(self, size: int) -> Domain:
        return Ball(np.zeros(size), 1.0)

    def typed(self, parts: list[Any]) -> tuple[Any, ...]:
        return ("norm", ("stack", *parts))

    def value(self, q: Array) -> Array:
        size, unit = _parts(q)
        return size * np.linalg.norm(unit, axis=-1)

    def swing(self, doubt: Array) -> Array:
        return self.value(doubt) * (1 + 4 * (doubt.shape[-1] + 4) * EPS) + 4 * TINY

    def model(self, q: Quadratics, doubt: Array) -> tuple[Array, Array]:
        """|q| <= a + (|q|^2 - a^2) / (2 a) for every a > 0, with a = w q for the direction w of q at the centre.

        |q|^2 - a^2 is what is across that direction: of second order, and a quadratic up to the third.
        """
        w = self.worst(q.value)
        along = np.einsum("...k,...kl->...l", w, q.levels)
        across = [
            v - w[..., None] * np.einsum("...k,...kl->...l", w, v)[..., None, :] for v in (q.value[..., None], q.slope)
        ]
        bent, size = q.bend + doubt, np.abs(q.value) + q.swing
        more = np.abs(across[0])[..., 0] + np.abs(across[1]).sum(axis=-1)
        rounding = 8 * (q.value.shape[-1] + q.m + 8) * EPS
        total = size.sum(axis=-1)
        # |q|^2 - a^2, where w need not be of length one: squares less squares, term by term.
        square = squares(q.value, q.slope) - squares(along[..., :1], along[..., None, 1 : 1 + q.m])
        rest = (2 * bent * (more + rounding * size) + bent * bent).sum(axis=-1) + rounding * total * total
        most = np.abs(square) @ np.concatenate([np.ones(1 + q.m), quadratic_weights(q.m)])
        middle = along[..., 0]
        span = (np.abs(w) * doubt).sum(axis=-1) + Quadratics(along, q.m).swing + rounding * total
        least = middle - span
        shrunk = np.where(least > 0, least, np.nan)
        off = most * (0.5 / shrunk - 0.5 / middle) + 0.5 * rest / shrunk + (np.abs(w) * doubt).sum(axis=-1)
        levels = along + square * (0.5 / middle)[..., None]
        off = np.where(_in_range(total), (off + rounding * (total + most / shrunk)) * (1 + rounding), np.inf)
        return levels, known_rest(off)

    def worst(self, q: Array) -> Array:
        unit = _parts(q)[1]
        return unit / np.maximum(np.linalg.norm(unit, axis=-1, keepdims=True), 1.0)


@final
class Definite(Directions):
    """The largest eigenvalue of a symmetric matrix: v' Q v for the vectors v whose largest element is one in size.

    It is at most zero for all of them just where no eigenvalue of Q is positive, and at most the largest eigenvalue
    then, since no vector is shorter than one; a positive one it exceeds up to k times, the length of the longest. Zero,
    for which nothing could ever be strict, is not among them.
    """

    sharp = False

    def domain(self, size: int) -> Domain:
        k, ones = isqrt(size), np.ones(isqrt(size))
        return Union(*(Box(np.where(np.arange(k) == j, 1.0, -1.0), ones) for j in range(k)))

    def weights(self, v: Expression) -> Any:
        return (v.reshape(-1, 1) * v.reshape(1, -1)).ravel()

    def factors(self, places: Ints) -> tuple[Ints, Ints]:
        k = places.shape[-1]
        return np.repeat(places, k, axis=-1), np.concatenate([places] * k, axis=-1)

    def room(self, v: Array) -> float:
        return float(v @ v)

    def typed(self, parts: list[Any]) -> tuple[Any, ...]:
        k = isqrt(len(parts))
        return ("largest_eigenvalue", ("stack", *(("stack", *parts[i * k : (i + 1) * k]) for i in range(k))))

    def value(self, q: Array) -> Array:
        return _eigen(_symmetric(q))[0][..., -1]

    def above(self, q: Array, doubt: Array) -> Array:
        return self._top(_symmetric(q), doubt)

    def _top(self, matrix: Array, doubt: Array) -> Array:
        """A bound of the largest eigenvalue, from an approximate Q = V L V': the largest of L, and what is left.

        V is not quite orthogonal; and no eigenvalue moves by more than the largest sum of a row of what is added.
        """
        k = matrix.shape[-1]
        values, vectors = _eigen(matrix)
        size, rounding = np.abs(vectors), 4 * (k + 4) * EPS
        product = (vectors * values[..., None, :]) @ _turned(vectors)
        left = np.abs(matrix - product) + 4 * (k + 4) * TINY
        left = left + rounding * ((size * np.abs(values)[..., None, :]) @ _turned(size) + np.abs(matrix))
        skew = np.abs(_turned(vectors) @ vectors - np.eye(k)) + rounding
        rest, bent = (part.sum(axis=-1).max(axis=-1) for part in (left, skew))
        top = values[..., -1]
        largest = top + (np.abs(top) * bent + rest + self._moved(doubt)) * (1 + rounding) + rounding * np.abs(top)
        return np.where(np.isnan(largest), np.inf, largest)

    def swing(self, doubt: Array) -> Array:
        return isqrt(doubt.shape[-1]) * self._moved(doubt)

    def stretch(self, size: int) -> int:
        return isqrt(size)

    def model(self, q: Quadratics, doubt: Array) -> tuple[Array, Array]:
        """In the eigenvectors of the centre, a + |b|^2 / (a - c) for the last element a and the others b of its column.

        c is what the eigenvalues of all the rest are at most: where it is less than a on all of the box, that is no
        less than the largest eigenvalue, by the Schur complement, and a quadratic up to the third order.
        """
        k, m = isqrt(doubt.shape[-1]), q.m
        parts = np.moveaxis(_symmetric(np.moveaxis(q.levels, -1, -2)), -3, 0)  # (levels, ..., k, k)
        vectors = _eigen(parts[0])[1]
        turned = _turned(vectors) @ parts @ vectors
        rounding = 8 * (k + m + 8) * EPS
        weight = np.concatenate([np.ones(1 + m), quadratic_weights(m)])
        size = np.einsum("l,l...->...", weight, np.abs(parts)) + _larger(doubt)
        around = (
            _turned(np.abs(vectors)) @ (_larger(doubt) + rounding * size) @ np.abs(vectors)
        )  # what is not known of it
        bent = np.einsum("l,l...->...", weight[1 + m :], np.abs(turned[1 + m :])) + around
        swing = np.abs(turned[1 : 1 + m]).sum(axis=0) + bent
        a, b = np.moveaxis(turned[..., -1, -1], 0, -1), turned[: 1 + m, ..., :-1, -1]
        if k == 1:
            return a, known_rest(around[..., 0, 0])
        others = swing[..., :-1, :-1]
        top = self._top(turned[0, ..., :-1, :-1], others.reshape(*others.shape[:-2], -1))
        gap = a[..., 0] - swing[..., -1, -1] - top
        gap = np.where(gap > 0, gap * (1 - 8 * EPS) - 4 * EPS * (np.abs(a[..., 0]) + np.abs(top)), 0.0)
        gap = np.where(gap > 0, gap, np.nan)
        slope = np.moveaxis(b[1:], 0, -1)
        length = np.abs(b[0]) + np.abs(slope).sum(axis=-1)
        across = squares(b[0], slope)
        more = (2 * length * bent[..., :-1, -1] + bent[..., :-1, -1] ** 2).sum(axis=-1)
        more = more + rounding * (length * length).sum(axis=-1)
        skew = (np.abs(_turned(vectors) @ vectors - np.eye(k)) + rounding).sum(axis=-1).max(axis=-1)
        whole = np.abs(a) @ weight + (np.abs(across) @ weight + more) / gap
        levels = a + across / gap[..., None]
        off = (around[..., -1, -1] + more / gap + (2 * skew + rounding) * whole) * (1 + rounding)
        return levels, known_rest(np.where(_in_range(size.sum(axis=(-2, -1))), off, np.inf))

    def worst(self, q: Array) -> Array:
        vectors = _eigen(_symmetric(q))[1][..., -1]
        place = np.abs(vectors).argmax(axis=-1)[..., None]
        return np.clip(vectors / np.take_along_axis(vectors, place, axis=-1), -1.0, 1.0)

    @staticmethod
    def _moved(doubt: Array) -> Array:
        table = _larger(doubt)
        moved: Array = table.sum(axis=-1).max(axis=-1) * (1 + 4 * (table.shape[-1] + 4) * EPS) + TINY
        return moved


def _parts(q: Array) -> tuple[Array, Array]:
    """The largest size (...,) among numbers (..., size), and they in units of it, whose squares do not underflow."""
    size = np.abs(q).max(axis=-1)
    return size, q / np.where(size > 0, size, 1.0)[..., None]


def _symmetric(q: Array) -> Array:
    """v' Q v is that of the symmetric part; halves are exact."""
    k = isqrt(q.shape[-1])
    matrix = q.reshape(*q.shape[:-1], k, k)
    return 0.5 * matrix + 0.5 * _turned(matrix)


def _larger(doubt: Array) -> Array:
    """What is not known of a symmetric part (..., k, k)."""
    k = isqrt(doubt.shape[-1])
    table = doubt.reshape(*doubt.shape[:-1], k, k)
    return np.maximum(table, _turned(table))


def known_rest(rest: Array) -> Array:
    """What is no number is not known."""
    return np.where(np.isfinite(rest), rest, np.inf)


def _turned(matrix: Array) -> Array:
    return np.swapaxes(matrix, -1, -2)


def _eigen(matrix: Array) -> tuple[Array, Array]:
    """Eigenvalues, in order, and eigenvectors; nan, and any, for what is not finite."""
    known = np.asarray(np.isfinite(matrix).all(axis=(-1, -2)))
    values, vectors = np.linalg.eigh(np.where(known[..., None, None], matrix, 0.0))
    return np.where(known[..., None], values, np.nan), vectors


@dataclass(frozen=True, eq=False)
class DirectionBlock:
    """Support functions over one kind of directions: each of some entries, and added to some row."""

    kind: Directions
    rows: Ints  # (E,), to which row each is added
    entries: Ints  # (E, size), the numbers that each is of
    places: Ints  # (E, dim), the coordinates of its direction in that of the row


@dataclass(frozen=True, eq=False)
class Choices:
    """A row as an entry and maxima of others: for each, the entries and the weights of its pieces."""

    base: int
    entries: tuple[Ints, ...]  # (size,) each
    tables: tuple[Array, ...]  # (R, size) each, for R pieces

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """How many pieces each maximum has."""
        return tuple(map(len, self.tables))

    @property
    def slots(self) -> list[slice]:
        """Where the pieces of each maximum stand among all of the row."""
        ends = np.cumsum([0, *self.counts]).tolist()
        return [slice(a, b) for a, b in pairwise(ends)]


@dataclass(frozen=True, eq=False)
class WorstDirection:
    """Rows that are largest over a direction in closed form: an entry each, and support functions of others.

    Entries are affine in the variables, with formulas of the indices as coefficients; directions are the coordinates of
    `index`, which nobody but the solver sees.
    """

    index: Index
    base: Ints  # (p,), the entry that each row begins with
    blocks: tuple[DirectionBlock, ...]

    @property
    def sharp(self) -> bool:
        """Whether worst directions attain what `value` says."""
        return all(b.kind.sharp for b in self.blocks)

    @property
    def choices(self) -> tuple[Choices, ...] | None:
        """The rows as sums of maxima of finitely many pieces; None where a norm or a matrix has more."""
        if not all(b.kind.vertices for b in self.blocks):
            return None
        pieces: list[list[tuple[Ints, Array]]] = [[] for _ in self.base]
        for b in self.blocks:
            for row, mine in zip(b.rows.tolist(), b.entries, strict=True):
                pieces[row].append((mine, b.kind.rows(len(mine))))
        return tuple(
            Choices(base, tuple(e for e, _ in own), tuple(t for _, t in own))
            for base, own in zip(self.base.tolist(), pieces, strict=True)
        )

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

    def model(self, levels: Array, doubt: Array, m: int) -> tuple[Array, Array]:
        """Quadratics (..., p, levels) on boxes that rows do not exceed by more than what is left (..., p)."""
        q = Quadratics(levels, m)
        total, rest = levels[..., self.base, :].copy(), doubt[..., self.base].copy()
        size = np.abs(total).sum(axis=-1)
        for b in self.blocks:
            part, more = b.kind.model(q.only(b.entries), doubt[..., b.entries])
            add_at(np.moveaxis(total, -1, 0), b.rows, np.moveaxis(part, -1, 0))
            add_at(rest, b.rows, more)
            add_at(size, b.rows, np.abs(part).sum(axis=-1))
        count = 8 + 4 * sum(len(b.rows) for b in self.blocks)
        return total, rest * (1 + count * EPS) + count * (EPS * size + TINY)

    def stretched(self, bound: Array) -> Array:
        """Bounds (..., p) of rows for all directions, from bounds of support functions."""
        most = np.ones(len(self.base))
        for b in self.blocks:
            np.maximum.at(most, b.rows, b.kind.stretch(b.entries.shape[1]))
        return np.where(bound > 0, bound * most * (1 + 4 * EPS), bound)

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
