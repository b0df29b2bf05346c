"""The search over boxes: they are split, round by round, until enough is known of all of them.

There is one loop in Python. Whoever searches says which boxes are open, given what is known of them, and how they are
split; separation in `lsip.oracles` is one such search, and the compiled kernel has the same loop for tapes.
"""

from __future__ import annotations

import time
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from ..deadline import check
from .interval import Array

Bools = NDArray[np.bool_]


class BoxSplitting(Protocol):
    """Boxes, and what is asked of them."""

    def open_boxes(self) -> Any:
        """The boxes to be split; None or nothing where the search is over."""

    def split(self, chosen: Any) -> None:
        """Split them."""


def search_boxes(search: BoxSplitting, deadline: float = np.inf) -> None:
    """Split boxes as long as some are open and there is time."""
    while time.perf_counter() <= deadline and (chosen := search.open_boxes()) is not None and len(chosen):
        search.split(chosen)


class Halving:
    """Boxes (N, m) that are halved along their longest sides, relative to that of all of them, as long as `open`."""

    what: ClassVar[str]  # they are searched for, in a message where time is up

    def __init__(self, lower: Array, upper: Array) -> None:
        self.lower, self.upper = lower, upper
        self.width: Array = upper.max(axis=0) - lower.min(axis=0)

    @property
    def all(self) -> NDArray[np.intp]:
        return np.arange(len(self.lower))

    @property
    def middle(self) -> Array:
        return np.clip(0.5 * self.lower + 0.5 * self.upper, self.lower, self.upper)

    def keep(self, chosen: Any) -> None:
        """Drop all others."""
        self.lower, self.upper = self.lower[chosen], self.upper[chosen]

    def split(self, chosen: NDArray[np.intp]) -> None:
        """Both halves in the place of each of these; the others come first."""
        check(self.what)
        lower, upper = self.lower[chosen], self.upper[chosen]
        axis = ((upper - lower) / np.where(self.width > 0, self.width, np.inf)).argmax(axis=1)
        self.keep(np.delete(self.all, chosen))
        second, first = halves(lower, upper, axis)
        self.lower = np.concatenate([self.lower, lower, second])
        self.upper = np.concatenate([self.upper, first, upper])


def halves(lower: Array, upper: Array, axis: NDArray[np.intp]) -> tuple[Array, Array]:
    """Boxes cut in two along an axis each: the lower ends of the second halves, and the upper ends of the first."""
    n = np.arange(len(lower))
    cut = 0.5 * lower[n, axis] + 0.5 * upper[n, axis]
    second, first = lower.copy(), upper.copy()
    second[n, axis] = first[n, axis] = cut
    return second, first
