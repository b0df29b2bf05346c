"""The compiled kernel: whether it is right, and what it saves.

(a) `functions`: enclosures at random and at hard arguments against balls of 200 bits. `used` is the largest distance of
    the truth from the middle of an enclosure, in half-widths of it: 1 would be wrong, 0.5 leaves the factor of two that
    declared errors are to have. It is measured for functions with a declared error, where the enclosure is not cut off
    at the ends of what the function can be.
(b) `tapes`: random formulas over random boxes against the same enclosures in NumPy: how many errors are larger than
    twice NumPy's, and how many values at sampled points lie outside.
(c) `speed`: microseconds a box for the formulas of the catalogue, by the kernel on one thread and by NumPy in turns.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import lsip
from lsip import catalogue
from lsip.expressions.jets import tetrahedron, triangle
from lsip.expressions.quadratics import Quadratic, cubic_weights, quadratic_weights
from lsip.expressions.tape import Tape
from lsip.kernel import native

from .harness.figures import machine, median, table
from .harness.registry import Figures, Options, benchmark, say

NORMAL = 1e-290  # results nearer to nought are widened by more than their size
DECLARED = ("exp", "log", "sin", "cos", "tan", 2.375)  # all others are rounded outward, operation by operation
RANGES: dict[str | float, tuple[float, float]] = {
    "exp": (-745.0, 709.0), "log": (0.0, 1e300), "sin": (-1e6, 1e6), "cos": (-1e6, 1e6), "tan": (-1e6, 1e6),
    "sqrt": (0.0, 1e300), "reciprocal": (-1e300, 1e300), "square": (-1e150, 1e150), 0.5: (1e-300, 1e300),
    3.0: (-1e100, 1e100), -5.0: (-1e60, 1e60), 2.375: (1e-100, 1e100),
}  # fmt: skip


def arguments(low: float, high: float, count: int, rng: np.random.Generator) -> np.ndarray:
    """Even ones, ones of all sizes, and those next to multiples of pi / 4 and of log 2, and to powers of two."""
    part = count // 3 + 10  # more than enough: some of them are outside the range
    near = [
        rng.integers(-600_000, 600_000, part) * np.pi / 4,
        rng.integers(-1070, 1020, part) * np.log(2),
        2.0 ** rng.integers(-1000, 1000, part),
    ]
    near = [v + rng.integers(-3, 4, part) * np.spacing(v) for v in near]
    sizes = 10.0 ** rng.uniform(-300, 300, part) * rng.choice([-1.0, 1.0], part)
    x = np.concatenate([rng.uniform(low, high, 2 * part), rng.uniform(-10, 10, part), sizes, *near])
    return rng.permutation(x[(x >= low) & (x <= high) & (x != 0)])[:count]


def truths() -> dict[str | float, Callable[[Any], Any]]:
    """Functions, and powers by their exponents, in balls of 200 bits."""
    import flint

    flint.ctx.prec = 200
    found: dict[str | float, Callable[[Any], Any]] = {
        name: (lambda v, name=name: getattr(v, name)()) for name in ("exp", "log", "sin", "cos", "tan", "sqrt")
    }
    found |= {"reciprocal": lambda v: 1 / v, "square": lambda v: v * v, 0.5: lambda v: v.sqrt(), 3.0: lambda v: v**3}
    found |= {-5.0: lambda v: 1 / v**5, 2.375: lambda v: (v.log() * flint.arb(2.375)).exp()}
    return found


def functions(tries: int, seed: int) -> list[dict[str, Any]]:
    """Every function against multiprecision arithmetic."""
    import flint

    found = []
    for name, exact in truths().items():
        say(f"function {name}")
        x = arguments(*RANGES[name], tries, np.random.default_rng(seed))
        low, high = native.values(name, x)
        wrong, used = 0, 0.0
        for v, lo, hi in zip(x.tolist(), low.tolist(), high.tolist(), strict=True):
            value = exact(flint.arb(v))
            if not value.is_finite():
                continue
            wrong += bool(value < flint.arb(lo) or value > flint.arb(hi))
            declared = name in DECLARED and np.isfinite([lo, hi]).all() and min(abs(lo), abs(hi)) > NORMAL
            if declared and not (name in ("sin", "cos") and 1.0 in (-lo, hi)):
                middle, half = (flint.arb(lo) + flint.arb(hi)) / 2, (flint.arb(hi) - flint.arb(lo)) / 2
                used = max(used, float(abs(value - middle) / half))
        used_or_none = used if name in DECLARED else None
        found.append({"function": str(name), "arguments": len(x), "wrong": wrong, "used": used_or_none})
    return found


Y = lsip.Index("y", lsip.Box([-1, -1], [1, 1]))
STEPS: list[Callable[[Any, Any], Any]] = [
    lambda a, b: a + b,
    lambda a, b: a * b,
    lambda a, b: a - 2.5 * b,
    lambda a, b: a * a,
    lambda a, b: a / 3.0,
    lambda a, b: -a,
    lambda a, b: a**3,
    lambda a, b: (1 + b**2) ** 1.5,
    lambda a, b: 1 / (2.0 + a**2),
    lambda a, b: 1 / a,
    lambda a, b: np.sin(a),
    lambda a, b: np.cos(a + b),
    lambda a, b: np.tan(a),
    lambda a, b: np.exp(a),
    lambda a, b: np.exp(-(b**2)),
    lambda a, b: np.log(3 + np.sin(b)),
    lambda a, b: np.log(a),
    lambda a, b: np.sqrt(1 + a**2),
    lambda a, b: np.sqrt(a),
    lambda a, b: np.abs(a - b),
    lambda a, b: np.maximum(a, b),
]


def tapes(tries: int, seed: int) -> dict[str, int]:
    """Random formulas by the kernel and by NumPy."""
    outside = wider = boxes = 0
    for k in range(tries):
        rng = np.random.default_rng([seed, k])
        parts = [Y[0], Y[1], 0.7 * Y[0] + Y[1]]
        for step in rng.integers(len(STEPS), size=rng.integers(1, 9)):
            a, b = rng.integers(len(parts), size=2)
            parts.append(STEPS[step](parts[a], parts[b]))
        tape = Tape((np.stack(parts[2:]),), (Y,))
        centre, radius = rng.uniform(-1, 1, (6, 2)), 10.0 ** rng.uniform(-6, 0, (6, 1)) * rng.random((6, 2))
        lower, upper = np.maximum(centre - radius, -1), np.minimum(centre + radius, 1)
        order = 2 + k % 2
        mine = tape.quadratics(lower, upper, None, order)[0]
        with native.by_reference():
            theirs = tape.quadratics(lower, upper, None, order)[0]
        size = np.abs(theirs.value) + np.abs(theirs.gradient).sum(0) + np.abs(theirs.hessian).sum(0)
        known = np.isfinite(theirs.error) & (theirs.error < 1e6 * (1 + size))
        wider += int((~(mine.error <= 2 * theirs.error + 1e-11 * size))[known].sum())
        places = [np.zeros((6, 2)), *rng.uniform(-1, 1, (4, 6, 2)), *rng.choice([-1.0, 1.0], (2, 6, 2))]
        outside += sum(outside_of(tape, mine, lower, upper, d) for d in places)
        boxes += len(lower)
    return {"formulas": tries, "boxes": boxes, "outside": outside, "wider": wider}


def outside_of(tape: Tape, found: Quadratic, lower: np.ndarray, upper: np.ndarray, d: np.ndarray) -> int:
    """How many values at the points d (N, m) of the cube are further from the polynomials than their errors say."""
    centre = 0.5 * lower + 0.5 * upper
    points = np.clip(centre + np.maximum(upper - centre, centre - lower) * d, lower, upper)
    radius = np.where(upper > lower, np.maximum(upper - centre, centre - lower), 1.0)
    d = np.where(upper > lower, (points - centre) / radius, 0.0)
    m = d.shape[1]
    (i, j), (a, b, c) = triangle(m), tetrahedron(m)[:3]
    with np.errstate(all="ignore"):
        levels = [found.value, *(d.T[:, :, None] * found.gradient)]
        levels += list((quadratic_weights(m)[:, None] * d.T[i] * d.T[j])[:, :, None] * found.hessian)
        if len(found.third):
            levels += list((cubic_weights(m)[:, None] * d.T[a] * d.T[b] * d.T[c])[:, :, None] * found.third)
        values = tape.values(points)
        room = found.error + 1e-12 * np.abs(levels).sum(axis=0) + 1e-13
        return int((np.abs(values - np.sum(levels, axis=0)) > room)[np.isfinite(values) & np.isfinite(room)].sum())


def speed(names: list[str]) -> list[dict[str, Any]]:
    """Both ways in turns, for the first family of each problem."""
    found = []
    for name in names:
        family = catalogue.get(name).build().compile().families
        tape = getattr(family[0].source, "tape", None) if family else None
        if tape is None or tape.native is None:
            continue
        domain, outputs = family[0].domain, tape.native.outputs
        count = int(np.clip(40_000 // outputs, 8, 400))
        lower = domain.lower + np.random.default_rng(0).random((count, domain.dim)) * (domain.upper - domain.lower)
        upper = np.minimum(lower + 0.04 * (domain.upper - domain.lower), domain.upper)
        ours, theirs = [], []
        for _ in range(5):
            ours.append(_seconds(tape, lower, upper))
            with native.by_reference():
                theirs.append(_seconds(tape, lower, upper))
        a, b = min(ours) / count * 1e6, min(theirs) / count * 1e6
        row = {"problem": name, "m": domain.dim, "outputs": outputs, "kernel": a, "numpy": b, "ratio": b / a}
        found.append(row)
    return found


def _seconds(tape: Tape, lower: np.ndarray, upper: np.ndarray) -> float:
    start = time.process_time()
    tape.quadratics(lower, upper)
    return time.process_time() - start


def show(figures: Figures) -> str:
    """What is right, and what is saved."""
    head = table(
        figures["functions"], {"function": "function", "arguments": "arguments", "wrong": "wrong", "used": "used"}
    )
    columns = {"problem": "problem", "m": "m", "outputs": "outputs", "kernel": "kernel (us)", "numpy": "NumPy (us)"}
    return f"{head}\n\n{figures['tapes']}\n\n{table(figures['speed'], columns | {'ratio': 'ratio'})}"


@benchmark("kernel", "the compiled kernel: against multiprecision arithmetic, and beside NumPy", show)
def run(options: Options) -> Figures:
    if native.kernel().library is None:
        raise LookupError(f"There is no compiled kernel here: {native.kernel().reason}.")
    rows = speed(options.choose(catalogue.names()))
    each = functions(options.tries or (20_000 if options.quick else 1_000_000), options.seed)
    formulas = tapes(options.tries or (100 if options.quick else 100_000), options.seed)
    return {
        "machine": machine(),
        "kernel": native.kernel().engine,
        "goals": reached(each, formulas),
        "functions": each,
        "tapes": formulas,
        "median_ratio": median(r["ratio"] for r in rows),
        "speed": rows,
    }


def reached(each: list[dict[str, Any]], formulas: dict[str, int]) -> list[Figures]:
    """Nothing may lie outside an enclosure, and declared errors keep a factor of two."""
    wrong, used = sum(row["wrong"] for row in each), max(row["used"] or 0.0 for row in each)
    outside = formulas["outside"]
    return [
        {"goal": "values of functions outside their enclosures", "figure": wrong, "target": 0, "met": wrong == 0},
        {"goal": "largest share used of a declared error", "figure": used, "target": 0.5, "met": used <= 0.5},
        {"goal": "values of formulas outside", "figure": outside, "target": 0, "met": outside == 0},
    ]
