"""Semidefinite matrices, written as upper triangles column by column with off-diagonal entries times √2.

Written so, the cone is its own dual. A matrix is proven semidefinite by a Cholesky factorisation of what is left after
the most that rounding can do to one is taken off its diagonal (Rump, Verification of positive definiteness, 2006). A
box of matrices is, if its middle is so with the largest row sum of the radii taken off too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..expressions.interval import EPS, TINY, Interval, up
from .base import Array, Mask


@dataclass(frozen=True)
class Semidefinite:
    """Symmetric positive semidefinite matrices of `order` rows."""

    kind: ClassVar[str] = "semidefinite"
    exponents: ClassVar[tuple[float, ...]] = ()
    order: int

    @property
    def size(self) -> int:
        return self.order * (self.order + 1) // 2

    def centre(self) -> Array:
        column, row = np.tril_indices(self.order)
        return (row == column).astype(float)

    def matrices(self, s: Array) -> Array:
        """The symmetric matrices (k, order, order) of triangles (k, size)."""
        column, row = np.tril_indices(self.order)
        full = np.zeros((len(s), self.order, self.order))
        full[:, row, column] = full[:, column, row] = np.where(row == column, s, s / np.sqrt(2.0))
        return full

    def contains(self, s: Interval) -> Mask:
        middle = 0.5 * s.lo + 0.5 * s.hi
        radius = up(np.maximum(s.hi - middle, middle - s.lo), 2.0) * (s.hi > s.lo)
        return np.array([_proven(m, w) for m, w in zip(self.matrices(middle), self.matrices(radius), strict=True)])

    dual_contains = contains

    def shortfall(self, s: Array) -> Array:
        known: Any = np.isfinite(s).all(axis=1)
        given: Any = self.matrices(np.where(known[:, None], s, 0.0))
        values = np.asarray(np.linalg.eigvalsh(given), dtype=float)
        return np.where(known, -values[:, 0], np.inf)

    dual_shortfall = shortfall


def _proven(m: Array, wide: Array) -> bool:
    """Whether all matrices within `wide` of m are proven semidefinite."""
    k = len(m)
    if not (np.isfinite(m).all() and np.isfinite(wide).all()) or (np.diag(m) < 0).any():
        return False
    # What Cholesky and the division by √2 can hide, what the subtraction below may round, and the radii.
    room = (k + 2) * EPS / (1 - (k + 2) * EPS) * float(np.trace(m)) + 4 * EPS * float(np.abs(m).sum())
    room += float(wide.sum(axis=1).max(initial=0.0)) * (1 + (k + 8) * EPS) + (m.any() or wide.any()) * k * k * TINY
    if room == 0:
        return True
    try:
        np.linalg.cholesky(m - 1.01 * room * np.eye(k))
    except np.linalg.LinAlgError:
        return False
    return True
