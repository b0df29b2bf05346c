"""A program with cones as one finite conic program: min c z with b - A z in a cone K.

Its rows are equalities, then upper sides, bounds and epigraphs, then cones. Cones are those of the program, and those
of families that hold for all directions: a norm is a second-order cone, a semidefinite matrix one of its own. Where a
family has an index too, it is such a cone at every index point, and the form has those of some. Multipliers of these
are atoms of the family, at directions around the worst one.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from ..cones import Cone
from ..masters.base import ConeBlock, FiniteProgram
from ..masters.written import Sides
from ..model.program import Program
from ..proof.certificate import Array, Ints, Support
from .conic_families import ConicFamily, ConicRow, conic_families


@dataclass(frozen=True, eq=False)
class ConicForm:
    """min c z + constant with b - A z in K: the first `zero` slacks vanish, as many as `nonneg` are at least 0."""

    program: Program
    families: dict[int, ConicFamily]  # those that are cones
    conic_rows: tuple[ConicRow, ...]  # of these

    @staticmethod
    def of(program: Program) -> ConicForm:
        """The form with all rows of families without an index."""
        families = conic_families(program)
        alone = [family for family in families.values() if not family.indexed]
        return ConicForm(
            program, families, tuple(row for f in alone for y in f.first_points() for row in f.rows(program.n, y))
        )

    def grown(self, new: Iterable[Support]) -> ConicForm:
        """The same with rows at further index points."""
        held = {(row.family, row.component, self.index_of(row)) for row in self.conic_rows}
        more = list[ConicRow]()
        for s in new:
            key = s.family, s.component, self.index_of(s)
            if self.families[s.family].indexed and key not in held:
                held.add(key)
                more += self.families[s.family].rows(self.program.n, s.point, [s.component])
        return replace(self, conic_rows=(*self.conic_rows, *more)) if more else self

    def boosted(self, z: Array) -> ConicForm:
        """The same with units of rotated cones near what is below them at z; itself where they are."""
        x = self.point(z)
        rows = tuple(row.boosted(x) for row in self.conic_rows)
        return self if all(map(operator.is_, rows, self.conic_rows)) else replace(self, conic_rows=rows)

    def index_of(self, place: Support | ConicRow) -> bytes:
        """An index point without its direction."""
        return place.point[: self.families[place.family].coordinates].tobytes()

    @cached_property
    def free(self) -> Ints:
        """The columns of the program that are variables here: those that are not fixed."""
        return np.flatnonzero(self.program.lower != self.program.upper)

    @cached_property
    def fixed(self) -> Array:
        """(n,), the values of fixed columns; zero for others."""
        return np.where(self.program.lower == self.program.upper, self.program.lower, 0.0)

    @cached_property
    def sides(self) -> Sides:
        return Sides.of(self.program.A, self.program.row_lower, self.program.row_upper)

    @cached_property
    def cones(self) -> tuple[Cone, ...]:
        own = () if self.program.cones is None else self.program.cones.cones
        return (*own, *(cone for row in self.conic_rows for cone in row.cones))

    @cached_property
    def _table(self) -> tuple[sparse.csr_matrix, Array]:
        """All rows over all columns of the program, and those of epigraphs behind them."""
        program, n, sides = self.program, self.program.n, self.sides
        norms = [row for row in self.conic_rows if not row.definite]
        epigraphs = sum(len(row.sides) for row in norms)
        unit = sparse.eye_array(n, format="csr")
        above, below = (np.flatnonzero(np.isfinite(end)) for end in (program.upper, program.lower))
        above, below = (np.intersect1d(part, self.free) for part in (above, below))
        own, row_of, column = np.zeros((len(norms), epigraphs)), 0, 0
        cones: list[Any] = [] if program.cones is None else [_wider(program.cones.A, epigraphs)]
        right = [] if program.cones is None else [program.cones.b]
        for row in self.conic_rows:
            if row.definite:
                cones.append(_wider(_triangles(row.matrices[0]), epigraphs))
                right.append(_triangles(row.sides[0][:, None])[:, 0])
                continue
            for E, e in zip(row.matrices, row.sides, strict=True):
                own[row_of, column] = 1.0
                epigraph = sparse.csr_matrix(([-1.0], ([0], [n + column])), shape=(1, n + epigraphs))
                cones += [epigraph, _wider(-E, epigraphs)]
                right += [np.zeros(1), -e]
                column += 1
            row_of += 1
        first = [sides.equal, sides.upper, unit[above], -unit[below]]
        heights = np.concatenate([np.array([row.a for row in norms]).reshape(len(norms), n), own], axis=1)
        parts = [*(_wider(part, epigraphs) for part in first), sparse.csr_matrix(heights), *cones]
        values = [sides.value, sides.right, program.upper[above], -program.lower[below], [row.b for row in norms]]
        return sparse.csr_matrix(sparse.vstack(parts, format="csr")), np.concatenate([*values, *right])

    @cached_property
    def A(self) -> sparse.csr_matrix:
        A = self._table[0]
        return sparse.csr_matrix(A[:, np.concatenate([self.free, np.arange(self.program.n, A.shape[1])])])

    @cached_property
    def b(self) -> Array:
        A, b = self._table
        return np.asarray(b - A[:, : self.program.n] @ self.fixed)

    @cached_property
    def c(self) -> Array:
        return np.append(self.program.c[self.free], np.zeros(self.A.shape[1] - len(self.free)))

    @property
    def constant(self) -> float:
        return self.program.constant + float(self.program.c @ self.fixed)

    @property
    def zero(self) -> int:
        return len(self.sides.value)

    @cached_property
    def nonneg(self) -> int:
        return len(self.b) - self.zero - sum(cone.size for cone in self.cones)

    @cached_property
    def kept(self) -> Array:
        """(q,), how a margin of 1 moves right-hand sides: those of rows that hold at some index points only."""
        found = np.zeros(len(self.b))
        norms = [row.indexed for row in self.conic_rows if not row.definite]
        at = self.zero + self.nonneg
        found[at - len(norms) : at] = norms
        return found

    def point(self, z: Array) -> Array:
        """The variables of the program."""
        x = self.fixed.copy()
        x[self.free] = z[: len(self.free)]
        return x

    def direction(self, z: Array) -> Array:
        """A direction in the variables of the program."""
        return self.point(z) - self.fixed

    def multipliers(self, y: Array) -> tuple[tuple[Support, ...], Array]:
        """Multipliers of all rows as atoms and those of the finite rows of the program."""
        flat, at = self.sides, self.zero + self.nonneg
        rows = flat.multipliers(y[: self.zero], y[self.zero : self.zero + len(flat.right)])
        own = 0 if self.program.cones is None else len(self.program.cones)
        rows, start = np.concatenate([rows, y[at : at + own]]), at + own
        norms = sum(not row.definite for row in self.conic_rows)
        weights, support = iter(y[at - norms : at].tolist()), list[Support]()
        for row in self.conic_rows:
            ends = start + np.cumsum([0, *(cone.size for cone in row.cones)])
            parts = [y[a:b] for a, b in pairwise(ends.tolist())]
            support += row.atoms(1.0 if row.definite else next(weights), parts)
            start = ends[-1]
        return tuple(support), rows

    def finite(self, c: Array, A: sparse.csr_matrix, b: Array, more: int) -> FiniteProgram:
        """Rows like these, `more` of them nonnegative, as a finite program."""
        at, free = self.zero + self.nonneg + more, np.full(len(c), np.inf)
        starts = at + np.cumsum([0, *(cone.size for cone in self.cones)])
        cones = tuple(
            ConeBlock(np.arange(start, start + cone.size), cone.kind, cone.exponents)
            for start, cone in zip(starts, self.cones, strict=False)
        )
        equal = np.arange(len(b)) < self.zero
        return FiniteProgram(c, -free, free, A, np.where(equal, b, -np.inf), b, cones=cones)


def _wider(A: sparse.csr_matrix, more: int) -> sparse.csr_matrix:
    """A matrix with so many empty columns behind its own."""
    return sparse.csr_matrix(sparse.hstack([sparse.csr_matrix(A), sparse.csr_matrix((A.shape[0], more))]))


def _triangles(E: Array) -> Array:
    """The symmetric part of matrices (k k, n), as the semidefinite cone orders them."""
    k = int(np.sqrt(len(E)))
    full = E.reshape(k, k, -1)
    full = 0.5 * (full + full.transpose(1, 0, 2))
    column, row = np.tril_indices(k)
    return np.where((row == column)[:, None], 1.0, np.sqrt(2.0)) * full[row, column]
