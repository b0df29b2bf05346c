"""The rival: one linear program with the rows at a uniform grid, on the coarsest grid that is fine enough.

A one-shot solve evaluates the rows at the grid, builds one HiGHS model of them and solves it. It is given the best of three ways:
the simplex method in the model's own coordinates, the same in the coordinates that our master uses (`Conditioning`), and the
interior point method; presolve is off for the simplex, which is faster on nearly all of these LPs.

A grid is fine enough when the true violation of its solution over the whole index set, found by branch-and-bound, is at most
1e-6 (or, for an infeasible problem, when its LP is infeasible already). Where branch-and-bound cannot tell, the grid passes. The
number of points an axis runs from 2 to 9, then doubles (k to 2k - 1, so that grids nest); in the end, a few bisections look for
a coarser grid between the last two. Searching is not timed.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lsip.errors import LSIPError
from lsip.masters import Conditioning
from lsip.oracles import BranchAndBound, Multistart
from lsip.problem import Problem
from lsip.program import Program

from . import linear
from .clock import timed

Array = NDArray[np.float64]
TOLERATED = 1e-6  # true violation of a solution that counts as solved
ENTRIES = 40_000_000  # of an LP, for the sake of memory
BISECTIONS = 3
WAYS = ("simplex", "conditioned", "interior")


@dataclass(frozen=True, eq=False)
class OneShot:
    """One discretised LP, solved."""

    status: str  # "optimal", "infeasible", "unbounded", "time" or "failed"
    x: Array
    rows: int
    seconds: float  # evaluating rows, building and solving
    compile: float  # seconds before that
    way: str


@dataclass(frozen=True, eq=False)
class Rival:
    """The coarsest grid that is fine enough, or the finest that was allowed."""

    per_axis: int
    shot: OneShot
    violation: float  # attained by its solution; nan when it has none
    proven: bool  # whether branch-and-bound has settled that violation
    capped: str | None  # why no finer grid was tried: "rows", "time" or "memory"; None when the grid is fine enough


def one_shot(problem: Problem, per_axis: int, way: str, limit: float) -> OneShot:
    """Discretise and solve from the declared model."""
    compiling, program = timed(problem.compile)
    grids = [family.domain.grid(per_axis) for family in program.families]
    seconds, (status, x, rows) = timed(lambda: _solve(program, grids, way, limit))
    return OneShot(status, x, rows, seconds, compiling, way)


def _solve(program: Program, grids: list[Array], way: str, limit: float) -> tuple[str, Array, int]:
    rows = linear.rows_at(program, enumerate(grids))
    count = len(rows.rhs)
    if way == "conditioned":
        return *_conditioned(program, rows, limit), count
    matrix, sides = linear.with_finite(program, rows)
    options = linear.SIMPLEX if way == "simplex" else linear.INTERIOR
    status, x = linear.solve(program.c, (program.lower, program.upper), matrix, sides, options, limit)
    return status, x, count


def _conditioned(program: Program, rows: linear.Rows, limit: float) -> tuple[str, Array]:
    """The same LP in the coordinates that our own master would choose."""
    families = list(enumerate(program.families))
    sizes = [int(np.clip(2 * f.columns.shape[1], 10, 400)) for _, f in families]
    sample = [(i, f.domain.spread(size)) for (i, f), size in zip(families, sizes, strict=True) if len(f.columns) <= 50]
    seen = linear.rows_at(program, sample).matrix if sample else rows.matrix
    conditioning = Conditioning.fit(program, seen)
    lower, upper = program.lower / conditioning.scale, program.upper / conditioning.scale
    lower[conditioning.mixed], upper[conditioning.mixed] = -np.inf, np.inf
    matrix, sides = linear.with_finite(program, rows)
    c = np.asarray(conditioning.rows(program.c[None, :])).ravel()
    status, z = linear.solve(c, (lower, upper), linear.compressed(conditioning.rows(matrix)), sides, linear.SIMPLEX, limit)
    return status, np.clip(conditioning.x(z), program.lower, program.upper)


class Search:
    """The way to the coarsest grid of one problem."""

    def __init__(self, problem: Problem, infeasible: bool, most_rows: int, limit: float, seconds: float) -> None:
        self.problem, self.infeasible, self.most_rows, self.limit = problem, infeasible, most_rows, limit
        self.deadline = time.perf_counter() + seconds
        self.judge = problem.compile()  # its covers are kept from one check to the next
        self.way = WAYS[0]

    def run(self) -> Rival:
        last: Rival | None = None
        for k in self._levels():
            capped = self._forbidden(k)
            if capped is None:
                rival = self._try(k)
                if rival.capped is None:
                    return self._bisect(last.per_axis if last else k, rival)
                if rival.capped == "time" or time.perf_counter() > self.deadline:
                    return _capped(rival, "time")
                last = rival
            elif last is not None:
                return _capped(last, capped)
        if last is None:
            raise LSIPError("The problem is too large for any grid.")
        return _capped(last, "rows")

    def _levels(self) -> list[int]:
        """Points an axis: 2 to 9, doubled until the cap on rows, then the finest grid under that cap."""
        levels, finest = [], 1
        k = 2
        while self._count(k) <= self.most_rows and k < 2 * self.most_rows:
            levels.append(k)
            finest = k
            k = k + 1 if k < 9 else 2 * k - 1
            if all(type(f.domain).__name__ == "Finite" for f in self.judge.families):
                return levels
        low, high = finest, k
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._count(middle) <= self.most_rows else (low, middle)
        return levels + [low] * (low > finest)

    def _count(self, k: int) -> float:
        """Rows of the LP on a grid; for curved domains, an estimate from above."""
        return sum(len(f.columns) * _points(f.domain, k) for f in self.judge.families)

    def _forbidden(self, k: int) -> str | None:
        entries = sum(f.columns.size * _points(f.domain, k) for f in self.judge.families)
        return "memory" if entries > ENTRIES else None

    def _try(self, k: int) -> Rival:
        shot = self._race(k)
        if shot.status == "infeasible" and self.infeasible:
            return Rival(k, shot, np.nan, True, None)
        if shot.status != "optimal":
            return Rival(k, shot, np.nan, True, "time" if shot.status == "time" else "rows")
        violation, proven = true_violation(self.judge, shot.x)
        return Rival(k, shot, violation, proven, "rows" if violation > TOLERATED else None)

    def _race(self, k: int) -> OneShot:
        """The fastest way on this grid: the one that won the last time first, then the others within its time."""
        best: OneShot | None = None
        for way in sorted(WAYS, key=lambda w: w != self.way):
            limit = self.limit if best is None or best.status == "time" else min(self.limit, best.seconds)
            shot = one_shot(self.problem, k, way, limit)
            useful = shot.status in ("optimal", "infeasible", "unbounded")
            if best is None or (useful and (best.status in ("time", "failed") or shot.seconds < best.seconds)):
                best = shot
        assert best is not None
        self.way = best.way
        return best

    def _bisect(self, failed: int, passed: Rival) -> Rival:
        for _ in range(BISECTIONS):
            k = (failed + passed.per_axis) // 2
            if k in (failed, passed.per_axis) or time.perf_counter() > self.deadline:
                break
            rival = self._try(k)
            if rival.capped is None:
                passed = rival
            else:
                failed = k
        return passed


def true_violation(program: Program, x: Array) -> tuple[float, bool]:
    """The largest violation found over all families, and whether it is known to be at most, or more than, what is tolerated."""
    worst, bound = -np.inf, -np.inf
    for f, family in enumerate(program.families):
        violation = program.violation(f, x)
        if family.enclosable and family.domain.dim <= 4:
            found = BranchAndBound(max_boxes=20_000, rounds=0).maximise(violation, family.domain, target=TOLERATED)
        else:
            found = Multistart().maximise(violation, family.domain, target=TOLERATED)
        worst, bound = max(worst, found.worst), max(bound, found.bound)
        if worst > TOLERATED:
            return worst, True
    return worst, bound <= TOLERATED


def _points(domain: Any, k: int) -> float:
    if type(domain).__name__ == "Finite":
        return float(len(domain.grid(k)))
    if float(k) ** domain.dim <= 100_000:
        return float(len(domain.grid(k)))
    return float(k) ** domain.dim


def _capped(rival: Rival, why: str) -> Rival:
    return Rival(rival.per_axis, rival.shot, rival.violation, rival.proven, why)
