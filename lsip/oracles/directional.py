"""Boxes of indices for rows that hold for all directions, too: the worst direction over a box has a closed form.

On a small box, entries are nearly quadratic, and so is what is largest over directions, where the worst one is far from
all others: a quadratic that is no less leaves an error of third order. Elsewhere it is still convex in the entries, and
these are nearly affine: a convex function of what is affine is largest at a corner, which leaves an error of second
order. Directions are never split.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..domains import Cell
from ..domains.proven import LOST
from ..expressions.interval import EPS
from ..expressions.jets import triangle
from ..expressions.quadratics import middle, quadratic_weights
from .base import Array, Directed, Rows, capable
from .bounder import Bounder, BoxBounds, BoxView
from .quadratic_bound import bound_rows
from .sides import use_sides
from .taylor import Taylor


@dataclass(frozen=True)
class DirectedTuning:
    """How entries are bounded over a box.

    Parameters
    ----------
    most_corners
        Coordinates of an index up to which all corners of a box are tried; slopes beyond are left to doubt.
    """

    most_corners: int = 6


TUNING = DirectedTuning()


class Directional(Taylor):
    """Expansions of the entries over boxes of one cell of the indices."""

    def __init__(self, family: Rows, cell: Cell) -> None:
        directed = capable(family)
        assert isinstance(directed, Directed)
        self.directed = directed
        super().__init__(directed.entries, cell)

    def other(self, family: Rows) -> Directional:
        """The same for other rows."""
        return Directional(family, self.cell)

    def changed(self, columns: dict[str, Any], n: int, family: Rows, before: Hashable) -> Bounder | None:
        """Everything may differ."""
        return None

    def bound(self, boxes: BoxView, weights: Array, spread: Array | None) -> BoxBounds | None:
        """Upper bounds (N, p) of the violation over boxes, index points with directions behind them, and the model."""
        (n, m), of = (len(boxes), self.dim), self.directed.of_entries
        with np.errstate(all="ignore"):
            q, rest = self._models(boxes, of(weights), None if spread is None else of(spread))
            q, rest = q.reshape(n, self.p, -1), rest.reshape(n, self.p)
            rest = rest * (1 + 1e-13) + 8 * (m + 2) * EPS * np.abs(q).sum(axis=-1) + LOST
            bound, d = self._by_models(boxes, q, rest)
            bound = np.minimum(bound, self._by_corners(q, rest))
            return BoxBounds(bound, *self._points(boxes, q, d))

    def _by_models(self, boxes: BoxView, q: Array, rest: Array) -> tuple[Array, Array]:
        """Bounds (N, p) of quadratics that are no less than the rows, inf where there are none, and their maxima d."""
        table, more = self.directed.worst.model(q, rest, self.dim)
        n, p, _ = table.shape
        table, more = table.reshape(n * p, -1), more.ravel()
        known = np.isfinite(table).all(axis=1) & np.isfinite(more)
        bound, d = np.full(n * p, np.inf), np.zeros((n * p, self.dim))
        bound[known], d[known] = bound_rows(table[known], self.dim)
        bound = bound + more
        if "side" in boxes:
            use_sides(boxes, table, more, bound, d)
        bound = np.where(known & np.isfinite(bound), bound, np.inf).reshape(n, p)
        return bound, np.nan_to_num(d).reshape(n, p, -1)

    def _by_corners(self, q: Array, rest: Array) -> Array:
        """Bounds (N, p) from the corners of boxes."""
        m, corners = self.dim, _corners(self.dim)
        beyond = np.abs(q[..., 1 + corners.shape[1] : 1 + m]).sum(axis=-1)
        doubt = (rest + np.abs(q[..., 1 + m :]) @ quadratic_weights(m) + beyond) * (1 + 8 * (m + 2) * EPS)
        slopes = q[..., 1 : 1 + corners.shape[1]]
        moved = (slopes.reshape(-1, corners.shape[1]) @ corners.T).reshape(*slopes.shape[:2], len(corners))
        at = q[:, None, :, 0] + np.swapaxes(moved, 1, 2)
        bound = self.directed.worst.above(at, doubt[:, None, :])  # (N, corners, p)
        return np.asarray(np.where(np.isnan(bound), np.inf, bound).max(axis=1))

    def _points(self, boxes: BoxView, q: Array, d: Array) -> tuple[Array, Array]:
        """For every box and row, its point at d (N, p, m) with a worst direction, and what the models say there."""
        m, worst = self.dim, self.directed.worst
        i, j = triangle(m)
        ones = np.ones((*d.shape[:2], 1))
        levels = np.concatenate([ones, d, quadratic_weights(m) * d[..., i] * d[..., j]], axis=-1)
        entries = np.nan_to_num(np.einsum("nel,npl->npe", q, levels))  # (N, p, P): those at the point of each row
        row = np.arange(d.shape[1])
        directions, model = worst.worst(entries)[:, row, row], worst.value(entries)[:, row, row]
        centre, radius = middle(boxes["lower"], boxes["upper"])
        y = centre[:, None, :] + d * radius[:, None, :]
        placed = self.chart.points(y.reshape(-1, m)).reshape(*d.shape[:2], -1)
        return np.concatenate([placed, directions], axis=2), model

    def proven(self, upper: Array) -> float:
        """What the violation is at most, given the bounds (N, p) of all boxes."""
        return float(self.directed.worst.stretched(upper.max(axis=0, initial=-np.inf)).max())

    def _variation(self, boxes: BoxView, weights: Array) -> Array:
        """How much entries vary along each axis of a box, (N, m), each of them: their squares make rows bend."""
        mine = self.directed.of_entries(weights)
        with np.errstate(all="ignore"):
            slopes = np.abs(np.einsum("nplk,pk->npl", boxes["table"][:, :, 1 : 1 + self.dim], mine)).sum(axis=1)
        return super()._variation(boxes, mine) + slopes


def _corners(m: int) -> Array:
    """The corners (2^k, k) of the first coordinates."""
    k = min(m, TUNING.most_corners)
    return 2.0 * np.stack(np.meshgrid(*[[0.0, 1.0]] * k, indexing="ij"), axis=-1).reshape(-1, k) - 1.0
