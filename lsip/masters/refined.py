"""Iterative refinement: the same LP, magnified around a point, where a solver's tolerance is too coarse.

With z = origin + z' / unit, the rows a z <= b are a z' <= unit (b - a origin), and an error of the solver is `unit`
times smaller in the LP that was meant. The rest of b is computed with more digits than a double has, so that it is
rounded once. Multiplied costs sharpen the multipliers in the same way. The unit is a power of two, so that a
magnification around zero rounds nothing.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .base import Array, Bools, Master, MasterFactory, MasterResult, Matrix


class Refined:
    """A master whose model is magnified.

    Parameters
    ----------
    make
        Opens the finite program behind it.
    unit
        How many times it is magnified, a power of two.
    origin
        The point that is looked at; zero if it is not given.
    cost
        By how much the costs are multiplied.
    """

    def __init__(
        self,
        c: Array,
        lower: Array,
        upper: Array,
        A: sparse.csr_matrix,
        row_lower: Array,
        row_upper: Array,
        tol: float,
        *,
        make: MasterFactory,
        unit: float,
        origin: Array | None = None,
        cost: float = 1.0,
    ) -> None:
        self.c, self.unit, self.cost = c, unit, cost
        self.origin = np.clip(np.zeros(len(c)) if origin is None else origin, lower, upper)
        box = unit * (lower - self.origin), unit * (upper - self.origin)
        sides = self._rest(A, row_lower), self._rest(A, row_upper)
        self.inner: Master = make(cost * c, *box, A, *sides, tol)

    def _rest(self, rows: Matrix, side: Array) -> Array:
        """unit (side - rows origin), rounded once."""
        return (self.unit * (side.astype(np.longdouble) - products(rows, self.origin))).astype(float)

    def add(self, rows: Matrix, rhs: Array) -> None:
        self.inner.add(rows, self._rest(rows, rhs))

    def drop(self, keep: Bools) -> None:
        self.inner.drop(keep)

    def solve(self, margin: float) -> MasterResult:
        return self._back(self.inner.solve(self.unit * margin), self.cost)

    def centre(self, margin: float) -> Array | None:
        z = self.inner.centre(self.unit * margin)
        return None if z is None else self.origin + z / self.unit

    def best_margin(self, most: float) -> MasterResult:
        return self._back(self.inner.best_margin(self.unit * most), 1.0)  # the cost of s is always 1

    def _back(self, result: MasterResult, cost: float) -> MasterResult:
        """The result in the units of the LP that was meant."""
        z = self.origin + result.z / self.unit
        return replace(
            result,
            z=z,
            slack=result.slack / self.unit,
            objective=float(self.c @ z) if result.status == "optimal" else result.objective,
            cut_multipliers=result.cut_multipliers / cost,
            row_multipliers=result.row_multipliers / cost,
            reduced_costs=result.reduced_costs / cost,
        )


def products(rows: Matrix, point: Array) -> NDArray[np.longdouble]:
    """`rows` times a point, with more digits than a double has."""
    if isinstance(rows, np.ndarray):
        return (np.asarray(rows, dtype=np.longdouble) * point).sum(axis=1)
    sums = np.zeros(rows.shape[0], dtype=np.longdouble)
    terms = rows.data.astype(np.longdouble) * point[rows.indices]
    np.add.at(sums, np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr)), terms)
    return sums
