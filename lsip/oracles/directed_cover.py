"""Boxes of indices for rows that hold for all directions, too: the worst direction over a box has a closed form.

What is largest over directions is convex in the entries, and these are nearly affine on a small box: a convex function
of what is affine is largest at a corner. So the largest value at the corners, and what entries may be off by, is a
bound, of second order in the size of the box; directions are never split.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..deadline import check
from ..domains import Cell, Domain
from ..domains.proven import LOST
from ..expressions.interval import EPS
from ..expressions.jets import triangle
from ..expressions.tape import quadratic_weights
from .base import Array, Directed, Rows
from .cover import Cover


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


class DirectedCover(Cover):
    """Boxes of one cell of the indices, and the enclosures of entries over them."""

    direct = True

    def __init__(self, family: Any, cell: Cell, order: int = 2, boxes: tuple[Array, Array] | None = None) -> None:
        self.directed: Directed = family
        super().__init__(family.entries, cell, order, boxes)

    def products(self, weights: Array) -> int:
        """About how many multiplications the bounds of a box take."""
        return self.p * (self.width * self.levels + 2 ** min(self.dim, TUNING.most_corners))

    def bounds(
        self, weights: Array, rows: slice | NDArray[np.intp], spread: Array | None = None
    ) -> tuple[Array, Array, Array]:
        """Upper bounds (N, p) of the violation over boxes, index points with directions behind them, and the model."""
        mine, n, m = self.directed.of_entries(weights), len(self.lower[rows]), self.dim
        with np.errstate(all="ignore"):
            q, rest = self._models(mine, rows)
            if spread is not None:
                rest = rest + super().swing(rows, self.directed.of_entries(spread))
            q, rest = q.reshape(n, self.p, -1), rest.reshape(n, self.p)
            doubt = rest + np.abs(q[..., 1 + m :]) @ quadratic_weights(m)
            corners = _corners(m)
            doubt = doubt + np.abs(q[..., 1 + corners.shape[1] : 1 + m]).sum(axis=-1)
            doubt = doubt * (1 + 1e-13) + 8 * (m + 2) * EPS * np.abs(q).sum(axis=-1) + LOST
            at = q[:, None, :, 0] + np.einsum("npm,cm->ncp", q[..., 1 : 1 + corners.shape[1]], corners)
            bound = self.directed.worst.above(at, doubt[:, None, :])  # (N, corners, p)
            bound = np.where(np.isnan(bound), np.inf, bound).max(axis=1)
            return bound, *self._points(rows, q, np.vstack([np.zeros(corners.shape[1]), corners]))

    def _points(self, rows: slice | NDArray[np.intp], q: Array, tried: Array) -> tuple[Array, Array]:
        """For every box and row, the best of some points, with its worst direction, and what the models say there."""
        m, worst = self.dim, self.directed.worst
        d = np.zeros((len(tried), m))
        d[:, : tried.shape[1]] = tried
        i, j = triangle(m)
        levels = np.concatenate([np.ones((len(d), 1)), d, quadratic_weights(m) * d[:, i] * d[:, j]], axis=1)
        entries = np.nan_to_num(np.einsum("npl,tl->ntp", q, levels))  # (N, T, P)
        model = worst.value(entries)  # (N, T, p)
        best = model.argmax(axis=1)  # (N, p)
        n, row = np.arange(len(q))[:, None], np.arange(best.shape[1])
        directions = worst.worst(entries[n, best])[n, row, row]  # (N, p, dim)
        y = self.centre[rows][:, None, :] + d[best] * self.radius[rows][:, None, :]
        placed = self.chart.points(y.reshape(-1, m)).reshape(*best.shape, -1)
        return np.concatenate([placed, directions], axis=2), model[n, best, row]

    def swing(self, rows: slice | NDArray[np.intp], spread: Array) -> Array:
        """How far the violation over boxes may move with weights within `spread`, (N p,)."""
        doubt = super().swing(rows, self.directed.of_entries(spread)).reshape(-1, self.p)
        return self.directed.worst.swing(doubt).ravel()

    def influence(self, weights: Array, rows: NDArray[np.intp]) -> Array:
        """How much the violation varies along each axis of a box, (N, m): where splitting pays."""
        return super().influence(self.directed.of_entries(weights), rows)


def covers(family: Rows, domain: Domain) -> list[Cover]:
    """One for each cell of the index set; of the indices alone, where directions have a closed form."""
    indices = family.indices_of(domain) if isinstance(family, Directed) else None
    kind, found = (Cover, list[Cover]()) if indices is None else (DirectedCover, [])
    for cell in (domain if indices is None else indices).flat_cells():
        check("enclosures")
        found.append(kind(family, cell))
    return found


def _corners(m: int) -> Array:
    """The corners (2^k, k) of the first coordinates."""
    k = min(m, TUNING.most_corners)
    return 2.0 * np.stack(np.meshgrid(*[[0.0, 1.0]] * k, indexing="ij"), axis=-1).reshape(-1, k) - 1.0
