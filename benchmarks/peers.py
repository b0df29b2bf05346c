"""Other people's tools on their own ground: robust programs, filters, and discretisation by hand.

- Robust programs over a box, a ball and a budget, against the closed-form reformulation in CVXPY, RSOME, and PyROS.
- Linear-phase filters against `scipy.signal.remez`: the true error of both, over all frequencies, and the time.
- One-shot discretisation in CVXPY and in Pyomo with pyomo.dae: the points and the time that reach an accuracy.

Every time is everything that a user waits for: building the model, compiling or reformulating it, and solving it. The
contestants take turns. Ours proves its answer; the others' accuracy is their distance from it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import lsip
from lsip import catalogue

from .harness import filters, grids, robust
from .harness.clock import forget, interleave, quiet, timed
from .harness.figures import machine, median, ratio, table
from .harness.registry import Figures, Options, benchmark, say

BUDGET = 20.0  # seconds after which a contestant sits out the next rounds
REPEATS, QUICK_REPEATS = 5, 1
OURS, CLOSED_FORM = "lsip", "CVXPY, by hand"


class Contest:
    """Contestants that give a value each, timed in turns; those that fail are out, with the reason."""

    def __init__(self, tools: dict[str, Callable[[], Any]], repeats: int) -> None:
        self.values: dict[str, Any] = {}
        self.failures: dict[str, str] = {}
        self.seconds: dict[str, float] = {}
        first = {name: self._first(name, tool) for name, tool in tools.items()}
        still = {name: self._again(tool) for name, tool in tools.items() if name not in self.failures}
        slow = {name: seconds for name, seconds in first.items() if seconds > BUDGET}
        self.seconds = interleave(still, repeats, BUDGET, slow) if still else {}

    def _first(self, name: str, tool: Callable[[], Any]) -> float:
        try:
            with quiet():
                seconds, self.values[name] = timed(tool)
        except Exception as error:  # whatever another tool raises, the others go on
            self.failures[name] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
            return 0.0
        return seconds

    def _again(self, tool: Callable[[], Any]) -> Callable[[], float]:
        def run() -> float:
            forget()
            with quiet():
                return timed(tool)[0]

        return run


def robust_programs(kinds: list[str], options: Options) -> list[dict[str, Any]]:
    """One row a program and tool."""
    rows = []
    sizes, largest = (robust.SIZES[:2], 5) if options.quick else (robust.SIZES, robust.LARGEST_PYROS)
    for kind in kinds:
        for n, m, count in sizes:
            data = robust.draw(kind, n, m, count)
            tools = {
                name: (lambda tool=tool, data=data: tool(data))
                for name, tool in robust.TOOLS.items()
                if name != "PyROS" or n <= largest
            }
            contest = Contest(tools, QUICK_REPEATS if options.quick else REPEATS)
            value = contest.values[OURS]
            rows += [
                {
                    "kind": kind,
                    "n": n,
                    "m": m,
                    "rows": count,
                    "tool": name,
                    "seconds": contest.seconds.get(name),
                    "value": contest.values.get(name),
                    "off": abs(contest.values[name] - value) / abs(value) if name in contest.values else None,
                    "ours_is_faster": ratio(contest.seconds.get(name), contest.seconds[OURS]),
                    "failure": contest.failures.get(name),
                }
                for name in tools
            ]
            say(f"{kind} n = {n}: " + ", ".join(f"{k} {1e3 * v:.0f} ms" for k, v in contest.seconds.items()))
    return rows


def filter_designs(options: Options) -> list[dict[str, Any]]:
    """One row a filter: errors over all frequencies, and seconds."""
    rows = []
    for taps in filters.TAPS[:1] if options.quick else filters.TAPS:
        tools: dict[str, Callable[[], Any]] = {OURS: lambda taps=taps: filters.by_lsip(taps)}
        for density in filters.DENSITIES:
            tools[f"remez, density {density}"] = lambda taps=taps, density=density: filters.by_remez(taps, density)
        contest = Contest(tools, QUICK_REPEATS if options.quick else REPEATS)
        solution = contest.values[OURS]
        for name in tools:
            error = solution.value if name == OURS else None
            if name in contest.values and name != OURS:
                error = filters.true_error(taps, contest.values[name])
            rows.append(
                {
                    "taps": taps,
                    "tool": name,
                    "seconds": contest.seconds.get(name),
                    "error": error,
                    "above_optimum": None if error is None else (error - solution.lower) / solution.lower,
                    "proven": name == OURS and solution.certified,
                    "ours_is_faster": ratio(contest.seconds.get(name), contest.seconds[OURS]),
                    "failure": contest.failures.get(name),
                }
            )
        say(f"{taps} taps: " + ", ".join(f"{k} {1e3 * v:.1f} ms" for k, v in contest.seconds.items()))
    return rows


def discretisations(options: Options) -> list[dict[str, Any]]:
    """One row a problem and tool: the first grid whose solution violates nothing by more than the target."""
    rows = []
    names = grids.PROBLEMS[:2] if options.quick else grids.PROBLEMS
    for name in names:
        problem = catalogue.get(name).build()
        m = problem.compile().families[0].domain.dim
        ladders: dict[str, Callable[[int], Any]] = {"CVXPY": lambda k, name=name: grids.by_cvxpy(name, k)}
        if name == grids.PROBLEMS[0]:
            ladders["Pyomo with pyomo.dae"] = grids.by_pyomo
        for tool, solve in ladders.items():
            enough, left = _enough(problem, solve, grids.POINTS[m])
            solvers: dict[str, Callable[[], Any]] = {
                OURS: lambda name=name: catalogue.get(name).build().solve(tol=grids.TARGET, verbose=False),
                tool: lambda solve=solve, enough=enough: solve(enough),
            }
            contest = Contest(solvers, QUICK_REPEATS if options.quick else REPEATS)
            rows.append(
                {
                    "problem": name,
                    "m": m,
                    "tool": tool,
                    "points": enough**m,
                    "violation": left,
                    "reached": left <= grids.TARGET,
                    "seconds": contest.seconds.get(tool),
                    "ours": contest.seconds[OURS],
                    "ours_is_faster": ratio(contest.seconds.get(tool), contest.seconds[OURS]),
                    "failure": contest.failures.get(tool),
                }
            )
            say(f"{name} by {tool}: {enough**m} points, violation {left:.1e}")
    return rows


def _enough(problem: lsip.Problem, solve: Callable[[int], Any], ladder: tuple[int, ...]) -> tuple[int, float]:
    """The first number of points an axis that is good enough, or the last, and the violation left."""
    left = float("inf")
    for points in ladder:
        _, x = solve(points)
        left = grids.violation(problem, x)
        if left <= grids.TARGET:
            break
    return points, left


def summarise(
    rows: list[dict[str, Any]], designs: list[dict[str, Any]], finite: list[dict[str, Any]]
) -> dict[str, Any]:
    """How often ours is fastest, or within twice the closed form, and where it loses."""
    by_program: dict[tuple[Any, ...], dict[str, float]] = {}
    for row in rows:
        if row["seconds"] is not None:
            by_program.setdefault((row["kind"], row["n"]), {})[row["tool"]] = row["seconds"]
    fastest = [key for key, times in by_program.items() if min(times, key=times.__getitem__) == OURS]
    within = [key for key, times in by_program.items() if times[OURS] <= 2 * times[CLOSED_FORM]]
    against = {
        tool: median(row["ours_is_faster"] for row in rows if row["tool"] == tool)
        for tool in dict.fromkeys(row["tool"] for row in rows)
        if tool != OURS
    }
    lost = [f"{kind} n = {n}" for kind, n in by_program if (kind, n) not in fastest and (kind, n) not in within]
    lost += [f"{d['taps']} taps against {d['tool']}" for d in designs if (d["ours_is_faster"] or 1) < 1]
    lost += [f"{f['problem']} against a grid in {f['tool']}" for f in finite if (f["ours_is_faster"] or 1) < 1]
    return {
        "robust_programs": len(by_program),
        "robust_fastest": len(fastest),
        "robust_fastest_or_within_twice_the_closed_form": len({*fastest, *within}),
        "robust_median_speed_against": against,
        "discretisation_median_speed": median(f["ours_is_faster"] for f in finite),
        "where_we_lose": lost,
    }


def show(figures: Figures) -> str:
    """Three tables and where we lose."""
    parts = [
        table(
            figures["robust"],
            {
                "kind": "set",
                "n": "n",
                "m": "m",
                "rows": "rows",
                "tool": "tool",
                "seconds": "seconds",
                "off": "off by",
                "ours_is_faster": "time / ours",
            },
        ),
        table(
            figures["filters"],
            {
                "tool": "tool",
                "taps": "taps",
                "seconds": "seconds",
                "error": "true error",
                "above_optimum": "above optimum",
                "ours_is_faster": "time / ours",
            },
        ),
        table(
            figures["discretisation"],
            {
                "problem": "problem",
                "m": "m",
                "tool": "grid in",
                "points": "points",
                "violation": "violation",
                "seconds": "seconds",
                "ours": "ours",
                "ours_is_faster": "time / ours",
            },
        ),
    ]
    summary = figures["summary"]
    parts.append(
        f"robust programs: fastest in {summary['robust_fastest']} of {summary['robust_programs']}, fastest or within "
        f"twice the closed form in {summary['robust_fastest_or_within_twice_the_closed_form']}; "
        f"slower: {', '.join(summary['where_we_lose']) or 'nowhere'}"
    )
    return "\n\n".join(parts)


@benchmark("peers", "robust programs, filters and grids against CVXPY, RSOME, PyROS, remez and pyomo.dae", show)
def run(options: Options) -> Figures:
    before, start = machine(), time.perf_counter()
    chosen = options.choose((*robust.KINDS, "filters", "grids"))
    rows = robust_programs([kind for kind in chosen if kind in robust.KINDS], options)
    designs = filter_designs(options) if "filters" in chosen else []
    finite = discretisations(options) if "grids" in chosen else []
    return {
        "machine": before,
        "seconds": time.perf_counter() - start,
        "tolerance": robust.TOL,
        "summary": summarise(rows, designs, finite),
        "robust": rows,
        "filters": designs,
        "discretisation": finite,
    }
