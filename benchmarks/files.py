"""Is every file refused or read? Mutants of all files that we write: solutions, problems, plans, learners, transitions.

Bits are flipped, ends cut off, noise put in; numbers and words replaced, dropped or doubled inside of intact archives;
arrays of another type or shape, arrays that claim to be huge, arrays that nobody asked for, compressed ones. Each is
read in another process and is

- refused, by an `LSIPError`;
- equal: what was read is what was written;
- other: it means something else, as the file of a problem does in which a number is changed;
- raw, hung or crashed, as in `fuzz`;
- flooded, where reading takes more memory than four times the file and 64 MB for the model.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from functools import cache
from typing import Any

from .harness.figures import counted, machine, table
from .harness.registry import Figures, Options, benchmark, say
from .harness.worker import Worker

TRIES, QUICK = 10_000, 200
PATIENCE = 60.0
MODEL = 64 * 2**20  # bytes that the object itself may need
TIMES = 4  # times the file, that reading may need
OUTCOMES = ("refused", "equal", "other", "raw", "hung", "crashed", "memory")
KINDS = ("solution", "problem", "plan", "mixture", "SICPO", "SICPPO", "PPOLagrangian", "transitions")


@cache
def _kinds() -> dict[str, Any]:
    from .harness.mutated import kinds

    return kinds()


@cache
def _whole(name: str) -> str:
    """What is read of the file that is whole."""
    from .harness.fuzz.specimens import folder

    kind = _kinds()[name]
    path = folder() / f"whole{kind.ending}"
    path.write_bytes(kind.bytes)
    return repr(kind.load(path))


def measure(name: str, seed: int) -> Iterator[dict[str, Any]]:
    """Read one mutant."""
    import resource
    import tracemalloc

    from lsip import LSIPError

    from .fuzz import _where
    from .harness.fuzz.specimens import folder
    from .harness.mutated import mutated

    kind = _kinds()[name]
    whole = _whole(name)
    way, data = mutated(kind, random.Random(seed))
    path = folder() / f"mutant{kind.ending}"
    path.write_bytes(data)
    yield {"way": way}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    tracemalloc.start()
    try:
        outcome = "equal" if repr(kind.load(path)) == whole else "other"
        error = ""
    except LSIPError as raised:
        outcome, error = "refused", str(raised)
    except Exception as raised:
        outcome, error = "raw", _where(raised)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    if max(peak, grown) > TIMES * len(data) + MODEL:
        outcome, error = "memory", f"{max(peak, grown) / 2**20:.0f} MB for a file of {len(data) / 2**20:.2f} MB"
    yield {"outcome": outcome, "error": error[:400]}


def show(figures: Figures) -> str:
    """The counts of each kind, and what is wrong."""
    wrong = [f"{f['outcome']}: {f['kind']} {f['seed']} ({f['way']}): {f['error']}" for f in figures["findings"]]
    rows = [*figures["kinds"], {"kind": "all", **figures["summary"]}]
    return "\n\n".join([table(rows, {"kind": "kind", "tries": "tries", **{o: o for o in OUTCOMES}}), "\n".join(wrong)])


@benchmark("files", "mutated files of every kind: refused, equal, other, raw, hung, crashed, memory", show)
def run(options: Options) -> Figures:
    count = options.tries if options.tries is not None else (QUICK if options.quick else TRIES)
    names = options.choose(KINDS)
    before, start, worker = machine(), time.perf_counter(), Worker(measure)
    done: list[dict[str, Any]] = []
    try:
        for i in range(count):
            name, seed = names[i % len(names)], options.seed + i // len(names)
            found = {"kind": name, "seed": seed} | worker.run(name, seed, seconds=PATIENCE)
            failure = found.pop("failure", None)
            if failure is not None:
                found |= {"outcome": "hung" if "stopped after" in failure else "crashed", "error": failure}
            done.append(found)
            if found["outcome"] in OUTCOMES[3:]:
                say("{outcome}: {kind} {seed}: {error}".format(**found))
    finally:
        worker.stop()

    summary = counted(done, OUTCOMES)
    return {
        "quick": options.quick,
        "machine": before,
        "seconds": time.perf_counter() - start,
        "seed": options.seed,
        "summary": summary,
        "kinds": [{"kind": n, **counted([d for d in done if d["kind"] == n], OUTCOMES)} for n in names],
        "goals": [{"goal": o, "figure": summary[o], "target": 0, "met": summary[o] == 0} for o in OUTCOMES[3:]],
        "findings": [
            {key: d.get(key) for key in ("outcome", "kind", "seed", "way", "error")}
            for d in done
            if d["outcome"] in OUTCOMES[3:]
        ],
    }
