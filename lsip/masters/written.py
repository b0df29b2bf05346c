"""Programs that Python keeps, for solvers that are given them anew or in another form; rows split into their sides."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from .base import Array, Bools, FiniteProgram, FiniteResult, Matrix, Pair
from .highs import HighsProgram


class WrittenProgram:
    """The data of a program, with its changes; a back end adds `solve`."""

    def __init__(self, program: FiniteProgram, tol: float) -> None:
        self.tol, self._opened = tol, program
        self._added: list[tuple[sparse.csr_matrix, Array]] = []

    @property
    def program(self) -> FiniteProgram:
        """The program as it stands."""
        opened = self._opened
        if not self._added:
            return opened
        rows, sides = zip(*self._added, strict=True)
        right = np.concatenate(sides)
        return replace(
            opened,
            A=sparse.csr_matrix(sparse.vstack([opened.A, *rows], format="csr")),
            row_lower=np.concatenate([opened.row_lower, np.full(len(right), -np.inf)]),
            row_upper=np.concatenate([opened.row_upper, right]),
        )

    def add(self, rows: Matrix, rhs: Array) -> None:
        """Append rows `rows x <= rhs`."""
        if len(rhs):
            self._added.append((sparse.csr_matrix(rows), rhs))

    def drop(self, keep: Bools) -> None:
        """Keep only these of the rows that were added."""
        parts = np.split(keep, np.cumsum([len(rhs) for _, rhs in self._added])[:-1]) if self._added else []
        kept = zip(self._added, parts, strict=True)
        self._added = [(sparse.csr_matrix(rows[part]), rhs[part]) for (rows, rhs), part in kept if part.any()]

    def change(self, c: Array | None = None, bounds: Pair | None = None, sides: Pair | None = None) -> None:
        """Replace costs, bounds, or the sides of the first rows."""
        lower, upper = bounds or (self._opened.lower, self._opened.upper)
        row_lower, row_upper = sides or (self._opened.row_lower, self._opened.row_upper)
        self._opened = replace(
            self._opened,
            c=self._opened.c if c is None else c,
            lower=lower,
            upper=upper,
            row_lower=row_lower,
            row_upper=row_upper,
        )

    def centre(self) -> Array | None:
        """HiGHS's interior-point solution: few solvers have a common word for one that is not moved to a corner."""
        return HighsProgram(self.program, self.tol).centre()


class SplitProgram(WrittenProgram):
    """The rows of a model that a solver keeps: the sides of the first ones, then those that were added."""

    def _append(self, rows: sparse.csr_matrix, rhs: Array, equal: bool) -> list[Any]:
        """Tell the solver of rows `rows x = rhs` or `rows x <= rhs`; what it calls them."""
        raise NotImplementedError

    def _remove(self, rows: list[Any]) -> None:
        """Make the solver forget rows."""
        raise NotImplementedError

    def _load(self) -> None:
        """Tell the solver of the first rows."""
        sides = self._sides = Sides.of(self._opened.A, self._opened.row_lower, self._opened.row_upper)
        self._first = self._append(sides.equal, sides.value, True) + self._append(sides.upper, sides.right, False)
        self._rows: list[Any] = []

    def add(self, rows: Matrix, rhs: Array) -> None:
        super().add(rows, rhs)
        self._rows += self._append(sparse.csr_matrix(rows), rhs, False)

    def drop(self, keep: Bools) -> None:
        super().drop(keep)
        self._remove([row for row, stays in zip(self._rows, keep, strict=True) if not stays])
        self._rows = [row for row, stays in zip(self._rows, keep, strict=True) if stays]

    def _multipliers(self, values: Array) -> Array:
        """Multipliers of all that the solver was told of as those of the rows."""
        equal, upper, added = np.split(values, [len(self._sides.value), len(self._first)])
        return np.concatenate([self._sides.multipliers(equal, np.maximum(upper, 0.0)), np.maximum(added, 0.0)])


def optimal(program: FiniteProgram, x: Array, multipliers: Array) -> FiniteResult:
    """A solution within its bounds, from a point and multipliers of all rows."""
    reduced = program.c + program.A.T @ multipliers
    return FiniteResult("optimal", np.clip(x, program.lower, program.upper), multipliers, reduced)


@dataclass(frozen=True, eq=False)
class Sides:
    """row_lower <= A z <= row_upper as equalities `equal z = value` and upper sides `upper z <= right`."""

    equal: sparse.csr_matrix
    value: Array
    upper: sparse.csr_matrix
    right: Array
    places: tuple[Bools, Bools, Bools]  # (rows,): equalities; rows with an upper side; rows with a lower side

    @staticmethod
    def of(A: sparse.csr_matrix, lower: Array, upper: Array) -> Sides:
        """Split two-sided rows; a row with two different finite sides appears twice."""
        same = (lower == upper) & np.isfinite(lower)
        above, below = np.isfinite(upper) & ~same, np.isfinite(lower) & ~same
        sides = sparse.vstack([A[above], -A[below]], format="csr")
        right = np.concatenate([upper[above], -lower[below]])
        return Sides(sparse.csr_matrix(A[same]), upper[same], sparse.csr_matrix(sides), right, (same, above, below))

    def split(self, lower: Array, upper: Array) -> Pair:
        """Other sides of the same rows, of which the same are equal and finite, as `value` and `right`."""
        same, above, below = self.places
        return upper[same], np.concatenate([upper[above], -lower[below]])

    def multipliers(self, equal: Array, upper: Array) -> Array:
        """Multipliers of the two parts as those of the rows: positive at an upper side, negative at a lower one."""
        same, above, below = self.places
        out = np.zeros(len(same))
        out[same] = equal
        out[above] += upper[: above.sum()]
        out[below] -= upper[above.sum() :]
        return out
