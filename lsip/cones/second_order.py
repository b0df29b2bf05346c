"""The second-order cone: s[0] >= |s[1:]|. It is its own dual."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..expressions.interval import EPS, TINY, Interval, magnitudes
from .base import Array, Mask


@dataclass(frozen=True)
class SecondOrder:
    """s[0] >= |s[1:]|, in `size` numbers."""

    kind: ClassVar[str] = "second-order"
    exponents: ClassVar[tuple[float, ...]] = ()
    size: int

    def centre(self) -> Array:
        return np.eye(self.size)[0]

    def contains(self, s: Interval) -> Mask:
        held: Mask = s.lo[:, 0] >= norm_above(magnitudes(s)[1][:, 1:])
        return held

    dual_contains = contains

    def shortfall(self, s: Array) -> Array:
        return np.asarray(np.linalg.norm(s[:, 1:], axis=1) - s[:, 0])

    dual_shortfall = shortfall


def norm_above(u: Array) -> Array:
    """At least the Euclidean norms of rows of nonnegative numbers; inf or nan where one is."""
    largest, count = u.max(axis=1, initial=0.0), u.shape[1]
    known = (largest > 0) & np.isfinite(largest)
    # In such units no square overflows, and none that counts underflows.
    unit = 2.0 ** np.floor(np.log2(np.where(known, largest, 1.0)))
    squares = ((np.where(known[:, None], u, 0.0) / unit[:, None]) ** 2).sum(axis=1)
    root = np.sqrt(squares * (1 + (count + 2) * EPS) + count * TINY) * (1 + 2 * EPS) * unit
    return np.where(known, root + 2 * TINY, largest)
