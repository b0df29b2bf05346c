"""What does an interrupt leave behind? Ctrl-C and SIGTERM at random moments of a child that solves, learns or saves.

- import: `import lsip` in a new interpreter;
- compile: a model with long sums is compiled again and again;
- solve: problems of the catalogue, in a loop; Ctrl-C ends a solve with an answer, whose bounds must hold;
- command: the same through `lsip solve`, which takes a SIGTERM for a Ctrl-C;
- learn: SI-CPO with a checkpoint, which must be there and load afterwards; a SIGTERM may leave an earlier one;
- save: a solution is written to one file again and again, which must load afterwards.

Besides, one child compiles on and counts, and each Ctrl-C has to arrive: what comes while a finaliser runs is lost if
that is Python's (see `lsip/lifetime.py`).

A child that has not ended ten seconds after the signal hangs; one that leaves processes, halves of files, files that do
not load or bounds that are wrong has failed.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from .harness.figures import counted, machine, table
from .harness.registry import Figures, Options, benchmark, say

TRIES, QUICK = 300, 24
STORM = 10  # signals in a row, for every try
PATIENCE = 10.0  # seconds of wall time that a child may take to end
LONGEST = 1.5  # seconds before the signal
ENTRY = "power_grid_20"  # of the catalogue: it takes about a second
OUTCOMES = ("ended", "answered", "hung", "orphans", "broken")


def _compile(folder: Path) -> None:
    import numpy as np

    import lsip

    while True:
        x, t = lsip.Variable(200, name="x", lower=0), lsip.Index("t", lsip.Interval(0, 1))
        rows = lsip.forall(t, np.exp(np.linspace(0, 1, 200) * t) @ x >= 1 + t)
        lsip.Problem(lsip.minimize(x.sum()), [rows]).compile()


def _solve(folder: Path) -> None:
    from lsip import catalogue

    entry = catalogue.get(ENTRY)
    while True:
        solution = entry.build().solve(verbose=False)
        if solution.status.name == "INTERRUPTED":
            found = {"lower": solution.lower, "upper": solution.upper, "value": entry.value}
            (folder / "answer.json").write_text(json.dumps(found), encoding="utf-8")
            return


def _command(folder: Path) -> None:
    from lsip.cli import main

    model = folder / "model.py"
    model.write_text(f"import lsip\nproblem = lsip.catalogue.get({ENTRY!r}).build()\n", encoding="utf-8")
    while main(["solve", str(model), "--quiet", "--save", str(folder / "solution.npz")]) == 0:
        pass


def _learn(folder: Path) -> None:
    from .harness.fuzz import specimens

    specimens.learner().learn(10**6, checkpoint=folder / "agent.npz", every=1)


def _save(folder: Path) -> None:
    from .harness.fuzz import specimens

    while True:
        specimens.solution().save(folder / "solution.npz")


PHASES: dict[str, Callable[[Path], None] | None] = {
    "import": None,
    "compile": _compile,
    "solve": _solve,
    "command": _command,
    "learn": _learn,
    "save": _save,
}


def attempt(phase: str, seed: int) -> dict[str, Any]:
    """Interrupt one child."""
    rng = random.Random(f"{phase} {seed}")
    number, delay = rng.choice((signal.SIGINT, signal.SIGTERM)), rng.uniform(0.0, LONGEST)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        child = _started(phase, folder)
        time.sleep(delay)
        began = time.perf_counter()
        _tell(child, number)
        code = _ended(child)
        found = {"phase": phase, "seed": seed, "signal": number.name, "delay": delay, "code": code}
        found["seconds"] = time.perf_counter() - began
        if code is None:
            return found | {"outcome": "hung", "words": f"{PATIENCE:g} s after the signal"}
        if _alive(child):
            _tell(child, signal.SIGKILL)
            return found | {"outcome": "orphans", "words": "processes of its group are left"}
        return found | _left(phase, folder)


def storm(count: int, seed: int) -> int:
    """How many of so many Ctrl-C are lost by a child that compiles, catches each, and compiles on."""
    rng, (told, tells) = random.Random(seed), os.pipe()
    child = os.fork()
    if not child:
        try:
            _endure(tells)
        finally:
            os._exit(1)
    lost = 0
    os.read(told, 1)  # it has begun
    for _ in range(count):
        time.sleep(rng.uniform(0.0, 0.05))
        os.kill(child, signal.SIGINT)
        if select.select([told], [], [], PATIENCE)[0]:
            os.read(told, 1)
        else:
            lost += 1
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(told)
    os.close(tells)
    return lost


def _endure(tells: int) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    while True:
        try:
            os.write(tells, b".")
            _compile(Path())
        except KeyboardInterrupt:
            pass


def _started(phase: str, folder: Path) -> int:
    """A child in a group of its own; it is forked, but for imports, so that it need not import."""
    work = PHASES[phase]
    if work is None:
        silent = [(os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)]
        command = [sys.executable, "-c", "import lsip"]
        return os.posix_spawn(sys.executable, command, os.environ, file_actions=silent, setsid=True)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # which waits until the child takes it
    child = os.fork()
    if child:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return child
    code = 1
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        work(folder)
        code = 0
    except KeyboardInterrupt:
        code = 130
    finally:
        os._exit(code)


def _tell(child: int, number: int) -> None:
    try:
        os.killpg(child, number)
    except (ProcessLookupError, PermissionError):  # it has ended, or is not yet the head of a group
        with suppress(ProcessLookupError):
            os.kill(child, number)


def _ended(child: int) -> int | None:
    """The exit code; None if it had to be killed."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    _tell(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _left(phase: str, folder: Path) -> dict[str, Any]:
    """What is in the folder, and whether it is whole."""
    import lsip
    import rl

    from .harness.fuzz import specimens

    try:
        answered = False
        for path in folder.iterdir():
            answered |= path.suffix in (".json", ".npz")
            if path.name == "answer.json":
                found = json.loads(path.read_text(encoding="utf-8"))
                slack = 1e-9 * (1 + abs(found["value"]))
                if not found["lower"] - slack <= found["value"] <= found["upper"] + slack:
                    return {"outcome": "broken", "words": f"bounds {found}"}
            elif path.suffix == ".npz":
                loaded: Any = (
                    rl.SICPO.load(path, specimens.mdp(), device="cpu") if phase == "learn" else lsip.load(path)
                )
                repr(loaded)
            elif path.suffix not in (".part", ".py"):  # a kill may leave half of a new file under a name of its own
                return {"outcome": "broken", "words": f"{path.name} is left"}
    except Exception as error:
        return {"outcome": "broken", "words": f"{type(error).__name__}: {error}"}
    return {"outcome": "answered" if answered else "ended", "words": ""}


def show(figures: Figures) -> str:
    """The counts of each phase, and what went wrong."""
    wrong = [f"{f['outcome']}: {f['phase']} {f['seed']} {f['signal']}: {f['words']}" for f in figures["findings"]]
    rows = [*figures["phases"], {"phase": "all", **figures["summary"]}]
    return "\n\n".join(
        [
            table(rows, {"phase": "phase", "tries": "tries", **{o: o for o in OUTCOMES}}),
            "of {signals} Ctrl-C in a row, {lost} were lost".format(**figures["storm"]),
            "\n".join(wrong),
        ]
    )


@benchmark("interrupts", "Ctrl-C and SIGTERM at random moments: ended, answered, hung, orphans, broken", show)
def run(options: Options) -> Figures:
    from .harness.fuzz import specimens

    count = options.tries if options.tries is not None else (QUICK if options.quick else TRIES)
    names = options.choose(PHASES)
    if {"learn", "save"} & set(names):  # what children need is made once
        specimens.mdp(), specimens.solution(), specimens.learner()
    before, start = machine(), time.perf_counter()
    done = []
    for i in range(count):
        found = attempt(names[i % len(names)], options.seed + i // len(names))
        done.append(found)
        if found["outcome"] in OUTCOMES[2:]:
            say("{outcome}: {phase} {seed} {signal}: {words}".format(**found))

    summary = counted(done, OUTCOMES)
    row = {"signals": STORM * count, "lost": storm(STORM * count, options.seed)}
    return {
        "quick": options.quick,
        "machine": before,
        "seconds": time.perf_counter() - start,
        "seed": options.seed,
        "summary": summary,
        "phases": [{"phase": n, **counted([d for d in done if d["phase"] == n], OUTCOMES)} for n in names],
        "storm": row,
        "slowest": max(d["seconds"] for d in done),
        "codes": dict(Counter(str(d["code"]) for d in done)),
        "goals": [
            {"goal": what, "figure": figure, "target": 0, "met": figure == 0}
            for what, figure in [*((o, summary[o]) for o in OUTCOMES[2:]), ("lost", row["lost"])]
        ],
        "findings": [d for d in done if d["outcome"] in OUTCOMES[2:]],
    }
