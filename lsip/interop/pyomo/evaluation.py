"""What the rule of a constraint says: sides with symbols in them, or numbers at a point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...errors import ModelError, NotAffineError
from ...legible import shortened
from .columns import ModelVariable
from .comparison import Value
from .continuum import ContinuumPiece
from .formula import Reader, Untraceable

if TYPE_CHECKING:
    from pyomo.core.expr.numvalue import NumericValue
    from pyomo.core.expr.template_expr import IndexTemplate

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ConstraintSides:
    """lower <= body <= upper, as Pyomo has it; None where a side is missing."""

    lower: NumericValue | None
    body: NumericValue
    upper: NumericValue | None


@dataclass(frozen=True, eq=False)
class Numbers:
    """lower <= coefficients . x <= upper at one point, by column; infinite where a side is missing."""

    coefficients: dict[int, float]
    lower: float
    upper: float


def sides(piece: ContinuumPiece, point: Sequence[float | IndexTemplate]) -> ConstraintSides | None:
    """What the rule returns at a point, in the form that Pyomo gives constraints; None where it skips."""
    from pyomo.core.base.constraint import ScalarConstraint
    from pyomo.environ import Constraint

    value = piece.ask(point)
    if value is Constraint.Skip or value is Constraint.Feasible:
        return None
    if value is Constraint.Infeasible:
        raise ModelError(f"The rule of '{piece.name}' returns Constraint.Infeasible: no point satisfies the model.")
    form = ScalarConstraint(name=piece.name)
    form.construct()
    form.set_value(value)
    if form.equality:
        index = ", ".join(piece.coordinates)
        raise ModelError(
            f"'{piece.name}' is an equality for all values of {index}. A continuum of equalities leaves no interior, "
            "so that nothing can be proven: write two inequalities with a tolerance between them, or, if it is a "
            "differential equation, discretise it with TransformationFactory('dae.…') first."
        )
    return ConstraintSides(form.lower, form.body, form.upper)


def numbers(
    piece: ContinuumPiece, point: Array, columns: Callable[[ModelVariable], dict[int, Value]]
) -> Numbers | None:
    """The row at a point, from a plain call of the rule; None where it skips."""
    from pyomo.environ import value

    try:
        found = sides(piece, tuple(map(float, point)))
    except ModelError:
        raise
    except Exception as error:  # Whatever a rule raises is the user's to know, with the point at which it happened.
        what = f"{type(error).__name__}: {first_line(error)}.{_MEMBERS_ONLY if isinstance(error, KeyError) else ''}"
        raise ModelError(f"The rule of '{piece.name}' failed at {piece.at(point)} with {what}") from error
    if found is None:
        return None
    coefficients, constant = linear(found.body, columns, f"'{piece.name}' at {piece.at(point)}")
    low = -np.inf if found.lower is None else float(value(found.lower)) - constant
    high = np.inf if found.upper is None else float(value(found.upper)) - constant
    return Numbers(coefficients, low, high)


_MEMBERS_ONLY = (
    " What a model holds over a ContinuousSet has values at the points of that set only; let the rule call the "
    "function behind them, or write that function with pyo.sin, pyo.exp, …, so that it can be read as a formula."
)


def linear(
    expression: NumericValue, columns: Callable[[ModelVariable], dict[int, Value]], what: str
) -> tuple[dict[int, float], float]:
    """Coefficients by column and the constant of a Pyomo expression, by Pyomo's own standard representation.

    That one gives up where a condition is a choice itself, or holds a fixed variable; these are read as a formula.
    """
    from pyomo.repn import generate_standard_repn

    form = generate_standard_repn(expression, compute_values=True, quadratic=False)
    if not form.is_linear():
        try:
            row = Reader(columns, {}).row(expression)
        except Untraceable as reason:
            shown = shortened(str(expression))
            raise NotAffineError(f"{what} is not linear in the variables: {shown}; {reason}.") from reason
        return {j: float(a) for j, a in row.coefficients.items() if a}, float(row.offset)
    coefficients: dict[int, float] = {}
    for variable, coefficient in zip(form.linear_vars, form.linear_coefs, strict=True):
        for j, part in columns(variable).items():
            coefficients[j] = coefficients.get(j, 0.0) + float(coefficient) * float(part)
    return coefficients, float(form.constant)


def first_line(error: BaseException) -> str:
    """The beginning of an error's message."""
    return shortened((str(error).strip().splitlines() or [""])[0])
