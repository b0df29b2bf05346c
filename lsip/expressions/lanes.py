"""Evaluating only some elements of an array-valued expression, different ones at every point.

A vector-valued constraint with a thousand components is asked at a thousand points for one component each. Walking
the graph from the outputs down, each node is computed for the elements ("lanes") that are wanted of it: a million
numbers become a thousand.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .graph import Expression, Pass
from .interval import Array, Interval
from .jets import Jet, Numbers, triangle
from .operands import Ints as Lanes
from .tape import Tape


def evaluate_lanes(tape: Tape, y: Array, lanes: Lanes, order: int) -> tuple[Array, Array, Array]:
    """Outputs `lanes[n]` (N, s) at the points y[n]: values (N, s), gradients (m, N, s), packed Hessians."""
    walk = _Walk(tape, Pass(y, order, tape.offsets))
    with np.errstate(all="ignore"):
        jet: Jet[Any] = walk.visit(tape.output, lanes)
    m = tape.dim
    shapes = (lanes.shape, (m, *lanes.shape), (len(triangle(m)[0]), *lanes.shape))
    value, gradient, hessian = (
        np.zeros(s) if part is None else np.broadcast_to(part, s) for part, s in zip(jet[:3], shapes, strict=True)
    )
    return value, gradient, hessian


def enclose_lanes(tape: Tape, lower: Array, upper: Array, lanes: Lanes) -> Interval:
    """Outward-rounded outputs `lanes[n]` (N, s) over the boxes [lower[n], upper[n]], for graphs without kinks."""
    walk = _Walk(tape, Pass(Interval(lower, upper), 0, tape.offsets))
    with np.errstate(all="ignore"):
        jet: Jet[Any] = walk.visit(tape.output, lanes)
    return jet.value.each(lambda v: np.broadcast_to(v, lanes.shape))


class _Walk:
    """One evaluation; results are remembered by node and lanes."""

    def __init__(self, tape: Tape, run: Pass) -> None:
        self.tape, self.run = tape, run
        self.known: dict[tuple[int, bytes], Jet[Numbers]] = {}

    def visit(self, i: int, lanes: Lanes) -> Jet[Numbers]:
        node = self.tape.nodes[i]
        if node.size == 1:
            lanes = np.zeros((len(lanes), 1), dtype=np.intp)
        key = (i, lanes.tobytes())
        if key not in self.known:
            self.known[key] = self._compute(i, node, lanes)
        return self.known[key]

    def _compute(self, i: int, node: Expression, lanes: Lanes) -> Jet[Numbers]:
        args = self.tape.args[i]
        return node.lanes(lambda j, wanted: self.visit(args[j], wanted), lanes, self.run)
