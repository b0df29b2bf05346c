"""Boxes: products of intervals, whose index is a vector y."""

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
from .notation import interval, latex_power, power
from .points import constant


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class Box(Domain):
    """The box {y : lower <= y <= upper}, with `lower` and `upper` of shape (m,).

    Ends may be infinite, for constraints that are polynomials in the index: see `lsip.forall`.

    >>> Box([0, 0], [3, 4]).diameter
    5.0
    """

    convex: ClassVar[bool] = True
    filed: ClassVar[Schema] = ([END], [END])

    def __init__(self, lower: ArrayLike, upper: ArrayLike) -> None:
        a, b = constant(lower, "lower", 1, bounded=False), constant(upper, "upper", 1, bounded=False)
        if a.shape != b.shape:
            raise ModelError(f"A box needs `lower` and `upper` of one length; got {len(a)} and {len(b)}.")
        if (a > b).any() or (np.isinf(a) & (a == b)).any():
            j = int(np.argmax((a > b) | (np.isinf(a) & (a == b))))
            raise ModelError(
                f"A box needs lower <= upper; got {a[j]:g} and {b[j]:g} in coordinate {j}, which is empty."
            )
        self._set(lower=a, upper=b)

    @property
    def diameter(self) -> float:
        """The length of the diagonal."""
        return float(np.linalg.norm(self.upper - self.lower))

    @property
    def measure(self) -> tuple[int, float]:
        """The product of the widths that are not zero."""
        width = self.upper - self.lower
        return int((width > 0).sum()), float(np.prod(width[width > 0]))

    def contains(self, y: ArrayLike, tol: float = 1e-9) -> NDArray[np.bool_]:
        """Whether lower <= y <= upper in every coordinate."""
        points = as_points(y, self.dim, finite=False)
        slack = tol * np.maximum(1.0, np.maximum(np.abs(self.lower), np.abs(self.upper)))  # of every axis by itself
        inside: NDArray[np.bool_] = np.all(points >= self.lower - slack, axis=1)
        inside &= np.all(points <= self.upper + slack, axis=1)
        return inside

    def project(self, y: ArrayLike) -> Array:
        """Clip every coordinate."""
        return np.clip(as_points(y, self.dim), self.lower, self.upper)

    def place(self, u: Array) -> Array:
        """Stretch the unit cube to the box."""
        self._refuse_unbounded()
        return np.clip(self.lower + u * (self.upper - self.lower), self.lower, self.upper)

    def support(self, d: ArrayLike) -> tuple[Array, Array]:
        """An end of every side."""
        return box_support(as_points(d, self.dim), self.lower, self.upper)

    def exact_support(self, d: Sequence[Fraction]) -> Fraction | None:
        """The sum of what is largest at the ends of each side."""
        return exact_box_support(d, self.lower, self.upper)

    def witness(self, y: ArrayLike) -> tuple[Array, Array]:
        """The nearest point: clipping rounds nothing."""
        nearest = self.project(y)
        return nearest, nearest.copy()

    def cells(self) -> tuple[Cell, ...]:
        """The box itself."""
        self._refuse_unbounded()
        return (Cell(self.lower[None], self.upper[None], None),)

    def _arguments(self) -> tuple[object, ...]:
        return self.lower, self.upper

    def _sides(self) -> list[str]:
        return [interval(a, b) for a, b in zip(self.lower, self.upper, strict=True)]

    @legibly
    def __str__(self) -> str:
        return power(self._sides())

    def latex(self) -> str:
        """The intervals, times each other."""
        return latex_power([side.replace("∞", r"\infty") for side in self._sides()])
