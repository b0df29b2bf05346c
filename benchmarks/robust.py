"""Robust decisions: models of the documentation of RSOME, JuMPeR and YALMIP, with decision rules and without.

Each is built and solved, by us with a proof to a gap of 1e-6, by RSOME with SciPy's HiGHS or ECOS, in turns. A time is
everything that a user waits for; both are compared by the processor's clock, which others on the machine change least.
Lines are those of our model, without its signature and docstring.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from .harness import decisions, rules
from .harness.clock import forget, quiet
from .harness.figures import machine, median, ratio, table
from .harness.registry import Figures, Options, benchmark, say
from .harness.rules import QUICK, SLOW, Case

CASES = rules.CASES | decisions.CASES

TOL = 1e-6
REPEATS = 3
LIMIT = 300.0  # seconds


def _ours(case: Case) -> Any:
    return case.ours().solve(tol=TOL, time_limit=LIMIT, verbose=False)


def _timed(run: Callable[[], Any]) -> tuple[float, float, Any]:
    """Seconds on the wall, seconds of the processor, and what the call returned."""
    wall, processor = time.perf_counter(), time.process_time()
    result = run()
    return time.perf_counter() - wall, time.process_time() - processor, result


def measured(name: str, case: Case, repeats: int) -> dict[str, Any]:
    """One row: times in turns, values, and what is proven."""
    ours: list[tuple[float, float]] = []
    theirs: list[tuple[float, float]] = []
    value, failure, solution = None, None, None
    for _ in range(repeats):
        forget()
        *seconds, solution = _timed(lambda: _ours(case))
        ours.append((seconds[0], seconds[1]))
        if case.rsome is not None and failure is None:
            try:
                with quiet():
                    *seconds, value = _timed(case.rsome)
                theirs.append((seconds[0], seconds[1]))
            except Exception as error:  # whatever another tool raises, ours is measured
                failure = f"{type(error).__name__}: {error}".splitlines()[0][:200]
    assert solution is not None
    known = case.published if value is None else value
    wall, processor = (median(t[clock] for t in ours) for clock in (0, 1))
    their_wall, their_processor = (median(t[clock] for t in theirs) if theirs else None for clock in (0, 1))
    row = {
        "case": name,
        "n": solution.program.n,
        "m": max(f.domain.dim for f in solution.program.families),
        "seconds": wall,
        "rsome": their_wall,
        "processor": processor,
        "rsome_processor": their_processor,
        "rsome_is_slower": ratio(their_processor, processor),
        "status": solution.status.name,
        "certified": solution.certified,
        "gap": solution.gap,
        "value": solution.value,
        "rsome_value": value,
        "published": case.published,
        "right": known is None or abs(solution.value - known) <= 2 * max(case.digits, TOL) * abs(known),
        "failure": failure,
    }
    say(
        f"{name}: {processor:.3f} s of the processor, {row['status']}"
        + (f", RSOME {their_processor:.3f} s" if their_processor is not None else "")
    )
    return row


def lines() -> dict[str, int]:
    """How many lines our models have."""
    found = {}
    for module in (rules, decisions):
        for name, model in inspect.getmembers(module, inspect.isfunction):
            if model.__module__ == module.__name__ and inspect.signature(model).return_annotation == "Problem":
                body = inspect.getsource(model).splitlines()[1:]
                found[name] = sum(bool(line.strip()) and not line.strip().startswith('"""') for line in body)
    return found


def show(figures: Figures) -> str:
    """One table, and the summary below it."""
    columns = {
        "case": "model",
        "n": "n",
        "m": "m",
        "processor": "seconds",
        "rsome_processor": "RSOME",
        "rsome_is_slower": "RSOME / ours",
        "status": "status",
        "gap": "gap",
        "value": "value",
        "rsome_value": "RSOME's",
    }
    told = "\n".join(f"{key}: {value}" for key, value in figures["summary"].items())
    return f"{table(figures['robust'], columns)}\n\n{told}"


@benchmark("robust", "robust models with decision rules, ours proven, against RSOME", show)
def run(options: Options) -> Figures:
    """One row a model."""
    with suppress(ImportError):  # which takes longer than most models, once
        from rsome import dro, eco_solver, lpg_solver, ro  # noqa: F401
    names = options.choose(QUICK if options.quick and options.only is None else CASES)
    rows = [measured(name, CASES[name], 1 if options.quick or name in SLOW else REPEATS) for name in names]
    compared = [row for row in rows if row["rsome_processor"] is not None]
    summary = {
        "models": len(rows),
        "certified": sum(row["certified"] for row in rows),
        "right": sum(row["right"] for row in rows),
        "compared": len(compared),
        "faster": sum(row["processor"] <= row["rsome_processor"] for row in compared),
        "within_twice": sum(row["processor"] <= 2 * row["rsome_processor"] for row in compared),
        "median_rsome_over_ours": median(row["rsome_is_slower"] for row in compared),
    }
    return {"machine": machine(), "robust": rows, "lines": lines(), "summary": summary}
