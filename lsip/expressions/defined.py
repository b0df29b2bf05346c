"""Where over a box an expression may be undefined: what a comparison in np.where has to know beside its enclosure.

Values follow NumPy. log 0 is -inf and exp 1000 is inf, which compare as they should, and their enclosures reach as
far; sqrt(-1), inf - inf and 0 inf are nan, and every comparison with nan is false. Enclosures hold the values where an
expression is defined and are silent about the rest, so each part of a condition comes with a `Doubt`, one of

    SURE   its value is in the enclosure at every point of the box,
    MAYBE  or it is nan,
    WILD   or it is anything: 1 / 0 is inf or -inf, as the sign of a zero has it,
    NEVER  it is nan at every point of the box.

They are ordered so that an operation is as doubtful as the worst of its operands.
"""

from __future__ import annotations

from functools import reduce

import numpy as np
from numpy.typing import NDArray

from .interval import Interval

Doubt = NDArray[np.int8]  # broadcasts against the values, (N, size)

SURE, MAYBE, WILD, NEVER = np.arange(4, dtype=np.int8)


def worst(*doubts: Doubt) -> Doubt:
    """The doubt about an operation on operands with these."""
    return reduce(np.maximum, doubts)


def either(a: Doubt, b: Doubt) -> Doubt:
    """The doubt about one of two, nobody knows which."""
    a, b = np.broadcast_arrays(a, b)
    possible = np.maximum(np.where(a == NEVER, MAYBE, a), np.where(b == NEVER, MAYBE, b))
    return np.where(a == b, a, possible)


def silent(value: Interval) -> Doubt:
    """Results without any bound may be undefined, too: inf - inf is enclosed by everything."""
    return np.where((value.lo > -np.inf) | (value.hi < np.inf), SURE, MAYBE)


def vanishing(a: Interval, b: Interval) -> Doubt:
    """Products of zero and something infinite, or so large that it overflows."""
    nothing = (a.lo <= 0) & (a.hi >= 0) & (np.isinf(b.lo) | np.isinf(b.hi))
    return np.where(nothing | ((b.lo <= 0) & (b.hi >= 0) & (np.isinf(a.lo) | np.isinf(a.hi))), MAYBE, SURE)
