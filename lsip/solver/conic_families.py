"""Families that are cones at every index point: a norm is a second-order cone, a semidefinite matrix one of its own.

Their rows hold for all directions, of which the worst has a closed form. Multipliers of a cone are atoms of the family,
at directions around the worst one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg

from ..cones import Cone, SecondOrder, Semidefinite
from ..expressions.directions import Definite, Euclidean, Magnitude
from ..expressions.interval import EPS
from ..expressions.squares import RotatedCone
from ..model.families import RowFamily
from ..model.program import Program
from ..oracles.base import Directed, without_units
from ..proof.certificate import Array, Ints, Support


@dataclass(frozen=True, eq=False)
class ConicRow:
    """A row a x + sum of norms <= b for all directions, at an index point; or -(E x - e) semidefinite, alone."""

    family: int
    component: int
    a: Array  # (n,)
    b: float
    matrices: tuple[Array, ...]  # E, (k, n) each
    sides: tuple[Array, ...]  # e, (k,) each
    definite: bool
    places: tuple[Ints, ...]  # of the direction of each norm or matrix, in the index
    point: Array  # (m,), an index point
    indexed: bool  # whether there are others
    unit: float = 0.0  # of the only cone, where that is a rotated one
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
            if self.boost != 1.0:
                factor, moved = _in_unit(directions[0], self.boost)
                share, directions = share * factor, [moved]
            y = self.point.copy()
            for places, v in zip(self.places, directions, strict=True):
                y[places] = v
            yield Support(self.family, self.component, y, share)

    def boosted(self, x: Array, least: int = 2) -> ConicRow:
        """A rotated cone in a unit near what is below it at x, if its own is 4^least off; others as they are."""
        below = self.b - float(self.a @ x) - self.unit
        power = round(np.log2(max(below, 0.5 * EPS * self.unit) / self.unit) / 2) if self.unit else 0
        if abs(power) < least:
            return self
        (E,), (e,), more = self.matrices, self.sides, self.unit * (4.0**power - 1.0)
        factors = np.append(np.full(len(e) - 1, 2.0**power), 1.0)
        sides = factors * e
        sides[-1] += more
        found = replace(self, matrices=(factors[:, None] * E,), sides=(sides,), b=self.b + more)
        return replace(found, unit=self.unit + more, boost=self.boost * 4.0**power)


@dataclass(frozen=True, eq=False)
class ConicFamily:
    """A family whose rows are cones at every index point: norms, or one semidefinite matrix."""

    family: int
    scaled: RowFamily
    weights: Array  # (p, n + 1), of the rows as the family has them
    definite: bool

    @staticmethod
    def of(f: int, scaled: RowFamily) -> ConicFamily | None:
        """None where rows are something else."""
        ones = np.ones((len(scaled.columns), scaled.columns.shape[1] + 1))
        given = without_units(scaled, ones, None)
        source: Any = scaled.source
        if not isinstance(source, Directed) or (given is None and scaled.units is not None):
            return None
        worst: Any = source.worst
        kinds = {type(block.kind) for block in worst.blocks}
        alone = len(worst.blocks) == 1 and len(worst.base) == len(worst.blocks[0].rows) == 1
        if not (kinds <= {Euclidean, Magnitude, RotatedCone} or (kinds == {Definite} and alone)):
            return None
        # With an index, matrices and norms of two numbers need few rows, which Newton steps make exact.
        norms = kinds != {Definite} and max(block.places.shape[1] for block in worst.blocks) > 2
        if scaled.legend.shown and not norms:
            return None
        found = ConicFamily(f, scaled, ones if given is None else given.weights, kinds == {Definite})
        if found.definite:
            a, b = source.entries.rows(np.asarray(source.entries.domain.spread(1)))
            if a[:, worst.base].any() or b[:, worst.base].any():
                return None
        return found

    @property
    def indexed(self) -> bool:
        """Whether there is an index beside directions."""
        return bool(self.scaled.legend.shown)

    @property
    def coordinates(self) -> int:
        """How many coordinates of a point are those of the index."""
        source: Any = self.scaled.source
        return int(self.scaled.domain.dim - source.worst.index.domain.dim)

    def first_points(self) -> Array:
        """Index points (k, m) to begin with, with any direction."""
        source: Any = self.scaled.source
        anywhere = self.scaled.domain.project(np.zeros(self.scaled.domain.dim))
        indices = source.indices_of(self.scaled.domain) if self.indexed else None
        if indices is None:
            return anywhere if not self.indexed else self.scaled.domain.spread(1)
        k = self.scaled.columns.shape[1]
        if indices.dim == 1:
            points = indices.grid(int(np.clip(k + 1, 5, 50)))
        else:
            points = np.concatenate([*([indices.grid(2)] if indices.dim <= 4 else []), indices.spread(8)])
        found = np.repeat(anywhere, len(points), axis=0)
        found[:, : self.coordinates] = points
        return found

    def rows(self, n: int, point: Array, components: Iterable[int] | None = None) -> list[ConicRow]:
        """All rows at an index point, or some, over n columns."""
        source: Any = self.scaled.source
        entries, worst = source.entries, source.worst
        a, b = entries.rows(point[None, : entries.domain.dim])
        factors = source.of_entries(self.weights)
        table = np.zeros((len(entries.columns), n))
        np.add.at(table, (np.arange(len(table))[:, None], entries.columns), a[0] * factors[:, :-1])
        sides, first, found = b[0] * factors[:, -1], self.coordinates, []
        for i in range(len(worst.base)) if components is None else components:
            base = worst.base[i]
            each = [(block, e) for block in worst.blocks for e in np.flatnonzero(block.rows == i)]
            matrices, ends = (tuple(part[block.entries[e]] for block, e in each) for part in (table, sides))
            places = tuple(first + block.places[e] for block, e in each)
            side = float(sides[base])
            row = ConicRow(
                self.family, i, table[base], side, matrices, ends, self.definite, places, point, self.indexed
            )
            found.append(_as_norm(row) if each and isinstance(each[0][0].kind, RotatedCone) else row)
        return found


def _as_norm(row: ConicRow) -> ConicRow:
    """A rotated cone of (2 sqrt(u) r, b, -u, -b, -u) as the norm of (2 sqrt(u) r, b - u), less b + u."""
    (E,), (e,) = row.matrices, row.sides
    unit, sides = float(e[-3]), e[:-3].copy()
    sides[-1] += unit
    a, b = row.a - E[-4], row.b - float(e[-4]) + unit
    return replace(row, a=a, b=b, matrices=(E[:-3],), sides=(sides,), unit=unit)


def _in_unit(y: Array, boost: float) -> tuple[float, Array]:
    """A direction of a boosted cone as one in the unit of the program, and how many times as much its row counts.

    Both rows are the same: factors of r, of b and of what is left agree.
    """
    factor = 0.5 * ((1.0 - y[-1]) + (1.0 + y[-1]) * boost)
    moved = np.append(np.sqrt(boost) * y[:-1] / factor, 1.0 - (1.0 - y[-1]) / factor)
    least = 1.0 - 8 * len(y) * EPS  # so that rounding leaves no direction outside
    return factor, moved * min(1.0, least / max(float(np.linalg.norm(moved)), EPS))


def conic_families(program: Program) -> dict[int, ConicFamily]:
    """The families that are cones at every index point."""
    found = {f: ConicFamily.of(f, scaled) for f, scaled in enumerate(program.families)}
    return {f: family for f, family in found.items() if family is not None}


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
