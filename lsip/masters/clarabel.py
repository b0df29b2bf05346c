"""A program with second-order cones, solved as a whole by Clarabel, which comes with CVXPY."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..deadline import check, left
from ..errors import MissingExtraError, OutOfTime
from .base import Array
from .tuning import MASTERS
from .whole import WholeAnswer

Rows = NDArray[np.intp]


class ConeProgram:
    """Minimise c x where row_lower <= A x <= row_upper, lower <= x <= upper, and some slacks are in second-order cones.

    Parameters
    ----------
    lower, upper, A
        What stays: bounds of variables, and the rows.
    cones
        The rows of each cone: row_upper - A x = (t, u) with t >= |u|.
    tol
        The gap that is to be reached, relative to the value.
    """

    def __init__(
        self, lower: Array, upper: Array, A: sparse.csr_array, cones: Sequence[NDArray[np.intp]], tol: float
    ) -> None:
        self.clarabel = _package()
        self.lower, self.upper, self.A, self.cones, self.tol = lower, upper, sparse.csr_array(A), cones, tol
        self.curved = np.zeros(A.shape[0], dtype=bool)
        self.curved[np.concatenate([np.zeros(0, dtype=np.intp), *cones])] = True
        self._form: tuple[Any, list[Any], tuple[Rows, Rows, Rows], Rows] | None = None  # as Clarabel has it

    def solve(self, c: Array, row_lower: Array, row_upper: Array) -> WholeAnswer | None:
        """The solution for these costs and sides, as finite and as equal as those before; None without one."""
        check("cone program")
        if self._form is None:
            self._form = self._written(row_lower, row_upper)
        matrix, kinds, (equal, above, below), order = self._form
        high, low = np.isfinite(self.upper), np.isfinite(self.lower)
        sides = [row_upper[equal], row_upper[above], -row_lower[below], self.upper[high], -self.lower[low]]
        right = np.concatenate([*sides, row_upper[order]])
        nothing = sparse.csc_matrix((len(c), len(c)))
        found = self.clarabel.DefaultSolver(nothing, c, matrix, right, kinds, self._settings()).solve()
        if str(found.status) == "MaxTime":
            raise OutOfTime("Clarabel ran out of time.")
        if str(found.status) not in ("Solved", "AlmostSolved"):
            return None
        z, multipliers = np.array(found.z), np.zeros(self.A.shape[0])
        ends = np.cumsum([len(equal), len(above), len(below)])
        multipliers[equal], multipliers[above] = z[: ends[0]], z[ends[0] : ends[1]]
        multipliers[below] -= z[ends[1] : ends[2]]
        multipliers[order] = z[len(z) - len(order) :]
        return WholeAnswer(np.array(found.x), multipliers)

    def _written(self, row_lower: Array, row_upper: Array) -> tuple[Any, list[Any], tuple[Rows, Rows, Rows], Rows]:
        """The matrix, its cones, the rows that are equalities, have an upper and have a lower side, and those in cones.

        All rows are upper sides there: first those of equalities, then inequalities, then bounds, then cones.
        """
        same = ~self.curved & (row_lower == row_upper)
        equal = np.flatnonzero(same)
        above, below = (np.flatnonzero(~self.curved & ~same & np.isfinite(side)) for side in (row_upper, row_lower))
        high, low = np.flatnonzero(np.isfinite(self.upper)), np.flatnonzero(np.isfinite(self.lower))
        order = np.concatenate([np.zeros(0, dtype=np.intp), *self.cones])
        A, chosen = self.A, np.concatenate([equal, above, below, order])
        bounds = len(high) + len(low)
        head = len(chosen) - len(order)
        # One pass over the entries: where each row of A goes, and with which sign.
        counts = np.diff(A.indptr)[chosen]
        entry = np.repeat(A.indptr[:-1][chosen] - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        place = np.concatenate([np.arange(head), np.arange(head + bounds, head + bounds + len(order))])
        sign = np.ones(len(chosen))
        sign[len(equal) + len(above) : head] = -1.0
        data = [A.data[entry] * np.repeat(sign, counts), np.ones(len(high)), -np.ones(len(low))]
        row = [np.repeat(place, counts), np.arange(head, head + bounds)]
        column = [A.indices[entry], high, low]
        matrix = sparse.csc_matrix(
            (np.concatenate(data), (np.concatenate(row), np.concatenate(column))),
            shape=(len(chosen) + bounds, A.shape[1]),
        )
        kinds = [self.clarabel.ZeroConeT(len(equal)), self.clarabel.NonnegativeConeT(head - len(equal) + bounds)]
        kinds += [self.clarabel.SecondOrderConeT(len(rows)) for rows in self.cones]
        return matrix, kinds, (equal, above, below), order

    def _settings(self) -> Any:
        settings = self.clarabel.DefaultSettings()
        settings.verbose = False
        settings.max_threads = 1
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = max(
            MASTERS.cone_share * self.tol, MASTERS.cone_accuracy
        )
        if left() < np.inf:
            settings.time_limit = max(left(), MASTERS.least_seconds)
        return settings


def available() -> bool:
    """Whether Clarabel is installed."""
    return find_spec("clarabel") is not None


def _package() -> Any:
    try:
        import clarabel
    except ImportError:
        raise MissingExtraError(
            "Counterparts over balls and ellipsoids are second-order cone programs, which Clarabel solves: "
            "pip install 'lsip[cvxpy]'. Without it, solve(method=lsip.Exchange()) needs nothing."
        ) from None
    return clarabel
