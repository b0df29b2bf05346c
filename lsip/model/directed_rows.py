"""Rows over indices and directions, of which a worst one is known in closed form for every index.

They are like any other rows. Beside that they know the `entries` that they are made of, which depend on the indices
alone, so that whoever proves something needs boxes of the indices only.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from typing import Self

import numpy as np

from ..domains import Cell, Domain, Product
from ..expressions.directions import WorstDirection
from ..expressions.graph import Expression
from ..expressions.interval import Interval
from ..expressions.parameter import Values
from ..oracles.base import Array, Ints
from .bilinear import BilinearRows
from .declared_rows import DeclaredRows
from .families import RowFamily, at_parameters
from .legend import Legend
from .linear_form import LinearForm


class DirectedRows(DeclaredRows):
    """Formulas of indices and a direction."""

    FOUND_OUT = (*DeclaredRows.FOUND_OUT, "form")

    def __init__(
        self,
        legend: Legend,
        domain: Domain,
        outputs: tuple[Expression, Expression],
        values: Values | None,
        origins: tuple[Hashable, ...],
        *,
        worst: WorstDirection,
        entries: RowFamily,
        columns: Ints,
    ) -> None:
        super().__init__(legend, domain, outputs, values, origins)
        self.worst, self.entries = worst, entries
        rows = np.empty(len(entries.columns), dtype=np.intp)  # to which row each entry belongs
        rows[worst.base] = np.arange(len(worst.base))
        for block in worst.blocks:
            rows[block.entries] = block.rows[:, None]
        # Where the weight of each coefficient of an entry stands among those of its row.
        meets = columns[rows][:, None, :] == entries.columns[:, :, None]
        self._places = (
            rows[:, None],
            np.concatenate([meets.argmax(axis=2), np.full((len(rows), 1), columns.shape[1])], axis=1),
        )

    def bound(self, values: Values) -> Self:
        found, entries = super().bound(values), at_parameters(self.entries, values)
        return found if entries is self.entries else found.changed(entries=entries)

    @cached_property
    def form(self) -> BilinearRows | None:
        """The rows as sums over entries that are affine in the index, times coordinates of the direction."""
        form = self.entries.linear
        return None if form is None else BilinearRows(self.worst, form, *self._places)

    @cached_property
    def linear(self) -> LinearForm | None:
        """None for rows that are known by what is seen of them, which a support function of directions rounds more."""
        return super().linear if self.worst.sharp else None

    def _sharpened(self, y: Array, box: Interval) -> Interval:
        """As they are without an index: of a matrix of 20 rows, the polynomials have 400 terms each."""
        return super()._sharpened(y, box) if self.legend.shown else box

    def renewal(self, cell: Cell, before: object) -> None:
        """Entries are enclosed anew."""

    def of_entries(self, weights: Array) -> Array:
        """Weights (p, K + 1) of rows as those of the entries."""
        return weights[self._places]

    def indices_of(self, domain: Domain) -> Domain | None:
        """The set of the indices alone, where `domain` is a product of one with the set of all directions."""
        every, tail = _factors(domain), _factors(self.worst.index.domain)
        factors = every[: len(every) - len(tail)]
        if not factors or every[len(factors) :] != tail:
            return None
        return factors[0] if len(factors) == 1 else Product(*factors)


def _factors(domain: Domain) -> tuple[Domain, ...]:
    return domain.factors if isinstance(domain, Product) else (domain,)
