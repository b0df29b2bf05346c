"""Formulas that are polynomials in the index, in rational numbers: what doubles lose where large terms cancel, is kept.

A polynomial written as a sum of powers may have terms a million times as large as its values, and the enclosure of its
value is then a million times as wide as one rounding. All numbers in a formula are doubles, and so are the coordinates
of a point: as fractions, sums and products of them are exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from math import lcm
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..deadline import check
from .arrangements import Gather, Join
from .graph import Expression
from .interval import Array, Interval
from .ring import Exponents, NotPolynomialError, Polynomial, Ring, Terms
from .tape import Tape

Step: TypeAlias = tuple[int, Expression, tuple[int, ...]]


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
            found = _expanded(tape)
        except NotPolynomialError:
            return None
        denominators = tuple(lcm(*(c.denominator for c in p.values())) for p in found)
        scaled = [{e: int(c * d) for e, c in p.items()} for p, d in zip(found, denominators, strict=True)]
        return Polynomials(tape.dim, tuple(scaled), denominators)

    @property
    def rational(self) -> Terms:
        """Each with its own coefficients."""
        pairs = zip(self.terms, self.denominators, strict=True)
        return [{e: Fraction(c, d) for e, c in terms.items() if c} for terms, d in pairs]

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


def _expanded(tape: Tape) -> Terms:
    """The outputs of a tape, all nodes of which are written out one after another."""
    written, ring = tape.written, Ring(tape.dim, tape.offsets)
    steps = list(written.steps())
    others = [not node.polynomial for _, node, _ in steps]
    if any(others) and not _left_behind(steps, others, written.output):
        raise NotPolynomialError
    results: dict[int, list[Any]] = {}  # an element that is no polynomial is None
    for (i, node, args), other in zip(steps, others, strict=True):
        check("rows")
        known = [results[a] for a in args]
        spoilt = any(p is None for part in known for p in part) and not isinstance(node, Gather | Join)
        results[i] = [None] * node.size if other or spoilt else node.expand(ring, known)
        ring.counted(sum(len(p) for p in results[i] if p))
    found = [p for p in results[written.output] if p is not None]
    if len(found) < len(results[written.output]):
        raise NotPolynomialError
    return found


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
