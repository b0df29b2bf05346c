"""The rows that a dual measure weighs: enclosures of a(y) and b(y) at its atoms, the finite rows, those in cones.

An atom counts only if its point is next to one of Y: the row is enclosed over a box that is proven to contain a point
of the index set (`Domain.witness`), so that it is a row of the problem and not of a neighbour.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..cones import ConeRows
from ..expressions.interval import EPS, TINY, Interval, down, up
from ..masters.base import Matrix
from ..model.coefficients import fractions, undefined_at
from ..model.families import Jumping, RowFamily
from ..model.program import Program, held_dense
from .certificate import Array, Ints, Support, nowhere
from .implied_bounds import UpperSides
from .linear_algebra import doubled_product, most_in_rows, product, vanishing

Mask = NDArray[np.bool_]


def settled(program: Program, support: Iterable[Support]) -> tuple[Support, ...]:
    """The atoms whose points are proven to lie in Y, or next to a point that does, at such points; no others.

    A point on a jump gives way to one beside it.
    """
    atoms = list(support)
    found: dict[int, Array] = {}
    for f, family in enumerate(program.families):
        mine = [i for i, s in enumerate(atoms) if s.family == f]
        if mine:
            lower, upper = family.domain.witness(np.array([atoms[i].point for i in mine]))
            middle = np.clip(0.5 * lower + 0.5 * upper, lower, upper)
            known = (lower == upper).all(axis=1)
            if isinstance(family.source, Jumping) and known.any():
                components: Ints = np.array([atoms[i].component for i in mine], dtype=np.intp)
                middle[known] = family.source.beside_jumps(middle[known], components[known])
            unknown = np.asarray(np.isnan(middle).any(axis=1)).tolist()
            found |= {i: point for i, point, lost in zip(mine, middle, unknown, strict=True) if not lost}
    return tuple(Support(s.family, s.component, found[i], s.multiplier) for i, s in enumerate(atoms) if i in found)


@dataclass(frozen=True, eq=False)
class DualRows:
    """k rows at atoms and r finite ones over n columns: `mid` and `rad` (k + r, n), dense or sparse, and both sides.

    Rows at atoms have an upper side only. What is known of their right-hand side is an interval. The last rows may be
    those of cones: both their sides are b, and their multipliers lie in the dual cones, whatever their signs.
    """

    mid: Matrix
    rad: Matrix
    below: Interval  # (k + r,), the lower side; -inf where there is none
    above: Interval  # (k + r,), the upper side; inf where there is none
    atoms: int
    bounds: tuple[Array, Array]  # of the variables
    cones: ConeRows | None = None
    source: tuple[Program, tuple[Support, ...]] | None = None  # whose rows these are, at which atoms

    @staticmethod
    def of(program: Program, support: tuple[Support, ...]) -> DualRows:
        mid, rad, b = point_rows(program, support)
        k, infinite = len(support), np.full(len(support), -np.inf)
        cones, A = program.cones, program.A
        sides = np.zeros(0) if cones is None else cones.b
        A = A if cones is None else sparse.csr_matrix(sparse.vstack([A, cones.A], format="csr"))
        if sparse.issparse(mid):
            mid = sparse.csr_matrix(sparse.vstack([mid, A], format="csr"))
            rad = sparse.csr_matrix(sparse.vstack([rad, sparse.csr_matrix(A.shape)], format="csr"))
        else:
            finite = A.toarray()
            mid, rad = np.concatenate([mid, finite]), np.concatenate([rad, np.zeros_like(finite)])
        lower = np.concatenate([infinite, program.row_lower, sides])
        above = Interval(*(np.concatenate([end, program.row_upper, sides]) for end in (b.lo, b.hi)))
        return DualRows(
            mid, rad, Interval(lower, lower), above, k, (program.lower, program.upper), cones, (program, support)
        )

    def __len__(self) -> int:
        return int(self.mid.shape[0])

    def only(self, atoms: Mask) -> DualRows:
        """The same without some of the atoms."""
        keep = np.concatenate([atoms, np.ones(len(self) - self.atoms, dtype=bool)])
        if keep.all():
            return self
        parts = (self.mid[keep], self.rad[keep], self.below[keep], self.above[keep])
        source = self.source
        if source is not None:
            source = source[0], tuple(s for s, kept in zip(source[1], atoms, strict=True) if kept)
        return DualRows(*parts, int(atoms.sum()), self.bounds, self.cones, source)

    def fractions(self, places: Ints) -> list[dict[int, Fraction]] | None:
        """Some of the rows by columns, in rational numbers; None if one of them is not known so, or lies in a cone."""
        if self.source is None or self.conic[places].any():
            return None
        program, support = self.source
        found: dict[int, dict[int, Fraction]] = {}
        chosen = set(places.tolist())
        for family, mine, lower, upper in _boxes(program, support):
            some = [k for k, i in enumerate(mine) if i in chosen]
            if not some:
                continue
            component: Ints = np.array([support[mine[k]].component for k in some], dtype=np.intp)
            rows = fractions(family, lower[some], component) if (lower[some] == upper[some]).all() else None
            if rows is None:
                return None
            for k, row, columns in zip(some, rows, family.columns[component].tolist(), strict=True):
                entries = found.setdefault(mine[k], {})
                for j, v in zip(columns, row, strict=True):
                    entries[j] = entries.get(j, Fraction(0)) + v
        for i in chosen - found.keys():
            part = program.A[[i - self.atoms]].tocoo()
            found[i] = {int(j): Fraction(float(v)) for j, v in zip(part.col, part.data, strict=True)}
        return [found[i] for i in places.tolist()]

    @cached_property
    def conic(self) -> Mask:
        """Rows in cones."""
        mask: Mask = np.arange(len(self)) >= len(self) - (0 if self.cones is None else len(self.cones))
        return mask

    @cached_property
    def equal(self) -> Mask:
        """Equalities: finite rows with one side for both."""
        return (self.below.lo == self.above.hi) & (np.arange(len(self)) >= self.atoms) & ~self.conic

    @cached_property
    def implied(self) -> tuple[Array, Array, Ints]:
        """Bounds of every feasible x, by the rows if need be, and the rows behind those that are new."""
        finite = np.isfinite(self.bounds)
        if finite.all() or not finite.any():  # nothing is open, or everything
            return *self.bounds, nowhere()
        linear = np.flatnonzero(~self.conic)  # the first rows, so that their numbers stay what they are
        parts = (self.mid[linear], self.rad[linear], self.below[linear], self.above[linear])
        return UpperSides.of(*parts).tightened(*self.bounds)

    @cached_property
    def size(self) -> Matrix:
        """|mid|."""
        return abs(self.mid)

    @cached_property
    def norms(self) -> Array:
        """The largest entry of each row; 1 for one without entries."""
        sizes = most_in_rows(self.size)
        return np.where(sizes > 0, sizes, 1.0)

    @cached_property
    def _turned(self) -> tuple[Matrix, Matrix, Matrix]:
        """All three by columns, as products with multipliers need them."""
        parts = (self.mid, self.size, self.rad)
        mid, size, rad = (sparse.csr_matrix(m.T) if sparse.issparse(m) else m.T for m in parts)
        return mid, size, rad

    @cached_property
    def _pattern(self) -> Any:
        """Where, by columns, a row is not exactly zero."""
        _, size, rad = self._turned
        return ((size + rad) != 0).astype(float)

    def usable(self, weight: Interval) -> bool:
        """Whether every multiplier pushes against a side that its row has, and those of cones lie in their duals."""
        above, below = np.isfinite(self.above.hi), np.isfinite(self.below.lo)
        if not (((weight.lo >= 0) | below).all() and ((weight.hi <= 0) | above).all()):
            return False
        return self.cones is None or self.cones.proves_dual(weight[self.conic])

    def room(self, weight: Array) -> Array:
        """How far about each multiplier may move and stay one: down to zero, or within its dual cone."""
        room = np.abs(weight)
        if self.cones is not None:
            room[self.conic] = self.cones.dual_room(weight[self.conic])
        return room

    def sided(self, weight: Array) -> Array:
        """Multipliers without those that push against a side that is not there."""
        side = np.where(weight > 0, np.isfinite(self.above.hi), np.isfinite(self.below.lo))
        return np.where(side, weight, 0.0)

    def combined(self, c: Array, weight: Interval) -> Interval:
        """c + sum of weighted rows, (n,)."""
        mid, size, rad = self._turned
        middle = centres(weight)
        spread = up(np.maximum(weight.hi - middle, middle - weight.lo)) * (weight.hi > weight.lo)
        largest = np.abs(middle) + spread
        value = c + mid @ middle
        touched = self._pattern @ (largest > 0)  # how many products a column takes part in
        terms = touched + 8
        known = rad @ largest + size @ spread
        doubt = known * (1 + (len(self) + 8) * EPS)
        doubt = doubt + terms * (EPS * (np.abs(c) + size @ largest) + 4 * TINY)
        alone = touched == 0  # c as it is
        close = np.flatnonzero(~alone & (known == 0) & (np.abs(value) <= doubt))
        close = close[~(_meets(rad[close], largest) | _meets(mid[close], spread))]  # where products may underflow
        gone = close[vanishing(c[close], mid[close], middle)] if len(close) else close
        value[gone] = doubt[gone] = 0.0
        alone[gone] = True
        return Interval(
            np.where(alone, value, down(value - doubt, 2.0)), np.where(alone, value, up(value + doubt, 2.0))
        )

    def slack(self, x: Array, weight: Interval, exactly: bool = False) -> Interval:
        """sum of weight (side - row x), with the side that each multiplier pushes against.

        With `exactly`, products are rounded as in twice the precision, which takes longer.
        """
        ax = doubled_product(self.mid, x) if exactly else product(self.mid, x)
        room = up((self.rad @ np.abs(x)) * (1 + (len(x) + 4) * EPS), 2.0)
        lo, hi = ax.lo - room, ax.hi + room
        upper, lower = weight.lo >= 0, weight.hi <= 0
        # Where the sign is open, so is the side; an equality has one for both.
        side = Interval(np.where(upper, self.above.lo, self.below.lo), np.where(lower, self.below.hi, self.above.hi))
        none = (weight.lo == 0) & (weight.hi == 0)
        gap = Interval(np.where(none, 0.0, down(side.lo - hi, 2.0)), np.where(none, 0.0, up(side.hi - lo, 2.0)))
        total = weight * gap
        return Interval(np.where(none, 0.0, total.lo), np.where(none, 0.0, total.hi)).sum()


def _meets(matrix: Matrix, v: Array) -> Mask:
    """In which rows an entry that is not zero is multiplied with one of v that is not."""
    found: Mask = (matrix != 0).astype(float) @ (v != 0) > 0
    return found


def centres(u: Interval) -> Array:
    """The middle of every interval; a point is its own, which half of the least double twice is not."""
    return np.where(u.lo == u.hi, u.lo, 0.5 * u.lo + 0.5 * u.hi)


def trusts(program: Program, support: Iterable[Support]) -> tuple[str, ...]:
    """What the rows at these atoms take on trust: constants of functions that are known at points, over boxes.

    A formula that is undefined somewhere makes no model, though it may be defined at the atoms.
    """
    used, found = {s.family for s in support}, list[str]()
    for family, _, lower, upper in _boxes(program, tuple(support)) if used else ():
        if (lower < upper).any() or undefined_at(family) is not None:
            found += family.source.trusts(family.domain)
    return tuple(dict.fromkeys(found))


def _boxes(program: Program, support: tuple[Support, ...]) -> Iterator[tuple[RowFamily, list[int], Array, Array]]:
    """The atoms of every family with their boxes; those that are points apart, whose rows may be known exactly."""
    for f, family in enumerate(program.families):
        mine = np.array([i for i, s in enumerate(support) if s.family == f], dtype=np.intp)
        if not len(mine):
            continue
        lower, upper = family.domain.witness(np.array([support[i].point for i in mine]))
        points = (lower == upper).all(axis=1)
        for some, low, high in ((points, lower, lower), (~points, lower, upper)):
            if some.any():
                ends = low[some]
                yield family, mine[some].tolist(), ends, ends if high is low else high[some]


def point_rows(program: Program, support: tuple[Support, ...]) -> tuple[Any, Any, Interval]:
    """Enclosures of the rows at the support: midpoints and radii (k, n), sparse if large, and right-hand sides."""
    shape = (len(support), program.n)
    entries: list[tuple[Array, Array, Any, Any]] = []
    low, high = np.zeros(shape[0]), np.zeros(shape[0])
    for family, mine, lower, upper in _boxes(program, support):
        component: Ints = np.array([support[i].component for i in mine], dtype=np.intp)
        a, b = family.enclosed(lower, upper, component)
        with np.errstate(invalid="ignore"):  # at a pole; whoever reads the rows finds nan there
            centre = centres(a)
            radius = up(np.maximum(a.hi - centre, centre - a.lo)) * (a.hi != a.lo)
        columns = family.columns[component]
        place = np.broadcast_to(np.array(mine)[:, None], columns.shape)
        entries.append((centre.ravel(), radius.ravel(), place.ravel(), columns.ravel()))
        low[mine], high[mine] = b.lo, b.hi
    dense = held_dense(shape, sum(part[0].size for part in entries))
    if not entries:
        empty = np.zeros(shape) if dense else sparse.csr_matrix(shape)
        return empty, empty.copy(), Interval(low, high)
    mid, rad, i, j = (np.concatenate(part) for part in zip(*entries, strict=True))
    used = (mid != 0) | (rad != 0)  # padding repeats column 0 with a zero
    mid, rad, i, j = mid[used], rad[used], i[used], j[used]
    places, counts = np.unique(i * program.n + j, return_counts=True)
    if len(places) < len(i):  # a column that is named twice: adding its entries up rounds
        twice = counts[np.searchsorted(places, i * program.n + j)] > 1
        rad = rad + np.where(twice, counts.max() * EPS * (np.abs(mid) + rad), 0.0)
    if not dense:
        return sparse.csr_matrix((mid, (i, j)), shape), sparse.csr_matrix((rad, (i, j)), shape), Interval(low, high)
    both = np.zeros((2, *shape))
    np.add.at(both[0], (i, j), mid)
    np.add.at(both[1], (i, j), rad)
    return both[0], both[1], Interval(low, high)
