"""A linear program that is solved as a whole, and again with other costs and sides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import highspy
import numpy as np
from scipy import sparse

from ..errors import OutOfTime
from .base import Array
from .highs import new_highs, timed_run
from .tuning import MASTERS


@dataclass(frozen=True, eq=False)
class WholeAnswer:
    """A point, and multipliers of the rows: positive where their upper side holds it, negative for the lower one."""

    x: Array
    multipliers: Array


class Whole(Protocol):
    """A program with other costs and sides at every solve."""

    def solve(self, c: Array, row_lower: Array, row_upper: Array) -> WholeAnswer | None:
        """The solution for these costs and sides; None without one."""


class WholeProgram:
    """Minimise c x where row_lower <= A x <= row_upper and lower <= x <= upper.

    Parameters
    ----------
    lower, upper, A
        What stays: bounds of variables, and the rows.
    tol
        The gap that is to be reached, relative to the value.
    inside
        Whether it is begun from the inside however small it is.
    """

    def __init__(self, lower: Array, upper: Array, A: sparse.csr_array, tol: float, inside: bool = False) -> None:
        self._highs, (self.rows, self.columns) = new_highs(tol), A.shape
        self._inside = inside or self.rows > MASTERS.simplex_rows
        self._fixed, self._sides = (lower, upper, A), (np.zeros(0), np.zeros(0))

    def solve(self, c: Array, row_lower: Array, row_upper: Array) -> WholeAnswer | None:
        """The solution for these costs and sides; None without one.

        At first, large programs are solved from the inside, which is slower for small ones; then from the last one.
        """
        h, begun = self._highs, bool(len(self._sides[0]))
        if begun:
            h.changeColsCost(self.columns, np.arange(self.columns, dtype=np.int32), c)
            changed = np.flatnonzero((row_lower != self._sides[0]) | (row_upper != self._sides[1]))
            for row, *sides in zip(changed.tolist(), row_lower[changed], row_upper[changed], strict=True):
                h.changeRowBounds(row, *sides)  # all at once only since highspy 1.13
        else:
            self._open(c, row_lower, row_upper)
        self._sides = row_lower, row_upper
        first = self._inside and not begun
        ways = (("ipm", "on"), ("simplex", "choose")) if first else (("simplex", "off"), ("ipm", "on"))
        return self._run(*ways[0]) or self._run(*ways[1])

    def _open(self, c: Array, row_lower: Array, row_upper: Array) -> None:
        """Give HiGHS the whole of it."""
        lower, upper, A = self._fixed
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = self.columns, self.rows
        lp.col_cost_, lp.col_lower_, lp.col_upper_ = c, lower, upper
        lp.row_lower_, lp.row_upper_ = row_lower, row_upper
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = A.indptr, A.indices, A.data
        self._highs.passModel(lp)

    def _run(self, solver: str, presolve: str) -> WholeAnswer | None:
        h = self._highs
        h.setOptionValue("solver", solver)
        h.setOptionValue("presolve", presolve)
        status = timed_run(h)
        if status == highspy.HighsModelStatus.kTimeLimit:
            raise OutOfTime("HiGHS ran out of time.")
        if status != highspy.HighsModelStatus.kOptimal:
            return None
        found: Any = h.getSolution()
        return WholeAnswer(np.array(found.col_value), -np.array(found.row_dual))
