"""A graph put in order, ready to be evaluated many times: values, derivatives, and enclosures over boxes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..deadline import check
from ..kernel.native import NativeTape, in_use
from .compiled import Instructions, assemble
from .defined import SURE, Doubt
from .graph import Constant, Expression, Index, Pass
from .interval import Array, Interval
from .jets import Jet, Numbers, triangle
from .ordered import Ordered
from .parameter import Parameter, Values, current
from .quadratics import Quadratic, expanded, middle, spread
from .slopes import Slopes


class Absent(NamedTuple):
    """Which of N boxes and K outputs may be without a finite value, and positions of the partial nodes in doubt."""

    outputs: NDArray[np.bool_]  # (N, K)
    nan: NDArray[np.bool_]  # (N, K), those that may be without any value: infinities compare as they should
    nodes: set[int]


class Tape:
    """The nodes below some outputs, each once, for values of their parameters."""

    def __init__(
        self,
        outputs: tuple[Expression, ...],
        indices: tuple[Index, ...],
        instead: dict[Index, Expression] | None = None,
        values: Values | None = None,
        before: Tape | None = None,
    ) -> None:
        """The outputs as functions of `indices`; `instead` has other indices as functions of these.

        Parameters have these `values`, or those that they have now. The same tape `before`, with other values, shares
        all that does not depend on them.
        """
        self.outputs, self.given = outputs, instead
        self.ordered: Ordered = _ordered(outputs, indices, instead) if before is None else before.ordered
        ordered = self.ordered
        self.offsets, self.dim, self.sizes = ordered.offsets, ordered.dim, [o.size for o in outputs]
        self.nodes, self.args, self.output, self.written = ordered.nodes, ordered.args, ordered.output, ordered.written
        self.kinks, self.kink_count, self.kink_arguments = ordered.kinks, ordered.kink_count, ordered.kink_arguments
        self.jumps, self.watched, self.steps, self.still = ordered.jumps, ordered.watched, ordered.steps, ordered.still
        self.constants: dict[bool, list[Jet[Numbers] | None]] = {}
        self.still_doubts: dict[int, Doubt | None] = {}
        self._before = before  # until its instructions have served
        while self._before is not None and "instructions" not in vars(self._before):
            self._before = self._before._before
        self.known: dict[Parameter, Array] = {}
        if ordered.parameters:
            values = current(ordered.parameters.values()) if values is None else values
            self.known = {p: values[p] for p in ordered.parameters.values()}
            self.nodes = _bound(ordered.nodes, values)
            self.written = ordered.written._replace(nodes=_bound(ordered.written.nodes, values))

    def __reduce__(self) -> tuple[type[Tape], tuple[Any, ...]]:
        """It is made again: kinks are known by the identities of nodes, and the kernel's memory is its own."""
        return Tape, (self.outputs, tuple(self.offsets), self.given, self.known)

    def bound(self, values: Values) -> Tape:
        """The tape for these values of its parameters: itself, or one that shares all that does not depend on them."""
        if all(np.array_equal(known, values[p]) for p, known in self.known.items()):
            return self
        return Tape(self.outputs, tuple(self.offsets), self.given, values, self)

    def _forward(self, results: list[Any], run: Pass, doubts: dict[int, Doubt | None] | None = None) -> Iterator[int]:
        """Compute what varies, one node after the other; results are let go once nothing after them needs them.

        A jump has to know where its condition may be undefined: `doubts` are those found so far.
        """
        boxes = isinstance(run.y, Interval)
        for i, forward, args, done in self.steps:
            if boxes:
                check("enclosures")
            if doubts is not None and i in self.jumps and (doubt := doubts[args[0]]) is not None:
                run.doubts[id(self.nodes[i])] = doubt
            results[i] = forward([results[a] for a in args], run)
            yield i
            for a in done:
                results[a] = None

    def _run(self, run: Pass) -> tuple[Jet[Any], list[Jet[Any]]]:
        """The outputs, and the arguments of all kinks."""
        with np.errstate(all="ignore"):
            results: list[Any] = self._constants(run)
            doubts = self._still_doubts(results, run) if self.jumps and isinstance(run.y, Interval) else None
            for i in self._forward(results, run, doubts):
                if doubts is not None and i in self.watched:
                    doubts[i] = self._doubt(i, results, doubts, run)
        return results[self.output], [results[a] for a in self.kink_arguments]

    def _doubt(
        self,
        i: int,
        results: list[Any],
        doubts: dict[int, Doubt | None],
        run: Pass,
        within: dict[int, tuple[float, float]] | None = None,
    ) -> Doubt | None:
        """What is doubtful of a result; None if it is finite, and nothing is. With `within`, where it may be absent."""
        node, value, args = self.nodes[i], results[i].value, self.args[i]
        if not node.partial and all(doubts[a] is None for a in args) and np.isfinite(value.lo.sum() + value.hi.sum()):
            return None
        known = [_sure(results[a].value) if (d := doubts[a]) is None else d for a in args]
        boxes = [results[a].value for a in args]
        if within is None:
            return np.broadcast_to(node.doubt(boxes, known, value, run), value.shape)
        if i in within:
            low, high = within[i]
            boxes = [Interval(np.clip(u.lo, low, high), np.clip(u.hi, low, high)) for u in boxes]
        return np.broadcast_to(node.absence(boxes, known, value, run), value.shape)

    def _still_doubts(self, results: list[Any], run: Pass) -> dict[int, Doubt | None]:
        """Those of nodes that do not depend on the index; computed once."""
        if not self.still_doubts:
            found: dict[int, Doubt | None] = {}
            for i in self.still:
                if i in self.watched:
                    found[i] = self._doubt(i, results, found, run)
            self.still_doubts = found  # at once: an interrupt leaves all of them or none
        return self.still_doubts.copy()

    def _constants(self, run: Pass) -> list[Jet[Numbers] | None]:
        """The results of all nodes that do not depend on the index; computed once for points and once for boxes."""
        boxes = isinstance(run.y, Interval)
        if boxes not in self.constants:
            before = None if self._before is None else self._before.constants.get(boxes)
            results: list[Jet[Numbers] | None] = [None] * len(self.nodes) if before is None else before.copy()
            for i in self.still if before is None else self.ordered.moved:
                if boxes:
                    check("enclosures")
                results[i] = self.nodes[i].forward([results[a] for a in self.args[i]], run)  # type: ignore[misc]
            self.constants[boxes] = results
        return self.constants[boxes].copy()

    @cached_property
    def instructions(self) -> Instructions | None:
        """The tape as the compiled kernel reads it, where that knows all of its nodes."""
        origin = np.zeros((1, self.dim))
        box, point = Pass(Interval(origin, origin), 0, self.offsets, self.kinks), Pass(origin, 0, self.offsets)
        with np.errstate(all="ignore"):
            known = self._constants(box), self._constants(point)
        before, self._before = self._before, None
        if before is None:
            return assemble(self, *known)
        return None if before.instructions is None else before.instructions.other(self.ordered.moved, *known)

    @cached_property
    def native(self) -> NativeTape | None:
        """The tape in the compiled kernel."""
        return None if self.instructions is None else self.instructions.native()

    @property
    def compiled(self) -> bool:
        """Whether the kernel evaluates it, here and now."""
        return in_use() and self.native is not None

    def values(self, y: Array) -> Array:
        """All outputs at the points y (N, m): shape (N, K)."""
        if self.compiled:
            return self.native.points(y, 0)[0]  # type: ignore[union-attr]
        jet, _ = self._run(Pass(y, 0, self.offsets))
        return spread(jet.value, (len(y), jet.value.shape[-1]))

    def derivatives(self, y: Array, order: int = 2) -> tuple[Array, Array, Array]:
        """Values (N, K), gradients (m, N, K) and Hessians (m (m+1) / 2, N, K) at the points y; zeros beyond `order`."""
        if self.compiled:
            second = 1 + self.dim
            found = self.native.points(y, order, second + len(triangle(self.dim)[0]))  # type: ignore[union-attr]
            return found[0], found[1:second], found[second:]
        jet, _ = self._run(Pass(y, order, self.offsets))
        return tuple(_dense(jet, len(y), self.dim))  # type: ignore[return-value]

    def enclose(self, lower: Array, upper: Array) -> Interval:
        """Outward-rounded ranges of all outputs over the boxes [lower, upper] (N, m)."""
        jet, _ = self._run(Pass(Interval(lower, upper), 0, self.offsets, self.kinks))
        shape = (len(lower), jet.value.shape[-1])
        return jet.value.each(lambda v: np.broadcast_to(v, shape))

    def absent(self, lower: Array, upper: Array, within: dict[int, tuple[float, float]] | None = None) -> Absent:
        """Which outputs may be nan or infinite somewhere on boxes (N, m): what enclosures do not say.

        `within` has, by the positions of nodes, the ends between which their arguments are known to lie.
        """
        run = Pass(Interval(lower, upper), 0, self.offsets, self.kinks)
        known, doubts, doubtful = within or {}, dict[int, Doubt | None](), set[int]()
        with np.errstate(all="ignore"):
            results: list[Any] = self._constants(run)
            for i in self.still:
                doubts[i] = self._doubt(i, results, doubts, run, known)
            for i in self._forward(results, run, doubts):
                doubts[i] = self._doubt(i, results, doubts, run, known)
                if self.nodes[i].partial and (doubt := doubts[i]) is not None and doubt.any():
                    doubtful.add(i)
        value, doubt = results[self.output].value, doubts[self.output]
        endless = ~(np.isfinite(value.lo) & np.isfinite(value.hi))
        nan = np.zeros_like(endless) if doubt is None else doubt != SURE
        shape = (len(lower), endless.shape[-1])
        return Absent(np.broadcast_to(endless | nan, shape), np.broadcast_to(nan, shape), doubtful)

    def unbounded(self, lower: Array, upper: Array) -> Expression | None:
        """What the user wrote that has no bounds over a box (1, m), though its parts do; None if that is unknown."""
        run = Pass(Interval(lower, upper), 0, self.offsets, self.kinks)
        with np.errstate(all="ignore"):
            results: list[Any] = self._constants(run)
            for i in self._forward(results, run):
                value = results[i].value
                if not (np.isfinite(value.lo) & np.isfinite(value.hi)).all():
                    return self.typed(i)
        return None

    def typed(self, i: int) -> Expression | None:
        """The node itself if the user typed it, else the first one after it that it is part of."""
        while not self.nodes[i].origin:
            i = next((j for j in range(i + 1, len(self.nodes)) if i in self.args[j]), -1)
            if i < 0:
                return None
        return self.nodes[i]

    def gradients(self, lower: Array, upper: Array) -> Interval:
        """Outward-rounded ranges of all gradients over the boxes: shape (m, N, K)."""
        jet, _ = self._run(Pass(Interval(lower, upper), 1, self.offsets, self.kinks))
        shape = (self.dim, len(lower), jet.value.shape[-1])
        if jet.gradient is None:
            return Interval.point(np.zeros(shape))
        return jet.gradient.each(lambda v: np.broadcast_to(v, shape))

    def linear(self) -> Slopes | None:
        """All outputs with their slopes, outward rounded, if they are affine in the index; None if not."""
        if self.kink_count:
            return None
        origin = np.zeros((1, self.dim))
        with np.errstate(all="ignore"):
            constants = self._constants(Pass(Interval(origin, origin), 0, self.offsets, self.kinks))
            found: list[Any] = [None if jet is None else Slopes.none(jet.value[0]) for jet in constants]
            for i, _, args, done in self.steps:
                found[i] = self.nodes[i].slopes([found[a] for a in args], self.offsets, self.dim)
                if found[i] is None:
                    return None
                for a in done:
                    found[a] = None
        return found[self.output]

    def quadratics(
        self, lower: Array, upper: Array, pieces: NDArray[np.int8] | None = None, order: int = 2
    ) -> tuple[Quadratic, Quadratic | None, NDArray[np.bool_] | None]:
        """Quadratic enclosures of the outputs and of the arguments of all kinks, and which kinks straddle zero.

        `pieces` (N, kinks) fixes the branch of some kinks; a fixed branch is extended smoothly over the whole box.
        """
        if in_use() and self.native is not None:
            check("enclosures")
            found, sides, straddles = self.native.quadratics(lower, upper, pieces, order)
            return Quadratic(*found), Quadratic(*sides) if self.kink_count else None, straddles
        n = len(lower)
        centre, radius = middle(lower, upper)
        # Centres and boxes run through the graph together: half the overhead, and the same rounding.
        y = Interval(np.concatenate([centre, lower]), np.concatenate([centre, upper]))
        run = Pass(y, order, self.offsets, self.kinks)
        if self.kink_count:
            run.straddles = np.zeros((2 * n, self.kink_count), dtype=bool)
            run.pieces = None if pieces is None else np.concatenate([pieces, pieces])
        jet, arguments = self._run(run)
        check("enclosures")
        outputs = expanded(jet, radius, order)
        if not self.kink_count:
            return outputs, None, None
        parts = [expanded(a, radius, order) for a in arguments]
        kinks = Quadratic(*(np.concatenate(list(field), axis=-1) for field in zip(*parts, strict=True)))
        for kink, doubt in run.doubts.items():
            # Where an argument may be undefined, its enclosure says nothing about the side that is taken there.
            error = kinks.error[:, self.kinks[kink]]
            error[np.broadcast_to(doubt, (2 * n, error.shape[-1]))[n:] != SURE] = np.inf
        return outputs, kinks, run.straddles[n:]  # type: ignore[index]


def _ordered(
    outputs: tuple[Expression, ...], indices: tuple[Index, ...], instead: dict[Index, Expression] | None
) -> Ordered:
    """The graph in order; closed forms depend on where their arguments are, over the boxes around all index sets."""
    lower = np.concatenate([np.zeros(0), *(index.domain.lower for index in indices)])
    upper = np.concatenate([np.zeros(0), *(index.domain.upper for index in indices)])

    def reach(e: Expression) -> tuple[float, float]:
        found = Tape((e,), indices, instead).enclose(lower[None], upper[None])
        return float(found.lo.min()), float(found.hi.max())

    return Ordered(outputs, indices, instead, reach)


def _bound(nodes: list[Expression], values: Values) -> list[Expression]:
    """The nodes with the values of parameters in their places."""
    return [Constant(values[node]) if isinstance(node, Parameter) else node for node in nodes]


def _sure(value: Interval) -> Doubt:
    return np.full(value.shape, SURE)


def _dense(jet: Jet[Array], n: int, m: int) -> list[Array]:
    size = jet.value.shape[-1]
    shapes = ((n, size), (m, n, size), (len(triangle(m)[0]), n, size))
    return [np.zeros(s) if part is None else spread(part, s) for part, s in zip(jet, shapes, strict=False)]


def constant_value(e: Expression, values: Values | None = None) -> Array | None:
    """The numbers in an expression that does not depend on any index, None if it does.

    Parameters have these `values`, or those that they have now.
    """
    if isinstance(e, Constant):
        return e.value
    if e.indices():
        return None
    return Tape((e,), (), values=values).values(np.zeros((1, 0))).reshape(e.shape)
