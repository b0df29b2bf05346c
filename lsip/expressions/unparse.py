"""What an expression says where nobody typed it: element by element, read off its nodes while it is printed.

A file holds what a model is, not how it was written; what is printed of a loaded one is therefore true, whoever made
the file.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from ..lifetime import Remembered
from .affine import Affine
from .angle import Angle
from .convex import Convex
from .enclosed import Enclosed
from .graph import (
    Absolute,
    Add,
    Apply,
    Constant,
    Divide,
    Expression,
    Gather,
    Index,
    Irrational,
    Join,
    Linear,
    Multiply,
    Negate,
    Power,
    Select,
    Sum,
)
from .monomials import Monomials
from .parameter import Parameter

Origin: TypeAlias = tuple[Any, ...]
_numbers = Remembered[Expression, dict[int, float | None]]()
_PAIRS: dict[type, str] = {Multiply: "multiply", Divide: "divide", Angle: "arctan2"}


def _total(terms: list[Any]) -> Any:
    return reduce(lambda a, b: ("add", a, b), terms) if terms else 0.0


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
        """The node that makes it, and its place there: others only move it."""
        node, k = self.node, self.place
        while True:
            if isinstance(node, Gather):
                k = int(node.index[k])
                node = node.args[0]
            elif isinstance(node, Join):
                part = int(np.searchsorted(np.cumsum(node.sizes), k, side="right"))
                k -= sum(node.sizes[:part])
                node = node.args[part]
            else:
                return node, min(k, node.size - 1)

    def _parts(self) -> list[Element]:
        """The elements that it is made of."""
        node, k = self._held()
        return [Element(a, k if a.size > 1 else 0) for a in node.args]

    @property
    def number(self) -> float | None:
        """The number that it is; None if it is none. Without recursion, and each element of a node once."""
        stack = [(self, False)]
        while stack:
            element, ready = stack.pop()
            node, k = element._held()
            if node not in _numbers:
                _numbers[node] = {}
            known = _numbers[node]
            if k in known:
                continue
            if not isinstance(node, Negate | Multiply | Add):
                exact = isinstance(node, Constant) and not node.rounded
                known[k] = float(node.value.ravel()[k]) if exact else None  # type: ignore[attr-defined]
            elif ready:  # these are numbers for nothing but zeros
                parts = [part._known() for part in element._parts()]
                zero = all(v == 0 for v in parts) if isinstance(node, Add) else 0 in parts and None not in parts
                known[k] = 0.0 if zero else None
            else:
                stack.append((element, True))
                stack.extend((part, False) for part in element._parts())
        return self._known()

    def _known(self) -> float | None:
        node, k = self._held()
        return _numbers[node][k]

    @property
    def origin(self) -> Origin:
        """The operation that makes it, and its operands."""
        node, k = self._held()
        parts = self._parts()
        match node:
            case Index() | Parameter():
                return ("getitem", node, np.unravel_index(k, node.shape)) if node.shape else node.origin
            case Irrational():
                return ("name", node.name)
            case Constant() | Enclosed():
                return ("constant", node.value.ravel()[k])
            case Apply():
                name = node.function.name
                return ("divide", 1.0, *parts) if name == "reciprocal" else (name.partition("_")[0], *parts)
            case Add():
                return ("spelled", _total([part for part in parts if part.number != 0]))
            case Multiply() if (sign := _sign(*parts)) is not None:
                return ("spelled", sign)
            case Power():
                return ("power", *parts, node.exponents.ravel()[min(k, node.exponents.size - 1)])
            case Negate():
                return ("negative", *parts)
            case Absolute():
                return ("absolute", *parts)
            case Select() if node.continuous:
                return ("maximum", *parts[1:])
            case Select():
                return ("where", (">=", parts[0], 0.0), *parts[1:])
            case Sum():
                return ("spelled", _total([Element(node.args[0], k * node.k + j) for j in range(node.k)]))
            case Linear():
                row = sparse.csr_array(
                    np.atleast_2d(node.matrix[k]) if isinstance(node.matrix, np.ndarray) else node.matrix[[k]]
                )
                entries = zip(row.indices.tolist(), row.data.tolist(), strict=True)
                return ("spelled", _total([_times(v, Element(node.args[0], j)) for j, v in entries if v]))
            case Monomials():
                y, powers = node.args[0], [(j, int(e)) for j, e in enumerate(node.exponents[k]) if e]
                factors: list[Any] = [("power", Element(y, j), e) if e > 1 else Element(y, j) for j, e in powers]
                return ("spelled", reduce(lambda a, b: ("multiply", a, b), factors) if factors else 1.0)
        return (_PAIRS.get(type(node), type(node).__name__), *parts)


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
                terms.append(_multiple(Element(term.coefficient, e), x) if known is None else _times(known, x))
        rest = Element(self.body.offset, self.place)
        if rest.number != 0 or not terms:
            terms.append(rest if rest.number is None else rest.number)
        return ("spelled", _total(terms))


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
        terms: list[Any] = [] if row.origin == ("spelled", 0.0) else [row]
        for a in self.body.atoms:
            width = a.q.shape[1]
            for e in np.flatnonzero(a.rows == self.place).tolist():
                curve = a.kind.typed([AffineEntry(a.q, e * width + k) for k in range(width)])
                terms.append(_times(float(a.signs[e]), curve))
        return ("spelled", _total(terms))


def _sign(a: Element, b: Element) -> Any:
    """The product of two of which one is 1 or -1; None if that is not so."""
    for factor, other in ((a, b), (b, a)):
        if factor.number in (1.0, -1.0):
            return _times(factor.number, other)
    return None


def _multiple(factor: Element, item: Any) -> Origin:
    op, *operands = factor.origin
    while op == "spelled" and isinstance(operands[0], tuple):
        op, *operands = operands[0]
    return ("negative", ("multiply", operands[0], item)) if op == "negative" else ("multiply", factor, item)


def _times(factor: float, item: Any) -> Any:
    return item if factor == 1 else ("negative", item) if factor == -1 else ("multiply", factor, item)
