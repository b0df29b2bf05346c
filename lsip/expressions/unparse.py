"""What an expression says where nobody typed it: element by element, read off its nodes while it is printed.

A file holds what a model is, not how it was written; what is printed of a loaded one is therefore true, whoever made
the file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..lifetime import remembered
from .affine import Affine
from .convex import Convex
from .graph import Constant, Expression, in_order
from .operations import Add, Multiply, Negate
from .printing import Origin, multiple, total


@remembered
def _numbers(node: Expression) -> dict[int, float | None]:
    """By the places of its elements."""
    return {}


def _typed(parts: list[Any], shape: tuple[int, ...]) -> Origin:
    """The origin of an array, given its elements."""
    return ("spelled", parts[0]) if not shape else ("stack", *parts)


@dataclass(frozen=True, eq=False)
class Element:
    """One element of an index expression, by its place in the flat array."""

    node: Expression
    place: int

    @staticmethod
    def typed(node: Expression) -> Origin:
        """An origin for a node that has none."""
        return _typed([Element(node, k) for k in range(min(node.size, 7))], node.shape)

    def _held(self) -> tuple[Expression, int]:
        return self.node.source(self.place)

    def _parts(self) -> list[Element]:
        """The elements that it is made of."""
        node, k = self._held()
        return [Element(a, k if a.size > 1 else 0) for a in node.args]

    @property
    def number(self) -> float | None:
        """The number that it is; None if it is none. Each element of a node is looked at once."""
        for element in in_order(self, Element._unknown, Element._held):
            node, k = element._held()
            known = _numbers(node)
            if k in known:
                continue
            if not isinstance(node, Negate | Multiply | Add):
                exact = isinstance(node, Constant) and not node.rounded
                known[k] = float(node.value.ravel()[k]) if exact else None  # type: ignore[attr-defined]
            else:  # these are numbers for nothing but zeros
                parts = [part._known() for part in element._parts()]
                zero = all(v == 0 for v in parts) if isinstance(node, Add) else 0 in parts and None not in parts
                known[k] = 0.0 if zero else None
        return self._known()

    def _unknown(self) -> list[Element]:
        """Those of its parts that decide which number it is, unless that is known."""
        node, k = self._held()
        known = _numbers(node)
        return self._parts() if k not in known and isinstance(node, Negate | Multiply | Add) else []

    def _known(self) -> float | None:
        node, k = self._held()
        return _numbers(node)[k]

    @property
    def origin(self) -> Origin:
        """The operation that makes it, and its operands."""
        node, k = self._held()
        return node.typed(k, lambda j, place: Element(node.args[j], place if node.args[j].size > 1 else 0))


@dataclass(frozen=True, eq=False)
class AffineEntry:
    """One element of an array that is affine in variables, by its place in the flat array."""

    body: Affine
    place: int

    @staticmethod
    def typed(body: Affine) -> Origin:
        """An origin for what has none."""
        return _typed([AffineEntry(body, k) for k in range(min(body.size, 7))], body.shape)

    @property
    def origin(self) -> Origin:
        """A sum of multiples of variables, and what is without them."""
        terms: list[Any] = []
        for term in self.body.terms:
            for e in np.flatnonzero(term.rows == self.place).tolist():
                v, column = term.variable, int(term.columns[e])
                x = ("getitem", v, np.unravel_index(column, v.shape)) if v.shape else v
                known = None if term.numbers is None else float(term.numbers.value[e])
                terms.append(_multiple(Element(term.coefficient, e), x) if known is None else multiple(known, x))
        rest = Element(self.body.offset, self.place)
        if rest.number != 0 or not terms:
            terms.append(rest if rest.number is None else rest.number)
        return ("spelled", total(terms))


@dataclass(frozen=True, eq=False)
class ConvexEntry:
    """One element of an array that is convex or concave in variables, by its place in the flat array."""

    body: Convex
    place: int

    @staticmethod
    def typed(body: Convex) -> Origin:
        """An origin for what has none."""
        return _typed([ConvexEntry(body, k) for k in range(min(body.size, 7))], body.shape)

    @property
    def origin(self) -> Origin:
        """What is affine, and support functions of rows."""
        row = AffineEntry(self.body.affine, self.place)
        said = row.origin[1]
        terms: list[Any] = [] if isinstance(said, float) and said == 0 else [row]
        for a in self.body.atoms:
            width = a.q.shape[1]
            for e in np.flatnonzero(a.rows == self.place).tolist():
                curve = a.kind.typed([AffineEntry(a.q, e * width + k) for k in range(width)])
                terms.append(multiple(float(a.signs[e]), curve))
        return ("spelled", total(terms))


def _multiple(factor: Element, item: object) -> Origin:
    op, *operands = factor.origin
    while op == "spelled" and isinstance(operands[0], tuple):
        op, *operands = operands[0]
    return ("negative", ("multiply", operands[0], item)) if op == "negative" else ("multiply", factor, item)
