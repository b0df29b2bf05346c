"""Rows that are functions: values at points, and enclosures where Lipschitz constants are given."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..domains import Cell, Domain
from ..errors import ModelError
from ..expressions.chart import CellChart
from ..expressions.graph import Index
from ..expressions.interval import Interval, down, up
from ..expressions.jets import tetrahedron, triangle
from ..expressions.parameter import Values
from ..expressions.quadratics import Quadratic
from ..expressions.ring import Polynomial
from ..oracles.attained import discrete_points
from ..oracles.base import Array, Enclosure, Ints, Pieces
from ..validation import numbers
from ..workers import Shipped, spread
from .legend import Legend


@dataclass(frozen=True)
class ComparisonTuning:
    """How functions are compared with others, or with formulas.

    Parameters
    ----------
    points
        At how many points, spread evenly.
    agreement
        How closely both agree, relative to the size of each coefficient; rules of Pyomo models are held to it, too.
    """

    points: int = 32
    agreement: float = 1e-9


COMPARISON = ComparisonTuning()


class BlackBoxRows:
    """One row of n coefficients: a(y) and b(y) for many points y at once.

    The constants (L_a, L_b) are for coefficients and right-hand sides, in the sup norm; None where nothing is known.
    """

    differentiable = False
    linear = None

    def __init__(
        self,
        legend: Legend,
        domain: Domain,
        a: Callable[[Array], Any],
        b: Callable[[Array], Any],
        n: int,
        lipschitz: tuple[float, float] | None,
    ) -> None:
        self.legend, self.domain, self.a, self.b, self.shape = legend, domain, a, b, (1, n)
        self.lipschitz, self.enclosable = lipschitz, lipschitz is not None
        self.data_key: Hashable = ()
        self._shipped: Shipped | None = None  # itself, to workers

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_shipped": None}

    def bound(self, values: Values) -> Self:
        """Itself: functions have no parameters."""
        return self

    def identity(self) -> Iterator[object]:
        """The constants, and values at some points."""
        yield self.lipschitz, *self.rows(self.domain.spread(COMPARISON.points))

    def rows(self, y: Array) -> tuple[Array, Array]:
        """Coefficients and right-hand sides; workers, if there are any, get some points each.

        How many points are in a part depends on how many there are, and not on who is there to work on them: functions
        may round otherwise where they are called with other points beside them.
        """
        size = int(np.ceil(np.sqrt(len(y))))
        found = spread(self._shipment, [y[start : start + size] for start in range(0, len(y), max(size, 1))])
        if found is None:
            return self._rows(y)
        a, b = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return a, b

    def _shipment(self) -> Shipped:
        if self._shipped is None:
            self._shipped = Shipped(self._rows)
        return self._shipped

    def _rows(self, y: Array) -> tuple[Array, Array]:
        n = self.shape[1]
        a = self.a(y)
        a = numbers(a.toarray() if sparse.issparse(a) else a, "`a(y)`", nan=True)
        b = numbers(self.b(y), "`b(y)`", nan=True)
        if a.shape != (len(y), n):
            raise ModelError(
                f"`a(y)` must give one coefficient per variable, shape ({len(y)}, {n}); got {a.shape} for y of "
                f"shape {y.shape}."
            )
        if b.shape != (len(y),):
            raise ModelError(
                f"`b(y)` must give one number per point, shape ({len(y)},); got {b.shape} for y of shape {y.shape}."
            )
        if not (np.isfinite(a).all() and np.isfinite(b).all()):
            bad = y[int(np.argmin(np.isfinite(a).all(axis=1) & np.isfinite(b)))]
            raise ModelError(
                f"{self.legend.name} is not finite at y = {bad}. Restrict the domain or mend the function."
            )
        return a[:, None, :], b[:, None]

    def chosen(self, y: Array, component: Ints) -> tuple[Array, Array]:
        a, b = self.rows(y)
        return a[:, 0], b[:, 0]

    def chosen_derivatives(self, y: Array, component: Ints) -> None:
        """Not known of functions."""

    def polynomial(self, component: int, weights: Array) -> Polynomial | None:
        """Not known of functions."""
        return None

    def trusts(self, domain: Domain) -> tuple[str, ...]:
        """The Lipschitz constants between points; at points, the functions are the model."""
        if discrete_points(domain) is not None:  # every point is tried, and there is nothing between them
            return ()
        return (f"the Lipschitz constants given for {' '.join(self.legend.name.split())} are right",)

    def enclosed(self, lower: Array, upper: Array, component: Ints) -> Interval:
        """The functions are taken at their word: points, not intervals, but for the Lipschitz constants over a box."""
        y = np.clip(0.5 * lower + 0.5 * upper, lower, upper)
        table = np.column_stack(self.chosen(y, component))
        width = up(np.maximum(upper - y, y - lower).max(axis=1, initial=0.0)) * (upper > lower).any(axis=1)
        if not width.any():
            return Interval.point(table)
        with np.errstate(invalid="ignore"):
            reach = np.where(width[:, None] > 0, up(self._slopes * width[:, None]), 0.0)
        return Interval(down(table - reach), up(table + reach))

    @property
    def _slopes(self) -> Array:
        """(n + 1,), the constants of all numbers."""
        l_a, l_b = self.lipschitz or (np.inf, np.inf)
        return np.append(np.full(self.shape[1], l_a), l_b)

    def quadratics(self, cell: Cell) -> Enclosure:
        """Constants at the centre, with the Lipschitz constants as error."""
        chart = CellChart(cell, (Index("y", self.domain),))
        sides = chart.sides

        def enclose(
            lower: Array, upper: Array, pieces: Pieces, order: int
        ) -> tuple[Quadratic, Quadratic | None, NDArray[np.bool_] | None]:
            cut = None if sides is None else sides.quadratics(lower, upper)[0]
            m, width = lower.shape[1], 0.5 * (upper - lower).T[:, :, None]
            lower, upper = chart.enclosed(lower, upper)
            # A Lipschitz bound needs the value at a point of the domain; the centre of a box may lie outside.
            # A point of a finite set is where it is, however near to others.
            centre = np.where((lower == upper).all(axis=1)[:, None], lower, self.domain.project(0.5 * (lower + upper)))
            reach = np.maximum(upper - centre, centre - lower).max(axis=1, keepdims=True)
            value, slope = np.column_stack(self.chosen(centre, np.zeros(len(centre), dtype=np.intp))), self._slopes
            n, k = value.shape
            bends = np.zeros((len(triangle(m)[0]), n, k))
            cubic = np.zeros((len(tetrahedron(m)[0]) if order == 3 else 0, n, k))
            flat = Quadratic(value, np.zeros((m, n, k)), bends, cubic, width * slope, reach * slope * (1 + 1e-15))
            return flat, cut, None

        return enclose
