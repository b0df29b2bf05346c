"""Families of rows as they were written: over the index sets that were declared, and as functions of their points."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..domains import Box, Domain, Interval, Product
from ..expressions.folds import Folded, declared_places
from ..expressions.graph import Index
from ..expressions.parametric_region import at_values
from ..expressions.undefined import coordinates
from ..model.compilation import Written
from ..model.directed_rows import DirectedRows
from ..model.families import RowFamily
from ..model.legend import Legend
from ..model.program import Program
from ..model.quantified import declared_family, labels_of
from ..model.statements import ForAll
from ..model.unbounded import Placement
from ..model.violation import FamilyViolation, Seen, SeenViolation
from ..oracles.base import visible
from ..proof.certificate import Array


@dataclass(frozen=True, eq=False)
class WrittenFamily:
    """Rows a(y) x <= b(y) for all y of one set, as they were written.

    Parameters
    ----------
    rows
        The family of these rows: over the index set as it was declared.
    parts
        The families of the program in which solvers see them.
    declared
        Which coordinates of `rows` are those of the declared indices; None for all.
    reach
        (m,), for an unbounded set: beyond the finite end, how far a picture goes at least.
    """

    rows: RowFamily
    parts: tuple[int, ...]
    declared: NDArray[np.intp] | None = None
    reach: Array | None = None
    sets: tuple[Domain, ...] = ()  # of its indices, where one is unbounded

    @property
    def name(self) -> str:
        return self.rows.legend.name

    @property
    def labels(self) -> tuple[str, ...]:
        return self.rows.labels

    @property
    def enclosable(self) -> bool:
        return self.rows.enclosable

    @property
    def shown(self) -> int:
        """Coordinates of a point; 0 where there is no index."""
        return self.rows.legend.shown if self.declared is None else len(self.declared)

    @property
    def coordinates(self) -> tuple[str, ...]:
        """(m,), their names."""
        names = self.rows.legend.coordinates[: self.rows.legend.shown]
        return names if self.declared is None else tuple(names[k] for k in self.declared)

    @cached_property
    def visible(self) -> Domain:
        """The index set as it was declared."""
        if self.declared is None:
            return visible(self.rows)
        sets = [i.declared.domain for i in self.rows.legend.indices]
        return sets[0] if len(sets) == 1 else Product(*sets)

    @property
    def where(self) -> str:
        """The index set in words."""
        return " × ".join(map(str, self.sets)) if len(self.sets) > 1 else str(self.visible)

    def drawn(self, points: Array) -> Domain:
        """The index set, or the part of an unbounded one that a picture shows, with these points (N, m) in it."""
        if self.reach is None:
            return self.visible
        sets, start = [], 0
        for part in self.sets:
            end = start + part.dim
            sets.append(_window(part, points[:, start:end], self.reach[start:end]))
            start = end
        return sets[0] if len(sets) == 1 else Product(*sets)

    def seen(self, x: Array, scale: float = 1.0) -> Seen:
        """a(y) x - scale b(y), as a function of y."""
        if isinstance(self.rows.source, DirectedRows):
            return SeenViolation(self.rows, self.rows.source, x, scale)
        if self.declared is not None or not self.shown:
            return LiftedViolation(self.rows, x, scale, self)
        return FamilyViolation(self.rows, x, scale)


class LiftedViolation(FamilyViolation):
    """a(y) x - scale b(y) where rows have more coordinates than y: parts of its entries, or the one of no index."""

    def __init__(self, family: RowFamily, x: Array, scale: float, written: WrittenFamily) -> None:
        super().__init__(family, x, scale)
        self.written = written

    @property
    def domain(self) -> Domain:
        return self.written.visible

    def values(self, y: Array) -> Array:
        return super().values(self._lifted(y))

    def at(self, y: Array, component: NDArray[np.intp]) -> Array:
        """Component `component[n]` at the point y[n]: shape (N,)."""
        return super().at(self._lifted(y), component)

    def _lifted(self, y: Array) -> Array:
        if not self.written.shown:
            return np.zeros((len(y), self.family.domain.dim))
        found, start = [], 0
        for index in self.family.legend.indices:
            end = start + index.declared.domain.dim
            found.append(lifted(index, y[:, start:end]))
            start = end
        return np.concatenate(found, axis=1)


def lifted(index: Index, y: Array) -> Array:
    """Points (N, k) of a declared index with the parts of their entries, if the index has them."""
    if not isinstance(index, Folded):
        return y
    parts = [np.clip(y[:, j], low, high) - low for j in range(len(index.breaks)) for low, high in index.limits(j)]
    return np.concatenate([y, *(part[:, None] for part in parts)], axis=1)


def _window(domain: Domain, points: Array, reach: Array) -> Domain:
    if domain.bounded:
        return domain
    low, high = domain.lower.copy(), domain.upper.copy()
    for k in range(domain.dim):
        known = points[:, k][np.isfinite(points[:, k])]
        base = low[k] if np.isfinite(low[k]) else high[k] if np.isfinite(high[k]) else 0.0
        far = 2 * max(float(reach[k]), float(np.abs(known - base).max(initial=0.0)))
        low[k] = low[k] if np.isfinite(low[k]) else base - far
        high[k] = high[k] if np.isfinite(high[k]) else base + far
    return Interval(low[0], high[0]) if domain.scalar else Box(low, high)


def written_family(family: RowFamily, number: int) -> WrittenFamily:
    """A family over the set as it was declared, with its rows as they were written."""
    lifted_index = any(isinstance(i, Folded) for i in family.legend.indices)
    return WrittenFamily(family, (number,), declared_places(family.legend.indices) if lifted_index else None)


def unbounded_family(program: Program, statement: ForAll, placement: Placement) -> WrittenFamily:
    """The family of a constraint over an unbounded set."""
    assert program.layout is not None
    written = program.layout.written
    assert isinstance(written, Written)
    sets = [at_values(i.domain, written.values) for i in statement.indices]
    constraint = statement.constraint
    around = Box(np.concatenate([d.lower for d in sets]), np.concatenate([d.upper for d in sets]))
    names = coordinates(statement.indices)
    rows = declared_family(
        Legend(statement.label, labels_of(constraint), names, statement.indices),
        sets[0] if len(sets) == 1 else around,
        constraint.body,
        written.offsets,
        {p: written.values[p] for p in statement.parameters},
    )
    reach = np.zeros(rows.domain.dim)
    reach[list(placement.axes)] = placement.length
    return WrittenFamily(rows, (), None, reach, tuple(sets))
