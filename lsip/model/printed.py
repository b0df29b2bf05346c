"""A model in print: its objective, constraints and bounds, as text and in LaTeX."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..domains.notation import latex_power, power
from ..expressions.affine import Constraint, Variable
from ..expressions.graph import Expression
from ..expressions.printing import latex, text
from .callables import FamilyOn
from .statements import ForAll, Objective, titled

Printable = Sequence[Constraint | ForAll | FamilyOn]


def model_text(objective: Objective, constraints: Printable, variables: Sequence[Variable]) -> str:
    """One line for the objective, and one for every constraint and every bound."""
    lines = [str(objective)]
    for i, c in enumerate(constraints):
        lines.append(f"{'subject to' if i == 0 else '':<10} {c}")
    for v in variables:
        lines.extend(f"{'':<10} {b}" for b in _bounds(v))
    return "\n".join(lines)


def model_latex(objective: Objective, constraints: Printable, variables: Sequence[Variable]) -> str:
    """The same for notebooks."""
    rows = [rf"\{'max' if objective.maximise else 'min'} \quad & {objective.latex()}"]
    for i, c in enumerate(constraints):
        lead = r"\text{s.t.} \quad & " if i == 0 else "& "
        where = rf" \quad \forall {c.where}" if isinstance(c, ForAll) else ""
        rows.append(lead + (c.latex() if isinstance(c, FamilyOn) else titled(c) + where))
    rows += [f"& {b}" for v in variables for b in _bounds(v, tex=True)]
    return "$$\\begin{aligned}" + r" \\ ".join(rows) + "\\end{aligned}$$"


def _bounds(v: Variable, tex: bool = False) -> list[str]:
    """The bounds of a variable, as a reader would write them."""
    shown = []
    show = latex if tex else text
    for bound, symbol, none in zip(v.bounds, (">=", "<="), (-np.inf, np.inf), strict=True):
        if isinstance(bound, Expression):
            shown.append(show((symbol, v, bound)))
        elif (bound != none).any():
            shown.append(show((symbol, v, bound[0] if (bound == bound[0]).all() else bound)))
    if v.integer:
        values = latex_power([r"\mathbb{Z}"] * v.size) if tex else power(["ℤ"] * v.size)
        shown.append(rf"{show(v)} \in {values}" if tex else f"{show(v)} ∈ {values}")
    return shown
