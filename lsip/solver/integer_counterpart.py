"""The robust counterpart over whole values: one finite program for a branch and bound, where there are no cones."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
from scipy import sparse

from ..masters.base import IntegerMaster, IntegerResult
from ..masters.registry import open_integer_master
from ..masters.whole import WholeProgram
from ..model.program import Program
from ..proof.certificate import Array, Certificate
from ..proof.dual import Dual
from ..proof.prove import Feasible, Lower, optimal, prove_feasible
from ..reductions.equilibration import scaling_of
from ..reductions.robust_counterpart import counterpart
from .options import Options


class IntegerCounterpart:
    """The counterpart of a program; integer variables keep their units, the others and the rows are equilibrated."""

    def __init__(self, program: Program, options: Options) -> None:
        self.program, self.options, self.finite = program, options, counterpart(program)
        self.tuning = options.tuning.integers
        self._last: Array | None = None  # the point that a branch and bound begins with
        more = len(self.finite.c) - program.n
        self.columns = np.append(np.where(program.integer, 1.0, scaling_of(program).columns), np.ones(more))
        A = self.finite.A @ sparse.diags_array(self.columns)
        largest = abs(A).max(axis=1).toarray().ravel()
        self.rows = 1.0 / np.where(largest > 0, largest, 1.0)
        self.A = sparse.csr_array(sparse.diags_array(self.rows) @ A)
        cost = np.abs(self.finite.c * self.columns)
        self.objective = 2.0 ** -np.round(np.log2(cost.max())) if cost.any() else 1.0
        self.c = self.objective * self.finite.c * self.columns

    @cached_property
    def _master(self) -> IntegerMaster:
        finite, d, n = self.finite, self.columns, self.program.n
        integer = np.append(self.program.integer, np.zeros(len(d) - n, dtype=bool))
        sides = self.rows * finite.row_lower, self.rows * finite.row_upper
        made = open_integer_master(self.options.master)
        return made(self.c, finite.lower / d, finite.upper / d, integer, sparse.csr_matrix(self.A), *sides)

    def solve(self, gap: float, nodes: int | None = None) -> IntegerResult:
        """A point of the program within a relative gap of the best, or after so many nodes, and a bound."""
        found = self._master.solve(gap, self._last, nodes)
        self._last = found.x
        x = None if found.x is None else self._given(found.x)
        return replace(found, x=x, bound=found.bound / self.objective + self.program.constant)

    def attained(self, fixed: Program, goal: float, allowed: float) -> Certificate | None:
        """A point of the program with narrower bounds that is proven to be feasible, and worth the goal, about.

        Of other points it says nothing. Rows are kept by margins, which are made smaller where they cost too much, and
        larger where they are not enough.
        """
        x, margin = fixed.lower, self.tuning.first_margin * self.options.tol
        free, multipliers = fixed.lower < fixed.upper, np.zeros(len(self.rows))
        program = self._linear(fixed) if free.any() else None
        for _ in range(self.tuning.margins):
            if program is not None:
                lower, upper = self.finite.kept_by(margin / self.rows, free)
                found = program.solve(self.c, self.rows * lower, self.rows * upper)
                if found is None:
                    return None
                x, multipliers = self._given(found.x), found.multipliers * self.rows / self.objective
            proven = prove_feasible(fixed, np.clip(x, fixed.lower, fixed.upper))
            kept = isinstance(proven, Feasible)
            if isinstance(proven, Feasible) and (proven.upper - goal <= allowed or program is None):
                nothing = Lower(-np.inf, Dual(*self.finite.inverse(multipliers)))
                return optimal(self.program, proven, nothing, proven.point.x, proven.bounds)
            margin *= self.tuning.margin_step if kept else 1 / self.tuning.margin_step
        return None

    def relaxed(self) -> float:
        """The least value without integrality, as a linear program finds it; -inf without one."""
        finite = self.finite
        found = self._linear(self.program).solve(self.c, self.rows * finite.row_lower, self.rows * finite.row_upper)
        return -np.inf if found is None else float(self.c @ found.x) / self.objective + self.program.constant

    def _linear(self, program: Program) -> WholeProgram:
        """The counterpart with the bounds of a program, as a linear program."""
        n, d = program.n, self.columns
        lower, upper = np.append(program.lower, self.finite.lower[n:]), np.append(program.upper, self.finite.upper[n:])
        return WholeProgram(lower / d, upper / d, self.A, self.options.tol)

    def _given(self, v: Array) -> Array:
        """The variables of the program in its units."""
        n = self.program.n
        return np.clip((self.columns * v)[:n], self.program.lower, self.program.upper)
