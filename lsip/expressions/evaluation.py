"""Expressions at numbers: what `expression.at({y: points, x: values})` gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError
from ..validation import Array, is_mapping, numbers, shown
from .affine import Affine, Variable
from .convex import Convex
from .folds import spelled
from .graph import Index
from .operators import Symbolic, register_evaluation
from .parameter import Parameter, current, parameters_in
from .tape import Tape


@register_evaluation
def evaluate(expression: Symbolic, values: Mapping[Any, Any]) -> Array | float:
    """The numbers of an expression; (N, …) where an index has N points, in the shape of the expression otherwise."""
    if not is_mapping(values):
        raise ModelError(f"`at` takes a mapping such as {{y: points, x: values}}; got {shown(values)}.")
    for key in values:
        if not isinstance(key, Index | Variable | Parameter):
            raise ModelError(f"`at` takes values of indices, variables and parameters; {shown(key)} is none of them.")
    if isinstance(expression, Convex):
        return _convex(expression, values)
    affine = spelled(expression if isinstance(expression, Affine) else Affine.of(expression))
    points, many = _points(affine.indices(), values)
    formulas = (affine.offset, *(t.coefficient for t in affine.terms))
    known = {p: _given(p, values[p]) for p in affine.parameters if p in values}
    known |= current(p for p in parameters_in(*formulas) if p not in known)
    flat = Tape(formulas, affine.indices(), values=known).values(points)
    total, start = flat[:, : affine.size].T.copy(), affine.size
    for term in affine.terms:
        x, end = _value(term.variable, values).ravel(), start + len(term.rows)
        np.add.at(total, term.rows, (flat[:, start:end] * x[term.columns]).T)
        start = end
    found: NDArray[np.float64] = total.T.reshape(len(points), *affine.shape)
    if many:
        return found
    return found[0] if affine.shape else float(found[0])


def _convex(expression: Convex, values: Mapping[Any, Any]) -> Array | float:
    """The same of what is convex: every part at all points of its indices, or at the one."""
    points, many = _points(expression.indices(), values)

    def at(part: Affine) -> Any:
        found = np.asarray(evaluate(part, values))
        return np.broadcast_to(found, (len(points), *part.shape)) if many else found

    found: Array | float = expression.evaluated(at)
    return found


def _points(indices: tuple[Index, ...], values: Mapping[Any, Any]) -> tuple[Array, bool]:
    """All index points (N, m), side by side, and whether some index was given several."""
    parts = []
    for index in indices:
        if index not in values:
            raise ModelError(
                f"The expression depends on the index {index.name}: give its points, at({{{index.name}: …}})."
            )
        given = numbers(values[index], f"Points of {index.name}", nan=True)
        if given.ndim > len(index.shape) + 1 or given.shape[given.ndim - len(index.shape) :] != index.shape:
            one = "a number" if not index.shape else f"a point of shape {index.shape}"
            raise ModelError(f"{index.name} takes {one}, or N of them in rows; got shape {given.shape}.")
        parts.append(given.reshape(-1, index.domain.dim) if given.ndim > len(index.shape) else given.reshape(1, 1, -1))
    counts = {len(part) for part in parts if part.ndim == 2}
    if len(counts) > 1:
        raise ModelError(f"All indices need the same number of points, or one; got {', '.join(map(str, counts))}.")
    many = counts.pop() if counts else None
    rows = [np.broadcast_to(part.reshape(-1, part.shape[-1]), (many or 1, part.shape[-1])) for part in parts]
    return np.concatenate([np.zeros((1 if many is None else many, 0)), *rows], axis=1), many is not None


def _value(variable: Variable, values: Mapping[Any, Any]) -> Array:
    """What was given for a variable, or what the last solution has."""
    value = values.get(variable, variable.value)
    if value is None:
        raise ModelError(
            f"{variable.name} has no value: give one, at({{{variable.name}: …}}), or solve the problem first."
        )
    return _given(variable, value)


def _given(part: Variable | Parameter, value: Any) -> Array:
    """Numbers in the shape of a variable or a parameter."""
    given = numbers(value, f"`{part.name}`", nan=True)
    try:
        return np.broadcast_to(given, part.shape)
    except ValueError:
        raise ModelError(f"{part.name} has the shape {part.shape}; got {given.shape}.") from None
