"""Sums that a loop writes: as long as they like, without recursion, and the same as with arrays."""

from __future__ import annotations

import time

import numpy as np
import pytest

import lsip

K = 3000
T = lsip.Index("t", lsip.Interval(0, 1))


def rows(constraint: object, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    (family,) = lsip.Problem(lsip.minimize(X[0]), [lsip.forall(T, constraint)]).compile().families
    a, b = family.rows(y)
    return a[:, 0], b[:, 0]


X = lsip.Variable(K, name="x", lower=-1, upper=1)
Y = np.linspace(0, 1, 7)[:, None]


def test_terms_with_formulas() -> None:
    written = sum(X[k] * np.cos(k * T) for k in range(K))
    assert str(written).startswith("x[0] cos(0 t) + x[1] cos(t) + x[2] cos(2 t) + ")
    assert str(written).endswith("…")
    a, b = rows(written <= 1 + T, Y)
    assert np.abs(a - np.cos(Y * np.arange(K))).max() <= 1e-12
    assert b == pytest.approx(1 + Y[:, 0])


def test_terms_of_one_variable() -> None:
    a, _ = rows(sum(X[1] * T**k for k in range(K)) <= X[0], Y[:-1])
    assert a[:, 1] == pytest.approx((1 - Y[:-1, 0] ** K) / (1 - Y[:-1, 0]))


def test_terms_without_variables() -> None:
    total = sum(np.cos(k * T) for k in range(K)) + 1
    _, b = rows(X[0] + 1 >= total, Y)
    assert -b == pytest.approx(np.cos(Y * np.arange(K)).sum(axis=1), abs=1e-9)


def test_differences_and_finite_sums() -> None:
    total = X[0] * 0.0
    for k in range(K):
        total = total - X[k] / 2
    problem = lsip.Problem(lsip.minimize(X[0]), [total <= 3, lsip.forall(T, X[0] >= T)])
    assert problem.compile().A.toarray()[0, 1:].tolist() == [-0.5] * (K - 1)
    assert str(total).startswith("x[0] · 0 - x[0] / 2 - x[1] / 2")


def test_deep_formulas_print() -> None:
    e = T
    for _ in range(2000):
        e = np.sin(e) * 0.5
    assert "…" in str(e)
    assert r"\dots" in e._repr_latex_()


def test_time_grows_with_the_length() -> None:
    """Twice the terms take about twice the time; quadratic growth would be four times as much, and more."""
    x = lsip.Variable(8000, name="x")

    def seconds(n: int) -> float:
        began = time.process_time()
        body = sum(x[k] * np.cos(k * T) for k in range(n))
        lsip.Problem(lsip.minimize(x[0]), [lsip.forall(T, body <= 1)]).compile()
        return time.process_time() - began

    seconds(500)
    assert seconds(8000) <= 3 * 4 * seconds(2000)
