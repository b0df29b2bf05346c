"""`lsip solve model.py`."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ModelError
from ..oracles.choice import ORACLES
from ..solution.solution import Solution
from .arguments import Commands, add_command, check_target, count, gap, positive, seed, tell
from .model_file import blamed_on, load_model
from .models import KINDS
from .results import describe, exit_code, lines

if TYPE_CHECKING:
    from ..model.method import Answer
    from .models import NamedModel

# What `solve` takes in Python, too; functions, arrays and tunings have no words.
WORDS = (
    "tol",
    "atol",
    "oracle",
    "master",
    "seed",
    "max_iterations",
    "time_limit",
    "polish",
    "sample_first",
    "warm_start",
)


def add(commands: Commands) -> None:
    """Add the command to the subparsers of `lsip`."""
    parser = add_command(
        commands,
        "solve",
        "solve the problem in a Python file",
        "lsip solve model.py --report report.html",
        "lsip solve model.py --tol 1e-6 --time-limit 60 --json",
    )
    parser.add_argument(
        "model", type=Path, help=f"a Python file that defines one model, or several and `problem`: {KINDS}"
    )
    parser.add_argument("--tol", type=gap, help="relative gap to reach (default: 1e-8)")
    parser.add_argument(
        "--atol",
        type=positive,
        metavar="GAP",
        help="absolute distance of the bounds to reach (default: rounding errors)",
    )
    parser.add_argument(
        "--oracle",
        choices=sorted(ORACLES),
        metavar="NAME",
        help=f"oracle that finds violations: {', '.join(sorted(ORACLES))} (default: automatic)",
    )
    parser.add_argument("--master", type=_master, metavar="NAME", help="solver of the finite programs (default: highs)")
    parser.add_argument("--seed", type=seed, metavar="S", help="random seed of the oracles (default: 0)")
    parser.add_argument("--max-iterations", type=count, metavar="N", help="stop after N iterations (default: 1000)")
    parser.add_argument(
        "--time-limit", type=positive, metavar="SECONDS", help="stop after SECONDS with the best bounds so far"
    )
    switch = argparse.BooleanOptionalAction
    parser.add_argument("--polish", action=switch, help="finish with Newton steps (default: yes)")
    parser.add_argument("--sample-first", action=switch, help="look for violations in samples first (default: yes)")
    parser.add_argument("--warm-start", type=Path, metavar="FILE", help="start from a solution written by --save")
    parser.add_argument("--report", type=Path, metavar="FILE", help="write an HTML report (.html)")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="save a picture of the violation (.png, .pdf, .svg)")
    parser.add_argument("--save", type=Path, metavar="FILE", help="save the solution; lsip.load reads it")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the last relaxation (.mps, .lp)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON only")
    parser.add_argument("--quiet", action="store_true", help="print errors only")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Load, solve, print, and write the files that were asked for."""
    check_target(options.report, ".html", ".htm")
    check_target(options.plot, ".png", ".pdf", ".svg")
    check_target(options.save, ".npz")
    check_target(options.write, ".mps", ".lp")
    aloud = not (options.json or options.quiet)
    own = sys.stdout if aloud else sys.stderr  # for what the model itself prints
    with contextlib.redirect_stdout(own), blamed_on(options.model):
        model = load_model(options.model)
    if aloud:
        tell(model.text, end="\n\n")
    solution = _solution(model, options, aloud)
    if options.json:
        tell(json.dumps(describe(model, solution), indent=2))
    elif aloud:
        tell("\n" + "\n".join(lines(model, solution)))
    _write(solution, options, aloud)
    return exit_code(solution)


def _solution(model: NamedModel, options: argparse.Namespace, aloud: bool) -> Answer:
    words = {name: getattr(options, name) for name in WORDS}
    if options.warm_start is not None:
        words["warm_start"] = Solution.load(options.warm_start, model.written, verify=False)
    with blamed_on(options.model):
        return model.solve(verbose=aloud, **{name: value for name, value in words.items() if value is not None})


def _master(name: str) -> str:
    """The name of a master that there is; an unknown one is found before the model is read."""
    from ..masters import open_master

    try:
        open_master(name)
    except ModelError as error:
        raise argparse.ArgumentTypeError(str(error).rstrip(".")) from error
    return name


def _write(solution: Answer, options: argparse.Namespace, aloud: bool) -> None:
    written = []
    if options.save is not None:
        solution.save(options.save)
        written.append(f"The solution is in {options.save}")
    if options.write is not None:
        solution.write(options.write)
        written.append(f"The relaxation is in {options.write}")
    if options.plot is not None and solution.status.name != "INFEASIBLE":  # else there is nothing to draw
        solution.plot(options.plot)
        written.append(f"The picture is in {options.plot}")
    if options.report is not None:
        written.append(f"The report is in {solution.report(options.report)}")
    if aloud and written:
        tell("\n" + "\n".join(written))
