"""What the equalities of a program say: which rows vanish for every x that keeps them, decided in rational numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..expressions.interval import EPS
from ..expressions.ring import summed
from ..model.families import RowFamily
from ..model.program import FixedMatrix, Program
from ..proof.certificate import Array
from ..proof.dual import TUNING as WEIGHING

Row: TypeAlias = dict[int, Fraction]  # coefficients by columns, the right-hand side in column n: an equation


@dataclass(frozen=True, eq=False)
class IndexRow:
    """A row of a family at an index point.

    Parameters
    ----------
    family, row
        The family as it was written, and its row.
    at
        The index point (m,); nan for coordinates that may be anything.
    divided_by
        What the row was divided by before; nothing, where the row itself is meant.
    values
        (n + 1,), the row there, with its right-hand side last, where it is an inequality.
    """

    family: RowFamily
    row: int
    at: Array
    divided_by: str = ""
    values: Array | None = None

    @property
    def label(self) -> str:
        """How an equation is called that comes from it."""
        names = self.family.legend.coordinates
        place = ", ".join(f"{name} = {v:g}" for name, v in zip(names, self.at, strict=True) if not np.isnan(v))
        label = self.family.labels[self.row]
        return f"{f'({label}) / {self.divided_by}' if self.divided_by else label} where {place}"


@dataclass(frozen=True, eq=False)
class FiniteSide:
    """A side of a finite row or a variable: of all upper sides of rows, lower ones, upper bounds, and lower bounds."""

    number: int
    values: Array  # (n + 1,), an inequality with its right-hand side last

    @property
    def label(self) -> str:
        """How an equation is called that comes from it."""
        return "a finite row"


@dataclass(frozen=True, eq=False)
class Implied:
    """Where an equation comes from that a program does not have.

    Parameters
    ----------
    label
        How it is called.
    rows
        Inequalities that say it together, with others that come before it; or a quotient where that has to vanish.
    """

    label: str
    rows: tuple[IndexRow | FiniteSide, ...]


@dataclass(frozen=True, eq=False)
class AffineHull:
    """All x that keep the equalities among finite rows, variables that cannot move, and equations found out since.

    Parameters
    ----------
    n
        Variables.
    given
        Equations of the program, in rational numbers.
    sides
        By upper sides of finite rows, then lower ones, whose numbers are rounded: what each means.
    added
        Equations that the program does not have, and where they come from.
    """

    n: int
    given: tuple[Row, ...]
    sides: dict[int, Row] = field(default_factory=dict)
    added: tuple[tuple[Row, Implied], ...] = ()

    @staticmethod
    def of(program: Program, meant: Mapping[int, Row] | None = None) -> AffineHull:
        """What a program says, some of whose finite rows may be `meant` otherwise than they are rounded."""
        known, given = dict(meant or {}), list[Row]()
        equal = np.flatnonzero(program.row_lower == program.row_upper)
        table = np.column_stack([program.A[equal].toarray(), program.row_upper[equal]])
        for i, line in zip(equal.tolist(), table.tolist(), strict=True):
            given.append(known.get(i) or {j: Fraction(v) for j, v in enumerate(line) if v})
        for j in np.flatnonzero(program.lower == program.upper).tolist():
            value = Fraction(float(program.lower[j]))
            given.append({j: Fraction(1)} | ({program.n: value} if value else {}))
        opposite = {program.A.shape[0] + i: {j: -v for j, v in row.items()} for i, row in known.items()}
        return AffineHull(program.n, tuple(given), known | opposite)

    def side(self, number: int, values: Array) -> Row:
        """Of all upper sides of finite rows, then lower ones, and bounds, one with these values in rational numbers."""
        return self.sides.get(number) or {j: Fraction(v) for j, v in enumerate(values.tolist()) if v}

    @cached_property
    def table(self) -> Array:
        """(q, n + 1), all equations in floats."""
        table = np.zeros((len(self.given) + len(self.added), self.n + 1))
        for line, row in zip(table, [*self.given, *(row for row, _ in self.added)], strict=True):
            line[list(row)] = [float(v) for v in row.values()]
        return table

    @cached_property
    def rounded(self) -> tuple[str, ...]:
        """The added equations whose numbers doubles do not hold."""
        held = ((source.label, row) for row, source in self.added)
        return tuple(label for label, row in held if any(Fraction(float(v)) != v for v in row.values()))

    def projected(self, rows: Array) -> Array:
        """What is left of rows (..., n + 1) beside the equalities, in floats."""
        return rows - (rows @ self._basis.T) @ self._basis if len(self._basis) else rows

    def left(self, rows: Array) -> Array:
        """How much that is, relative to the rows; nothing of a row of zeros."""
        size = np.abs(rows).max(axis=-1)
        found: Array = np.abs(self.projected(rows)).max(axis=-1) / np.where(size > 0, size, 1.0)
        return found

    def likely(self, rows: Array) -> NDArray[np.bool_]:
        """Which rows look as if they vanished for all x that matter."""
        return self.left(rows) <= WEIGHING.likely

    @cached_property
    def _basis(self) -> Array:
        """Orthonormal rows that say the same, about."""
        if not len(self.table):
            return self.table
        scale = np.abs(self.table).max(axis=1, keepdims=True)
        _, sizes, rows = np.linalg.svd(self.table / np.where(scale > 0, scale, 1.0), full_matrices=False)
        return np.asarray(rows[sizes > WEIGHING.likely])

    def reduced(self, row: Row) -> Row:
        """What is left of an equation beside those that hold anyway: nothing, if it follows from them."""
        return _without(row, self._solved)

    @cached_property
    def _solved(self) -> dict[int, Row]:
        """Equations in which one column has the coefficient one, and none of the others has it: by these columns."""
        return _solved_for([*self.given, *(row for row, _ in self.added)], {}, self.n)

    def extended(self, rows: Sequence[Row], source: Implied) -> AffineHull | None:
        """The same with more equations; None where one contradicts others."""
        new: list[Row] = []
        for row in rows:
            left, whole = _without(row, _solved_for(new, self._solved, self.n)), _whole(row)
            if left and not any(j < self.n for j in left):
                return None
            fits = max(map(abs, whole.values()), default=Fraction(0)) <= 2 / EPS
            new += [whole if fits else row] if left else []
        return replace(self, added=(*self.added, *((row, source) for row in new)))

    def stated(self, program: Program) -> Program:
        """The program with the equations that were found out as finite rows, behind its own."""
        if not self.added:
            return program
        entries = [(i, j, float(v)) for i, (row, _) in enumerate(self.added) for j, v in row.items() if j < self.n]
        places, columns, numbers = zip(*entries, strict=True)
        block = sparse.csr_matrix((numbers, (places, columns)), shape=(len(self.added), self.n))
        sides = np.array([float(row.get(self.n, Fraction(0))) for row, _ in self.added])
        labels = program.row_labels or tuple(f"row {i}" for i in range(program.A.shape[0]))
        return replace(
            program,
            A=FixedMatrix.of(sparse.vstack([program.A, block], format="csr")),
            row_lower=np.concatenate([program.row_lower, sides]),
            row_upper=np.concatenate([program.row_upper, sides]),
            row_labels=(*labels, *(source.label for _, source in self.added)),
        )


def _solved_for(rows: Sequence[Row], solved: dict[int, Row], n: int) -> dict[int, Row]:
    """Equations that are solved, and more of them; one that says nothing new, or contradicts others, is passed over."""
    for line in rows:
        row = _without(line, solved)
        pivot = next((j for j in row if j < n), None)
        if pivot is not None:
            row = {j: v / row[pivot] for j, v in row.items()}
            solved = {j: _without(other, {pivot: row}) for j, other in solved.items()} | {pivot: row}
    return solved


def _without(row: Row, solved: dict[int, Row]) -> Row:
    """What is left of an equation without the columns that others are solved for."""
    for j in [j for j in row if j in solved]:
        row = summed([row, solved[j]], -row[j])
    return {j: v for j, v in row.items() if v}


def _whole(row: Row) -> Row:
    """The same equation in whole numbers."""
    factor = lcm(*(v.denominator for v in row.values()))
    return {j: v * factor for j, v in row.items()}
