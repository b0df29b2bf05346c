"""What is certified when the LP solver lies? Random models, solved with a master whose answers are spoilt at random.

Models are those of `soundness`, and so is the judge, in exact arithmetic. A share of all answers of the master has nan,
inf or -1 in a field, is off by 1e-9 up to 1, has the wrong status or no multipliers; or it raises an error of Python's,
runs out of memory or says that it is late (`harness/lies.py`). Whatever it says, what is certified must be true, bounds
must not be nan nor be on the wrong side of an optimum, no error may escape that is not ours, and where the solve ends
because of the solver, the message names it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from .harness.figures import machine, table
from .harness.registry import Figures, Options, benchmark, say
from .harness.worker import Worker

TRIES, QUICK = 1000, 60
LIMIT = 1.0  # seconds for a solve
PATIENCE = 40.0  # seconds until a try hangs
SHARES = (0.05, 0.2, 0.5, 1.0)  # of the answers that are lies, in turn
NAMES = ("LyingMaster", "HiGHS")
COUNTS = ("solved", "certified", "false", "misleading", "raw", "unnamed", "refused", "hung")


def measure(name: str, seed: int) -> Iterator[dict[str, Any]]:
    """Solve one model with a liar, and judge the answer."""
    from .harness.lies import LyingMaster
    from .harness.soundness.answers import ask
    from .harness.soundness.classes import generate
    from .harness.soundness.doors import solve
    from .harness.soundness.judge import judge

    model = generate(name, seed)
    liar = LyingMaster(seed, SHARES[seed % len(SHARES)])
    yield {"class": name, "seed": seed}
    try:
        answer = ask(model, LIMIT, lambda given, seconds: solve(given, seconds, master=liar))
    except Exception as error:
        yield {"raw": f"{type(error).__name__}: {error}", "told": liar.told[-3:]}
        return
    yield {"status": answer.status, "certified": answer.certified, "lies": len(liar.told), "told": liar.told[-3:]}
    verdict = judge(model, answer, seed)
    blamed = answer.status == "STALLED" and ("solver" in answer.message or "master" in answer.message)
    yield {
        "false": [*verdict.false, *verdict.broken],
        "misleading": list(verdict.misleading),
        "unnamed": bool(blamed and not any(named in answer.message for named in NAMES)),
        "message": answer.message,
    }


def _takes_masters(model: Any) -> bool:
    """Whether the model is written in our language, so that a master can be chosen."""
    return bool(model.door == "declared" and model.written is None)


def show(figures: Figures) -> str:
    """The counts, and all that is wrong."""
    wrong = [f"{f['class']} {f['seed']}: {f['words']}" for f in figures["findings"]]
    return "\n\n".join([table([figures["summary"]], {"tries": "tries", **{c: c for c in COUNTS}}), "\n".join(wrong)])


@benchmark("masters", "random models with an LP solver that lies: certified, false, misleading, raw", show)
def run(options: Options) -> Figures:
    from .harness.soundness.classes import CLASSES, generate

    count = options.tries if options.tries is not None else (QUICK if options.quick else TRIES)
    names = options.choose(name for name in CLASSES if _takes_masters(generate(name, options.seed)))
    before, start, worker = machine(), time.perf_counter(), Worker(measure)
    done: list[dict[str, Any]] = []
    findings: list[dict[str, Any]] = []
    try:
        for i in range(count):
            name, seed = names[i % len(names)], options.seed + i // len(names)
            found = worker.run(name, seed, seconds=PATIENCE)
            found |= {"class": name, "seed": seed}
            done.append(found)
            for kind in ("false", "misleading", "raw", "failure", "unnamed"):
                if found.get(kind):
                    words = f"{kind}: {found.get(kind)} ({found.get('message', '')}; {found.get('told')})"
                    findings.append({"class": name, "seed": seed, "kind": kind, "words": words})
                    say(f"{name} {seed}: {words}")
    finally:
        worker.stop()
    statuses = Counter(d["status"] for d in done if "status" in d)
    figures = {
        "solved": sum("status" in d and d["status"] != "REFUSED" for d in done),
        "certified": sum(bool(d.get("certified")) for d in done),
        **{kind: sum(bool(d.get(kind)) for d in done) for kind in ("false", "misleading", "raw", "unnamed")},
        "refused": statuses["REFUSED"],
        "hung": sum("failure" in d for d in done),
    }
    return {
        "quick": options.quick,
        "machine": before,
        "seconds": time.perf_counter() - start,
        "seed": options.seed,
        "summary": {"tries": count, **figures, "lies": sum(d.get("lies", 0) for d in done)},
        "statuses": dict(sorted(statuses.items())),
        "goals": [
            {"goal": kind, "figure": figures[kind], "target": 0, "met": figures[kind] == 0}
            for kind in ("false", "misleading", "raw", "unnamed", "hung")
        ],
        "findings": findings,
    }
