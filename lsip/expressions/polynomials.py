"""Formulas that are polynomials in the index, in rational numbers: what doubles lose where large terms cancel, is kept.

A polynomial written as a sum of powers may have terms a million times as large as its values, and the enclosure of its
value is then a million times as wide as one rounding. All numbers in a formula are doubles, and so are the coordinates
of a point: as fractions, sums and products of them are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from math import lcm
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..deadline import EFFORT, check
from .enclosed import Enclosed
from .graph import Add, Apply, Constant, Divide, Expression, Gather, Index, Join, Linear, Multiply, Negate, Power, Sum
from .interval import Array, Interval
from .monomials import Monomials
from .tape import Tape

Exponents: TypeAlias = tuple[int, ...]
Polynomial: TypeAlias = dict[Exponents, Fraction]
Terms: TypeAlias = list[Polynomial]  # one polynomial for every element of an expression
Step: TypeAlias = tuple[int, Expression, tuple[int, ...]]


@dataclass(frozen=True)
class PolynomialTuning:
    """Which polynomials are written out.

    Parameters
    ----------
    highest_degree
        The largest degree, in all coordinates together.
    """

    highest_degree: int = 100


TUNING = PolynomialTuning()


class _OtherwiseError(Exception):
    """A formula holds something else, or has too many terms."""


@dataclass(frozen=True, eq=False)
class Polynomials:
    """Polynomials in m coordinates, one for every output of a tape: whole coefficients over a common denominator."""

    dim: int
    terms: tuple[dict[Exponents, int], ...]
    denominators: tuple[int, ...]

    @staticmethod
    def of(tape: Tape) -> Polynomials | None:
        """The outputs of a tape; None if one of them is no polynomial, or all of them are too large to write out."""
        try:
            found = _Expansion(tape).outputs()
        except _OtherwiseError:
            return None
        denominators = tuple(lcm(*(c.denominator for c in p.values())) for p in found)
        scaled = [{e: int(c * d) for e, c in p.items()} for p, d in zip(found, denominators, strict=True)]
        return Polynomials(tape.dim, tuple(scaled), denominators)

    def at(self, y: Array, outputs: Sequence[Sequence[int]]) -> Interval:
        """Outputs `outputs[n]` at the points y[n]: the double itself, or the two that are next to the exact value."""
        ends = np.array([[neighbours(*v) for v in row] for row in self._values(y, outputs)])
        return Interval(ends[..., 0], ends[..., 1])

    def fractions(self, y: Array, outputs: Sequence[Sequence[int]]) -> list[list[Fraction]]:
        """The same without any rounding."""
        return [[Fraction(*v) for v in row] for row in self._values(y, outputs)]

    def _values(self, y: Array, outputs: Sequence[Sequence[int]]) -> Iterator[list[tuple[int, int]]]:
        for point, chosen in zip(y.tolist(), outputs, strict=True):
            check("rows")
            yield self._at(point, chosen)

    def _at(self, point: list[float], outputs: Sequence[int]) -> list[tuple[int, int]]:
        """Numerators and denominators at one point."""
        tables, below = [], 1
        for axis, v in enumerate(point):
            p, q = v.as_integer_ratio()
            highest = max((e[axis] for k in outputs for e in self.terms[k]), default=0)
            tables.append(_homogeneous(p, q, highest))
            below *= q**highest
        found = []
        for k in outputs:
            total = 0
            for exponents, coefficient in self.terms[k].items():
                for table, i in zip(tables, exponents, strict=True):
                    coefficient *= table[i]
                total += coefficient
            found.append((total, self.denominators[k] * below))
        return found

    def combined(self, outputs: Sequence[int], weights: Sequence[float]) -> Polynomial:
        """The sum of some outputs, each times its weight."""
        total: Polynomial = {}
        for k, weight in zip(outputs, weights, strict=True):
            factor = Fraction(weight) / self.denominators[k]
            if factor:
                for e, c in self.terms[k].items():
                    total[e] = total.get(e, Fraction(0)) + c * factor
        return total


def by_powers(p: Polynomial) -> list[Fraction]:
    """The coefficients of a polynomial in one coordinate, from that of its zeroth power on."""
    highest = max((e for (e,) in p), default=0)
    return [p.get((i,), Fraction(0)) for i in range(highest + 1)]


def neighbours(numerator: int, denominator: int) -> tuple[float, float]:
    """The doubles next to a fraction, below and above; twice the same where it is one."""
    try:
        nearest = numerator / denominator  # rounded once
    except OverflowError:
        return -np.inf, np.inf
    p, q = nearest.as_integer_ratio()
    left = numerator * q - p * denominator
    if left == 0:
        return nearest, nearest
    other = float(np.nextafter(nearest, np.inf if left > 0 else -np.inf))
    return (nearest, other) if left > 0 else (other, nearest)


def _homogeneous(p: int, q: int, degree: int) -> list[int]:
    """p^i q^(degree - i) for i = 0, …, degree."""
    up = list(accumulate([1] + [p] * degree, lambda a, b: a * b))
    down = list(accumulate([1] + [q] * degree, lambda a, b: a * b))
    return [a * b for a, b in zip(up, reversed(down), strict=True)]


class _Expansion:
    """All nodes of a tape, written out one after another."""

    def __init__(self, tape: Tape) -> None:
        self.tape, self.count = tape, 0
        self.zero: Exponents = (0,) * tape.dim
        self.results: dict[int, list[Any]] = {}  # an element that is no polynomial is None

    def outputs(self) -> Terms:
        written = self.tape.written
        steps = list(written.steps())
        others = [not _may_be_one(node) for _, node, _ in steps]
        if any(others) and not _left_behind(steps, others, written.output):
            raise _OtherwiseError
        for (i, node, args), other in zip(steps, others, strict=True):
            known = [self.results[a] for a in args]
            spoilt = any(p is None for part in known for p in part) and not isinstance(node, Gather | Join)
            self.results[i] = [None] * node.size if other or spoilt else self._expand(node, known)
            self.count += sum(len(p) for p in self.results[i] if p)
            if self.count > EFFORT.exact:
                raise _OtherwiseError
        found = [p for p in self.results[written.output] if p is not None]
        if len(found) < len(self.results[written.output]):
            raise _OtherwiseError
        return found

    def _expand(self, node: Expression, args: list[Terms]) -> Terms:
        check("rows")
        rule = next(rule for kind, rule in RULES.items() if isinstance(node, kind))
        return rule(self, node, args)

    def constant(self, node: Constant, args: list[Terms]) -> Terms:
        if node.rounded or not np.isfinite(node.value).all():
            raise _OtherwiseError
        return [{self.zero: Fraction(v)} if v else {} for v in node.value.ravel().tolist()]

    def enclosed(self, node: Enclosed, args: list[Terms]) -> Terms:
        if node.exact is None:
            raise _OtherwiseError
        return [{self.zero: v} if v else {} for v in node.exact]

    def index(self, node: Index, args: list[Terms]) -> Terms:
        start, one = self.tape.offsets[node], Fraction(1)
        return [{self._unit(start + k): one} for k in range(node.domain.dim)]

    def _unit(self, axis: int, power: int = 1) -> Exponents:
        return tuple(power if k == axis else 0 for k in range(self.tape.dim))

    def monomials(self, node: Monomials, args: list[Terms]) -> Terms:
        start = self.tape.offsets[node.args[0]]
        before, m = (0,) * start, node.exponents.shape[1]
        after = (0,) * (self.tape.dim - start - m)
        return [{(*before, *map(int, e), *after): Fraction(1)} for e in node.exponents.tolist()]

    def gather(self, node: Gather, args: list[Terms]) -> Terms:
        return [args[0][k] for k in node.index.tolist()]

    def join(self, node: Join, args: list[Terms]) -> Terms:
        return [p for part, size in zip(args, node.sizes, strict=True) for p in _repeated(part, size)]

    def negate(self, node: Negate, args: list[Terms]) -> Terms:
        return [{e: -c for e, c in p.items()} for p in args[0]]

    def add(self, node: Add, args: list[Terms]) -> Terms:
        a, b = (_repeated(u, node.size) for u in args)
        return [_sum([u, v]) for u, v in zip(a, b, strict=True)]

    def multiply(self, node: Multiply, args: list[Terms]) -> Terms:
        a, b = (_repeated(u, node.size) for u in args)
        return [self.product(u, v) for u, v in zip(a, b, strict=True)]

    def divide(self, node: Divide, args: list[Terms]) -> Terms:
        a, b = (_repeated(u, node.size) for u in args)
        return [{e: c / v[self.zero] for e, c in u.items()} for u, v in zip(a, b, strict=True)]

    def sum(self, node: Sum, args: list[Terms]) -> Terms:
        return [_sum(args[0][i : i + node.k]) for i in range(0, len(args[0]), node.k)]

    def linear(self, node: Linear, args: list[Terms]) -> Terms:
        matrix = sparse.coo_array(node.matrix)
        found: Terms = [{} for _ in range(matrix.shape[0])]
        for i, j, v in zip(matrix.row.tolist(), matrix.col.tolist(), matrix.data.tolist(), strict=True):
            if v:
                found[i] = _sum([found[i], {e: Fraction(v) * c for e, c in args[0][j].items()}])
        return found

    def power(self, node: Power, args: list[Terms]) -> Terms:
        size = max(len(args[0]), node.exponents.size)
        exponents = np.broadcast_to(node.exponents.ravel(), (size,)).tolist()
        return [self._power(u, k) for u, k in zip(_repeated(args[0], size), exponents, strict=True)]

    def apply(self, node: Apply, args: list[Terms]) -> Terms:
        return [self.product(u, u) for u in args[0]]

    def product(self, a: Polynomial, b: Polynomial) -> Polynomial:
        """All terms of one times all of the other."""
        self.count += len(a) * len(b)
        degree = max(map(sum, a), default=0) + max(map(sum, b), default=0)
        if degree > TUNING.highest_degree or self.count > EFFORT.exact:
            raise _OtherwiseError
        total: Polynomial = {}
        for e, c in a.items():
            for f, d in b.items():
                both = tuple(i + j for i, j in zip(e, f, strict=True))
                total[both] = total.get(both, Fraction(0)) + c * d
        return {e: c for e, c in total.items() if c}

    def _power(self, u: Polynomial, k: float) -> Polynomial:
        if k != int(k) or not 0 <= k <= TUNING.highest_degree:
            raise _OtherwiseError
        found: Polynomial = {self.zero: Fraction(1)}
        for _ in range(int(k)):
            found = self.product(found, u)
        return found


def _may_be_one(node: Expression) -> bool:
    """Whether a node makes a polynomial of polynomials, as far as its kind tells."""
    if isinstance(node, Apply):
        return node.function.name == "square"
    return isinstance(node, tuple(RULES))


def _left_behind(steps: Sequence[Step], others: Sequence[bool], output: int) -> bool:
    """Whether no element of the output is made of nodes that are `others`: some are gathered from around them."""
    if not any(isinstance(node, Gather) for _, node, _ in steps):
        return False
    known: dict[int, NDArray[np.bool_]] = {}
    for (i, node, args), other in zip(steps, others, strict=True):
        if isinstance(node, Gather):
            known[i] = known[args[0]][node.index]
        elif isinstance(node, Join):
            parts = zip((known[a] for a in args), node.sizes, strict=True)
            known[i] = np.concatenate([np.broadcast_to(part, size) for part, size in parts])
        else:
            known[i] = np.full(node.size, not other and all(known[a].all() for a in args))
    return bool(known[output].all())


def _repeated(u: Terms, size: int) -> Terms:
    """Scalars stand for as many elements as are needed."""
    return u * size if len(u) == 1 else u


def _sum(parts: Terms) -> Polynomial:
    total: Polynomial = {}
    for p in parts:
        for e, c in p.items():
            total[e] = total.get(e, Fraction(0)) + c
    return {e: c for e, c in total.items() if c}


RULES: dict[type[Expression], Callable[..., Terms]] = {
    Constant: _Expansion.constant,
    Enclosed: _Expansion.enclosed,
    Index: _Expansion.index,
    Monomials: _Expansion.monomials,
    Gather: _Expansion.gather,
    Join: _Expansion.join,
    Negate: _Expansion.negate,
    Add: _Expansion.add,
    Multiply: _Expansion.multiply,
    Divide: _Expansion.divide,
    Sum: _Expansion.sum,
    Linear: _Expansion.linear,
    Power: _Expansion.power,
    Apply: _Expansion.apply,
}
