"""A master for solvers whose tolerances are too coarse: the same LP, seen through a magnifying glass.

With z' = unit z, and with the objective multiplied by `unit` too, an error of the solver is `unit` times smaller in
the LP that was meant. The unit is a power of two, so that nothing is rounded. The exchange needs about 1e-10: at the
1e-9 that Gurobi allows it can stall with a gap of some 1e-8, and at the usual 1e-7 it always does.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .base import Array, Master, MasterFactory, MasterResult, Matrix


def magnified(make: MasterFactory, unit: float) -> MasterFactory:
    """`make`, with a glass of that strength where one is needed."""
    return make if unit == 1.0 else partial(Magnified, make=make, unit=unit)


class Magnified:
    """A master whose model is `unit` times as large as it says."""

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
    ) -> None:
        self.unit, self.c = unit, c
        self.inner: Master = make(unit * c, unit * lower, unit * upper, A, unit * row_lower, unit * row_upper, tol)

    def add(self, rows: Matrix, rhs: Array) -> None:
        self.inner.add(rows, self.unit * rhs)

    def drop(self, keep: NDArray[np.bool_]) -> None:
        self.inner.drop(keep)

    def solve(self, margin: float) -> MasterResult:
        return self._back(self.inner.solve(self.unit * margin), self.unit)

    def centre(self, margin: float) -> Array | None:
        z = self.inner.centre(self.unit * margin)
        return None if z is None else z / self.unit

    def best_margin(self, most: float) -> MasterResult:
        return self._back(self.inner.best_margin(self.unit * most), 1.0)  # the cost of s is 1 whatever the unit

    def _back(self, result: MasterResult, cost: float) -> MasterResult:
        """The result in the units of the LP that was meant; `cost` is by how much its objective was multiplied."""
        z = result.z / self.unit
        return replace(
            result,
            z=z,
            slack=result.slack / self.unit,
            objective=float(self.c @ z) if result.status == "optimal" else result.objective,
            cut_multipliers=result.cut_multipliers / cost,
            row_multipliers=result.row_multipliers / cost,
            reduced_costs=result.reduced_costs / cost,
        )
