"""A tape as instructions of the compiled kernel, where all of its nodes are known there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..kernel.native import FIELDS, FUNCTIONS, MOST_DIMENSIONS, OPS, NativeTape
from .graph import (
    Absolute,
    Add,
    Apply,
    Divide,
    Expression,
    Gather,
    Index,
    Join,
    Linear,
    Multiply,
    Negate,
    Power,
    Select,
    Sum,
)
from .interval import Array, Interval
from .monomials import Monomials

SIMPLE: dict[type, str] = {Add: "add", Multiply: "multiply", Divide: "divide", Negate: "negate", Join: "join"}
MOST_FACTORS = 1024.0  # up to which powers are products, and their factors exact
EIGHTHS = 8.0  # exponents are multiples of 1 / 8, so that k (k - 1) (k - 2) is exact


class UnknownNodeError(Exception):
    """A node that the kernel does not know."""


@dataclass
class Assembler:
    """Instructions, and the numbers that they refer to."""

    rows: list[list[int]] = field(default_factory=list)
    whole: list[int] = field(default_factory=list)
    real: list[float] = field(default_factory=list)

    def put(self, op: str, size: int, depth: int, args: tuple[int, ...] = (), **others: int) -> int:
        """One instruction; its place."""
        places = {"op": OPS.index(op), "size": size, "depth": depth, "arguments": len(args), "args": len(self.whole)}
        self.whole.extend(args)
        self.rows.append([(places | others).get(name, 0) for name in FIELDS])
        return len(self.rows) - 1

    def depth(self, place: int) -> int:
        return self.rows[place][FIELDS.index("depth")]

    def constant(self, box: Interval, value: Array) -> int:
        """Numbers: the ends of what is known of them, and the doubles that stand for them."""
        start, each = len(self.real), _numbers(box, value)
        self.real.extend(each.tolist())
        return self.put("constant", len(each) // 3, 0, numbers=start)

    def node(self, node: Expression, args: tuple[int, ...], offsets: dict[Index, int], kinks: dict[int, slice]) -> int:
        """A node that depends on the index."""
        depths = [self.depth(a) for a in args]
        deepest, data, numbers = max(depths, default=0), len(self.whole), len(self.real)
        if isinstance(node, Index):
            return self.put("index", node.size, 1, offset=offsets[node])
        if isinstance(node, Multiply):
            both = min(depths) > 0
            return self.put("multiply", node.size, min(3, sum(depths)) if both else deepest, args)
        if type(node) in SIMPLE:
            return self.put(SIMPLE[type(node)], node.size, deepest, args)
        if isinstance(node, Gather):
            self.whole.extend(node.index.tolist())
            return self.put("gather", node.size, deepest, args, data=data)
        if isinstance(node, Sum):
            return self.put("sum", node.size, deepest, args, width=node.k)
        if isinstance(node, Linear):
            matrix = sparse.csr_array(node.matrix)
            self.whole.extend(matrix.indptr.tolist())
            self.whole.extend(matrix.indices.tolist())
            self.real.extend(matrix.data.tolist())
            return self.put("linear", node.size, deepest, args, data=data, numbers=numbers)
        if isinstance(node, Power):
            exponents = np.broadcast_to(node.exponents.ravel(), node.size)
            if (exponents * EIGHTHS != np.round(exponents * EIGHTHS)).any() or np.abs(exponents).max() > MOST_FACTORS:
                raise UnknownNodeError
            self.real.extend(exponents.tolist())
            return self.put("power", node.size, 3 if deepest else 0, args, numbers=numbers)
        if isinstance(node, Apply) and node.function.name in FUNCTIONS:
            depth = 3 if deepest and node.function.name != "square" else min(3, 2 * deepest)
            return self.put("apply", node.size, depth, args, function=FUNCTIONS.index(node.function.name))
        if isinstance(node, Absolute):
            return self.put("absolute", node.size, 3 if deepest else 0, args, kink=kinks[id(node)].start)
        if isinstance(node, Select) and node.continuous:
            return self.put("maximum", node.size, 3, args, kink=kinks[id(node)].start)
        if isinstance(node, Monomials):
            self.whole.extend(node.exponents.ravel().tolist())
            start, width, degree = offsets[node.args[0]], node.exponents.shape[1], int(node.exponents.max(initial=0))
            return self.put("monomials", node.size, 3, (), data=data, offset=start, width=width, degree=degree)
        raise UnknownNodeError


def _numbers(box: Interval, value: Array) -> Array:
    return np.stack([box.lo.ravel(), box.hi.ravel(), np.broadcast_to(value, box.lo.shape).ravel()], axis=1).ravel()


@dataclass(frozen=True, eq=False)
class Instructions:
    """A tape as the kernel reads it."""

    dim: int
    output: int
    fields: NDArray[np.int32]
    whole: NDArray[np.int32]
    real: Array
    arguments: NDArray[np.int32]  # of kinks
    sizes: tuple[int, int]
    constants: dict[int, int]  # where the numbers of a node begin that does not vary

    def native(self) -> NativeTape:
        """The same in the kernel's memory."""
        return NativeTape(self.dim, self.output, self.fields, self.whole, self.real, self.arguments, self.sizes)

    def other(self, nodes: Iterable[int], enclosures: list[Any], constants: list[Any]) -> Instructions:
        """The same with other numbers in the places of these nodes, where a parameter has another value."""
        real = self.real.copy()
        for i in nodes:
            if (start := self.constants.get(i)) is not None:
                numbers = _numbers(enclosures[i].value, constants[i].value)
                real[start : start + len(numbers)] = numbers
        return replace(self, real=real)


def assemble(tape: Any, enclosures: list[Any], constants: list[Any]) -> Instructions | None:
    """The tape as the kernel evaluates it, given what does not vary, over boxes and at points; None if it cannot."""
    if tape.jumps or not 0 < tape.dim <= MOST_DIMENSIONS:
        return None
    made, place, known = Assembler(), dict[int, int](), dict[int, int]()

    def at(i: int) -> int:
        if i not in place:  # a constant, as it is first needed
            known[i] = len(made.real)
            place[i] = made.constant(enclosures[i].value, constants[i].value)
        return place[i]

    try:
        for i, _, args, _ in tape.steps:
            node = tape.nodes[i]
            inputs = () if isinstance(node, Monomials) else tuple(at(a) for a in args)
            place[i] = made.node(node, inputs, tape.offsets, tape.kinks)
        output = at(tape.output)
        kinked = [at(a) for a in tape.kink_arguments]
    except UnknownNodeError:
        return None
    sizes = tape.nodes[tape.output].size, tape.kink_count
    fields, whole, arguments = (np.array(v, dtype=np.int32) for v in (made.rows, made.whole, kinked))
    return Instructions(tape.dim, output, fields, whole, np.array(made.real), arguments, sizes, known)
