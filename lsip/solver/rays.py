"""Directions along which a problem is unbounded: the exchange once more, on the homogeneous problem.

A ray d improves the objective, c d < 0, and never leaves the feasible set, a(y) d <= 0 for every y. It is sought in
the box -1 <= d <= 1 of the master's coordinates, cut by cut; a relaxation with an unbounded ray is never mistaken for
the problem.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np
from scipy import sparse

from ..masters import open_master
from ..masters.base import Matrix
from ..model.families import RowFamily
from ..model.program import STORAGE, Program
from ..oracles import Oracle, ask, tuned
from ..proof.certificate import Array
from ..proof.linear_program import linear_program
from ..proof.ray import Ray, prove_ray, recession
from ..validation import Configuration, Count, Distance, Natural, Positive, Seconds, Share
from .clock import Clock
from .linear_master import LinearMaster
from .rows import cuts_at


@dataclass(frozen=True)
class RaysTuning(Configuration):
    """How directions of unboundedness are looked for, and cleaned of rounding before a proof.

    Parameters
    ----------
    steps
        Finite programs that are solved for one.
    margins
        Margins by which it keeps away from the boundary of the cone, in this order: one that does is easier to prove.
    seconds
        Seconds that one look for a violation along a direction may take.
    sized_points
        Index points at which the size of its terms is measured.
    touched
        Rows that are larger than this along it, relative to the size of their terms, are broken or have room; it is
        made to keep the others exactly.
    rounding
        Components below this, relative to the largest, only rounding put there.
    denominator, meant, most_common
        Components that are fractions with denominators up to the first, to within the second, are taken for what was
        meant, unless their common denominator is larger than the third: a direction such as (1, 1) may be one where its
        neighbours are none.
    most_corrected
        The largest correction, in units of what is to be corrected.
    """

    steps: Count = 60
    margins: tuple[Distance, ...] = (1e-3, 1e-6, 0.0)
    seconds: Seconds = 0.3
    sized_points: Natural = 64
    touched: Share = 1e-8
    rounding: Share = 1e-13
    denominator: Count = 10_000
    meant: Share = 1e-13
    most_common: Positive = 2.0**40
    most_corrected: Positive = 1e3


TUNING = RaysTuning()


def find_ray(held: LinearMaster, oracles: list[Oracle], clock: Clock) -> Ray | Array | None:
    """A proven direction; one that seems to be one, where the proof fails; None when none was found."""
    program, conditioning, method = held.program, held.conditioning, held.method
    tuning, cone = TUNING, recession(program)
    box = np.maximum(cone.lower, -1.0), np.minimum(cone.upper, 1.0)
    master = open_master(method.master)(held.c, *box, held.finite, cone.row_lower, cone.row_upper, method.tol)
    a, _ = held.matrix(held.cuts)
    master.add(conditioning.rows(a), np.zeros(len(held.cuts)))
    steepest = float(np.abs(held.c).max(initial=0.0))
    stage = 0
    for _ in range(tuning.steps):
        result = master.solve(tuning.margins[stage])
        if result.status != "optimal" or result.objective > -1e-7 * steepest:
            stage += 1
            if stage == len(tuning.margins):
                return None
            continue
        d = _cleaned(cone, conditioning.x(result.z), a, tuning)
        seconds = min(clock.left(), tuning.seconds)
        asked = [tuned(oracle, seconds=seconds) for oracle in oracles]
        found = [ask(oracle, program.violation(f, d, scale=0.0)) for f, oracle in enumerate(asked)]
        size = max((_size(family, d, tuning.sized_points) for family in program.families), default=0.0)
        if max((s.worst for s in found), default=0.0) <= tuning.touched * size:
            return prove_ray(program, d, seconds) or prove_ray(program, _refined(program, d, a, tuning), seconds) or d
        new = cuts_at(found, above=0.0)
        if not new or clock.left() < 0:
            return None
        fresh, _ = held.matrix(new)
        a = sparse.vstack([a, fresh], format="csr") if sparse.issparse(a) else np.concatenate([a, fresh])
        master.add(conditioning.rows(fresh), np.zeros(len(new)))
    return None


def _refined(program: Program, d: Array, cuts: Matrix, tuning: RaysTuning) -> Array | None:
    """A direction next to d that has room in the cuts that d touches to within rounding, if there is one.

    What d misses by is far below the accuracy of an LP solver; a linear program in the correction, magnified, sees it.
    """
    if program.n > STORAGE.most_dense or program.A.shape[0]:
        return None
    left = cuts @ d
    touched = np.abs(left) <= tuning.touched * np.abs(cuts).sum(axis=1) * np.abs(d).max()
    rows, left = cuts[touched], left[touched]
    unit = float(np.abs(left).max(initial=0.0))
    if not unit > 0:
        return None
    n, most = program.n, tuning.most_corrected
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


def _cleaned(cone: Program, d: Array, cuts: Matrix, tuning: RaysTuning) -> Array:
    """A direction of unit size that keeps exactly to the rows and bounds to which the master's keeps nearly.

    An LP solver is content with 1e-9; along a ray, that adds up to anything.
    """
    d = _without_idle_moves(cone, d, cuts)
    d = d / np.abs(d).max()
    # Components that only rounding put there would leave the cone; the proof is about what is left.
    d = np.clip(np.where(np.abs(d) < tuning.rounding, 0.0, d), cone.lower, cone.upper)
    moving = d != 0
    if cone.n > STORAGE.most_dense or not moving.any():
        return d
    rows = np.concatenate([cone.A.toarray(), cuts])[:, moving]
    sizes = np.abs(rows) @ np.abs(d[moving])
    touched = (np.abs(rows @ d[moving]) <= tuning.touched * sizes) & (sizes > 0)
    rows = rows[touched] / sizes[touched, None]
    for _ in range(2):
        d[moving] -= np.linalg.lstsq(rows, rows @ d[moving], rcond=None)[0] if len(rows) else 0.0
    return np.clip(_simple(d / max(float(np.abs(d).max()), 1e-300), tuning), cone.lower, cone.upper)


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


def _simple(d: Array, tuning: RaysTuning) -> Array:
    """A direction whose components are fractions, up to rounding, times their common denominator: without rounding.

    What was meant may be a direction, such as (15, -8, 6), where no neighbour of it is one, such as (1, -8/15, 2/5).
    """
    given = d.tolist()
    near = [Fraction(v).limit_denominator(tuning.denominator) for v in given]
    common = lcm(*(v.denominator for v in near))
    meant = all(abs(v - w) <= tuning.meant for v, w in zip(given, map(float, near), strict=True))
    return np.array([float(v * common) for v in near]) if meant and common < tuning.most_common else d
