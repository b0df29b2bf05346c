"""The numbers among the addends of an index expression, so that they are added up with those beside it.

In `x + 1e16 + 1 <= t + 1e16` the numbers on both sides cancel, which floats and enclosures do not see: their sum is
taken exactly, and what depends on the index is left.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np

from ..deadline import EFFORT
from .arrangements import Gather, Join, Sum
from .graph import Constant, Expression, in_order
from .operands import Ints
from .operations import Add, Negate
from .sums import Array, DoubleDouble, Scattered

Summed: TypeAlias = Add | Negate | Gather | Sum | Join


class Addends(NamedTuple):
    """Elements `taken` of a node that are added to `rows`, each so many `times`; negative ones are taken away."""

    rows: Ints
    taken: Ints
    times: Array


def numbers_in(e: Expression) -> tuple[list[Scattered], bool]:
    """The numbers that are added in every element of `e`, as far as sums, signs and rearrangements show them.

    It also says whether some number is added more than once, or taken away again, within one of them. A part that is
    added often is looked at once: a loop that doubles a sum makes a few nodes, and 2 ** 60 addends.
    """
    every = np.arange(e.size)
    waiting: dict[int, list[Addends]] = {id(e): [Addends(every, every, np.ones(e.size))]}
    found: list[Scattered] = []
    left, several = EFFORT.entries, False
    for node in reversed(_in_order(e)):
        mine = _merged(waiting.pop(id(node), []), node.size)
        left -= mine.rows.size
        if left < 0 or np.abs(mine.times).max(initial=0.0) > 2.0**53:
            return [], False
        if isinstance(node, Constant):
            value = node.value.ravel()[mine.taken]
            some = value != 0
            several = several or bool((np.abs(mine.times[some]) != 1).any())
            found.append(Scattered(mine.rows[some], DoubleDouble(value[some]).times(mine.times[some])))
        elif isinstance(node, Sum) and mine.rows.size * node.k > left:
            return [], False
        else:
            for part, addends in _passed_on(node, mine):
                waiting.setdefault(id(part), []).append(addends)
    return [scattered for scattered in found if scattered.rows.size], several


def _in_order(e: Expression) -> list[Expression]:
    """The sums in `e`, and the numbers in them, each once and after its parts."""
    found = in_order(e, lambda node: node.args[::-1] if isinstance(node, Summed) else ())
    return [n for n in found if isinstance(n, Summed) or (isinstance(n, Constant) and not n.rounded)]


def _merged(parts: list[Addends], size: int) -> Addends:
    """The same with every pair of a row and an element once."""
    if not parts:
        return Addends(np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp), np.zeros(0))
    rows, taken, times = (np.concatenate(found) for found in zip(*parts, strict=True))
    pairs, first, place = np.unique(rows * size + taken, return_index=True, return_inverse=True)
    if len(pairs) == len(rows):
        return Addends(rows, taken, times)
    return Addends(rows[first], taken[first], np.bincount(place, times, len(pairs)).astype(np.float64))


def _passed_on(e: Expression, mine: Addends) -> Iterator[tuple[Expression, Addends]]:
    """What is asked of the parts of a sum, where this is asked of it."""
    if isinstance(e, Add):
        first = np.zeros_like(mine.taken)  # a scalar stands for all elements
        for part in e.args:
            yield part, mine if part.size == e.size else mine._replace(taken=first)
    elif isinstance(e, Negate):
        yield e.args[0], mine._replace(times=-mine.times)
    elif isinstance(e, Gather):
        yield e.args[0], mine._replace(taken=e.index[mine.taken])
    elif isinstance(e, Sum):
        within = (mine.taken[:, None] * e.k + np.arange(e.k)).ravel()
        yield e.args[0], Addends(np.repeat(mine.rows, e.k), within, np.repeat(mine.times, e.k))
    elif isinstance(e, Join):
        yield from _parts(e, mine)


def _parts(e: Join, mine: Addends) -> Iterator[tuple[Expression, Addends]]:
    """The same for the parts of a join of which some elements are taken."""
    starts = np.cumsum([0, *e.sizes])
    which = np.searchsorted(starts, mine.taken, side="right") - 1
    order = np.argsort(which, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(which[order], prepend=-1)), len(order))
    for a, b in pairwise(ends.tolist()):
        here, k = order[a:b], int(which[order[a]])
        yield e.args[k], Addends(mine.rows[here], mine.taken[here] - starts[k], mine.times[here])


def without_numbers(e: Expression) -> Expression | None:
    """What is left of `e` without the numbers that `numbers_in` finds; None if that is nothing."""
    left: dict[int, Expression | None] = {}
    for node in in_order(e, lambda node: node.args if isinstance(node, Summed) else ()):
        if isinstance(node, Summed):
            left[id(node)] = _without(node, [left[id(part)] for part in node.args])
        else:
            left[id(node)] = None if isinstance(node, Constant) and not node.rounded else node
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
    return e.with_args(*parts)


def _spread(part: Expression, e: Expression) -> Expression:
    """A part of a sum in the shape of the sum."""
    if part.shape == e.shape:
        return part
    positions = np.arange(e.size) if part.size == e.size else np.zeros(e.size, dtype=np.intp)
    return Gather(part, positions.reshape(e.shape))
