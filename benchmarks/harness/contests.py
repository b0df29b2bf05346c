"""One problem of the catalogue, measured from all sides: our solve, the discretised LP, the cold LP, and separation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import lsip
from lsip import catalogue
from lsip.oracles import BranchAndBound

from . import linear
from .clock import forget, interleave, phases, timed
from .discretise import Rival, Search, one_shot
from .figures import ratio

PASS = 100_000  # points of the grid that separation is compared with


@dataclass(frozen=True)
class Effort:
    """How long to measure one problem."""

    repeats: int
    budget: float  # seconds after which a contestant is not repeated
    solve: float  # time limit of our solve
    lp: float  # time limit of a discretised LP, at most; 25 times our own time otherwise, but half a second
    search: float  # seconds for finding the grid; six times our own time, if that is more, up to the threefold
    rows: int  # cap on the rows of a discretised LP
    hard: float  # seconds after which the process is stopped


FULL = Effort(repeats=5, budget=1.0, solve=20.0, lp=10.0, search=12.0, rows=1_000_000, hard=100.0)
QUICK = Effort(repeats=2, budget=0.2, solve=10.0, lp=1.0, search=2.0, rows=100_000, hard=30.0)

Part = dict[str, Any]
_ready = False


def measure(name: str, effort: Effort) -> Iterator[Part]:
    """The figures of one problem, in parts: what is measured first survives when a later part fails."""
    entry = catalogue.get(name)
    _warm_up()
    problem = entry.build()
    forget()
    with phases() as spent:
        first, solution = timed(lambda: problem.solve(verbose=False, time_limit=effort.solve))
    yield _facts(entry, solution) | {"seconds": first, "phases": spent | {"rest": first - sum(spent.values())}}
    yield from _against_discretisation(entry, solution, first, effort)
    yield from _against_grid_pass(entry, solution, effort)


def _warm_up() -> None:
    """Import and load everything once, on a problem that is not in the catalogue."""
    global _ready
    if not _ready:
        x, y = lsip.Variable(2, name="x"), lsip.Index("y", lsip.Box([0, 0], [1, 1]))
        model = lsip.Problem(
            lsip.minimize(x[0]), [lsip.forall(y, x[0] + 0.1 * x[1] * y[0] >= np.sin(y[1])), x[1] >= -1]
        )
        model.solve(verbose=False)
        Search(model, False, 1000, 1.0, 1.0).run()
        _ready = True


def _facts(entry: catalogue.Entry, solution: lsip.Solution) -> Part:
    program = solution.program
    expected = {"optimal": "OPTIMAL", "infeasible": "INFEASIBLE", "unbounded": "UNBOUNDED"}.get(entry.status)
    finite = np.isfinite(entry.value) and np.isfinite(solution.value)
    error = abs(solution.value - entry.value) / (1 + abs(entry.value)) if finite else None
    return {
        "n": program.n,
        "m": max((f.domain.dim for f in program.families), default=0),
        "rows_an_index": sum(len(f.columns) for f in program.families),
        "finite_rows": program.A.shape[0],
        "expected": entry.status,
        "status": solution.status.name,
        "known": entry.value,
        "value": solution.value,
        "error": error,
        "right": expected in (None, solution.status.name)
        and (expected != "OPTIMAL" or (error is not None and error <= 1e-7)),
        "certified": solution.certified,
        "gap": solution.gap,
        "iterations": len(solution.history),
        "boxes": sum(f.memory.boxes for f in program.families),
        "oracle": solution.oracle,
    }


def _against_discretisation(
    entry: catalogue.Entry, solution: lsip.Solution, first: float, effort: Effort
) -> Iterator[Part]:
    """Our solve, the discretised LP on the coarsest grid, and the cold LP with the final points, taking turns."""
    limit = float(np.clip(25 * first, 0.5, effort.lp))
    rival, failure = _rival(entry, first, limit, effort)
    compiling: list[float] = []

    def ours() -> float:
        problem = entry.build()
        forget()
        return timed(lambda: problem.solve(verbose=False, time_limit=effort.solve))[0]

    def theirs() -> float:
        assert rival is not None
        problem = entry.build()
        forget()
        shot = one_shot(problem, rival.per_axis, rival.shot.way, limit)
        compiling.append(shot.compile)
        return shot.seconds

    contestants: dict[str, Callable[[], float]] = {"ours": ours}
    known = {"ours": first}
    if rival is not None:
        contestants["theirs"] = theirs
        known["theirs"] = rival.shot.seconds
        compiling.append(rival.shot.compile)
    cold = _cold(solution)
    contestants |= cold
    seconds = interleave(contestants, effort.repeats, effort.budget, known)
    yield {"seconds": seconds["ours"]}
    if cold:
        best = min(seconds[name] for name in cold)
        yield {
            "cold": {"seconds": best, "rows": len(solution.certificate.support), "ratio": ratio(seconds["ours"], best)}
        }
    if rival is not None:
        yield {"discretisation": _compare(entry, solution, rival, seconds, float(np.median(compiling)))}
    elif failure:
        yield {"discretisation": {"failure": failure}}


def _rival(entry: catalogue.Entry, first: float, limit: float, effort: Effort) -> tuple[Rival | None, str | None]:
    if entry.status == "unbounded":
        return None, "no grid can show that a problem is unbounded"
    seconds = float(np.clip(6 * first, effort.search, 3 * effort.search))
    try:
        return Search(entry.build(), entry.status == "infeasible", effort.rows, limit, seconds).run(), None
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"


def _compare(
    entry: catalogue.Entry, solution: lsip.Solution, rival: Rival, seconds: dict[str, float], compiling: float
) -> Part:
    shot, program = rival.shot, solution.program
    value = None
    if shot.status == "optimal":
        value = (-1.0 if program.maximise else 1.0) * (float(program.c @ shot.x) + program.constant)
    unfinished = solution.status.name == "TIME_LIMIT"
    return {
        "seconds": compiling + seconds["theirs"],
        "compile": compiling,
        "ratio": ratio(compiling + seconds["theirs"], seconds["ours"]),
        "ratio_without_compile": ratio(seconds["theirs"], seconds["ours"]),
        "lower_bound": not rival.fine,
        "upper_bound": unfinished,
        "capped": rival.capped,
        "per_axis": rival.per_axis,
        "rows": shot.rows,
        "way": shot.way,
        "status": shot.status,
        "violation": rival.violation,
        "violation_proven": rival.proven,
        "error": None
        if value is None or not np.isfinite(entry.value)
        else abs(value - entry.value) / (1 + abs(entry.value)),
    }


def _cold(solution: lsip.Solution) -> dict[str, Callable[[], float]]:
    """One LP from arrays: the finite rows, and the rows at the index points that carry the final multipliers."""
    if not np.isfinite(solution.value) or not solution.certificate.support:
        return {}
    program = solution.program
    matrix, sides = linear.with_finite(program, linear.rows_of(program, solution.certificate.support))

    def contestant(options: dict[str, Any]) -> Callable[[], float]:
        bounds = (program.lower, program.upper)
        return lambda: timed(lambda: linear.solve(program.c, bounds, matrix, sides, options, 20.0))[0]

    return {"cold simplex": contestant(linear.SIMPLEX), "cold default": contestant(linear.DEFAULT)}


def _against_grid_pass(entry: catalogue.Entry, solution: lsip.Solution, effort: Effort) -> Iterator[Part]:
    """Certified separation at the solution over all families with m = 2, and one evaluation of them on a grid."""
    fresh = entry.build().compile()
    flat = [f for f, family in enumerate(fresh.families) if family.domain.dim == 2 and family.enclosable]
    if not flat or not np.isfinite(solution.value):
        return
    x, oracle = solution.x, BranchAndBound()
    violations = [fresh.violation(f, x) for f in flat]
    grids = [_dense_grid(fresh.families[f].domain) for f in flat]
    bounds: list[float] = []

    def prove(program: Any) -> float:
        seconds, found = timed(lambda: [oracle.maximise(program.violation(f, x), target=0.0) for f in flat])
        bounds.append(max(s.bound for s in found))
        return seconds

    def from_nothing() -> float:
        for f in flat:
            fresh.families[f].memory.forget()
        return prove(fresh)

    def evaluate() -> float:
        return timed(lambda: [_pass(v, y) for v, y in zip(violations, grids, strict=True)])[0]

    contestants = {"fresh": from_nothing, "warm": lambda: prove(solution.program), "pass": evaluate}
    seconds = interleave(contestants, effort.repeats, effort.budget)
    yield {
        "separation": {
            "fresh": seconds["fresh"],
            "warm": seconds["warm"],
            "pass": seconds["pass"],
            "points": sum(map(len, grids)),
            "boxes": sum(fresh.families[f].memory.boxes for f in flat),
            "bound": max(bounds),
            "proven": max(bounds) <= 0,
            "fresh_ratio": ratio(seconds["fresh"], seconds["pass"]),
            "warm_ratio": ratio(seconds["warm"], seconds["pass"]),
        }
    }


def _dense_grid(domain: lsip.domains.Domain) -> Any:
    """About 10^5 points, also where the domain fills only a part of its bounding box, or has discrete axes."""
    per_axis, growth = round(PASS ** (1 / domain.dim)), float(domain.dim)
    points = domain.grid(per_axis)
    for _ in range(4):
        more = round(per_axis * (PASS / len(points)) ** (1 / growth))
        if abs(len(points) / PASS - 1) < 0.1 or float(more) ** growth > 400 * PASS:
            break
        finer = domain.grid(more)
        growth = float(np.clip(np.log(len(finer) / len(points)) / np.log(more / per_axis), 0.5, domain.dim))
        per_axis, points = more, finer
    return points


def _pass(violation: Any, points: Any) -> float:
    """The largest violation over a grid, in portions that stay in the processor's cache."""
    chunk = int(np.clip(200_000 // violation.weights.size, 64, 16_384))
    return max(float(violation.values(points[i : i + chunk]).max()) for i in range(0, len(points), chunk))
