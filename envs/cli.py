"""`lsip reproduce`: the paper's figures and tables from the command line."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

import lsip

WIDTH = 30  # of the progress bar, in characters


def add_reproduce(commands: Any) -> None:
    """Add the command to the subparsers of `lsip`."""
    parser = commands.add_parser(
        "reproduce",
        help="compute figures and tables of the paper again",
        description="Compute figures and tables of the paper again. Without a name: list them.",
        epilog="Every figure comes with a .json file of its numbers. Exit code: 0 done; 1 an error; 130 interrupted.",
    )
    parser.add_argument("name", nargs="?", help="a figure or table, or `all`")
    parser.add_argument("--full", action="store_true", help="as many seeds as in the paper; minutes instead of seconds")
    parser.add_argument(
        "--seeds", type=_count, metavar="N", help="how many random seeds (default: a few; the paper's with --full)"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("runs/reproduce"),
        metavar="DIR",
        help="where to write (default: runs/reproduce)",
    )
    parser.set_defaults(run=reproduce)


def reproduce(options: argparse.Namespace) -> int:
    """Run what was asked for, and print the paths written."""
    from .experiments import EXPERIMENTS

    if options.name is None:
        return _list(EXPERIMENTS)
    chosen = list(EXPERIMENTS) if options.name == "all" else [options.name]
    if not set(chosen) <= set(EXPERIMENTS):
        raise lsip.ModelError(
            f"There is no figure or table named {options.name!r}; the names are {', '.join(EXPERIMENTS)} and all."
        )
    _prepare(options.out)
    for name in chosen:
        experiment = EXPERIMENTS[name]
        print(f"{name} ({experiment.label})\n  {experiment.title}", flush=True)
        bar = Bar(name)
        try:
            outcome = experiment.run(options.out, options.full, options.seeds, bar)
        finally:
            bar.clear()
        for line in outcome.lines:
            print(f"  {line}")
        for path in outcome.paths:
            print(f"  wrote {path}", flush=True)
    return 0


def _list(experiments: Any) -> int:
    width = max(len(name) for name in experiments)
    label = max(len(e.label) for e in experiments.values())
    for name, experiment in experiments.items():
        print(f"{name:<{width}}  {experiment.label:<{label}}  {experiment.title}")
    print("\nRun one with `lsip reproduce NAME`, or all of them with `lsip reproduce all`.")
    return 0


def _prepare(out: Path) -> None:
    """Make the folder, and find out whether it can be written to now rather than after minutes of work."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise lsip.ModelError(
            f"The folder {out} cannot be made ({error.strerror}); name another one with --out."
        ) from error
    if not os.access(out, os.W_OK):
        raise lsip.ModelError(f"The folder {out} cannot be written to; name another one with --out.")


def _count(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"a positive whole number is needed; got {text!r}")
    return value


class Bar:
    """A progress bar on standard error; silent where that is not a terminal."""

    def __init__(self, name: str) -> None:
        self.name, self.began = name, time.monotonic()
        self.shown = sys.stderr.isatty()

    def __call__(self, done: int, total: int) -> None:
        """Draw how many of how many steps are done."""
        if self.shown:
            filled = WIDTH * done // max(total, 1)
            seconds = time.monotonic() - self.began
            bar = "#" * filled + "." * (WIDTH - filled)
            print(f"\r  {self.name} [{bar}] {done}/{total}  {seconds:.0f} s ", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Remove the bar from the terminal."""
        if self.shown:
            print("\r" + " " * (WIDTH + 40) + "\r", end="", file=sys.stderr, flush=True)
