"""Is anything kept for ever? Thirty kinds of model, a hundred solves of each, in one process.

Every kind is solved once a round, and then the garbage is collected. No problem, solution, variable or index of that
round may be alive, and the peak of the resident memory may not grow: its trend after the first quarter of all rounds is
in bytes a solve. A kind that leaks is named. `--tries` is the number of rounds.
"""

from __future__ import annotations

import gc
import time
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

from .harness.figures import machine, table
from .harness.registry import Figures, Options, benchmark, say
from .harness.worker import Worker
from .memory import peak

ROUNDS, QUICK_ROUNDS = 100, 3
LIMIT = 3600.0  # seconds
GROWTH = 1024.0  # bytes a solve that count as nothing: allocators do not give back every page


def measure(names: list[str], rounds: int) -> Iterator[dict[str, Any]]:
    """Solve in rounds; after each, what is still alive by kind, and the peak of the resident memory."""
    from .harness.kept import KINDS

    alive: dict[str, int] = dict.fromkeys(names, 0)
    watched, memory = 0, [1e9 * peak()]
    for _ in range(rounds):
        references = [(name, weakref.ref(thing)) for name in names for thing in KINDS[name]()]
        watched += len(references)
        gc.collect()
        for name, reference in references:
            alive[name] += reference() is not None
        memory.append(1e9 * peak())
        yield {"alive": alive, "watched": watched, "memory": memory}


def growth(memory: list[float], solves: int) -> float:
    """The trend of the memory after the first rounds, in bytes a solve."""
    later = np.array(memory[1 + len(memory) // 4 :], dtype=float)
    return float(np.polyfit(np.arange(len(later)), later, 1)[0] / solves) if len(later) > 1 else 0.0


def show(figures: Figures) -> str:
    """Kinds of which something is alive, and the memory."""
    leaking = [row for row in figures["kinds"] if row["alive"]]
    first, second, *_, last = figures["megabytes"]
    said = (
        f"{figures['summary']['solves']} solves of {len(figures['kinds'])} kinds, "
        f"{figures['watched']} objects watched, {figures['summary']['alive']} alive; "
        f"{first:.0f} MB at first, {second:.0f} MB after one round, "
        f"{last:.0f} MB in the end, {figures['growth']:.0f} bytes a solve."
    )
    return "\n\n".join([said, table(leaking, {"kind": "kind", "alive": "alive"})] if leaking else [said])


@benchmark("leaks", "is anything kept for ever: what is alive after it was solved, and the memory over time", show)
def run(options: Options) -> Figures:
    from .harness.kept import KINDS

    names = options.choose(KINDS)
    rounds = options.tries if options.tries is not None else QUICK_ROUNDS if options.quick else ROUNDS
    say(f"{rounds} rounds of {len(names)} kinds")
    state, start, worker = machine(), time.perf_counter(), Worker(measure)
    try:
        found = worker.run(names, rounds, seconds=LIMIT)
    finally:
        worker.stop()
    if "failure" in found:
        raise RuntimeError(found["failure"])
    alive, trend = sum(found["alive"].values()), growth(found["memory"], len(names))
    return {
        "quick": options.quick,
        "machine": state,
        "seconds": time.perf_counter() - start,
        "summary": {"solves": rounds * len(names), "alive": alive},
        "kinds": [{"kind": name, "solves": rounds, "alive": count} for name, count in found["alive"].items()],
        "watched": found["watched"],
        "growth": trend,
        "megabytes": [round(v / 2**20, 2) for v in found["memory"]],
        "goals": [
            {"goal": "alive", "figure": alive, "target": 0, "met": alive == 0},
            {"goal": "bytes a solve", "figure": round(trend, 1), "target": GROWTH, "met": trend <= GROWTH},
        ],
    }
