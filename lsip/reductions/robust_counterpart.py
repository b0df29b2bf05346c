"""The robust counterpart: a program whose families are affine in their index as one finite program, by duality.

A row a(y) x <= b(y) for all y in Y = {place w + origin : rows w <= sides, w in K} is, with d the slope of a x - b,

    (a x - b)(origin) + sides π <= 0,     rows' π - place' d in the dual of K,     π >= 0

for some π (Ben-Tal & Nemirovski, 1999; Bertsimas & Sim, 2004). The multipliers of the second are w times that of the
first: they say which index point is the worst.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..domains.lifted import Lifted, lifted
from ..errors import ModelError
from ..expressions.triplets import moved
from ..masters.base import ConeBlock, FiniteProgram
from ..model.families import RowFamily
from ..model.program import Program
from ..oracles.base import Array, Ints
from ..proof.certificate import Support
from ..proof.linear_algebra import ROUNDING


@dataclass(frozen=True, eq=False)
class Block:
    """The rows of one family over one part of its index set, and where they stand in the counterpart."""

    family: int
    part: Lifted
    first: int  # the row of the first of its p components
    inner: Ints  # (p, k), the row of every coordinate of w; -1 where there is none, for it plays no part

    def measure(self, multipliers: Array, least: float) -> tuple[Ints, Array, Array]:
        """Components, points and weights of the dual measure, those that are more than `least`."""
        if self.part.corners:
            each = np.where(self.inner >= 0, multipliers[self.inner], 0.0)
            i, w = np.nonzero(each > least)
            return i, self.part.place.T.toarray()[w], each[i, w]
        weight = multipliers[self.first : self.first + len(self.inner)]
        used = np.flatnonzero(weight > least)
        inner = self.inner[used]
        inside = np.where(inner >= 0, multipliers[inner], 0.0) / weight[used, None]
        return used, self.part.origin + (self.part.place @ inside.T).T, weight[used]


@dataclass(frozen=True, eq=False, kw_only=True)
class FiniteCounterpart(FiniteProgram):
    """A finite program whose variables begin with those of the given program, and its rows with those of it."""

    given: Program
    blocks: tuple[Block, ...]
    finite: int  # rows of the given program

    def kept_by(self, margin: float | Array, free: NDArray[np.bool_]) -> tuple[Array, Array]:
        """Both sides of the rows, where inequalities that a free variable (n,) has a part in are kept by a margin."""
        lower, upper, most = self.row_lower.copy(), self.row_upper.copy(), np.broadcast_to(margin, len(self.row_upper))
        moved = abs(self.A) @ np.append(free, np.zeros(len(self.c) - len(free))) > 0
        loose = moved[: self.finite] & (upper[: self.finite] - lower[: self.finite] > 4 * most[: self.finite])
        lower[: self.finite] += most[: self.finite] * loose
        upper[: self.finite] -= most[: self.finite] * loose
        for block in self.blocks:
            own = np.arange(block.first, block.first + len(block.inner))
            upper[own] -= most[own] * (moved[own] | (moved[block.inner] & (block.inner >= 0)).any(axis=1))
        return lower, upper

    def idle(self) -> NDArray[np.bool_]:
        """Rows whose multipliers vanish in every dual solution: a free variable without a cost can always keep them.

        Its column is to balance; where all its entries have one sign, the multipliers of its rows are zero, and with
        that of a robust row, those of all that belongs to it.
        """
        A = sparse.csc_array(self.A)
        column = np.repeat(np.arange(A.shape[1]), np.diff(A.indptr))
        free = (self.c == 0) & np.isinf(self.lower) & np.isinf(self.upper)
        two_sided = np.isfinite(self.row_lower) & np.isfinite(self.row_upper)
        two_sided[[row for cone in self.cones for row in cone.rows]] = True  # multipliers of cones have any sign
        sign = np.where(np.isfinite(self.row_upper), 1.0, -1.0)[A.indices] * A.data
        gone = np.zeros(A.shape[0], dtype=bool)
        while True:
            left = ~gone[A.indices] & (A.data != 0)
            pushed = [np.bincount(column, left & part, A.shape[1]) for part in (sign > 0, sign < 0)]
            both = np.bincount(column, left & two_sided[A.indices], A.shape[1])
            alone = free & (both == 0) & ((pushed[0] == 0) != (pushed[1] == 0))
            new = np.zeros(len(gone), dtype=bool)
            new[A.indices[left & alone[column]]] = True
            for block in self.blocks:
                first = np.arange(block.first, block.first + len(block.inner))
                rows = block.inner[new[first]]
                new[rows[rows >= 0]] = True
            if not (new & ~gone).any():
                return gone
            gone |= new

    def central(self) -> Array:
        """Multipliers inside: 1 for every robust row at a point in the middle of its index set; 0 for idle rows."""
        found, idle = np.zeros(self.A.shape[0]), self.idle()
        for block in self.blocks:
            found[block.first : block.first + len(block.inner)] = 1.0
            i, w = np.nonzero(block.inner >= 0)
            found[block.inner[i, w]] = block.part.centre[w]
        return np.where(idle, 0.0, found)

    def inverse(self, multipliers: Array) -> tuple[tuple[Support, ...], Array]:
        """The dual measure of the given program, and the multipliers of its finite rows."""
        least, support = ROUNDING * float(np.abs(multipliers).max(initial=0.0)), list[Support]()
        for block in self.blocks:
            domain = self.given.families[block.family].domain
            rows, points, weights = block.measure(multipliers, least)
            each = zip(rows.tolist(), np.clip(points, domain.lower, domain.upper), weights.tolist(), strict=True)
            support += [Support(block.family, row, y, weight) for row, y, weight in each]
        return tuple(support), self.given.admissible(multipliers[: self.finite])


def unsuited(program: Program) -> str | None:
    """Why a program has no counterpart, as a sentence; None if it has one."""
    if program.cones is not None:
        return f"{program.name} has conic constraints in its finite part"
    for family in program.families:
        if family.linear is None:
            return f"{family.legend.name} is not affine in the index"
        if not lifted(family.domain):
            return f"{family.domain} is not known to be convex, or a union of sets that are"
    return None


def counterpart(program: Program) -> FiniteCounterpart:
    """The finite program that says the same; a ModelError where there is none."""
    reason = unsuited(program)
    if reason is not None:
        raise ModelError(
            f"There is no robust counterpart: {reason}. Counterparts are of constraints that are affine in the index, "
            "over boxes, budgets, simplices, polytopes, balls, ellipsoids, their products, intersections and unions. "
            "Solve with lsip.Exchange() instead."
        )
    table = _Table(program)
    for f, family in enumerate(program.families):
        for part in lifted(family.domain):
            table.add(f, family, part)
    return table.made()


class _Table:
    """A finite program that grows by blocks."""

    def __init__(self, program: Program) -> None:
        A = sparse.coo_array(program.A)
        self.program, self.rows, self.columns = program, int(A.shape[0]), program.n
        self.entries = [(A.row.astype(np.intp), A.col.astype(np.intp), A.data)]
        self.sides, self.free = [np.asarray(program.row_upper)], list[Array]()
        self.blocks, self.cones = list[Block](), list[ConeBlock]()

    def add(self, f: int, family: RowFamily, part: Lifted) -> None:
        form = family.linear
        assert form is not None
        (p, width), k, q = form.value.shape, part.size, len(part.sides)
        here = form.table(part.origin[None])[0]  # rows at the origin
        atom, axis, (pair, entry) = form.by_axis(np.arange(p))
        # d' place: every slope times the entries of its axis.
        place = sparse.csr_array(part.place)
        counts = np.diff(place.indptr)
        new, stored = moved(np.repeat(np.arange(len(counts)), counts), len(counts), axis[pair])
        row, w = atom[pair[new]], place.indices[stored].astype(np.intp)
        value, k_of = form.slope[entry[new]] * place.data[stored], form.place[entry[new]] % width
        inner = np.full((p, k), -1, dtype=np.intp)
        needed = np.zeros((p, k), dtype=bool)
        needed[row, w] = True
        needed |= _binding(part)
        inner[needed] = self.rows + p + np.arange(int(needed.sum()))
        # π: one for each of the rows that describe the set.
        G = sparse.coo_array(part.rows)
        used = np.zeros((p, q), dtype=bool)
        np.logical_or.at(used.T, G.row, needed.T[G.col] & (G.data != 0)[:, None])
        dual = np.full((p, q), -1, dtype=np.intp)
        dual[used] = self.columns + np.arange(int(used.sum()))
        i, r = np.nonzero(used)
        left, right = k_of < width - 1, k_of == width - 1
        self.entries.append((*_main(here[:, :-1], family.columns, self.rows),))
        self.entries.append((self.rows + i, dual[i, r], part.sides[r]))
        self.entries.append((inner[row[left], w[left]], family.columns[row[left], k_of[left]], value[left]))
        i, g = np.repeat(np.arange(p), G.nnz), np.tile(np.arange(G.nnz), p)
        at, by = inner[i, G.col[g]], dual[i, G.row[g]]
        both = (at >= 0) & (by >= 0)
        self.entries.append((at[both], by[both], -G.data[g][both]))
        sides = np.zeros(int(needed.sum()))
        np.add.at(sides, inner[row[right], w[right]] - self.rows - p, value[right])
        self.sides += [here[:, -1], sides]
        self.free.append(np.broadcast_to(part.equal, (p, q))[used].astype(float))
        self.blocks.append(Block(f, part, self.rows, inner))
        start = k - sum(part.cones)
        for size in part.cones:
            self.cones += map(ConeBlock, inner[:, start : start + size])
            start += size
        self.rows, self.columns = self.rows + p + len(sides), self.columns + int(used.sum())

    def made(self) -> FiniteCounterpart:
        program, finite = self.program, int(self.program.A.shape[0])
        i, j, value = (np.concatenate(part) for part in zip(*self.entries, strict=True))
        more = np.concatenate([np.zeros(0), *self.free])
        return FiniteCounterpart(
            given=program,
            c=np.concatenate([program.c, np.zeros(len(more))]),
            lower=np.concatenate([program.lower, np.where(more > 0, -np.inf, 0.0)]),
            upper=np.concatenate([program.upper, np.full(len(more), np.inf)]),
            A=sparse.csr_matrix((value, (i, j)), shape=(self.rows, self.columns)),
            row_lower=np.concatenate([program.row_lower, np.full(self.rows - finite, -np.inf)]),
            row_upper=np.concatenate(self.sides),
            blocks=tuple(self.blocks),
            finite=finite,
            cones=tuple(self.cones),
        )


def _main(table: Array, columns: Ints, start: int) -> tuple[Ints, Ints, Array]:
    """The entries of rows (p, K) that are not zero."""
    i, k = np.nonzero(table)
    return start + i, columns[i, k], table[i, k]


def _binding(part: Lifted) -> NDArray[np.bool_]:
    """Coordinates of w (k,) that play a part even where no slope meets them: without them, π could be less than 0."""
    G = sparse.csc_array(part.rows)
    count = np.diff(G.indptr)
    column = np.repeat(np.arange(G.shape[1]), count)
    awkward = (G.data < 0) | part.equal[G.indices]
    found: NDArray[np.bool_] = np.bincount(column, awkward, G.shape[1]) > 0
    found[part.size - sum(part.cones) :] = True
    return found
