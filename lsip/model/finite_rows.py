"""Rows without an index, as numbers: doubles, or fractions such as integrals of polynomials, made whole numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import gcd, lcm
from typing import NamedTuple

import numpy as np
from scipy import sparse

from ..errors import ModelError
from ..expressions.affine import Affine, Variable, enclosed
from ..expressions.interval import LARGEST, NORMAL
from ..expressions.parameter import Values, parameters_in
from ..expressions.polynomials import Polynomials
from ..expressions.printing import text
from ..expressions.sums import DoubleDouble, together, totals
from ..expressions.tape import Tape, constant_value
from ..oracles.base import Array
from ..validation import CONSECUTIVE
from .quantified import Offsets


class FiniteBlock(NamedTuple):
    """Rows (p, n) and constants (p,), and the factors that made whole numbers of them, if any did."""

    matrix: sparse.csr_matrix
    constants: Array
    factors: Array | None = None


def whole_rows(affine: Affine, offsets: Mapping[Variable, int], n: int) -> FiniteBlock | None:
    """The rows of an affine array times factors; None if they are no fractions, or become too large for doubles."""
    numbers = [t.coefficient if t.numbers is None else enclosed(t.numbers) for t in affine.terms]
    found = Polynomials.of(Tape((affine.offset, *numbers), ()))
    if found is None:
        return None
    flat = iter([Fraction(terms.get((), 0), d) for terms, d in zip(found.terms, found.denominators, strict=True)])
    constants = [next(flat) for _ in range(affine.size)]
    rows: list[dict[int, Fraction]] = [{} for _ in constants]
    for term in affine.terms:
        columns = term.columns + offsets[term.variable]
        for i, j in zip(term.rows.tolist(), columns.tolist(), strict=True):
            rows[i][j] = rows[i].get(j, Fraction(0)) + next(flat)
    factors = [whole_factor([side, *row.values()]) for side, row in zip(constants, rows, strict=True)]
    if None in factors:
        return None
    known = [f for f in factors if f is not None]
    entries = [(i, j, float(v * known[i])) for i, row in enumerate(rows) for j, v in row.items() if v]
    sides = [float(v * f) for v, f in zip(constants, known, strict=True)]
    i, j, v = (np.array(part) for part in zip(*entries, strict=True)) if entries else (np.zeros(0, dtype=int),) * 3
    matrix = sparse.csr_matrix((np.asarray(v, dtype=float), (i, j)), shape=(affine.size, n))
    return FiniteBlock(matrix, np.array(sides), np.array([float(f) for f in known]))


def whole_factor(values: Sequence[Fraction]) -> Fraction | None:
    """What makes fractions the smallest whole numbers in proportion to them; None where doubles do not hold these.

    Whole numbers are compared before anything is rounded: 2**53 + 1 rounds to 2**53.
    """
    below = lcm(*(v.denominator for v in values))
    whole = [v.numerator * (below // v.denominator) for v in values]
    above = gcd(*whole) or 1
    fits = max(map(abs, whole), default=0) <= CONSECUTIVE * above
    return Fraction(below, above) if fits and NORMAL <= Fraction(below, above) <= LARGEST else None


class FiniteRows:
    """An array that is affine in the variables, without an index, as numbers: a matrix and constants."""

    def __init__(self, affine: Affine, offsets: Offsets, n: int) -> None:
        self.affine, self.n, none = affine, n, np.zeros(0, dtype=np.intp)
        self.rows = np.concatenate([none, *(t.rows for t in affine.terms)])
        self.columns = np.concatenate([none, *(t.columns + offsets[t.variable] for t in affine.terms)])
        self.formulas = (affine.offset, *(t.coefficient for t in affine.terms if t.numbers is None))
        self.tape: Tape | None = None  # where there are parameters
        self.found: FiniteBlock | None = None

    def at(self, values: Values) -> FiniteBlock:
        """The matrix and the constants for these values of parameters."""
        tape = self._tape(values)
        if self.found is None or tape is not self.tape:
            self.tape = tape
            self.found = self._numbers(self._values(tape))
        return self.found

    def _values(self, tape: Tape | None) -> list[Array]:
        if tape is None:
            return [np.ravel(constant_value(e)) for e in self.formulas]  # type: ignore[arg-type]
        found = tape.values(np.zeros((1, 0)))[0]
        if not np.isfinite(found).all():
            raise ModelError(f"{self.affine} has a coefficient or a constant that is nan or infinite: {_told(tape)}.")
        return np.split(found, np.cumsum(tape.sizes)[:-1])

    def _tape(self, values: Values) -> Tape | None:
        if self.found is None:
            return Tape(self.formulas, (), values=values) if parameters_in(*self.formulas) else None
        return None if self.tape is None else self.tape.bound(values)

    def _numbers(self, formulas: list[Array]) -> FiniteBlock:
        """Terms that meet are added up, and rounded once."""
        affine, shape, (constant, *rest) = self.affine, (self.affine.size, self.n), formulas
        if not affine.terms:
            return FiniteBlock(sparse.csr_matrix(shape), constant)
        coefficients = iter(rest)
        numbers = together([t.numbers or DoubleDouble(next(coefficients)) for t in affine.terms])
        table = sparse.csr_matrix((numbers.value, (self.rows, self.columns)), shape=shape)
        if table.nnz == len(self.rows):
            return FiniteBlock(table, constant)
        total = totals(self.rows * self.n + self.columns, numbers)
        if not np.isfinite(total.value).all():
            raise ModelError(
                f"A coefficient of {affine} is infinite: terms in one variable add up to more than any double."
            )
        entries = total.value, (total.places // self.n, total.places % self.n)
        return FiniteBlock(sparse.csr_matrix(entries, shape=shape), constant)


def _told(tape: Tape) -> str:
    """The values of parameters, for messages."""
    return ", ".join(f"{p.name} is {text(v)}" for p, v in tape.known.items())
