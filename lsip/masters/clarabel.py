"""Programs with second-order cones, solved by Clarabel."""

from __future__ import annotations

from typing import Any

import clarabel
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..deadline import check, left
from ..errors import OutOfTime
from .base import Backend, Capabilities, FiniteProgram, FiniteResult, MasterError
from .written import Sides, WrittenProgram, optimal

Rows = NDArray[np.intp]


class ClarabelProgram(WrittenProgram):
    """A cone program that Clarabel is given anew; its matrix is written once, as finite sides stay finite."""

    def __init__(self, program: FiniteProgram, tol: float) -> None:
        super().__init__(program, tol)
        self._form, self._matrix = self._written(program), program.A

    def solve(self, **options: object) -> FiniteResult:
        check("cone program")
        program = self.program
        if self._matrix is not program.A:
            self._form, self._matrix = self._written(program), program.A
        matrix, kinds, sides, straight, curved = self._form
        rows = sides.split(program.row_lower[straight], program.row_upper[straight])
        high, low = np.isfinite(program.upper), np.isfinite(program.lower)
        right = np.concatenate([*rows, program.upper[high], -program.lower[low], program.row_upper[curved]])
        nothing = sparse.csc_matrix((len(program.c), len(program.c)))
        found = clarabel.DefaultSolver(nothing, program.c, matrix, right, kinds, self._settings()).solve()
        status = str(found.status)
        if status == "MaxTime":
            raise OutOfTime("Clarabel ran out of time.")
        if status.endswith("Infeasible"):
            return FiniteResult("unbounded" if "Dual" in status else "infeasible")
        if status not in ("Solved", "AlmostSolved"):
            raise MasterError(f"Clarabel stopped with {status} on a cone program.")
        z, multipliers = np.array(found.z), np.zeros(len(program.row_upper))
        multipliers[straight] = sides.multipliers(*np.split(z, np.cumsum([len(side) for side in rows]))[:2])
        multipliers[curved] = z[len(z) - len(curved) :]
        return optimal(program, np.array(found.x), multipliers)

    def _written(self, program: FiniteProgram) -> tuple[Any, list[Any], Sides, Rows, Rows]:
        """The matrix, its cones, the rows that are in none of them, split, and which are in none and in one.

        All rows are upper sides there: first those of equalities, then inequalities, then bounds, then cones.
        """
        curved = np.concatenate([np.zeros(0, dtype=np.intp), *program.cones])
        straight = np.setdiff1d(np.arange(len(program.row_upper)), curved)
        sides = Sides.of(program.A[straight], program.row_lower[straight], program.row_upper[straight])
        unit = sparse.eye_array(len(program.c), format="csr")
        bounds = [unit[np.isfinite(program.upper)], -unit[np.isfinite(program.lower)]]
        matrix = sparse.vstack([sides.equal, sides.upper, *bounds, program.A[curved]], format="csc")
        equal, count = len(sides.value), matrix.shape[0] - len(curved)
        kinds = [clarabel.ZeroConeT(equal), clarabel.NonnegativeConeT(count - equal)]
        kinds += [clarabel.SecondOrderConeT(len(rows)) for rows in program.cones]
        return matrix, kinds, sides, straight, curved

    def _settings(self) -> Any:
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.max_threads = 1
        # A small share of the gap, but no more than what interior-point methods can reach.
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = max(1e-3 * self.tol, 1e-11)
        if left() < np.inf:
            settings.time_limit = max(left(), 0.01)  # zero would be no limit
        return settings


CLARABEL = Backend("Clarabel", ClarabelProgram, Capabilities(cones=True))
