"""A record of the answers to a corpus of models, and what changed between two of them.

    python -m benchmarks record --json > before.json
    python -m benchmarks record --compare before.json

The corpus (`harness/corpus`) holds the catalogue, published, tame and robust models, and random ones of every part of
the language, small and large. The record holds status, bounds, iterations, LP solves, processor time and a digest of
the certificate, which only tells "identical" from "changed". `--compare FILE` measures anew and lists what differs:
answers that were lost or won, bounds that contradict each other, and what takes longer. `--only` chooses by name, as in
`--only catalogue/` or `--only plan/3`; `--jobs 2` measures two at a time.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any

import numpy as np

import lsip
from lsip import catalogue

from .harness.clock import forget
from .harness.corpus import corpus
from .harness.figures import machine, median, quantile, table
from .harness.outcome import agrees, clocked, digits, lp_solves, outcome
from .harness.registry import Figures, Options, benchmark, say
from .harness.worker import Worker

HARD = 300.0  # seconds after which a process is stopped: a safeguard, and no limit that an answer should depend on
TWICE, NOTICED = 2.0, 0.1  # how much slower a model may be, if it takes so many seconds
MEAN = 1.05  # how much slower a class of models may be
TENTH = 10  # with --quick, one model of so many
EVERY = 25  # models between two lines of progress

Rows = list[dict[str, Any]]


def measure(name: str) -> Iterator[dict[str, Any]]:
    """Build, solve and describe one model."""
    item = corpus()[name]
    forget()
    try:
        with lp_solves() as counted:
            took, solution = clocked(lambda: item.solve(item.build()))
    except lsip.LSIPError as error:
        nothing = digits(math.nan)
        refused = {"status": "REFUSED", "certified": False, "value": nothing, "lower": nothing, "upper": nothing}
        yield refused | {"iterations": 0, "message": f"{type(error).__name__}: {error}"}
        return
    yield {**outcome(solution), **counted, **took, "digest": digest(solution)}
    yield {"tol": getattr(solution, "tol", None)}
    if name.startswith("catalogue/"):
        yield {"right": agrees(catalogue.get(name.partition("/")[2]), solution)}
    yield {"message": "" if solution.certified else solution.message}


def digest(solution: Any) -> str:
    """A few letters that tell certificates apart."""
    proof = getattr(solution, "certificate", None)
    parts = [solution.status.name, *map(digits, (solution.lower, solution.upper))]
    if proof is not None:
        atoms = [(int(s.family), np.asarray(s.point).tolist(), float(s.multiplier)) for s in proof.support]
        parts += [repr(proof.kind), repr(proof.x.tolist()), repr(atoms), repr(proof.row_multipliers.tolist())]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def summarise(models: Rows) -> Figures:
    """Counts and times over a record, and over each class of it."""
    seconds = [m.get("cpu") for m in models]
    known = [m for m in models if "right" in m]
    return {
        "models": len(models),
        "certified": sum(bool(m.get("certified")) for m in models),
        "failed": [m["name"] for m in models if "failure" in m],
        "known": len(known),
        "right": sum(bool(m["right"]) for m in known),
        "otherwise": [m["name"] for m in known if not m["right"]],
        "by_atol_only": [m["name"] for m in models if by_atol_only(m)],
        "median_seconds": median(seconds),
        "p95_seconds": quantile(seconds, 0.95),
        "total_seconds": sum(s for s in seconds if s is not None),
        "classes": [{"name": c, **_counts(rows)} for c, rows in _by_class(models).items()],
    }


def by_atol_only(model: dict[str, Any]) -> bool:
    """Whether an optimum was proven to an absolute gap only: relative to its bounds, it is more than the tolerance."""
    if model.get("status") != "OPTIMAL" or model.get("tol") is None:
        return False
    lower, upper = float(model["lower"]), float(model["upper"])
    return upper - lower > model["tol"] * max(abs(lower), abs(upper))


def _by_class(models: Rows) -> dict[str, Rows]:
    classes: dict[str, Rows] = defaultdict(list)
    for m in models:
        classes[m["name"].partition("/")[0]].append(m)
    return classes


def _counts(models: Rows) -> Figures:
    return {
        "models": len(models),
        "certified": sum(bool(m.get("certified")) for m in models),
        "seconds": sum(m.get("cpu") or 0.0 for m in models),
    }


def compare(before: Rows, after: Rows) -> Figures:
    """What differs between two records, over the models that both have."""
    known = {m["name"]: m for m in before}
    pairs = [(known[m["name"]], m) for m in after if m["name"] in known]
    both = [(a, b) for a, b in pairs if a.get("certified") and b.get("certified")]
    slower = [
        {"name": a["name"], "before": a["cpu"], "after": b["cpu"], "ratio": b["cpu"] / a["cpu"]}
        for a, b in both
        if b["cpu"] > max(TWICE * a["cpu"], NOTICED)
    ]
    return {
        "compared": len(pairs),
        "missing": sorted(set(known) - {m["name"] for m in after}),
        "identical": sum(a.get("digest") is not None and a.get("digest") == b.get("digest") for a, b in pairs),
        "lost": [a["name"] for a, b in pairs if a.get("certified") and not b.get("certified")],
        "won": [a["name"] for a, b in pairs if b.get("certified") and not a.get("certified")],
        "wrong_now": [a["name"] for a, b in pairs if a.get("right") and b.get("right") is False],
        "contradictions": [d for a, b in both if (d := contradiction(a, b)) is not None],
        "statuses": [d for a, b in pairs if (d := _changed(a, b, "status") or _changed(a, b, "failure")) is not None],
        "slower": sorted(slower, key=lambda s: -s["ratio"]),
        "by_atol_only": [sum(by_atol_only(pair[side]) for pair in pairs) for side in (0, 1)],
        "classes": _ratios(both),
    }


def contradiction(a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any] | None:
    """Certified bounds of one model, or statuses, that cannot both be true."""
    ends = [(float(m["lower"]), float(m["upper"])) for m in (a, b)]
    apart = max(low for low, _ in ends) > min(high for _, high in ends)
    if a["status"] == b["status"] and not apart:
        return None
    said = [f"{m['status']} [{m['lower']}, {m['upper']}]" for m in (a, b)]
    return {"name": a["name"], "before": said[0], "after": said[1]}


def _changed(a: dict[str, Any], b: dict[str, Any], key: str) -> dict[str, Any] | None:
    return None if a.get(key) == b.get(key) else {"name": a["name"], "before": a.get(key), "after": b.get(key)}


def _ratios(pairs: list[tuple[dict[str, Any], dict[str, Any]]]) -> Rows:
    """The geometric mean of the ratios of times, a class."""
    logs: dict[str, list[float]] = defaultdict(list)
    for a, b in pairs:
        logs[a["name"].partition("/")[0]].append(math.log(b["cpu"] / a["cpu"]))
    return [{"name": c, "models": len(v), "ratio": math.exp(sum(v) / len(v))} for c, v in logs.items()]


def show(figures: Figures) -> str:
    """The record, or what differs from another."""
    summary = figures["summary"]
    head = (
        f"{summary['certified']} of {summary['models']} models certified, {summary['right']} of {summary['known']} "
        f"known values right, {len(summary['by_atol_only'])} closed by atol only; median "
        f"{summary['median_seconds']:.3g} s, 95 % within {summary['p95_seconds']:.3g} s"
    )
    changed = figures["comparison"]
    if changed is None:
        columns = {"name": "class", "models": "models", "certified": "certified", "seconds": "seconds"}
        return "\n\n".join([table(summary["classes"], columns), head])
    listed = {key: ", ".join(changed[key]) or "none" for key in ("lost", "won", "wrong_now", "missing")}
    pair = {"before": "before", "after": "after"}
    late = [c for c in changed["classes"] if c["ratio"] > MEAN]
    return "\n\n".join(
        [
            f"{head}; {changed['identical']} of {changed['compared']} certificates identical",
            "closed by atol only, before and after: {} and {}".format(*changed["by_atol_only"]),
            "\n".join(f"{key}: {names}" for key, names in listed.items()),
            table(changed["contradictions"], {"name": "contradiction", **pair}),
            table(changed["statuses"], {"name": "status", **pair}),
            table(changed["slower"], {"name": f"over {TWICE:g} times as slow", **pair, "ratio": "ratio"}),
            table(late, {"name": f"class over {MEAN:g} times as slow", "models": "models", "ratio": "ratio"}),
        ]
    )


def read(path: str) -> Rows:
    """The models of a record in a file."""
    try:
        with open(path, encoding="utf-8") as file:
            record = json.load(file)
        if record["benchmark"] != "record":
            raise KeyError("benchmark")
        return list(record["problems"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LookupError(f"{path} is not a file of `python -m benchmarks record --json`: {error}") from error


def run_all(names: list[str], jobs: int) -> Rows:
    """All models, in their order, by so many processes at a time."""
    idle: SimpleQueue[Worker] = SimpleQueue()
    workers = [Worker(measure) for _ in range(jobs)]
    for worker in workers:
        worker.run("catalogue/abs_d2", seconds=HARD)  # imports and first calls are not part of any figure
        idle.put(worker)

    def one(name: str) -> dict[str, Any]:
        worker = idle.get()
        try:
            return {"name": name} | worker.run(name, seconds=HARD)
        finally:
            idle.put(worker)

    models: Rows = []
    try:
        with ThreadPoolExecutor(jobs) as pool:
            for i, model in enumerate(pool.map(one, names), 1):
                models.append(model)
                if i % EVERY == 0 or i == len(names) or "failure" in model:
                    say(f"[{i}/{len(names)}] {model['name']}: {model.get('failure') or model['status']}")
    finally:
        for worker in workers:
            worker.stop()
    return models


@benchmark("record", "the answers to a corpus of models, to be compared with those of another version", show)
def run(options: Options) -> Figures:
    before = read(options.compare) if options.compare is not None else None
    names = options.choose(corpus())
    if options.quick and options.only is None:
        names = names[::TENTH]
    if before is not None:
        before = [m for m in before if m["name"] in set(names)]
    state, start = machine(), time.perf_counter()
    models = run_all(names, options.jobs)
    return {
        "quick": options.quick,
        "machine": state,
        "seconds": time.perf_counter() - start,
        "summary": summarise(models),
        "comparison": None if before is None else compare(before, models),
        "problems": models,
    }
