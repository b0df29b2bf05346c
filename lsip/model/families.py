"""Families of rows a(y) x <= b(y), one for every y in a domain: what the rows are, over which columns, in which units.

A new kind of rows implements `RowFunctions`, as `DeclaredRows` (formulas) and `BlackBoxRows` (functions) do.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..domains import Cell, Domain
from ..domains.proven import LOST
from ..expressions.interval import Interval
from ..expressions.parameter import Values
from ..expressions.quadratics import Quadratic
from ..expressions.ring import Polynomial
from ..oracles.base import Array, Enclosure, Ints, Pieces, RowKind
from ..oracles.memory import Memory
from .legend import Legend
from .linear_form import LinearForm, in_units, multiplied


class RowFunctions(RowKind, Protocol):
    """p rows of K coefficients and a right-hand side at every point y of an index set: what they are, in no units.

    Derivatives and exact forms are None where they are not known.
    """

    legend: Legend
    domain: Domain
    shape: tuple[int, int]  # (p, K)
    enclosable: bool  # whether `quadratics` proves anything

    @property
    def data_key(self) -> Hashable:
        """Of what else the enclosures depend on than the index set; equal for equal data."""

    @property
    def linear(self) -> LinearForm | None:
        """The rows as functions of the index, if they are known to be affine in it."""

    def rows(self, y: Array) -> tuple[Array, Array]:
        """Coefficients (N, p, K) and right-hand sides (N, p) at the points y (N, m)."""

    def chosen(self, y: Array, component: Ints) -> tuple[Array, Array]:
        """Coefficients (N, K) and right-hand sides (N,) of row `component[n]` at the point y[n]."""

    def chosen_derivatives(self, y: Array, component: Ints) -> tuple[Array, Array, Array] | None:
        """The same with derivatives, rhs as last column: (N, K + 1), (m, N, K + 1), packed Hessians."""

    def enclosed(self, lower: Array, upper: Array, component: Ints) -> Interval:
        """Outward-rounded numbers (N, K + 1) of row `component[n]` over the n-th box, rhs last."""

    def quadratics(self, cell: Cell) -> Enclosure:
        """Enclosures over boxes of a cell: of all (p, K + 1) numbers, and of functions that are >= 0 on the domain."""

    def polynomial(self, component: int, weights: Array) -> Polynomial | None:
        """Row `component`, rhs last, times weights (K + 1,), if it is a polynomial in the index."""

    def bound(self, values: Values) -> RowFunctions:
        """The rows for these values of parameters."""

    def identity(self) -> Iterator[object]:
        """What makes the rows what they are, beside index set and columns: equal for equal rows."""


@runtime_checkable
class Jumping(Protocol):
    """Rows that may jump."""

    def beside_jumps(self, y: Array, component: Ints) -> Array:
        """Points next to y with the same rows, where y itself sits on a jump."""


@dataclass(frozen=True, eq=False)
class RowFamily:
    """p rows for every index point: row i holds `coefficients[i] . x[columns[i]] <= rhs[i]`.

    Parameters
    ----------
    source
        What the rows are.
    columns
        (p, K): the variables that the coefficients of each row belong to.
    memory
        What a branch-and-bound keeps between calls, which does not depend on x.
    units
        (p, K + 1), powers of two that all numbers are multiplied by, which rounds nothing; None for none.
    """

    source: RowFunctions
    columns: Ints
    memory: Memory = field(default_factory=Memory, repr=False)
    units: Array | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Without what was found out about it."""
        return {"source": self.source, "columns": self.columns, "memory": Memory(), "units": self.units}

    @property
    def legend(self) -> Legend:
        return self.source.legend

    @property
    def labels(self) -> tuple[str, ...]:
        return self.source.legend.labels

    @property
    def domain(self) -> Domain:
        return self.source.domain

    @property
    def enclosable(self) -> bool:
        return self.source.enclosable

    @property
    def data_key(self) -> Hashable:
        return self.source.data_key if self.units is None else (self.source.data_key, self.units.tobytes())

    @cached_property
    def linear(self) -> LinearForm | None:
        return self.source.linear if self.units is None else in_units(self.source.linear, self.units)

    def rows(self, y: Array) -> tuple[Array, Array]:
        a, b = self.source.rows(y)
        return (a, b) if self.units is None else (a * self.units[:, :-1], b * self.units[:, -1])

    def chosen(self, y: Array, component: Ints) -> tuple[Array, Array]:
        a, b = self.source.chosen(y, component)
        return (a, b) if self.units is None else (a * self.units[component, :-1], b * self.units[component, -1])

    def chosen_derivatives(self, y: Array, component: Ints) -> tuple[Array, Array, Array] | None:
        parts = self.source.chosen_derivatives(y, component)
        if parts is None or self.units is None:
            return parts
        v, g, h = (part * self.units[component] for part in parts)
        return v, g, h

    def enclosed(self, lower: Array, upper: Array, component: Ints) -> tuple[Interval, Interval]:
        """Outward-rounded coefficients (N, K) and right-hand sides (N,) of row `component[n]` over the n-th box."""
        box = self.source.enclosed(lower, upper, component)
        box = box if self.units is None else multiplied(box, self.units[component])
        return box[:, :-1], box[:, -1]

    def quadratics(self, cell: Cell) -> Enclosure:
        inner = self.source.quadratics(cell)
        if self.units is None:
            return inner
        flat = np.concatenate([self.units[:, :-1].ravel(), self.units[:, -1]])  # as tapes order them

        def enclose(
            lower: Array, upper: Array, pieces: Pieces, order: int
        ) -> tuple[Quadratic, Quadratic | None, NDArray[np.bool_] | None]:
            rows, sides, straddles = inner(lower, upper, pieces, order)
            found = Quadratic(*(part * flat for part in rows))
            return found._replace(error=found.error + LOST), sides, straddles  # whatever underflowed

        return enclose

    def polynomial(self, component: int, weights: Array) -> Polynomial | None:
        if self.units is None:
            return self.source.polynomial(component, weights)
        factors = self.units[component]
        moved = weights * factors
        same = (moved / factors == weights).all()  # what underflows is another polynomial
        return self.source.polynomial(component, moved) if same else None


def at_parameters(family: RowFamily, values: Values) -> RowFamily:
    """The family for these values of its parameters; it shares its memory, which keeps the data of boxes apart."""
    source = family.source.bound(values)
    return family if source is family.source else replace(family, source=source)
