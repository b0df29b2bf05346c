"""Is what lsip certifies true? Random models over all index sets, functions and units, judged in exact arithmetic.

Every model is written twice: for lsip, and as plain data. A judge that shares no code with lsip then looks for anything
certified that is false, in fractions and in balls of 400 bits: finite rows and bounds at the doubles of x, index points
in Y (exactly) where a constraint is broken, bounds on the wrong side of an optimum that was planted, statuses that a
feasible point or a contradiction disproves. `NAME SEED` of a finding gives the same model again:
`python -m benchmarks soundness --only NAME --seed SEED --tries 1`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any

from .harness.figures import machine, median, quantile, ratio, table
from .harness.registry import Figures, Options, benchmark, say
from .harness.soundness.answers import REFUSED, ask
from .harness.soundness.classes import CLASSES, generate
from .harness.soundness.judge import judge
from .harness.worker import Worker

TRIES, QUICK = 10_000, 200
LIMIT = 1.0  # seconds that lsip is given for one model
PATIENCE = 10  # times that: what has not answered by then hangs
JUDGING = 20.0  # seconds more for generating and judging
EVERY = 50  # tries between two lines of progress
UNFINISHED = ("TIME_LIMIT", "ITERATION_LIMIT", "INTERRUPTED")

Try = tuple[str, int]


def measure(name: str, seed: int) -> Iterator[dict[str, Any]]:
    """Generate, solve and judge one model; each part is known even if the next one fails."""
    model = generate(name, seed)
    yield {"generated": True}
    start = time.perf_counter()
    try:
        answer = ask(model, LIMIT)
    except Exception as error:
        yield {"crash": f"{type(error).__name__}: {error}", "seconds": time.perf_counter() - start}
        return
    yield {"status": answer.status, "certified": answer.certified, "seconds": answer.seconds}
    took = time.perf_counter() - start
    if took > PATIENCE * LIMIT:
        yield {"crash": f"took {took:.0f} s with a limit of {LIMIT:g}"}
    verdict = judge(model, answer, seed)
    if verdict.broken:
        yield {"crash": "; ".join(verdict.broken)}
    yield {"false": list(verdict.false), "misleading": list(verdict.misleading), "confirmed": verdict.confirmed}


def attempt(worker: Worker, name: str, seed: int) -> dict[str, Any]:
    """The figures of one try."""
    found = {"class": name, "seed": seed} | worker.run(name, seed, seconds=PATIENCE * LIMIT + JUDGING)
    failure = found.pop("failure", None)
    if failure is None:
        return found
    # lsip was at work if the model was there and no answer came; otherwise the fault is our own.
    asked = "generated" in found and "status" not in found and "crash" not in found
    return found | {"crash" if asked else "fault": failure}


def run_all(tries: list[Try], jobs: int) -> list[dict[str, Any]]:
    """All tries, in their order, by so many processes at a time."""
    idle: SimpleQueue[Worker] = SimpleQueue()
    workers = [Worker(measure) for _ in range(jobs)]
    for worker in workers:
        idle.put(worker)

    def one(task: Try) -> dict[str, Any]:
        worker = idle.get()
        try:
            return attempt(worker, *task)
        finally:
            idle.put(worker)

    done: list[dict[str, Any]] = []
    wrong: Counter[str] = Counter()
    try:
        with ThreadPoolExecutor(jobs) as pool:
            for found in pool.map(one, tries):
                done.append(found)
                for kind, words in _findings(found):
                    wrong[kind] += 1
                    say(f"{kind}: {found['class']} {found['seed']}: {words}")
                if len(done) % EVERY == 0 or len(done) == len(tries):
                    counts = ", ".join(f"{n} {kind}" for kind, n in wrong.items()) or "nothing wrong"
                    say(f"[{len(done)}/{len(tries)}] {sum(bool(d.get('certified')) for d in done)} certified, {counts}")
    finally:
        for worker in workers:
            worker.stop()
    return done


def _findings(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for kind in ("false", "misleading"):
        if found.get(kind):
            yield kind, "; ".join(found[kind])
    for kind in ("crash", "fault"):
        if kind in found:
            yield kind, found[kind]


def summarise(done: list[dict[str, Any]]) -> Figures:
    """Counts over some tries."""
    statuses = Counter(d["status"] for d in done if "status" in d)
    certified = sum(bool(d.get("certified")) for d in done)
    # An answer: the solve came to an end by itself, rather than at a limit or with an error.
    answered = sum(n for s, n in statuses.items() if s != REFUSED and s not in UNFINISHED)
    judged = [d["confirmed"] for d in done if d.get("confirmed") is not None]
    return {
        "tries": len(done),
        "certified": certified,
        "false": sum(bool(d.get("false")) for d in done),
        "crashes": sum("crash" in d for d in done),
        "misleading": sum(bool(d.get("misleading")) for d in done),
        "faults": sum("fault" in d for d in done),
        "answered": answered,
        "refused": statuses[REFUSED],
        "unconditional_share": ratio(float(certified), float(answered)),
        "confirmed_share": ratio(float(sum(judged)), float(len(judged))),
        "statuses": dict(sorted(statuses.items())),
        "median_seconds": median(d.get("seconds") for d in done),
        "p95_seconds": quantile((d.get("seconds") for d in done), 0.95),
    }


def goals(summary: Figures) -> list[Figures]:
    """Nothing false, no crash, and enough tries for that to mean something."""
    rows = [
        ("false certificates", summary["false"], 0, summary["false"] == 0),
        ("crashes", summary["crashes"], 0, summary["crashes"] == 0),
        ("tries, at least", summary["tries"], TRIES, summary["tries"] >= TRIES),
    ]
    return [{"goal": goal, "figure": figure, "target": target, "met": met} for goal, figure, target, met in rows]


def show(figures: Figures) -> str:
    """One line a class, then all that is wrong, with its seed."""
    columns = {"class": "class", "tries": "tries", "certified": "certified", "false": "false", "crashes": "crashes"}
    columns |= {"misleading": "misleading", "refused": "refused", "unconditional_share": "unconditional"}
    columns |= {"confirmed_share": "confirmed", "median_seconds": "median s", "p95_seconds": "95 % s"}
    total = {"class": "all", **figures["summary"]}
    found = [f"{f['kind']}: {f['class']} {f['seed']}: {f['words']}" for f in figures["findings"]]
    return "\n\n".join(
        [
            table([*figures["classes"], total], columns),
            *(["\n".join(found)] if found else []),
            table(figures["goals"], {"goal": "goal", "figure": "figure", "target": "target", "met": "met"}),
        ]
    )


@benchmark("soundness", "random models judged in exact arithmetic: tries, certified, false, crashes", show)
def run(options: Options) -> Figures:
    names = options.choose(CLASSES)
    count = options.tries if options.tries is not None else (QUICK if options.quick else TRIES)
    tries = [(names[i % len(names)], options.seed + i // len(names)) for i in range(count)]
    before, start = machine(), time.perf_counter()
    done = run_all(tries, options.jobs)
    summary = summarise(done)
    return {
        "quick": options.quick,
        "machine": before,
        "seconds": time.perf_counter() - start,
        "seed": options.seed,
        "time_limit": LIMIT,
        "goals": goals(summary),
        "summary": summary,
        "classes": [{"class": n, **summarise([d for d in done if d["class"] == n])} for n in names],
        "findings": [
            {"kind": kind, "class": d["class"], "seed": d["seed"], "status": d.get("status"), "words": words}
            for d in done
            for kind, words in _findings(d)
        ],
        "unconfirmed": [{"class": d["class"], "seed": d["seed"]} for d in done if d.get("confirmed") is False],
    }
