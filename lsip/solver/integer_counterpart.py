"""The robust counterpart over whole values: one finite program for a branch and bound, where there are no cones."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from ..masters.base import FiniteResult
from ..masters.checked import CheckedProgram, open_program
from ..masters.highs import HIGHS
from ..masters.registry import integer_backend
from ..model.program import Program
from ..proof.certificate import Array, Certificate
from ..proof.dual import Dual
from ..proof.prove import Feasible, Lower, optimal, prove_feasible
from ..reductions.robust_counterpart import counterpart
from .integer_relaxation import IntegerUnits
from .options import Options


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
            kept = isinstance(proven, Feasible)
            if isinstance(proven, Feasible) and (proven.upper - goal <= allowed or program is None):
                nothing = Lower(-np.inf, Dual(*self.finite.inverse(multipliers)))
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
