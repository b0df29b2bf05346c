"""Finite programs over whole values, in units that suit a branch and bound.

One has the cuts known so far. The other is the robust counterpart, which knows every index point, where there are no
cones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property

import numpy as np
from scipy import sparse

from ..masters.base import FiniteProgram, FiniteResult, Matrix
from ..masters.checked import CheckedProgram, open_program
from ..masters.elastic import scaled
from ..masters.highs import HIGHS
from ..masters.registry import integer_backend
from ..model.program import Program
from ..proof.certificate import Array, Certificate, Support
from ..proof.dual import Dual
from ..proof.prove import DualBound, Incumbent, optimal, prove_feasible
from ..reductions.equilibration import scaling_of
from ..reductions.robust_counterpart import counterpart
from .options import Options
from .rows import cut_rows

Row = tuple[int, int]  # of a family, whatever the index point


class IntegerUnits:
    """Units for a branch and bound: integer variables keep theirs, the others, the rows and the costs are equilibrated.

    Parameters
    ----------
    program
        The program that is solved.
    given
        Its finite program, whose variables begin with those of the program.
    """

    def __init__(self, program: Program, given: FiniteProgram) -> None:
        self.program, more = program, len(given.c) - program.n
        self.columns = d = np.append(np.where(program.integer, 1.0, scaling_of(program).columns), np.ones(more))
        A = sparse.csr_matrix(given.A @ sparse.diags(d))
        largest = abs(A).max(axis=1).toarray().ravel() if A.shape[0] else np.zeros(0)
        self.rows = 1.0 / np.where(largest > 0, largest, 1.0)
        cost = np.abs(given.c * d)
        self.objective = 2.0 ** -np.round(np.log2(cost.max())) if cost.any() else 1.0
        self.finite = FiniteProgram(
            self.objective * given.c * d,
            given.lower / d,
            given.upper / d,
            sparse.csr_matrix(sparse.diags(self.rows) @ A),
            self.rows * given.row_lower,
            self.rows * given.row_upper,
            np.append(program.integer, np.zeros(more, dtype=bool)),
        )

    def x(self, v: Array) -> Array:
        """The variables of the program in its units."""
        n = self.program.n
        return np.clip((self.columns * v)[:n], self.program.lower, self.program.upper)

    def result(self, found: FiniteResult) -> FiniteResult:
        """An answer in the units of the program."""
        x = None if found.x is None else self.x(found.x)
        return replace(found, x=x, bound=found.bound / self.objective + self.program.constant)


class IntegerRelaxation:
    """A branch and bound and its cuts."""

    def __init__(self, program: Program, options: Options) -> None:
        self.program, self.options, self.backend = program, options, integer_backend(options.master)
        sides = program.row_lower, program.row_upper
        self.units = IntegerUnits(program, FiniteProgram(program.c, program.lower, program.upper, program.A, *sides))
        self.cuts: list[Support] = []
        self._held: set[tuple[int, int, bytes]] = set()
        self.master = open_program(self.backend, self.units.finite, options.tol)

    def add(self, new: Iterable[Support]) -> None:
        """Append cuts that are not there yet."""
        fresh = {s.place: replace(s, multiplier=0.0) for s in new if s.place not in self._held}
        self._append(self.master, *cut_rows(self.program, list(fresh.values())))
        self.cuts += fresh.values()
        self._held |= fresh.keys()

    def _append(self, master: CheckedProgram, rows: Matrix, rhs: Array) -> None:
        d = self.units.columns
        if len(rhs):
            table = sparse.csr_matrix(rows @ sparse.diags(d)) if sparse.issparse(rows) else rows * d
            master.add(*scaled(table, rhs)[:2])

    def solve(self, gap: float, start: Array | None = None) -> FiniteResult:
        """A point within a relative gap of the best, and a bound."""
        first = None if start is None else start / self.units.columns
        return self.units.result(self.master.solve(gap=gap, start=first))

    def apart(self, gap: float, *, objective: bool = True, room: Mapping[Row, float] | None = None) -> FiniteResult:
        """The same of a program of its own: without the objective, or with so much room in the rows of constraints."""
        finite = self.units.finite
        master = open_program(self.backend, replace(finite, c=finite.c * objective), self.options.tol)
        rows, rhs = cut_rows(self.program, self.cuts)
        kept = [0.0 if room is None else room.get((s.family, s.component), 0.0) for s in self.cuts]
        self._append(master, rows, rhs - np.array(kept))
        return self.units.result(master.solve(gap=gap))

    def exclude(self, values: Array) -> bool:
        """Leave out these values of the integers, which is a linear constraint where all of them are 0 or 1."""
        program, whole = self.program, self.program.integer
        if (program.lower[whole] < 0).any() or (program.upper[whole] > 1).any():
            return False
        row = np.zeros((1, program.n))
        row[0, whole] = np.where(values == 1, 1.0, -1.0)  # it equals their number of ones there, and less elsewhere
        self.master.add(row, np.array([float((values == 1).sum()) - 1.0]))
        return True


class IntegerCounterpart:
    """The counterpart of a program, in units for a branch and bound."""

    def __init__(self, program: Program, options: Options) -> None:
        self.program, self.options, self.finite = program, options, counterpart(program)
        self.tuning = options.tuning
        self._last: Array | None = None  # the point that a branch and bound begins with
        self.units = IntegerUnits(program, self.finite)

    @cached_property
    def _tree(self) -> CheckedProgram:
        return open_program(integer_backend(self.options.master), self.units.finite, self.options.tol)

    def solve(self, gap: float, nodes: int | None = None) -> FiniteResult:
        """A point of the program within a relative gap of the best, or after so many nodes, and a bound."""
        found = self._tree.solve(gap=gap, start=self._last, nodes=nodes)
        self._last = found.x
        return self.units.result(found)

    def attained(self, fixed: Program, goal: float, allowed: float) -> Certificate | None:
        """A point of the program with narrower bounds that is proven to be feasible, and worth the goal, about.

        Of other points it says nothing. Rows are kept by margins, which are made smaller where they cost too much, and
        larger where they are not enough.
        """
        x, margin, units = fixed.lower, self.tuning.share * self.options.tol, self.units
        free, multipliers = fixed.lower < fixed.upper, np.zeros(len(units.rows))
        program = self._linear(fixed) if free.any() else None
        for _ in range(self.tuning.tries):
            if program is not None:
                lower, upper = self.finite.kept_by(margin / units.rows, free)
                program.change(sides=(units.rows * lower, units.rows * upper))
                found = program.optimum()
                if found is None:
                    return None
                x, multipliers = units.x(found[0]), found[1] * units.rows / units.objective
            proven = prove_feasible(fixed, np.clip(x, fixed.lower, fixed.upper))
            kept = isinstance(proven, Incumbent)
            if isinstance(proven, Incumbent) and (proven.upper - goal <= allowed or program is None):
                nothing = DualBound(-np.inf, Dual(*self.finite.inverse(multipliers)))
                return optimal(self.program, proven, nothing, proven.point.x, proven.bounds)
            margin *= self.tuning.share if kept else 1 / self.tuning.share
        return None

    def relaxed(self) -> float:
        """The least value without integrality, as a linear program finds it; -inf without one."""
        found, units = self._linear(self.program).optimum(), self.units
        value = -np.inf if found is None else float(units.finite.c @ found[0])
        return value / units.objective + self.program.constant

    def _linear(self, program: Program) -> CheckedProgram:
        """The counterpart with the bounds of a program, as a linear program."""
        finite, n = self.units.finite, program.n
        lower, upper = finite.lower.copy(), finite.upper.copy()
        lower[:n], upper[:n] = program.lower / self.units.columns[:n], program.upper / self.units.columns[:n]
        return open_program(HIGHS, replace(finite, lower=lower, upper=upper, integer=None), self.options.tol)
