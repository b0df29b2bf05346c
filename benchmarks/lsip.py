"""The solver over the whole catalogue, side by side with what one would do without it.

(a) `discretisation`: one LP with the rows at the coarsest uniform grid whose solution has true violation at most 1e-6.
    Both sides start from the declared model and compile it; the rival then evaluates its rows, builds the LP and solves
    it, in the fastest of three ways with HiGHS (see `harness/discretise.py`); its search for the grid, making the grid,
    and knowing that it is fine enough are free. `ratio` is its time over ours; where it hits the cap on rows, time or
    memory, `lower_bound` is true. Where our own solve hit its time limit, `upper_bound` is true.
    `ratio_without_compile` leaves compiling out on the rival's side only.
(b) `cold`: our whole solve over one LP that a fresh HiGHS model, given as arrays, solves with the final index points
    alone; with presolve or without, whichever is faster.
(c) `separation`: a proof by branch-and-bound at the solution, over families with m = 2, against one evaluation of the
    violation on about 10^5 grid points. `fresh` starts with no boxes, `warm` with those of the solve, as the last
    iterations do.
(d) the solve itself: status, error, gap, iterations, boxes, seconds, and the seconds that compiling, separation and the
    LPs took in the first solve.

Times are wall-clock; the contestants of a problem take turns, and the median counts. Every solve starts from a model
that was built afresh (building is not timed), with empty caches. All problems are measured in another process, with a
memory limit, which is replaced if it hangs or dies.
"""

from __future__ import annotations

import time
from typing import Any

from lsip import catalogue

from .harness.contests import FULL, QUICK, measure
from .harness.figures import machine, median, quantile, table
from .harness.registry import Figures, Options, benchmark, say
from .harness.worker import Worker

Rows = list[dict[str, Any]]
ENOUGH = 780.0  # seconds, after which the problems that are left are measured as with --quick, and marked as `hurried`
LARGE = 0.05  # seconds of a cold LP that is not small any more


def summarise(problems: Rows) -> Figures:
    """The figures that the project promises, with what they are to be."""
    return {
        "solve": _solve(problems),
        "discretisation": _discretisation(problems),
        "cold": _cold(problems),
        "separation": _separation(problems),
        "failures": [{"name": p["name"], "failure": p["failure"]} for p in problems if "failure" in p],
    }


def goals(summary: Figures) -> Rows:
    """Each promise, the figure, and whether it is kept."""
    solve, rival, cold, separation = (summary[k] for k in ("solve", "discretisation", "cold", "separation"))
    promises = [
        ("median seconds of a solve", solve["median_seconds"], "<", 0.15),
        ("95th percentile of the seconds of a solve", solve["p95_seconds"], "<", 5.0),
        ("discretisation over ours, median for m >= 2", rival["median_ratio_m2"], ">=", 10.0),
        ("discretisation over ours, worst", rival["worst_ratio"], ">=", 0.5),
        ("ours over a cold LP, median of small ones", cold["median_ratio_small"], "<=", 10.0),
        ("ours over a cold LP, worst of those over 50 ms", cold["worst_ratio_large"], "<=", 3.0),
        ("fresh proof over a pass of 10^5 points, median for m = 2", separation["median_fresh_ratio"], "<=", 1.0),
    ]
    compare = {"<": float.__lt__, "<=": float.__le__, ">=": float.__ge__}
    return [
        {
            "goal": text,
            "figure": figure,
            "target": f"{sign} {target:g}",
            "met": None if figure is None else compare[sign](figure, target),
        }
        for text, figure, sign, target in promises
    ]


def _solve(problems: Rows) -> Figures:
    solved = [p for p in problems if "status" in p]
    seconds = [p["seconds"] for p in solved]
    slowest = sorted(solved, key=lambda p: -p["seconds"])[:10]
    return {
        "problems": len(problems),
        "right": sum(p["right"] for p in solved),
        "certified": sum(p["certified"] for p in solved),
        "wrong": [p["name"] for p in problems if not p.get("right")],
        "median_seconds": median(seconds),
        "p95_seconds": quantile(seconds, 0.95),
        "fraction_under_150_ms": sum(s < 0.15 for s in seconds) / len(seconds) if seconds else None,
        "slowest": [
            {"name": p["name"], "seconds": p["seconds"], "status": p["status"], "why": _why(p)} for p in slowest
        ],
    }


def _why(p: dict[str, Any]) -> str:
    """Where most of the time of a slow solve goes, in a phrase."""
    part = max(p["phases"], key=p["phases"].get)
    share = 100 * p["phases"][part] / max(sum(p["phases"].values()), 1e-9)
    said = {
        "separation": f"proofs: {p['boxes']} boxes in m = {p['m']}, {p['rows_an_index']} rows an index",
        "master": f"linear programs: n = {p['n']}, {p['finite_rows']} finite rows",
        "compile": f"compiling: n = {p['n']}, {p['rows_an_index']} rows an index",
        "rest": f"polishing, bounds and cuts: n = {p['n']}",
    }
    return f"{said[part]}, {p['iterations']} iterations ({share:.0f} % of the time)"


def _discretisation(problems: Rows) -> Figures:
    compared = [(p, p["discretisation"]) for p in problems if p.get("discretisation", {}).get("ratio") is not None]
    flat = [d for p, d in compared if p["m"] >= 2]
    slower = sorted(((d["ratio"], p["name"]) for p, d in compared if d["ratio"] < 0.5 and not d["lower_bound"]))
    # A ratio that is only a lower bound cannot show that we are slower.
    worst = min((d["ratio"] for _, d in compared if not d["lower_bound"]), default=None)
    return {
        "compared": len(compared),
        "median_ratio": median(d["ratio"] for _, d in compared),
        "median_ratio_m2": median(d["ratio"] for d in flat),
        "compared_m2": len(flat),
        "lower_bounds_m2": sum(d["lower_bound"] for d in flat),
        "worst_ratio": worst,
        "slower_than_2x": [{"name": name, "ratio": value} for value, name in slower],
        "undecided": [p["name"] for p, d in compared if d["ratio"] < 0.5 and d["lower_bound"]],
        "median_ratio_without_compile_m2": median(d["ratio_without_compile"] for d in flat),
        "worst_ratio_without_compile": min(
            (d["ratio_without_compile"] for _, d in compared if not d["lower_bound"]), default=None
        ),
        "not_compared": [p["name"] for p in problems if p.get("discretisation", {}).get("ratio") is None],
    }


def _cold(problems: Rows) -> Figures:
    cold = [(p["name"], p["cold"]) for p in problems if p.get("cold", {}).get("ratio") is not None]
    large = [(name, c) for name, c in cold if c["seconds"] > LARGE]
    return {
        "compared": len(cold),
        "median_ratio_small": median(c["ratio"] for _, c in cold if c["seconds"] <= LARGE),
        "worst_ratio_large": max((c["ratio"] for _, c in large), default=None),
        "large": [{"name": name, "ratio": c["ratio"], "seconds": c["seconds"]} for name, c in large],
    }


def _separation(problems: Rows) -> Figures:
    flat = [p["separation"] for p in problems if "separation" in p]
    return {
        "compared": len(flat),
        "proven": sum(s["proven"] for s in flat),
        "median_fresh_ratio": median(s["fresh_ratio"] for s in flat),
        "median_warm_ratio": median(s["warm_ratio"] for s in flat),
    }


def show(figures: Figures) -> str:
    """The figures as tables."""
    rows = []
    for p in figures["problems"]:
        d, c, s = (p.get(k, {}) for k in ("discretisation", "cold", "separation"))
        rows.append(
            p
            | {
                "ratio": d.get("ratio"),
                "mark": ">" if d.get("lower_bound") else "",
                "grid": d.get("rows"),
                "way": d.get("way"),
            }
            | {"cold": c.get("ratio"), "fresh": s.get("fresh_ratio"), "warm": s.get("warm_ratio")}
            | {"status": p.get("status", p.get("failure"))}
        )
    columns = {"name": "problem", "n": "n", "m": "m", "status": "status", "error": "error", "gap": "gap"}
    columns |= {"iterations": "iters", "boxes": "boxes", "seconds": "seconds", "mark": "", "ratio": "grid LP/ours"}
    columns |= {"grid": "grid rows", "way": "by", "cold": "ours/cold LP", "fresh": "proof/pass", "warm": "warm"}
    slowest = figures["summary"]["solve"]["slowest"]
    return "\n\n".join(
        [
            table(rows, columns),
            table(slowest, {"name": "slowest", "seconds": "seconds", "status": "status", "why": "why"}),
            table(figures["goals"], {"goal": "goal", "figure": "figure", "target": "target", "met": "met"}),
        ]
    )


@benchmark("lsip", "the catalogue: solve times, against a discretised LP, a cold LP, and a pass over a grid", show)
def run(options: Options) -> Figures:
    names = options.choose(catalogue.names())
    before, start = machine(), time.perf_counter()
    worker = Worker(measure)
    problems: Rows = []
    try:
        for i, name in enumerate(names, 1):
            hurried = not options.quick and time.perf_counter() - start > ENOUGH
            effort = QUICK if options.quick or hurried else FULL
            figures = {"name": name, "hurried": hurried} | worker.run(name, effort, seconds=effort.hard)
            problems.append(figures)
            say(f"[{i}/{len(names)}] {name}: {_line(figures)}")
    finally:
        worker.stop()
    summary = summarise(problems)
    return {
        "quick": options.quick,
        "machine": before,
        "seconds": time.perf_counter() - start,
        "goals": goals(summary),
        "summary": summary,
        "problems": problems,
    }


def _line(p: dict[str, Any]) -> str:
    d = p.get("discretisation", {})
    parts = [p.get("status", "no solve")]
    parts += [f"{p['seconds']:.3g} s"] if "seconds" in p else []
    parts += [f"grid LP {'> ' if d['lower_bound'] else ''}{d['ratio']:.3g}x"] if d.get("ratio") is not None else []
    parts += [p["failure"]] if "failure" in p else []
    return ", ".join(parts)
