"""How to add a command: a function that takes the subparsers of `lsip`, named in the entry-point group `lsip.commands`.

Any installed package can have one. In its `pyproject.toml`:

    [project.entry-points."lsip.commands"]
    known = "my_package.cli:add_known"

The function adds a parser and sets its default `run`, a function from the parsed arguments to an exit code: 0 done,
1 an error, 2 wrong usage, 3 proven infeasible or unbounded. Errors that a person can do something about are raised as
`lsip.LSIPError` or one of its kinds; `lsip` prints them as one paragraph and ends with 1. What is slow to import is
imported inside `run`, because all commands are asked to add themselves for `lsip --help`.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lsip
from lsip import cli


def add_known(commands: Any) -> None:
    """Add `lsip known` to the subparsers of `lsip`."""
    parser = commands.add_parser("known", help="print the known optimum of a catalogue problem")
    parser.add_argument("name", help="as `lsip catalogue` lists it")
    parser.add_argument("--digits", type=int, default=6, metavar="N", help="how many to print (default: 6)")
    parser.set_defaults(run=known)


def known(options: argparse.Namespace) -> int:
    """Print the optimum; a name that there is none of raises a ModelError."""
    entry = lsip.catalogue.get(options.name)
    if not math.isfinite(entry.value):
        raise lsip.ModelError(f"{options.name} has no optimum: it is {entry.status}.")
    print(f"{entry.value:.{options.digits}g}")
    return 0


Install = Callable[[str, str], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Put a package on the path that names a function of this file as a command, as pip would."""

    def done(name: str, function: str) -> None:
        folder = tmp_path / f"{name}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(f"[lsip.commands]\n{name} = {__name__}:{function}\n")

    monkeypatch.syspath_prepend(tmp_path)
    return done


def test_the_template_is_a_command(install: Install, capsys: pytest.CaptureFixture[str]) -> None:
    install("known", "add_known")
    assert cli.main(["known", "abs_d2", "--digits", "4"]) == 0
    assert capsys.readouterr().out == "0.125\n"
    with pytest.raises(SystemExit, match="0"):
        cli.main(["--help"])
    assert "print the known optimum of a catalogue problem" in capsys.readouterr().out


def test_its_errors_are_one_paragraph(install: Install, capsys: pytest.CaptureFixture[str]) -> None:
    install("known", "add_known")
    assert cli.main(["known", "infeasible_abs"]) == 1
    assert capsys.readouterr().err == "lsip: infeasible_abs has no optimum: it is infeasible.\n"
    with pytest.raises(SystemExit, match="2"):
        cli.main(["known"])
    assert "`lsip known --help` shows how it is used" in capsys.readouterr().err


# ---- commands that are none ------------------------------------------------------------------------------------------


def add_without_run(commands: Any) -> None:
    commands.add_parser("idle", help="nothing to do")


def add_half(commands: Any) -> None:
    commands.add_parser("half")
    raise ImportError("numpy 99 is not installed")


def add_solve(commands: Any) -> None:
    commands.add_parser("solve", help="another one").set_defaults(run=known)


@pytest.mark.parametrize(
    ("name", "function", "reason"),
    [
        ("idle", "add_without_run", "is not available: it sets no default `run` for idle"),
        ("half", "add_half", "is not available: numpy 99 is not installed"),
        ("lost", "nowhere", "is not available: module 'tests.extensions.test_command_template' has no attribute"),
    ],
)
def test_a_broken_command_says_why_and_breaks_nothing_else(
    name: str, function: str, reason: str, install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install(name, function)
    install("known", "add_known")
    assert cli.main([name]) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert said.startswith(f"lsip: The command '{name}' of {__name__}")
    assert reason in said
    assert cli.main(["known", "abs_d2"]) == 0
    with pytest.raises(SystemExit, match="0"):
        cli.main(["--help"])


def test_the_commands_of_lsip_cannot_be_replaced(install: Install, capsys: pytest.CaptureFixture[str]) -> None:
    install("solve", "add_solve")
    with pytest.raises(SystemExit, match="0"):
        cli.main(["--help"])
    assert "another one" not in capsys.readouterr().out
    with pytest.raises(SystemExit, match="0"):
        cli.main(["solve", "--help"])
    assert "lsip solve" in capsys.readouterr().out
