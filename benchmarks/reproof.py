"""How many proofs NumPy makes again: `verify()` without the compiled kernel, in ten times the solve.

Every entry of the catalogue is solved, and its answer verified with nothing kept from the solve. `verify` asks NumPy
first and the kernel where NumPy's enclosures are too wide; here there is no kernel to ask, so that two implementations
have to agree. Times are of the processor. What is not proven again is listed, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

from lsip import catalogue
from lsip.errors import OutOfTime, ProofError
from lsip.kernel.native import Kernel

from .harness.clock import forget
from .harness.figures import machine, median, quantile, table
from .harness.outcome import clocked
from .harness.registry import Figures, Options, benchmark, say
from .harness.worker import Worker

LIMIT = 60.0  # seconds of a solve
TIMES = 10.0  # as long as the solve, that NumPy may take
SLACK = 3.0  # times that, in seconds of the clock on the wall, after which it is stopped
LEAST = 1.0  # seconds that it has in any case before it is stopped: shorter ones are too short to be told apart
WANTED = 0.9  # the share that is proven again in time
NONE = Kernel(None, "numpy", "it is left out on purpose")


def measure(name: str) -> Iterator[dict[str, Any]]:
    """Solve and verify one entry."""
    problem = catalogue.get(name).build()
    forget()
    spent, solution = clocked(lambda: problem.solve(verbose=False, time_limit=LIMIT))
    yield {"status": solution.status.name, "certified": solution.certified, "solve": spent["cpu"]}
    if not solution.certified:
        return
    spent, why = clocked(lambda: _refused(solution, max(SLACK * TIMES * spent["seconds"], LEAST)))
    yield {"verify": spent["cpu"], "why": why}


def _refused(solution: Any, seconds: float) -> str:
    """Why NumPy alone does not prove it again; nothing if it does."""
    try:
        with patch("lsip.solution.verify.kernel", lambda: NONE):
            solution.verify(time_limit=seconds)
    except (OutOfTime, ProofError) as error:
        return f"{type(error).__name__}: {error}"
    return ""


def summarise(problems: list[Figures]) -> Figures:
    """Counts and ratios over what is certified."""
    proven = [p for p in problems if p.get("certified")]
    again = [p for p in proven if p.get("why") == ""]
    ratios = [p["verify"] / max(p["solve"], 1e-9) for p in again]
    in_time = [p for p in again if p["verify"] <= TIMES * p["solve"]]
    return {
        "certified": len(proven),
        "proven_again": len(again),
        "in_time": len(in_time),
        "share": len(in_time) / max(len(proven), 1),
        "median_ratio": median(ratios),
        "p95_ratio": quantile(ratios, 0.95),
        "otherwise": [p["name"] for p in proven if p not in in_time],
    }


def show(figures: Figures) -> str:
    """The share, and what is left out."""
    s = figures["summary"]
    head = (
        f"{s['in_time']} of {s['certified']} proofs ({s['share']:.1%}) are made again by NumPy within ten times the "
        f"solve, {s['proven_again']} in all; verify / solve: median {s['median_ratio']:.2g}, 95 % {s['p95_ratio']:.2g}"
    )
    rows = [{**p, "why": p.get("why", p.get("failure", ""))[:80]} for p in figures["problems"]]
    columns = {"name": "otherwise", "solve": "solve (s)", "verify": "verify (s)", "why": "why"}
    return "\n\n".join([head, table([p for p in rows if p["name"] in s["otherwise"]], columns)])


@benchmark("reproof", "how many proofs NumPy makes again, in ten times the solve", show)
def run(options: Options) -> Figures:
    names, state, problems = options.choose(catalogue.names()), machine(), []
    worker = Worker(measure)
    try:
        worker.run("abs_d2", seconds=LIMIT)  # imports and first calls are not part of any figure
        for name in names[:: 10 if options.quick else 1]:
            found = {"name": name} | worker.run(name, seconds=20 * LIMIT)
            problems.append(found)
            say(f"{name}: {found.get('solve', 0):.3g} s, {found.get('verify', 0):.3g} s {found.get('why', '')[:60]}")
    finally:
        worker.stop()
    summary = summarise(problems)
    goal = {"goal": "share of proofs that NumPy makes again in ten times the solve", "figure": summary["share"]}
    goal |= {"target": WANTED, "met": summary["share"] >= WANTED}
    return {"machine": state, "goals": [goal], "summary": summary, "problems": problems}
