"""A master that looks at a neighbourhood: what an LP solver takes for zero becomes visible around its last point.

With z = origin + z' / unit, the rows a z <= b are a z' <= unit (b - a origin), and an error of the solver is `unit`
times smaller in the LP that was meant. What is left of b is computed with more digits than a double has, so that it is
right to the last of its own. Multipliers stay what they are.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .base import Array, Master, MasterFactory, MasterResult, Matrix, is_sparse


class Zoomed:
    """A master whose model is `unit` times as large as it says, and has its origin elsewhere.

    Parameters
    ----------
    make
        Opens the finite program behind it.
    origin, unit
        The point that is looked at, and how many times it is magnified, a power of two.
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
        origin: Array,
        unit: float,
    ) -> None:
        self.c, self.origin, self.unit = c, np.clip(origin, lower, upper), unit
        self.inner: Master = make(
            c,
            unit * (lower - self.origin),
            unit * (upper - self.origin),
            A,
            self._left(A, row_lower),
            self._left(A, row_upper),
            tol,
        )

    def _left(self, rows: Matrix, side: Array) -> Array:
        """unit (side - rows origin), rounded once."""
        return (self.unit * (side.astype(np.longdouble) - products(rows, self.origin))).astype(float)

    def add(self, rows: Matrix, rhs: Array) -> None:
        self.inner.add(rows, self._left(rows, rhs))

    def drop(self, keep: NDArray[np.bool_]) -> None:
        self.inner.drop(keep)

    def solve(self, margin: float) -> MasterResult:
        return self._back(self.inner.solve(self.unit * margin))

    def centre(self, margin: float) -> Array | None:
        z = self.inner.centre(self.unit * margin)
        return None if z is None else self.origin + z / self.unit

    def best_margin(self, most: float) -> MasterResult:
        return self._back(self.inner.best_margin(self.unit * most))

    def _back(self, result: MasterResult) -> MasterResult:
        z = self.origin + result.z / self.unit
        objective = float(self.c @ z) if result.status == "optimal" else result.objective
        return replace(result, z=z, slack=result.slack / self.unit, objective=objective)


def products(rows: Matrix, point: Array) -> NDArray[np.longdouble]:
    """`rows` times a point, with more digits than a double has."""
    if not is_sparse(rows):
        return (np.asarray(rows, dtype=np.longdouble) * point).sum(axis=1)
    sums = np.zeros(rows.shape[0], dtype=np.longdouble)
    terms = rows.data.astype(np.longdouble) * point[rows.indices]
    np.add.at(sums, np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr)), terms)
    return sums
