"""The command line: `lsip demo`, `lsip solve model.py`, `lsip catalogue`.

Other packages add commands through the entry-point group ``lsip.commands``: each entry point is a function that takes
the subparsers object, adds its parser and sets the default ``run`` to a function from the parsed arguments to an exit
code.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import sys
import textwrap
import traceback
from collections.abc import Callable, Sequence
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import __version__
from .errors import LSIPError, ModelError
from .model_file import load_problem

if TYPE_CHECKING:
    from .catalogue import Entry
    from .oracles import Oracle
    from .problem import Problem
    from .solution import Solution

ORACLES = {
    "branch-and-bound": "BranchAndBound",
    "multistart": "Multistart",
    "grid": "Grid",
    "random": "RandomSearch",
    "subgradient": "ProjectedSubgradient",
}
SOLVED, FAILED, NOTHING_TO_FIND, INTERRUPTED = 0, 1, 2, 130
EXIT_CODES = (
    "exit code: 0 solved; 1 an error, or a limit was reached; 2 proven infeasible or unbounded; 130 interrupted"
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; errors become one paragraph on standard error."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        options = _parser(arguments).parse_args(arguments)
        code: int = options.run(options)
        sys.stdout.flush()
        return code
    except LSIPError as error:
        return _fail(str(error))
    except KeyboardInterrupt:
        return _fail("Interrupted.", INTERRUPTED)
    except BrokenPipeError:
        # The reader went away (`lsip catalogue | head`). Python would complain once more while closing standard output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return SOLVED
    except OSError as error:
        return _fail(f"{error.strerror or error}: {error.filename}" if error.filename else str(error))
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return _fail(
            f"Something went wrong inside lsip ({type(error).__name__}: {error}, at {Path(where.filename).name} line "
            f"{where.lineno}). This is a bug worth reporting, with the command and the model."
        )


def _fail(message: str, code: int = FAILED) -> int:
    paragraph = " ".join(f"lsip: {message}".split())
    print(textwrap.fill(paragraph, 100, break_long_words=False, break_on_hyphens=False), file=sys.stderr)
    return code


def _parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="lsip",
        description="Linear programs with a continuum of constraints, solved with proof.",
        epilog=EXIT_CODES,
    )
    parser.add_argument("--version", action="version", version=f"lsip {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    demo = commands.add_parser("demo", help="model and solve a two-dimensional example, and draw it")
    demo.add_argument(
        "--out", type=Path, default=Path("."), metavar="DIR", help="where to write demo.png (default: here)"
    )
    demo.set_defaults(run=_demo)

    solve = commands.add_parser("solve", help="solve the problem that a Python file declares", epilog=EXIT_CODES)
    solve.add_argument("model", type=Path, help="a Python file that defines `problem`, or exactly one lsip.Problem")
    solve.add_argument("--tol", type=_positive, help="relative gap to reach (default: 1e-8)")
    solve.add_argument(
        "--oracle", choices=sorted(ORACLES), help="how violated constraints are looked for (default: chosen)"
    )
    solve.add_argument("--time-limit", type=_positive, metavar="SECONDS", help="stop with the best bounds so far")
    solve.add_argument("--json", action="store_true", help="print the result as JSON, and nothing else")
    solve.add_argument("--plot", type=Path, metavar="FILE", help="save a picture of the violation (.png, .pdf, .svg)")
    solve.add_argument(
        "--save", type=Path, metavar="FILE", help="save the solution, to be read with lsip.Solution.load"
    )
    solve.set_defaults(run=_solve)

    catalogue = commands.add_parser("catalogue", help="list problems with known optima, or solve them")
    catalogue.add_argument("text", nargs="*", help="words to look for in names, titles, sources and tags")
    catalogue.add_argument("--tag", action="append", default=[], help="only problems with this tag; may be repeated")
    catalogue.add_argument("--solve", action="store_true", help="solve them and compare with what is known")
    catalogue.add_argument("--json", action="store_true", help="print JSON, and nothing else")
    catalogue.set_defaults(run=_catalogue)

    asked = next((word for word in arguments if not word.startswith("-")), None)
    if asked not in commands.choices:  # Other packages may be slow to import, so they are asked only when it matters.
        for point in entry_points(group="lsip.commands"):
            _add_command(commands, point)
    return parser


def _add_command(commands: Any, point: EntryPoint) -> None:
    """Let another package add its command; if it cannot, the command exists and says why."""
    try:
        point.load()(commands)
    except Exception as error:
        reason = f"The command {point.name!r} of {point.value.partition(':')[0]} is not available: {error}"

        def explain(_: argparse.Namespace) -> int:
            return _fail(reason)

        broken = commands.add_parser(point.name, help="not available here; run it to see why")
        broken.add_argument("anything", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
        broken.set_defaults(run=explain)


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"a positive number is needed; got {text!r}")
    return value


def _demo(options: argparse.Namespace) -> int:
    from .demo import run

    return _exit_code(run(options.out))


def _solve(options: argparse.Namespace) -> int:
    for target in (options.plot, options.save):
        if target is not None and not target.resolve().parent.is_dir():  # Better now than after the solve.
            raise ModelError(f"There is no directory {target.resolve().parent} to write {target.name} to.")
    with contextlib.redirect_stdout(sys.stderr if options.json else sys.stdout):
        problem = load_problem(options.model)
    chosen = {"tol": options.tol, "time_limit": options.time_limit, "oracle": _oracle(options.oracle)}
    if not options.json:
        print(problem, end="\n\n")
    solution = problem.solve(verbose=not options.json, **{k: v for k, v in chosen.items() if v is not None})
    if options.json:
        print(json.dumps(describe(problem, solution), indent=2))
    else:
        print()
        print("\n".join(_values(problem, solution)))
    if options.save is not None:
        solution.save(options.save)
    if options.plot is not None and solution.status.name != "INFEASIBLE":  # else there is nothing to draw
        solution.plot(options.plot)
    return _exit_code(solution)


def _oracle(name: str | None) -> Oracle | None:
    from . import oracles

    made: Oracle | None = None if name is None else getattr(oracles, ORACLES[name])()
    return made


def _exit_code(solution: Solution) -> int:
    status = solution.status.name
    if status in ("OPTIMAL", "UNCERTIFIED", "NO_INTERIOR"):
        return SOLVED
    if status in ("INFEASIBLE", "UNBOUNDED"):
        meaning = (
            "no x satisfies all constraints" if status == "INFEASIBLE" else "the objective can be improved forever"
        )
        return _fail(f"The problem is {status.lower()}: {meaning}. {solution.message}", NOTHING_TO_FIND)
    return _fail(solution.status.value, INTERRUPTED if status == "INTERRUPTED" else FAILED)


def describe(problem: Problem, solution: Solution) -> dict[str, Any]:
    """The result as JSON can hold it; null where a number is not known, or where there is no x."""
    infeasible = solution.status.name == "INFEASIBLE"
    return {
        "name": problem.name,
        "status": solution.status.name,
        "certified": bool(solution.certified),
        "value": _number(solution.value),
        "lower": _number(solution.lower),
        "upper": _number(solution.upper),
        "gap": _number(solution.gap),
        "max_violation": None if infeasible else _number(solution.max_violation),
        "iterations": len(solution.history),
        "seconds": _number(solution.seconds),
        "oracle": solution.oracle,
        "message": solution.message,
        "x": None if infeasible else {v.name: _numbers(solution[v]) for v in problem.variables},
        "active": [
            {"constraint": a.constraint, "point": _numbers(a.point), "multiplier": _number(a.multiplier)}
            for a in solution.active
        ],
    }


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _numbers(values: Any) -> Any:
    """Nested lists of floats, with None for what is not finite."""
    nested = values.tolist() if hasattr(values, "tolist") else values
    return [_numbers(value) for value in nested] if isinstance(nested, list) else _number(nested)


def _values(problem: Problem, solution: Solution) -> list[str]:
    """The variables and the active points, as a person reads them."""
    import numpy as np

    lines = []
    if solution.status.name != "INFEASIBLE":
        for variable in problem.variables:
            shown = np.array2string(np.asarray(solution[variable]), precision=9, threshold=20, max_line_width=100)
            lines.append(f"{variable.name} = " + shown.replace("\n", "\n" + " " * (len(variable.name) + 3)))
    if solution.active:
        lines.append("")
        lines.append("multiplier     at the index point")
        for a in sorted(solution.active, key=lambda a: -abs(a.multiplier))[:20]:
            point = ", ".join(f"{coordinate:.9g}" for coordinate in a.point)
            lines.append(f"{a.multiplier:<12.6g}   ({point})   {textwrap.shorten(a.constraint, 60, placeholder=' …')}")
        if len(solution.active) > 20:
            lines.append(f"… and {len(solution.active) - 20} more")
    return lines


def _catalogue(options: argparse.Namespace) -> int:
    from .catalogue import search

    found = search(" ".join(options.text), options.tag)
    if not found:
        raise ModelError("No problem of the catalogue matches; `lsip catalogue` lists them all.")
    if options.solve:
        return _solve_catalogue(found, options.json)
    if options.json:
        fields = ("name", "title", "status", "value", "tags", "source", "note")
        rows = [{field: getattr(entry, field) for field in fields} for entry in found]
        print(json.dumps([{**row, "value": _number(row["value"])} for row in rows], indent=2))
        return SOLVED
    width = max(len(entry.name) for entry in found)
    for entry in found:
        value = f"{entry.value:.10g}" if math.isfinite(entry.value) else entry.status
        print(f"{entry.name:<{width}}  {value:>16}  {entry.title}  [{', '.join(entry.tags)}]")
    print(f"\n{len(found)} problem{'s' if len(found) != 1 else ''}")
    return SOLVED


def _solve_catalogue(found: Sequence[Entry], as_json: bool) -> int:
    """Solve each problem; success means that every answer agrees with what is known."""
    rows: list[dict[str, Any]] = []
    width = max(len(entry.name) for entry in found)
    show: Callable[[str], None] = (lambda line: None) if as_json else (lambda line: print(line, flush=True))
    show(f"{'name':<{width}}  {'status':<15} {'value':>18} {'known':>18} {'gap':>9} {'seconds':>8}")
    for entry in found:
        try:
            problem = entry.build()
            solution = problem.solve(verbose=False)
        except Exception as error:  # One problem that breaks the solver should not hide the others.
            rows.append({"name": entry.name, "agrees": False, "message": str(error)})
            reason = textwrap.shorten(f"{type(error).__name__}: {error}", 80, placeholder=" …")
            show(f"{entry.name:<{width}}  failed: {reason}")
            continue
        agrees = _agrees(entry, solution)
        rows.append(
            {**describe(problem, solution), "name": entry.name, "known": _number(entry.value), "agrees": agrees}
        )
        show(
            f"{entry.name:<{width}}  {solution.status.name.lower():<15} {solution.value:>18.11g} {entry.value:>18.11g} "
            f"{solution.gap:>9.1e} {solution.seconds:>8.3f}{'' if agrees else '   differs'}"
        )
    if as_json:
        print(json.dumps(rows, indent=2))
    wrong = [row["name"] for row in rows if not row["agrees"]]
    if wrong:
        return _fail(f"{len(wrong)} of {len(rows)} answers differ from what is known: {', '.join(wrong)}.")
    show(f"\nall {len(rows)} agree with what is known")
    return SOLVED


def _agrees(entry: Entry, solution: Solution) -> bool:
    """Whether the answer is right about a problem whose answer is known."""
    status = solution.status.name.lower()
    if entry.status in ("infeasible", "unbounded"):
        return bool(status == entry.status)
    room = 1e-7 * (1 + abs(entry.value))
    if entry.status != "optimal":  # No point attains the value, or no dual proves it: the bounds must not exclude it.
        return bool(solution.lower - room <= entry.value <= solution.upper + room)
    return bool(abs(solution.value - entry.value) <= room)


if __name__ == "__main__":
    sys.exit(main())
