"""A HiGHS model that grows by columns as well as by rows: convex combinations of known points, under known cuts.

    min sum_k theta_k (c . x_k)   with   sum theta = 1, theta >= 0,   a_j . (sum theta_k x_k) - s <= b_j

The elastic column s is fixed at minus the margin that the rows must keep, or set free and minimised.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray

from .base import MasterError
from .highs import new_highs, run
from .tuning import MASTERS

Array = NDArray[np.float64]
INF = highspy.kHighsInf


@dataclass(frozen=True, eq=False)
class Combination:
    """What one solve says."""

    weights: Array  # (K,), >= 0, of sum one
    multipliers: Array  # (J,), >= 0
    price: float  # the multiplier of sum theta = 1
    slack: float  # the elastic column s


class ColumnMaster:
    """A live model over K points x_k in R^n and J rows a_j x <= b_j."""

    def __init__(self, c: Array, tol: float) -> None:
        self.c = c
        self.points = np.zeros((0, len(c)))
        self.rows = np.zeros((0, len(c)))
        self.rhs = np.zeros(0)
        self._scale = np.zeros(0)
        self._elastic = False
        self._highs: Any = new_highs(tol)
        self._highs.addRow(1.0, 1.0, 0, np.zeros(0, dtype=np.int32), np.zeros(0))
        self._highs.addCol(0.0, 0.0, 0.0, 0, np.zeros(0, dtype=np.int32), np.zeros(0))

    def add_points(self, x: Array) -> None:
        """Append points x (k, n)."""
        for point in x:
            values = np.concatenate([[1.0], self.rows @ point / self._scale])
            index = np.arange(len(values), dtype=np.int32)
            cost = 0.0 if self._elastic else float(self.c @ point)
            self._highs.addCol(cost, 0.0, INF, len(values), index, values)
        self.points = np.concatenate([self.points, x])

    def add_rows(self, a: Array, b: Array) -> None:
        """Append rows a x - s <= b, with a of shape (j, n)."""
        if not len(a):
            return
        scale = np.maximum(np.abs(a).max(axis=1), MASTERS.least_divisor)
        table = np.concatenate([np.full((len(a), 1), -1.0), a @ self.points.T], axis=1) / scale[:, None]
        count, width = table.shape
        starts = np.arange(0, count * width, width, dtype=np.int32)
        index = np.tile(np.arange(width, dtype=np.int32), count)
        self._highs.addRows(count, np.full(count, -INF), b / scale, table.size, starts, index, table.ravel())
        self.rows, self.rhs = np.concatenate([self.rows, a]), np.concatenate([self.rhs, b])
        self._scale = np.concatenate([self._scale, scale])

    def solve(self, margin: float) -> Combination | None:
        """The best combination that keeps every row by `margin`; None if there is none."""
        if self._elastic:
            self._costs(np.concatenate([[0.0], self.points @ self.c]))
            self._elastic = False
        self._highs.changeColBounds(0, -margin, -margin)
        return self._run()

    def best_margin(self) -> Combination:
        """The combination whose largest a_j x - b_j is as small as can be."""
        self._costs(np.eye(1, len(self.points) + 1)[0])
        self._elastic = True
        self._highs.changeColBounds(0, -INF, INF)
        found = self._run()
        if found is None:
            raise MasterError("HiGHS found no best margin, though there is always one.")
        return found

    def _costs(self, costs: Array) -> None:
        self._highs.changeColsCost(len(costs), np.arange(len(costs), dtype=np.int32), costs)

    def _run(self) -> Combination | None:
        h = self._highs
        if not run(h):
            return None
        solution: Any = h.getSolution()
        columns, dual = np.array(solution.col_value), np.array(solution.row_dual)
        weights = np.maximum(columns[1:], 0.0)
        return Combination(
            weights / weights.sum(), np.maximum(-dual[1:] / self._scale, 0.0), float(dual[0]), float(columns[0])
        )
