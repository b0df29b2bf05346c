"""Does every call either work or explain? Malformed calls of all that is public in lsip, rl and envs.

A try takes a valid call (`harness/fuzz/calls.py` has one of everything public), and replaces one argument or two by
something that is wrong (`harness/fuzz/malformed.py`), in a process of its own. It has

- survived, where an answer came: not everything odd is wrong;
- explained, where an `LSIPError` was raised, or the error of a function or object of the user's own came through, or
  Python itself refused the names or the number of arguments;
- been raw, where any other error was raised: it says nothing of what was expected;
- hung, where no answer came within a minute;
- crashed, where the process died;
- flooded, where memory ran out, or an answer took a gigabyte more than everything before it.

A number that only says how much is to be done (of iterations, points, episodes) may be as large as one likes, and is
not made huge here. `python -m benchmarks fuzz --seed SEED --tries 1` makes one try again.
"""

from __future__ import annotations

import random
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir, contextmanager
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from typing import Any

from .harness.figures import machine, table
from .harness.registry import Figures, Options, benchmark, say
from .harness.worker import Worker

TRIES, QUICK = 20_000, 500
PATIENCE = 60.0  # seconds until a call hangs
FLOOD = 2**30  # bytes that a call may need beyond those before it
EVERY = 500  # tries between two lines of progress
OUTCOMES = ("survived", "explained", "raw", "hung", "crashed", "memory")
HUGE = ("2**63", "10**400", "1e308", "inf", "times 1e300", "with 1e308", "with inf", "np.uint64")
WORK = {  # parameters that say how much is to be done
    *("copies", "count", "cuts", "epochs", "episodes", "evaluate_every", "evaluation_episodes", "every", "halvings"),
    *("horizon", "iterations", "max_boxes", "max_episode_steps", "max_iterations", "max_samples", "minibatches"),
    *(
        "most_costs",
        "most_routes",
        "most_steps",
        "n",
        "num_envs",
        "paths",
        "patience",
        "per_axis",
        "per_pair",
        "points",
    ),
    *("resamples", "rounds", "sample", "samples", "starts", "steps", "time_limit", "total_steps"),
}


def measure(seed: int, only: str | None) -> Iterator[dict[str, Any]]:
    """Make one malformed call."""
    import resource

    from lsip import LSIPError

    from .harness.fuzz.calls import surface

    label, words, function, positional, named = malform(seed, surface() if only is None else chosen(only))
    yield {"call": label, "given": words}
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    try:
        with elsewhere():
            function(*positional, **named)
        outcome, error = "survived", ""
    except LSIPError as raised:
        outcome, error = "explained", f"{type(raised).__name__}: {raised}"
    except MemoryError as raised:
        outcome, error = "memory", _where(raised)
    except Exception as raised:
        outcome, error = ("explained" if theirs(raised) else "raw"), _where(raised)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    if grown * 1024 > FLOOD:
        outcome, error = "memory", f"{grown / 2**20:.1f} GB"
    yield {"outcome": outcome, "error": error[:400], "seconds": time.process_time() - start}


@contextmanager
def elsewhere() -> Iterator[None]:
    """A working directory that goes afterwards: a name of a file may be any text."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder, chdir(folder):
        yield


def chosen(only: str) -> dict[str, Any]:
    """The calls whose names match."""
    from .harness.fuzz.calls import surface

    calls = surface()
    return {name: calls[name] for name in Options(only=only).choose(calls)}


def malform(seed: int, calls: dict[str, Any]) -> tuple[str, str, Any, list[Any], dict[str, Any]]:
    """The call of a seed: its name, what is wrong with it, the function and its arguments."""
    from .harness.fuzz.calls import parameters
    from .harness.fuzz.malformed import malformed

    rng = random.Random(seed)
    label = rng.choice(sorted(calls))
    function, positional, named = calls[label]()
    names = parameters(function)
    places: list[Any] = [*range(len(positional)), *names[len(positional) :]]
    arguments, given = list(positional), dict(named)
    words = []
    for place in rng.sample(places, min(len(places), 1 if rng.random() < 0.8 else 2)):
        here = names[place] if isinstance(place, int) and place < len(names) else place
        name, value = malformed(rng, arguments[place] if isinstance(place, int) else given.get(place))
        while here in WORK and name in HUGE:
            name, value = malformed(rng, None)
        if isinstance(place, int):
            arguments[place] = value
        else:
            given[place] = value
        words.append(f"{here}={name}")
    return label, ", ".join(words), function, arguments, given


def theirs(error: BaseException) -> bool:
    """Whether the error is that of the caller: raised in what was given, or by Python for the names of arguments."""
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1]
    if type(error).__module__ == "gymnasium.error":  # its protocol has errors of its own
        return True
    if "harness/fuzz" in last.filename.replace("\\", "/"):
        return last.name != "first"
    binding = isinstance(error, TypeError) and (
        "unexpected keyword" in str(error) or "positional argument" in str(error)
    )
    return binding and last.filename.replace("\\", "/").endswith("benchmarks/fuzz.py")


def _where(error: BaseException) -> str:
    ours = [f for f in traceback.extract_tb(error.__traceback__) if "/lsip/" in f.filename or "/rl/" in f.filename]
    ours += [f for f in traceback.extract_tb(error.__traceback__) if "/envs/" in f.filename]
    place = f" at {'/'.join(ours[-1].filename.split('/')[-2:])}:{ours[-1].lineno}" if ours else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}{place}"


def attempt(worker: Worker, seed: int, only: str | None) -> dict[str, Any]:
    """The figures of one try."""
    found = {"seed": seed} | worker.run(seed, only, seconds=PATIENCE)
    failure = found.pop("failure", None)
    if failure is not None:
        found |= {"outcome": "hung" if "stopped after" in failure else "crashed", "error": failure}
    return found


def run_all(seeds: list[int], only: str | None, jobs: int) -> list[dict[str, Any]]:
    """All tries, in their order, by so many processes at a time."""
    idle: SimpleQueue[Worker] = SimpleQueue()
    workers = [Worker(measure) for _ in range(jobs)]
    for worker in workers:
        idle.put(worker)

    def one(seed: int) -> dict[str, Any]:
        worker = idle.get()
        try:
            return attempt(worker, seed, only)
        finally:
            idle.put(worker)

    done: list[dict[str, Any]] = []
    try:
        with ThreadPoolExecutor(jobs) as pool:
            for found in pool.map(one, seeds):
                done.append(found)
                if found["outcome"] not in ("survived", "explained"):
                    call = f"{found.get('call')}({found.get('given')})"
                    say(f"{found['outcome']}: {found['seed']}: {call}: {found['error']}")
                if len(done) % EVERY == 0:
                    counts = Counter(d["outcome"] for d in done)
                    say(f"[{len(done)}/{len(seeds)}] " + ", ".join(f"{counts[o]} {o}" for o in OUTCOMES))
    finally:
        for worker in workers:
            worker.stop()
    return done


def show(figures: Figures) -> str:
    """The counts, and all that was neither survived nor explained."""
    wrong = [{"call": f"{f['seed']}: {f['call']}({f['given']})", **f} for f in figures["findings"]]
    parts = [table([figures["summary"]], {"tries": "tries", **{o: o for o in OUTCOMES}})]
    return "\n\n".join([*parts, "\n".join(f"{f['outcome']}: {f['call']}: {f['error']}" for f in wrong)])


@benchmark("fuzz", "malformed calls of everything public: survived, explained, raw, hung, crashed, memory", show)
def run(options: Options) -> Figures:
    count = options.tries if options.tries is not None else (QUICK if options.quick else TRIES)
    before, start = machine(), time.perf_counter()
    done = run_all(list(range(options.seed, options.seed + count)), options.only, options.jobs)
    counts = Counter(d["outcome"] for d in done)
    summary = {"tries": count} | {o: counts[o] for o in OUTCOMES}
    return {
        "quick": options.quick,
        "machine": before,
        "seconds": time.perf_counter() - start,
        "seed": options.seed,
        "summary": summary,
        "goals": [{"goal": o, "figure": counts[o], "target": 0, "met": counts[o] == 0} for o in OUTCOMES[2:]],
        "calls": len({d.get("call") for d in done}),
        "slowest": max((d.get("seconds", 0.0) for d in done), default=0.0),
        "findings": [
            {key: d.get(key) for key in ("outcome", "seed", "call", "given", "error")}
            for d in done
            if d["outcome"] not in OUTCOMES[:2]
        ],
    }
