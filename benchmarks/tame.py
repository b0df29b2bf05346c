"""Random tame models, two seconds each: how many are certified, over each kind of index set, and how many are wrong.

Smooth rows of moderate size over every index set, 2 to 8 variables, some free, one or two families, now and then a
finite row or an equality; a strictly feasible point is known (see `harness/tame/models.py`). The reference is a linear
program on thousands of points, refined near those that are active. `wrong` are certified answers that contradict it:
bounds beyond it by more than its own error, INFEASIBLE or UNBOUNDED. `KIND SEED` of a finding gives the model again:
`python -m benchmarks tame --only KIND --seed SEED --tries 1`. `busy` is wall time over processor time: far above 1, the
machine was not idle, and models ran out of time that would not have.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from .harness.figures import machine, median, quantile, ratio, table
from .harness.outcome import clocked, outcome
from .harness.registry import Figures, Options, benchmark, say
from .harness.tame.models import DOMAINS, Tame, generate
from .harness.tame.reference import reference
from .harness.worker import Worker

MODELS, QUICK = 500, 60
LIMIT = 2.0  # seconds that lsip is given for one model
HARD = 40.0  # seconds after which the process is stopped
FINE = 1e-7  # a reference whose bounds are closer, relative to the size of the model, is fine
ERROR = 1e-8  # of the linear programs of a reference, relative to the same
SHARE = 0.95  # of the models are to be certified
EVERY = 25  # models between two lines of progress

Rows = list[dict[str, Any]]


def measure(kind: str, seed: int) -> Iterator[dict[str, Any]]:
    """Generate, solve and judge one model."""
    model = generate(kind, seed)
    problem = model.problem()
    yield {"n": len(model.c), "families": len(model.families), "free": int((model.upper > 1e300).sum())}
    took, solution = clocked(lambda: problem.solve(verbose=False, time_limit=LIMIT))
    yield {**outcome(solution), **took, "message": "" if solution.certified else solution.message}
    known = reference(model, seed, _active(solution, model))
    if known is None:
        yield {"wrong": "", "reference": None}
        return
    allowed = (ERROR + min(known.gap, FINE)) * known.size
    wrong = ""
    if solution.certified and solution.status.name != "OPTIMAL":
        wrong = f"{solution.status.name}, though bounded and feasible"
    elif solution.certified and solution.upper < known.lower - allowed:
        wrong = f"upper {solution.upper:.10g} < reference {known.lower:.10g}"
    elif solution.certified and known.gap <= FINE and solution.lower > known.upper + allowed:
        wrong = f"lower {solution.lower:.10g} > reference {known.upper:.10g}"
    yield {"wrong": wrong, "reference": known.lower, "fine": known.gap <= FINE}


def _active(solution: Any, model: Tame) -> list[Any]:
    """The index points that hold the solution, one array a family."""
    points = [[a.point for a in solution.active if a.family == f] for f in range(len(model.families))]
    return [np.reshape(p, (-1, family.domain.dim)) for p, family in zip(points, model.families, strict=True)]


def summarise(done: Rows) -> Figures:
    """Counts over some models."""
    certified = sum(bool(d.get("certified")) for d in done)
    seconds = [d.get("seconds") for d in done]
    return {
        "models": len(done),
        "certified": certified,
        "share": ratio(float(certified), float(len(done))),
        "wrong": sum(bool(d.get("wrong")) for d in done),
        "otherwise": dict(Counter(d.get("status", "FAILED") for d in done if not d.get("certified"))),
        "fine_references": sum(bool(d.get("fine")) for d in done),
        "median_seconds": median(seconds),
        "p90_seconds": quantile(seconds, 0.9),
        "p95_seconds": quantile(seconds, 0.95),
        "worst_seconds": quantile(seconds, 1.0),
        "busy": ratio(sum(d.get("seconds", 0.0) for d in done), sum(d.get("cpu", 0.0) for d in done)),
    }


def goals(summary: Figures) -> list[Figures]:
    """Nearly all certified, and nothing wrong."""
    share, wrong = summary["share"], summary["wrong"]
    return [
        {"goal": "share certified, at least", "figure": share, "target": SHARE, "met": share >= SHARE},
        {"goal": "wrong", "figure": wrong, "target": 0, "met": wrong == 0},
    ]


def show(figures: Figures) -> str:
    """One line a kind of index set, what is wrong, what is not certified, and the goals."""
    columns = {"kind": "index set", "models": "models", "certified": "certified", "share": "share", "wrong": "wrong"}
    columns |= {"otherwise": "otherwise", "median_seconds": "median s", "p95_seconds": "95 % s"}
    columns |= {"worst_seconds": "worst s"}
    rows = [*figures["kinds"], {"kind": "all", **figures["summary"]}]
    told = [r | {"otherwise": ", ".join(f"{n} {s}" for s, n in r["otherwise"].items()) or "-"} for r in rows]
    parts = [table(told, columns)]
    parts += [
        "\n".join(f"{key}: {f['kind']} {f['seed']}: {f['words']}" for f in figures[key])
        for key in ("wrong", "uncertified")
        if figures[key]
    ]
    parts.append(table(figures["goals"], {"goal": "goal", "figure": "figure", "target": "target", "met": "met"}))
    return "\n\n".join(parts)


@benchmark("tame", "random tame models over all index sets, 2 s each: share certified, and wrong", show)
def run(options: Options) -> Figures:
    kinds = options.choose(DOMAINS)
    count = options.tries if options.tries is not None else (QUICK if options.quick else MODELS)
    tries = [(kinds[i % len(kinds)], options.seed + i // len(kinds)) for i in range(count)]
    state, start = machine(), time.perf_counter()
    done: Rows = []
    worker = Worker(measure)
    try:
        worker.run(kinds[0], options.seed, seconds=HARD)  # imports and first calls are not part of any figure
        for i, (kind, seed) in enumerate(tries, 1):
            found = {"kind": kind, "seed": seed} | worker.run(kind, seed, seconds=HARD)
            done.append(found)
            if found.get("wrong") or "failure" in found:
                say(f"{kind} {seed}: {found.get('wrong') or found['failure']}")
            if i % EVERY == 0 or i == len(tries):
                say(f"[{i}/{len(tries)}] {sum(bool(d.get('certified')) for d in done)} certified")
    finally:
        worker.stop()
    summary = summarise(done)
    return {
        "quick": options.quick,
        "machine": state,
        "seconds": time.perf_counter() - start,
        "seed": options.seed,
        "time_limit": LIMIT,
        "goals": goals(summary),
        "summary": summary,
        "kinds": [{"kind": k, **summarise([d for d in done if d["kind"] == k])} for k in kinds],
        "wrong": [{"kind": d["kind"], "seed": d["seed"], "words": d["wrong"]} for d in done if d.get("wrong")],
        "uncertified": [
            {
                "kind": d["kind"],
                "seed": d["seed"],
                "words": d.get("failure") or f"{d['status']} [{d['lower']}, {d['upper']}] in {d['seconds']:.3g} s",
            }
            for d in done
            if not d.get("certified")
        ],
        "models": done,
    }
