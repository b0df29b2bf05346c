"""The compiled kernel against multiprecision arithmetic, and against the same enclosures in NumPy."""

from __future__ import annotations

import os
import subprocess
import sys

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lsip
from benchmarks.dimension import bumps_of
from benchmarks.kernel import RANGES, STEPS, Y, arguments, outside_of, truths
from lsip.expressions.tape import Tape
from lsip.kernel import native
from lsip.oracles.attained import distinct
from lsip.oracles.partition import BoxPartition
from lsip.oracles.quadratic_bound import bound_rows
from lsip.oracles.taylor import Taylor
from lsip.solution import verify

pytestmark = pytest.mark.skipif(native.kernel().library is None, reason=f"no kernel: {native.kernel().reason}")


@pytest.mark.parametrize("function", RANGES, ids=str)
def test_functions_contain_the_truth_and_little_else(function: str | float) -> None:
    exact, x = truths()[function], arguments(*RANGES[function], 6000, np.random.default_rng(7))
    low, high = native.values(function, x)
    for v, lo, hi in zip(x.tolist(), low.tolist(), high.tolist(), strict=True):
        truth = exact(flint.arb(v))
        if not truth.is_finite():
            continue
        assert not truth < flint.arb(lo), (v, lo, hi)
        assert not truth > flint.arb(hi), (v, lo, hi)
        if abs(float(truth)) < (1e6 if function == "tan" else 1e300):  # a pole may be nearer than rounding tells
            room = 2.0**-46 * abs(float(truth)) * max(1.0, abs(np.log(abs(v)))) + 2.0**-1000
            room = room * (1 + abs(float(truth))) + 2.0**-80 if function in ("sin", "cos", "tan") else room
            assert hi - lo <= room, (v, lo, hi)


@st.composite
def formulas(draw: st.DrawFn) -> lsip.Expression:
    """A random formula in two coordinates, and all that it is made of."""
    parts = [Y[0], Y[1], 0.7 * Y[0] + Y[1], Y[0] - 0.3]
    for step in draw(st.lists(st.sampled_from(STEPS), min_size=1, max_size=8)):
        parts.append(step(draw(st.sampled_from(parts)), draw(st.sampled_from(parts))))
    return np.stack(parts[3:])


@settings(max_examples=60, deadline=None)
@given(formulas(), st.integers(0, 10**6), st.sampled_from([2, 3]))
def test_polynomials_agree_with_numpy_and_contain_sampled_values(
    formula: lsip.Expression, seed: int, order: int
) -> None:
    tape = Tape((formula,), (Y,))
    assert tape.native is not None
    rng = np.random.default_rng(seed)
    centre, radius = rng.uniform(-1, 1, (7, 2)), 10.0 ** rng.uniform(-6, 0, (7, 1)) * rng.random((7, 2))
    lower, upper = np.maximum(centre - radius, -1), np.minimum(centre + radius, 1)
    pieces = rng.integers(-1, 2, (7, tape.kink_count)).astype(np.int8) if tape.kink_count and seed % 2 else None
    ours, our_sides, our_straddles = tape.quadratics(lower, upper, pieces, order)
    with native.by_reference():
        theirs, their_sides, their_straddles = tape.quadratics(lower, upper, pieces, order)
    assert (our_straddles is None) == (their_straddles is None)
    if our_straddles is not None:
        assert (our_straddles == their_straddles).mean() > 0.9
    sides = [] if our_sides is None else [(our_sides, their_sides)]
    for mine, other in [(ours, theirs), *sides]:
        size = np.abs(other.value) + np.abs(other.gradient).sum(0) + np.abs(other.hessian).sum(0) + other.error
        known = np.isfinite(other.error) & (other.error < 1e6 * (1 + np.abs(other.value)))
        assert (mine.error[known] <= other.error[known] * 1.5 + 1e-11 * size[known]).all()
    if pieces is None:
        _contains(tape, ours, lower, upper, rng)


@settings(max_examples=60, deadline=None)
@given(formulas(), st.integers(0, 10**6))
def test_values_and_derivatives_at_points_are_those_of_numpy(formula: lsip.Expression, seed: int) -> None:
    tape = Tape((formula,), (Y,))
    y = np.concatenate([np.random.default_rng(seed).uniform(-1, 1, (9, 2)), [[0.3, -0.3], [0.0, 0.0]]])
    found = (tape.values(y), *tape.derivatives(y))
    with native.by_reference():
        known = (tape.values(y), *tape.derivatives(y))
        box = tape.enclose(y, y)
    assert [f.shape for f in found] == [k.shape for k in known]
    for mine, numpys in zip(found, known, strict=True):
        with np.errstate(invalid="ignore"):
            size = np.maximum(np.abs(numpys), 1.0)
            close = (np.abs(mine - numpys) <= 1e-9 * size) | ~(np.isfinite(mine) | np.isfinite(numpys))
            close |= np.isnan(numpys) & (mine == 0)  # along a coordinate on which a root at nought does not depend
        tame = np.isfinite(box.lo) & np.isfinite(box.hi) & (box.hi - box.lo <= 1e-12 * (1 + np.abs(box.hi)))
        assert (close | ~tame).all(), (mine[~close], numpys[~close])


def _contains(tape: Tape, found: object, lower: np.ndarray, upper: np.ndarray, rng: np.random.Generator) -> None:
    i, j = np.triu_indices(2)
    radius = np.maximum(upper - 0.5 * (lower + upper), 0.5 * (lower + upper) - lower)
    for _ in range(20):
        d = rng.uniform(-1, 1, lower.shape)
        points = np.clip(0.5 * (lower + upper) + radius * d, lower, upper)
        with np.errstate(all="ignore"):
            values = tape.values(points)
        model = found.value + np.einsum("nm,mnk->nk", d, found.gradient)
        weights = np.where(i == j, 0.5, 1.0)
        model += np.einsum("ln,lnk->nk", weights[:, None] * d.T[i] * d.T[j], found.hessian)
        slack = found.error
        if len(found.third):
            a, b, c = np.array([(0, 0, 0), (0, 0, 1), (0, 1, 1), (1, 1, 1)]).T
            share = np.array([1 / 6, 0.5, 0.5, 1 / 6])
            model += np.einsum("ln,lnk->nk", share[:, None] * d.T[a] * d.T[b] * d.T[c], found.third)
        known = np.isfinite(values) & np.isfinite(slack)
        room = slack + 1e-12 * (np.abs(values) + np.abs(found.gradient).sum(0) + np.abs(found.hessian).sum(0)) + 1e-13
        assert (np.abs(values - model)[known] <= room[known]).all()


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 6), st.integers(0, 10**6))
def test_bounds_of_quadratics_hold_and_are_as_sharp_as_in_numpy(m: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(50, 1 + m + m * (m + 1) // 2)) * 10.0 ** rng.uniform(-3, 3, (50, 1))
    table[::3, 1 : 1 + m] *= 10
    bound, points = bound_rows(table, m)
    with native.by_reference():
        other, _ = bound_rows(table, m)
    size = np.abs(table).sum(1)
    assert (np.abs(points) <= 1).all()
    assert (bound <= other + 0.05 * np.abs(other) + 1e-9 * size).mean() > 0.9
    i, j = np.triu_indices(m)
    for d in (points, *rng.uniform(-1, 1, (200, 50, m)), *np.sign(rng.normal(size=(50, 50, m)))):
        weights = np.where(i == j, 0.5, 1.0) * d[:, i] * d[:, j]
        value = table[:, 0] + (table[:, 1 : 1 + m] * d).sum(1) + (table[:, 1 + m :] * weights).sum(1)
        assert (value <= bound + 1e-14 * size).all()


@given(st.integers(0, 10**6), st.integers(1, 3), st.sampled_from([0.0, 0.05, 0.3]))
def test_distinct_points_are_those_of_numpy(seed: int, m: int, radius: float) -> None:
    rng = np.random.default_rng(seed)
    points, values = np.round(rng.random((60, m)), 2), np.round(rng.normal(size=60), 1)
    values[rng.random(60) < 0.1] = np.nan
    components = rng.integers(0, 3, 60)
    found = distinct(points, values, components, radius, 20)
    with native.by_reference():
        assert found.tolist() == distinct(points, values, components, radius, 20).tolist()


@given(st.integers(1, 3), st.integers(1, 4), st.sampled_from([2, 3]))
def test_layout_is_that_of_numpy(p: int, columns: int, order: int) -> None:
    x = lsip.Variable(columns, name="x")
    powers = np.stack([np.stack([Y[0] ** a * np.cos(b + Y[1]) for a in range(columns)]) for b in range(p)])
    program = lsip.Problem(lsip.minimize(x.sum()), [lsip.forall(Y, powers @ x >= np.ones(p))]).compile()
    bounder = Taylor(program.families[0], program.families[0].domain.cells()[0], order)
    boxes = BoxPartition(bounder)
    quadratic = bounder._enclose(boxes.lower, boxes.upper, None, order)[0]
    found = bounder._layout(quadratic)
    with native.by_reference():
        other = bounder._layout(quadratic)
    for key in ("table", "error", "rough"):
        assert found[key].shape == other[key].shape
        assert np.allclose(found[key], other[key], rtol=1e-14, atol=0)


# ---- models carried from node to node --------------------------------------------------------------------------------


def bumps(m: int) -> Tape:
    y = lsip.Index("y", lsip.Box(np.zeros(m), np.ones(m)))
    centres, sharp, _ = bumps_of(m, 0)
    return Tape((1 / (1 + sharp * ((y - centres) ** 2).sum(axis=-1)),), (y,))


@pytest.mark.parametrize("m", [2, 4, 6])
def test_over_large_boxes_chords_are_sharper_than_derivatives(m: int) -> None:
    tape, rng = bumps(m), np.random.default_rng(0)
    lower = rng.uniform(0, 0.75, (200, m))
    found = tape.quadratics(lower, lower + 0.25)[0]
    with native.by_reference():
        derived = tape.quadratics(lower, lower + 0.25)[0]
    assert found.error.mean() < 0.5 * derived.error.mean()
    assert outside_of(tape, found, lower, lower + 0.25, rng.uniform(-1, 1, lower.shape)) == 0


SINGULAR = {
    "a pole of 1 / t": (lambda t: 1 / t, (-0.3, 0.2)),
    "a pole of 1 / t^3": (lambda t: t**-3, (-0.3, 0.2)),
    "a pole at an end": (lambda t: 1 / t, (0.0, 0.2)),
    "a pole of tan": (lambda t: np.tan(2 * t), (0.6, 0.9)),
    "a root next to nought": (lambda t: np.sqrt(t), (0.0, 0.4)),
    "a root that ends inside": (lambda t: np.sqrt(t), (-0.1, 0.4)),
    "a logarithm at nought": (lambda t: np.log(t), (0.0, 0.4)),
    "an exponential that overflows": (lambda t: np.exp(1000 * t), (0.1, 0.9)),
    "one that underflows": (lambda t: np.exp(-1000 * t), (0.1, 0.9)),
    "a square that overflows": (lambda t: (1e200 * t) ** 2, (0.1, 0.9)),
    "a product that overflows": (lambda t: (1e200 * t) * (1e200 + t), (0.1, 0.9)),
    "a sum that overflows": (lambda t: 1.5e308 * t + 1.5e308 * t**3, (0.1, 0.9)),
    "infinity minus infinity": (lambda t: np.exp(1000 * t) - np.exp(999 * t), (0.1, 0.9)),
    "a negative base": (lambda t: (t - 0.5) ** 1.5, (0.1, 0.9)),
    "a kink of what overflows": (lambda t: np.abs(np.exp(800 * t) - 1e300), (0.5, 0.9)),
    "the larger of two poles": (lambda t: np.maximum(1 / t, 1 / (t - 0.1)), (-0.3, 0.3)),
    "waves far out": (lambda t: np.sin(1e9 * t), (0.1, 0.9)),
}


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("name", SINGULAR)
def test_nothing_false_is_known_of_what_is_singular_or_overflows(name: str, order: int) -> None:
    function, (low, high) = SINGULAR[name]
    tape = Tape((np.stack([function(Y[0]), function(Y[0]) * (1 + Y[1])]),), (Y,))
    lower, upper = np.array([[low, -0.5]] * 6), np.array([[high, 0.5]] * 6)
    rng = np.random.default_rng(0)
    found = tape.quadratics(lower, upper, None, order)[0]
    for d in (*rng.uniform(-1, 1, (50, 6, 2)), *rng.choice([-1.0, 1.0], (4, 6, 2))):
        assert outside_of(tape, found, lower, upper, d) == 0
        centre, radius = 0.5 * lower + 0.5 * upper, 0.5 * upper - 0.5 * lower
        with np.errstate(all="ignore"):
            values = tape.values(centre + radius * d)
        assert not (np.isinf(values) & (found.error < 1e300)).any(), "what overflows is not bounded"


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_terms_below_the_least_double_are_no_terms(degree: int, order: int) -> None:
    """Derivatives are finite, and times the radius of the box they are not: rounded upward, that is still a number."""
    t = lsip.Index("t", lsip.Interval(-1e10, 1e10))
    power = part = 10.0 ** (300 // degree) * t
    for _ in range(degree - 1):
        power = power * part
    tape = Tape((np.stack([power, -power]),), (t,))
    lower, upper = np.array([[-5e9]] * 4), np.array([[5e9]] * 4)
    assert (tape.quadratics(lower, upper, None, order)[0].error == np.inf).all()


# ---- data that change ------------------------------------------------------------------------------------------------

PLACES = {
    "coefficients": lambda p: (np.stack([1 + 0 * Y[0], np.exp(p * Y[0]), Y[1]]), 2 + Y[0] * Y[1]),
    "right-hand side": lambda p: (np.stack([1 + 0 * Y[0], Y[0], Y[1]]), p * np.sin(3 * Y[0] + Y[1])),
    "inside of functions": lambda p: (np.stack([1 + 0 * Y[0], Y[0], Y[1]]), np.cos(4 * p * Y[0]) + np.exp(p**2 * Y[1])),
    "kinks": lambda p: (np.stack([1 + 0 * Y[0], Y[0], Y[1]]), abs(Y[0] - p / 3) + p * Y[1]),
}


def above(place: str, p: object) -> lsip.Problem:
    """The least plane, in a way, above a function of which some numbers may change."""
    x = lsip.Variable(3, name="x", lower=-20, upper=20)
    a, b = PLACES[place](p)
    return lsip.Problem(lsip.minimize(x[0] + 0.1 * x[1]), [lsip.forall(Y, a @ x >= b)])


@pytest.mark.parametrize("place", PLACES)
def test_a_tape_for_other_values_is_another_one_in_the_kernel(place: str) -> None:
    p = lsip.Parameter(name="p", value=1.0)
    tape = above(place, p).compile().families[0].source.tape
    lower = np.random.default_rng(0).uniform(-1, 0.9, (9, 2))
    before = tape.quadratics(lower, lower + 0.1)[0]
    for value in (1.5, -0.5):
        bound, plain = tape.bound({p: np.array(value)}), above(place, value).compile().families[0].source.tape
        assert bound.native is not None
        found, known = bound.quadratics(lower, lower + 0.1)[0], plain.quadratics(lower, lower + 0.1)[0]
        for mine, theirs in zip(found, known, strict=True):
            assert np.allclose(mine, theirs, rtol=1e-9, atol=1e-12)
        _contains(bound, found, lower, lower + 0.1, np.random.default_rng(1))
    for same, then in zip(tape.quadratics(lower, lower + 0.1)[0], before, strict=True):
        assert np.array_equal(same, then)


@pytest.mark.parametrize("place", PLACES)
def test_solving_again_with_the_kernel_is_as_good_as_solving_anew(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "TUNING", verify.VerifyTuning(reference_seconds=60.0))  # on a busy machine, too
    asked: list[int] = []
    for name in ("quadratics", "search"):
        enclose = getattr(native.NativeTape, name)
        monkeypatch.setattr(native.NativeTape, name, lambda *given, enclose=enclose: asked.append(1) or enclose(*given))
    p = lsip.Parameter(name="p", value=1.0)
    problem = above(place, p)
    problem.solve(verbose=False)
    for value in (1.02, 1.5, -0.5, 1.0):
        p.value = value
        asked.clear()
        found = problem.solve(verbose=False)
        assert asked, "the kernel encloses"
        known = above(place, value).solve(verbose=False)
        assert found.status is known.status is lsip.Status.OPTIMAL
        assert found.certified
        assert found.value == pytest.approx(known.value, rel=3e-8, abs=3e-8)
        asked.clear()
        found.verify()
        assert not asked, "and proofs are checked without it"


@pytest.mark.parametrize("place", PLACES)
def test_what_is_proven_again_owes_nothing_to_the_kernel(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Boxes that a kernel in error has enclosed are of no use without it, for these data and for others."""
    quadratics = native.NativeTape.quadratics

    def nothing(*given: object) -> object:
        (value, *rest), sides, straddles = quadratics(*given)
        return [0 * value, *(0 * part for part in rest)], sides, straddles

    def bound() -> float:
        """Over all boxes that are kept for the problem as it is, or are made now."""
        violation = problem.compile().violation(0, x)
        taken = violation.family.memory.take(violation.family, violation.domain)
        violation.family.memory.keep(taken)
        return max(cell.bounds(violation.weights)[0].max() for cell in taken.cells)

    p = lsip.Parameter(name="p", value=1.0)
    problem, x = above(place, p), np.array([-5.0, 0.3, 0.2])
    monkeypatch.setattr(native.NativeTape, "quadratics", nothing)
    for value in (1.0, 1.5):
        p.value = value
        worst = problem.compile().violation(0, x).values(problem.compile().families[0].domain.grid(40)).max()
        assert bound() < 1 < worst
        with native.by_reference():
            assert bound() >= worst


# ---- loading ---------------------------------------------------------------------------------------------------------


def asked(code: str, **environment: str) -> str:
    """What a fresh interpreter prints."""
    run = subprocess.run([sys.executable, "-c", code], env=os.environ | environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


@pytest.mark.parametrize("wanted", ["numpy", "portable", ""])
def test_the_environment_chooses_and_the_answer_is_the_same(wanted: str) -> None:
    code = """
import lsip, numpy as np
t, x = lsip.Index("t", lsip.Interval(0, 1)), lsip.Variable(3)
above = lsip.forall(t, x[0] + x[1] * t + x[2] * t**2 >= np.tan(t))
solution = lsip.Problem(lsip.minimize(x[0] + x[1] / 2 + x[2] / 3), [above]).solve(verbose=False)
print(lsip.info().kernel, solution.status.name, solution.certified, f"{solution.value:.6f}")
"""
    engine, *answer = asked(code, LSIP_KERNEL=wanted).split()
    assert engine == wanted if wanted else engine in ("AVX2", "portable")
    assert answer == ["OPTIMAL", "True", "0.649042"]


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ("native.importlib.util.find_spec = lambda name: None", "not built"),
        ("native.ctypes.CDLL = lambda path: (_ for _ in ()).throw(OSError('wrong ELF class'))", "wrong ELF class"),
        ("native.VERSION = 99", "install lsip again"),
        ("native._rounds_outward = lambda library: False", "round outward"),
    ],
    ids=["missing", "foreign", "old", "inexact"],
)
def test_a_kernel_that_does_not_load_is_done_without(broken: str, reason: str) -> None:
    code = f"from lsip.kernel import native\n{broken}\nimport lsip\nprint(lsip.info().kernel, lsip.info().reason)"
    engine, told = asked(code).split(maxsplit=1)
    assert engine == "numpy"
    assert reason in told


def test_tapes_that_are_not_sound_are_refused() -> None:
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(2000):
        fields = rng.integers(-2, 14, (rng.integers(1, 6), len(native.FIELDS))).astype(np.int32)
        whole, real = rng.integers(-1, 6, 30).astype(np.int32), rng.normal(size=20)
        output = len(fields) - 1
        try:
            tape = native.NativeTape(2, output, fields, whole, real, np.zeros(0, np.int32), (int(fields[-1, 1]), 0))
        except ValueError:
            refused += 1
            continue
        tape.quadratics(np.zeros((5, 2)), np.ones((5, 2)), None, 3)  # whatever it computes, it stays within its arrays
    assert refused > 100


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    formula = np.stack([np.sin(k * Y[0] + Y[1]) * np.exp(Y[0] * Y[1]) for k in range(30)])
    lower = np.random.default_rng(1).uniform(-1, 0.9, (3001, 2))
    found = []
    for threads in (1, 2, 5):
        tape = Tape((formula,), (Y,))
        assert tape.native is not None
        tape.native._threads = lambda boxes, order, threads=threads: threads
        found.append(tape.quadratics(lower, lower + 0.1, None, 3)[0])
    for other in found[1:]:
        for part, same in zip(found[0], other, strict=True):
            assert np.array_equal(part, same)


def test_what_only_the_kernel_is_sharp_enough_for_verifies() -> None:
    """Next to the pole of a tangent a few units in the last place are 0.02."""
    t, x = lsip.Index("t", lsip.Interval(0, 2)), lsip.Variable(1, name="x")
    steep = lsip.forall(t, x[0] >= -np.tan((2 * (t / 2) - 1) * 1.5707963))
    solution = lsip.Problem(lsip.minimize(x[0]), [steep]).solve(verbose=False)
    assert solution.certified
    solution.verify()
