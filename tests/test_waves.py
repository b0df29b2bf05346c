"""Sums of cosines and sines: recognised as people write them, and bounded by their own Taylor series."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import lsip
from lsip import Index, Interval, Parameter, Problem, Variable, forall, minimize
from lsip.deadline import EFFORT
from lsip.expressions.graph import as_expression
from lsip.expressions.tape import Tape
from lsip.expressions.waves import COSINE, NUMBER, OTHER, SINE, Waves
from lsip.oracles import BranchAndBound, trigonometric
from lsip.oracles.trigonometric import Trigonometric, WaveSums

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
        waves = problem.compile().families[0].source.waves  # type: ignore[attr-defined]
        assert value in waves.factor.tolist()
        assert set(waves.frequency.tolist()) == {0.0, 3.0}


def exact(waves: Waves, x: np.ndarray, radius: np.ndarray, y: float) -> object:
    """A sum at a point, with many digits; the largest for all x within the radius."""
    arb = pytest.importorskip("flint").arb
    total = arb(0)
    for kind, factor, frequency, w, r in zip(*waves, x, radius, strict=True):
        angle = arb(float(frequency)) * arb(y)
        wave = arb(float(factor)) * (angle.sin() if kind == SINE else angle.cos())
        total += wave * arb(float(w)) + abs(wave) * arb(float(r))
    return total


@pytest.mark.parametrize("seed", range(60))
def test_no_value_exceeds_a_bound(seed: int) -> None:
    """Whole and other frequencies, large terms that cancel, intervals far from zero, weights with a spread, points."""
    flint = pytest.importorskip("flint")
    rng = np.random.default_rng(seed)
    p, k = int(rng.integers(1, 4)), int(rng.integers(1, 40))
    kind = rng.choice([COSINE, SINE, NUMBER], size=(p, k), p=[0.5, 0.3, 0.2]).astype(np.int8)
    frequency = [rng.integers(-60, 60, (p, k)) * 1.0, rng.uniform(-20, 20, (p, k)), rng.integers(0, 40, (p, k)) * 0.1]
    kind[:, 0] = COSINE  # numbers alone are no waves
    waves = Waves(kind, rng.choice([1.0, -1.0, 2.5], (p, k)), np.where(kind == NUMBER, 0.0, frequency[seed % 3]))
    x = rng.normal(size=k) * 10.0 ** rng.uniform(-8, 8, size=k if seed % 4 == 0 else ())
    radius = (1e-9 if seed % 5 == 0 else 0.0) * np.abs(x)
    lower = rng.choice([0.0, 3.0, -100.0, 1e5]) + rng.uniform(-1, 1)
    upper = lower + rng.choice([1.0, np.pi, 0.01, 1e-9]) * rng.uniform(0.1, 1)
    t, v = Index("t", Interval(lower, upper)), Variable(k, name="v")
    table = np.stack(
        [
            np.stack([f * (np.sin(w * t) if s == SINE else np.cos(w * t)) for s, f, w in zip(*row, strict=True)])
            for row in zip(*waves, strict=True)
        ]
    )
    program = Problem(minimize(v[0]), [forall(t, table @ v <= np.zeros(p))]).compile()
    family = program.families[0]
    (cell,) = family.memory.take(family, family.domain).cells
    assert isinstance(cell.bounder, Trigonometric)
    ys, sizes = np.linspace(lower, upper, 400), 2.5 * np.abs(x).sum()
    values = program.violation(0, x).values(ys[:, None])
    room = sizes * 10.0 ** rng.uniform(-12, -1) * rng.choice([1, 1, -1])
    target = float(values.max() + room)
    found = BranchAndBound().maximise(program.violation(0, x, radius=radius if radius.any() else None), target=target)
    # Only rounding, what weights may move by, or a violation is in the way of a proof.
    assert found.bound <= max(target, 2 * found.worst - target) or room < 1e-10 * sizes + 2.5 * radius.sum()
    with flint.ctx.workprec(300):
        tried = [(float(ys[values[:, i].argmax()]), i) for i in range(p)]
        tried += list(zip(found.points[:5, 0].tolist(), found.components[:5].tolist(), strict=True))
        for y, i in tried:
            mine = Waves(*(part[i] for part in waves))
            assert exact(mine, x, radius, min(max(y, lower), upper)) <= flint.arb(found.bound)


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
            patched.setattr(trigonometric, "EFFORT", replace(EFFORT, boxes=0))
            violation.family.memory.forget()
            boxes = BranchAndBound().maximise(violation, target=0.0)
        assert sampled <= boxes.bound
        assert abs(found.worst - boxes.worst) < 1e-6 * (1 + abs(boxes.worst))


def test_what_overflows_is_left_to_others() -> None:
    waves, ends = Waves(np.array([COSINE] * 2, dtype=np.int8), np.ones(2), np.array([1.0, 2.0])), np.array([0.0, 1.0])
    for weights in ([[1e308, 1e308]], [[np.inf, 1.0]], [[np.nan, 1.0]]):
        with np.errstate(over="ignore", invalid="ignore"):
            assert not np.isfinite(WaveSums(waves, np.array(weights), None).bounds(ends[:1], ends[1:], 1.0).upper).any()
    x = Variable(2, name="x")
    program = Problem(minimize(x[0]), [forall(T, np.cos(T) * x[0] + np.cos(2 * T) * x[1] <= 1)]).compile()
    with np.errstate(over="ignore", invalid="ignore"):
        found = BranchAndBound().maximise(program.violation(0, np.array([1e308, 1e308])))
    assert found.bound >= 1e308


def test_many_waves_are_left_to_boxes() -> None:
    t = Index("t", Interval(0, 1e5))
    x = Variable(2, name="x")
    found = Problem(minimize(x[0]), [forall(t, x[0] >= np.cos(1000 * t)), x[1] == 0]).solve(verbose=False, time_limit=5)
    assert found.upper >= 1
    assert lsip.Status.OPTIMAL is not found.status or found.lower >= 1 - 1e-6
