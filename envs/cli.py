"""`lsip reproduce`: the paper's figures and tables from the command line."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import lsip
from lsip.progress import Bar

if TYPE_CHECKING:
    from .experiments.registry import Experiment

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # what `add_subparsers` gives


def add_reproduce(commands: Commands) -> None:
    """Add the command to the subparsers of `lsip`."""
    parser = commands.add_parser(
        "reproduce",
        help="reproduce figures and tables of the paper",
        description="Reproduce figures and tables of the paper. Without a name, list them.",
        epilog="examples:\n  lsip reproduce sewage_heat\n  lsip reproduce all --seeds 1 --out figures\n\n"
        "Every figure comes with a .json file of its numbers.\n"
        "exit code: 0 done; 1 an error; 2 wrong usage; 130 interrupted",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", nargs="?", help="a figure or table, or `all`")
    parser.add_argument(
        "--full",
        action="store_true",
        help="the paper's numbers of seeds and iterations (many minutes per figure; hours for SI-CPO)",
    )
    parser.add_argument(
        "--seeds", type=_count, metavar="N", help="number of random seeds (default: a few; the paper's with --full)"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("runs/reproduce"),
        metavar="DIR",
        help="output directory (default: runs/reproduce)",
    )
    parser.add_argument("--json", action="store_true", help="print the numbers and paths as JSON only")
    parser.set_defaults(run=reproduce)


def reproduce(options: argparse.Namespace) -> int:
    """Run what was asked for, and print the paths written."""
    from .experiments import EXPERIMENTS

    if options.name is None:
        return _list(EXPERIMENTS, options.json)
    chosen = list(EXPERIMENTS) if options.name == "all" else [options.name]
    if not set(chosen) <= set(EXPERIMENTS):
        raise lsip.UsageError(
            f"There is no figure or table named {options.name!r}; the names are {', '.join(EXPERIMENTS)} and all."
        )
    _prepare(options.out)
    written: dict[str, Any] = {}
    for name in chosen:
        experiment = EXPERIMENTS[name]
        if not options.json:
            print(f"{name} ({experiment.label})\n  {experiment.title}", flush=True)
        bar = Bar()
        try:
            outcome = experiment.run(options.out, options.full, options.seeds, partial(_draw, bar, name))
        finally:
            bar.clear()
        if options.json:
            numbers = json.loads(outcome.paths[-1].read_text(encoding="utf-8"))
            written[name] = {"paths": [str(path) for path in outcome.paths], "numbers": numbers}
            continue
        for line in outcome.lines:
            print(f"  {line}")
        for path in outcome.paths:
            print(f"  wrote {path}", flush=True)
    if options.json:
        print(json.dumps(written, allow_nan=False))
    return 0


def _draw(bar: Bar, name: str, done: int, total: int) -> None:
    bar.at(done, total, name)


def _list(experiments: Mapping[str, Experiment], as_json: bool) -> int:
    if as_json:
        print(json.dumps({name: {"label": e.label, "title": e.title} for name, e in experiments.items()}))
        return 0
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
