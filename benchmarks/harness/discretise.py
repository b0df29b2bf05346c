"""The rival: one linear program with the rows at a uniform grid, on the coarsest grid that is fine enough.

A one-shot solve evaluates the rows at the grid, builds one HiGHS model of them and solves it. It is given the best of
three ways: the simplex method in the model's own coordinates, the same in the coordinates that our master uses
(`Conditioning`), and the interior point method; presolve is off for the simplex, which is faster on nearly all.

A grid is fine enough when the true violation of its solution over the whole index set, found by branch-and-bound, is at
most 1e-6 (or, for an infeasible problem, when its LP is infeasible already). Where branch-and-bound cannot tell, the
grid passes. The number of points an axis runs from 2 to 9, then doubles (k to 2k - 1, so that grids nest); in the end,
a few bisections look for a coarser grid between the last two. Searching is not timed.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from lsip.domains import Domain
from lsip.errors import LSIPError
from lsip.model.problem import Problem
from lsip.model.program import Program
from lsip.oracles import BranchAndBound, Multistart, Oracle
from lsip.oracles.attained import discrete_points
from lsip.solver.conditioning import Conditioning

from . import linear
from .clock import timed

Array = NDArray[np.float64]
TOLERATED = 1e-6  # true violation of a solution that counts as solved
ENTRIES = 40_000_000  # of an LP, for the sake of memory
BOX_POINTS = 4_000_000  # of the bounding box's grid, from which that of a curved domain is made
COUNTED = 50_000  # points of grids that are made just to count them
BOXES = 400_000  # coefficients enclosed by a proof, a box each
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

    @property
    def settled(self) -> bool:
        return self.status in ("optimal", "infeasible", "unbounded")


@dataclass(frozen=True, eq=False)
class Rival:
    """The coarsest grid that is fine enough, or the finest that was allowed."""

    per_axis: int
    shot: OneShot
    violation: float  # attained by its solution; nan when it has none
    proven: bool  # whether branch-and-bound has settled that violation
    fine: bool  # enough
    capped: str | None = (
        None  # why no finer grid was tried, when this one is not fine enough: "rows", "time" or "memory"
    )


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
    status, z = linear.solve(
        c, (lower, upper), linear.compressed(conditioning.rows(matrix)), sides, linear.SIMPLEX, limit
    )
    return status, np.clip(conditioning.x(z), program.lower, program.upper)


class Search:
    """The way to the coarsest grid of one problem."""

    def __init__(self, problem: Problem, infeasible: bool, most_rows: int, limit: float, seconds: float) -> None:
        self.problem, self.infeasible, self.most_rows, self.limit = problem, infeasible, most_rows, limit
        self.deadline = time.perf_counter() + seconds
        self.patience = seconds / 50  # grids that take longer are doubled at once
        self.program = problem.compile()  # what it remembers is kept from one check to the next
        self.sizes = [GridSize(family.domain) for family in self.program.families]
        self.way = WAYS[0]
        self.raced: set[int] = set()  # grids solved in every way already

    def run(self) -> Rival:
        """Refine until the grid is fine enough; then look for a coarser one, and for the fastest way on it."""
        best: Rival | None = None
        k = 2
        while True:
            capped = self._forbidden(k)
            if capped is not None:
                break
            taken, rival = timed(partial(self._try, k))
            if rival.fine:
                return self._fastest(self._bisect(best.per_axis if best else k, rival))
            best = rival
            if rival.shot.status == "time" or time.perf_counter() > self.deadline:
                capped = "time"
                break
            if all(size.discrete for size in self.sizes):
                break
            k = self._next(k, slow=taken > self.patience)
        if best is None:
            raise LSIPError("The problem is too large for any grid.")
        return self._fastest(replace(best, capped=capped))

    def _next(self, k: int, slow: bool) -> int:
        """Points an axis: one more up to 9, then doubled, at last the most that the cap on rows allows."""
        if k < 9 and not slow:
            return k + 1
        high = 2 * k - 1
        if self._rows(high) <= self.most_rows:
            return high
        low = k
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._rows(middle) <= self.most_rows else (low, middle)
        return low if low > k else high

    def _rows(self, k: int) -> float:
        return sum(len(f.columns) * size(k) for f, size in zip(self.program.families, self.sizes, strict=True))

    def _forbidden(self, k: int) -> str | None:
        if self._rows(k) > self.most_rows:
            return "rows"
        entries = sum(f.columns.size * size(k) for f, size in zip(self.program.families, self.sizes, strict=True))
        too_many = any(not size.discrete and float(k) ** size.domain.dim > BOX_POINTS for size in self.sizes)
        return "memory" if entries > ENTRIES or too_many else None

    def _try(self, k: int) -> Rival:
        shot = self._fast_enough(k)
        if shot.status != "optimal":
            return Rival(k, shot, np.nan, True, shot.status == "infeasible" and self.infeasible)
        violation, proven = true_violation(self.program, shot.x)
        return Rival(k, shot, violation, proven, violation <= TOLERATED)

    def _fast_enough(self, k: int) -> OneShot:
        """The grid solved in the way that won last; in all ways where that is quick, or where that way fails."""
        shot = one_shot(self.problem, k, self.way, self.limit)
        return self._race(k, shot) if not shot.settled or shot.seconds < self.patience else shot

    def _race(self, k: int, best: OneShot) -> OneShot:
        ways = [] if k in self.raced else [w for w in WAYS if w != best.way]
        self.raced.add(k)
        for way in ways:
            if best.settled or time.perf_counter() < self.deadline:
                limit = min(self.limit, best.seconds) if best.settled else self.limit
                shot = one_shot(self.problem, k, way, limit)
                if shot.settled and (not best.settled or shot.seconds < best.seconds):
                    best = shot
        self.way = best.way
        return best

    def _bisect(self, failed: int, passed: Rival) -> Rival:
        for _ in range(BISECTIONS):
            k = (failed + passed.per_axis) // 2
            if k in (failed, passed.per_axis) or time.perf_counter() > self.deadline:
                break
            rival = self._try(k)
            if rival.fine:
                passed = rival
            else:
                failed = k
        return passed

    def _fastest(self, rival: Rival) -> Rival:
        """A grid that is fine enough, solved in the fastest way whose solution is good enough as well."""
        shot = self._race(rival.per_axis, rival.shot)
        if shot is rival.shot or not rival.fine or shot.status != "optimal":
            return replace(rival, shot=shot)
        violation, proven = true_violation(self.program, shot.x)
        return replace(rival, shot=shot, violation=violation, proven=proven) if violation <= TOLERATED else rival


class GridSize:
    """How many points a grid has; large ones are not counted but extrapolated, with a margin."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.discrete = discrete_points(domain) is not None
        self._counts: dict[int, int] = {}

    def __call__(self, k: int) -> float:
        m = self.domain.dim
        most = int(COUNTED ** (1 / m))
        if self.discrete or k <= most:
            return float(self._count(k))
        if self._count(most) == most**m:
            return float(k) ** m
        growth = np.log(self._count(most) / self._count(most // 2)) / np.log(most / (most // 2))
        return 1.1 * float(self._count(most) * (k / most) ** min(growth, m))

    def _count(self, k: int) -> int:
        if k not in self._counts:
            self._counts[k] = len(self.domain.grid(k))
        return self._counts[k]


def true_violation(program: Program, x: Array) -> tuple[float, bool]:
    """The largest violation found over all families, and whether it is settled that it is tolerated, or not."""
    worst, bound = -np.inf, -np.inf
    # Local searches are quick to refute; only what passes them is worth a proof.
    for proving in (False, True):
        bound = -np.inf
        for f, family in enumerate(program.families):
            if proving and (not family.enclosable or family.domain.dim > 4):
                bound = np.inf
                continue
            boxes = int(np.clip(BOXES // family.columns.size, 500, 20_000))
            oracle: Oracle = BranchAndBound(rounds=0, max_boxes=boxes) if proving else Multistart()
            found = oracle.maximise(program.violation(f, x), target=TOLERATED)
            worst, bound = max(worst, found.worst), max(bound, found.bound)
            if worst > TOLERATED:
                return worst, True
    return worst, bound <= TOLERATED
