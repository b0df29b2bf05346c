"""Mixtures of known points under known rows: a HiGHS program that grows by columns as well as by rows.

    min sum_k theta_k (c . x_k)   with   sum theta = 1, theta >= 0,   a_j . (sum theta_k x_k) - s <= b_j

The elastic column s is fixed at minus the margin that the rows must keep, or set free and minimised.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from .base import Array, FiniteProgram, MasterError
from .elastic import scaled
from .highs import HighsProgram


@dataclass(frozen=True, eq=False)
class Mixture:
    """What one solve says."""

    weights: Array  # (K,), >= 0, of sum one
    multipliers: Array  # (J,), >= 0
    price: float  # the multiplier of sum theta = 1
    slack: float  # the elastic column s


class ColumnMaster:
    """A live model over K points x_k in R^n and J rows a_j x <= b_j."""

    def __init__(self, c: Array, tol: float) -> None:
        self.c, self.points = c, np.zeros((0, len(c)))
        self._rows, self._scale = np.zeros((0, len(c))), np.zeros(0)  # rows are divided by their largest coefficient
        zero, one = np.zeros(1), np.ones(1)
        self._live = HighsProgram(FiniteProgram(zero, zero, zero, sparse.csr_matrix((1, 1)), one, one), tol)

    def add_points(self, x: Array) -> None:
        """Append points x (k, n)."""
        self._live.add_columns(x @ self.c, np.concatenate([np.ones((1, len(x))), self._rows @ x.T]))
        self.points = np.concatenate([self.points, x])

    def add_rows(self, a: Array, b: Array) -> None:
        """Append rows a x - s <= b, with a of shape (j, n)."""
        if not len(a):
            return
        table, right, scale = scaled(a, b)
        self._live.add(np.column_stack([-1.0 / scale, table @ self.points.T]), right)
        self._rows, self._scale = np.concatenate([self._rows, table]), np.concatenate([self._scale, scale])

    def solve(self, margin: float) -> Mixture | None:
        """The best mixture that keeps every row by `margin`; None if there is none."""
        return self._solve(np.append(0.0, self.points @ self.c), -margin, -margin)

    def best_margin(self) -> Mixture:
        """The mixture whose largest a_j x - b_j is as small as can be."""
        found = self._solve(np.eye(1, len(self.points) + 1)[0], -np.inf, np.inf)
        if found is None:
            raise MasterError("HiGHS found no best margin, though there is always one.")
        return found

    def _solve(self, cost: Array, low: float, high: float) -> Mixture | None:
        count = len(self.points)
        self._live.change(cost, (np.append(low, np.zeros(count)), np.append(high, np.full(count, np.inf))))
        found = self._live.solve()
        if found.status != "optimal" or found.x is None or found.multipliers is None:
            return None
        weights, multipliers = np.maximum(found.x[1:], 0.0), np.maximum(found.multipliers[1:] / self._scale, 0.0)
        return Mixture(weights / weights.sum(), multipliers, -float(found.multipliers[0]), float(found.x[0]))
