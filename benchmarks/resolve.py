"""Does solving again save time? Sequences of 50 models, each a little different from the one before.

`rhs` moves right-hand sides, `coefficient` moves coefficients, `family` has one more constraint over the index in every
step. Of every model, the problem that was solved before is changed and solved again; beside that, in turn, it is built
anew, with plain numbers, and solved. The share is the time of the one over the time of the other, building, compiling
and proving included. Every answer has to be certified, and both values have to agree to the tolerance of the solves.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import lsip

from .harness.clock import timed
from .harness.figures import machine, median, ratio, table
from .harness.registry import Figures, Options, benchmark, say

STEPS, FEW = 50, 8  # models of a sequence; with --quick
SHARE = 0.3  # of the time of solving anew, at most
TOL = 1e-8  # of every solve
CLOSE = 3.0  # times that, that values may differ

Change = Callable[[int], None]


@dataclass(frozen=True)
class Sequence:
    """Models by their number: one that changes from each to the next, and each by itself."""

    kind: str
    changing: Callable[[], tuple[lsip.Problem, Change]]  # the first model, and how it becomes another one
    anew: Callable[[int], lsip.Problem]


SOURCES = np.random.default_rng(0).random((8, 2))
WORTH = np.linspace(1.0, 2.0, 8)


def _air(limit: Any, width: Any) -> lsip.Problem:
    """Eight sources under one limit of what arrives, everywhere in a square."""
    x, y = lsip.Variable(8, name="x", lower=0, upper=1), lsip.Index("y", lsip.Box([0, 0], [1, 1]))
    plume = np.exp(-((y - SOURCES) ** 2).sum(axis=-1) / width)
    return lsip.Problem(lsip.maximize(WORTH @ x), [lsip.forall(y, plume @ x <= limit * (1 + y[0] / 2))])


def _fit(rate: Any, shift: Any) -> lsip.Problem:
    """The best polynomial of degree seven, in the largest error."""
    x, e, t = lsip.Variable(8, name="x"), lsip.Variable(name="e"), lsip.Index("t", lsip.Interval(0, 1))
    error = t ** np.arange(8) @ x - np.exp(rate * t) / (1 + 5 * t) - shift * np.sin(7 * t)
    return lsip.Problem(lsip.minimize(e), [lsip.forall(t, [error <= e, -error <= e])])


def _kinds(k: int) -> tuple[lsip.Variable, lsip.Index, Callable[[int], Any]]:
    """Sources of k kinds of plumes that arrive at a square, and the constraint of each."""
    x, y = lsip.Variable(8, name="x", lower=0), lsip.Index("y", lsip.Box([0, 0], [1, 1]))
    shares = np.random.default_rng(1).uniform(0.5, 1.5, (STEPS, 8))

    def limit(i: int) -> Any:
        plume = np.exp(-((y - SOURCES) ** 2).sum(axis=-1) * (2 + i / 10))
        return lsip.forall(y, (plume * shares[i]) @ x <= 1)

    return x, y, limit


def _above(k: int) -> tuple[lsip.Variable, lsip.Index, Callable[[int], Any]]:
    """A polynomial above one curve after the other."""
    x, t = lsip.Variable(6, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    return x, t, lambda i: lsip.forall(t, t ** np.arange(6) @ x >= np.cos((1 + i / 4) * t) + i / 200)


def _moved(build: Callable[[Any], lsip.Problem], first: float, last: float) -> tuple[Any, Any]:
    """A parameter that goes from one number to another."""
    values = np.linspace(first, last, STEPS)

    def changing() -> tuple[lsip.Problem, Change]:
        p = lsip.Parameter(name="p", value=values[0])

        def change(k: int) -> None:
            p.value = values[k]

        return build(p), change

    return changing, lambda k: build(float(values[k]))


def _grown(parts: Callable[[int], Any], cost: Callable[[Any], Any]) -> tuple[Any, Any]:
    """A constraint more in every step."""

    def changing() -> tuple[lsip.Problem, Change]:
        x, _, constraint = parts(STEPS)
        problem = lsip.Problem(cost(x), [constraint(0)])
        return problem, lambda k: problem.add(constraint(k))

    def anew(k: int) -> lsip.Problem:
        x, _, constraint = parts(k + 1)
        return lsip.Problem(cost(x), [constraint(i) for i in range(k + 1)])

    return changing, anew


SEQUENCES = {
    "rhs_air": Sequence("rhs", *_moved(lambda p: _air(p, 0.2), 1.0, 1.5)),
    "rhs_fit": Sequence("rhs", *_moved(lambda p: _fit(1.0, p), 0.2, 0.7)),
    "coefficient_air": Sequence("coefficient", *_moved(lambda p: _air(1.2, p), 0.2, 0.3)),
    "coefficient_fit": Sequence("coefficient", *_moved(lambda p: _fit(p, 0.1), 1.0, 2.0)),
    "family_air": Sequence("family", *_grown(_kinds, lambda x: lsip.maximize(WORTH @ x))),
    "family_above": Sequence("family", *_grown(_above, lambda x: lsip.minimize(x @ (1 / np.arange(1, 7))))),
}


def measure(sequence: Sequence, steps: int) -> list[Figures]:
    """Each model after the first, solved again and anew, in turn."""
    problem, change = sequence.changing()
    problem.solve(verbose=False, tol=TOL)
    rows = []
    for k in range(1, steps):

        def again(k: int = k) -> Any:
            change(k)
            return problem.solve(verbose=False, tol=TOL)

        seconds, found = timed(again)
        cold, known = timed(lambda k=k: sequence.anew(k).solve(verbose=False, tol=TOL))  # type: ignore[misc]
        size = max(abs(known.value), known.atol / TOL)
        rows.append(
            {
                "step": k,
                "again": seconds,
                "anew": cold,
                "certified": found.certified and known.certified,
                "agree": abs(found.value - known.value) <= CLOSE * TOL * size,
                "iterations": len(found.history),
            }
        )
    return rows


def summarise(rows: list[Figures]) -> Figures:
    """Shares and counts over steps."""
    again, anew = sum(r["again"] for r in rows), sum(r["anew"] for r in rows)
    return {
        "steps": len(rows),
        "again": again / len(rows),
        "anew": anew / len(rows),
        "share": ratio(again, anew),
        "median_share": median(ratio(r["again"], r["anew"]) for r in rows),
        "certified": sum(r["certified"] for r in rows),
        "agree": sum(r["agree"] for r in rows),
        "at_once": sum(r["iterations"] == 1 for r in rows),
    }


def goals(summary: Figures) -> list[Figures]:
    """Time is saved, and nothing else."""
    steps = summary["steps"]
    return [
        {"goal": "share of the time", "figure": summary["share"], "target": SHARE, "met": summary["share"] <= SHARE},
        {"goal": "certified", "figure": summary["certified"], "target": steps, "met": summary["certified"] == steps},
        {"goal": "equal values", "figure": summary["agree"], "target": steps, "met": summary["agree"] == steps},
    ]


def show(figures: Figures) -> str:
    """One line a sequence, one a kind, and the goals."""
    columns = {"name": "sequence", "steps": "steps", "again": "again, s", "anew": "anew, s", "share": "share"}
    columns |= {"median_share": "median", "certified": "certified", "agree": "agree", "at_once": "at once"}
    return "\n\n".join(
        [
            table([*figures["sequences"], *figures["kinds"], {"name": "all", **figures["summary"]}], columns),
            table(figures["goals"], {"goal": "goal", "figure": "figure", "target": "target", "met": "met"}),
        ]
    )


@benchmark("resolve", "sequences of 50 related models: the time of solving again over that of solving anew", show)
def run(options: Options) -> Figures:
    steps = FEW if options.quick else STEPS
    state, start = machine(), time.perf_counter()
    found: dict[str, list[Figures]] = {}
    for name in options.choose(SEQUENCES):
        SEQUENCES[name].anew(1).solve(verbose=False, tol=TOL)  # first calls
        found[name] = measure(SEQUENCES[name], steps)
        one = summarise(found[name])
        say(f"{name}: {one['share']:.2f} of the time, {one['certified']} of {one['steps']} certified")
    kinds = {SEQUENCES[name].kind for name in found}
    every = summarise([r for rows in found.values() for r in rows])
    return {
        "quick": options.quick,
        "machine": state,
        "seconds": time.perf_counter() - start,
        "goals": goals(every),
        "summary": every,
        "kinds": [
            {"name": kind, **summarise([r for n, rows in found.items() if SEQUENCES[n].kind == kind for r in rows])}
            for kind in sorted(kinds)
        ],
        "sequences": [{"name": name, **summarise(rows)} for name, rows in found.items()],
        "steps": found,
    }
