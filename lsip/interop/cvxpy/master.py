"""The finite relaxation of a convex model by a solver that the user names: CVXPY's problem, with cuts.

The points and multipliers of proofs come from Clarabel, which is asked once nothing violates a constraint any more.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...deadline import check
from ...errors import ModelError
from ...masters.cvxpy import timed
from ...model.program import Program
from ...model.status import Status
from ...solver.conic import ConicRelaxation
from ...solver.conic_master import ConicAnswer, ConicCuts
from ...solver.options import Options
from ...solver.relaxation import replace_proposal, separate, violation_bounds
from ...solver.state import End, Proposal, State
from .affine import LeafLayout
from .canonical import Canonical
from .package import cp

Array = NDArray[np.float64]
Ints = NDArray[np.intp]


class NamedSolver:
    """min objective with the finite constraints, cuts kept by a margin, and |x| <= reach if there is one."""

    def __init__(
        self,
        objective: cp.Minimize | cp.Maximize,
        finite: list[Any],
        layout: LeafLayout,
        canonical: Canonical,
        solver: str,
        options: dict[str, Any],
    ) -> None:
        self.objective, self.finite, self.layout = objective, finite, layout
        self.canonical, self.solver, self.options = canonical, solver, options
        self.vector = layout.vector()
        self.stats: Any = None

    def solve(self, held: ConicCuts, margin: float, reach: float | None) -> ConicAnswer:
        """The relaxation with every cut kept by `margin`."""
        free = held.form.free
        columns, elements = np.unique(self.canonical.place, return_index=True)  # an element of the layout for each
        mine = np.isin(columns, free)
        rows = held.rows[:, np.searchsorted(free, columns[mine])]
        scale, nothing = _divisors(rows, held.rhs), np.zeros(len(held))
        vector = self.vector[elements[mine]]
        cuts = rows.multiply(1 / scale[:, None]).tocsr() @ vector <= (held.rhs - margin) / scale
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
                    return ConicAnswer("failed", np.zeros(len(free)), np.zeros(0), nothing)
                raise ModelError(f"{self.solver} cannot be used for this model: {error}") from error
        self.stats = problem.solver_stats
        if problem.status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
            x = self.layout.values()
            edge = reach is not None and bool((np.abs(x) >= 0.99 * reach).any())
            dual = np.maximum(np.atleast_1d(cuts.dual_value), 0.0) / scale if len(scale) else np.zeros(0)
            value = float(problem.value) * (-1.0 if isinstance(self.objective, cp.Maximize) else 1.0)
            z = self.canonical.lifted(x)[free]
            return ConicAnswer("optimal", z, np.zeros(0), dual, value, at_artificial_bound=edge)
        status = "failed"
        if problem.status in cp.settings.INF_OR_UNB:
            status = "unbounded" if "unbounded" in problem.status.split("_or_")[-1] else "infeasible"
        return ConicAnswer(status, np.zeros(len(free)), np.zeros(0), nothing)


class NamedRelaxation(ConicRelaxation):
    """The relaxation of a convex model by the solver that the user names."""

    def __init__(self, program: Program, options: Options, boxed: Ints, named: NamedSolver) -> None:
        super().__init__(program, options, boxed=boxed)
        self.named = named
        self.outline = self.outline[0], f", master CVXPY with {named.solver}"

    def propose(self, state: State) -> Proposal | End:
        """As every other; for the last proofs a point and multipliers by Clarabel."""
        if not state.closing:
            return super().propose(state)
        found = self.master.solve(state.margin, self.reach)
        if found.status != "optimal":
            return End(Status.STALLED)
        state.accept(self._proposal(found))
        state.violation = violation_bounds(self, separate(self, state.proposal, state.margin))
        return state.proposal

    def _solve(self, margin: float) -> ConicAnswer:
        self.answer = self.named.solve(self.held, margin, self.reach)
        return self.answer

    def _fit(self, found: ConicAnswer, budget: float, slater: bool, first: bool) -> bool:
        return False

    def confirm(self, state: State, attempts: int = 4) -> bool:
        """Take Clarabel's answer for that of the named solver, if it keeps every index; otherwise cut there."""
        if not super().confirm(state):
            return False
        for _ in range(attempts):  # each in new units
            found = self.master.solve(state.margin, self.reach)
            if found.status != "optimal":
                return False
            moved = self.master.rescale(found)
            self.master.afford(found, self.tuning.inset_share * state.allowed(found.value) * 0.5**state.patience)
            if not moved:
                break
        return replace_proposal(self, state, self._proposal(found))


def _divisors(rows: sparse.csr_matrix, rhs: Array, narrow: float = 1e-3) -> Array:
    """What cuts are divided by: their largest coefficient, or `narrow` times the right-hand side if that is more."""
    size = abs(rows).max(axis=1).toarray().ravel() if rows.shape[0] else np.zeros(0)
    scale = np.maximum(size, narrow * np.abs(rhs))
    return np.where(scale > 0, scale, 1.0)
