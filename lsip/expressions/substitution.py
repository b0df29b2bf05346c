"""An expression with others in the places of indices and parameters."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..errors import ModelError
from .enclosed import Enclosed
from .graph import Constant, Expression, Index, in_order
from .parameter import Values, parameters_in
from .printing import text
from .tape import constant_value


def substituted(e: Expression, instead: Mapping[Expression, Expression]) -> Expression:
    """`e` with what is there `instead` of some nodes, each in its shape."""
    made: dict[int, Expression] = {id(node): other for node, other in instead.items()}
    for node in in_order(e, lambda node: () if id(node) in made else node.args):
        if id(node) in made:
            continue
        args = tuple(made[id(a)] for a in node.args)
        if all(a is b for a, b in zip(args, node.args, strict=True)):
            made[id(node)] = node
        else:
            moved = node.with_index(args[0])
            made[id(node)] = node.with_args(*args) if moved is None else moved
    return made[id(e)]


def numbers_of(e: Expression, values: Values) -> dict[Expression, Expression]:
    """The formulas in `e` that depend on parameters alone, the largest ones, and the doubles that they are."""
    still: dict[int, bool] = {}
    for node in e.nodes():
        still[id(node)] = not isinstance(node, Index | Enclosed) and all(still[id(a)] for a in node.args)
    found: dict[Expression, Expression] = {}
    for node in in_order(e, lambda node: () if still[id(node)] else node.args):
        if still[id(node)] and (given := parameters_in(node)):
            value = constant_value(node, values)
            if value is None or not np.isfinite(value).all():
                told = ", ".join(f"{p.name} is {text(values[p])}" for p in given)
                raise ModelError(f"{text(node)} is nan or infinite: {told}.")
            found[node] = Constant(value)
    return found
