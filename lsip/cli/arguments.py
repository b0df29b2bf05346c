"""Arguments: errors in one paragraph, help with an example, numbers that are checked where they are read."""

from __future__ import annotations

import argparse
import math
import os
import re
import sys
import textwrap
from contextlib import suppress
from pathlib import Path
from typing import NoReturn, TypeAlias

from ..errors import ModelError
from ..files import check_file, make_folder

SOLVED, FAILED, WRONG_USAGE, NOTHING_TO_FIND, INTERRUPTED = 0, 1, 2, 3, 130
EXIT_CODES = (
    "exit code: 0 solved (the status says whether the answer is proven); 1 an error, or a limit was reached; "
    "2 wrong usage; 3 proven infeasible or unbounded; 130 interrupted"
)
_GLUE = "\x1f"


def fail(message: str, code: int = FAILED) -> int:
    """Print one paragraph to standard error, and give the exit code back."""
    paragraph = " ".join(f"lsip: {message}".split())
    kept = re.sub(
        "`[^`]{1,40}`", lambda found: found[0].replace(" ", _GLUE), paragraph
    )  # a command to copy is one word
    lines = textwrap.fill(kept, 100, break_long_words=False, break_on_hyphens=False)
    if sys.stderr is not None:  # `2>&-`
        print(lines.replace(_GLUE, " "), file=sys.stderr)
    return code


def tell(text: str, end: str = "\n") -> None:
    """Print to standard output; once its reader has gone (`lsip solve … | head -1`), the work goes on in silence."""
    try:
        print(text, end=end, flush=True)
    except BrokenPipeError:
        forget_stdout()


def forget_stdout() -> None:
    """Send the rest of standard output nowhere: Python would complain once more while closing it."""
    with suppress(OSError, ValueError):  # it is no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are one paragraph; the commands that are added to it are of this class too."""

    def error(self, message: str) -> NoReturn:
        name = self.prog.removeprefix("lsip").strip()
        sentence = f"{name}: {message}" if name else message
        raise SystemExit(fail(f"{sentence}. `{self.prog} --help` shows how it is used.", WRONG_USAGE))


Commands: TypeAlias = "argparse._SubParsersAction[Parser]"


def add_command(
    commands: Commands, name: str, summary: str, *examples: str, note: str = EXIT_CODES
) -> argparse.ArgumentParser:
    """A command of its own, with examples below its help."""
    shown = "\n".join(f"  {example}" for example in examples)
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".",
        epilog=f"example{'s' if len(examples) > 1 else ''}:\n{shown}\n\n{textwrap.fill(note, 80)}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    return parser


def positive(text: str) -> float:
    """A positive number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"a positive number is needed; got {text!r}")
    return value


def gap(text: str) -> float:
    """A number between 0 and 1."""
    value = positive(text)
    if value >= 1:
        raise argparse.ArgumentTypeError(f"a relative gap between 0 and 1 is needed; got {text!r}")
    return value


def count(text: str) -> int:
    """A whole number, at least one."""
    return _whole(text, 1, "a positive whole number is needed")


def seed(text: str) -> int:
    """A whole number, zero or more."""
    return _whole(text, 0, "a whole number that is not negative is needed")


def _whole(text: str, least: int, needed: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if value < least:
        raise argparse.ArgumentTypeError(f"{needed}; got {text!r}")
    return value


def check_target(target: Path | None, *endings: str) -> None:
    """Find out that a file cannot be written now, rather than after the work; `endings` are those it may have.

    The folder that it goes to is made if it is not there.
    """
    if target is None:
        return
    if endings and target.suffix.lower() not in endings:
        raise ModelError(f"{target} should end in {' or '.join(endings)}; nothing was solved yet.")
    make_folder(target.resolve().parent)
    check_file(target, f"result{endings[0] if endings else ''}")
