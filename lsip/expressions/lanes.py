"""Evaluating only some elements of an array-valued expression, different ones at every point.

A vector-valued constraint with a thousand components is asked at a thousand points for one component each. Walking
the graph from the outputs down, each node is computed for the elements ("lanes") that are wanted of it: a million
numbers become a thousand.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .graph import Lanes, Pass
from .interval import Array, Interval
from .jets import Jet, triangle
from .operands import Ints
from .tape import Tape


def evaluate_lanes(tape: Tape, y: Array, lanes: Ints, order: int) -> tuple[Array, Array, Array]:
    """Outputs `lanes[n]` (N, s) at the points y[n]: values (N, s), gradients (m, N, s), packed Hessians."""
    jet, m = _computed(tape, Pass(y, order, tape.offsets), lanes), tape.dim
    shapes = (lanes.shape, (m, *lanes.shape), (len(triangle(m)[0]), *lanes.shape))
    value, gradient, hessian = (
        np.zeros(s) if part is None else np.broadcast_to(part, s) for part, s in zip(jet[:3], shapes, strict=True)
    )
    return value, gradient, hessian


def enclose_lanes(tape: Tape, lower: Array, upper: Array, lanes: Ints) -> Interval:
    """Outward-rounded outputs `lanes[n]` (N, s) over the boxes [lower[n], upper[n]], for graphs without kinks."""
    jet = _computed(tape, Pass(Interval(lower, upper), 0, tape.offsets), lanes)
    return jet.value.each(lambda v: np.broadcast_to(v, lanes.shape))


@np.errstate(all="ignore")
def _computed(tape: Tape, run: Pass, lanes: Ints) -> Jet[Any]:
    """The output; results are remembered by node and lanes, and nothing recurses, as graphs may be very deep."""
    known: dict[tuple[int, bytes], Jet[Any]] = {}
    stack: list[tuple[tuple[int, bytes], Lanes]] = []
    i, value = tape.output, None
    while True:
        if tape.nodes[i].size == 1:
            lanes = np.zeros((len(lanes), 1), dtype=np.intp)
        key = i, lanes.tobytes()
        value = known.get(key)
        if value is None:  # which is also what begins with it
            stack.append((key, tape.nodes[i].lanes(lanes, run)))
        while stack:
            (at, _), asking = stack[-1]
            try:
                j, lanes = asking.send(value)
            except StopIteration as done:
                known[stack.pop()[0]] = value = done.value
            else:
                i = tape.args[at][j]
                break
        else:
            assert value is not None
            return value
