"""A record of every answer of the catalogue, and what changed between two of them.

    python -m benchmarks record --json > before.json
    python -m benchmarks record --compare before.json

The record holds status, value, bounds, iterations, LP solves and seconds of every entry. `--compare FILE` measures anew
and lists what differs from that record: answers that were lost or won, values and bounds beyond the tolerance of both,
and the ratio of the seconds. With `--only` the entries chosen are compared.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from typing import Any

from lsip import catalogue

from .harness.clock import forget, timed
from .harness.figures import machine, median, quantile, table
from .harness.outcome import agrees, lp_solves, outcome
from .harness.registry import Figures, Options, benchmark, say
from .harness.worker import Worker

LIMIT, QUICK = 20.0, 5.0  # seconds a problem
HARD = 5  # times the limit, after which the process is stopped
CLOSE = 3.0  # times the tolerance of the solves, that two values of one problem may differ
SLOWER, NOTICED = 1.5, 0.1  # a ratio of seconds, and the seconds at least, that are listed

Rows = list[dict[str, Any]]


def measure(name: str, limit: float) -> Iterator[dict[str, Any]]:
    """Build, solve and describe one entry."""
    entry = catalogue.get(name)
    problem = entry.build()
    forget()
    with lp_solves() as counted:
        seconds, solution = timed(lambda: problem.solve(verbose=False, time_limit=limit))
    right = agrees(entry, solution)
    yield {**outcome(solution), **counted, "tol": solution.tol, "seconds": seconds, "right": right}
    yield {"message": "" if solution.certified else solution.message}


def summarise(problems: Rows) -> Figures:
    """Counts and times over a record."""
    seconds = [p.get("seconds") for p in problems]
    return {
        "entries": len(problems),
        "certified": sum(bool(p.get("certified")) for p in problems),
        "right": sum(bool(p.get("right")) for p in problems),
        "median_seconds": median(seconds),
        "p95_seconds": quantile(seconds, 0.95),
        "total_seconds": sum(s for s in seconds if s is not None),
        "lp_solves": sum(p.get("lp_solves", 0) for p in problems),
        "otherwise": [p["name"] for p in problems if not p.get("right")],
    }


def compare(before: Rows, after: Rows) -> Figures:
    """What differs between two records, over the entries that both have."""
    known = {p["name"]: p for p in before}
    pairs = [(known[p["name"]], p) for p in after if p["name"] in known]
    ratios = [b["seconds"] / a["seconds"] for a, b in pairs if a.get("seconds") and b.get("seconds")]
    slower = [
        {"name": a["name"], "before": a["seconds"], "after": b["seconds"], "ratio": b["seconds"] / a["seconds"]}
        for a, b in pairs
        if a.get("seconds") and b.get("seconds", 0.0) > max(SLOWER * a["seconds"], a["seconds"] + NOTICED)
    ]
    return {
        "compared": len(pairs),
        "missing": sorted(set(known) - {p["name"] for p in after}),
        "lost": [a["name"] for a, b in pairs if a.get("right") and not b.get("right")],
        "won": [a["name"] for a, b in pairs if b.get("right") and not a.get("right")],
        "differences": [d for a, b in pairs for d in _differences(a, b)],
        "slower": sorted(slower, key=lambda s: -s["ratio"]),
        "median_ratio": median(ratios),
        "p95_ratio": quantile(ratios, 0.95),
        "median_seconds": [median(p.get("seconds") for p in side) for side in zip(*pairs, strict=True)],
        "p95_seconds": [quantile((p.get("seconds") for p in side), 0.95) for side in zip(*pairs, strict=True)],
    }


def _differences(a: dict[str, Any], b: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Status, certified, and those of the numbers that are further apart than both tolerances allow."""
    for key in ("status", "certified", "failure"):
        if a.get(key) != b.get(key):
            yield {"name": a["name"], "what": key, "before": a.get(key), "after": b.get(key)}
    if not (a.get("certified") and b.get("certified")):
        return
    for key in ("value", "lower", "upper"):
        old, new = float(a[key]), float(b[key])
        close = CLOSE * max(a["tol"], b["tol"]) * max(1.0, abs(old))
        same = old == new or (math.isnan(old) and math.isnan(new)) or abs(new - old) <= close
        if not same:
            yield {"name": a["name"], "what": key, "before": a[key], "after": b[key]}


def show(figures: Figures) -> str:
    """The record, or what differs from another."""
    summary = figures["summary"]
    head = (
        f"{summary['right']} of {summary['entries']} entries right and certified; median "
        f"{summary['median_seconds']:.3g} s, 95 % within {summary['p95_seconds']:.3g} s"
    )
    changed = figures["comparison"]
    if changed is None:
        columns = {"name": "problem", "status": "status", "right": "right", "value": "value", "lower": "lower"}
        columns |= {"upper": "upper", "iterations": "iters", "lp_solves": "LPs", "seconds": "seconds"}
        return "\n\n".join([table(figures["problems"], columns), head])
    listed = {key: ", ".join(changed[key]) or "none" for key in ("lost", "won", "missing")}
    old, new = changed["median_seconds"] or (math.nan, math.nan)
    old95, new95 = changed["p95_seconds"] or (math.nan, math.nan)
    return "\n\n".join(
        [
            head,
            "\n".join(f"{key}: {names}" for key, names in listed.items()),
            table(changed["differences"], {"name": "problem", "what": "what", "before": "before", "after": "after"}),
            table(changed["slower"], {"name": "slower", "before": "before", "after": "after", "ratio": "ratio"}),
            f"seconds, before and after: median {old:.3g} and {new:.3g}, 95 % within {old95:.3g} and {new95:.3g}",
        ]
    )


def read(path: str) -> Rows:
    """The problems of a record in a file."""
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
        if found["benchmark"] != "record":
            raise KeyError("benchmark")
        return list(found["problems"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LookupError(f"{path} is not a file of `python -m benchmarks record --json`: {error}") from error


@benchmark("record", "every answer of the catalogue, to be compared with those of another version", show)
def run(options: Options) -> Figures:
    before = read(options.compare) if options.compare is not None else None
    limit = QUICK if options.quick else LIMIT
    names = options.choose(catalogue.names())
    if before is not None:
        before = [p for p in before if p["name"] in names]
    state, start, problems = machine(), time.perf_counter(), []
    worker = Worker(measure)
    try:
        worker.run("abs_d2", limit, seconds=HARD * limit)  # imports and first calls are not part of any figure
        for i, name in enumerate(names, 1):
            found = {"name": name} | worker.run(name, limit, seconds=HARD * limit)
            problems.append(found)
            words = found.get("failure") or f"{found['status']}, {found['seconds']:.3g} s"
            say(f"[{i}/{len(names)}] {name}: {words}{'' if found.get('right') else ', not right'}")
    finally:
        worker.stop()
    return {
        "quick": options.quick,
        "machine": state,
        "seconds": time.perf_counter() - start,
        "time_limit": limit,
        "summary": summarise(problems),
        "comparison": None if before is None else compare(before, problems),
        "problems": problems,
    }
