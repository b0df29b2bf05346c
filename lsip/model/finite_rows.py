"""Rows without an index, as numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..errors import ModelError
from ..expressions.affine import Affine
from ..expressions.parameter import Values, parameters_in
from ..expressions.printing import text
from ..expressions.sums import DoubleDouble, together, totals
from ..expressions.tape import Tape, constant_value
from .quantified import Offsets
from .rational import FiniteBlock

Array = NDArray[np.float64]


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
