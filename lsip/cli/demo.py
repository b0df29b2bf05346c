"""`lsip demo`."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
from pathlib import Path

from .arguments import Commands, add_command, tell
from .models import own
from .results import describe, exit_code


def add(commands: Commands) -> None:
    """Add the command to the subparsers of `lsip`."""
    parser = add_command(commands, "demo", "solve and draw a two-dimensional example", "lsip demo --out runs")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("."),
        metavar="DIR",
        help="directory for demo.png and demo.html (default: the current one)",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON only")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Solve the example, write its picture and its report, and say where they are."""
    from .clean_air import run as demonstrate

    with contextlib.redirect_stdout(io.StringIO()) if options.json else contextlib.nullcontext():
        solution = demonstrate(options.out)
        report = solution.report(options.out / "demo.html")
        tell(f"A page about the model, the proof and the solve, to be opened in a browser, is in {report}")
    if options.json:
        tell(json.dumps(describe(own(solution.model), solution), indent=2))
    return exit_code(solution)
