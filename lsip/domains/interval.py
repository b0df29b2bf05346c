"""Intervals [a, b]: the usual index set, whose index is a number t."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ModelError
from ..legible import legibly
from ..schema import Schema
from .base import END, Array, Cell, Domain, as_points, box_support, exact_box_support
from .notation import interval
from .points import constant


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class Interval(Domain):
    """The interval [lower, upper]; an end may be infinite, for constraints that are polynomials in the index.

    >>> Interval(0, 1).grid(3).ravel()
    array([0. , 0.5, 1. ])
    """

    scalar: ClassVar[bool] = True
    convex: ClassVar[bool] = True
    filed: ClassVar[Schema] = (END, END)

    def __init__(self, lower: float, upper: float) -> None:
        a, b = constant(lower, "lower", 0, bounded=False), constant(upper, "upper", 0, bounded=False)
        if a > b or (np.isinf(a) and a == b):
            raise ModelError(f"An interval needs lower <= upper; got Interval({lower}, {upper}), which is empty.")
        self._set(lower=constant([a], "lower", 1, bounded=False), upper=constant([b], "upper", 1, bounded=False))

    @property
    def diameter(self) -> float:
        """The length."""
        return float(self.upper[0] - self.lower[0])

    @property
    def measure(self) -> tuple[int, float]:
        """The length, or one point when lower == upper."""
        return (1, self.diameter) if self.diameter > 0 else (0, 1.0)

    def contains(self, y: ArrayLike, tol: float = 1e-9) -> NDArray[np.bool_]:
        """Whether lower <= y <= upper."""
        t = as_points(y, 1, finite=False)[:, 0]
        slack = self._slack(tol)
        inside: NDArray[np.bool_] = (t >= self.lower[0] - slack) & (t <= self.upper[0] + slack)
        return inside

    def project(self, y: ArrayLike) -> Array:
        """Clip to the interval."""
        return np.clip(as_points(y, 1), self.lower, self.upper)

    def place(self, u: Array) -> Array:
        """Stretch [0, 1] to the interval."""
        self._refuse_unbounded()
        return np.clip(self.lower + u * (self.upper - self.lower), self.lower, self.upper)

    def support(self, d: ArrayLike) -> tuple[Array, Array]:
        """One of the ends."""
        return box_support(as_points(d, 1), self.lower, self.upper)

    def exact_support(self, d: Sequence[Fraction]) -> Fraction | None:
        """What is largest at an end."""
        return exact_box_support(d, self.lower, self.upper)

    def witness(self, y: ArrayLike) -> tuple[Array, Array]:
        """The nearest point: clipping rounds nothing."""
        nearest = self.project(y)
        return nearest, nearest.copy()

    def cells(self) -> tuple[Cell, ...]:
        """The interval itself."""
        self._refuse_unbounded()
        return (Cell(self.lower[None], self.upper[None], None),)

    def _arguments(self) -> tuple[object, ...]:
        return float(self.lower[0]), float(self.upper[0])

    @legibly
    def __str__(self) -> str:
        return interval(self.lower[0], self.upper[0])

    def latex(self) -> str:
        """The interval in brackets."""
        return interval(self.lower[0], self.upper[0]).replace("∞", r"\infty")
