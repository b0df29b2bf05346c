"""`lsip catalogue`."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from ..legible import shortened
from ..progress import Bar
from .arguments import SOLVED, Commands, add_command, fail
from .models import own
from .results import describe, finite

if TYPE_CHECKING:
    from ..catalogue import Entry
    from ..model.method import Answer

FIELDS = ("name", "title", "status", "value", "tags", "source", "note")


def add(commands: Commands) -> None:
    """Add the command to the subparsers of `lsip`."""
    parser = add_command(
        commands,
        "catalogue",
        "list problems with known optima, or solve them",
        "lsip catalogue chebyshev",
        "lsip catalogue --tag moment --solve",
        note="exit code: 0 done, and every answer agrees with what is known; 1 an error, or an answer differs; "
        "2 wrong usage; 130 interrupted",
    )
    parser.add_argument("text", nargs="*", help="words to search for in names, titles, sources and tags")
    parser.add_argument("--tag", action="append", default=[], help="only problems with this tag; may be repeated")
    parser.add_argument("--solve", action="store_true", help="solve them and compare with the known optima")
    parser.add_argument("--json", action="store_true", help="print JSON only")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """List what was found, or solve it."""
    from ..catalogue import search

    found = search(" ".join(options.text), options.tag)
    if not found:
        raise UsageError("No problem of the catalogue matches; `lsip catalogue` lists them all.")
    if options.solve:
        return _solve(found, options.json)
    if options.json:
        rows = [{field: getattr(entry, field) for field in FIELDS} for entry in found]
        print(json.dumps([{**row, "value": finite(row["value"])} for row in rows], indent=2))
        return SOLVED
    width = max(len(entry.name) for entry in found)
    for entry in found:
        value = f"{entry.value:.10g}" if math.isfinite(entry.value) else entry.status
        print(f"{entry.name:<{width}}  {value:>16}  {entry.title}  [{', '.join(entry.tags)}]")
    print(f"\n{len(found)} problem{'s' if len(found) != 1 else ''}")
    return SOLVED


def _solve(found: Sequence[Entry], as_json: bool) -> int:
    """Solve each problem; success means that every answer agrees with what is known."""
    rows: list[dict[str, Any]] = []
    width = max(len(entry.name) for entry in found)
    bar = Bar()

    def show(line: str) -> None:
        bar.clear()
        if not as_json:
            print(line, flush=True)

    show(f"{'name':<{width}}  {'status':<15} {'value':>18} {'known':>18} {'gap':>9} {'seconds':>8}")
    try:
        for k, entry in enumerate(found):
            bar.at(k, len(found), entry.name)
            row, line = _compare(entry)
            rows.append(row)
            show(f"{entry.name:<{width}}  {line}")
    finally:
        bar.clear()
    if as_json:
        print(json.dumps(rows, indent=2))
    wrong = [row["name"] for row in rows if not row["agrees"]]
    if wrong:
        return fail(f"{len(wrong)} of {len(rows)} answers differ from what is known: {', '.join(wrong)}.")
    show(f"\nall {len(rows)} agree with what is known")
    return SOLVED


def _compare(entry: Entry) -> tuple[dict[str, Any], str]:
    """Solve one problem: the row for JSON, and the line for a person."""
    try:
        problem = entry.build()
        solution = problem.solve(verbose=False)
    except Exception as error:  # One problem that breaks the solver should not hide the others.
        reason = shortened(f"{type(error).__name__}: {error}", 80)
        return {"name": entry.name, "agrees": False, "message": str(error)}, f"failed: {reason}"
    if solution.status.name == "INTERRUPTED":
        raise KeyboardInterrupt
    agrees = _agrees(entry, solution)
    row = {**describe(own(problem), solution), "name": entry.name, "known": finite(entry.value), "agrees": agrees}
    return row, (
        f"{solution.status.name.lower():<15} {solution.value:>18.11g} {entry.value:>18.11g} "
        f"{solution.gap:>9.1e} {solution.seconds:>8.3f}{'' if agrees else '   differs'}"
    )


def _agrees(entry: Entry, solution: Answer) -> bool:
    """Whether the answer is right about a problem whose answer is known."""
    status = solution.status.name.lower()
    if entry.status in ("infeasible", "unbounded"):
        return bool(status == entry.status)
    room = 1e-7 * (1 + abs(entry.value))
    if entry.status != "optimal":  # No point attains the value, or no dual proves it: the bounds must not exclude it.
        return bool(solution.lower - room <= entry.value <= solution.upper + room)
    return bool(abs(solution.value - entry.value) <= room)
