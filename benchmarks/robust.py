"""Robust decisions: models of the documentation of RSOME, JuMPeR and YALMIP, with decision rules and without.

Each is built and solved, by us with a proof to a gap of 1e-6, by RSOME with SciPy's HiGHS or ECOS, in turns. A time is
everything that a user waits for. Lines are those of our model, without its signature and docstring.
"""

from __future__ import annotations

import inspect
from typing import Any

from .harness.clock import forget, quiet, timed
from .harness.figures import machine, median, ratio, table
from .harness.registry import Figures, Options, benchmark, say
from .harness.rules import CASES, QUICK, SLOW, Case

TOL = 1e-6
REPEATS = 3
LIMIT = 60.0  # seconds


def _ours(case: Case) -> Any:
    return case.ours().solve(tol=TOL, time_limit=LIMIT, verbose=False)


def measured(name: str, case: Case, repeats: int) -> dict[str, Any]:
    """One row: times in turns, values, and what is proven."""
    ours: list[float] = []
    theirs: list[float] = []
    value, failure, solution = None, None, None
    for _ in range(repeats):
        forget()
        seconds, solution = timed(lambda: _ours(case))
        ours.append(seconds)
        if case.rsome is not None and failure is None:
            try:
                with quiet():
                    seconds, value = timed(case.rsome)
                theirs.append(seconds)
            except Exception as error:  # whatever another tool raises, ours is measured
                failure = f"{type(error).__name__}: {error}".splitlines()[0][:200]
    assert solution is not None
    known = case.published if value is None else value
    row = {
        "case": name,
        "n": solution.program.n,
        "m": max(f.domain.dim for f in solution.program.families),
        "seconds": median(ours),
        "rsome": median(theirs) if theirs else None,
        "rsome_is_slower": ratio(median(theirs) if theirs else None, median(ours)),
        "status": solution.status.name,
        "certified": solution.certified,
        "gap": solution.gap,
        "value": solution.value,
        "rsome_value": value,
        "published": case.published,
        "right": known is None or abs(solution.value - known) <= 2 * max(case.digits, TOL) * abs(known),
        "failure": failure,
    }
    say(f"{name}: {row['seconds']:.2f} s, {row['status']}" + (f", RSOME {row['rsome']:.2f} s" if theirs else ""))
    return row


def lines() -> dict[str, int]:
    """How many lines our models have."""
    from .harness import rules

    names = ("portfolio", "inventory", "lot_sizing", "vehicles", "sample_robust", "newsvendor", "warehouse", "control")
    found = {}
    for name in names:
        body = inspect.getsource(getattr(rules, name)).splitlines()[1:]
        found[name] = sum(bool(line.strip()) and not line.strip().startswith('"""') for line in body)
    return found


def show(figures: Figures) -> str:
    """One table, and the summary below it."""
    columns = {
        "case": "model",
        "n": "n",
        "m": "m",
        "seconds": "seconds",
        "rsome": "RSOME",
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
    names = options.choose(QUICK if options.quick and options.only is None else CASES)
    rows = [measured(name, CASES[name], 1 if options.quick or name in SLOW else REPEATS) for name in names]
    compared = [row for row in rows if row["rsome"] is not None]
    summary = {
        "models": len(rows),
        "certified": sum(row["certified"] for row in rows),
        "right": sum(row["right"] for row in rows),
        "compared": len(compared),
        "faster": sum(row["seconds"] <= row["rsome"] for row in compared),
        "within_twice": sum(row["seconds"] <= 2 * row["rsome"] for row in compared),
        "median_rsome_over_ours": median(row["rsome_is_slower"] for row in compared),
    }
    return {"machine": machine(), "robust": rows, "lines": lines(), "summary": summary}
