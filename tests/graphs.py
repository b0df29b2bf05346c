"""Random graphs full of partial functions, poles, overflow and jumps, judged by plain NumPy.

A graph is a line of NumPy (`source`), evaluated once on an index and once, point by point, on floats; nothing of lsip
takes part in the second. `disagreements` says where the enclosures of the first do not hold the values of the second.

    python -m tests.graphs 20000
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf, erfc, expit

import lsip
from lsip.expressions.graph import as_expression
from lsip.expressions.interval import EPS
from lsip.expressions.jets import tetrahedron, triangle
from lsip.expressions.quadratics import Quadratic, cubic_weights, middle, quadratic_weights
from lsip.expressions.tape import Tape

Array = NDArray[np.float64]

USUAL = (
    "sin", "cos", "tan", "arctan", "sinh", "cosh", "tanh", "arcsinh", "exp", "exp2", "expm1", "square", "abs", "sinc",
    "deg2rad", "negative", "log10", "arccos",
)  # fmt: skip
PARTIAL = ("log", "log", "sqrt", "sqrt", "reciprocal", "reciprocal", "arcsin", "arccosh", "arctanh", "log1p", "log2")
UNARY = (*(f"np.{name}" for name in USUAL), "erf", "erfc", "expit")
BINARY = (
    "({} + {})", "({} - {})", "({} * {})", "({} / {})", "np.maximum({}, {})", "np.minimum({}, {})", "arctan2({}, {})",
    "np.hypot({}, {})", "power({}, {})", "np.stack([{}, {}]).sum()", "(np.array([1.0, 0.0]) @ np.stack([{}, {}]))",
    "np.stack([{}, {}]).max()", "np.prod(np.stack([{}, {}]))",
)  # fmt: skip
EXPONENTS = ("0", "1", "2", "3", "-1", "-2", "-3", "0.5", "1.5", "-0.5", "0.3", "2.5")
LEVELS = ("0.0", "1.0", "-1.0", "0.5", "2.0", "-100.0", "1e300", "-1e300", "1e308", "-1e308", "0.25", "700.0")
NUMBERS = ("0.0", "1.0", "-1.0", "0.5", "2.0", "-3.0", "1e-3", "1e3", "1e160", "-1e160", "1e-160", "1e9", "0.1")
CORNERS = (0.0, 0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 1e-300, -1e-300, 1e-9, 0.1, 3.0, np.pi / 2, 800.0, -800.0, 1e3)
WIDTHS = (0.0, 0.0, 0.0, 1e-300, 1e-16, 1e-9, 1e-3, 0.1, 1.0, 4.0)


@dataclass(frozen=True)
class Graph:
    """A line of NumPy in the coordinates y[0], y[1] of an index."""

    source: str

    def __call__(self, y: Any, arctan2: Any = np.arctan2, power: Any = np.power) -> Any:
        names = {"np": np, "erf": erf, "erfc": erfc, "expit": expit, "arctan2": arctan2, "power": power}
        return eval(self.source, {**names, "y": y})

    def at(self, point: Array) -> float:
        """The value at one point, by NumPy alone.

        Reals have no negative zero, so none decides about angles; and a power whose exponent depends on the index is
        the exponential of a multiple of a logarithm, also where NumPy finds that the exponent is a whole number.
        """
        with np.errstate(all="ignore"):
            return float(self(point, lambda a, b: np.arctan2(a + 0.0, b + 0.0), _real_power))


def _real_power(a: Any, b: Any) -> Any:
    return np.where(a >= 0, np.power(np.abs(a), b), np.nan)


def draw(rng: np.random.Generator, depth: int) -> str:
    """A random line."""
    pick = lambda items: items[rng.integers(len(items))]  # noqa: E731
    if depth == 0 or rng.random() < 0.08:
        return pick(
            ["y[0]", "y[0]", "y[0]", "y[1]", f"({pick(NUMBERS)} * y[0])", f"(y[0] - {pick(NUMBERS)})", "(-y[0])"]
        )
    kind = rng.integers(12)
    a = draw(rng, depth - 1)
    if kind < 3:
        return f"np.{pick(PARTIAL)}({a})"
    if kind < 5:
        return f"{pick(UNARY)}({a})"
    if kind == 5:
        return f"({a}) ** {pick(EXPONENTS)}"
    b = draw(rng, depth - 1)
    if kind < 8:
        return pick(BINARY).format(a, b)
    if kind == 8:
        return f"({pick(NUMBERS)} * {a})" if rng.random() < 0.5 else f"({a} + {pick(NUMBERS)})"
    right = pick(LEVELS) if rng.random() < 0.7 else b
    comparison = f"{a} {pick(('<', '<=', '>', '>='))} {right}"
    branches = [pick((pick(NUMBERS[:8]), draw(rng, depth - 1))) for _ in range(2)]
    return f"np.where({comparison}, {branches[0]}, {branches[1]})"


def draw_decision(rng: np.random.Generator) -> str:
    """A random line that most often is a choice between two numbers, so that a wrong one shows."""
    line = draw(rng, int(rng.integers(2, 5)))
    if rng.random() < 0.4:
        return line
    level = LEVELS[rng.integers(len(LEVELS))]
    return f"np.where({line} {('<', '<=', '>', '>=')[rng.integers(4)]} {level}, -5.0, 1.0)"


def box(rng: np.random.Generator) -> tuple[Array, Array]:
    """A point or a small box, mostly where something happens."""
    corner = np.array([CORNERS[rng.integers(len(CORNERS))] if rng.random() < 0.8 else rng.normal() for _ in range(2)])
    width = np.array([WIDTHS[rng.integers(len(WIDTHS))] for _ in range(2)])
    side = rng.integers(3, size=2)
    lower = np.where(side == 0, corner, np.where(side == 1, corner - width, corner - 0.5 * width))
    return lower, np.maximum(lower + width, lower)


def members(rng: np.random.Generator, lower: Array, upper: Array) -> Array:
    """Points of a box: its corners, its middle, what is special inside it, and some others."""
    axes = []
    for lo, hi in zip(lower, upper, strict=True):
        special = [v for v in (0.0, 1.0, -1.0, 0.5, 1e-310, -1e-310, np.nextafter(lo, hi)) if lo <= v <= hi]
        axes.append(np.array([lo, hi, *special, *rng.uniform(lo, hi, 4)]))
    points = np.column_stack([axis[rng.integers(len(axis), size=12)] for axis in axes])
    corners = np.array([[a, b] for a in (lower[0], upper[0]) for b in (lower[1], upper[1])])
    return np.clip(np.concatenate([corners, points]), lower, upper)


def disagreements(seed: int, counts: dict[str, int]) -> Iterator[str]:
    """Where enclosures of one random graph over a few boxes do not hold what NumPy computes; `counts` adds up."""
    rng = np.random.default_rng(seed)
    graph = Graph(draw_decision(rng))
    index = lsip.Index("y", lsip.Box([-2000.0, -2000.0], [2000.0, 2000.0]))
    try:
        tape = Tape((as_expression(graph(index, power=lambda a, b: a**b)),), (index,))
    except lsip.ModelError:
        counts["refused"] = counts.get("refused", 0) + 1
        return
    counts["graphs"] = counts.get("graphs", 0) + 1
    for _ in range(3):
        lower, upper = box(rng)
        points = members(rng, lower, upper)
        values = np.array([graph.at(p) for p in points])
        finite = np.isfinite(values)
        counts["boxes"] = counts.get("boxes", 0) + 1
        counts["values"] = counts.get("values", 0) + int(finite.sum())
        if not finite.any():
            continue
        points, values = points[finite], values[finite]
        for what in _outside(tape, lower, upper, points, values, int(rng.integers(2, 4))):
            yield f"{graph.source} over {lower.tolist()}, {upper.tolist()}: {what}"


def _outside(tape: Tape, lower: Array, upper: Array, y: Array, values: Array, order: int) -> Iterator[str]:
    found = tape.enclose(lower[None], upper[None])
    lo, hi = found.lo[0, 0], found.hi[0, 0]
    for kind, v in (("", values), (", its own value,", tape.values(y)[:, 0])):
        outside = np.isfinite(v) & ((v < lo) | (v > hi))
        if outside.any():
            yield f"{v[outside][0]!r}{kind} at {y[outside][0].tolist()} is not in [{lo!r}, {hi!r}]"
    # Expansions are those of the exact function, from which NumPy's values differ by rounding: as much as enclosures of
    # the single points are wide.
    point = tape.enclose(y, y)
    with np.errstate(invalid="ignore"):
        width = np.nan_to_num(point.hi - point.lo, nan=np.inf)[:, 0]
    outputs, _, straddles = tape.quadratics(lower[None], upper[None], order=order)
    if not outputs.error[0, 0] >= 0:
        yield f"the error is {outputs.error[0, 0]!r}"
    off = ~_near(outputs, lower, upper, y, values, width)
    if off.any():
        yield f"{values[off][0]!r} at {y[off][0].tolist()} is not in the expansion of order {order}"
    if straddles is not None:
        off = ~_covered(tape, lower, upper, y, values, width, np.flatnonzero(straddles[0])[:3], order)
        if off.any():
            yield f"{values[off][0]!r} at {y[off][0].tolist()} is on no piece"


def _covered(
    tape: Tape, lower: Array, upper: Array, y: Array, values: Array, width: Array, straddling: Any, order: int
) -> NDArray[np.bool_]:
    """Which values lie in the expansion over a piece that branch-and-bound keeps, with kinks fixed to either side."""
    covered = np.zeros(len(y), dtype=bool)
    for bits in range(2 ** len(straddling)):
        pieces = np.zeros((1, tape.kink_count), dtype=np.int8)
        pieces[0, straddling] = [1 if bits >> k & 1 else -1 for k in range(len(straddling))]
        outputs, kinks, _ = tape.quadratics(lower[None], upper[None], pieces, order)
        assert kinks is not None
        holds = _near(outputs, lower, upper, y, values, width)
        for k in straddling:  # on a piece, the argument has its sign; branch-and-bound relies on that
            model, error = _model(kinks, lower, upper, y, int(k))
            holds &= ~(pieces[0, k] * model < -error)
        covered |= holds | (width > 1e-3 * np.maximum(np.abs(values), 1e-300))
    return covered


def _model(q: Quadratic, lower: Array, upper: Array, y: Array, k: int) -> tuple[Array, Array]:
    """One expansion at points of its box, and its error with the rounding of both."""
    centre, radius = middle(lower, upper)
    with np.errstate(all="ignore"):
        d = np.where(radius > 0, (y - centre) / np.where(radius > 0, radius, 1.0), 0.0)
        i, j = triangle(2)
        a, b, c = tetrahedron(2)[:3]
        terms = [
            np.full((1, len(y)), q.value[0, k]),
            q.gradient[:, 0, k, None] * d.T,
            q.hessian[:, 0, k, None] * (quadratic_weights(2) * d[:, i] * d[:, j]).T,
            q.third[:, 0, k, None] * (cubic_weights(2) * d[:, a] * d[:, b] * d[:, c]).T[: len(q.third)],
        ]
        flat = np.concatenate(terms)
        return flat.sum(0), q.error[0, k] + 64 * EPS * np.abs(flat).sum(0)


def _near(q: Quadratic, lower: Array, upper: Array, y: Array, values: Array, width: Array) -> NDArray[np.bool_]:
    model, error = _model(q, lower, upper, y, 0)
    return ~(np.abs(values - model) > error + width + 64 * EPS * np.abs(values))


def main() -> None:
    """Run as many graphs as asked for, and print what was found."""
    count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    counts: dict[str, int] = {}
    bad = 0
    for seed in range(first, first + count):
        found = list(disagreements(seed, counts))
        bad += bool(found)
        if found and bad <= 40:
            print(seed, *found, sep="\n  ")
    print(f"{bad} of {count} graphs disagree; {counts}")


if __name__ == "__main__":
    main()
