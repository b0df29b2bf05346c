"""Quotients and products that are defined where their parts are not."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import lsip
from lsip.errors import ConversionError, ModelError
from lsip.expressions.divided_differences import divided_difference
from lsip.expressions.interval import Interval
from lsip.expressions.tape import Tape
from lsip.proof import checker

flint = pytest.importorskip("flint")

from .test_functions import REFERENCES  # noqa: E402

T = lsip.Index("t", lsip.Interval(-1, 1))
HALF = lsip.Index("t", lsip.Interval(0, 1))
Y = lsip.Index("y", lsip.Box([-1, -1], [1, 1]))

QUOTIENTS: list[tuple[Callable, float]] = [  # and what they are at t = 0
    (lambda t: np.sin(t) / t, 1.0),
    (lambda t: np.sin(3 * t) / t, 3.0),
    (lambda t: np.sin(-t / 3) / (2 * t), -1 / 6),
    (lambda t: (2**t - 1) / t, np.log(2)),
    (lambda t: (1.5**t - 1) / (2 * t), np.log(1.5) / 2),
    (lambda t: (np.exp(-2 * t) - 1) / t, -2.0),
    (lambda t: np.expm1(t / 3) / t, 1 / 3),
    (lambda t: (np.exp2(t) - 1) / t, np.log(2)),
    (lambda t: np.arctan(t) / t, 1.0),
    (lambda t: np.log1p(t / 2) / t, 0.5),
    (lambda t: np.tanh(t) / t, 1.0),
    (lambda t: special.erf(t) / t, 2 / np.sqrt(np.pi)),
    (lambda t: (np.sqrt(4 + t) - 2) / t, 0.25),
    (lambda t: (1 - np.cos(t)) / t**2, 0.5),
    (lambda t: (np.exp(t) - 1 - t) / t**2, 0.5),
    (lambda t: t / np.tan(t), 1.0),
    (lambda t: np.sin(t) * (1 / t), 1.0),
    (lambda t: t / np.log1p(t / 2), 2.0),
    (lambda t: np.sin(t**2) / t**2, 1.0),
    (lambda t: (np.tan(t) - np.sin(t)) / t**3, 0.5),
    (lambda t: (1 - special.j0(t)) / t**2, 0.25),
    (lambda t: (special.expit(t) - 0.5) / t, 0.25),
    (lambda t: ((1 + t / 2) ** 0.3 - 1) / t, 0.15),
    (lambda t: (1 - np.cos(t)) / np.sin(t) ** 2, 0.5),
    (lambda t: np.log(1 + t / 2) / np.log(1 - t / 4), -2.0),
    (lambda t: special.gammaln(1 + t / 2) / t, -0.5 * 0.5772156649015329),
    (lambda t: (1 / (1 + t / 2) - 1) / t, -0.5),
    (lambda t: t**3 / t, 0.0),
]


@pytest.mark.parametrize(("quotient", "limit"), QUOTIENTS)
def test_quotients_are_smooth_where_both_vanish(quotient: Callable, limit: float) -> None:
    tape = Tape((quotient(T),), (T,))
    assert tape.values(np.zeros((1, 1)))[0, 0] == pytest.approx(limit, rel=1e-15, abs=1e-15)
    t = np.linspace(-1, 1, 100)[:, None]
    np.testing.assert_allclose(tape.values(t)[:, 0], quotient(t[:, 0]), rtol=1e-9)
    box = tape.enclose(np.array([[-1e-3]]), np.array([[1e-3]]))
    assert box.lo[0, 0] <= limit <= box.hi[0, 0]
    assert box.hi[0, 0] - box.lo[0, 0] <= 0.1
    slope = tape.gradients(np.array([[-0.1]]), np.array([[0.1]]))
    assert np.isfinite(slope.lo).all()
    assert np.isfinite(slope.hi).all()


@pytest.mark.parametrize(
    ("index", "function", "points", "value"),
    [
        (lsip.Index("t", lsip.Interval(0.5, 2)), lambda t: np.log(t) / (t - 1), [1.0], 1.0),
        (lsip.Index("t", lsip.Interval(0.5, 2)), lambda t: np.log(t) / (t**2 - 1), [1.0], 0.5),
        (lsip.Index("t", lsip.Interval(0, 3)), lambda t: np.sin(3 * t - 3) / (t - 1), [1.0], 3.0),
        (Y, lambda y: np.sin(y[0] + y[1]) / (y[0] + y[1]), [0.25, -0.25], 1.0),
        (Y, lambda y: np.sin(y[0] * y[1]) / y[0], [0.0, 0.5], 0.5),
        (Y, lambda y: np.sum(np.arctan(y) / y), [0.0, 0.0], 2.0),
        (T, lambda t: np.sum(np.sin(t * np.array([1.0, 2])) / (t * np.array([2.0, 2]))), [0.0], 1.5),
        (HALF, lambda t: t * np.log(t), [0.0], 0.0),
        (HALF, lambda t: np.sin(t) * np.log(2 * t), [0.0], 0.0),
        (HALF, lambda t: np.sqrt(t) * np.log2(t), [0.0], 0.0),
        (HALF, lambda t: (1 - t) * np.log1p(-t), [1.0], 0.0),
        (HALF, lambda t: special.xlogy(t, t), [0.0], 0.0),
        (HALF, special.entr, [0.0], 0.0),
        (HALF, lambda t: special.rel_entr(t, 0.5), [0.0], 0.0),
        (HALF, lambda t: special.kl_div(t, 0.5), [0.0], 0.5),
        (HALF, lambda t: special.rel_entr(t, 2 * t), [0.0], 0.0),
        (HALF, lambda t: special.xlog1py(t - 1, -t), [1.0], 0.0),
    ],
)
def test_zeros_away_from_the_origin_and_logarithms(
    index: Any, function: Any, points: list[float], value: float
) -> None:
    formula = function(index)
    at = np.array(points if index.shape else points[0])
    assert formula.at({index: at}) == pytest.approx(value, abs=1e-12)
    z = lsip.Variable(name="z")
    solution = lsip.Problem(lsip.minimize(z), [lsip.forall(index, z >= formula)]).solve(verbose=False)
    assert solution.certified
    assert solution.verify()
    low, high = index.domain.lower, index.domain.upper
    y = np.random.default_rng(0).uniform(low, high, (5000, len(low)))
    seen = formula.at({index: y if index.shape else y[:, 0]})
    assert seen.max() <= solution.value <= max(seen.max(), value) + 0.1 * (seen.max() - seen.min())


@pytest.mark.parametrize("name", [n for n in REFERENCES if n not in ("reciprocal", "square")])
def test_divided_differences_are_enclosed(name: str) -> None:
    """Against balls: values and three derivatives, over boxes and at points, near where they are divided and far."""
    rng = np.random.default_rng(0)
    c = {"log": 1.0, "log2": 4.0, "log10": 0.5, "sqrt": 4.0, "arccosh": 2.0, "gamma": 1.0, "gammaln": 2.0}.get(
        name, 0.25
    )
    with flint.ctx.workprec(600):
        for k in (1, 2, 3):
            f = divided_difference(name, c, k)
            for _ in range(4):
                start = c + rng.choice([0, 1, -1]) * 10 ** rng.uniform(-8, -0.2)
                u = np.clip(start + np.array([0.0, 10 ** rng.uniform(-9, -0.3)]), *f.domain)
                for n in range(4):
                    with np.errstate(all="ignore"):
                        box = f.evaluate(Interval(u[:1, None], u[1:, None]), n)
                    for v in rng.uniform(*u, 3):
                        exact = _exactly(name, c, k, n, float(v))
                        assert not exact.is_finite() or box.lo.item() <= exact <= box.hi.item(), (name, k, n, u, v)


def _exactly(name: str, c: float, k: int, n: int, v: float) -> Any:
    """Derivative n of what is left when k terms are divided out."""
    series, before = REFERENCES[name][1], flint.ctx.cap
    flint.ctx.cap = n + k + 1
    try:
        taylor = series(flint.arb_series([flint.arb(c), 1], k + 1))
        u, power = flint.arb_series([flint.arb(v), 1], n + 1), flint.arb_series([1], n + 1)
        rest = series(u)
        for j in range(k):
            rest, power = rest - power * taylor[j], power * (u - c)
        found = (rest / power)[n]
    finally:
        flint.ctx.cap = before
    for j in range(2, n + 1):
        found *= j
    return found


@pytest.mark.parametrize("function", [lambda t: np.arctan(t) / t, lambda t: (np.exp(t) - 1 - t) / t**2])
def test_they_are_proven_kept_and_solved_again(function: Callable, tmp_path: Path) -> None:
    z = lsip.Variable(name="z")
    problem = lsip.Problem(lsip.minimize(z), [lsip.forall(T, z >= function(T))])
    solution = problem.solve(verbose=False)
    assert solution.certified
    assert str(problem.constraints[0]).count("/") == 1  # as it was typed
    solution.export(tmp_path / "proof.json")
    assert checker.main([str(tmp_path / "proof.json")]) == 3  # refused: it does not know divided differences
    solution.save(tmp_path / "s.npz")
    assert lsip.load(tmp_path / "s.npz").verify()
    again = pickle.loads(pickle.dumps(problem)).solve(verbose=False)
    assert again.value == solution.value


def test_values_at_points_are_sharp() -> None:
    """Best cubic to (2**t - 1) / t, whose error is 2.5e-9: values are known to a few units in the last place."""
    points = np.array([0.0, 1e-9, 1e-3, 0.044, -0.0625])[:, None]
    box = divided_difference("exp2", 0.0, 1).evaluate(Interval.point(points), 0)
    assert (box.hi - box.lo <= 32 * np.spacing(box.hi)).all()
    t, h = lsip.Index("t", lsip.Interval(-1 / 16, 1 / 16)), lsip.Variable(name="h")
    c = lsip.Variable(4, name="c")
    error = (16 * t) ** np.arange(4) @ c - (2**t - 1) / t
    solution = lsip.Problem(lsip.minimize(h), [lsip.forall(t, [error <= h, -error <= h])]).solve(verbose=False)
    assert solution.certified
    assert solution.value == pytest.approx(2.54337800593e-9, rel=1e-4)


def test_they_have_derivatives() -> None:
    slope = lsip.derivative(np.sin(T) / T, T)
    t = np.linspace(-1, 1, 8)
    np.testing.assert_allclose(slope.at({T: t}), (t * np.cos(t) - np.sin(t)) / t**2, rtol=1e-12)
    assert slope.at({T: np.array(0.0)}) == pytest.approx(0, abs=1e-15)


def test_other_quotients_stay_what_they_are() -> None:
    away = lsip.Index("t", lsip.Interval(1, 2))
    kinds = {type(node).__name__ for node in (np.sin(away) / away).nodes()}
    assert "Divided" not in kinds
    z = lsip.Variable(name="z")
    for e in (
        np.sin(T + 1e-3) / T,
        np.sin(T) / T**2,
        np.cos(T) / T,
        T / np.abs(T),
        0.1 * T / (0.1 * T**2),
        np.sqrt(1 + T) / T,
    ):
        with pytest.raises(ModelError, match=r"not defined|no finite bounds"):
            lsip.Problem(lsip.minimize(z), [lsip.forall(T, z >= e)]).solve(verbose=False)


def test_distributions_of_scipy_say_what_works() -> None:
    with pytest.raises(ConversionError, match=r"ndtr\(z\)"):
        stats.norm.cdf(T, loc=1, scale=2)
    z = (T - 1) / 2
    points = np.linspace(-1, 1, 5)
    np.testing.assert_allclose(special.ndtr(z).at({T: points}), stats.norm.cdf(points, 1, 2))
    np.testing.assert_allclose(special.ndtr(-z).at({T: points}), stats.norm.sf(points, 1, 2))
    density = np.exp(-(z**2) / 2) / (2 * np.sqrt(2 * np.pi))
    np.testing.assert_allclose(density.at({T: points}), stats.norm.pdf(points, 1, 2))
