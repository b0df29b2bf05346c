"""The command line of the benchmarks: a list of them, a table of figures, or the figures as one JSON object."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from dataclasses import fields

from .harness.figures import plain
from .harness.registry import Options, benchmarks


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Run a benchmark, or list them all.")
    parser.add_argument("name", nargs="?", help="the benchmark to run; without it, all are listed")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument(
        "--only", metavar="PATTERN", help="only problems of these names: text or shell patterns, with commas"
    )
    parser.add_argument("--quick", action="store_true", help="few repeats and low limits: a look, not a measurement")
    parser.add_argument(
        "--tries",
        type=int,
        metavar="N",
        help="how many random models, calls, mutants or interrupts",
    )
    parser.add_argument("--seeds", type=int, metavar="N", help="how many learners, a seed each (learn, si_cppo)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="the seed of the first of them, or of all")
    parser.add_argument("--jobs", type=int, default=1, metavar="J", help="processes at a time (soundness, fuzz)")
    parser.add_argument("--compare", metavar="FILE", help="list what differs from the JSON of an earlier run (record)")
    parser.add_argument(
        "--keep", metavar="FILE", help="add each run to FILE, and do not make those there (methods, ablation)"
    )
    given = parser.parse_args(arguments)
    if any(count is not None and count < 1 for count in (given.tries, given.seeds, given.jobs)) or given.seed < 0:
        parser.error("--tries, --seeds and --jobs are at least 1, and --seed is at least 0")
    known = benchmarks()
    if given.name is None:
        width = max(map(len, known))
        print("\n".join(f"{name:<{width}}  {known[name].title}" for name in sorted(known)))
        return 0
    if given.name not in known:
        parser.error(f"there is no benchmark called {given.name!r}; choose from {', '.join(sorted(known))}")
    chosen = known[given.name]
    options = Options(**{f.name: getattr(given, f.name) for f in fields(Options)})
    try:
        command = shlex.join(["python", "-m", "benchmarks", *(sys.argv[1:] if arguments is None else arguments)])
        figures = plain({"benchmark": chosen.name, "title": chosen.title, "command": command, **chosen.run(options)})
    except (LookupError, KeyboardInterrupt) as error:
        print(f"{parser.prog}: {str(error) or 'interrupted'}", file=sys.stderr)
        return 1
    print(json.dumps(figures, allow_nan=False) if given.json else chosen.show(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
