"""Write what the kernel has to compute, by NumPy and by multiprecision arithmetic, for `tests/kernel_selftest.cpp`.

python -m tests.kernel_vectors vectors.bin
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import flint
import numpy as np

import lsip
from benchmarks.kernel import RANGES, STEPS, Y, arguments, truths
from lsip.expressions.jets import tetrahedron, triangle
from lsip.expressions.quadratics import cubic_weights, quadratic_weights
from lsip.expressions.tape import Tape
from lsip.kernel import native
from lsip.oracles.attained import distinct
from lsip.oracles.quadratic_bound import bound_rows
from lsip.oracles.taylor import Taylor

KINDS = ("function", "points", "quadratics", "bound", "layout", "distinct", "search", "refused")
Case = tuple[Any, ...]  # the kind, then its arrays


def packed(cases: Iterator[Case]) -> bytes:
    """Arrays one after the other: how many elements, then the elements, all of eight bytes."""
    found = []
    for kind, *arrays in cases:
        for array in ([KINDS.index(kind)], *arrays):
            flat = np.ravel(array)
            wide = flat.astype("<i8" if flat.dtype.kind in "iub" else "<f8")
            found += [np.int64(wide.size).astype("<i8").tobytes(), wide.tobytes()]
    return b"".join(found)


def of_tape(tape: Tape) -> Case:
    """The instructions of a tape."""
    made = tape.instructions
    assert made is not None
    return (np.array([made.dim, made.output, made.sizes[1]]), made.fields, made.whole, made.real, made.arguments)


def functions(count: int) -> Iterator[Case]:
    """Each function at arguments of all sizes, next to multiples of pi / 4 and of log 2."""
    for name, exact in truths().items():
        x, below, above, room = arguments(*RANGES[name], count, np.random.default_rng(7)), [], [], []
        kept = []
        for v in x.tolist():
            truth = exact(flint.arb(v))
            middle = float(truth) if truth.is_finite() else np.inf
            if not np.isfinite(middle) or abs(middle) > (1e6 if name == "tan" else 1e300):
                continue
            kept.append(v)
            below.append(np.nextafter(middle, -np.inf) if flint.arb(middle) > truth else middle)
            above.append(np.nextafter(middle, np.inf) if flint.arb(middle) < truth else middle)
            wide = 2.0**-46 * abs(middle) * max(1.0, abs(np.log(abs(v)))) + 2.0**-1000
            room.append(wide * (1 + abs(middle)) + 2.0**-80 if name in ("sin", "cos", "tan") else wide)
        number, exponent = (native.FUNCTIONS.index(name), 0.0) if isinstance(name, str) else (-1, name)
        yield "function", [number], [exponent], np.array(kept), np.array(below), np.array(above), np.array(room)


def formulas(count: int) -> Iterator[Tape]:
    """Random formulas; the first of them have every step once."""
    for k in range(count):
        rng = np.random.default_rng([3, k])
        parts = [Y[0], Y[1], 0.7 * Y[0] + Y[1], Y[0] - 0.3]
        for i in range(1 + k % 6):
            step = STEPS[(k + 5 * i) % len(STEPS)]
            parts.append(step(parts[rng.integers(len(parts))], parts[rng.integers(len(parts))]))
        tape = Tape((np.stack(parts[3:]),), (Y,))
        if tape.instructions is not None:
            yield tape


def points(tape: Tape, rng: np.random.Generator) -> Case:
    """Values and derivatives at points, where NumPy's own enclosures say that they are well conditioned."""
    y = np.concatenate([rng.uniform(-1, 1, (9, 2)), [[0.3, -0.3], [0.0, 0.0]]])
    with native.by_reference(), np.errstate(all="ignore"):
        values, gradients, hessians = tape.derivatives(y)
        box = tape.enclose(y, y)
        expected = np.concatenate([values[None], gradients, hessians])
        tame = np.isfinite(box.lo) & np.isfinite(box.hi) & (box.hi - box.lo <= 1e-12 * (1 + np.abs(box.hi)))
        room = np.where(np.isfinite(expected) & tame, 1e-9 * np.maximum(np.abs(expected), 1.0), -1.0)
    return "points", *of_tape(tape), np.array([2, len(y)]), y, expected, room


def quadratics(tape: Tape, order: int, rng: np.random.Generator) -> Case:
    """Polynomials around random boxes: values at samples that they contain, and how sharp NumPy's are."""
    centre, radius = rng.uniform(-1, 1, (7, 2)), 10.0 ** rng.uniform(-6, 0, (7, 1)) * (0.1 + rng.random((7, 2)))
    lower, upper = centre - radius, centre + radius
    radius = np.maximum(upper - 0.5 * (lower + upper), 0.5 * (lower + upper) - lower)
    d = np.concatenate([rng.uniform(-1, 1, (8, 2)), [[0.0, 0.0]]])
    (i, j), (a, b, c) = triangle(2), tetrahedron(2)[:3]
    weights = [np.ones(len(d)), *d.T, *(quadratic_weights(2)[:, None] * d.T[i] * d.T[j])]
    weights += [*(cubic_weights(2)[:, None] * d.T[a] * d.T[b] * d.T[c])] if order == 3 else []
    with native.by_reference(), np.errstate(all="ignore"):
        theirs, _, _ = tape.quadratics(lower, upper, None, order)
        values = np.stack([tape.values(0.5 * (lower + upper) + radius * at) for at in d])
        size = np.abs(theirs.value) + np.abs(theirs.gradient).sum(0) + np.abs(theirs.hessian).sum(0) + theirs.error
        known = np.isfinite(theirs.error) & (theirs.error < 1e6 * (1 + np.abs(theirs.value)))
        sharp = np.where(known, 1.5 * theirs.error + 1e-11 * size, -1.0)
    shape = np.array([order, len(lower), values.shape[2], len(weights), len(d)])
    return "quadratics", *of_tape(tape), shape, lower, upper, np.array(weights), values, sharp


def bounds(m: int, rng: np.random.Generator) -> Case:
    """Quadratics over the cube: what they attain, and NumPy's bounds where these are sharp."""
    table = rng.normal(size=(50, 1 + m + m * (m + 1) // 2)) * 10.0 ** rng.uniform(-3, 3, (50, 1))
    table[::3, 1 : 1 + m] *= 10
    (i, j), most = np.triu_indices(m), np.full(50, -np.inf)
    for d in (*rng.uniform(-1, 1, (200, 50, m)), *np.sign(rng.normal(size=(50, 50, m)))):
        products = np.where(i == j, 0.5, 1.0) * d[:, i] * d[:, j]
        most = np.maximum(most, table[:, 0] + (table[:, 1 : 1 + m] * d).sum(1) + (table[:, 1 + m :] * products).sum(1))
    with native.by_reference():
        theirs, _ = bound_rows(table, m)
    size = np.abs(table).sum(1)
    return "bound", [m, *table.shape], table, most - 1e-14 * size, theirs + 0.05 * np.abs(theirs) + 0.25 * size


def rows(order: int, count: int = 3) -> Taylor:
    """Two rows, of so many columns, and their bounder."""
    x = lsip.Variable(count, name="x")
    powers = np.stack([np.stack([Y[0] ** a * np.cos(b + Y[1]) for a in range(count)]) for b in range(2)])
    program = lsip.Problem(lsip.minimize(x.sum()), [lsip.forall(Y, powers @ x >= np.ones(2))]).compile()
    return Taylor(program.families[0], program.families[0].domain.cells()[0], order)


def layout(order: int, rng: np.random.Generator) -> Case:
    """Polynomials in the order of rows."""
    bounder = rows(order)
    n, K = 5, bounder.p * bounder.width
    counts = [1, 2, 3, 4 if order == 3 else 0]
    parts = [rng.normal(size=(count, n, K)) for count in counts]
    error, size = np.abs(rng.normal(size=(n, K))), bounder.p * (bounder.width - 1)
    flat = np.concatenate(parts)
    doubt = error * (1 + bounder._rounding) + bounder._rounding * np.abs(flat).sum(axis=0)
    table, errors = np.empty((n, bounder.p, len(flat), bounder.width)), np.empty((n, bounder.p, bounder.width))
    table[..., :-1] = flat[..., :size].reshape(len(flat), n, bounder.p, -1).transpose(1, 2, 0, 3)
    table[..., -1] = flat[..., size:].transpose(1, 2, 0)
    errors[..., :-1], errors[..., -1] = doubt[:, :size].reshape(n, bounder.p, -1), doubt[:, size:]
    shape = np.array([n, bounder.p, bounder.width, *counts])
    return "layout", shape, [bounder._rounding], *parts, error, table, errors


def few_points(rng: np.random.Generator, m: int, radius: float) -> Case:
    """Points in the order in which they are wanted, and those that are taken."""
    y, components = np.round(rng.random((60, m)), 2), rng.integers(0, 3, 60)
    values = -np.arange(60.0)
    with native.by_reference():
        taken = distinct(y, values, components, radius, 20)
    return "distinct", np.array([60, m, 20]), y, np.full(m, radius), components, taken


def searches(order: int, rng: np.random.Generator) -> Case:
    """Rows with weights, their largest values at many points by NumPy, and a goal a little above."""
    bounder = rows(order)
    weights = np.column_stack([rng.normal(size=(bounder.p, bounder.width - 1)), np.full(bounder.p, -1.0)])
    tape = bounder._rows
    assert isinstance(tape, Tape)
    cell = bounder.cell
    axes = [np.linspace(low, high, 200) for low, high in zip(cell.lower[0], cell.upper[0], strict=True)]
    grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    with native.by_reference():
        values = tape.values(grid)
    size = bounder.p * (bounder.width - 1)
    inner = values[:, :size].reshape(len(grid), bounder.p, -1)
    most = float((np.einsum("npk,pk->np", inner, weights[:, :-1]) - values[:, size:]).max())
    _, scaled = bounder.narrowed(weights, None)
    goals = np.array([most + 1e-3 * (1 + abs(most)), scaled.rounding, most - 1e-12 * (1 + abs(most))])
    shape = np.array([order, bounder.p, bounder.width, 4096])
    return "search", *of_tape(tape), shape, goals, weights, scaled.lost, scaled.scale, cell.lower, cell.upper


def refusals() -> Iterator[Case]:
    """Tapes that would read beyond their ends."""
    tape = Tape((np.stack([np.sin(Y[0] * Y[1]), Y[0]]),), (Y,))
    head, fields, whole, real, kinks = of_tape(tape)
    wrong = {"op": 99, "size": -1, "depth": 4, "arguments": 10**6, "args": -1, "numbers": 10**6}
    for name, value in wrong.items():
        other = fields.copy()
        other[-1, native.FIELDS.index(name)] = value
        yield "refused", head, other, whole, real, kinks
    yield "refused", head * 0 - 1, fields, whole, real, kinks
    yield "refused", np.array([2, len(fields), 0]), fields, whole, real, kinks


def cases() -> Iterator[Case]:
    """All of them."""
    rng = np.random.default_rng(0)
    yield from functions(600)
    for tape in formulas(60):
        yield points(tape, rng)
        yield quadratics(tape, 2, rng)
        yield quadratics(tape, 3, rng)
    for m in range(1, 7):
        yield bounds(m, rng)
    for order in (2, 3):
        yield layout(order, rng)
        for _ in range(5):
            yield searches(order, rng)
    for m in (1, 2, 3):
        for radius in (0.0, 0.05, 0.3):
            yield few_points(rng, m, radius)
    yield from refusals()


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(packed(cases()))
