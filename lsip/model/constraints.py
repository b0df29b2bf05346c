"""Objectives, constraints for all values of an index, and lists of constraints, as people write them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError
from ..expressions.affine import Affine, Constraint
from ..expressions.convex import Convex
from ..expressions.convex_rows import convex_objective, enclosed_objective
from ..expressions.folds import unfolded
from ..expressions.graph import Condition, Expression, Index
from ..expressions.operators import Operators, Statement, bare
from ..expressions.printing import text
from ..expressions.rule import Coefficients
from ..validation import MOST_AXES, members, shown, words
from .callables import FamilyOn
from .restated import stated
from .statements import ForAll, Objective, check_indices

# One, or lists of them; NumPy's annotations take a comparison of what its functions give for an array.
Statements = Statement | NDArray[np.bool_] | Sequence["Statements"]


@overload
def forall(
    index: Index | Sequence[Index], constraint: Statement | NDArray[np.bool_], *, name: str | None = None
) -> ForAll | Any: ...


@overload
def forall(
    index: Index | Sequence[Index], constraint: Sequence[Statements], *, name: str | None = None
) -> list[Any]: ...


def forall(index: Index | Sequence[Index], constraint: Statements, *, name: str | None = None) -> Any:
    """A constraint, or a list of them, for every value of an index (or of several).

    An equality of polynomials becomes that of their coefficients, and a constraint over an unbounded box some over
    bounded ones. With a `name`, tables, plots, reports and messages call it that; those of a list are name[0], name[1],
    …

    Examples
    --------
    >>> import lsip
    >>> x, t = lsip.Variable(2, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    >>> print(lsip.forall(t, x[0] + x[1] * t >= t**2))
    x[0] + x[1] t ≥ t²   for all t ∈ [0, 1]
    """
    indices = (index,) if isinstance(index, Index) else tuple(index) if isinstance(index, list | tuple) else ()
    if not indices or not all(isinstance(i, Index) for i in indices):
        raise ModelError(f"forall needs an Index or a tuple of them first; got {shown(index)}.")
    if len({i.name for i in indices}) < len(indices):
        names = ", ".join(i.name for i in indices)
        raise ModelError(f"forall was given the same index twice, or two of one name: {names}. Give each its own name.")
    if name is not None:
        words("name", name)
    constraint = bare(constraint)
    if isinstance(constraint, list | tuple):
        try:
            return [forall(indices, c, name=name and f"{name}[{i}]") for i, c in enumerate(constraint)]
        except RecursionError:
            raise ModelError("forall takes a constraint or a list of them; got lists in lists without end.") from None
    if isinstance(constraint, Condition):
        raise ModelError(f"{text(constraint)} has no decision variable in it, so there is nothing to constrain.")
    if not isinstance(constraint, Constraint):
        raise ModelError(f"forall needs a constraint such as `a @ x <= b`, or a list of them; {_instead(constraint)}")
    if not constraint.body.size:
        raise ModelError(f"{constraint} has no element (its shape is {constraint.body.shape}): leave it out.")
    if not constraint.indices and any(isinstance(t.variable, Coefficients) for t in constraint.body.terms):
        return constraint if name is None else constraint.named(name)  # of rules that see nothing
    indices, constraint = unfolded(indices, constraint)
    check_indices(constraint, indices, constraint.indices)
    constraint = constraint if name is None else constraint.named(name)
    endless = not all(i.domain.bounded for i in indices)
    if endless and constraint.directions:
        raise ModelError(
            f"{text(constraint)} cannot be proven over an unbounded set. Bound the set of {indices[0].name}, or write "
            "the constraint with polynomials in it and without norms."
        )
    return stated(indices, constraint)


def _instead(given: object) -> str:
    """What came in the place of a constraint, and what to do."""
    if callable(given):
        return "got a function: call it, as in forall(t, rule(t)); lsip.Family(domain, a, b) takes functions of points."
    if isinstance(given, bool | np.bool_):
        return (
            f"got the bool {given}: a comparison collapsed, of numbers or of whole objects. e.at({{…}}) is a number; "
            "at one index point, a constraint is the formula with a number in place of the index."
        )
    if isinstance(given, Operators):
        return f"got {given}, which is not compared with anything: write <= or >=."
    advice = (
        "" if isinstance(given, Statement | str) else " An expression on the left keeps arrays of others out of it."
    )
    return f"got {shown(given)}.{advice}"


def flattened(items: Iterable[Any], depth: int = 0) -> Iterable[Constraint | ForAll | FamilyOn]:
    """The constraints of nested lists, one by one."""
    if depth > MOST_AXES:
        raise ModelError("Constraints are a list; got lists in lists without end.")
    for item in map(bare, members("constraints", items, "constraints")):
        if isinstance(item, list | tuple):
            yield from flattened(item, depth + 1)
        elif isinstance(item, ForAll | FamilyOn):
            yield item
        elif isinstance(item, Constraint):
            if item.indices:
                names = ", ".join(i.name for i in item.indices)
                raise ModelError(f"{item} depends on the index {names}: wrap it in forall({names}, …).")
            yield item
        else:
            raise ModelError(f"A constraint was expected, {_instead(item)}")


Value = Affine | Convex | Expression | float | NDArray[Any]  # what an objective may be


def minimize(expression: Value, *, over: Index | Sequence[Index] | None = None) -> Objective:
    """Minimise an affine or convex expression, such as an absolute value, a maximum or a norm.

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
    """Maximise an affine or concave expression; with `over`, its smallest value over all values of these indices."""
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
