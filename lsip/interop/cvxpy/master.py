"""The finite relaxation of a convex model: the user's CVXPY problem with cuts, and any solver that CVXPY knows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...errors import ModelError
from .affine import Layout
from .package import cp

Array = NDArray[np.float64]
DEFAULT = "CLARABEL"  # an interior-point solver for all cones; it comes with CVXPY
ACCURATE = {"tol_gap_abs": 1e-9, "tol_gap_rel": 1e-9, "tol_feas": 1e-9, "accept_unknown": True}


@dataclass(frozen=True, eq=False)
class Relaxed:
    """What one solve says."""

    status: str  # "optimal", "infeasible", "unbounded", or "failed"
    x: Array  # (n,), the user's variables
    multipliers: Array  # (cuts,), >= 0
    slack: float = 0.0
    leaning: bool = False  # whether x touches the box


class Master:
    """min objective with the finite constraints, rows x <= rhs - margin, and |x| <= box if there is one."""

    def __init__(self, objective: Any, finite: list[Any], layout: Layout, solver: Any, options: dict[str, Any]) -> None:
        self.objective, self.finite, self.layout = objective, finite, layout
        self.vector = layout.vector()
        self.solver = solver or DEFAULT
        self.options = (ACCURATE if self.solver == DEFAULT else {}) | options
        n = layout.whole.size
        self.rows, self.rhs, self.scale = np.zeros((0, n)), np.zeros(0), np.zeros(0)
        self.box: float | None = None
        self.stats: Any = None

    def add(self, rows: Array, rhs: Array) -> None:
        """Append cuts; each is divided by its largest coefficient, or by less where that would blow up its rhs."""
        scale = np.maximum(np.abs(rows).max(axis=1, initial=0.0), np.maximum(1e-3 * np.abs(rhs), 1e-8))
        self.rows = np.concatenate([self.rows, rows / scale[:, None]])
        self.rhs, self.scale = np.concatenate([self.rhs, rhs / scale]), np.concatenate([self.scale, scale])

    def drop(self, keep: NDArray[np.bool_]) -> None:
        """Keep only these cuts."""
        self.rows, self.rhs, self.scale = self.rows[keep], self.rhs[keep], self.scale[keep]

    def solve(self, margin: float) -> Relaxed:
        """The relaxation with every cut kept by `margin`."""
        cuts = sparse.csr_array(self.rows) @ self.vector <= self.rhs - margin / self.scale
        return self._run(self.objective, [*self.finite, cuts], cuts)

    def best_margin(self, most: float) -> Relaxed:
        """Minimise by how much cuts are violated at worst, down to -most."""
        slack = cp.Variable()
        cuts = sparse.csr_array(self.rows) @ self.vector - slack * (1 / self.scale) <= self.rhs
        found = self._run(cp.Minimize(slack), [*self.finite, cuts, slack >= -most], cuts)
        value = float(slack.value) if slack.value is not None else np.inf
        return Relaxed(found.status, found.x, found.multipliers, value, found.leaning)

    def _run(self, objective: Any, constraints: list[Any], cuts: Any) -> Relaxed:
        box = [self.vector <= self.box, self.vector >= -self.box] if self.box is not None else []
        problem = cp.Problem(objective, [*constraints, *box])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # CVXPY doubts some answers; here they are checked anyway
            try:
                problem.solve(solver=self.solver, **self.options)
            except (TypeError, ValueError) as error:
                raise ModelError(f"{self.solver} cannot be used with these options: {error}") from error
            except cp.error.SolverError as error:
                if "failed" in str(error):
                    return self._nothing("failed")
                raise ModelError(f"{self.solver} cannot be used for this model: {error}") from error
        self.stats = problem.solver_stats
        if problem.status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
            x = self.layout.values()
            leaning = self.box is not None and bool((np.abs(x) >= 0.99 * self.box).any())
            dual = np.maximum(np.atleast_1d(cuts.dual_value), 0.0) / self.scale if len(self.rhs) else np.zeros(0)
            return Relaxed("optimal", x, dual, leaning=leaning)
        if problem.status in cp.settings.INF_OR_UNB:
            return self._nothing("unbounded" if "unbounded" in problem.status.split("_or_")[-1] else "infeasible")
        return self._nothing("failed")

    def _nothing(self, status: str) -> Relaxed:
        return Relaxed(status, np.zeros(self.layout.whole.size), np.zeros(len(self.rhs)), np.inf)
