"""The finite relaxation of a convex model by a solver that the user names: CVXPY's problem, with cuts."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...deadline import check
from ...errors import ModelError
from ...masters.cvxpy import timed
from .affine import LeafLayout
from .canonical import Canonical
from .cuts import ConicCuts
from .interior import ConicAnswer
from .package import cp

Array = NDArray[np.float64]


class ConicMaster:
    """min objective with the finite constraints, cuts kept by a margin, and |x| <= reach if there is one."""

    def __init__(
        self,
        objective: cp.Minimize | cp.Maximize,
        finite: list[Any],
        layout: LeafLayout,
        canonical: Canonical,
        cuts: ConicCuts,
        solver: str,
        options: dict[str, Any],
    ) -> None:
        self.objective, self.finite, self.layout = objective, finite, layout
        self.canonical, self.cuts, self.solver, self.options = canonical, cuts, solver, options
        self.vector = layout.vector()
        # Canonical columns that belong to the user, and an element of the layout for each.
        self.columns, self.elements = np.unique(canonical.place, return_index=True)
        self.elements = self.elements[self.columns < len(canonical.c)]
        self.columns = self.columns[self.columns < len(canonical.c)]
        self.stats: Any = None

    def solve(self, margin: float, reach: float | None) -> ConicAnswer:
        """The relaxation with every cut kept by `margin`."""
        rows = self.cuts.rows[:, self.columns]
        scale = _divisors(rows, self.cuts.rhs)
        cuts = (
            rows.multiply(1 / scale[:, None]).tocsr() @ self.vector[self.elements] <= (self.cuts.rhs - margin) / scale
        )
        box = [self.vector <= reach, self.vector >= -reach] if reach is not None else []
        problem = cp.Problem(self.objective, [*self.finite, cuts, *box])
        check("relaxation")
        limited = timed(str(self.solver).upper(), self.options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # CVXPY doubts some answers; here they are checked anyway
            try:
                problem.solve(solver=self.solver, **limited)
            except (TypeError, ValueError) as error:
                raise ModelError(f"{self.solver} cannot be used with these options: {error}") from error
            except cp.error.SolverError as error:
                if "failed" in str(error):
                    return self._nothing("failed")
                raise ModelError(f"{self.solver} cannot be used for this model: {error}") from error
        self.stats = problem.solver_stats
        if problem.status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
            x = self.layout.values()
            leaning = reach is not None and bool((np.abs(x) >= 0.99 * reach).any())
            dual = np.maximum(np.atleast_1d(cuts.dual_value), 0.0) / scale if len(scale) else np.zeros(0)
            value = float(problem.value) * (-1.0 if isinstance(self.objective, cp.Maximize) else 1.0)
            return ConicAnswer("optimal", self.canonical.lifted(x), np.zeros(0), dual, value, leaning=leaning)
        if problem.status in cp.settings.INF_OR_UNB:
            return self._nothing("unbounded" if "unbounded" in problem.status.split("_or_")[-1] else "infeasible")
        return self._nothing("failed")

    def _nothing(self, status: str) -> ConicAnswer:
        return ConicAnswer(status, np.zeros(len(self.canonical.c) + 1), np.zeros(0), np.zeros(len(self.cuts)))


def _divisors(rows: sparse.csr_matrix, rhs: Array, narrow: float = 1e-3) -> Array:
    """What cuts are divided by: their largest coefficient, or `narrow` times the right-hand side if that is more."""
    size = abs(rows).max(axis=1).toarray().ravel() if rows.shape[0] else np.zeros(0)
    scale = np.maximum(size, narrow * np.abs(rhs))
    return np.where(scale > 0, scale, 1.0)
