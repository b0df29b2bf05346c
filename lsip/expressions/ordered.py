"""A graph put in order: its nodes, each once and after its arguments, tidied, in closed form where that is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .arrangements import Gather, Join, Linear
from .graph import Constant, Expression, Index, in_order
from .kinks import Select
from .operands import Shape
from .operations import Multiply, Negate
from .parameter import Parameter
from .recurrences import Closed, closed_forms
from .stacking import Nodes, stacked

Range = Callable[[Expression], tuple[float, float]]  # between which numbers an expression lies, over all index sets


class FormulaSteps(NamedTuple):
    """The nodes of a tape as the formula has them, without closed forms: what a proof is about."""

    nodes: list[Expression]
    args: list[tuple[int, ...]]
    output: int

    def steps(self) -> Iterator[tuple[int, Expression, tuple[int, ...]]]:
        """The nodes that the output depends on, in order, with their positions and arguments."""
        for i in sorted(below({self.output}, self.args)):
            yield i, self.nodes[i], self.args[i]


class Ordered:
    """The nodes below some outputs, in the order in which they can be computed, whatever values parameters have."""

    def __init__(
        self,
        outputs: tuple[Expression, ...],
        indices: tuple[Index, ...],
        instead: dict[Index, Expression] | None,
        reach: Range,
    ) -> None:
        """The outputs as functions of `indices`; `instead` has other indices as functions of these."""
        self.instead = {id(index): e for index, e in (instead or {}).items()}
        self.offsets: dict[Index, int] = {}
        start = 0
        for index in indices:
            self.offsets[index] = start
            start += index.domain.dim
        self.dim = start
        self.nodes: list[Expression] = []
        self.args: list[tuple[int, ...]] = []
        self.kinks: dict[int, slice] = {}
        self.kink_count = 0
        self.output = self._sort(Join(tuple(_flattened(outputs))))
        self.written = FormulaSteps(self.nodes, self.args, self.output)
        self._close(reach)
        (self.nodes, self.args), self.output = stacked(Nodes(self.nodes, self.args), self.output)
        # The argument of every kink is an output too: branch-and-bound needs its sign and its slope.
        live = below({self.output}, self.args)  # simplifying leaves some behind
        kinked = [(i, n) for i, n in enumerate(self.nodes) if i in live and n.kinked]
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
        order = [i for i, v in enumerate(varies) if v and i in live]
        last_use = self._lifetimes(order)
        self.steps = [(i, self.nodes[i].forward, self.args[i], last_use[i]) for i in order]
        self.still = [i for i, v in enumerate(varies) if not v and i in live]
        self.parameters = parameters_of(self.nodes)
        depending = above(set(self.parameters), self.args) if self.parameters else set()
        self.moved = [i for i in self.still if i in depending]  # by parameters

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

    def _close(self, reach: Range) -> None:
        """Put recurrences in closed form: one node for all polynomials of one argument, and elements of it."""

        def ends(i: int) -> tuple[float, float]:
            if any(isinstance(self.nodes[k], Parameter) for k in below({i}, self.args)):
                return -np.inf, np.inf  # whatever it is now, it may be another one later
            return reach(self.nodes[i])

        forms = closed_forms(self.nodes, self.args, self.output, ends)
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


def parameters_of(nodes: list[Expression]) -> dict[int, Parameter]:
    """Parameters by their positions."""
    return {i: node for i, node in enumerate(nodes) if isinstance(node, Parameter)}


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
