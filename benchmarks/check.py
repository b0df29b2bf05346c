"""The second opinion: how much of the catalogue the independent checker proves again, and whether it can be fooled.

(a) Every certified entry with at most two coordinates of its index is exported and checked in a fresh interpreter, a
    minute each at most: `accepted`, `rejected` (not proven), `refused` (not known to the checker) or `late`.
(b) Mutants of small proofs: one number, the index set or the status is changed. Those that fractions show to be false
    (`harness/mutants.py`) must not be accepted.
"""

from __future__ import annotations

import importlib.util
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import lsip
from lsip import catalogue

from .harness import mutants
from .harness.figures import machine, table
from .harness.registry import Figures, Options, benchmark, say

LIMIT = 60.0  # seconds for a solve, and for a check
MUTANTS, FEW = 10_000, 300
CHECKER = Path(lsip.__file__).parent / "proof" / "checker.py"
VERDICTS = {0: "accepted", 1: "rejected", 2: "unreadable", 3: "refused"}


def show(figures: Figures) -> str:
    """Both parts in words, and what was not accepted."""
    checks, fooled = figures["catalogue"], figures["mutants"]
    head = (
        f"{checks['accepted']} of {checks['certified']} certified entries with m <= 2 accepted, the slowest in "
        f"{checks['slowest']:.3g} s; of {fooled['mutants']} mutants {fooled['false']} are false, and "
        f"{fooled['false_accepted']} of these were accepted\n\n"
    )
    rows = [p for p in figures["problems"] if p["verdict"] != "accepted"]
    return head + (table(rows, {"name": "not accepted", "verdict": "verdict", "said": "said"}) if rows else "")


@benchmark("check", "what the independent checker proves again, and whether it can be fooled", show)
def check(options: Options) -> Figures:
    """The catalogue, then the mutants."""
    problems = []
    for name in options.choose(catalogue.names()):
        found = _checked(name)
        if found is not None:
            problems.append(found)
            say(f"{name}: {found['verdict']}")
    accepted = [p for p in problems if p["verdict"] == "accepted"]
    tries = options.tries if options.tries is not None else FEW if options.quick else MUTANTS
    return {
        "machine": machine(),
        "problems": problems,
        "catalogue": {
            "certified": len(problems),
            "accepted": len(accepted),
            "slowest": max((p["seconds"] for p in accepted), default=0.0),
        },
        "mutants": fool(tries, options.seed),
    }


def _checked(name: str) -> dict[str, Any] | None:
    """The verdict on one entry; None where it is not certified, or has more coordinates."""
    problem = catalogue.get(name).build()
    if max((f.domain.dim for f in problem.compile().families), default=0) > 2:
        return None
    solution = problem.solve(verbose=False, time_limit=LIMIT)
    if not solution.certified:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "proof.json"
        solution.export(path)
        began = time.perf_counter()
        try:
            done = subprocess.run(
                [sys.executable, "-I", str(CHECKER), str(path)],
                capture_output=True,
                text=True,
                timeout=LIMIT,
                check=False,
            )
            verdict, said = VERDICTS.get(done.returncode, "broken"), (done.stderr or done.stdout).strip()
        except subprocess.TimeoutExpired:
            verdict, said = "late", f"more than {LIMIT:g} s"
        seconds = time.perf_counter() - began
    return {"name": name, "verdict": verdict, "seconds": seconds, "said": " ".join(said.split())[:120]}


def fool(tries: int, seed: int) -> dict[str, Any]:
    """So many mutants in turn; those that are false and were accepted are listed with their numbers."""
    checker = load_checker()
    honest = mutants.proofs()
    counts = {"mutants": tries, "false": 0, "false_accepted": 0, "others": 0, "others_accepted": 0}
    fooled: list[dict[str, Any]] = []
    kinds: dict[str, int] = {}
    for number in range(seed, seed + tries):
        rng = random.Random(number)
        name = rng.choice(list(honest))
        data, kind = mutants.mutant(honest[name], rng)
        kinds[kind] = kinds.get(kind, 0) + 1
        wrong = mutants.false(name, honest[name], data, kind)
        accepted = accepts(checker, data)
        counts["false" if wrong else "others"] += 1
        if accepted:
            counts["false_accepted" if wrong else "others_accepted"] += 1
            if wrong:
                fooled.append({"number": number, "example": name, "kind": kind})
        if number % 1000 == 999:
            say(f"{number + 1} mutants")
    return {**counts, "kinds": kinds, "fooled": fooled}


def load_checker() -> Any:
    """The checker as a module of its own, for checks in turn; `lsip check` runs it by its path."""
    spec = importlib.util.spec_from_file_location("independent_checker", CHECKER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def accepts(checker: Any, data: mutants.Data) -> bool:
    """Whether the checker proves what the data claim."""
    try:
        checker.check(data)
    except Exception:  # Whatever it raises, it has not accepted.
        return False
    return True
