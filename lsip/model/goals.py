"""What to minimise or maximise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from ..errors import ModelError
from ..expressions.affine import Affine
from ..expressions.convex import Convex
from ..expressions.convex_rows import convex_objective, enclosed_objective
from ..expressions.graph import Expression, Index
from ..expressions.printing import text
from .constraints import forall
from .statements import Objective

Value = Affine | Convex | Expression | float | NDArray[Any]  # what an objective may be


def minimize(expression: Value, *, over: Index | Sequence[Index] | None = None) -> Objective:
    """The objective of a minimisation: affine, or convex as absolute values, maxima and norms are.

    With an index, or several, that it is `over`: the largest value for all of them.

    Examples
    --------
    >>> import numpy as np, lsip
    >>> x, t = lsip.Variable(2, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    >>> problem = lsip.Problem(lsip.minimize(np.abs(x[0] + x[1] * t - np.exp(t)), over=t))
    >>> print(problem)
    minimize |x[0] + x[1] t - exp(t)|   at its worst over t ∈ [0, 1]
    >>> round(problem.solve(verbose=False).value, 6)
    0.105933
    """
    return objective_of(expression, False, over)


def maximize(expression: Value, *, over: Index | Sequence[Index] | None = None) -> Objective:
    """The objective of a maximisation: affine, or concave as minima are; the smallest value for all indices `over`."""
    return objective_of(expression, True, over)


def objective_of(expression: Value, maximise: bool, over: Index | Sequence[Index] | None) -> Objective:
    """An objective, with the statements that bound it where it is convex."""
    found = expression if isinstance(expression, Convex) else Affine.of(expression)
    if found.size != 1:
        raise ModelError(
            f"An objective is one number; {text(expression)} has shape {found.shape}. Did you mean .sum()?"
        )
    if found.indices() and over is None:
        names = ", ".join(i.name for i in found.indices())
        raise ModelError(
            f"The objective depends on the index {names}; say `over={names}` for its worst value, or introduce a "
            "variable and bound it with forall."
        )
    if over is None and isinstance(found, Affine):
        if not found.uncertain:
            return Objective(found, maximise)
        height, row = enclosed_objective(found, maximise)
        return Objective(height, maximise, (row,))
    indices = (over,) if isinstance(over, Index) else tuple(over) if isinstance(over, list | tuple) else ()
    body = Convex.of(found)
    body.origin = found.origin
    goal, bound = convex_objective(body, maximise, indices)
    statements = bound if over is None else forall(over, bound)
    every = tuple(statements) if isinstance(statements, list) else (statements,)
    return Objective(goal, maximise, every)
