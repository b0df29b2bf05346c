"""Estimated enclosures of rows that are known at points only: polynomials fitted to samples, and what they miss there.

Nothing of it is proven. A function may do as it likes between the points, and `AdaptiveSearch`, the one user of these
estimates, gives no bound for that reason.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ..deadline import EFFORT, check
from ..domains import Cell, Domain
from ..expressions.chart import CellChart
from ..expressions.graph import Index
from ..expressions.interval import EPS, Interval
from ..expressions.jets import tetrahedron, triangle
from ..expressions.quadratics import Quadratic, cubic_weights, middle, quadratic_weights
from ..expressions.ring import Polynomial
from .base import AffineForm, Array, Enclosure, EnclosureMemory, Ints, Pieces, Rows


@dataclass(frozen=True)
class EstimateTuning:
    """How rows over a box are sampled, and how far samples are believed.

    Parameters
    ----------
    safety
        How many times the largest error at the samples the error between them may be.
    resolved
        A row whose error at the samples is more than this share of its size over the index set is not resolved.
    """

    safety: float = 4.0
    resolved: float = 0.01


TUNING = EstimateTuning()


class EstimatedRows:
    """Rows of a family with estimated enclosures in the place of proven ones."""

    enclosable = True
    differentiable = True
    linear: AffineForm | None = None

    units = None

    def __init__(self, inner: Rows) -> None:
        self.inner, self.source = inner, self

    @property
    def domain(self) -> Domain:
        return self.inner.domain

    @property
    def columns(self) -> Ints:
        return self.inner.columns

    @property
    def memory(self) -> EnclosureMemory:
        """That of the family; `data_key` keeps its estimates apart from what is proven."""
        return self.inner.memory

    @property
    def data_key(self) -> Hashable:
        return "estimated", self.inner.data_key

    def rows(self, y: Array) -> tuple[Array, Array]:
        return self.inner.rows(y)

    def enclosed(self, lower: Array, upper: Array, component: Ints) -> tuple[Interval, Interval]:
        return self.inner.enclosed(lower, upper, component)

    def polynomial(self, component: int, weights: Array) -> Polynomial | None:
        """Not known of samples."""
        return None

    def trusts(self, domain: Domain) -> tuple[str, ...]:
        return ("the rows are as smooth between samples as they look",)

    def quadratics(self, cell: Cell) -> Enclosure:
        chart = CellChart(cell, (Index("y", self.domain),))
        sides = chart.sides
        boxes = _Boxes(self.inner, cell, chart)

        def enclose(
            lower: Array, upper: Array, pieces: Pieces, order: int
        ) -> tuple[Quadratic, Quadratic | None, NDArray[np.bool_] | None]:
            fitted = boxes.fitted(lower, upper, order)
            if sides is None:
                return fitted, None, None
            cut, kinks, straddles = sides.quadratics(lower, upper, pieces, order)
            if kinks is not None:
                cut = Quadratic(*(np.concatenate([k, c], axis=-1) for k, c in zip(kinks, cut, strict=True)))
            return fitted, cut, straddles

        return enclose


class _Boxes:
    """Fits over boxes of one cell, and the largest values seen in any of them."""

    def __init__(self, rows: Rows, cell: Cell, chart: CellChart) -> None:
        self.rows, self.cell, self.chart = rows, cell, chart
        self.largest = np.zeros(rows.columns.size + len(rows.columns))  # (p K + p,)
        width = (cell.upper - cell.lower).max(axis=0)
        # What is still rough on narrower boxes is a kink or a jump: so many of them would fill the index set.
        self.finest: Array = EFFORT.boxes ** (-1.0 / len(width)) * width

    def fitted(self, lower: Array, upper: Array, order: int) -> Quadratic:
        """The polynomials of all rows over boxes, with estimates of their errors."""
        check("samples")
        centre, radius = middle(lower, upper)
        (n, k), d = centre.shape, stencil(centre.shape[1])
        at, y = self._samples(centre, radius, d)
        a, b = self.rows.rows(y)
        flat = np.concatenate([a.reshape(len(a), -1), b], axis=1).reshape(n, len(d), -1)  # (N, P, p K + p)
        design = monomials(d, order)
        fit = np.einsum("lp,npk->nlk", fitting(k, order), flat)
        miss = np.abs(np.einsum("pl,nlk->npk", design, fit) - flat).max(axis=1)
        moved = np.flatnonzero((at != d).any(axis=(1, 2)))
        if len(moved):
            designs = monomials(at[moved].reshape(-1, k), order).reshape(-1, *design.shape)
            # Samples that were moved may lie on a line or a plane.
            fit[moved] = np.linalg.pinv(designs, rcond=1e-6) @ flat[moved]
            miss[moved] = np.abs(designs @ fit[moved] - flat[moved]).max(axis=1)
        largest = np.abs(flat).max(axis=1)
        np.maximum(self.largest, largest.max(axis=0), out=self.largest)
        wide = np.asarray((upper - lower > self.finest).any(axis=1))
        open_ = (miss > TUNING.resolved * self.largest) & wide[:, None]
        # Times as large as anywhere, where it is not resolved.
        error = np.where(open_, 100.0 * self.largest, TUNING.safety * miss + 8 * EPS * largest)
        parts, bends = np.moveaxis(fit, 1, 0), 1 + k + len(triangle(k)[0])
        rough = np.zeros((k, *error.shape))
        return Quadratic(parts[0], parts[1 : 1 + k], parts[1 + k : bends], parts[bends:], rough, error)

    def _samples(self, centre: Array, radius: Array, d: Array) -> tuple[Array, Array]:
        """Where boxes are sampled, (N, P, k) in their own units and (N P, m) in the index set.

        Samples outside an index set that is cut out of the boxes move towards the point of it nearest to the centre.
        """
        domain, (n, k) = self.rows.domain, centre.shape
        at = np.broadcast_to(d, (n, *d.shape))
        y = self.chart.points((centre[:, None] + radius[:, None] * d).reshape(-1, k))
        if self.cell.inside is None or self.cell.place is not None:
            return at, domain.project(y)  # where this moves a sample, rounding has put it outside
        outside = ~domain.contains(y, tol=0.0)
        if not outside.any():
            return at, y
        box = np.flatnonzero(outside) // len(d)
        inner = np.empty_like(centre)
        some = np.unique(box)
        inner[some] = domain.project(centre[some])
        start, end, low, high = inner[box], y[outside], np.zeros((len(box), 1)), np.ones((len(box), 1))
        for _ in range(8):  # bisection
            step = 0.5 * (low + high)
            inside = domain.contains(start + step * (end - start), tol=0.0)[:, None]
            low, high = np.where(inside, step, low), np.where(inside, high, step)
        y[outside] = start + low * (end - start)
        at = at.copy()
        at.reshape(-1, k)[outside] = (y[outside] - centre[box]) / np.where(radius[box] > 0, radius[box], 1.0)
        return at, y


@cache
def stencil(m: int) -> Array:
    """Samples of the box [-1, 1]^m: middle, corners, middles of edges and faces, and some further inside."""
    # Along the axes and the diagonals, so that neither the even nor the odd half is missed by symmetry.
    along, across = (0.6, 0.5)
    grid = np.array(list(product((-1.0, 0.0, 1.0), repeat=m)))
    diagonal = np.array(list(product((-across, across), repeat=m)))
    axes = along * np.concatenate([np.eye(m), -np.eye(m)])
    return np.concatenate([grid, diagonal, axes])


def monomials(d: Array, order: int) -> Array:
    """What the numbers of a `Quadratic` are multiplied by at the points d (P, m): shape (P, L)."""
    m = d.shape[1]
    i, j = triangle(m)
    parts = [np.ones((len(d), 1)), d, quadratic_weights(m) * d[:, i] * d[:, j]]
    if order == 3:
        a, b, c = tetrahedron(m)[:3]
        parts.append(cubic_weights(m) * d[:, a] * d[:, b] * d[:, c])
    return np.concatenate(parts, axis=1)


@cache
def fitting(m: int, order: int) -> Array:
    """Samples to the numbers of the polynomial of that order that fits them best: shape (L, P)."""
    found: Array = np.linalg.pinv(monomials(stencil(m), order)).astype(np.float64)
    return found
