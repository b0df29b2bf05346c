"""Evaluating only some elements of an array-valued expression, different ones at every point.

A vector-valued constraint with a thousand components is asked at a thousand points for one component each. Walking
the graph from the outputs down, each node is computed for the elements ("lanes") that are wanted of it: a million
numbers become a thousand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import jets
from .chebyshev import ChebyshevSums
from .enclosed import Enclosed
from .graph import Constant, Expression, Gather, Index, Join, Linear, Pass, Power, Sum, choose
from .interval import Array, Interval
from .jets import Jet, Numbers, triangle
from .monomials import Monomials
from .powers import power, power_first, power_second, power_third
from .tape import Tape

Lanes = NDArray[np.intp]


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
        if isinstance(node, Constant):
            return Jet(node.numbers(node.value.ravel()[lanes], self.run))
        if isinstance(node, Index):
            place = self.run.offsets[node] + lanes
            axes = np.arange(self.tape.dim)[:, None, None]
            value = _ends(self.run.y, lambda v: np.take_along_axis(v, place, axis=1))
            return Jet(value, self.run.known((axes == place).astype(float)) if self.run.order else None)
        if isinstance(node, Gather):
            return self.visit(args[0], node.index[lanes])
        if isinstance(node, Join):
            return self._join(node, args, lanes)
        if isinstance(node, Sum):
            return self._sum(node, args[0], lanes)
        if isinstance(node, Linear | Monomials | ChebyshevSums | Enclosed):
            return self._whole(node, args, lanes)
        if isinstance(node, Power):
            k = node.exponents.ravel()[lanes if node.exponents.size > 1 else np.zeros_like(lanes)]
            u = self.visit(args[0], lanes)
            return jets.chain(u, lambda v: power(v, k), power_first(k), power_second(k), power_third(k), self.run.order)
        return node.forward([self.visit(a, lanes) for a in args], self.run)

    def _whole(self, node: Expression, args: tuple[int, ...], lanes: Lanes) -> Jet[Numbers]:
        """Nodes in which every element depends on all of the argument are computed in full."""
        n = len(lanes)
        full = [
            self.visit(a, np.broadcast_to(np.arange(self.tape.nodes[a].size), (n, self.tape.nodes[a].size)))
            for a in args
        ]
        jet = node.forward(full, self.run)
        return jets.each(jet, lambda v: _pick(v, lanes))

    def _sum(self, node: Sum, arg: int, lanes: Lanes) -> Jet[Numbers]:
        n, s = lanes.shape
        wide = (lanes[:, :, None] * node.k + np.arange(node.k)).reshape(n, s * node.k)

        def total(v: Numbers) -> Numbers:
            shape = (*v.shape[:-2], n, s * node.k)
            v = _ends(v, lambda e: np.broadcast_to(e, shape).reshape(*shape[:-1], s, node.k))
            return v.sum() if isinstance(v, Interval) else v.sum(-1)

        return jets.each(self.visit(arg, wide), total)

    def _join(self, node: Join, args: tuple[int, ...], lanes: Lanes) -> Jet[Numbers]:
        parts: list[Any] = [None] * 4
        start = 0
        for arg, size in zip(args, node.sizes, strict=True):
            mine = (lanes >= start) & (lanes < start + size)
            if mine.any():
                jet = self.visit(arg, np.clip(lanes - start, 0, size - 1))
                for d, part in enumerate(jet):
                    if part is not None:
                        parts[d] = choose(mine, ~mine, part, parts[d], True, self.run.entries(d))
            start += size
        return Jet(*parts)


def _ends(v: Numbers, operation: Callable[[Array], Array]) -> Numbers:
    """Apply an operation that moves elements to an array, or to both ends of intervals."""
    return v.each(operation) if isinstance(v, Interval) else operation(v)


def _pick(v: Numbers, lanes: Lanes) -> Numbers:
    shape = (*v.shape[:-2], len(lanes), v.shape[-1])
    where = np.broadcast_to(lanes, (*v.shape[:-2], *lanes.shape))
    return _ends(v, lambda e: np.take_along_axis(np.broadcast_to(e, shape), where, axis=-1))
