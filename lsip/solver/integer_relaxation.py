"""The finite program over whole values with the cuts known so far, in units that suit its solver."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
from scipy import sparse

from ..masters.base import IntegerMaster, IntegerResult, Matrix
from ..masters.registry import open_integer_master
from ..model.program import Program
from ..proof.certificate import Array, Support
from ..reductions.equilibration import scaling_of
from .options import Options
from .rows import cut_rows

Row = tuple[int, int]  # of a family, whatever the index point


class IntegerRelaxation:
    """A branch and bound and its cuts; integer variables keep their units, the others and the rows are equilibrated."""

    def __init__(self, program: Program, options: Options) -> None:
        self.program, self.options = program, options
        self.made = open_integer_master(options.master)
        self.columns = np.where(program.integer, 1.0, scaling_of(program).columns)
        cost = np.abs(program.c * self.columns)
        self.objective = 2.0 ** -np.round(np.log2(cost.max())) if cost.any() else 1.0
        self.cuts: list[Support] = []
        self._held: set[tuple[int, int, bytes]] = set()
        self.master = self._opened(self.objective * program.c)

    def _opened(self, c: Array) -> IntegerMaster:
        program, d = self.program, self.columns
        largest = abs(program.A @ sparse.diags(d)).max(axis=1).toarray().ravel() if program.A.shape[0] else np.zeros(0)
        rows = 1.0 / np.where(largest > 0, largest, 1.0)
        return self.made(
            c * d,
            program.lower / d,
            program.upper / d,
            program.integer,
            sparse.csr_matrix(sparse.diags(rows) @ program.A @ sparse.diags(d)),
            rows * program.row_lower,
            rows * program.row_upper,
        )

    def add(self, new: Iterable[Support]) -> None:
        """Append cuts that are not there yet."""
        fresh = {s.place: replace(s, multiplier=0.0) for s in new if s.place not in self._held}
        rows, rhs = cut_rows(self.program, list(fresh.values()))
        self.master.add(self._scaled(rows), rhs)
        self.cuts += fresh.values()
        self._held |= fresh.keys()

    def _scaled(self, rows: Matrix) -> Matrix:
        return sparse.csr_matrix(rows @ sparse.diags(self.columns)) if sparse.issparse(rows) else rows * self.columns

    def solve(self, gap: float, start: Array | None = None) -> IntegerResult:
        """A point within a relative gap of the best, and a bound."""
        return self._given(self.master.solve(gap, None if start is None else start / self.columns))

    def apart(self, gap: float, *, objective: bool = True, room: Mapping[Row, float] | None = None) -> IntegerResult:
        """The same of a program of its own: without the objective, or with so much room in the rows of constraints."""
        master = self._opened(self.objective * self.program.c * objective)
        rows, rhs = cut_rows(self.program, self.cuts)
        kept = [0.0 if room is None else room.get((s.family, s.component), 0.0) for s in self.cuts]
        master.add(self._scaled(rows), rhs - np.array(kept))
        return self._given(master.solve(gap))

    def _given(self, found: IntegerResult) -> IntegerResult:
        """An answer in the units of the program."""
        x = None if found.x is None else np.clip(self.columns * found.x, self.program.lower, self.program.upper)
        return IntegerResult(found.status, x, found.bound / self.objective + self.program.constant)

    def exclude(self, values: Array) -> bool:
        """Leave out these values of the integers, which is a linear constraint where all of them are 0 or 1."""
        program, whole = self.program, self.program.integer
        if (program.lower[whole] < 0).any() or (program.upper[whole] > 1).any():
            return False
        row = np.zeros((1, program.n))
        row[0, whole] = np.where(values == 1, 1.0, -1.0)  # it equals their number of ones there, and less elsewhere
        self.master.add(row, np.array([float((values == 1).sum()) - 1.0]))
        return True
