"""How processor time grows with the size of a model, beside what a user would pick instead, in the same run.

Each series of `harness/growing.py` is one kind of model in many sizes. Every size is built and solved anew at the
default tolerance, by us and by the other tool, one after the other; a series ends for whoever took longer than the
limit, or has no answer. The exponent is that of the line through the logarithms, over the larger half of the sizes:
what is fixed does not grow. `--keep` adds each size to a file and goes on from there; `docs/growth_curves.py` draws it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from lsip.files import write_json

from .harness import growing_plans  # noqa: F401  (it adds its series)
from .harness.clock import forget, quiet
from .harness.figures import machine, plain, ratio, table
from .harness.growing import SERIES, Series
from .harness.outcome import clocked, digits, outcome
from .harness.registry import Figures, Options, benchmark, say

LIMIT, QUICK_LIMIT = 100.0, 20.0  # processor seconds after which a contestant is asked for no larger size
QUICK_SIZES = 2
BUSY = 10.0  # seconds of the clock for one of the processor, at most, on a machine that others use as well


def measured(series: Series, size: int, limit: float, asked: tuple[bool, bool]) -> Figures:
    """Both contestants on one size, those that are still `asked`."""
    row: Figures = {"series": series.name, "size": size, "tool": series.tool}
    if asked[0]:
        forget()
        spent, solution = clocked(lambda: series.build(size).solve(verbose=False, time_limit=BUSY * limit))
        row |= {"cpu": spent["cpu"], "seconds": spent["seconds"], "gap": solution.gap} | outcome(solution)
    if asked[1] and series.rival is not None:
        rival = series.rival
        try:
            with quiet():
                spent, value = clocked(lambda: rival(size))
            row |= {"rival_cpu": spent["cpu"], "rival_value": digits(value)}
        except Exception as error:  # whatever another tool raises, the others go on
            row["failure"] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
    row["ratio"] = ratio(row.get("cpu"), row.get("rival_cpu"))
    return row


def still(rows: list[Figures], limit: float) -> tuple[bool, bool]:
    """Who is asked for the next size: ours until it has no proof, either until it took too long."""
    ours = all(row.get("certified") and row.get("cpu", np.inf) <= limit for row in rows)
    theirs = all("failure" not in row and row.get("rival_cpu", np.inf) <= limit for row in rows)
    return ours, theirs


def exponent(sizes: list[int], seconds: list[float]) -> float | None:
    """The slope of the line through the logarithms of the larger half of the sizes; None of less than two."""
    some = len(sizes) // 2 if len(sizes) > 3 else 0
    if len(sizes) < 2:
        return None
    return float(np.polyfit(np.log(sizes[some:]), np.log(seconds[some:]), 1)[0])


def summarised(series: Series, rows: list[Figures]) -> Figures:
    """What a series says in all."""
    ours = [row for row in rows if row.get("certified")]
    theirs = [row for row in rows if row.get("rival_cpu")]
    return {
        "series": series.name,
        "size": series.size,
        "certified": f"{len(ours)} of {len(rows)}",
        "largest": max((row["size"] for row in ours), default=None),
        "exponent": exponent([row["size"] for row in ours], [row["cpu"] for row in ours]),
        "rival_exponent": exponent([row["size"] for row in theirs], [row["rival_cpu"] for row in theirs]),
        "tool": series.tool,
        "ratio": next((row["ratio"] for row in reversed(rows) if row["ratio"] is not None), None),
    }


def goals(rows: list[Figures]) -> list[Figures]:
    """Exponents and factors that the series ask for, and how many sizes are proven."""
    found = []
    for row in rows:
        series = SERIES[row["series"]]
        for what, target in (("exponent", series.exponent), ("ratio", series.factor)):
            if target is not None:
                met = row[what] is not None and row[what] <= target
                found.append({"goal": f"{series.name}: {what}", "figure": row[what], "target": target, "met": met})
    return found


def show(figures: Figures) -> str:
    """A line a size, then one a series."""
    sizes = {"series": "series", "size": "size", "cpu": "cpu (s)", "status": "status", "iterations": "iterations"}
    sizes |= {"gap": "gap", "rival_cpu": "theirs (s)", "ratio": "ours/theirs", "tool": "they"}
    lines = {"series": "series", "certified": "certified", "exponent": "exponent", "rival_exponent": "theirs"}
    return table(figures["rows"], sizes) + "\n\n" + table(figures["summary"]["series"], lines)


@benchmark("growth", "processor time against the size of a model, beside what a user would pick instead", show)
def run(options: Options) -> Figures:
    limit = QUICK_LIMIT if options.quick else LIMIT
    keep = None if options.keep is None else Path(options.keep)
    done: list[Figures] = json.loads(keep.read_text(encoding="utf-8"))["rows"] if keep and keep.exists() else []
    for name in options.choose(SERIES):
        series = SERIES[name]
        known = {row["size"] for row in done if row["series"] == name}
        missing = [size for size in series.sizes[: QUICK_SIZES if options.quick else None] if size not in known]
        if missing:
            measured(series, series.sizes[0], limit, (True, True))  # whatever is imported, or made once
        for size in missing:
            asked = still([row for row in done if row["series"] == name and row["size"] < size], limit)
            if not any(asked):
                break
            say(f"{name} {size}")
            done.append(plain(measured(series, size, limit, asked)))
            if keep is not None:
                write_json(keep, keep.name, figures_of(done, options))
    return figures_of(done, options)


def figures_of(done: list[Figures], options: Options) -> Figures:
    """All that is known so far."""
    names = dict.fromkeys(row["series"] for row in done)
    series = [summarised(SERIES[name], [row for row in done if row["series"] == name]) for name in names]
    told: dict[str, Any] = {"machine": machine(), "quick": options.quick, "goals": goals(series)}
    return plain(told | {"summary": {"series": series}, "rows": done})
