"""An expression with another one in the place of an index."""

from __future__ import annotations

from .graph import Expression, Index


def substituted(e: Expression, index: Index, other: Expression) -> Expression:
    """`e` with `other` wherever `index` was; both have one shape. Without recursion, each node once."""
    made: dict[int, Expression] = {id(index): other}
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
        elif (instead := node.with_index(args[0])) is not None:
            made[id(node)] = instead
        else:
            made[id(node)] = _copied(node, args)
    return made[id(e)]


def _copied(node: Expression, args: tuple[Expression, ...]) -> Expression:
    """The same operation on other arguments; what was typed is not what stands there now."""
    copy: Expression = object.__new__(type(node))
    copy.__dict__.update({**node.__dict__, "args": args})
    copy.__dict__.pop("origin", None)
    return copy
