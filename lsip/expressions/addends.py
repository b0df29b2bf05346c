"""The numbers among the addends of an index expression, so that they are added up with those beside it.

In `x + 1e16 + 1 <= t + 1e16` the numbers on both sides cancel, which floats and enclosures do not see: their sum is
taken exactly, and what depends on the index is left.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from .graph import Add, Constant, Expression, Gather, Join, Negate, Sum
from .operands import Ints
from .sums import Kept, Scattered


def numbers_in(e: Expression) -> list[Scattered]:
    """The numbers that are added in every element of `e`, as far as sums, signs and rearrangements show them."""
    every = np.arange(e.size)
    return [Scattered(rows, numbers) for rows, numbers in _found(e, every, every, 1.0) if rows.size]


def _found(e: Expression, rows: Ints, taken: Ints, sign: float) -> Iterator[tuple[Ints, Kept]]:
    """For elements `taken` of `e`, which are addends of `rows`, the numbers in them; without recursion."""
    stack = [(e, rows, taken, sign)]
    while stack:
        e, rows, taken, sign = stack.pop()
        if isinstance(e, Constant) and not e.rounded:
            value = sign * e.value.ravel()[taken]
            some = value != 0
            yield rows[some], Kept(value[some])
        elif isinstance(e, Add):
            first = np.zeros_like(taken)  # a scalar stands for all elements
            stack.extend((part, rows, taken if part.size == e.size else first, sign) for part in reversed(e.args))
        elif isinstance(e, Negate):
            stack.append((e.args[0], rows, taken, -sign))
        elif isinstance(e, Gather):
            stack.append((e.args[0], rows, e.index[taken], sign))
        elif isinstance(e, Sum):
            within = (taken[:, None] * e.k + np.arange(e.k)).ravel()
            stack.append((e.args[0], np.repeat(rows, e.k), within, sign))
        elif isinstance(e, Join):
            stack.extend(reversed(list(_parts(e, rows, taken, sign))))


def _parts(e: Join, rows: Ints, taken: Ints, sign: float) -> Iterator[tuple[Expression, Ints, Ints, float]]:
    """The same for the parts of a join of which some elements are taken."""
    starts = np.cumsum([0, *e.sizes])
    which = np.searchsorted(starts, taken, side="right") - 1
    order = np.argsort(which, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(which[order], prepend=-1)), len(order))
    for a, b in pairwise(ends.tolist()):
        here, k = order[a:b], int(which[order[a]])
        yield e.args[k], rows[here], taken[here] - starts[k], sign


def without_numbers(e: Expression) -> Expression | None:
    """What is left of `e` without the numbers that `numbers_in` finds; None if that is nothing. Without recursion."""
    left: dict[int, Expression | None] = {}
    stack: list[tuple[Expression, bool]] = [(e, False)]
    while stack:
        node, ready = stack.pop()
        if id(node) in left:
            continue
        if not isinstance(node, Add | Negate | Gather | Sum | Join):
            left[id(node)] = None if isinstance(node, Constant) and not node.rounded else node
        elif ready:
            left[id(node)] = _without(node, [left[id(part)] for part in node.args])
        else:
            stack.append((node, True))
            stack.extend((part, False) for part in node.args)
    return left[id(e)]


def _without(e: Expression, kept: list[Expression | None]) -> Expression | None:
    """The same of what is left of its arguments."""
    if all(rest is part for part, rest in zip(e.args, kept, strict=True)):
        return e
    if all(rest is None for rest in kept):
        return None
    if isinstance(e, Add):
        parts = [rest for rest in kept if rest is not None]
        return _spread(parts[0], e) if len(parts) == 1 else Add(parts[0], parts[1], e.shape)
    parts = [Constant(np.zeros(p.size)) if rest is None else rest for p, rest in zip(e.args, kept, strict=True)]
    if isinstance(e, Join):
        return Join(tuple(parts))
    if isinstance(e, Negate):
        return Negate(parts[0])
    if isinstance(e, Sum):
        return Sum(parts[0], e.k)
    assert isinstance(e, Gather)
    return Gather(parts[0], e.index.reshape(e.shape))


def _spread(part: Expression, e: Expression) -> Expression:
    """A part of a sum in the shape of the sum."""
    if part.shape == e.shape:
        return part
    positions = np.arange(e.size) if part.size == e.size else np.zeros(e.size, dtype=np.intp)
    return Gather(part, positions.reshape(e.shape))
