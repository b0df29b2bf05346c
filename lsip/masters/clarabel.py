"""Programs with cones, solved by Clarabel."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import clarabel
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..deadline import check, left
from ..errors import ModelError, OutOfTime
from .base import Array, Backend, Capabilities, ConeBlock, FiniteProgram, FiniteResult, MasterError
from .written import Sides, WrittenProgram, optimal

Rows = NDArray[np.intp]


class ClarabelProgram(WrittenProgram):
    """A cone program that Clarabel is given anew; its matrix is written once, as finite sides stay finite."""

    def __init__(self, program: FiniteProgram, tol: float, options: Mapping[str, Any] | None = None) -> None:
        super().__init__(program, tol)
        self._options = options or {}
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
        for settings in self._settings(), self._settings(regular=1e-6):
            found = clarabel.DefaultSolver(nothing, program.c, matrix, right, kinds, settings).solve()
            status, x, z = str(found.status), np.array(found.x), np.array(found.z)
            if status not in ("NumericalError", "InsufficientProgress"):
                break
        if status == "MaxTime":
            raise OutOfTime("Clarabel ran out of time.")
        if status.endswith("DualInfeasible"):  # then x is a ray
            return FiniteResult("unbounded", x if np.isfinite(x).all() else None)
        multipliers = np.zeros(len(program.row_upper))
        multipliers[straight] = sides.multipliers(*np.split(z, np.cumsum([len(side) for side in rows]))[:2])
        multipliers[curved] = z[len(z) - len(curved) :]
        if status.endswith("Infeasible"):
            return FiniteResult("infeasible", multipliers=multipliers if np.isfinite(multipliers).all() else None)
        early = status not in ("Solved", "AlmostSolved")
        if early and not (np.isfinite(z).all() and _close(x, np.array(found.s), matrix, right)):
            raise MasterError(f"Clarabel stopped with {status} on a cone program.")
        return optimal(program, x, multipliers)

    def _written(self, program: FiniteProgram) -> tuple[Any, list[Any], Sides, Rows, Rows]:
        """The matrix, its cones, the rows that are in none of them, split, and which are in none and in one.

        All rows are upper sides there: first those of equalities, then inequalities, then bounds, then cones.
        """
        curved = np.concatenate([np.zeros(0, dtype=np.intp), *(cone.rows for cone in program.cones)])
        straight = np.setdiff1d(np.arange(len(program.row_upper)), curved)
        sides = Sides.of(program.A[straight], program.row_lower[straight], program.row_upper[straight])
        unit = sparse.eye_array(len(program.c), format="csr")
        bounds = [unit[np.isfinite(program.upper)], -unit[np.isfinite(program.lower)]]
        matrix = sparse.vstack([sides.equal, sides.upper, *bounds, program.A[curved]], format="csc")
        equal, count = len(sides.value), matrix.shape[0] - len(curved)
        kinds = [clarabel.ZeroConeT(equal), clarabel.NonnegativeConeT(count - equal), *map(_cone, program.cones)]
        return matrix, kinds, sides, straight, curved

    def _settings(self, regular: float | None = None) -> Any:
        settings = clarabel.DefaultSettings()
        if regular is not None:
            settings.static_regularization_constant = regular
        settings.verbose = False
        settings.max_threads = 1
        # A small share of the gap, but no more than what interior-point methods can reach.
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = max(1e-3 * self.tol, 1e-11)
        for name, value in self._options.items():
            try:
                setattr(settings, name, value)
            except (AttributeError, TypeError, ValueError, OverflowError) as error:
                raise ModelError(f"CLARABEL cannot be used with these options: {name}={value!r}: {error}") from error
        if left() < np.inf:
            settings.time_limit = min(settings.time_limit, max(left(), 0.01))  # zero would be no limit
        return settings


def _close(x: Array, s: Array, matrix: sparse.csc_matrix, right: Array, most: float = 1e-5) -> bool:
    """Whether a point is worth a look: its rows miss slacks s by no more than `most`, in units of its own size."""
    missed = np.abs(matrix @ x + s - right).max(initial=0.0)
    return bool(missed <= most * (1 + float(np.abs(x).max(initial=0.0))))


def _cone(block: ConeBlock) -> Any:
    """A cone in Clarabel's words."""
    size = len(block.rows)
    match block.kind:
        case "semidefinite":
            return clarabel.PSDTriangleConeT(int(np.sqrt(2 * size)))
        case "exponential":
            return clarabel.ExponentialConeT()
        case "power" if size == 3:
            return clarabel.PowerConeT(block.exponents[0])
        case "power":
            return clarabel.GenPowerConeT(list(block.exponents), 1)
    return clarabel.SecondOrderConeT(size)


def backend(options: Mapping[str, Any] | None = None) -> Backend:
    """Clarabel, with options in its own words."""
    return Backend("Clarabel", partial(ClarabelProgram, options=options), Capabilities(cones=True))


CLARABEL = backend()
