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

    def solve(self, c: Array, row_lower: Array, row_upper: Array) -> WholeAnswer | None:
        """The solution for these costs and sides; None without one."""
        check("cone program")
        eye = sparse.eye_array(len(c), format="csr")
        equal = ~self.curved & (row_lower == row_upper)
        above, below = (~self.curved & ~equal & np.isfinite(side) for side in (row_upper, row_lower))
        high, low = np.isfinite(self.upper), np.isfinite(self.lower)
        order = np.concatenate([np.zeros(0, dtype=np.intp), *self.cones])
        parts = [self.A[equal], self.A[above], -self.A[below], eye[high], -eye[low], self.A[order]]
        sides = [row_upper[equal], row_upper[above], -row_lower[below], self.upper[high], -self.lower[low]]
        kinds = [self.clarabel.ZeroConeT(int(equal.sum()))]
        kinds.append(self.clarabel.NonnegativeConeT(int(above.sum() + below.sum() + high.sum() + low.sum())))
        kinds += [self.clarabel.SecondOrderConeT(len(rows)) for rows in self.cones]
        matrix = sparse.csc_matrix(sparse.vstack(parts, format="csc"))
        right = np.concatenate([*sides, row_upper[order]])
        nothing = sparse.csc_matrix((len(c), len(c)))
        found = self.clarabel.DefaultSolver(nothing, c, matrix, right, kinds, self._settings()).solve()
        if str(found.status) == "MaxTime":
            raise OutOfTime("Clarabel ran out of time.")
        if str(found.status) not in ("Solved", "AlmostSolved"):
            return None
        z, multipliers = np.array(found.z), np.zeros(self.A.shape[0])
        ends = np.cumsum([int(equal.sum()), int(above.sum()), int(below.sum())])
        multipliers[equal], multipliers[above] = z[: ends[0]], z[ends[0] : ends[1]]
        multipliers[below] -= z[ends[1] : ends[2]]
        multipliers[order] = z[len(z) - len(order) :]
        return WholeAnswer(np.array(found.x), multipliers)

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
