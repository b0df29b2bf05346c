"""Bounds of rows that are polynomials, expanded over boxes for every x anew.

Enclosures of every coefficient a_j(y) leave something open, which is added up, times |x_j|. Where large terms cancel,
that takes very many boxes. For given x, each row is one polynomial.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..domains import Cell
from ..expressions.chart import CellChart
from ..expressions.graph import Index
from ..expressions.quadratics import middle
from .base import Array, Pieces, Rows
from .bounder import BoxView, QuadraticBounder, swing
from .expansions import Expansion, expandable
from .sides import cut_off


class PolynomialBounder(QuadraticBounder):
    """It keeps boxes alone. Where rows cannot be expanded for some weights, it knows nothing of them."""

    def __init__(self, family: Rows, cell: Cell) -> None:
        super().__init__(family, cell)
        self._last: tuple[bytes, list[Expansion] | None] = (b"", None)
        self._sides = CellChart(cell, (Index("y", family.domain),)).sides

    def knows(self, weights: Array) -> bool:
        """Whether rows can be expanded for these weights."""
        return self._expansions(weights) is not None

    def _expansions(self, weights: Array) -> list[Expansion] | None:
        """One for every row; those for the last weights are kept."""
        key = weights.tobytes()
        if self._last[0] != key:
            self._last = key, self._expanded(weights)
        return self._last[1]

    def _expanded(self, weights: Array) -> list[Expansion] | None:
        """That takes two or three coordinates, which are those of the index, and polynomials that are not too large."""
        if self.cell.place is not None or self.dim != self.family.domain.dim or self.dim not in (2, 3):
            return None
        rows = []
        for c, w in enumerate(weights):
            g = self.family.polynomial(c, w)
            if g is None:
                return None
            rows.append(g)
        if not expandable(rows, self.dim):
            return None
        return [Expansion(g, self.cell.lower.min(axis=0), self.cell.upper.max(axis=0)) for g in rows]

    def enclose(self, lower: Array, upper: Array, pieces: Pieces) -> dict[str, Any]:
        """Only what is >= 0 on the domain is enclosed once and for all."""
        rows: dict[str, Any] = {"lower": lower, "upper": upper}
        rows |= {"rough": np.zeros_like(lower), "pays": np.ones_like(lower)}
        return rows if self._sides is None else cut_off(rows, self._sides.quadratics(lower, upper)[0], None, None)

    def _models(self, boxes: BoxView, weights: Array, spread: Array | None) -> tuple[Array, Array] | None:
        """Quadratics for these weights, and what they are off by; where splitting pays is kept."""
        expansions, size = self._expansions(weights), len(boxes) * self.p
        if expansions is None:
            return None
        found = [g.about(*middle(boxes["lower"], boxes["upper"])) for g in expansions]
        boxes["pays"] = self._pays(boxes, np.sum([e.varies for e in found], axis=0))
        q = np.stack([e.quadratic for e in found], axis=1).reshape(size, self.quadratic)
        rest = np.stack([e.rest for e in found], axis=1).ravel()
        return q, rest if spread is None else rest + swing(self.family, boxes["lower"], boxes["upper"], spread)
