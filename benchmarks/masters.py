"""What is certified when a solver lies? Random models, solved by solvers whose answers are spoilt at random.

A share of all answers has nan, inf or -1 in a field, is off by 1e-9 up to 1, has the wrong status or no multipliers; or
an error of Python's is raised, memory runs out, or it is late (`harness/lies.py`). Whatever they say, what is certified
must be true, bounds must not be nan nor be on the wrong side of an optimum, no error may escape that is not ours, and
where the solve ends because of the solver, the message names it. In turn, those that lie are

- HiGHS, Clarabel through CVXPY, and Gurobi where it is installed, as masters of linear programs: models are those of
  `soundness`, and so is the judge, in exact arithmetic;
- the branch and bound of HiGHS, and Clarabel as the solver of cones: models of `harness/worst_cases.py`. A bound that
  the answer says to be taken on trust is the solver's, and is not judged.
"""

from __future__ import annotations

import math
import random
import time
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from .harness.figures import machine, table
from .harness.registry import Figures, Options, benchmark, say
from .harness.worker import Worker

TRIES, QUICK = 1000, 60
LIMIT = 1.0  # seconds for a solve
PATIENCE = 40.0  # seconds until a try hangs
SHARES = (0.05, 0.2, 0.5, 1.0)  # of the answers that are lies, at random
NAMES = ("LyingMaster", "HiGHS", "highs", "Clarabel")
LINEAR, WHOLE = ("highs", "cvxpy", "gurobi"), ("integer", "cone")
NEEDS = {"cvxpy": "cvxpy", "gurobi": "gurobipy"}  # what has to be installed
CLOSE = 1e-9  # what rounding may do to a bound, relatively
COUNTS = ("solved", "certified", "false", "misleading", "raw", "unnamed", "refused", "hung")


def measure(kind: str, name: str, seed: int) -> Iterator[dict[str, Any]]:
    """Solve one model with a liar, and judge the answer."""
    yield {"kind": kind, "class": name, "seed": seed}
    try:
        yield from (_linear if kind in LINEAR else _whole)(kind, name, seed)
    except Exception as error:
        yield {"raw": f"{type(error).__name__}: {error}"}


def _linear(kind: str, name: str, seed: int) -> Iterator[dict[str, Any]]:
    """A random model of a class, with a master that lies."""
    from .harness.lies import LyingMaster
    from .harness.soundness.answers import ask
    from .harness.soundness.classes import generate
    from .harness.soundness.doors import solve
    from .harness.soundness.judge import judge

    model = generate(name, seed)
    liar = LyingMaster(seed, _share(name, seed), honest="cvxpy:CLARABEL" if kind == "cvxpy" else kind)
    answer = ask(model, LIMIT, lambda given, seconds: solve(given, seconds, master=liar))
    yield {"status": answer.status, "certified": answer.certified, "lies": len(liar.told), "told": liar.told[-3:]}
    verdict = judge(model, answer, seed)
    yield {
        "false": [*verdict.false, *verdict.broken],
        "misleading": list(verdict.misleading),
        "unnamed": _unnamed(answer.status, answer.message),
        "message": answer.message,
    }


def _share(name: str, seed: int) -> float:
    return random.Random(f"{name} {seed}").choice(SHARES)


def _whole(kind: str, name: str, seed: int) -> Iterator[dict[str, Any]]:
    """A model whose optimum is known, with a branch and bound or a cone solver that lies."""
    from lsip.masters.clarabel import ClarabelProgram
    from lsip.masters.highs import HighsProgram
    from lsip.proof.certificate import TreeAssumption

    from .harness.lies import Liar, lying
    from .harness.worst_cases import draw

    model = draw(kind, seed)
    liar = Liar(seed, _share(name, seed))
    with lying(liar, HighsProgram, ClarabelProgram):
        answer = model.problem.solve(method=model.method, verbose=False, time_limit=LIMIT)
    status = answer.status.name
    yield {"status": status, "certified": answer.certified, "lies": len(liar.told), "told": liar.told[-3:]}
    trusted = any(isinstance(a, TreeAssumption) for a in answer.certificate.trusts)
    wrong = [] if trusted else _wrong(model, answer)
    yield {
        "false": wrong if answer.certified else [],
        "misleading": [] if answer.certified else wrong,
        "unnamed": _unnamed(status, answer.message),
        "message": answer.message,
    }


def _wrong(model: Any, answer: Any) -> list[str]:
    """What an answer says of the optimum that is not so."""
    room = CLOSE * (1 + abs(model.upper)) if model.upper < math.inf else 0.0
    found = []
    if math.isnan(answer.lower) or math.isnan(answer.upper):
        found.append(f"bounds {answer.lower} and {answer.upper}")
    if answer.lower > model.upper + room:
        found.append(f"lower {answer.lower!r} above the optimum {model.upper!r}")
    if answer.upper < model.lower - room:
        found.append(f"upper {answer.upper!r} below the optimum {model.lower!r}")
    if answer.certified and answer.status.name == "INFEASIBLE" and model.upper < math.inf:
        found.append(f"infeasible, and the optimum is {model.upper!r}")
    return found


def _unnamed(status: str, message: str) -> bool:
    """Whether a solver is blamed without its name."""
    blamed = status == "STALLED" and ("solver" in message or "master" in message or "branch and bound" in message)
    return blamed and not any(named.lower() in message.lower() for named in NAMES)


def _takes_masters(model: Any) -> bool:
    """Whether the model is written in our language, so that a master can be chosen."""
    return bool(model.door == "declared" and model.written is None)


def _tries(options: Options, count: int) -> Iterator[tuple[str, str, int]]:
    """The kind of solver, the class of the model and the seed of every try."""
    from .harness.soundness.classes import CLASSES, generate

    classes = [name for name in CLASSES if _takes_masters(generate(name, options.seed))]
    kinds = options.choose(k for k in (*LINEAR, *WHOLE) if k not in NEEDS or find_spec(NEEDS[k]) is not None)
    for i in range(count):
        kind, turn = kinds[i % len(kinds)], i // len(kinds)
        if kind in WHOLE:
            yield kind, kind, options.seed + turn
        else:
            yield kind, classes[turn % len(classes)], options.seed + turn // len(classes)


def show(figures: Figures) -> str:
    """The counts of each kind, and all that is wrong."""
    wrong = [f"{f['kind']}, {f['class']} {f['seed']}: {f['words']}" for f in figures["findings"]]
    rows = [*figures["kinds"], {"kind": "all", **figures["summary"]}]
    columns = {"kind": "kind", "tries": "tries", "lies": "lies", **{c: c for c in COUNTS}}
    return "\n\n".join([table(rows, columns), "\n".join(wrong)])


def _counts(done: list[dict[str, Any]]) -> dict[str, int]:
    return {
        "tries": len(done),
        "lies": sum(d.get("lies", 0) for d in done),
        "solved": sum("status" in d and d["status"] != "REFUSED" for d in done),
        "certified": sum(bool(d.get("certified")) for d in done),
        **{kind: sum(bool(d.get(kind)) for d in done) for kind in ("false", "misleading", "raw", "unnamed")},
        "refused": sum(d.get("status") == "REFUSED" for d in done),
        "hung": sum("failure" in d for d in done),
    }


@benchmark("masters", "random models with solvers that lie: certified, false, misleading, raw", show)
def run(options: Options) -> Figures:
    count = options.tries if options.tries is not None else (QUICK if options.quick else TRIES)
    before, start, worker = machine(), time.perf_counter(), Worker(measure)
    done: list[dict[str, Any]] = []
    findings: list[dict[str, Any]] = []
    try:
        for kind, name, seed in _tries(options, count):
            found = {"kind": kind} | worker.run(kind, name, seed, seconds=PATIENCE)
            done.append(found)
            for fault in ("false", "misleading", "raw", "failure", "unnamed"):
                if found.get(fault):
                    words = f"{fault}: {found.get(fault)} ({found.get('message', '')}; {found.get('told')})"
                    findings.append({"kind": kind, "class": name, "seed": seed, "fault": fault, "words": words})
                    say(f"{kind}, {name} {seed}: {words}")
    finally:
        worker.stop()
    summary, kinds = _counts(done), list(dict.fromkeys(d["kind"] for d in done))
    return {
        "quick": options.quick,
        "machine": before,
        "seconds": time.perf_counter() - start,
        "seed": options.seed,
        "summary": summary,
        "kinds": [{"kind": kind, **_counts([d for d in done if d["kind"] == kind])} for kind in kinds],
        "statuses": dict(sorted(Counter(d["status"] for d in done if "status" in d).items())),
        "goals": [
            {"goal": kind, "figure": summary[kind], "target": 0, "met": summary[kind] == 0}
            for kind in ("false", "misleading", "raw", "unnamed", "hung")
        ],
        "findings": findings,
    }
