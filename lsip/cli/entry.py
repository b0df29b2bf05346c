"""From the words of a command line to an exit code.

Other packages add commands through the entry-point group ``lsip.commands``: each entry point is a function that takes
the subparsers object, adds its parser and sets the default ``run`` to a function from the parsed arguments to an exit
code.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import textwrap
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from ..about import info
from ..errors import LSIPError, ModelError, UsageError
from ..installed import stranger
from ..legible import spell_everything
from . import bench, catalogue, check, demo, solve
from .arguments import EXIT_CODES, FAILED, INTERRUPTED, SOLVED, WRONG_USAGE, Commands, Parser, fail, forget_stdout, tell

LEARNING = ("reproduce", "train", "evaluate", "render")  # commands of lsip-rl, a distribution of its own


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; errors become one paragraph on standard error."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    spell_everything()
    if sys.stdout is None or getattr(
        sys.stdout, "closed", False
    ):  # `>&-`: nobody listens, and what a command writes to files still counts
        with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
            return _run(arguments)
    return _run(arguments)


def _run(arguments: Sequence[str]) -> int:
    try:
        with _terminable():
            options = _parsed(arguments)
            code: int = options.run(options)
            tell("", end="")
        return code
    except LSIPError as error:
        return fail(str(error), WRONG_USAGE if isinstance(error, UsageError) else FAILED)
    except KeyboardInterrupt:
        return fail("Interrupted.", INTERRUPTED)
    except BrokenPipeError:
        # The reader went away (`lsip catalogue | head`). Python would complain once more while closing standard output.
        forget_stdout()
        return SOLVED
    except OSError as error:
        try:
            sys.stdout.flush()
        except OSError:  # what is left cannot be written, and Python would try it once more at its end
            forget_stdout()
        return fail(f"{error.strerror or error}: {error.filename}" if error.filename else str(error))
    except MemoryError:
        return fail("The memory of this machine is not enough for this model.")
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return fail(
            f"Something went wrong inside lsip ({type(error).__name__}: {error}, at {Path(where.filename).name} line "
            f"{where.lineno}). This is a bug worth reporting, with the command and the model."
        )


@contextmanager
def _terminable() -> Iterator[None]:
    """A SIGTERM ends a command as Ctrl-C does: with what is known so far. Only the main thread hears signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser, commands = _parser(arguments)
    options, unknown = parser.parse_known_args(arguments)
    if unknown:  # It is the command whose help will show what is known, and not the parser of all commands.
        command = next(made for made in commands.choices.values() if made.get_default("run") is options.run)
        command.error(f"unrecognized arguments: {' '.join(unknown)}")
    return options


def _parser(arguments: Sequence[str]) -> tuple[Parser, Commands]:
    parser = Parser(
        prog="lsip",
        description="Linear programs with a continuum of constraints, solved with proof.",
        epilog=f"example:\n  lsip solve model.py --report report.html\n\n{textwrap.fill(EXIT_CODES, 80)}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=str(info()) if "--version" in arguments else "")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in (demo, solve, check, catalogue, bench):
        command.add(commands)
    asked = next((word for word in arguments if not word.startswith("-")), None)
    if asked not in commands.choices:  # Other packages may be slow to import, so they are asked only when it matters.
        for point in entry_points(group="lsip.commands"):
            _add_foreign(commands, point)
        for name in LEARNING:
            if name not in commands.choices:
                _add_broken(commands, name, f"The command {name!r} comes with lsip-rl: pip install 'lsip[rl]'.")
    return parser, commands


def _add_foreign(commands: Commands, point: EntryPoint) -> None:
    """Let another package add its command; if it cannot, the command exists and says why."""
    before = set(commands.choices)
    try:
        point.load()(commands)
        idle = [n for n in commands.choices if n not in before and not callable(commands.choices[n].get_default("run"))]
        if idle:
            raise ModelError(f"it sets no default `run` for {', '.join(idle)}.")
    except Exception as error:
        if point.name in before:  # who came first keeps the name, and lsip is always first
            return
        taken = stranger(point.module.partition(".")[0], point.dist.name) if point.dist else ""
        reason = f"The command {point.name!r} of {point.module} is not available: {taken or error}"
        _add_broken(commands, point.name, reason)


def _add_broken(commands: Commands, name: str, reason: str) -> None:
    """A command that says why it is not there."""

    def explain(_: argparse.Namespace) -> int:
        return fail(reason)

    broken = commands.choices.get(name)
    if broken is None:
        broken = commands.add_parser(name, help="not available here; run it to see why")
        broken.add_argument("anything", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    broken.set_defaults(run=explain)
