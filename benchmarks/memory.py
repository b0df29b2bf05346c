"""The memory that a search by branch-and-bound takes, with as many boxes as it may have.

The rows are ten bumps on [0, 1]^m, n = 10, and the right-hand side is the first of them: at x = (1, 0, …, 0) they are 0
everywhere, and no enclosure of both sides says so. No box is ever closed, and the search ends with 10^6 of them or with
the memory that enclosures may take. Each runs in a process of its own, whose most is measured, all else included.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

import lsip

from .dimension import BASIS, bumps_of
from .harness.figures import machine, table
from .harness.outcome import clocked
from .harness.registry import Figures, Options, benchmark, say
from .harness.worker import Worker

BOXES, QUICK_BOXES, GIGABYTES = 10**6, 20_000, 2.0
LIMIT = 600.0  # seconds


def measure(m: int, boxes: int) -> Iterator[dict[str, Any]]:
    """How many boxes a search holds in the end, and the most memory that its process had, before and after."""
    y, x = lsip.Index("y", lsip.Box(np.zeros(m), np.ones(m))), lsip.Variable(BASIS, name="x")
    centres, sharp, _ = bumps_of(m, 0, BASIS)
    basis = 1 / (1 + sharp * ((y - centres) ** 2).sum(axis=-1))
    program = lsip.Problem(lsip.minimize(x[0]), [lsip.forall(y, basis @ x <= basis[0])]).compile()
    before = peak()
    search = lsip.oracles.BranchAndBound(max_boxes=boxes, rounds=boxes)
    spent, _ = clocked(lambda: search.maximise(program.violation(0, np.eye(BASIS)[0])))
    yield {"m": m, "boxes": program.families[0].memory.boxes, "before": before, "gigabytes": peak(), **spent}


def peak() -> float:
    """The most memory that this process has had, or its parent when it began, in gigabytes."""
    import resource  # not on every system

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e9


def show(figures: Figures) -> str:
    """One line a dimension."""
    return table(figures["searches"], {"m": "m", "boxes": "boxes", "gigabytes": "GB", "cpu": "processor (s)"})


@benchmark("memory", "the memory that a search takes, with as many boxes as it may have", show)
def run(options: Options) -> Figures:
    state, searches, boxes = machine(), [], QUICK_BOXES if options.quick else BOXES
    for m in (2,) if options.quick else (2, 4, 6):
        say(f"m = {m}")
        worker = Worker(measure)
        try:
            searches.append({"m": m} | worker.run(m, boxes, seconds=LIMIT))
        finally:
            worker.stop()
    most, many = max(s["gigabytes"] for s in searches), [s["m"] for s in searches if s["boxes"] >= 0.999 * boxes]
    goals = [
        {"goal": "gigabytes, at most", "figure": most, "target": GIGABYTES, "met": most <= GIGABYTES},
        {"goal": f"dimensions in which there are {boxes:,} boxes", "figure": len(many), "target": len(searches)}
        | {"met": len(many) == len(searches)},
    ]
    return {"machine": state, "goals": goals, "searches": searches}
