"""Directions along which a problem is unbounded: the exchange once more, on the homogeneous problem.

A ray d improves the objective, c d < 0, and never leaves the feasible set, a(y) d <= 0 for every y. It is sought in
the box -1 <= d <= 1 of the master's coordinates, cut by cut; a relaxation with an unbounded ray is never mistaken for
the problem.
"""

from __future__ import annotations

from fractions import Fraction
from math import lcm

import numpy as np
from scipy import sparse

from ..expressions.interval import EPS
from ..masters import open_master
from ..masters.base import Matrix
from ..masters.checked import linear_program
from ..model.families import RowFamily
from ..model.program import STORAGE, Program
from ..oracles import Oracle, ask, tuned
from ..proof.certificate import Array
from ..proof.ray import Ray, prove_ray, recession
from .clock import Clock
from .linear_master import LinearMaster
from .rows import cuts_at
from .tuning import Tuning

TOUCHED = np.sqrt(EPS)  # rows that are larger along a direction, relative to their terms, are broken or have room
ROUNDED = np.finfo(np.float64).epsneg / np.sqrt(TOUCHED)  # components below this, relative to the largest, are rounding


def margins(tuning: Tuning) -> tuple[float, float, float]:
    """By which directions keep away from the boundary of the cone, one after the other: those are easier to prove."""
    return tuning.largest_margin, tuning.largest_margin**2, 0.0


def find_ray(held: LinearMaster, oracles: list[Oracle], clock: Clock) -> Ray | Array | None:
    """A proven direction; one that seems to be one, where the proof fails; None when none was found."""
    program, conditioning, method = held.program, held.conditioning, held.method
    cone, stages = recession(program), margins(method.tuning)
    box = np.maximum(cone.lower, -1.0), np.minimum(cone.upper, 1.0)
    master = open_master(method.master)(held.c, *box, held.finite, cone.row_lower, cone.row_upper, method.tol)
    a, _ = held.matrix(held.cuts)
    master.add(conditioning.rows(a), np.zeros(len(held.cuts)))
    steepest = float(np.abs(held.c).max(initial=0.0))
    stage = 0
    for _ in range(2 * method.tuning.patience * len(stages)):
        result = master.solve(stages[stage])
        if result.status != "optimal" or result.objective > -1e-7 * steepest:
            stage += 1
            if stage == len(stages):
                return None
            continue
        d = _cleaned(cone, conditioning.x(result.z), a)
        seconds = min(clock.left(), method.tuning.grace)
        asked = [tuned(oracle, seconds=seconds) for oracle in oracles]
        found = [ask(oracle, program.violation(f, d, scale=0.0)) for f, oracle in enumerate(asked)]
        size = max((_size(family, d, method.tuning.least_points) for family in program.families), default=0.0)
        if max((s.worst for s in found), default=0.0) <= TOUCHED * size:
            most = conditioning.farthest
            return prove_ray(program, d, seconds) or prove_ray(program, _refined(program, d, a, most), seconds) or d
        new = cuts_at(found, above=0.0)
        if not new or clock.left() < 0:
            return None
        fresh, _ = held.matrix(new)
        a = sparse.vstack([a, fresh], format="csr") if sparse.issparse(a) else np.concatenate([a, fresh])
        master.add(conditioning.rows(fresh), np.zeros(len(new)))
    return None


def _refined(program: Program, d: Array, cuts: Matrix, most: float) -> Array | None:
    """A direction next to d that has room in the cuts that d touches to within rounding, if there is one.

    What d misses by is far below the accuracy of an LP solver; a linear program in the correction, magnified, sees it.
    The correction is at `most` so many times what is to be corrected.
    """
    if program.n > STORAGE.most_dense or program.A.shape[0]:
        return None
    left = cuts @ d
    touched = np.abs(left) <= TOUCHED * np.abs(cuts).sum(axis=1) * np.abs(d).max()
    rows, left = cuts[touched], left[touched]
    unit = float(np.abs(left).max(initial=0.0))
    if not unit > 0:
        return None
    n = program.n
    matrix = np.column_stack([rows, np.ones(len(rows))])  # rows (d + unit e) <= -unit s, with s as large as can be
    fixed = [np.where(np.isfinite(side) & (d == 0), 0.0, np.inf) for side in (program.lower, program.upper)]
    found = linear_program(
        np.append(np.zeros(n), -1.0),
        np.append(-np.minimum(fixed[0], most), 0.0),
        np.append(np.minimum(fixed[1], most), most),
        matrix,
        np.full(len(rows), -np.inf),
        -left / unit,
    )
    return None if found is None or found[-1] <= 0 else d + unit * found[:-1]


def _size(family: RowFamily, d: Array, points: int) -> float:
    """The size of the terms of a(y) d, measured at some index points."""
    a, _ = family.rows(family.domain.spread(points))
    return float((np.abs(a) * np.abs(d)[family.columns]).sum(axis=-1).max(initial=0.0))


def _cleaned(cone: Program, d: Array, cuts: Matrix) -> Array:
    """A direction of unit size that keeps exactly to the rows and bounds to which the master's keeps nearly.

    An LP solver is content with 1e-9; along a ray, that adds up to anything.
    """
    d = _without_idle_moves(cone, d, cuts)
    d = d / np.abs(d).max()
    # Components that only rounding put there would leave the cone; the proof is about what is left.
    d = np.clip(np.where(np.abs(d) < ROUNDED, 0.0, d), cone.lower, cone.upper)
    moving = d != 0
    if cone.n > STORAGE.most_dense or not moving.any():
        return d
    rows = np.concatenate([cone.A.toarray(), cuts])[:, moving]
    sizes = np.abs(rows) @ np.abs(d[moving])
    touched = (np.abs(rows @ d[moving]) <= TOUCHED * sizes) & (sizes > 0)
    rows = rows[touched] / sizes[touched, None]
    for _ in range(2):
        d[moving] -= np.linalg.lstsq(rows, rows @ d[moving], rcond=None)[0] if len(rows) else 0.0
    return np.clip(_simple(d / max(float(np.abs(d).max()), 1e-300)), cone.lower, cone.upper)


def _without_idle_moves(cone: Program, d: Array, cuts: Matrix) -> Array:
    """A direction without moves of free variables that neither rows nor objective see, such as buying what is sold."""
    free = np.isinf(cone.lower) & np.isinf(cone.upper)
    if cone.n > STORAGE.most_dense or not free.any():
        return d
    seen = np.concatenate([cone.A.toarray(), cuts, cone.c[None, :]])[:, free]
    sizes = np.abs(seen).max(axis=1)
    seen = seen[sizes > 0] / sizes[sizes > 0, None]
    shortest = d.copy()
    shortest[free] = np.linalg.lstsq(seen, seen @ d[free], rcond=1e-11)[0] if len(seen) else 0.0
    return shortest if np.isfinite(shortest).all() and shortest.any() else d


def _simple(d: Array) -> Array:
    """A direction whose components are fractions, up to rounding, times their common denominator: without rounding.

    What was meant may be a direction, such as (15, -8, 6), where no neighbour of it is one, such as (1, -8/15, 2/5).
    """
    given = d.tolist()
    simplest = round(ROUNDED ** (-1 / 3))  # so few fractions that hardly any number is next to one by chance
    near = [Fraction(v).limit_denominator(simplest) for v in given]
    common = lcm(*(v.denominator for v in near))
    meant = all(abs(v - w) <= ROUNDED for v, w in zip(given, map(float, near), strict=True))
    return np.array([float(v * common) for v in near]) if meant and common < 1 / EPS else d
