"""The values of variables and expressions at a solution."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ModelError
from ..expressions.affine import Affine, Variable
from ..expressions.complex_arrays import ComplexArray
from ..expressions.convex import Convex
from ..expressions.graph import Expression
from ..expressions.parameter import Values, current
from ..expressions.rule import Rule
from ..expressions.sums import DoubleDouble, together, totals
from ..expressions.tape import constant_value
from ..validation import shown
from .result import Result


def value_of(result: Result, item: Affine | Convex | ComplexArray | Expression | str) -> Any:
    """The value of a variable, by its name too, or of an expression without index; of a rule, the rule found."""
    if isinstance(item, str):
        item = _named(result, item)
    if isinstance(item, ComplexArray):
        parts = (value_of(result, v) if isinstance(v, Affine) else v for v in (item.real, item.imag))
        return next(parts) + 1j * np.asarray(next(parts))
    if isinstance(item, Rule):
        return item.found(value_of(result, item.coefficients))
    if isinstance(item, Expression):
        item = Affine.of(item)
    if isinstance(item, Convex) and not item.indices():
        return item.evaluated(lambda part: value_of(result, part))
    if not isinstance(item, Affine) or item.indices():
        raise ModelError(
            "solution[...] takes a variable, or an expression of variables without an index; of one with an index, "
            "e.at({y: points}) gives the values."
        )
    if isinstance(item, Variable) and any(item is v for v in result.variables):
        mine = result.x[place_of(result, item)]
        return mine.reshape(item.shape).copy() if item.shape else float(mine[0])
    return _evaluated(result, item)


def _evaluated(result: Result, item: Affine) -> Any:
    """An affine expression, every sum rounded once."""
    values = parameter_values(result, item)
    sizes = [v.size for v in result.variables]
    starts = dict(zip(result.variables, np.cumsum([0, *sizes]).tolist(), strict=False))
    parts = [DoubleDouble(np.ravel(constant_value(item.offset, values)))]  # type: ignore[arg-type]
    rows = [np.arange(item.size)]
    for term in item.terms:
        if term.variable not in starts:
            raise ModelError(f"{term.variable.name} is not a variable of this problem.")
        formula = constant_value(term.coefficient, values) if term.numbers is None else None
        coefficients = term.numbers or DoubleDouble(np.ravel(formula))  # type: ignore[arg-type]
        parts.append(coefficients.times(result.x[starts[term.variable] + term.columns]))
        rows.append(term.rows)
    total = totals(np.concatenate(rows), together(parts)).value
    return total.reshape(item.shape) if item.shape else float(total[0])


def parameter_values(result: Result, item: Affine) -> Values:
    """The values of parameters, as they were in the solve."""
    layout = result.program.layout
    known = {} if layout is None else getattr(layout.written, "values", {})
    return {p: known[p] if p in known else current([p])[p] for p in item.parameters}


def place_of(result: Result, variable: Variable) -> slice:
    """Where a variable stands in x."""
    start = 0
    for v in result.variables:
        if v is variable:
            return slice(start, start + v.size)
        start += v.size
    raise ModelError(f"{shown(variable)} is not a variable of this problem.")


def _named(result: Result, name: str) -> Affine | ComplexArray:
    """The variable of that name."""
    known = {v.name: v for v in result.variables}
    if f"{name}.real" in known and f"{name}.imag" in known:
        return ComplexArray(known[f"{name}.real"], known[f"{name}.imag"])
    if name not in known:
        raise ModelError(f"There is no variable called {name!r}; the variables are {', '.join(known) or 'not named'}.")
    return getattr(known[name], "rule", known[name])
