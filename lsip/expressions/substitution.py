"""An expression with others in the places of indices and parameters."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..errors import ModelError
from .enclosed import Enclosed
from .graph import Constant, Expression, Index
from .parameter import Values, parameters_in
from .printing import text
from .tape import constant_value


def substituted(e: Expression, instead: Mapping[Expression, Expression]) -> Expression:
    """`e` with what is there `instead` of some nodes, each in its shape. Without recursion, each node once."""
    made: dict[int, Expression] = {id(node): other for node, other in instead.items()}
    stack: list[tuple[Expression, bool]] = [(e, False)]
    while stack:
        node, ready = stack.pop()
        if id(node) in made:
            continue
        if not ready:
            stack.append((node, True))
            stack.extend((a, False) for a in node.args)
            continue
        args = tuple(made[id(a)] for a in node.args)
        if all(a is b for a, b in zip(args, node.args, strict=True)):
            made[id(node)] = node
        elif (moved := node.with_index(args[0])) is not None:
            made[id(node)] = moved
        else:
            made[id(node)] = _copied(node, args)
    return made[id(e)]


def _copied(node: Expression, args: tuple[Expression, ...]) -> Expression:
    """The same operation on other arguments; what was typed is not what stands there now."""
    copy: Expression = object.__new__(type(node))
    copy.__dict__.update({**node.__dict__, "args": args})
    for known in ("origin", "_indices"):  # of the node that it was
        copy.__dict__.pop(known, None)
    return copy


def numbers_of(e: Expression, values: Values) -> dict[Expression, Expression]:
    """The formulas in `e` that depend on parameters alone, the largest ones, and the doubles that they are."""
    still: dict[int, bool] = {}
    stack: list[tuple[Expression, bool]] = [(e, False)]
    while stack:
        node, ready = stack.pop()
        if ready:
            still[id(node)] = not isinstance(node, Index | Enclosed) and all(still[id(a)] for a in node.args)
        elif id(node) not in still:
            stack.append((node, True))
            stack.extend((a, False) for a in node.args)
    found: dict[Expression, Expression] = {}
    seen, left = set[int](), [e]
    while left:
        node = left.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if not still[id(node)]:
            left.extend(node.args)
        elif given := parameters_in(node):
            value = constant_value(node, values)
            if value is None or not np.isfinite(value).all():
                told = ", ".join(f"{p.name} is {text(values[p])}" for p in given)
                raise ModelError(f"{text(node)} is nan or infinite: {told}.")
            found[node] = Constant(value)
    return found
