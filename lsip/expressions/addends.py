"""The numbers among the addends of an index expression, so that they are added up with those beside it.

In `x + 1e16 + 1 <= t + 1e16` the numbers on both sides cancel, which floats and enclosures do not see: their sum is
taken exactly, and what depends on the index is left.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .graph import Add, Constant, Expression, Gather, Join, Negate, Sum
from .operands import Ints
from .sums import Kept, Scattered


def numbers_in(e: Expression) -> list[Scattered]:
    """The numbers that are added in every element of `e`, as far as sums, signs and rearrangements show them."""
    every = np.arange(e.size)
    return [Scattered(rows, numbers) for rows, numbers in _found(e, every, every, 1.0) if rows.size]


def _found(e: Expression, rows: Ints, taken: Ints, sign: float) -> Iterator[tuple[Ints, Kept]]:
    """For elements `taken` of `e`, which are addends of `rows`, the numbers in them."""
    if isinstance(e, Constant) and not e.rounded:
        value = sign * e.value.ravel()[taken]
        some = value != 0
        yield rows[some], Kept(value[some])
    elif isinstance(e, Add):
        for part in e.args:
            yield from _found(part, rows, taken if part.size == e.size else np.zeros_like(taken), sign)
    elif isinstance(e, Negate):
        yield from _found(e.args[0], rows, taken, -sign)
    elif isinstance(e, Gather):
        yield from _found(e.args[0], rows, e.index[taken], sign)
    elif isinstance(e, Sum):
        within = (taken[:, None] * e.k + np.arange(e.k)).ravel()
        yield from _found(e.args[0], np.repeat(rows, e.k), within, sign)
    elif isinstance(e, Join):
        start = 0
        for part, size in zip(e.args, e.sizes, strict=True):
            here = (taken >= start) & (taken < start + size)
            yield from _found(part, rows[here], taken[here] - start, sign)
            start += size


def without_numbers(e: Expression) -> Expression | None:
    """What is left of `e` without the numbers that `numbers_in` finds; None if that is nothing."""
    if isinstance(e, Constant) and not e.rounded:
        return None
    if isinstance(e, Add):
        left = [(part, without_numbers(part)) for part in e.args]
        parts = [rest for _, rest in left if rest is not None]
        if all(rest is part for part, rest in left):
            return e
        return _spread(parts[0], e) if len(parts) == 1 else Add(parts[0], parts[1], e.shape) if parts else None
    if not isinstance(e, Negate | Gather | Sum | Join):
        return e
    kept = [without_numbers(part) for part in e.args]
    if all(rest is part for part, rest in zip(e.args, kept, strict=True)):
        return e
    if all(rest is None for rest in kept):
        return None
    parts = [Constant(np.zeros(p.size)) if rest is None else rest for p, rest in zip(e.args, kept, strict=True)]
    if isinstance(e, Join):
        return Join(tuple(parts))
    if isinstance(e, Negate):
        return Negate(parts[0])
    if isinstance(e, Sum):
        return Sum(parts[0], e.k)
    return Gather(parts[0], e.index.reshape(e.shape))


def _spread(part: Expression, e: Expression) -> Expression:
    """A part of a sum in the shape of the sum."""
    if part.shape == e.shape:
        return part
    positions = np.arange(e.size) if part.size == e.size else np.zeros(e.size, dtype=np.intp)
    return Gather(part, positions.reshape(e.shape))
