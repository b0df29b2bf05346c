"""Which numbers of a formula are multiples of cosines and sines of a scalar index, so that much is known of them.

Every derivative of cos(f y) is a cosine or a sine again, times a power of f, so that sums of them can be expanded to
any order, for the price of one table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..domains.proven import SMALL_PRODUCT, two_product
from .arrangements import Gather, Join
from .graph import Constant, Expression, Index
from .interval import Array
from .operations import Apply, Multiply, Negate
from .tape import Tape

OTHER, NUMBER, LINE, COSINE, SINE = range(5)  # what an element is; a number is a cosine of frequency 0, too

_WAVES = {"cos": COSINE, "sin": SINE}


class Waves(NamedTuple):
    """Elements that are factor · cos(frequency y), or sin where they are `SINE`; of `OTHER` ones nothing is known."""

    kind: NDArray[np.int8]
    factor: Array
    frequency: Array

    @staticmethod
    def of(tape: Tape) -> Waves | None:
        """The outputs of a tape over one coordinate; None if none of them is a wave."""
        if tape.dim != 1 or tape.kink_count:
            return None
        found: dict[int, Waves] = {}
        for i, node, args in tape.written.steps():
            rule = _RULES.get(type(node))
            made = None if rule is None else rule(node, [found[a] for a in args])
            found[i] = _other(node.size) if made is None else made
        outputs = found[tape.written.output]
        waves = (outputs.kind == COSINE) | (outputs.kind == SINE)
        known = waves | (outputs.kind == NUMBER)
        return outputs._replace(kind=np.where(known, outputs.kind, OTHER)) if waves.any() else None

    @staticmethod
    def suits(tape: Tape) -> bool:
        """Whether all outputs may be waves or numbers, as a glance at the nodes tells."""
        nodes = tape.written.nodes
        waves = [node.function.name in _WAVES for node in nodes if isinstance(node, Apply)]
        return tape.dim == 1 and any(waves) and all(waves) and all(type(node) in _RULES for node in nodes)

    def only(self, places: NDArray[np.intp]) -> Waves:
        """Some of the elements, in any arrangement."""
        return Waves(self.kind[places], self.factor[places], self.frequency[places])

    def repeated(self, size: int) -> Waves:
        """Scalars stand for as many elements as are needed."""
        return self if len(self.kind) == size else self.only(np.zeros(size, dtype=np.intp))


def _other(size: int) -> Waves:
    return Waves(np.full(size, OTHER, dtype=np.int8), np.zeros(size), np.zeros(size))


def _alike(kind: int, factor: Array, frequency: Array) -> Waves:
    return Waves(np.full(len(factor), kind, dtype=np.int8), factor, frequency)


def _constant(node: Constant, args: list[Waves]) -> Waves | None:
    value = node.value.ravel()
    return None if node.rounded or not np.isfinite(value).all() else _alike(NUMBER, value, np.zeros(len(value)))


def _index(node: Index, args: list[Waves]) -> Waves:
    return _alike(LINE, np.ones(node.size), np.zeros(node.size))


def _negate(node: Negate, args: list[Waves]) -> Waves:
    return args[0]._replace(factor=-args[0].factor)


def _multiply(node: Multiply, args: list[Waves]) -> Waves | None:
    """A number times anything, where that rounds nothing."""
    a, b = (part.repeated(node.size) for part in args)
    if not (a.kind == NUMBER).all():
        a, b = b, a
    if not (a.kind == NUMBER).all():
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        factor, rest = two_product(a.factor, b.factor)
    exact = (rest == 0) & ((np.abs(factor) >= SMALL_PRODUCT) | (a.factor == 0) | (b.factor == 0))
    return b._replace(kind=np.where(exact, b.kind, OTHER).astype(np.int8), factor=np.where(exact, factor, 0.0))


def _apply(node: Apply, args: list[Waves]) -> Waves | None:
    """A cosine or a sine of a multiple of the index."""
    kind = _WAVES.get(node.function.name)
    if kind is None or node.spelled_out:
        return None
    lines = args[0].kind == LINE
    return Waves(np.where(lines, kind, OTHER).astype(np.int8), np.ones(node.size), args[0].factor)


def _gather(node: Gather, args: list[Waves]) -> Waves:
    return args[0].only(node.index)


def _join(node: Join, args: list[Waves]) -> Waves:
    parts = [part.repeated(size) for part, size in zip(args, node.sizes, strict=True)]
    return Waves(*(np.concatenate(each) for each in zip(*parts, strict=True)))


_RULES: dict[type[Expression], Callable[..., Waves | None]] = {
    Constant: _constant,
    Index: _index,
    Negate: _negate,
    Multiply: _multiply,
    Apply: _apply,
    Gather: _gather,
    Join: _join,
}
