"""Does the answer depend on the units? Models with variables, rows, families and objective times powers of 2 and 10.

(a) `small`: five small models (a parabola above tan, a surface above exp, a cubic fit, an infeasible pair, a spectrum),
    each in eight systems of units between 1e-9 and 1e9.
(b) `catalogue`: the entries that are certified within two seconds, in random units: every variable, every row and every
    constraint for all y has a factor of its own, 2^k with |k| <= 30 (which changes no digit) or 10^k with |k| <= 9.

A pair of a model and its units is the `same` if the status is, if both answers are certified, and if the bounds, mapped
back, agree to the tolerance of the solves. `--only` chooses models, `--seed` other units, `--tries` units an entry.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any
from zlib import crc32

import numpy as np

import lsip
from lsip import catalogue

from .harness.clock import timed
from .harness.figures import machine, ratio, table
from .harness.outcome import digits
from .harness.registry import Figures, Options, benchmark, say
from .harness.scaling import Units, drawn, scalable, scaled
from .harness.worker import Worker

SOON = 2.0  # seconds in which an entry is solved, or left out
LIMIT = 5.0  # seconds of a solve in other units
HARD = 40.0  # seconds after which the process is stopped
DRAWS, FEW = 4, 20  # units an entry; entries with --quick, in one system of units each
CLOSE = 3.0  # times the tolerance, that bounds may differ
SHARE = 0.98  # of the pairs are to be the same

# Of variables, families, the finite row, and the objective.
SYSTEMS = (
    (1e-8, 1e-9, 1.0, 1e6),
    (1.0, 1e5, 1.0, 1e-5),
    (1e6, 1.0, 1.0, 1.0),
    (1.0, 1e-9, 1.0, 1.0),
    (1.0, 1.0, 1e9, 1.0),
    (1.0, 1.0, 1.0, 1e9),
    (1e3, 1e6, 1e-6, 1e-3),
    (1e-9, 1e9, 1e-9, 1e-9),
)


def _parabola() -> lsip.Problem:
    x, t = lsip.Variable(3, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    above = lsip.forall(t, t ** np.arange(3) @ x >= np.tan(t))
    return lsip.Problem(lsip.minimize(x[0] + x[1] / 2 + x[2] / 3), [above, x.sum() <= 10])


def _surface() -> lsip.Problem:
    x, y = lsip.Variable(3, name="x"), lsip.Index("y", lsip.Box([0, 0], [1, 1]))
    above = lsip.forall(y, x[0] + x[1] * y[0] + x[2] * y[1] >= np.exp(y[0] * y[1]))
    return lsip.Problem(lsip.minimize(x[0] + x[1] / 2 + x[2] / 2), [above, x.sum() <= 10])


def _cubic_fit() -> lsip.Problem:
    x, e, t = lsip.Variable(4, name="x"), lsip.Variable(name="e"), lsip.Index("t", lsip.Interval(0, 1))
    error = t ** np.arange(4) @ x - np.exp(t)
    return lsip.Problem(lsip.minimize(e), [lsip.forall(t, [error <= e, -error <= e]), x.sum() <= 10])


def _contradiction() -> lsip.Problem:
    x, t = lsip.Variable(2, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    line = x[0] + x[1] * t
    return lsip.Problem(lsip.minimize(x[0]), [lsip.forall(t, [line >= 1 + np.sin(3 * t), line <= 0.5 + t]), x[1] <= 10])


def _spectrum() -> lsip.Problem:
    r, w = lsip.Variable(5, name="r"), lsip.Index("w", lsip.Interval(0, np.pi))
    density = r[0] + 2 * np.cos(np.arange(1, 5) * w) @ r[1:]
    return lsip.Problem(lsip.maximize(r[1]), [lsip.forall(w, density >= 0), r[0] == 1])


SMALL: dict[str, Callable[[], lsip.Problem]] = {
    "small_parabola": _parabola,
    "small_surface": _surface,
    "small_cubic_fit": _cubic_fit,
    "small_contradiction": _contradiction,
    "small_spectrum": _spectrum,
}

_known: dict[str, tuple[lsip.Program, Any, float]] = {}


def _usual(name: str) -> tuple[lsip.Program, Any, float]:
    """The compiled model, its solution in its own units, and the seconds that took."""
    if name not in _known:
        program = (SMALL[name] if name in SMALL else catalogue.get(name).build)().compile()
        program.solve(verbose=False, time_limit=SOON)  # first calls
        seconds, solution = timed(lambda: program.solve(verbose=False, time_limit=SOON))
        _known[name] = (program, solution, seconds)
    return _known[name]


def units_of(name: str, program: lsip.Program, number: int, seed: int) -> tuple[Units, str]:
    """The `number`-th system of units of a model, and how it is called."""
    if name in SMALL:
        x, f, r, o = SYSTEMS[number]
        rows = tuple(np.full(len(family.columns), f) for family in program.families)
        words = f"variables {x:g}, families {f:g}, row {r:g}, objective {o:g}"
        return Units(np.full(program.n, x), np.full(program.A.shape[0], r), rows, o), words
    base = (2, 10)[number % 2]
    rng = np.random.default_rng([seed, number, crc32(name.encode())])  # whatever else the catalogue holds
    return drawn(program, rng, base), f"powers of {base}, draw {number}, seed {seed}"


def measure(name: str, number: int, seed: int) -> Iterator[dict[str, Any]]:
    """Solve a model in its own units and in others."""
    program, usual, seconds = _usual(name)
    yield {"usual": usual.status.name, "usual_seconds": seconds, "usual_certified": bool(usual.certified)}
    if not (usual.certified and seconds <= SOON and scalable(program)):
        yield {"skipped": True}
        return
    units, words = units_of(name, program, number, seed)
    yield {"units": words, "bounds": [digits(usual.lower), digits(usual.upper)]}
    try:
        took, other = timed(lambda: scaled(program, units).solve(verbose=False, time_limit=LIMIT))
    except lsip.LSIPError as error:
        yield {"status": "REFUSED", "same": False, "why": str(error)}
        return
    lower, upper = other.lower / units.objective, other.upper / units.objective
    yield {"status": other.status.name, "certified": bool(other.certified), "seconds": took}
    yield {"mapped": [digits(lower), digits(upper)]}
    why = _difference(usual, other, lower, upper)
    yield {"same": not why, "why": why}


def _difference(usual: Any, other: Any, lower: float, upper: float) -> str:
    """Why two answers are not the same, in a phrase; nothing if they are."""
    if other.status is not usual.status:
        return f"{other.status.name}, not {usual.status.name}"
    if not other.certified:
        return "not certified"
    if not math.isfinite(usual.value):
        return ""
    allowed = CLOSE * usual.tol * max(1.0, abs(usual.value))
    apart = max(abs(lower - usual.lower), abs(upper - usual.upper))
    return "" if apart <= allowed else f"bounds apart by {apart:.3g}, {apart / allowed:.3g} times what is allowed"


def summarise(pairs: list[dict[str, Any]]) -> Figures:
    """Counts over pairs, without those that are left out."""
    kept = [p for p in pairs if not p.get("skipped")]
    same = sum(bool(p.get("same")) for p in kept)
    reasons = Counter(_reason(p) for p in kept if not p.get("same"))
    return {
        "pairs": len(kept),
        "same": same,
        "share": ratio(float(same), float(len(kept))),
        "reasons": dict(reasons.most_common()),
    }


def _reason(pair: dict[str, Any]) -> str:
    if "failure" in pair:
        return "stopped or died"
    return "bounds apart" if pair["why"].startswith("bounds") else pair.get("status", "?")


def goals(small: Figures, large: Figures) -> list[Figures]:
    """All of the small ones, nearly all of the others."""
    rows = [("small models: share the same", small["share"], 1.0), ("catalogue: share the same", large["share"], SHARE)]
    return [
        {"goal": goal, "figure": figure, "target": target, "met": None if figure is None else figure >= target}
        for goal, figure, target in rows
    ]


def show(figures: Figures) -> str:
    """Shares, and the pairs that differ."""
    rows = [{"part": part, **figures[part]} for part in ("small", "catalogue", "powers_of_2", "powers_of_10")]
    told = [r | {"reasons": ", ".join(f"{n} {why}" for why, n in r["reasons"].items()) or "-"} for r in rows]
    shares = table(told, {"part": "part", "pairs": "pairs", "same": "same", "share": "share", "reasons": "otherwise"})
    parts = [shares]
    if figures["differing"]:
        columns = {"name": "differing", "units": "units", "usual": "usual", "why": "why", "seconds": "seconds"}
        parts.append(table([{**d, "why": d["why"][:80]} for d in figures["differing"]], columns))
    parts.append(table(figures["goals"], {"goal": "goal", "figure": "figure", "target": "target", "met": "met"}))
    return "\n\n".join(parts)


@benchmark("units", "the same models in other units: how many keep their status and bounds", show)
def run(options: Options) -> Figures:
    names = options.choose([*SMALL, *catalogue.names()])
    entries = [n for n in names if n not in SMALL]
    draws = options.tries if options.tries is not None else (1 if options.quick else DRAWS)
    if options.quick:
        entries = entries[:: max(1, len(entries) // FEW)]
    asked = [(n, k) for n in names if n in SMALL for k in range(len(SYSTEMS))]
    asked += [(n, k) for i, n in enumerate(entries) for k in (range(i % 2, i % 2 + 1) if draws == 1 else range(draws))]
    state, start, pairs = machine(), time.perf_counter(), []
    worker = Worker(measure)
    left_out: set[str] = set()
    try:
        for name, number in asked:
            if name in left_out:
                continue
            found = {"name": name, "number": number} | worker.run(name, number, options.seed, seconds=HARD)
            if found.get("skipped") or ("failure" in found and "units" not in found):
                left_out.add(name)
                say(f"{name}: left out ({found.get('usual', found.get('failure'))})")
                continue
            found["why"] = found.get("failure") or found["why"]
            pairs.append(found)
            if not found.get("same"):
                say(f"{name}, {found['units']}: {found['why']}")
    finally:
        worker.stop()
    small = summarise([p for p in pairs if p["name"] in SMALL])
    others = [p for p in pairs if p["name"] not in SMALL]
    return {
        "quick": options.quick,
        "machine": state,
        "seconds": time.perf_counter() - start,
        "seed": options.seed,
        "goals": goals(small, summarise(others)),
        "small": small,
        "catalogue": summarise(others),
        "powers_of_2": summarise([p for p in others if p["number"] % 2 == 0]),
        "powers_of_10": summarise([p for p in others if p["number"] % 2 == 1]),
        "left_out": sorted(left_out),
        "differing": [p for p in pairs if not p.get("same")],
        "pairs": pairs,
    }
