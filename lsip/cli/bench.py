"""`lsip bench`: the measurements of a checkout, run in a process of their own, as `python -m benchmarks` does."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from ..errors import ModelError, UsageError
from .arguments import FAILED, SOLVED, Commands, add_command

COUNTS = {
    "tries": "how many random models (soundness) or mutants (check)",
    "seed": "the seed of the first of them (soundness, check)",
    "jobs": "processes at a time (soundness)",
}
PACKAGE = Path(__file__).resolve().parent.parent.parent  # the folder of a checkout, if this is one


def add(commands: Commands) -> None:
    """Add the command to the subparsers of `lsip`."""
    parser = add_command(
        commands,
        "bench",
        "run a benchmark of the checkout, or list them",
        "lsip bench",
        "lsip bench lsip --quick --only 'abs*'",
        note="Figures go to standard output, progress to standard error. exit code: 0 done; 1 an error; 2 wrong usage; "
        "130 interrupted",
    )
    parser.add_argument("name", nargs="?", help="the benchmark to run (default: list all)")
    parser.add_argument("--json", action="store_true", help="print JSON only")
    parser.add_argument("--quick", action="store_true", help="few repeats and low limits: a rough result")
    parser.add_argument("--only", metavar="PATTERN", help="only problems with such names: text or shell patterns")
    for flag, meaning in COUNTS.items():
        parser.add_argument(f"--{flag}", type=int, metavar="N", help=meaning)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """List the benchmarks, or run one."""
    checkout = _checkout()
    if options.name is None:
        known = _listed(checkout)
        width = max(map(len, known))
        text = "\n".join(f"{name:<{width}}  {title}" for name, title in known.items())
        print(json.dumps([{"name": n, "title": t} for n, t in known.items()], indent=2) if options.json else text)
        return SOLVED
    if not (checkout / "benchmarks" / f"{options.name}.py").is_file():  # Asking for the list imports all of them.
        names = ", ".join(_listed(checkout))
        raise UsageError(f"There is no benchmark called {options.name!r}; choose from {names}.")
    words = [options.name, *(f"--{flag}" for flag in ("json", "quick") if getattr(options, flag))]
    words += [f"--{flag}={given}" for flag in COUNTS if (given := getattr(options, flag)) is not None]
    if options.only is not None:
        words.append(f"--only={options.only}")
    sys.stdout.flush()
    return SOLVED if _benchmarks(checkout, *words).returncode == 0 else FAILED


def _checkout() -> Path:
    """The folder that holds the benchmarks: this one, or that of the package."""
    for folder in (Path.cwd(), PACKAGE):
        if (folder / "benchmarks" / "__main__.py").is_file() and (folder / "lsip").is_dir():
            return folder
    raise ModelError(
        "The benchmarks are part of a checkout of the sources and are not installed with the package. Run this command "
        "in the folder of a checkout, where benchmarks/ is."
    )


def _listed(checkout: Path) -> dict[str, str]:
    """Every benchmark with its title."""
    done = _benchmarks(checkout, quiet=True)
    if done.returncode != 0:
        last = (done.stderr.strip() or "no message").splitlines()[-1]
        raise ModelError(f"The benchmarks of {checkout} cannot be listed: {last}")
    pairs = (line.partition("  ") for line in done.stdout.splitlines() if line.strip())
    return {name: title.strip() for name, _, title in pairs}


def _benchmarks(checkout: Path, *words: str, quiet: bool = False) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", *words]
    return subprocess.run(command, cwd=checkout, check=False, capture_output=quiet, text=True)
