"""A graph put in order, ready to be evaluated many times: values, derivatives, and enclosures over boxes.

Over a box with centre c and half-widths r, every output f is enclosed by a quadratic in the scaled coordinates d = (y
- c) / r,

    f(y) = v + g . d + d' Q d / 2 + rest,   |rest| <= error,   for all |d_i| <= 1,

with v and g taken at the centre and Q the middle of the enclosure of the Hessian over the box: the rest is of third
order. With `order` 3 there is a cubic term as well, Q is taken at the centre, and the rest is of fourth order; many
large coefficients that cancel each other then cancel in the cubic term too. Where derivatives are unbounded the
expansion falls back to a lower order, output by output.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..deadline import check
from ..kernel.native import NativeTape, in_use
from .arrangements import Gather, Join, Linear
from .compiled import Instructions, assemble
from .defined import SURE, Doubt
from .graph import Constant, Expression, Index, Pass, in_order
from .interval import EPS, NORMAL, Array, Interval, up
from .jets import Jet, Numbers, tetrahedron, triangle
from .kinks import Select
from .operands import Shape
from .operations import Multiply, Negate
from .parameter import Parameter, Values, current
from .recurrences import Closed, closed_forms
from .slopes import Slopes


class Quadratic(NamedTuple):
    """Quadratic enclosures of K outputs over N boxes, in coordinates scaled to [-1, 1]."""

    value: Array  # (N, K)
    gradient: Array  # (m, N, K)
    hessian: Array  # (m (m+1) / 2, N, K)
    third: Array  # (m (m+1) (m+2) / 6, N, K), or (0, N, K) at order 2
    rough: Array  # (m, N, K), how much an output enclosed by a constant may vary along each axis
    error: Array  # (N, K), >= 0, inf when nothing is known


class FormulaSteps(NamedTuple):
    """The nodes of a tape as the formula has them, without closed forms: what a proof is about."""

    nodes: list[Expression]
    args: list[tuple[int, ...]]
    output: int

    def steps(self) -> Iterator[tuple[int, Expression, tuple[int, ...]]]:
        """The nodes that the output depends on, in order, with their positions and arguments."""
        for i in sorted(below({self.output}, self.args)):
            yield i, self.nodes[i], self.args[i]


class Absent(NamedTuple):
    """Which of N boxes and K outputs may be without a finite value, and positions of the partial nodes in doubt."""

    outputs: NDArray[np.bool_]  # (N, K)
    nan: NDArray[np.bool_]  # (N, K), those that may be without any value: infinities compare as they should
    nodes: set[int]


class Tape:
    """The nodes below some outputs, each once, in the order in which they can be computed."""

    def __init__(
        self,
        outputs: tuple[Expression, ...],
        indices: tuple[Index, ...],
        instead: dict[Index, Expression] | None = None,
        values: Values | None = None,
    ) -> None:
        """The outputs as functions of `indices`; `instead` has other indices as functions of these.

        Parameters have these `values`, or those that they have now.
        """
        self.outputs, self.given = outputs, instead
        self.instead = {id(index): e for index, e in (instead or {}).items()}
        self.offsets: dict[Index, int] = {}
        start = 0
        for index in indices:
            self.offsets[index] = start
            start += index.domain.dim
        self.dim = start
        self.sizes = [o.size for o in outputs]
        self.nodes: list[Expression] = []
        self.args: list[tuple[int, ...]] = []
        self.kinks: dict[int, slice] = {}
        self.kink_count = 0
        self.output = self._sort(Join(tuple(_flattened(outputs))))
        self.written = FormulaSteps(self.nodes, self.args, self.output)
        self._close()
        # The argument of every kink is an output too: branch-and-bound needs its sign and its slope.
        live = self._live()
        kinked = [(i, n) for i, n in enumerate(self.nodes) if live[i] and n.kinked]
        self.kink_arguments = [self.args[i][0] for i, _ in kinked]
        for _, kink in kinked:
            self.kinks[id(kink)] = slice(self.kink_count, self.kink_count + kink.size)
            self.kink_count += kink.size
        # A jump is decided by a comparison, which has to know where its operands are undefined.
        self.jumps = {i for i, kink in kinked if isinstance(kink, Select) and not kink.continuous}
        self.watched = below({self.args[i][0] for i in self.jumps}, self.args)
        varies: list[bool] = []
        for node, args in zip(self.nodes, self.args, strict=True):
            varies.append(isinstance(node, Index) or node.kinked or any(varies[a] for a in args))
        order = [i for i, v in enumerate(varies) if v and live[i]]
        last_use = self._lifetimes(order)
        self.steps = [(i, self.nodes[i].forward, self.args[i], last_use[i]) for i in order]
        self.still = [i for i, v in enumerate(varies) if not v and live[i]]
        self.constants: dict[bool, list[Jet[Numbers] | None]] = {}
        self.still_doubts: dict[int, Doubt | None] = {}
        self.parameters = _parameters(self.nodes)
        depending = above(set(self.parameters), self.args) if self.parameters else set()
        self._moved = [i for i in self.still if i in depending]
        self._before: Tape | None = None  # the same with other values of its parameters
        self._written_parameters = _parameters(self.written.nodes)
        self.known: dict[Parameter, Array] = {}
        if self.parameters:
            self._bind(current(self.parameters.values()) if values is None else values)

    def __reduce__(self) -> tuple[type[Tape], tuple[Any, ...]]:
        """It is made again: kinks are known by the identities of nodes, and the kernel's memory is its own."""
        return Tape, (self.outputs, tuple(self.offsets), self.given, self.known)

    def bound(self, values: Values) -> Tape:
        """The tape for these values of its parameters: itself, or one that shares all that does not depend on them."""
        if all(np.array_equal(known, values[p]) for p, known in self.known.items()):
            return self
        other: Tape = object.__new__(Tape)
        vars(other).update(vars(self))
        other.constants, other.still_doubts = {}, {}
        for found in ("instructions", "native"):  # their numbers are those of the other values
            other.__dict__.pop(found, None)
        other._before = self if "instructions" in vars(self) else self._before
        other._bind(values)
        return other

    def _bind(self, values: Values) -> None:
        """Constants in the places of parameters."""
        self.known = {p: values[p] for p in self.parameters.values()}
        self.nodes = _bound(self.nodes, self.parameters, values)
        self.written = self.written._replace(nodes=_bound(self.written.nodes, self._written_parameters, values))

    def _sort(self, root: Expression) -> int:
        """Nodes that compute the same thing are merged."""
        place: dict[int, int] = {}
        known: dict[tuple[object, ...], int] = {}
        for node in in_order(root, lambda node: node.args if (other := self._other(node)) is None else (other,)):
            other = self._other(node)
            if other is not None:
                place[id(node)] = place[id(other)]
                continue
            step, args = self._simplified(node, tuple(place[id(a)] for a in node.args))
            if step is None:
                place[id(node)] = args[0]
                continue
            key = step.key()
            full_key = (type(step), key, args)
            if key is not None and full_key in known:
                place[id(node)] = known[full_key]
                continue
            place[id(node)] = len(self.nodes)
            if key is not None:
                known[full_key] = len(self.nodes)
            self.nodes.append(step)
            self.args.append(args)
        return place[id(root)]

    def _other(self, node: Expression) -> Expression | None:
        """What stands in the place of a node: of an index, or of one that takes an index apart."""
        if id(node) not in self.instead and node.args and id(node.args[0]) in self.instead:
            other = node.with_index(self.instead[id(node.args[0])])
            if other is not None:
                self.instead[id(node)] = other
        return self.instead.get(id(node))

    def _simplified(self, node: Expression, args: tuple[int, ...]) -> tuple[Expression | None, tuple[int, ...]]:
        """A cheaper node that computes the same from other arguments; None if that is the first argument itself."""
        if isinstance(node, Gather) and node.identity:  # values travel flat: a new shape is nothing to compute
            return None, args
        if isinstance(node, Gather) and isinstance(known := self.nodes[args[0]], Constant) and not known.rounded:
            return Constant(known.value.ravel()[node.index]), ()
        if isinstance(node, Multiply):
            for factor, other in (args, args[::-1]):
                sign, u = self.nodes[factor], self.nodes[other]
                if isinstance(sign, Constant) and not sign.rounded and u.size == node.size:
                    if (sign.value == 1.0).all():
                        return None, (other,)
                    if (sign.value == -1.0).all():
                        return self._simplified(Negate(u), (other,))
        if isinstance(node, Negate) and isinstance(self.nodes[args[0]], Negate):
            return None, self.args[args[0]]
        if isinstance(node, Linear) and sparse.issparse(node.matrix):
            return self._composed(node.matrix, args[0], node.shape) or (node, args)
        return node, args

    def _composed(self, outer: sparse.csr_array, arg: int, shape: Shape) -> tuple[Expression, tuple[int, ...]] | None:
        """One matrix in place of a sum of many multiples of a few functions, if its entries need no arithmetic."""
        found = self._map(arg)
        if found is None or (outer.data != 1.0).any():
            return None
        base, inner = found
        ways = outer @ (inner != 0).astype(float)
        if ways.nnz and ways.data.max() > 1:
            return None
        matrix = outer @ inner
        few = matrix.shape[1] <= 8
        return Linear(matrix.toarray() if few else matrix, self.nodes[base], shape), (base,)

    def _map(self, i: int) -> tuple[int, Any] | None:
        """A result as a sparse matrix applied to an earlier one: gathered elements of it, times one constant each.

        A second constant would have to be multiplied with the first, which rounds.
        """
        node, args = self.nodes[i], self.args[i]
        if isinstance(node, Gather):
            index = node.index
            shape = (index.size, self.nodes[args[0]].size)
            return args[0], sparse.csr_matrix((np.ones(index.size), index, np.arange(index.size + 1)), shape)
        if isinstance(node, Multiply):
            for factor, other in (args, args[::-1]):
                constant = self.nodes[factor]
                if not isinstance(constant, Constant) or constant.rounded:
                    continue
                found = self._map(other)
                if found and (found[1].data == 1.0).all():
                    factors = np.broadcast_to(constant.value.ravel(), node.size)
                    return (found[0], sparse.diags(factors) @ found[1]) if found[1].shape[0] == node.size else None
        if isinstance(node, Join):
            parts = [self._map(a) for a in args]
            if all(p is not None and p[0] == parts[0][0] for p in parts):  # type: ignore[index]
                return parts[0][0], sparse.vstack([p[1] for p in parts], format="csr")  # type: ignore[index]
        return None

    def _close(self) -> None:
        """Put recurrences in closed form: one node for all polynomials of one argument, and elements of it."""
        forms = closed_forms(self.nodes, self.args, self.output, self._reach)
        if not forms:
            return
        owner = {i: form for form in forms for i in form.places}
        nodes, args, place, made = list[Expression](), list[tuple[int, ...]](), list[int](), dict[int, int]()

        def put(node: Expression, arguments: tuple[int, ...]) -> int:
            nodes.append(node)
            args.append(arguments)
            return len(nodes) - 1

        def elements(form: Closed, index: NDArray[np.intp], origin: tuple[Any, ...]) -> int:
            if id(form) not in made:
                made[id(form)] = put(form.node, (place[form.arg],))
            node = Gather(form.node, index)
            node.origin = origin
            return put(node, (made[id(form)],))

        for i, node in enumerate(self.nodes):
            if i in owner:
                place.append(elements(owner[i], owner[i].places[i], node.origin))
            elif isinstance(node, Join) and any(a in owner for a in self.args[i]):
                parts = []
                for form, run in groupby(self.args[i], owner.get):
                    alike = list(run)
                    if form is None:
                        parts += [place[a] for a in alike]
                    else:
                        parts.append(elements(form, np.concatenate([form.places[a] for a in alike]), ()))
                place.append(put(Join(tuple(nodes[a] for a in parts)), tuple(parts)) if len(parts) > 1 else parts[0])
            else:
                place.append(put(node, tuple(place[a] for a in self.args[i])))
        self.nodes, self.args, self.output = nodes, args, place[self.output]

    def _reach(self, i: int) -> tuple[float, float]:
        """Between which numbers a node lies, over the boxes around all index sets."""
        if any(isinstance(self.nodes[k], Parameter) for k in below({i}, self.args)):
            return -np.inf, np.inf  # whatever it is now, it may be another one later
        lower = np.concatenate([np.zeros(0), *(index.domain.lower for index in self.offsets)])
        upper = np.concatenate([np.zeros(0), *(index.domain.upper for index in self.offsets)])
        found = Tape((self.nodes[i],), tuple(self.offsets), self.given).enclose(lower[None], upper[None])
        return float(found.lo.min()), float(found.hi.max())

    def _live(self) -> list[bool]:
        """Which nodes the output depends on; simplifying leaves some behind."""
        found = below({self.output}, self.args)
        return [i in found for i in range(len(self.nodes))]

    def _lifetimes(self, order: list[int]) -> list[list[int]]:
        """For every step, the results that are not needed after it."""
        keep = {self.output, *self.kink_arguments}
        last: dict[int, int] = {}
        for i in order:
            for a in self.args[i]:
                last[a] = i
        done: list[list[int]] = [[] for _ in self.nodes]
        for a, i in last.items():
            if a not in keep:
                done[i].append(a)
        return done

    def _run(self, run: Pass) -> tuple[Jet[Any], list[Jet[Any]]]:
        """The outputs, and the arguments of all kinks."""
        with np.errstate(all="ignore"):
            results = self._constants(run)
            boxes = isinstance(run.y, Interval)
            if self.jumps and boxes:
                self._run_doubting(results, run)
            else:
                for i, forward, args, done in self.steps:
                    if boxes:
                        check("enclosures")
                    results[i] = forward([results[a] for a in args], run)  # type: ignore[misc]
                    for a in done:
                        results[a] = None
        found: list[Any] = results
        return found[self.output], [found[a] for a in self.kink_arguments]

    def _run_doubting(self, results: list[Any], run: Pass) -> None:
        """The same over boxes, where every jump has to know on which its condition may be undefined."""
        doubts = self._still_doubts(results, run)
        for i, forward, args, done in self.steps:
            check("enclosures")
            node = self.nodes[i]
            doubt = doubts[args[0]] if i in self.jumps else None
            if doubt is not None:
                run.doubts[id(node)] = doubt
            results[i] = forward([results[a] for a in args], run)
            if i in self.watched:
                doubts[i] = self._doubt(i, results, doubts, run)
            for a in done:
                results[a] = None

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
            for i in self.still if before is None else self._moved:
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
        return None if before.instructions is None else before.instructions.other(self._moved, *known)

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
        return _spread(jet.value, (len(y), jet.value.shape[-1]))

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
            for i, forward, args, done in self.steps:
                check("enclosures")
                if i in self.jumps and (doubt := doubts[args[0]]) is not None:
                    run.doubts[id(self.nodes[i])] = doubt
                results[i] = forward([results[a] for a in args], run)
                doubts[i] = self._doubt(i, results, doubts, run, known)
                if self.nodes[i].partial and (doubt := doubts[i]) is not None and doubt.any():
                    doubtful.add(i)
                for a in done:
                    results[a] = None
        value, doubt = results[self.output].value, doubts[self.output]
        endless = ~(np.isfinite(value.lo) & np.isfinite(value.hi))
        nan = np.zeros_like(endless) if doubt is None else doubt != SURE
        shape = (len(lower), endless.shape[-1])
        return Absent(np.broadcast_to(endless | nan, shape), np.broadcast_to(nan, shape), doubtful)

    def unbounded(self, lower: Array, upper: Array) -> Expression | None:
        """What the user wrote that has no bounds over a box (1, m), though its parts do; None if that is unknown."""
        run = Pass(Interval(lower, upper), 0, self.offsets, self.kinks)
        with np.errstate(all="ignore"):
            results = self._constants(run)
            for i, forward, args, _ in self.steps:
                jet: Jet[Any] = forward([results[a] for a in args], run)  # type: ignore[misc]
                results[i] = jet
                if not (np.isfinite(jet.value.lo) & np.isfinite(jet.value.hi)).all():
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
        outputs = self._quadratic(jet, n, radius, order)
        if not self.kink_count:
            return outputs, None, None
        parts = [self._quadratic(a, n, radius, order) for a in arguments]
        kinks = Quadratic(*(np.concatenate(list(field), axis=-1) for field in zip(*parts, strict=True)))
        for kink, doubt in run.doubts.items():
            # Where an argument may be undefined, its enclosure says nothing about the side that is taken there.
            error = kinks.error[:, self.kinks[kink]]
            error[np.broadcast_to(doubt, (2 * n, error.shape[-1]))[n:] != SURE] = np.inf
        return outputs, kinks, run.straddles[n:]  # type: ignore[index]

    def _quadratic(self, jet: Jet[Interval], n: int, radius: Array, order: int) -> Quadratic:
        size, m = jet.value.shape[-1], self.dim
        i, j = triangle(m)
        r = radius.T[:, :, None]  # (m, n, 1)
        rr = r[i] * r[j]
        none = np.zeros((len(cubic_weights(m)) if order == 3 else 0, n, size))
        with np.errstate(all="ignore"):
            v, v_doubt = _centre(jet.value, (2 * n, size), n)
            flat, flat_error = _range(jet.value, (2 * n, size), n)
            if jet.gradient is None:
                flat_axes = np.zeros((m, n, size))
                return Quadratic(v, flat_axes, np.zeros((len(i), n, size)), none, flat_axes, up(v_doubt, 4.0))
            g, g_doubt = _centre(jet.gradient, (m, 2 * n, size), n)
            error = v_doubt + (g_doubt * r).sum(0)
            g_mid, g_rad = _range(jet.gradient, (m, 2 * n, size), n)
            first = v_doubt + ((g_rad + np.abs(g_mid - g)) * r).sum(0)
            weight = quadratic_weights(m)[:, None, None]
            h, h_rad = _range(jet.hessian, (len(i), 2 * n, size), n)
            second = error + (weight * rr * h_rad).sum(0)
            g, q = g * r, h * rr
            # Scaling by r rounded too; a few ulps of every kept term cover it.
            scaling = 8 * EPS * np.abs(g).sum(0)
            first, error = first + scaling, error + scaling
            second = _unless(_underflown(rr, r[i], r[j]), second + scaling + 8 * EPS * np.abs(q).sum(0))
            zeroth = np.where(np.isfinite(flat_error), flat_error, np.inf)
            use2 = second <= zeroth  # a nan compares false
            use1 = ~use2 & (first <= zeroth)
            use0 = ~(use2 | use1)
            third, best = none, second
            if order == 3:
                third, q, best, use2 = self._cubic(jet, n, r, rr, q, error, second, use2)
                use0 &= ~use2
                use1 &= ~use2
            rough = np.zeros((m, n, size))
            if use0.any():
                swing = (g_rad + np.abs(g_mid)) * r
                rough = np.where(use0, np.where(swing < zeroth, swing, np.where(np.isfinite(zeroth), zeroth, 1.0)), 0.0)
            if use0.any() or use1.any():
                q, third = np.where(use2, q, 0.0), np.where(use2, third, 0.0)
                g = np.where(use0, 0.0, g)
                v = np.where(use0, np.where(np.isfinite(zeroth), flat, 0.0), v)
                best = np.where(use2, best, np.where(use1, first, zeroth))
        return Quadratic(v, g, q, third, rough, up(best, 64.0 * (m + 2) ** 2))

    def _cubic(
        self,
        jet: Jet[Interval],
        n: int,
        r: Array,
        rr: Array,
        q: Array,
        error: Array,
        second: Array,
        use2: NDArray[np.bool_],
    ) -> tuple[Array, Array, Array, NDArray[np.bool_]]:
        """Where it is sharper: the Hessian at the centre, a cubic term, and the fourth-order rest."""
        m, size = self.dim, q.shape[-1]
        a, b, c = tetrahedron(m)[:3]
        rrr = r[a] * r[b] * r[c]
        t, t_rad = _range(jet.third, (len(a), 2 * n, size), n)
        h, h_doubt = _centre(jet.hessian, (len(q), 2 * n, size), n)
        t, central = t * rrr, h * rr
        fourth = error + (quadratic_weights(m)[:, None, None] * rr * h_doubt).sum(0)
        fourth = fourth + (cubic_weights(m)[:, None, None] * rrr * t_rad).sum(0)
        fourth = fourth + 8 * EPS * (np.abs(central).sum(0) + np.abs(t).sum(0))
        fourth = _unless(_underflown(rrr, r[a], r[b], r[c]), fourth)
        use3 = fourth <= second
        return (
            np.where(use3, t, 0.0),
            np.where(use3, central, q),
            np.where(use3, fourth, second),
            use2 | (use3 & np.isfinite(fourth)),
        )


def _parameters(nodes: list[Expression]) -> dict[int, Parameter]:
    """Parameters by their positions."""
    return {i: node for i, node in enumerate(nodes) if isinstance(node, Parameter)}


def _bound(nodes: list[Expression], parameters: dict[int, Parameter], values: Values) -> list[Expression]:
    """The nodes with the values of parameters in their places."""
    found = nodes.copy()
    for i, parameter in parameters.items():
        found[i] = Constant(values[parameter])
    return found


def below(roots: set[int], args: list[tuple[int, ...]]) -> set[int]:
    """Some nodes and all that they depend on, given the arguments of every node."""
    found = set(roots)
    for i in range(len(args) - 1, -1, -1):
        if i in found:
            found.update(args[i])
    return found


def above(roots: set[int], args: list[tuple[int, ...]]) -> set[int]:
    """Some nodes and all that depend on them."""
    found = set(roots)
    for i, mine in enumerate(args):
        if not found.isdisjoint(mine):
            found.add(i)
    return found


def _flattened(outputs: tuple[Expression, ...]) -> Iterator[Expression]:
    """The outputs, with joins inside joins taken apart."""
    for e in outputs:
        while isinstance(e, Gather) and e.identity:
            e = e.args[0]
        if isinstance(e, Join):
            yield from _flattened(e.args)
        else:
            yield e


def quadratic_weights(m: int) -> Array:
    """d' Q d / 2 as a sum over the stored triangle: 1/2 on the diagonal, 1 off it."""
    return np.where(np.equal(*triangle(m)), 0.5, 1.0)


def cubic_weights(m: int) -> Array:
    """The third-order term as a sum over the stored entries: 1/6 times the number of their arrangements."""
    i, j, k = tetrahedron(m)[:3]
    same = (i == j).astype(int) + (j == k)
    return np.array([1.0, 0.5, 1.0 / 6.0])[same] * (1 + 4 * EPS)


def _sure(value: Interval) -> Doubt:
    return np.full(value.shape, SURE)


def _spread(v: Array, shape: tuple[int, ...]) -> Array:
    return v if v.shape == shape else np.broadcast_to(v, shape)


def _centre(part: Interval | None, shape: tuple[int, ...], n: int) -> tuple[Array, Array]:
    """Middle and half-width at the centres, the first half of the batch."""
    if part is None:
        zero = np.zeros((*shape[:-2], n, shape[-1]))
        return zero, zero
    lo, hi = _spread(part.lo, shape)[..., :n, :], _spread(part.hi, shape)[..., :n, :]
    mid = 0.5 * lo + 0.5 * hi
    return mid, np.maximum(hi - mid, mid - lo)


def _range(part: Interval | None, shape: tuple[int, ...], n: int) -> tuple[Array, Array]:
    """Middle and half-width over the boxes, the second half of the batch."""
    if part is None:
        zero = np.zeros((*shape[:-2], n, shape[-1]))
        return zero, zero
    lo, hi = _spread(part.lo, shape)[..., n:, :], _spread(part.hi, shape)[..., n:, :]
    mid = 0.5 * lo + 0.5 * hi
    return mid, up(np.maximum(hi - mid, mid - lo))


def middle(lower: Array, upper: Array) -> tuple[Array, Array]:
    """Centres, and half-widths that reach both ends in spite of rounding."""
    centre = np.clip(0.5 * lower + 0.5 * upper, lower, upper)
    return centre, up(np.maximum(upper - centre, centre - lower)) * (upper > lower)


def _underflown(product: Array, *factors: Array) -> NDArray[np.bool_] | None:
    """Where products of radii (levels, n, 1) have lost digits, which matters beside huge derivatives; None if nowhere.

    A box has no width along some axes, mostly because it is a point: there, zero is what the product is.
    """
    if not product.size or product.min() >= NORMAL:
        return None
    positive = np.logical_and.reduce([v > 0 for v in factors])
    lost: NDArray[np.bool_] = ((product < NORMAL) & positive).any(axis=0)
    return lost if lost.any() else None


def _unless(unknown: NDArray[np.bool_] | None, error: Array) -> Array:
    """Errors (n, size), nan on boxes of which nothing is known."""
    return error if unknown is None else np.where(unknown, np.nan, error)


def _dense(jet: Jet[Array], n: int, m: int) -> list[Array]:
    size = jet.value.shape[-1]
    shapes = ((n, size), (m, n, size), (len(triangle(m)[0]), n, size))
    return [np.zeros(s) if part is None else _spread(part, s) for part, s in zip(jet, shapes, strict=False)]


def constant_value(e: Expression, values: Values | None = None) -> Array | None:
    """The numbers in an expression that does not depend on any index, None if it does.

    Parameters have these `values`, or those that they have now.
    """
    if isinstance(e, Constant):
        return e.value
    if e.indices():
        return None
    return Tape((e,), (), values=values).values(np.zeros((1, 0))).reshape(e.shape)
