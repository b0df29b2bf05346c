"""Rows that are convex in the index, because their entries are affine in it: the supremum is that over the vertices.

A convex function on a polytope is largest at one of its vertices. Where these are few, every one of them is a box that
nobody has to split, in any dimension.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from ..deadline import EFFORT
from ..domains import Cell, Domain
from ..domains.proven import LOST
from ..domains.vertices import vertices
from ..expressions.interval import EPS
from .base import Array, Directed, Pieces, Rows, capable
from .bounder import Bounder, BoxBounds, BoxView


class VertexRows(Bounder):
    """All rows at some index points, in whose convex hull the index set lies."""

    peaks = True

    def __init__(self, directed: Directed, points: Array) -> None:
        self.directed = directed
        super().__init__(directed.entries, Cell(points, points, None))

    @staticmethod
    def of(directed: Directed, domain: Domain) -> VertexRows | None:
        """That of all vertices of the domain; None where they are too many, or rows are not convex in the index."""
        if directed.entries.linear is None:
            return None
        points = vertices(domain, EFFORT.batch / len(directed.entries.columns))
        return None if points is None else VertexRows(directed, points)

    def other(self, family: Rows) -> VertexRows:
        """The same for other rows."""
        directed = capable(family)
        assert isinstance(directed, Directed)
        return VertexRows(directed, self.cell.lower)

    def changed(self, columns: dict[str, Any], n: int, family: Rows, before: Hashable) -> Bounder:
        """Vertices are the same for all data."""
        return self.other(family)

    def enclose(self, lower: Array, upper: Array, pieces: Pieces) -> dict[str, Any]:
        """The points alone."""
        return {"lower": lower, "upper": upper, "rough": np.zeros_like(lower), "pays": np.zeros_like(lower)}

    def bound(self, boxes: BoxView, weights: Array, spread: Array | None) -> BoxBounds:
        """Bounds (N, p) of the rows at points, and where they are largest."""
        family, y, worst = self.directed, boxes["lower"], self.directed.worst
        form = family.entries.linear
        assert form is not None
        value, value_doubt, slope, slope_doubt = form.weighted(family.of_entries(weights))
        size = np.abs(y)
        with np.errstate(all="ignore"):
            entries = value + y @ slope.T
            doubt = value_doubt + size @ slope_doubt.T + LOST
            doubt += (self.dim + 8) * EPS * (np.abs(value) + size @ np.abs(slope).T)
            if spread is not None:
                doubt += form.swing(size.max(axis=0), family.of_entries(spread))
            bound = worst.above(entries, doubt * (1 + 8 * (self.dim + 8) * EPS))
        bound = np.where(np.isnan(bound), np.inf, bound)
        width = bound.shape[1] * (self.dim + worst.index.domain.dim)
        count = min(max(EFFORT.batch // width, 1), len(bound))  # others are far from the worst
        largest = np.argpartition(-bound, count - 1, axis=0)[:count]  # (count, p)
        row = np.broadcast_to(np.arange(bound.shape[1]), largest.shape)
        here = entries[largest.ravel()]
        each = np.arange(len(here))
        directions, model = (part[each, row.ravel()] for part in (worst.worst(here), worst.value(here)))
        points = np.concatenate([y[largest.ravel()], directions], axis=1).reshape(*largest.shape, -1)
        return BoxBounds(bound, points, np.nan_to_num(model, nan=-np.inf).reshape(largest.shape), row)

    def proven(self, upper: Array) -> float:
        """What the violation is at most, given the bounds (N, p) of all points."""
        return float(self.directed.worst.stretched(upper.max(axis=0, initial=-np.inf)).max())
