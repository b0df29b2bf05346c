"""Multipliers of constraints, reduced costs, and finite constraints element by element, as they were written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ModelError
from ..expressions.affine import Constraint, Variable
from ..expressions.convex_rows import ConvexConstraint
from ..expressions.tape import constant_value
from ..model.compilation import Written
from ..model.status import Status
from ..proof.certificate import Array
from ..validation import shown
from .active import ActivePoint
from .result import Result
from .values import parameter_values, place_of, value_of


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


@dataclass(frozen=True)
class FiniteRow:
    """lower <= value <= upper, where `value` is what depends on variables; and what one unit of room is worth."""

    label: str
    value: float
    lower: float
    upper: float
    multiplier: float


def finite_rows(result: Result) -> list[FiniteRow]:
    """All finite constraints that were written; for models of arrays, all finite rows."""
    layout = result.program.layout
    if layout is None or not isinstance(layout.written, Written):
        return list(_plain(result))
    hidden = set(map(id, layout.written.epigraph))
    statements = [s for s in layout.places if isinstance(s, Constraint) and id(s) not in hidden]
    return [row for statement in statements for row in _rows(result, statement)]


def _plain(result: Result) -> Iterator[FiniteRow]:
    """Rows of arrays."""
    program, count = result.program, result.program.written.A.shape[0]
    labels = program.row_labels if len(program.row_labels) >= count else tuple(f"row {i}" for i in range(count))
    x = result.certificate.x
    values = program.A @ x if len(x) and _found(result) else np.full(program.A.shape[0], np.nan)
    columns = (values, program.row_lower, program.row_upper, row_multipliers(result))
    for label, *numbers in zip(labels[:count], *(column[:count].tolist() for column in columns), strict=True):
        yield FiniteRow(label, *numbers)


def _found(result: Result) -> bool:
    """Whether there is a point."""
    return result.status is not Status.INFEASIBLE


def _rows(result: Result, statement: Constraint) -> Iterator[FiniteRow]:
    """The elements of one constraint."""
    convex = statement.written if isinstance(statement, ConvexConstraint) else None
    affine, body = (statement.body, statement.body) if convex is None else (convex.affine, convex)
    constant = np.broadcast_to(
        np.asarray(constant_value(affine.offset, parameter_values(result, affine)), dtype=float), affine.shape
    )
    offset = np.broadcast_to(constant, body.shape).ravel()
    known = _found(result) and len(result.x) > 0 and not any(t.variable.hidden for t in affine.terms)
    value = np.ravel(value_of(result, body)) - offset if known else np.full(len(offset), np.nan)
    lower, upper = -offset if statement.equality else np.full(len(offset), -np.inf), -offset
    if statement.origin[0] == ">=":
        value, lower, upper = -value, -upper, -lower
    multipliers = np.ravel(dual(result, statement))  # type: ignore[arg-type]
    name = statement.label
    many = f"{name if statement.name else f'({name})'}[{{}}]".format
    for i, row in enumerate(zip(value.tolist(), lower.tolist(), upper.tolist(), multipliers.tolist(), strict=True)):
        yield FiniteRow(name if len(offset) == 1 else many(i), *row)
