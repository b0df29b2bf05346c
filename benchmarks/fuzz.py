"""Does every call either work or explain? Malformed calls of all that is public in lsip, rl and envs.

A try takes a valid call of a public callable (`harness/fuzz/surface.py` finds them all), and replaces one argument or
two by something that is wrong (`harness/fuzz/malformed.py`), in a process of its own. One try in four replaces what a
function of the user's answers instead (`harness/fuzz/hooks.py`), and a few make a call that must be refused
(`harness/fuzz/refused.py`). It has

- survived, where an answer came: not everything odd is wrong;
- been silent, where an answer came though the argument cannot mean anything: text for a number, a number for a name, a
  word that is none of those to choose from;
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
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from functools import partial
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
OUTCOMES = ("survived", "explained", "silent", "raw", "hung", "crashed", "memory")
HOOKED, REFUSED = 0.25, 0.03  # shares of the tries
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


def measure(seed: int | None, only: str | None) -> Iterator[dict[str, Any]]:
    """Make one malformed call; none at all without a seed, but everything is ready then."""
    import resource

    from lsip import LSIPError

    if seed is None:
        drawn(0, None)
        return
    try_ = drawn(seed, only)
    yield {"call": try_.label, "given": try_.words}
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    try:
        with elsewhere():
            result = try_.run()
        outcome, error = ("silent", "an answer came") if try_.silent(result) else ("survived", "")
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


@dataclass(frozen=True)
class Try:
    """One call, and what is wrong with it."""

    label: str
    words: str
    run: Callable[[], Any]
    silent: Callable[[Any], bool]  # whether its answer should have been a refusal


def drawn(seed: int, only: str | None) -> Try:
    """The try of a seed: a hook, a call that must be refused, or a malformed call."""
    from .harness.fuzz import hooks
    from .harness.fuzz.refused import REFUSALS

    rng = random.Random(seed)
    kind = rng.random()
    if only is None and kind < HOOKED:
        hook, how = rng.choice(sorted(hooks.HOOKS)), rng.choice(sorted(hooks.NONSENSE))
        answer = hooks.Lie(how)
        return Try(f"hook {hook}", how, partial(hooks.HOOKS[hook], answer, rng), partial(hooks.silent, hook, answer))
    if only is None and kind < HOOKED + REFUSED:
        label = rng.choice(sorted(REFUSALS))
        return Try("refused", label, REFUSALS[label], lambda _: True)
    label, words, function, positional, named = malform(seed, surface() if only is None else chosen(only))
    return Try(label, words, partial(function, *positional, **named), lambda _: meaningless(function, words))


def meaningless(function: Callable[..., Any], words: str) -> bool:
    """Whether an argument cannot mean anything, by the annotation of its parameter."""
    from .harness.fuzz.refused import refused

    return any(refused(function, *part.split("=", 1)) for part in words.split(", "))


@contextmanager
def elsewhere() -> Iterator[None]:
    """A working directory that goes afterwards: a name of a file may be any text."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder, chdir(folder):
        yield


def chosen(only: str) -> dict[str, Any]:
    """The calls whose names match."""
    calls = surface()
    return {name: calls[name] for name in Options(only=only).choose(calls)}


def surface() -> dict[str, Any]:
    """Every public callable."""
    from .harness.fuzz.surface import surface as found

    return found()


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
        return last.name not in ("first", "assign")
    words = ("unexpected keyword", "positional argument", "multiple values for argument", "required keyword-only")
    binding = isinstance(error, TypeError) and any(part in str(error) for part in words)
    return binding and (
        "__init__() got" in str(error) or last.filename.replace("\\", "/").endswith("benchmarks/fuzz.py")
    )


def _where(error: BaseException) -> str:
    ours = [f for f in traceback.extract_tb(error.__traceback__) if "/lsip/" in f.filename or "/rl/" in f.filename]
    ours += [f for f in traceback.extract_tb(error.__traceback__) if "/envs/" in f.filename]
    place = f" at {'/'.join(ours[-1].filename.split('/')[-2:])}:{ours[-1].lineno}" if ours else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}{place}"


def attempt(worker: Worker, seed: int, only: str | None) -> dict[str, Any]:
    """The figures of one try."""
    if worker.idle:  # a new process imports everything, which is no part of the try
        worker.run(None, only, seconds=10 * PATIENCE)
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


@benchmark(
    "fuzz", "malformed calls of all that is public: survived, explained, silent, raw, hung, crashed, memory", show
)
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
