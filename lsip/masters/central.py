"""A linear program that is solved as a whole: from the inside, for multipliers that are all positive, and accurately.

An interior point method that stops early leaves multipliers far from zero, which say where solutions must lie; one that
goes on to the end finds the solution.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np
from scipy import sparse

from ..errors import OutOfTime
from .base import Array
from .highs import new_highs, timed_run


@dataclass(frozen=True)
class CentralTuning:
    """How far interior point methods go.

    Parameters
    ----------
    early
        The relative gap at which multipliers are still far from zero.
    late
        The relative gap of a solution.
    close
        Residuals at which an answer that the solver doubts is used; it is proven anyway.
    """

    early: float = 1e-3
    late: float = 1e-11
    close: float = 1e-7


TUNING = CentralTuning()


@dataclass(frozen=True, eq=False)
class Answer:
    """A point, and multipliers of the rows: positive where their upper side holds it, negative for the lower one."""

    x: Array
    multipliers: Array


class WholeProgram:
    """Minimise c x where row_lower <= A x <= row_upper and lower <= x <= upper."""

    def __init__(
        self, c: Array, lower: Array, upper: Array, A: sparse.csr_array, row_lower: Array, row_upper: Array, tol: float
    ) -> None:
        self._highs, self.rows = new_highs(tol), A.shape[0]
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = len(c), A.shape[0]
        lp.col_cost_, lp.col_lower_, lp.col_upper_ = c, lower, upper
        lp.row_lower_, lp.row_upper_ = row_lower, row_upper
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = A.indptr, A.indices, A.data
        self._highs.passModel(lp)

    def sides(self, row_lower: Array, row_upper: Array) -> None:
        """Change both sides of all rows."""
        self._highs.changeRowsBounds(self.rows, np.arange(self.rows, dtype=np.int32), row_lower, row_upper)

    def inside(self) -> Answer | None:
        """A point and multipliers inside, with a gap that is still wide; None if there are none."""
        return self._run(presolve="off", run_crossover="off", ipm_optimality_tolerance=TUNING.early)

    def solve(self) -> Answer | None:
        """The solution; None if there is none."""
        return self._run(presolve="on", run_crossover="on", ipm_optimality_tolerance=TUNING.late)

    def _run(self, **options: Any) -> Answer | None:
        h = self._highs
        for key, value in {"solver": "ipm", **options}.items():
            h.setOptionValue(key, value)
        h.clearSolver()
        status, info = timed_run(h), h.getInfo()
        if status == highspy.HighsModelStatus.kTimeLimit:
            raise OutOfTime("HiGHS ran out of time.")
        found: Any = h.getSolution()
        answer = Answer(np.array(found.col_value), -np.array(found.row_dual))
        known = status in (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kUnknown)
        close = max(info.max_primal_infeasibility, info.max_dual_infeasibility) <= TUNING.close
        usable = len(answer.x) > 0 and np.isfinite(answer.x).all() and np.isfinite(answer.multipliers).all()
        return answer if known and usable and (close or options["presolve"] == "off") else None
