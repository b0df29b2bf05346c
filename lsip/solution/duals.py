"""Multipliers of constraints and reduced costs of variables, in the sense of the objective as it was written."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError
from ..expressions.affine import Constraint, Variable
from ..validation import shown
from .active import ActivePoint
from .result import Result
from .values import place_of

Array = NDArray[np.float64]


def dual(result: Result, constraint: object) -> Array | float | tuple[ActivePoint, ...]:
    """The multipliers of a constraint, given as it was written or by its name."""
    statement, layout, reading = _statement(result, constraint), result.program.layout, result.as_written
    restated: tuple[Any, ...] = layout.restated.get(statement, ())  # type: ignore[union-attr]
    if restated and statement.constraint.equality:
        return dual(result, restated[0])
    if statement in reading.places:
        number, start, end = reading.places[statement]
        rows = range(start, end)
        atoms = tuple(a for a in reading.active if a.family == number and a.component in rows)
        if not isinstance(statement, Constraint):
            return atoms
        multipliers = np.array([sum(a.multiplier for a in atoms if a.component == i) for i in rows])
    else:
        place = layout.places[statement]  # type: ignore[union-attr]
        multipliers = row_multipliers(result)[place.start : place.end]
        multipliers = multipliers if place.factors is None else place.factors * multipliers
    multipliers = statement.shared(multipliers)
    return multipliers.reshape(statement.shape) if statement.shape else float(multipliers[0])


def _statement(result: Result, asked: object) -> Any:
    """A constraint of the problem as it was solved: this one, or the one of that name."""
    layout = result.program.layout
    statements = () if layout is None else (*layout.restated, *layout.places)
    for statement in statements:
        if statement is asked or (isinstance(asked, str) and getattr(statement, "name", None) == asked):
            return statement
    names = ", ".join(s.name for s in statements if getattr(s, "name", None)) or "no constraint has one"
    which = f"called {asked!r}; the names are: {names}" if isinstance(asked, str) else shown(asked)
    raise ModelError(f"The problem that was solved has no constraint {which}.")


def reduced_costs(result: Result, variable: Variable) -> Array | float:
    """Those of one variable, in its shape."""
    costs = all_reduced_costs(result)[place_of(result, variable)]
    return costs.reshape(variable.shape) if variable.shape else float(costs[0])


def all_reduced_costs(result: Result) -> Array:
    """Those of all variables, flat, in the order of `x`."""
    costs = result.sign * (result.as_written.reduced - result.as_written.multipliers.costs)
    return costs[: sum(v.size for v in result.variables)] if result.variables else costs


def row_multipliers(result: Result) -> Array:
    """Those of all finite constraints, row by row, in the sense of the minimisation that was solved."""
    return result.as_written.multipliers.rows
