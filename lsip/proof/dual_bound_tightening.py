"""Where all points that matter must lie: a box around those that are feasible and no worse than the best one known.

A lower bound has to hold for every x, and what rounding leaves of a reduced cost is multiplied by a variable that may
be free. The coefficients of decision rules are: there are thousands of them, too many to balance exactly. But they are
bounded, in truth. Take multipliers w > 0 at atoms inside of the index sets. For every feasible x, with r the reduced
costs and s the slacks of the rows at the atoms,

    sum w s(x) = c x - base - r (x - z),

so that no slack exceeds (upper - base + what r (x - z) adds) / w. A slack is affine in the index and nonnegative over
all of it; where it is small at an inner point, its slopes are small too, and these are what single coefficients are
made of. What r (x - z) adds in free columns is guessed, and seen to be less than the guess at every such x that does
not exceed it: since these x are a convex set, that holds z, none exceeds it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ..domains import Domain
from ..expressions.interval import EPS, TINY, Interval, down, up
from ..model.families import RowFamily
from ..model.linear_form import LinearForm
from ..model.program import Program
from .certificate import Array, Ints
from .dual import Dual, base_of, charges
from .implied_bounds import UpperSides
from .rows import DualRows, Mask


def confined(program: Program, dual: Dual, x: Array, box: Array | None, upper: float) -> DualRows | None:
    """The rows of the dual, with bounds that all feasible points with an objective of at most `upper` keep; or None.

    A feasible point lies within `box` of x.
    """
    if program.cones is not None:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        return _confined(program, dual, x, box, upper)


def _confined(program: Program, dual: Dual, x: Array, box: Array | None, upper: float) -> DualRows | None:
    rows, weights = DualRows.of(program, dual.support), dual.weights
    weight = Interval(weights, weights)
    if not rows.usable(weight):
        return None
    reduced = rows.combined(program.c, weight)
    charge = charges(program.lower, program.upper, reduced, x)
    free = np.isinf(charge)
    base, paid = base_of(program.c, rows, dual, weight, x)[0], float(charge[~free].sum())
    doubt = (program.n + 8) * EPS * (abs(upper) + abs(program.constant) + abs(base) + paid)
    gap = float(up(np.asarray(upper - program.constant - base + paid + doubt), 4.0))
    if not 0 < gap < np.inf:
        return None
    price = np.maximum(np.abs(reduced.lo), np.abs(reduced.hi))
    used = free & (price > 0)
    for chosen in _chosen(rows, weights, int(used.sum())):
        sides = _Slacks.of(program, rows, weights, chosen)
        found = _bounded(program, sides, (x, box), gap, price, used)
        if found is not None:
            return replace(rows, bounds=found)
    return None


def _chosen(rows: DualRows, weights: Array, free: int) -> Iterator[Ints]:
    """Atoms at which slopes are looked at, in turn: none where few variables are free, one for every row, then all.

    Those of a row at its worst points seldom say more than the one in the middle, a point that most rows share.
    """
    assert rows.source is not None
    support, atoms = rows.source[1], np.flatnonzero(weights[: rows.atoms] > 0)
    if free <= 8:  # few: those that follow without slopes are tried first
        yield atoms[:0]
    shared = Counter((support[i].family, support[i].point.tobytes()) for i in atoms.tolist())
    best: dict[tuple[int, int], tuple[int, int]] = {}
    for i in atoms.tolist():
        s = support[i]
        rank = -shared[s.family, s.point.tobytes()], i
        best[s.family, s.component] = min(best.get((s.family, s.component), rank), rank)
    one = np.sort(np.array([i for _, i in best.values()], dtype=np.intp))
    yield one
    if len(one) < len(atoms):
        yield atoms


def _bounded(
    program: Program, sides: _Slacks, point: tuple[Array, Array | None], gap: float, price: Array, used: Mask
) -> tuple[Array, Array] | None:
    """Bounds to which slacks confine x, if what remains of the variables `used` costs little beside the gap."""
    x, box = point
    for guess in (1.0, 1e3):  # of what free columns add, relative to the gap
        most = guess * gap
        if box is not None and not float(price[used] @ box[used]) * (1 + (program.n + 8) * EPS) <= most:
            continue
        low, high = _implied(sides.bounded((gap + most) * (1 + 4 * EPS)), program.lower, program.upper)
        reach = np.maximum(np.maximum(high - x, x - low), 0.0)
        with np.errstate(invalid="ignore"):
            added = float((price[used] * reach[used]).sum()) * (1 + (program.n + 8) * EPS)
        if added < most:
            return low, high
    return None


def _implied(sides: UpperSides, lower: Array, upper: Array) -> tuple[Array, Array]:
    """Bounds that follow, until no more variables become bounded: how narrowly does not matter."""
    for _ in range(8):  # bounds imply further bounds
        before = np.isinf(lower).sum() + np.isinf(upper).sum()
        lower, upper = sides.implied(lower, upper)
        if np.isinf(lower).sum() + np.isinf(upper).sum() == before:
            break
    return lower, upper


@dataclass(frozen=True, eq=False)
class _Slacks:
    """What is said of x by slacks at atoms, and by their slopes, once it is known what all slacks add up to."""

    sides: UpperSides  # sum a x <= side + share * total
    share: Array

    @staticmethod
    def of(program: Program, rows: DualRows, weights: Array, chosen: Ints) -> _Slacks:
        """Of rows at atoms, and of the slopes at those that are chosen."""
        parts = [_finite(rows), *_slopes(program, rows, weights, chosen)]
        starts = np.cumsum([0] + [len(share) for _, share in parts]).tolist()
        row = np.concatenate([sides.row + start for (sides, _), start in zip(parts, starts, strict=False)])
        column = np.concatenate([sides.column for sides, _ in parts])
        lo, hi = (np.concatenate(ends) for ends in zip(*((s.a.lo, s.a.hi) for s, _ in parts), strict=True))
        side = np.concatenate([sides.side for sides, _ in parts])
        return _Slacks(
            UpperSides(row, column, Interval(lo, hi), side, row), np.concatenate([share for _, share in parts])
        )

    def bounded(self, total: float) -> UpperSides:
        """The same for slacks that add up to so much, each times its weight."""
        added = np.where(self.share > 0, up(self.share * total, 2.0), 0.0)
        return replace(self.sides, side=np.where(added > 0, up(self.sides.side + added), self.sides.side))


def _finite(rows: DualRows) -> tuple[UpperSides, Array]:
    """All rows as they are."""
    found = UpperSides.of(rows.mid, rows.rad, rows.below, rows.above)
    return found, np.zeros(len(found.side))


def _slopes(program: Program, rows: DualRows, weights: Array, chosen: Ints) -> list[tuple[UpperSides, Array]]:
    """What the slacks at atoms, which are bounded, say of the rows there, and of their slopes at those chosen."""
    assert rows.source is not None
    support = rows.source[1]
    atoms = np.flatnonzero(weights[: rows.atoms] > 0)
    share = np.zeros(len(rows))
    share[atoms] = up(1.0 / weights[atoms], 2.0)
    turned = UpperSides.of(-rows.mid, rows.rad, Interval.point(np.full(len(rows), -np.inf)), -_open(rows, atoms))
    found = [(turned, np.concatenate([share, np.zeros(len(rows))]))]
    for f, family in enumerate(program.families):
        form = family.linear
        mine = chosen[[support[i].family == f for i in chosen.tolist()]] if len(chosen) else chosen
        if form is None or not len(mine):
            continue
        points, place = np.unique(np.array([support[i].point for i in mine]), axis=0, return_inverse=True)
        exact = _proven_inside(family.domain, points)[place]
        mine, place = mine[exact], place[exact]
        component: Ints = np.array([support[i].component for i in mine], dtype=np.intp)
        atom, axis, entries = form.by_axis(component)
        pair, which = np.unique(place[atom] * form.dim + axis, return_inverse=True)
        ways = _ways(family.domain, points, pair // form.dim, pair % form.dim)[:, which]
        for sign, way in zip((1.0, -1.0), ways, strict=True):
            found.append(_sided(family.columns, form, component, (atom, axis, entries), way, sign, share[mine]))
        found += _cornered(family, points[place], component, share[mine])
    return found


def _cornered(family: RowFamily, points: Array, component: Ints, share: Array) -> list[tuple[UpperSides, Array]]:
    """A slack that is at most S at t p + (1 - t) q is at most S / t at p, for it is nonnegative at q, as it is at p."""
    corners, t = family.domain.corners(points)
    atom, which = np.nonzero(t > 0)
    if not len(atom):
        return []
    ends = corners[atom, which]
    a, b = family.enclosed(ends, ends, component[atom])
    row, k = np.nonzero((a.lo != 0) | (a.hi != 0))
    column, lo, hi = family.columns[component[atom]][row, k], a.lo[row, k], a.hi[row, k]
    most = up(share[atom] / t[atom, which], 2.0)
    above = UpperSides(row, column, Interval(lo, hi), b.hi, row)
    below = UpperSides(row, column, Interval(-hi, -lo), -b.lo, row)
    return [(above, np.zeros(len(atom))), (below, most)]


def _open(rows: DualRows, atoms: Ints) -> Interval:
    """The right-hand sides of atoms, whose slacks are bounded; of other rows nothing is said."""
    hi = np.full(len(rows), -np.inf)
    lo = hi.copy()
    lo[atoms], hi[atoms] = rows.above.lo[atoms], rows.above.hi[atoms]
    return Interval(lo, hi)


def _proven_inside(domain: Domain, points: Array) -> Mask:
    """Which points are proven to belong to an index set as they are."""
    if not len(points):
        return np.zeros(0, dtype=bool)
    low, high = domain.witness(points)
    inside: Mask = (low == points).all(axis=1) & (high == points).all(axis=1)
    return inside


def _ways(domain: Domain, points: Array, atom: Ints, axis: Ints) -> Array:
    """How far one may go from each atom up and down an axis within the index set, proven; 0 where that is not known."""
    lower, upper = domain.lower, domain.upper
    ends = np.concatenate([upper[axis], lower[axis]])
    atom, axis, sign = np.tile(atom, 2), np.tile(axis, 2), np.repeat([1.0, -1.0], len(atom))
    start, way = points[atom, axis], np.zeros(len(atom))
    todo = np.flatnonzero(sign * (ends - start) > 0)
    for step in range(7):  # quarterings of the way to the end of the box
        if not len(todo):
            break
        there = np.clip(start[todo] + (ends[todo] - start[todo]) * 0.25**step, lower[axis[todo]], upper[axis[todo]])
        moved = points[atom[todo]]
        moved[np.arange(len(todo)), axis[todo]] = there
        known = domain.contains(moved, 0.0)
        known[known] = _proven_inside(domain, moved[known])
        way[todo[known]] = np.maximum(down((sign[todo] * (there - start[todo]))[known]), 0.0)
        todo = todo[~known]
    return way.reshape(2, -1)


def _sided(
    columns: Ints,
    form: LinearForm,
    component: Ints,
    places: tuple[Ints, Ints, tuple[Ints, Ints]],
    way: Array,
    sign: float,
    share: Array,
) -> tuple[UpperSides, Array]:
    """A slack that is at most S, and nonnegative at a distance h along an axis, falls by at most S / h a unit of it.

    So the slope of a(y) x along the axis is at most that of b(y) plus S / h, and the other way round likewise.
    """
    atom, _, (row, entry) = places
    width = form.value.shape[1]
    slope, doubt = form.slope[entry], form.slope_doubt[entry]
    lo, hi = slope - doubt, slope + doubt
    lo, hi = np.where(doubt > 0, down(lo), lo), np.where(doubt > 0, up(hi), hi)
    if sign < 0:
        lo, hi = -hi, -lo
    k = form.place[entry] % width
    side = np.zeros(len(atom))
    right = k == width - 1
    side[row[right]] = hi[right]
    shares = np.where(way > 0, up(share[atom] / np.maximum(way, TINY), 2.0), 0.0)
    side = np.where(way > 0, side, np.inf)  # nothing is said
    left = ~right
    sides = UpperSides(
        row[left], columns[component[atom[row[left]]], k[left]], Interval(lo[left], hi[left]), side, row[left]
    )
    return sides, shares
