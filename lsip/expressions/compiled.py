"""A tape as instructions of the compiled kernel, where all of its nodes are known there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernel.native import FIELDS, FUNCTIONS, MOST_DIMENSIONS, OPS, NativeTape
from .interval import Array, Interval

MOST_FACTORS = 1024.0  # up to which powers are products, and their factors exact
EIGHTHS = 8.0  # exponents are multiples of 1 / 8, so that k (k - 1) (k - 2) is exact


class UnknownNodeError(Exception):
    """A node that the kernel does not know."""


@dataclass
class Assembler:
    """Instructions, and the numbers that they refer to; the coordinates of each index begin at its offset."""

    offsets: Mapping[Any, int]
    rows: list[list[int]] = field(default_factory=list)
    whole: list[int] = field(default_factory=list)
    real: list[float] = field(default_factory=list)

    def put(self, op: str, size: int, depth: int, args: tuple[int, ...] = (), **others: int) -> int:
        """One instruction; its place."""
        if op not in OPS:
            raise UnknownNodeError
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

    def deepest(self, args: tuple[int, ...]) -> int:
        return max(map(self.depth, args), default=0)

    def listed(self, values: NDArray[Any]) -> int:
        """Whole numbers beside an instruction; where they begin."""
        self.whole.extend(values.ravel().tolist())
        return len(self.whole) - values.size

    def numbers(self, values: Array) -> int:
        """The same for doubles."""
        self.real.extend(values.ravel().tolist())
        return len(self.real) - values.size

    def apply(self, name: str, size: int, args: tuple[int, ...], straight: bool) -> int:
        """A function by its name; one whose third derivative vanishes doubles the depth at most."""
        if name not in FUNCTIONS:
            raise UnknownNodeError
        deepest = self.deepest(args)
        depth = min(3, 2 * deepest) if straight or not deepest else 3
        return self.put("apply", size, depth, args, function=FUNCTIONS.index(name))

    def power(self, size: int, args: tuple[int, ...], exponents: Array) -> int:
        """Powers with these exponents."""
        if (exponents * EIGHTHS != np.round(exponents * EIGHTHS)).any() or np.abs(exponents).max() > MOST_FACTORS:
            raise UnknownNodeError
        return self.put("power", size, 3 if self.deepest(args) else 0, args, numbers=self.numbers(exponents))


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

    def only(self, outputs: NDArray[np.intp]) -> Instructions:
        """The same for some of the outputs, in their order: no instruction computes elements that these do not need.

        For tapes without kinks.
        """
        rows = [dict(zip(FIELDS, row, strict=True)) for row in self.fields.tolist()]
        wanted = [np.zeros(row["size"], dtype=bool) for row in rows]
        wanted[self.output][outputs] = True
        for row, elements in zip(reversed(rows), reversed(wanted), strict=True):
            if OPS[row["op"]] == "index":
                elements[:] = elements.any()  # the coordinates of an index are listed one after the other
            for argument, needed in self._needs(row, np.flatnonzero(elements), rows):
                wanted[argument][needed] = True
        made, index = Assembler({}), dict[int, int]()
        for i, (row, elements) in enumerate(zip(rows, wanted, strict=True)):
            if elements.any():
                index[i] = self._narrow(made, row, np.flatnonzero(elements), (rows, wanted, index))
        fields, whole = np.array(made.rows, dtype=np.int32), np.array(made.whole, dtype=np.int32)
        sizes = len(outputs), 0
        return Instructions(self.dim, index[self.output], fields, whole, np.array(made.real), self.arguments, sizes, {})

    def _arguments(self, row: dict[str, int]) -> NDArray[np.int32]:
        return self.whole[row["args"] : row["args"] + row["arguments"]]

    def _table(self, row: dict[str, int]) -> tuple[NDArray[np.int32], NDArray[np.int32], Array]:
        """Starts, columns and entries of the matrix of a linear instruction."""
        starts = self.whole[row["data"] : row["data"] + row["size"] + 1]
        first, count = row["data"] + row["size"] + 1, int(starts[-1])
        return starts, self.whole[first : first + count], self.real[row["numbers"] : row["numbers"] + count]

    def _needs(
        self, row: dict[str, int], elements: NDArray[np.intp], rows: list[dict[str, int]]
    ) -> Iterator[tuple[int, NDArray[Any]]]:
        """The arguments of an instruction, and which elements of them some of its own come from."""
        args, op = self._arguments(row).tolist(), OPS[row["op"]]
        if op == "join":
            start = 0
            for a in args:
                inside = elements[(elements >= start) & (elements < start + rows[a]["size"])]
                yield a, inside - start
                start += rows[a]["size"]
        elif op == "gather":
            yield args[0], self.whole[row["data"] + elements]
        elif op == "sum":
            yield args[0], (elements[:, None] * row["width"] + np.arange(row["width"])).ravel()
        elif op == "linear":
            starts, columns, _ = self._table(row)
            yield args[0], columns[_ranges(starts, elements)]
        else:
            for a in args:
                yield a, elements if rows[a]["size"] > 1 else elements[:1] * 0

    def _narrow(
        self,
        made: Assembler,
        row: dict[str, int],
        elements: NDArray[np.intp],
        others: tuple[list[dict[str, int]], list[NDArray[np.bool_]], dict[int, int]],
    ) -> int:
        """One instruction again, for some of its elements; its place."""
        rows, wanted, index = others
        args, op, own = self._arguments(row).tolist(), OPS[row["op"]], dict(row)
        place = [np.cumsum(wanted[a]) - 1 for a in args]
        if op in ("gather", "linear"):  # which say by themselves which elements they take
            taken = [index[a] for a in args]
        else:
            each = zip(self._needs(row, elements, rows), place, strict=True)
            taken = [self._taken(made, index[a], where[needed]) for (a, needed), where in each if len(needed)]
        own["arguments"] = len(taken)
        own["args"] = made.listed(np.array(taken, dtype=np.int32))
        if op == "constant":
            numbers = self.real[row["numbers"] : row["numbers"] + 3 * row["size"]]
            own["numbers"] = made.numbers(numbers.reshape(-1, 3)[elements])
        elif op == "gather":
            own["data"] = made.listed(place[0][self.whole[row["data"] + elements]])
        elif op == "linear":
            starts, columns, entries = self._table(row)
            chosen, counts = _ranges(starts, elements), np.diff(starts)[elements]
            own["data"] = made.listed(np.concatenate([[0], np.cumsum(counts), place[0][columns[chosen]]]))
            own["numbers"] = made.numbers(entries[chosen])
        elif op == "monomials":
            exponents = self.whole[row["data"] : row["data"] + row["size"] * row["width"]]
            own["data"] = made.listed(exponents.reshape(row["size"], -1)[elements])
        elif op == "power":
            own["numbers"] = made.numbers(self.real[row["numbers"] + elements])
        own["size"] = len(elements)
        made.rows.append(list(own.values()))
        return len(made.rows) - 1

    def _taken(self, made: Assembler, argument: int, places: NDArray[np.intp]) -> int:
        """An argument, or those of its elements that are needed, where others of them serve another instruction."""
        if np.array_equal(places, np.arange(made.rows[argument][FIELDS.index("size")])):
            return argument
        return made.put("gather", len(places), made.depth(argument), (argument,), data=made.listed(places))

    def other(self, nodes: Iterable[int], enclosures: list[Any], constants: list[Any]) -> Instructions:
        """The same with other numbers in the places of these nodes, where a parameter has another value."""
        real = self.real.copy()
        for i in nodes:
            if (start := self.constants.get(i)) is not None:
                numbers = _numbers(enclosures[i].value, constants[i].value)
                real[start : start + len(numbers)] = numbers
        return replace(self, real=real)


def _ranges(starts: NDArray[np.int32], chosen: NDArray[np.intp]) -> NDArray[np.intp]:
    """The places of all entries of some rows, row after row."""
    counts = np.diff(starts)[chosen]
    before = np.cumsum(counts) - counts
    return np.repeat(starts[chosen] - before, counts) + np.arange(counts.sum())


def assemble(tape: Any, enclosures: list[Any], constants: list[Any]) -> Instructions | None:
    """The tape as the kernel evaluates it, given what does not vary, over boxes and at points; None if it cannot."""
    if tape.jumps or not 0 < tape.dim <= MOST_DIMENSIONS:
        return None
    made, place, known = Assembler(tape.offsets), dict[int, int](), dict[int, int]()

    def at(i: int) -> int:
        if i not in place:  # a constant, as it is first needed
            known[i] = len(made.real)
            place[i] = made.constant(enclosures[i].value, constants[i].value)
        return place[i]

    try:
        for i, _, args, _ in tape.steps:
            node = tape.nodes[i]
            kink = tape.kinks[id(node)].start if node.kinked else 0
            place[i] = node.assemble(made, tuple(at(a) for a in args), kink)
        output = at(tape.output)
        kinked = [at(a) for a in tape.kink_arguments]
    except UnknownNodeError:
        return None
    sizes = tape.nodes[tape.output].size, tape.kink_count
    fields, whole, arguments = (np.array(v, dtype=np.int32) for v in (made.rows, made.whole, kinked))
    return Instructions(tape.dim, output, fields, whole, np.array(made.real), arguments, sizes, known)
