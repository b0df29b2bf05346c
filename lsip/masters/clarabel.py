"""Programs with second-order cones, solved by Clarabel, which comes with CVXPY."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..deadline import check, left
from ..errors import MissingExtraError, OutOfTime
from .base import Array, Backend, Capabilities, FiniteProgram, FiniteResult, MasterError
from .written import WrittenProgram, optimal

Rows = NDArray[np.intp]


class ClarabelProgram(WrittenProgram):
    """A cone program that Clarabel is given anew; its matrix is written once, as rows and finite sides stay."""

    def __init__(self, program: FiniteProgram, tol: float) -> None:
        super().__init__(program, tol)
        self.clarabel = _package()
        self._form: tuple[Any, list[Any], tuple[Rows, Rows, Rows], Rows] | None = None  # as Clarabel has it
        self._matrix = program.A  # that is written so

    def solve(
        self, *, interior: bool = False, gap: float = 0.0, start: Array | None = None, nodes: int | None = None
    ) -> FiniteResult:
        check("cone program")
        program = self.program
        if self._form is None or self._matrix is not program.A:
            self._form, self._matrix = self._written(program), program.A
        matrix, kinds, (equal, above, below), order = self._form
        high, low = np.isfinite(program.upper), np.isfinite(program.lower)
        sides = [program.row_upper[equal], program.row_upper[above], -program.row_lower[below]]
        right = np.concatenate([*sides, program.upper[high], -program.lower[low], program.row_upper[order]])
        nothing = sparse.csc_matrix((len(program.c), len(program.c)))
        found = self.clarabel.DefaultSolver(nothing, program.c, matrix, right, kinds, self._settings()).solve()
        status = str(found.status)
        if status == "MaxTime":
            raise OutOfTime("Clarabel ran out of time.")
        if status in ("PrimalInfeasible", "AlmostPrimalInfeasible"):
            return FiniteResult("infeasible")
        if status in ("DualInfeasible", "AlmostDualInfeasible"):
            return FiniteResult("unbounded")
        if status not in ("Solved", "AlmostSolved"):
            raise MasterError(f"Clarabel stopped with {status} on a cone program.")
        z, multipliers = np.array(found.z), np.zeros(program.A.shape[0])
        ends = np.cumsum([len(equal), len(above), len(below)])
        multipliers[equal], multipliers[above] = z[: ends[0]], z[ends[0] : ends[1]]
        multipliers[below] -= z[ends[1] : ends[2]]
        multipliers[order] = z[len(z) - len(order) :]
        return optimal(program, np.array(found.x), multipliers)

    def _written(self, program: FiniteProgram) -> tuple[Any, list[Any], tuple[Rows, Rows, Rows], Rows]:
        """The matrix, its cones, the rows that are equalities, have an upper and have a lower side, and those in cones.

        All rows are upper sides there: first those of equalities, then inequalities, then bounds, then cones.
        """
        A: Any = program.A
        row_lower, row_upper = program.row_lower, program.row_upper
        order = np.concatenate([np.zeros(0, dtype=np.intp), *program.cones])
        straight = np.ones(len(row_upper), dtype=bool)
        straight[order] = False
        same = straight & (row_lower == row_upper)
        equal = np.flatnonzero(same)
        above, below = (np.flatnonzero(straight & ~same & np.isfinite(side)) for side in (row_upper, row_lower))
        high, low = np.flatnonzero(np.isfinite(program.upper)), np.flatnonzero(np.isfinite(program.lower))
        chosen = np.concatenate([equal, above, below, order])
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
        kinds += [self.clarabel.SecondOrderConeT(len(rows)) for rows in program.cones]
        return matrix, kinds, (equal, above, below), order

    def _settings(self) -> Any:
        settings = self.clarabel.DefaultSettings()
        settings.verbose = False
        settings.max_threads = 1
        # A small share of the gap, but no more than what interior-point methods can reach.
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = max(1e-3 * self.tol, 1e-11)
        if left() < np.inf:
            settings.time_limit = max(left(), 0.01)  # zero would be no limit
        return settings


CLARABEL = Backend("Clarabel", ClarabelProgram, Capabilities(cones=True))


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
