"""`lsip check`."""

from __future__ import annotations

import argparse
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from ..errors import MissingExtraError, UsageError
from .arguments import Commands, add_command

CHECKER = Path(__file__).resolve().parent.parent / "proof" / "checker.py"
CODES = (
    "exit code: 0 proven again; 1 not proven, or an error; 2 wrong usage, or no proof that can be read; 3 refused: "
    "something in it is not known to the checker; 130 interrupted"
)


def add(commands: Commands) -> None:
    """Add the command to the subparsers of `lsip`."""
    parser = add_command(
        commands,
        "check",
        "check an exported proof with a program that shares no code with the solver",
        "lsip check proof.json    # written by solution.export('proof.json')",
        note=CODES,
    )
    parser.add_argument("proof", type=Path, help="a file written by solution.export")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the checker by its path, in an interpreter that knows nothing of lsip."""
    if find_spec("flint") is None:
        raise MissingExtraError("The checker needs python-flint: pip install 'lsip[check]'.")
    if not options.proof.is_file():
        raise UsageError(f"There is no file {options.proof}; solution.export('proof.json') writes a proof.")
    sys.stdout.flush()
    return subprocess.run([sys.executable, "-I", str(CHECKER), str(options.proof)], check=False).returncode
