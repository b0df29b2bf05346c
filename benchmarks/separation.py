"""The oracles side by side: what each finds in which time, and how far that is from a proven bound.

Every problem gives two violations: at the first relaxation's solution, where there is something to find, and at the
final one, where there is nothing and only branch-and-bound can say so. Times are wall-clock medians of calls that take
turns; branch-and-bound starts with no boxes at every call. `gap` is what is missing to the supremum, proven by a longer
branch-and-bound, relative to its size if that exceeds 1; null where the supremum could not be proven.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import lsip
from lsip import catalogue
from lsip.model import FamilyViolation
from lsip.oracles import BranchAndBound, Grid, Multistart, Oracle, RandomSearch

from .harness.clock import forget, interleave, timed
from .harness.figures import machine, median, table
from .harness.registry import Figures, Options, benchmark, say
from .harness.worker import Worker

FEW = (
    "tfi2_tan_n3",
    "fir_linear",
    "monic8",
    "watson8_2d",
    "reemtsen2_d3",
    "robust_disc",
    "reemtsen4_d2",
    "robust_ellipsoid4",
    "basket4",
)
ORACLES: dict[str, Oracle] = {
    "BranchAndBound": BranchAndBound(),
    "Grid 10^4": Grid(points=10_000),
    "Grid 10^5": Grid(points=100_000),
    "Multistart": Multistart(),
    "RandomSearch 10^2": RandomSearch(points=100),
    "RandomSearch 10^4": RandomSearch(points=10_000),
}
HARD = 60.0  # seconds for one problem


def measure(name: str, repeats: int) -> Iterator[dict[str, Any]]:
    """All oracles on the first family of a problem, early and late."""
    problem = catalogue.get(name).build()
    first = next(iter(lsip.exchange(problem)))
    last = problem.solve(verbose=False, time_limit=20.0)
    for stage, x in (("first", first.x), ("final", last.x)):
        program = catalogue.get(name).build().compile()
        violation = program.violation(0, x)
        yield {stage: {"name": name, "stage": stage, "m": violation.family.domain.dim, **_contest(violation, repeats)}}


def _contest(violation: FamilyViolation, repeats: int) -> dict[str, Any]:
    found: dict[str, Any] = {}

    def contestant(label: str, oracle: Oracle) -> Callable[[], float]:
        def run() -> float:
            violation.family.memory.forget()
            forget()
            seconds, found[label] = timed(lambda: oracle.maximise(violation, target=0.0))
            return seconds

        return run

    seconds = interleave({label: contestant(label, oracle) for label, oracle in ORACLES.items()}, repeats, 1.0)
    best = max(s.worst for s in found.values())
    # Asked to prove no more than what is attained, branch-and-bound goes on until that is the supremum.
    slack = 1e-9 * (1.0 + abs(best))
    bound = BranchAndBound(max_boxes=50_000).maximise(violation, target=best + slack).bound
    tight = bound <= best + 2 * slack
    return {
        "supremum": best if tight else None,
        "oracles": [
            {
                "oracle": label,
                "seconds": seconds[label],
                "value": s.worst,
                "gap": max(best - s.worst, 0.0) / max(abs(best), 1.0) if tight else None,
                "bound": s.bound,
                "points": len(s.points),
            }
            for label, s in found.items()
        ],
    }


def show(figures: Figures) -> str:
    """One line an oracle and violation, then the medians."""
    rows = [
        {"name": c["name"], "stage": c["stage"], "m": c["m"], **o}
        for c in figures["contests"]
        for o in c.get("oracles", [])
    ]
    columns = {"name": "problem", "stage": "at x", "m": "m", "oracle": "oracle", "seconds": "seconds"}
    columns |= {"value": "found", "gap": "missing", "bound": "proven bound"}
    medians = table(
        figures["summary"],
        {"oracle": "oracle", "median_seconds": "median s", "worst_gap": "most missing", "found": "found all"},
    )
    return table(rows, columns) + "\n\n" + medians


@benchmark("separation", "the oracles on a few violations: seconds, value found, distance to a proven bound", show)
def run(options: Options) -> Figures:
    names = options.choose(catalogue.names()) if options.only else list(FEW)
    before, start = machine(), time.perf_counter()
    worker = Worker(measure)
    contests: list[dict[str, Any]] = []
    failures = []
    try:
        for name in names:
            parts = worker.run(name, 2 if options.quick else 5, seconds=HARD)
            if "failure" in parts:
                failures.append({"name": name, "failure": parts.pop("failure")})
            contests += parts.values()
            say(f"{name}: {len(parts)} violations")
    finally:
        worker.stop()
    return {
        "quick": options.quick,
        "machine": before,
        "seconds": time.perf_counter() - start,
        "summary": [_summary(label, contests) for label in ORACLES],
        "contests": contests,
        "failures": failures,
    }


def _summary(label: str, contests: list[dict[str, Any]]) -> dict[str, Any]:
    mine = [o for c in contests for o in c["oracles"] if o["oracle"] == label]
    gaps = [o["gap"] for o in mine if o["gap"] is not None]
    return {
        "oracle": label,
        "median_seconds": median(o["seconds"] for o in mine),
        "worst_gap": max(gaps, default=None),
        "found": sum(g <= 1e-9 for g in gaps),
        "of": len(gaps),
    }
