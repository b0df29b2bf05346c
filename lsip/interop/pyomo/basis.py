"""Coefficients as combinations of few distinct functions of the index.

A rule writes its coefficients one by one, and a model may have thousands; most are numbers times the same few functions
(t, t², cos t, …). Evaluated as multiples of those functions, or as one matrix times them, they cost hardly more than
the functions. No number is rounded on the way: whatever would need that stays a function of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from ...expressions.arrangements import Gather, Join, Linear
from ...expressions.graph import Constant, Expression, as_expression
from ...expressions.operations import Add, Multiply, Negate
from .comparison import Value


class Basis:
    """Collects the functions that coefficients are made of; the first one is the constant 1."""

    def __init__(self) -> None:
        self._one = Constant(1.0)
        self._place: dict[int, int] = {id(self._one): 0}
        self._functions: list[Expression] = [self._one]
        self._canonical: dict[int, Expression] = {}
        self._known: dict[tuple[Any, ...], Expression] = {}
        self._kept: list[Expression] = []  # so that no id is used twice

    def weights(self, value: Value) -> dict[int, float]:
        """A number or an index expression as weights of the functions, by place."""
        if isinstance(value, float):
            return {0: value}
        return {self._position(f): w for f, w in self._split(as_expression(value))}

    def combine(self, weights: list[dict[int, float]]) -> Expression:
        """All values with these weights, as one vector expression.

        A row of a matrix is rounded as a sum over all functions, so that only sums go through one: numbers stay exact,
        and a multiple of one function is rounded once.
        """
        functions = Join(tuple(self._functions))
        kinds: dict[Callable[..., Expression], list[int]] = {}
        for i, w in enumerate(weights):
            kinds.setdefault(_sums if len(w) > 1 else _numbers if 0 in w else _multiples, []).append(i)
        parts = tuple(build(functions, [weights[i] for i in rows]) for build, rows in kinds.items())
        return parts[0] if len(parts) == 1 else Gather(Join(parts), np.argsort(np.concatenate([*kinds.values()])))

    def _position(self, function: Expression) -> int:
        if id(function) not in self._place:
            self._place[id(function)] = len(self._functions)
            self._functions.append(function)
        return self._place[id(function)]

    def _split(self, e: Expression) -> list[tuple[Expression, float]]:
        """Functions with their weights, whose sum is e; e itself where taking it apart would round."""
        parts: dict[int, tuple[Expression, float]] = {}
        stack = [(e, 1.0)]
        while stack:
            node, weight = stack.pop()
            if isinstance(node, Add):
                stack += [(node.args[1], weight), (node.args[0], weight)]
                continue
            if isinstance(node, Negate):
                stack.append((node.args[0], -weight))
                continue
            if isinstance(node, Multiply) and abs(weight) == 1.0:
                factors = [_number(a) for a in node.args]
                if factors.count(None) == 1:
                    (factor,) = (f for f in factors if f is not None)
                    stack.append((node.args[factors.index(None)], weight * factor))
                    continue
            number = _number(node)
            if number is not None and abs(weight) != 1.0:
                return [(self._same(e), 1.0)]
            function = self._same(node) if number is None else self._one
            if id(function) in parts:
                return [(self._same(e), 1.0)]
            parts[id(function)] = (function, weight if number is None else weight * number)
        return list(parts.values())

    def _same(self, e: Expression) -> Expression:
        """One node for all that are built alike."""
        stack = [e]
        while stack:
            node = stack[-1]
            if id(node) in self._canonical:
                stack.pop()
                continue
            waiting = [a for a in node.args if id(a) not in self._canonical]
            if waiting:
                stack += waiting
                continue
            stack.pop()
            self._kept.append(node)
            key = node.key()
            if key is None:
                self._canonical[id(node)] = node
                continue
            args = tuple(id(self._canonical[id(a)]) for a in node.args)
            self._canonical[id(node)] = self._known.setdefault((type(node), node.shape, key, args), node)
        return self._canonical[id(e)]


def _numbers(functions: Join, weights: list[dict[int, float]]) -> Expression:
    return Constant([w[0] for w in weights])


def _multiples(functions: Join, weights: list[dict[int, float]]) -> Expression:
    places = np.array([j for w in weights for j in w], dtype=np.intp)
    return as_expression(Gather(functions, places) * np.array([v for w in weights for v in w.values()]))


def _sums(functions: Join, weights: list[dict[int, float]], most_dense: int = 200) -> Expression:
    """Sums of several functions; with at most so many sums, their matrix is dense."""
    rows = np.repeat(np.arange(len(weights)), [len(w) for w in weights])
    columns = np.array([j for w in weights for j in w], dtype=np.intp)
    data = np.array([v for w in weights for v in w.values()])
    matrix: Any = sparse.csr_matrix((data, (rows, columns)), shape=(len(weights), functions.size))
    return Linear(matrix if len(weights) > most_dense else matrix.toarray(), functions, (len(weights),))


def _number(e: Expression) -> float | None:
    """The number that a constant is; None for what depends on the index, or is not known exactly."""
    return float(e.value.ravel()[0]) if isinstance(e, Constant) and e.size == 1 and not e.rounded else None
