"""The model as mathematics, line by line; a program without a model is described by its arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..expressions.printing import latex
from ..model.callables import FamilyOn
from ..model.problem import Problem
from ..model.statements import ForAll

if TYPE_CHECKING:
    from ..model.program import Program
    from ..solution.solution import Solution


@dataclass(frozen=True)
class ModelLine:
    """One line of a model, in LaTeX."""

    lead: str  # "minimise", "subject to" or nothing
    body: str
    where: str = ""  # for all …
    name: str = ""


def model_lines(solution: Solution, most: int = 40) -> tuple[list[ModelLine], int]:
    """The lines to show, `most` of them at most, and how many more there are."""
    declared = isinstance(solution.model, Problem)
    lines = list(_declared(solution.model) if declared else _described(solution.program))
    return lines[:most], max(len(lines) - most, 0)


def _declared(problem: Problem) -> Iterator[ModelLine]:
    yield ModelLine("maximise" if problem.objective.maximise else "minimise", problem.objective.latex())
    lead = "subject to"
    for constraint in problem.constraints:
        if isinstance(constraint, ForAll):
            yield ModelLine(lead, latex(constraint.constraint), rf"\forall {constraint.where}", constraint.name or "")
        elif isinstance(constraint, FamilyOn):
            body, _, where = constraint.latex().partition(r" \quad ")
            yield ModelLine(lead, body, where)
        else:
            yield ModelLine(lead, latex(constraint), name=constraint.name or "")
        lead = ""
    for variable in problem.variables:
        for bound, symbol, none in ((variable.lower, ">=", -np.inf), (variable.upper, "<=", np.inf)):
            if (bound != none).any():
                yield ModelLine(lead, latex((symbol, variable, _one(bound))))
                lead = ""


def _one(bound: NDArray[np.float64]) -> NDArray[np.float64] | np.float64:
    """One number where all are the same."""
    return bound[0] if (bound == bound[0]).all() else bound


def _described(program: Program) -> Iterator[ModelLine]:
    """c, A and the functions a_i, b_i by their names; the numbers in them are the caller's arrays."""
    yield ModelLine(
        "maximise" if program.maximise else "minimise", rf"c^{{\top}} x \quad x \in \mathbb{{R}}^{{{program.n}}}"
    )
    lead, several = "subject to", len(program.families) > 1
    for i, family in enumerate(program.families):
        below = f"_{{{i}}}" if several else ""
        body = rf"a{below}(y)^{{\top}} x \le b{below}(y)"
        yield ModelLine(lead, body, rf"\forall y \in {family.domain.latex()}")
        lead = ""
    equal = program.row_lower == program.row_upper
    for rows, symbol, name in ((~equal, r"\le", "ub"), (equal, "=", "eq")):
        if rows.any():
            yield ModelLine(
                lead, rf"A_{{\mathrm{{{name}}}}} x {symbol} b_{{\mathrm{{{name}}}}} \in \mathbb{{R}}^{{{rows.sum()}}}"
            )
            lead = ""
    for bound, symbol, none in ((program.lower, r"\ge", -np.inf), (program.upper, r"\le", np.inf)):
        if (bound != none).any():
            one = _one(bound)
            yield ModelLine(lead, rf"x {symbol} " + (latex(float(one)) if np.ndim(one) == 0 else latex(one)))
            lead = ""
