"""What each mechanism is worth, and each number that steers one: answers and time when it is off, or another.

    python -m benchmarks ablation --keep ablation.jsonl --json > ablation.json
    python -m benchmarks ablation --keep ablation.jsonl --only 'proof.,CoverTuning'

A first pass solves the corpus of `record` and notes which mechanisms each model enters and which numbers it reads. Then
every mechanism is switched off by a patch in the worker process, and every number is multiplied and divided by ten, on
at most 40 of the models that enter it. Each model is solved twice in turn, with and without, so that a busy moment of
the machine hits both. `--keep FILE` adds each run to FILE, and a later call goes on from there; delete the file after a
change of the code. `--only` chooses mechanisms and numbers, `--tries` is how many models the
first pass solves. An answer is lost if it was certified and is not any more; it is wrong if two certified answers
contradict each other.
"""

from __future__ import annotations

import json
import math
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import lsip

from .harness.clock import forget
from .harness.corpus import corpus
from .harness.figures import machine, table
from .harness.outcome import clocked, digits, outcome
from .harness.registry import Figures, Options, benchmark, say
from .harness.switches import MECHANISMS, Variant, numbers, variants, watched
from .harness.worker import Worker
from .record import Rows, contradiction

MOST, FEW = 40, 4  # models for each variant, in full and with --quick
SLOW = 3.0  # processor seconds of a model that no variant is tried on
STOPPED = 60.0  # seconds after which a model of the first pass is given up
START = 60.0  # seconds more for the first model of a process, which imports everything
TIMES, LEAST = 20.0, 60.0  # times as long as before, but at least so many seconds, after which a variant is given up
QUICK = 100  # with --quick, models of the first pass
EVERY = 25  # runs between two lines of progress
WARM: set[str] = set()  # classes of models that this process has solved


def solve(model: str) -> dict[str, Any]:
    """Build and solve one model of the corpus from nothing."""
    item = corpus()[model]
    forget()
    try:
        took, solution = clocked(lambda: item.solve(item.build()))
    except lsip.LSIPError as error:
        return {"status": f"{type(error).__name__}", "certified": False, "lower": "nan", "upper": "nan", "cpu": 0.0}
    found = outcome(solution)
    return {key: found[key] for key in ("status", "certified", "lower", "upper", "iterations")} | {"cpu": took["cpu"]}


def enter(model: str) -> Iterator[dict[str, Any]]:
    """Solve a model and name the mechanisms that it enters and the numbers that it reads."""
    with watched() as seen:
        yield solve(model)
    yield {"entered": sorted(seen)}


def ablate(name: str, model: str, turn: int) -> Iterator[dict[str, Any]]:
    """Solve a model as it is and by a variant, in an order that depends on the turn."""
    variant, kind = variants()[name], model.partition("/")[0]
    if kind not in WARM:  # imports and first calls are part of neither
        WARM.add(kind)
        solve(model)
    for off in (False, True) if turn % 2 else (True, False):
        if off:
            with variant.applied():
                yield {"after": solve(model)}
        else:
            yield {"before": solve(model)}


class Runs:
    """Runs that are added to a file when they are done, and not made again."""

    def __init__(self, path: str | None) -> None:
        self.path = None if path is None else Path(path)
        self.entered: dict[str, dict[str, Any]] = {}
        self.ablated: dict[tuple[str, str], dict[str, Any]] = {}
        if self.path is not None and self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                self._note(json.loads(line))

    def _note(self, row: dict[str, Any]) -> None:
        if "variant" in row:
            self.ablated[row["variant"], row["model"]] = row
        else:
            self.entered[row["model"]] = row

    def add(self, row: dict[str, Any]) -> None:
        """Note a run."""
        self._note(row)
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")


def spread(names: list[str], count: int | None) -> list[str]:
    """So many of the names, from all classes; all of them if None."""
    if count is None or count >= len(names):
        return names
    return [names[(i * len(names)) // count] for i in range(count)]


def first_pass(runs: Runs, models: list[str]) -> None:
    """Which mechanisms each model enters."""
    missing = [m for m in models if m not in runs.entered]
    worker = Worker(enter)
    try:
        for i, model in enumerate(missing, 1):
            runs.add({"model": model} | worker.run(model, seconds=STOPPED + START * worker.idle))
            if i % EVERY == 0 or i == len(missing):
                say(f"[{i}/{len(missing)}] first pass: {model}")
    finally:
        worker.stop()


def entering(runs: Runs, models: Iterable[str], variant: Variant) -> list[str]:
    """The models that enter a mechanism, or read a number."""
    return [m for m in models if variant.watched in runs.entered.get(m, {}).get("entered", ())]


def chosen(runs: Runs, models: list[str], most: int) -> list[str]:
    """At most so many models, from all classes, of those that are solved in time."""
    quick = [m for m in models if "failure" not in runs.entered[m] and runs.entered[m]["cpu"] <= SLOW]
    return spread(quick, most)


def second_pass(runs: Runs, names: list[str], models: list[str], most: int) -> None:
    """Every variant, on some of the models that enter it."""
    tasks = [(v, m) for v in names for m in chosen(runs, entering(runs, models, variants()[v]), most)]
    missing = [(v, m) for v, m in tasks if (v, m) not in runs.ablated]
    worker = Worker(ablate)
    try:
        for i, (name, model) in enumerate(missing, 1):
            limit = max(TIMES * runs.entered[model]["cpu"], LEAST) + START * worker.idle
            runs.add({"variant": name, "model": model} | worker.run(name, model, i, seconds=limit))
            if i % EVERY == 0 or i == len(missing):
                say(f"[{i}/{len(missing)}] {name}: {model}")
    finally:
        worker.stop()


def judged(name: str, entered: int, rows: Rows) -> dict[str, Any]:
    """What a variant lost, won and cost."""
    lost, won, wrong, logs = [], [], [], []
    for row in rows:
        nothing = {"status": row.get("failure", ""), "certified": False, "lower": digits(math.nan), "upper": "nan"}
        before, after = row.get("before", nothing), row.get("after", nothing)
        if before["certified"] and after["certified"]:
            logs.append(math.log(max(after["cpu"], 1e-4) / max(before["cpu"], 1e-4)))
            if contradiction({"name": row["model"]} | before, after) is not None:
                wrong.append(row["model"])
        elif before["certified"]:
            lost.append(row["model"])
        elif after["certified"]:
            won.append(row["model"])
    ratio = math.exp(sum(logs) / len(logs)) if logs else None
    kind = "mechanism" if name in MECHANISMS else "number"
    figures = {"entered": entered, "tried": len(rows), "ratio": ratio, "lost": lost, "won": won, "wrong": wrong}
    return {"variant": name, "kind": kind} | figures


def measured(runs: Runs, names: list[str], models: list[str], most: int) -> Rows:
    """One row a variant, from all of its runs."""
    by_variant: dict[str, Rows] = defaultdict(list)
    for name in names:
        for model in chosen(runs, entering(runs, models, variants()[name]), most):
            by_variant[name].append(runs.ablated[name, model])
    return [judged(n, len(entering(runs, models, variants()[n])), by_variant[n]) for n in names]


def show(figures: Figures) -> str:
    """A row a variant, those that lose most first; then what nothing enters."""
    counted = [r | {key: len(r[key]) for key in ("lost", "won", "wrong")} for r in figures["variants"] if r["tried"]]
    counted.sort(key=lambda r: (-r["wrong"], r["kind"], -r["lost"], -(r["ratio"] or 0.0)))
    columns = {"variant": "off, or times or over ten", "entered": "entered by", "tried": "tried on", "lost": "lost"}
    columns |= {"won": "won", "wrong": "wrong", "ratio": "time"}
    summary = figures["summary"]
    unread = sorted(
        {r["variant"].removesuffix(" x10").removesuffix(" /10") for r in figures["variants"]} - _names(counted)
    )
    said = (
        f"{summary['mechanisms']} mechanisms and {summary['numbers']} numbers over {summary['models']} models: "
        f"{summary['wrong']} wrong answers; {summary['idle']} numbers change no status and under a tenth of the time."
    )
    return "\n\n".join([said, table(counted, columns), "entered by none: " + (", ".join(unread) or "nothing")])


def _names(rows: Rows) -> set[str]:
    return {r["variant"].removesuffix(" x10").removesuffix(" /10") for r in rows}


def idle(rows: Rows) -> list[str]:
    """Numbers that change no status and less than a tenth of the time, neither times ten nor over ten."""
    still: dict[str, list[bool]] = defaultdict(list)
    for r in rows:
        if r["kind"] == "number":
            same = not (r["lost"] or r["won"] or r["wrong"]) and (r["ratio"] is None or abs(r["ratio"] - 1.0) < 0.1)
            still[r["variant"].removesuffix(" x10").removesuffix(" /10")].append(same)
    return sorted(name for name, same in still.items() if all(same))


@benchmark("ablation", "what is lost when a mechanism is off, or a steering number another", show)
def run(options: Options) -> Figures:
    names, models = (
        options.choose(variants()),
        spread(list(corpus()), options.tries or (QUICK if options.quick else None)),
    )
    state, start, most = machine(), time.perf_counter(), FEW if options.quick else MOST
    runs = Runs(options.keep)
    first_pass(runs, models)
    second_pass(runs, names, models, most)
    rows = measured(runs, names, models, most)
    return {
        "quick": options.quick,
        "machine": state,
        "seconds": time.perf_counter() - start,
        "summary": {
            "models": len(models),
            "mechanisms": sum(r["kind"] == "mechanism" for r in rows),
            "numbers": len({n for n in numbers() if any(v.startswith(n + " ") for v in names)}),
            "wrong": sum(len(r["wrong"]) for r in rows),
            "idle": len(idle(rows)),
        },
        "idle": idle(rows),
        "variants": rows,
    }
