"""Sums of cosines and sines: recognised as people write them, and bounded by their own Taylor series."""

from __future__ import annotations

import numpy as np
import pytest

import lsip
from lsip import Index, Interval, Parameter, Problem, Variable, forall, minimize
from lsip.expressions.graph import as_expression
from lsip.expressions.tape import Tape
from lsip.expressions.waves import COSINE, NUMBER, OTHER, SINE, Waves
from lsip.oracles import BranchAndBound, harmonic
from lsip.oracles.harmonic import Harmonic

T = Index("t", Interval(0, 3))
K = np.arange(4)


def kinds(e: object) -> list[int] | None:
    found = Waves.of(Tape((as_expression(e),), (T,)))
    return None if found is None else found.kind.tolist()


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        (np.cos(K * T), [COSINE] * 4),
        (-np.sin(2.5 * T) * 3, [SINE]),
        (np.stack([np.cos(T), 0 * T + 1, T, np.exp(T)]), [COSINE, OTHER, OTHER, OTHER]),
        (np.stack([np.cos(T), as_expression(2.0)]), [COSINE, NUMBER]),
        (np.stack([np.cos(T), np.cos(T) * np.cos(T), np.cos(T + 1), abs(np.cos(T))]), None),  # a kink is no wave
        (np.cos(T) * 0.1 * 0.1, [OTHER]),  # a product that rounds
        (T**2, None),
    ],
)
def test_what_is_a_wave(formula: object, expected: list[int] | None) -> None:
    if expected == [OTHER]:
        assert kinds(formula) is None
    else:
        assert kinds(formula) == expected


def test_values_of_parameters_are_numbers() -> None:
    """And other values make other waves."""
    a, x, p = Variable(2, name="a"), Variable(name="x"), Parameter(name="p", value=2.0)
    problem = Problem(minimize(x), [forall(T, p * np.cos(3 * T) * a[0] + a[1] <= x)])
    for value in (2.0, 5.0):
        p.value = value
        waves = problem.compile().families[0].waves  # type: ignore[attr-defined]
        assert value in waves.factor.tolist()
        assert set(waves.frequency.tolist()) == {0.0, 3.0}


def exact(waves: Waves, weights: np.ndarray, spread: np.ndarray | None, row: int, y: float) -> object:
    """A sum at a point, with many digits."""
    arb = pytest.importorskip("flint").arb
    k, total = weights.shape[1], arb(0)
    for j in range(k):
        i = row * k + j
        angle = arb(float(waves.frequency[i])) * arb(y)
        wave = arb(float(waves.factor[i])) * (angle.sin() if waves.kind[i] == SINE else angle.cos())
        total += wave * arb(float(weights[row, j]))
        if spread is not None:
            total += abs(wave) * arb(float(spread[row, j]))
    return total


@pytest.mark.parametrize("seed", range(60))
def test_no_value_exceeds_a_bound(seed: int) -> None:
    """Whole and other frequencies, large terms that cancel, intervals far from zero, weights with a spread, points."""
    flint = pytest.importorskip("flint")
    rng = np.random.default_rng(seed)
    p, k = int(rng.integers(1, 4)), int(rng.integers(1, 40))
    kind = rng.choice([COSINE, SINE, NUMBER], size=p * k, p=[0.5, 0.3, 0.2]).astype(np.int8)
    frequency = [rng.integers(-60, 60, p * k) * 1.0, rng.uniform(-20, 20, p * k), rng.integers(0, 40, p * k) * 0.1]
    waves = Waves(kind, rng.choice([1.0, -1.0, 2.5], p * k), np.where(kind == NUMBER, 0.0, frequency[seed % 3]))
    weights = rng.normal(size=(p, k)) * 10.0 ** rng.uniform(-8, 8, size=(p, k) if seed % 4 == 0 else ())
    spread = 1e-9 * np.abs(weights) if seed % 5 == 0 else None
    lower = rng.choice([0.0, 3.0, -100.0, 1e5]) + rng.uniform(-1, 1)
    upper = lower + rng.choice([1.0, np.pi, 0.01, 0.0]) * rng.uniform(0.1, 1)
    sums, ys, sizes = Harmonic(waves, weights, spread), np.linspace(lower, upper, 400), np.abs(weights).sum()
    with flint.ctx.workprec(300):
        angle = ys[:, None] * waves.frequency
        table = waves.factor * np.where(kind == SINE, np.sin(angle), np.cos(angle))
        values = (table.reshape(len(ys), p, k) * weights).sum(axis=2)
        target = float(values.max() + sizes * 10.0 ** rng.uniform(-12, -1) * rng.choice([1, 1, -1]))
        found = sums.largest(float(lower), float(upper), target, target - 1e-3 * sizes)
        if found is None:
            assert target < values.max() + 1e-10 * sizes  # only rounding is in the way of a proof
            return
        tried = [(int(values[:, i].argmax()), i) for i in range(p)]
        points = [(float(ys[n]), i) for n, i in tried]
        points += list(zip(found.points[:5].tolist(), found.components[:5].tolist(), strict=True))
        for y, i in points:
            assert exact(waves, weights, spread, i, min(max(y, lower), upper)) <= flint.arb(found.bound)


def lowpass(n: int) -> tuple[Problem, Variable, Variable]:
    a, delta, k = Variable(n, name="a"), Variable(name="delta", lower=0), np.arange(n)
    low, high = Index("w", Interval(0, 1.2)), Index("v", Interval(1.2 + 10 / (n + 5), np.pi))
    one, zero = np.cos(k * low) @ a - 1, np.cos(k * high) @ a
    bands = [forall(low, [one <= delta, -delta <= one]), forall(high, [zero <= delta, -delta <= zero])]
    return Problem(minimize(delta), bands), a, delta


def test_a_bound_is_that_of_boxes_but_sharper(monkeypatch: pytest.MonkeyPatch) -> None:
    program = lowpass(20)[0].compile()
    x = np.random.default_rng(0).normal(size=program.n) * 0.9 ** np.arange(program.n)
    for f in (0, 1):
        violation = program.violation(f, x)
        found = BranchAndBound().maximise(violation, target=0.0)
        assert found.trusts == ()
        sampled = violation.values(np.linspace(*violation.domain.lower, *violation.domain.upper, 5000)[:, None]).max()
        assert sampled <= found.bound
        assert found.worst <= found.bound
        with monkeypatch.context() as patched:
            patched.setattr(harmonic, "TUNING", harmonic.HarmonicTuning(most_first=0))
            boxes = BranchAndBound().maximise(violation, target=0.0)
        assert sampled <= boxes.bound
        assert abs(found.worst - boxes.worst) < 1e-6 * (1 + abs(boxes.worst))


def test_what_overflows_is_left_to_boxes() -> None:
    waves = Waves(np.array([COSINE] * 2, dtype=np.int8), np.ones(2), np.array([1.0, 2.0]))
    for weights in ([[1e308, 1e308]], [[np.inf, 1.0]], [[np.nan, 1.0]]):
        with np.errstate(over="ignore", invalid="ignore"):
            assert Harmonic(waves, np.array(weights), None).largest(0.0, 1.0, 0.0, 0.0) is None


def test_many_waves_are_left_to_boxes() -> None:
    t = Index("t", Interval(0, 1e5))
    x = Variable(2, name="x")
    found = Problem(minimize(x[0]), [forall(t, x[0] >= np.cos(1000 * t)), x[1] == 0]).solve(verbose=False, time_limit=5)
    assert found.upper >= 1
    assert lsip.Status.OPTIMAL is not found.status or found.lower >= 1 - 1e-6
