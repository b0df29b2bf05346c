"""Models of other tools, with the values that their authors published: how many come out, and how many with proof.

An answer is `right` if it agrees with what was published, to the precision of the source. Some sources solved the model
on a grid: their values are too good, and a proven value beyond them by the share that is known is right. Models that
were published without a value count among `certified` only. See `harness/models/` for the models and their sources.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import lsip

from .harness.clock import timed
from .harness.figures import machine, median, quantile, ratio, table
from .harness.models import MODELS, Model
from .harness.outcome import digits, outcome
from .harness.registry import Figures, Options, benchmark, say
from .harness.worker import Measure, Worker

LIMIT, QUICK = 20.0, 3.0  # seconds a model
HARD = 5  # times the limit, after which the process is stopped
SHARE = 0.95  # of the models are to be certified


def measure(name: str, limit: float) -> Iterator[dict[str, Any]]:
    """Build and solve one model, and compare."""
    return compared(MODELS[name], limit)


def compared(model: Model, limit: float) -> Iterator[dict[str, Any]]:
    """What a model came to, in parts."""
    try:
        problem = model.build()
        yield {"built": True}
        seconds, solution = timed(lambda: problem.solve(verbose=False, time_limit=limit))
    except lsip.LSIPError as error:
        refused = model.claim.kind == "refused"
        nothing = digits(float("nan"))
        yield {"status": "REFUSED", "certified": refused, "right": refused or None, "value": nothing}
        yield {"message": f"{type(error).__name__}: {error}"}
        return
    found = outcome(solution)
    right = model.claim.kept(solution.status.name, solution.value, solution.lower, solution.upper)
    yield {**found, "seconds": seconds, "right": right}
    yield {"message": "" if solution.certified else solution.message}


def summarise(models: list[dict[str, Any]]) -> Figures:
    """Counts, and names of what is not as it should be."""
    claimed = [m for m in models if m["claim"] != "none"]
    seconds = [m.get("seconds") for m in models]
    certified = sum(bool(m.get("certified")) for m in models)
    return {
        "models": len(models),
        "claimed": len(claimed),
        "right": sum(bool(m.get("right")) for m in claimed),
        "certified": certified,
        "certified_share": ratio(float(certified), float(len(models))),
        "certified_claimed": sum(bool(m.get("certified")) for m in claimed),
        "not_right": [m["name"] for m in claimed if not m.get("right")],
        "certified_not_right": [m["name"] for m in claimed if m.get("certified") and not m.get("right")],
        "not_certified": [m["name"] for m in models if not m.get("certified")],
        "median_seconds": median(seconds),
        "p95_seconds": quantile(seconds, 0.95),
    }


def goals(summary: Figures) -> list[Figures]:
    """Every published value right, and nearly all models certified."""
    wrong, share = len(summary["not_right"]), summary["certified_share"]
    return [
        {"goal": "published values that do not come out", "figure": wrong, "target": 0, "met": wrong == 0},
        {"goal": "share certified, at least", "figure": share, "target": SHARE, "met": share >= SHARE},
    ]


def show(figures: Figures) -> str:
    """All models, those that are not right or not certified once more with their message, and the goals."""
    columns = {"name": "model", "claim": "published", "value": "value", "status": "status", "right": "right"}
    columns |= {"certified": "certified", "seconds": "seconds"}
    otherwise = [
        {**m, "message": (m.get("failure") or m.get("message", ""))[:90]}
        for m in figures["models"]
        if not m.get("certified") or m.get("right") is False
    ]
    parts = [table(figures["models"], columns)]
    if otherwise:
        parts.append(table(otherwise, {"name": "otherwise", "status": "status", "message": "message"}))
    parts.append(table(figures["goals"], {"goal": "goal", "figure": "figure", "target": "target", "met": "met"}))
    return "\n\n".join(parts)


def measured(
    options: Options,
    models: Mapping[str, Model],
    measure: Measure,
    summarise: Callable[[list[Figures]], Figures],
    goals: Callable[[Figures], list[Figures]],
    judged: Callable[[Figures], Figures] = lambda found: found,
) -> Figures:
    """Models with their sources and claims, one after the other; what is found of each is judged."""
    names, limit = options.choose(models), QUICK if options.quick else LIMIT
    state, start, rows = machine(), time.perf_counter(), []
    worker = Worker(measure)
    try:
        for i, name in enumerate(names, 1):
            known = {"name": name, "source": models[name].source, "claim": str(models[name].claim)}
            found = judged(known | worker.run(name, limit, seconds=HARD * limit))
            rows.append(found)
            took = f", {found['seconds']:.3g} s" if "seconds" in found else ""
            mark = "" if found.get("right") is not False else ", not right"
            say(f"[{i}/{len(names)}] {name}: {found.get('failure') or found['status']}{took}{mark}")
    finally:
        worker.stop()
    summary = summarise(rows)
    return {
        "quick": options.quick,
        "machine": state,
        "seconds": time.perf_counter() - start,
        "time_limit": limit,
        "goals": goals(summary),
        "summary": summary,
        "models": rows,
    }


@benchmark("published", "models of other tools: published values that come out, and with proof", show)
def run(options: Options) -> Figures:
    return measured(options, MODELS, measure, summarise, goals)
