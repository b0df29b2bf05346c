"""A program with cones as one finite conic program: min c z with b - A z in a cone K.

Its rows are equalities, then upper sides, bounds and epigraphs, then cones. Cones are those of the program, and those
of families that hold for all directions but for no index: a norm is a second-order cone, a semidefinite matrix one of
its own. Multipliers of these are atoms of the family, at directions around the worst one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy import linalg, sparse

from ..cones import Cone, SecondOrder, Semidefinite
from ..expressions.directions import Definite, DirectionBlock, Euclidean, Magnitude
from ..expressions.interval import EPS
from ..expressions.squares import RotatedCone
from ..masters.base import ConeBlock, FiniteProgram
from ..masters.written import Sides
from ..model.program import Program
from ..oracles.base import Directed, without_units
from ..proof.certificate import Array, Ints, Support


@dataclass(frozen=True, eq=False)
class ConicRow:
    """A row a x + sum of norms <= b for all directions, without an index; or -(E x - e) semidefinite, alone."""

    family: int
    component: int
    a: Array  # (n,)
    b: float
    matrices: tuple[Array, ...]  # E, (k, n) each
    sides: tuple[Array, ...]  # e, (k,) each
    definite: bool
    places: tuple[Ints, ...]  # of the direction of each norm or matrix, in the index
    point: Array  # (m,), an index point
    unit: float = 0.0  # of the only cone, where that is a rotated one, here
    boost: float = 1.0  # times the unit that it has in the program

    @property
    def cones(self) -> tuple[Cone, ...]:
        """That of the matrix, or those of the norms."""
        if self.definite:
            return (Semidefinite(len(self.places[0])),)
        return tuple(SecondOrder(1 + len(e)) for e in self.sides)

    def atoms(self, weight: float, multipliers: list[Array]) -> Iterator[Support]:
        """Multipliers of the row and of its cones as atoms of the family: enough of them to balance any columns."""
        if self.definite:
            Z = Semidefinite(len(self.places[0])).matrices(multipliers[0][None])[0]
            found = _rank_one(Z, int(self.matrices[0].any(axis=0).sum()))
        else:
            found = _around(weight, [-y[1:] / weight for y in multipliers], self.matrices) if weight > 0 else []
        for share, directions in found:
            if self.unit:
                factor, y = _boosted(directions[0], self.boost)
                share, directions = share * factor, [y]
            y = self.point.copy()
            for places, v in zip(self.places, directions, strict=True):
                y[places] = v
            yield Support(self.family, self.component, y, share)


def conic_rows(program: Program, boosts: Mapping[tuple[int, int], float] = MappingProxyType({})) -> list[ConicRow]:
    """The rows of a program that are cones: of norms and semidefinite matrices without an index.

    The units of rotated cones, by family and row, are those of the program times `boosts`.
    """
    found = []
    for f, scaled in enumerate(program.families):
        ones = np.ones((len(scaled.columns), scaled.columns.shape[1] + 1))
        given = without_units(scaled, ones, None)
        source: Any = scaled.source
        if scaled.legend.shown or not isinstance(source, Directed) or (given is None and scaled.units is not None):
            continue
        worst: Any = source.worst
        kinds = {type(block.kind) for block in worst.blocks}
        alone = len(worst.blocks) == 1 and len(worst.base) == len(worst.blocks[0].rows) == 1
        if not (kinds <= {Euclidean, Magnitude, RotatedCone} or (kinds == {Definite} and alone)):
            continue
        entries: Any = source.entries
        point = scaled.domain.project(np.zeros(scaled.domain.dim))[0]
        a, b = entries.rows(point[None, : entries.domain.dim])
        factors = source.of_entries(ones if given is None else given.weights)
        table = np.zeros((len(entries.columns), program.n))
        np.add.at(table, (np.arange(len(table))[:, None], entries.columns), a[0] * factors[:, :-1])
        sides = b[0] * factors[:, -1]
        if kinds == {Definite} and (table[worst.base].any() or sides[worst.base].any()):
            continue
        first = scaled.domain.dim - worst.index.domain.dim
        for i, base in enumerate(worst.base):
            each = [(block.kind, block.entries[e], block.places[e]) for block in worst.blocks for e in _at(block, i)]
            places = tuple(first + own for _, _, own in each)
            own_row = table[base], float(sides[base])
            if each and isinstance(each[0][0], RotatedCone):
                found.append(_rotated_row(f, i, own_row, table[each[0][1]], sides[each[0][1]], places, point, boosts))
                continue
            matrices, ends = (tuple(part[own] for _, own, _ in each) for part in (table, sides))
            found.append(ConicRow(f, i, *own_row, matrices, ends, kinds == {Definite}, places, point))
    return found


def _rotated_row(
    f: int,
    i: int,
    base: tuple[Array, float],
    E: Array,
    e: Array,
    places: tuple[Ints, ...],
    point: Array,
    boosts: Mapping[tuple[int, int], float],
) -> ConicRow:
    """The rotated cone of E x - e = (2 sqrt(u) r, b, -u, …) in another unit: |(2 sqrt(u) r, b - u)| less b + u."""
    boost = boosts.get((f, i), 1.0)
    unit, factors = float(e[-3]) * boost, np.append(np.full(len(e) - 4, np.sqrt(boost)), 1.0)
    sides = factors * e[:-3]
    sides[-1] += unit
    a, b = base[0] - E[-4], base[1] - float(e[-4]) + unit
    return ConicRow(f, i, a, b, (factors[:, None] * E[:-3],), (sides,), False, places, point, unit, boost)


def _boosted(y: Array, boost: float) -> tuple[float, Array]:
    """A direction of a rotated cone as one in the unit of the program, and how many times as much its row counts.

    Both rows are the same: factors of r, of b and of what is left agree.
    """
    factor = 0.5 * ((1.0 - y[-1]) + (1.0 + y[-1]) * boost)
    moved = np.append(np.sqrt(boost) * y[:-1] / factor, 1.0 - (1.0 - y[-1]) / factor)
    least = 1.0 - 8 * len(y) * EPS  # so that rounding leaves no direction outside
    return factor, moved * min(1.0, least / max(float(np.linalg.norm(moved)), EPS)) if boost != 1.0 else y


def _at(block: DirectionBlock, row: int) -> list[int]:
    """Which of the support functions of a block are added to a row."""
    found: list[int] = np.flatnonzero(block.rows == row).tolist()
    return found


def _around(weight: float, means: list[Array], matrices: tuple[Array, ...]) -> list[tuple[float, list[Array]]]:
    """Directions of equal weight whose mean is given, as far around it in its ball as that allows.

    They are the corners of a simplex in as many dimensions as the coefficients E' v of rows have.
    """
    if not means:
        return [(weight, [])]
    moves, inner = [], []
    for u in means:
        size = float(np.linalg.norm(u))
        unit, size = (u / size, min(size, 1.0)) if size > 0 else (u, 0.0)
        least = 1.0 - 1e-13  # so that rounding leaves no direction outside
        along, across = 0.5 * (1.0 - size), 0.5 * np.sqrt((1.0 - size) * (3.0 + size))
        moves.append(least * (across * np.eye(len(u)) + (along - across) * np.outer(unit, unit)))
        inner.append(least * size * unit)
    reached, sizes, _ = linalg.svd(
        np.concatenate([move @ E for move, E in zip(moves, matrices, strict=True)]), full_matrices=False
    )
    reached = reached[:, sizes > 1e-12 * sizes.max(initial=0.0)]
    count = reached.shape[1] + 1
    corners = linalg.qr(np.concatenate([np.ones((count, 1)), np.eye(count)[:, 1:]], axis=1))[0][:, 1:]
    steps = np.split(reached @ corners.T, np.cumsum([len(u) for u in means])[:-1])
    return [
        (weight / count, [u + move @ step[:, i] for u, move, step in zip(inner, moves, steps, strict=True)])
        for i in range(count)
    ]


def _rank_one(Z: Array, columns: int) -> list[tuple[float, list[Array]]]:
    """Weights and vectors v whose weighted v v' add up to Z: roots of Z, turned; the largest element of each is one."""
    values, vectors = linalg.eigh(Z)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    count, rng = min(columns // len(Z) + 2, len(Z)), np.random.default_rng(0)
    found = []
    for _ in range(count):
        turned = root @ linalg.qr(rng.normal(size=Z.shape))[0]
        for v in turned.T:
            top = v[np.abs(v).argmax()]
            if top:
                found.append((float(top * top) / count, [np.clip(v / top, -1.0, 1.0)]))
    return found


@dataclass(frozen=True, eq=False)
class ConicForm:
    """min c z + constant with b - A z in K: the first `zero` slacks vanish, as many as `nonneg` are at least 0."""

    program: Program
    boosts: dict[tuple[int, int], float] = field(default_factory=dict)  # of the units of rotated cones

    @cached_property
    def free(self) -> Ints:
        """The columns of the program that are variables here: those that are not fixed."""
        return np.flatnonzero(self.program.lower != self.program.upper)

    @cached_property
    def fixed(self) -> Array:
        """(n,), the values of fixed columns; zero for others."""
        return np.where(self.program.lower == self.program.upper, self.program.lower, 0.0)

    @cached_property
    def conic_rows(self) -> list[ConicRow]:
        return conic_rows(self.program, self.boosts)

    def boost(self, z: Array, least: int = 2) -> bool:
        """Bring the units of rotated cones near what is below them at z; whether one was 4^least times off."""
        x, moved = self.point(z), False
        for row in self.conic_rows:
            below = row.b - float(row.a @ x) - row.unit
            power = round(np.log2(max(below, 0.5 * EPS * row.unit) / row.unit) / 2) if row.unit else 0
            if abs(power) >= least:
                self.boosts[row.family, row.component] = row.boost * 4.0**power
                moved = True
        for name in ("conic_rows", "_table", "A", "b") if moved else ():
            self.__dict__.pop(name, None)
        return moved

    @cached_property
    def families(self) -> set[int]:
        """The families that are cones here."""
        return {row.family for row in self.conic_rows}

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
        own, column = np.zeros((len(norms), epigraphs)), 0
        cones: list[Any] = [] if program.cones is None else [_wider(program.cones.A, epigraphs)]
        right = [] if program.cones is None else [program.cones.b]
        for row in self.conic_rows:
            if row.definite:
                cones.append(_wider(_triangles(row.matrices[0]), epigraphs))
                right.append(_triangles(row.sides[0][:, None])[:, 0])
                continue
            for E, e in zip(row.matrices, row.sides, strict=True):
                own[norms.index(row), column] = 1.0
                epigraph = sparse.csr_matrix(([-1.0], ([0], [n + column])), shape=(1, n + epigraphs))
                cones += [epigraph, _wider(-E, epigraphs)]
                right += [np.zeros(1), -e]
                column += 1
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
