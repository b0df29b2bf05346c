"""What a proof needs to know of a cone: whether whole boxes lie in it, or in its dual."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from ..expressions.functions import FUNCTIONS
from ..expressions.interval import Interval

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Cone(Protocol):
    """A closed convex cone with interior, and its dual: all y with y s >= 0 for every s in the cone.

    All methods take k points or boxes at once, as arrays (k, size).
    """

    kind: ClassVar[str]  # as back ends know it

    @property
    def exponents(self) -> tuple[float, ...]:
        """Of a power cone; none of others."""

    @property
    def size(self) -> int:
        """How many numbers a point has."""

    def centre(self) -> Array:
        """(size,), a point well inside of both the cone and its dual."""

    def contains(self, s: Interval) -> Mask:
        """Whether every point of a box is proven to lie in the cone."""

    def dual_contains(self, y: Interval) -> Mask:
        """Whether every point of a box is proven to lie in the dual cone."""

    def shortfall(self, s: Array) -> Array:
        """How much of the centre has to be added for s to lie in the cone, measured; below zero inside."""

    def dual_shortfall(self, y: Array) -> Array:
        """How much of the centre has to be added for y to lie in the dual cone, measured; below zero inside."""


def enclosed(function: str, u: Interval) -> Interval:
    """An elementary function of an interval, outward rounded by the error that it declares."""
    return FUNCTIONS[function](u)


def crossing(inside: Callable[[Array], Mask], reach: Array, *, halvings: int = 60, close: float = 1e-2) -> Array:
    """The least t in [-reach, reach], k of them at once, with `inside(t)`, which holds from there on.

    The stretch is halved until t is known to within `close`, relative to itself, and so many times at most.
    """
    low, high = -reach, reach.copy()
    for _ in range(halvings):
        if (high - low <= close * np.abs(high)).all():
            break
        middle = 0.5 * (low + high)
        held = inside(middle)
        low, high = np.where(held, low, middle), np.where(held, middle, high)
    return high
