"""What bounds rows over boxes: the contract, and what all that bound by quadratics have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..deadline import EFFORT
from ..domains import Cell
from ..domains.proven import LOST
from ..expressions.chart import CellChart
from ..expressions.interval import EPS
from ..expressions.jets import triangle
from ..expressions.quadratics import middle
from ..kernel.native import in_use
from .base import Array, Ints, Pieces, Rows
from .quadratic_bound import bound_rows
from .sides import evaluate, use_sides

Selection = slice | Ints


class BoxBounds(NamedTuple):
    """What is known of rows over boxes."""

    upper: Array  # (N, p), no row exceeds this anywhere in the box
    points: Array  # (N, p, dim), index points where rows may be as large
    model: Array  # (N, p), what they are there, about
    components: Ints | None = None  # (N, p), which rows these are; None where they are all, in order

    @staticmethod
    def joined(parts: list[BoxBounds]) -> BoxBounds:
        """Those of several sets of boxes, one after the other."""
        upper, points, model = (np.concatenate([part[i] for part in parts]) for i in range(3))
        rows = [part.components for part in parts if part.components is not None]
        return BoxBounds(upper, points, model, np.concatenate(rows) if rows else None)


class BoxView:
    """Some boxes of a partition: what is kept of each, by name; always `lower`, `upper` and `rough`, (N, m)."""

    def __init__(self, columns: dict[str, Any], n: int, rows: Selection = slice(None)) -> None:
        self._columns, self._n, self._rows = columns, n, rows

    def __len__(self) -> int:
        return len(self["lower"])

    def __contains__(self, name: str) -> bool:
        return name in self._columns

    def get(self, name: str) -> Any:
        """What is kept under this name; None where nothing is."""
        if name not in self:
            return None
        return self[name]

    def __getitem__(self, name: str) -> Any:
        return self._columns[name][: self._n][self._rows]

    def __setitem__(self, name: str, value: Array) -> None:
        self._columns[name][: self._n][self._rows] = value


class Bounder(ABC):
    """Upper bounds of the rows of a family over boxes of one cell."""

    peaks: ClassVar[bool] = False  # whether its points are local maximisers

    def __init__(self, family: Rows, cell: Cell) -> None:
        self.family, self.cell = family, cell
        self.p, k = family.columns.shape
        self.width, self.dim = k + 1, cell.lower.shape[1]  # numbers in a row, coordinates of a box
        self.quadratic = 1 + self.dim + len(triangle(self.dim)[0])  # numbers in a quadratic

    @abstractmethod
    def enclose(self, lower: Array, upper: Array, pieces: Pieces) -> dict[str, Any]:
        """What is kept of boxes, whatever the weights; there may be fewer boxes than given, and more."""

    @abstractmethod
    def bound(self, boxes: BoxView, weights: Array, spread: Array | None) -> BoxBounds | None:
        """Bounds for weights (p, K + 1) and all others within their spread; None where it knows nothing of them."""

    def other(self, family: Rows) -> Bounder:
        """The same for other rows."""
        return type(self)(family, self.cell)

    def changed(self, columns: dict[str, Any], n: int, family: Rows, before: Hashable) -> Bounder | None:
        """The same for rows that were of the data `before`; what is kept of n boxes is renewed. None: all may differ.

        Not called on boxes with kinks: on which side of one a box lies has to be found out again.
        """
        return None

    @property
    def at_once(self) -> int:
        """Boxes that are enclosed in one batch."""
        return at_once(self.p * self.width, self.quadratic)

    def influence(self, boxes: BoxView, weights: Array) -> Array:
        """How much rows vary along each axis of a box, (N, m): where splitting pays; known since they were bounded."""
        return np.asarray(boxes["pays"])

    def proven(self, upper: Array) -> float:
        """What the violation is at most, given the bounds (N, p) of all boxes."""
        return float(upper.max(initial=-np.inf))


class QuadraticBounder(Bounder):
    """Rows over a box are quadratics in d, |d_i| <= 1, but for what these are off by."""

    def __init__(self, family: Rows, cell: Cell) -> None:
        super().__init__(family, cell)
        self.chart = CellChart(cell)
        self.scale = np.maximum((cell.upper - cell.lower).max(axis=0), 1e-300)  # (m,), for sides of boxes

    @abstractmethod
    def _models(self, boxes: BoxView, weights: Array, spread: Array | None) -> tuple[Array, Array] | None:
        """Quadratics (N p, numbers) for these weights, and what they are off by, at most, (N p,)."""

    def bound(self, boxes: BoxView, weights: Array, spread: Array | None) -> BoxBounds | None:
        """Bounds for weights (p, K + 1) and all others within their spread; None where it knows nothing of them."""
        n, p, m = len(boxes), self.p, self.dim
        with np.errstate(all="ignore"):
            models = self._models(boxes, weights, spread)
            if models is None:
                return None
            q, rest = models
            rest = rest * (1 + 1e-13) + np.tile(LOST * (weights != 0).any(axis=1), n)
            bound, d = bound_rows(q, m)
            bound = bound + rest
            if "side" in boxes:
                use_sides(boxes, q, rest, bound, d)
        known = np.isfinite(bound)
        bound = np.where(known, bound, np.inf).reshape(n, p)
        d = np.where(known[:, None], d, 0.0)
        model = evaluate(q, d, m).reshape(n, p)
        centre, radius = (np.repeat(part, p, axis=0) for part in middle(boxes["lower"], boxes["upper"]))
        return BoxBounds(bound, self.placed(centre + radius * d), np.where(np.isfinite(model), model, -np.inf))

    def placed(self, points: Array) -> Array:
        """Points of boxes, p for each, as those of the index set, (N, p, dim)."""
        placed = self.chart.points(points.reshape(-1, self.dim))
        return placed.reshape(-1, self.p, placed.shape[1])

    def _pays(self, boxes: BoxView, varies: Array) -> Array:
        """Where splitting pays, given how much what a bound leaves open varies along each axis, (N, m)."""
        width = (boxes["upper"] - boxes["lower"]) / self.scale
        return shares(np.where(np.isfinite(varies), varies, 0.0)) + 0.25 * shares(width)


def at_once(numbers: int, levels: int) -> int:
    """Boxes, with so many numbers each, that are enclosed in one batch."""
    return max((EFFORT.batch // levels if in_use() else EFFORT.cached) // max(numbers, 1), 1)


def shares(sizes: Array) -> Array:
    """Rows (N, m) relative to their largest entries."""
    return sizes / np.maximum(sizes.max(1, keepdims=True), 1e-300)


def swing(family: Rows, lower: Array, upper: Array, spread: Array) -> Array:
    """How far rows over N boxes may move with weights within `spread`, (N p,): |coefficient| times spread."""
    p, k = family.columns.shape
    component: Ints = np.tile(np.arange(p), len(lower))
    a, b = family.enclosed(np.repeat(lower, p, axis=0), np.repeat(upper, p, axis=0), component)
    sizes = [np.maximum(np.abs(part.lo), np.abs(part.hi)) for part in (a, b[:, None])]
    moved = (np.concatenate(sizes, axis=1) * spread[component]).sum(axis=1)
    return np.asarray(moved * (1 + (k + 9) * EPS))
