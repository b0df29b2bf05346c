"""Is `time_limit` kept? Thirty models that take long, with limits of 0.5, 2 and 10 seconds, each in a fresh process.

The overrun is the wall time of `solve()` beyond its limit; building the model and importing the package do not count. A
limit is kept if the overrun is at most 10 % of it and 0.2 s. `finite` counts answers with a lower and an upper bound
(of those that were not decided before the limit). A process that has not answered after five times its limit and 30 s
is stopped. Run it on an idle machine: `busy` is wall time over processor time, and near 1 there.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Any

from .harness.figures import machine, quantile, ratio, table
from .harness.outcome import clocked, outcome
from .harness.registry import Figures, Options, benchmark, say
from .harness.slow import QUICK, SLOW
from .harness.worker import Worker

LIMITS, SHORT = (0.5, 2.0, 10.0), (0.5, 2.0)  # seconds
PART, EXTRA = 0.1, 0.2  # of the limit, and seconds, that an overrun may have
PATIENCE, START = 5.0, 30.0  # times the limit, and seconds, after which the process is stopped
LISTED = 12  # worst overruns

Rows = list[dict[str, Any]]


def measure(name: str, limit: float) -> Iterator[dict[str, Any]]:
    """Build, and solve within the limit."""
    solve = SLOW[name]()
    yield {"built": True}
    took, found = clocked(lambda: solve(limit))
    yield {**took, **outcome(found)}


def judged(found: dict[str, Any], limit: float) -> dict[str, Any]:
    """With the overrun, and whether the limit was kept; a process that was stopped has not kept it."""
    if "seconds" not in found:
        late = "built" in found and found.get("failure", "").startswith("stopped")
        return found | {"overrun": PATIENCE * limit + START - limit if late else None, "kept": False}
    over = found["seconds"] - limit
    decided = found["status"] in ("OPTIMAL", "INFEASIBLE", "UNBOUNDED")
    finite = math.isfinite(float(found["lower"])) and math.isfinite(float(found["upper"]))
    return found | {"overrun": over, "kept": over <= PART * limit + EXTRA, "decided": decided, "finite": finite}


def summarise(runs: Rows) -> Figures:
    """Counts over runs."""
    open_ = [r for r in runs if not r.get("decided")]
    over = [max(r["overrun"], 0.0) for r in runs if r["overrun"] is not None]
    return {
        "runs": len(runs),
        "kept": sum(r["kept"] for r in runs),
        "share": ratio(float(sum(r["kept"] for r in runs)), float(len(runs))),
        "stopped": sum("failure" in r for r in runs),
        "decided": sum(bool(r.get("decided")) for r in runs),
        "open": len(open_),
        "finite": sum(bool(r.get("finite")) for r in open_),
        "finite_share": ratio(float(sum(bool(r.get("finite")) for r in open_)), float(len(open_))),
        "median_overrun": quantile(over, 0.5),
        "p95_overrun": quantile(over, 0.95),
        "worst_overrun": max(over, default=None),
        "busy": ratio(sum(r.get("seconds", 0.0) for r in runs), sum(r.get("cpu", 0.0) for r in runs)),
    }


def goals(summary: Figures) -> list[Figures]:
    """Every limit is kept."""
    share = summary["share"]
    return [{"goal": "share of limits kept", "figure": share, "target": 1.0, "met": share == 1.0}]


def show(figures: Figures) -> str:
    """One line a limit, the worst overruns, all runs, and the goal."""
    columns = {"limit": "limit", "runs": "runs", "kept": "kept", "stopped": "stopped", "decided": "decided"}
    columns |= {"open": "open", "finite": "with bounds", "median_overrun": "median over", "worst_overrun": "worst over"}
    runs = {"name": "model", "limit": "limit", "status": "status", "lower": "lower", "upper": "upper"}
    runs |= {"seconds": "seconds", "overrun": "overrun", "kept": "kept", "failure": "failure"}
    return "\n\n".join(
        [
            table(figures["runs"], runs),
            table([*figures["limits"], {"limit": "all", **figures["summary"]}], columns),
            table(figures["worst"], {"name": "worst", "limit": "limit", "overrun": "overrun", "status": "status"}),
            table(figures["goals"], {"goal": "goal", "figure": "figure", "target": "target", "met": "met"}),
        ]
    )


@benchmark("limits", "time limits of 0.5, 2 and 10 s on models that take long: overruns, and bounds", show)
def run(options: Options) -> Figures:
    names = options.choose(QUICK if options.quick and options.only is None else SLOW)
    limits = SHORT if options.quick else LIMITS
    state, start = machine(), time.perf_counter()
    runs: Rows = []
    for name in names:
        for limit in limits:
            worker = Worker(measure)
            try:
                found = worker.run(name, limit, seconds=PATIENCE * limit + START)
            finally:
                worker.stop()
            runs.append({"name": name, "limit": limit} | judged(found, limit))
            last = runs[-1]
            over = "" if last["overrun"] is None else f", {last['overrun']:+.2f} s"
            say(f"{name}, {limit:g} s: {last.get('failure') or last['status']}{over}{'' if last['kept'] else ', late'}")
    summary = summarise(runs)
    late = sorted((r for r in runs if r["overrun"] is not None), key=lambda r: -r["overrun"])
    return {
        "quick": options.quick,
        "machine": state,
        "seconds": time.perf_counter() - start,
        "goals": goals(summary),
        "summary": summary,
        "limits": [{"limit": limit, **summarise([r for r in runs if r["limit"] == limit])} for limit in limits],
        "worst": late[:LISTED],
        "late": [{"name": r["name"], "limit": r["limit"]} for r in runs if not r["kept"]],
        "runs": runs,
    }
