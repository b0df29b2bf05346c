"""A partition of an index set into boxes on which rows that are polynomials are expanded anew for every x.

A `Cover` encloses every coefficient a_j(y) once, and what these enclosures leave open is added up, times |x_j|. Where
large terms cancel, that takes very many boxes. This one keeps boxes alone: for given x, each row is one polynomial.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..domains import Cell
from ..expressions.chart import CellChart
from ..expressions.graph import Index
from ..expressions.interval import EPS
from ..expressions.tape import Tape, middle
from .base import Array, Enclosure, Ints, Pieces, Rows
from .cover import Cover, shares
from .expansions import Expansion, expandable


def expansions(family: Rows, cell: Cell, weights: Array) -> list[Expansion] | None:
    """Rows times these weights, one after the other, over the boxes of a cell; None if they cannot be expanded there.

    That takes two or three coordinates, which are those of the index, and polynomials that are not too large.
    """
    m = cell.lower.shape[1]
    if cell.place is not None or m != family.domain.dim or m not in (2, 3):
        return None
    rows = []
    for c, w in enumerate(weights):
        g = family.polynomial(c, w)
        if g is None:
            return None
        rows.append(g)
    if not expandable(rows, m):
        return None
    return [Expansion(g, cell.lower.min(axis=0), cell.upper.max(axis=0)) for g in rows]


class PolynomialCover(Cover):
    """Boxes of one cell of a domain, and nothing that depends on the rows.

    Where rows cannot be expanded for some weights, nothing is known about them: ask `knows` first.
    """

    direct = True

    def __init__(self, family: Rows, cell: Cell, order: int = 2, boxes: tuple[Array, Array] | None = None) -> None:
        self.family = family
        self._last: tuple[bytes, list[Expansion] | None] = (b"", None)
        super().__init__(family, cell, order, boxes)

    def knows(self, weights: Array) -> bool:
        """Whether rows can be expanded for these weights."""
        return self._expansions(weights) is not None

    def products(self, weights: Array) -> int:
        """About how many multiplications the bounds of a box take."""
        return sum(g.products for g in self._expansions(weights) or [])

    def _expansions(self, weights: Array) -> list[Expansion] | None:
        """One for every row; those for the last weights are kept."""
        key = weights.tobytes()
        if self._last[0] != key:
            self._last = key, expansions(self.family, self.cell, weights)
        return self._last[1]

    def _enclosure(self, family: Rows) -> Enclosure:
        """Only what is >= 0 on the domain is enclosed once and for all."""
        inside = self.cell.inside
        if inside is None:
            return family.quadratics(self.cell)
        chart = CellChart(self.cell, (Index("y", family.domain),))
        return Tape((inside(chart.coordinates),), chart.indices).quadratics

    def _rows(self, lower: Array, upper: Array, pieces: Pieces) -> dict[str, Any]:
        rows: dict[str, Any] = {"lower": lower, "upper": upper}
        rows |= {"rough": np.zeros_like(lower), "varies": np.ones_like(lower)}
        if self.cell.inside is None:
            return rows
        return self._cut_off(rows, self._enclose(lower, upper, None, self.order)[0], None, None)

    def _models(self, weights: Array, rows: slice | NDArray[np.intp]) -> tuple[Array, Array]:
        """Quadratics for these weights, and what they are off by; how rows vary is kept, for the next split."""
        centre, radius = middle(self.lower[rows], self.upper[rows])
        size, rows_of_all = len(centre) * self.p, self._expansions(weights)
        if rows_of_all is None:
            return np.zeros((size, self.quadratic)), np.full(size, np.inf)
        found = [g.about(centre, radius) for g in rows_of_all]
        self._store["varies"][: self.n][rows] = np.sum([e.varies for e in found], axis=0)
        q = np.stack([e.quadratic for e in found], axis=1)
        return q.reshape(size, self.quadratic), np.stack([e.rest for e in found], axis=1).ravel()

    def swing(self, rows: slice | NDArray[np.intp], spread: Array) -> Array:
        """How far the violation over boxes may move with weights within `spread`: |coefficient| times spread."""
        lower, upper = (np.repeat(part[rows], self.p, axis=0) for part in (self.lower, self.upper))
        component: Ints = np.tile(np.arange(self.p), len(lower) // self.p)
        a, b = self.family.enclosed(lower, upper, component)
        sizes = [np.maximum(np.abs(part.lo), np.abs(part.hi)) for part in (a, b[:, None])]
        swing = (np.concatenate(sizes, axis=1) * spread[component]).sum(axis=1)
        return np.asarray(swing * (1 + (self.width + 8) * EPS))

    def influence(self, weights: Array, rows: NDArray[np.intp]) -> Array:
        """How much the violation varies along each axis of a box, (N, m): where splitting pays."""
        width = (self.upper[rows] - self.lower[rows]) / self.scale
        varies = self.varies[rows]
        return shares(np.where(np.isfinite(varies), varies, 0.0)) + 0.25 * shares(width)
