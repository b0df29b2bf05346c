"""The finite constraints of a solution as they were written: element by element, with values, sides and multipliers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..expressions.affine import Constraint
from ..expressions.convex_rows import ConvexConstraint
from ..expressions.tape import constant_value
from ..model.compilation import Written
from ..model.status import Status
from .duals import dual, row_multipliers
from .result import Result
from .values import parameter_values, value_of

Array = NDArray[np.float64]


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
