"""Finite rows whose numbers are fractions, such as integrals of polynomials: multiplied until all are whole numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import gcd, lcm
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..expressions.affine import Affine, Variable, enclosed
from ..expressions.interval import LARGEST, NORMAL
from ..expressions.polynomials import Polynomials
from ..expressions.tape import Tape
from ..validation import CONSECUTIVE

Array = NDArray[np.float64]


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
