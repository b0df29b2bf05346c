"""Atoms that stand for one: where the objective is a value at a point, or nearly, a few atoms crowd around it.

Such an objective lies on the boundary of the cone of all rows, or by rounding next to it, and there is no direction in
which all multipliers grow. So atoms that are close together are merged at their centre, which Newton's steps find to
the last digit with what is left over in rational numbers; and the very little that is left over then is shared among
other atoms by a linear program in its own units. All of it is a proposal; `dual.lagrangian_bound` has the last word.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy import linalg

from ..masters.base import is_sparse
from ..masters.checked import linear_program
from ..model.program import Program
from .certificate import Array, Ints, Support
from .dual import Dual, left_over
from .rows import DualRows, settled


def merged(program: Program, c: Array, dual: Dual, spare: tuple[Support, ...], columns: Ints) -> Dual | None:
    """Multipliers of merged atoms, and of others, that are to balance in these columns; None if there are none."""
    points = [[s.point for s in (*dual.support, *spare) if s.family == f] for f in range(len(program.families))]
    extents = [np.ptp(each, axis=0) if each else np.zeros(0) for each in points]  # how far apart atoms are
    if not dual.support or not all((extents[s.family] > 0).all() for s in dual.support):
        return None
    centred = _centred(program, c, replace(dual, support=tuple(_centres(dual.support, extents))), extents, columns)
    places = {s.place for s in centred.support}
    others = {s.place: s.weighing(0.0) for s in settled(program, spare) if s.place not in places}
    return _shared(program, c, replace(centred, support=(*centred.support, *others.values())), columns)


def _centres(support: tuple[Support, ...], extents: list[Array]) -> Iterator[Support]:
    """The heaviest atoms first, each with those around it, as one at their centre of gravity."""
    rest = sorted((s for s in support if s.multiplier > 0), key=lambda s: -s.multiplier)
    while rest:
        first, group, apart = rest[0], list[Support](), list[Support]()
        for s in rest:
            alike = (s.family, s.component) == (first.family, first.component)
            # Atoms that stand for one.
            near = alike and bool((np.abs(s.point - first.point) <= 1e-4 * extents[s.family]).all())
            (group if near else apart).append(s)
        weights, rest = np.array([s.multiplier for s in group]), apart
        way = weights / weights.sum() @ [s.point - first.point for s in group]
        yield Support(first.family, first.component, first.point + way, float(weights.sum()))


def _centred(program: Program, c: Array, dual: Dual, extents: list[Array], columns: Ints) -> Dual:
    """The dual with places and multipliers of its atoms that leave least over."""
    for _ in range(4):  # Newton's steps, down to the last digit of the places
        rows = DualRows.of(program, dual.support)
        left = left_over(rows, c, dual.weights, columns)
        if left is None:
            break
        heavy = np.flatnonzero(dual.weights != 0)
        slopes, owner, axis = _slopes(program, dual, extents, columns)
        here = rows.mid[heavy][:, columns]
        jacobian = np.concatenate([here.toarray() if is_sparse(here) else here, slopes])
        scale = np.linalg.norm(jacobian, axis=1)
        scale[scale == 0] = 1.0
        step = np.linalg.lstsq((jacobian / scale[:, None]).T, -left, rcond=None)[0] / scale
        weights = dual.weights
        weights[heavy] += step[: len(heavy)]
        points = [s.point.copy() for s in dual.support]
        for i, k, move in zip(owner, axis, step[len(heavy) :], strict=True):
            points[i][k] += move
        moved = [replace(s, point=p) for s, p in zip(dual.support, points, strict=True)]
        atoms = settled(program, moved)
        found = replace(dual, support=atoms) if len(atoms) == len(moved) else dual
        if found is dual or not (weights[: len(atoms)] > 0).all():
            break
        dual = found.reweighted(rows.sided(weights))
    return dual


def _slopes(program: Program, dual: Dual, extents: list[Array], columns: Ints) -> tuple[Array, list[int], list[int]]:
    """The derivatives of weighted rows along the coordinates of their atoms, one after the other; whose each is."""
    owner = [i for i, s in enumerate(dual.support) for _ in range(len(s.point))]
    axis = [k for s in dual.support for k in range(len(s.point))]
    ends: list[Support] = []
    for i, k in zip(owner, axis, strict=True):
        s = dual.support[i]
        for sign in (1, -1):
            point = s.point.copy()
            point[k] += sign * 1e-6 * extents[s.family][k]  # central differences
            ends.append(replace(s, point=program.families[s.family].domain.project(point[None])[0]))
    part = DualRows.of(program, tuple(ends)).mid[: len(ends)][:, columns]
    values = part.toarray() if is_sparse(part) else part
    apart = np.array([a.point[k] - b.point[k] for a, b, k in zip(ends[::2], ends[1::2], axis, strict=True)])
    weight = np.array([dual.support[i].multiplier for i in owner])
    share = np.where(apart > 0, weight / np.where(apart > 0, apart, 1.0), 0.0)
    return share[:, None] * (values[::2] - values[1::2]), owner, axis


def _shared(program: Program, c: Array, dual: Dual, columns: Ints) -> Dual | None:
    """The dual with a basis of the rows that take up what is left over with the least weight."""
    rows = DualRows.of(program, dual.support)
    weights = dual.weights
    left = left_over(rows, c, weights, columns)
    if left is None or not np.isfinite(left).all():
        return None
    part = np.asarray(rows.mid[:, columns]).T
    scale = np.abs(part).max(axis=1, initial=0.0)
    if not (scale > 0).all():
        return None
    part, heavy, amount = part / scale[:, None], weights != 0, float(np.abs(left).max(initial=0.0))
    taken = np.zeros(len(rows))
    if amount:
        lower = np.where(heavy | np.isfinite(rows.below.lo), -np.inf, 0.0)
        upper = np.where(heavy | np.isfinite(rows.above.hi), np.inf, 0.0)
        side = -left / amount / scale
        found = linear_program(np.where(heavy, 0.0, 1.0), lower, upper, part, side, side)
        if found is None:
            return None
        taken = found
    basis = _completed(part, np.flatnonzero(heavy | (taken != 0)))
    if len(basis) != len(columns):
        return None
    return replace(dual.reweighted(weights + amount * taken * ~heavy), balanced=columns, basis=basis)


def _completed(part: Array, chosen: Ints) -> Ints:
    """As many rows, the columns of `part`, as make up a basis with those that are chosen; fewer if there are none."""
    if len(chosen) > len(part):
        return chosen
    q, _ = np.linalg.qr(part[:, chosen], mode="complete")
    others = np.setdiff1d(np.arange(part.shape[1]), chosen)
    missing = len(part) - len(chosen)
    if not missing or len(others) < missing:
        return chosen
    order = linalg.qr(q[:, len(chosen) :].T @ part[:, others], mode="r", pivoting=True)[1]
    return np.sort(np.concatenate([chosen, others[order[:missing]]]))
