"""Matrices are printed with the names that they have in Python, each with its own."""

from __future__ import annotations

import gc

import numpy as np
from scipy import sparse

import lsip
from lsip.expressions import naming


def lines(problem: lsip.Problem) -> list[str]:
    return [line.removeprefix("subject to").strip() for line in str(problem).splitlines()[1:]]


def test_a_matrix_is_called_as_in_python() -> None:
    prices, masts = np.arange(8.0), np.arange(6.0).reshape(3, 2)
    network = sparse.csr_array(np.eye(8))
    x, y = lsip.Variable(8, name="x"), lsip.Index("y", lsip.Box([0, 0], [1, 1]))
    near = ((y - masts) ** 2).sum(axis=-1)
    problem = lsip.Problem(lsip.minimize(prices @ x), [network @ x >= 1, lsip.forall(y, near @ x[:3] <= 1)])
    assert str(problem).splitlines()[0] == "minimize prices · x"
    assert lines(problem) == ["network · x ≥ 1", "(Σ (y - masts)²) · x[:3] ≤ 1   for all y ∈ [0, 1]²"]
    assert r"\mathrm{masts}" in problem._repr_latex_()


def test_names_reach_what_is_said_of_a_solution() -> None:
    masts, y = np.array([[0.2, 0.3], [0.4, 0.7]]), lsip.Index("y", lsip.Box([0, 0], [1, 1]))
    x = lsip.Variable(2, name="x", lower=0)
    field = 1 / (1 + ((y - masts) ** 2).sum(axis=-1))
    solution = lsip.Problem(lsip.maximize(x.sum()), [lsip.forall(y, field @ x <= 1)]).solve(verbose=False)
    assert "masts" in str(solution.active[0])


def test_matrices_without_a_name_differ() -> None:
    x = lsip.Variable(2, name="x")
    problem = lsip.Problem(lsip.minimize(x.sum()), [np.eye(2) @ x >= 0, np.ones((3, 2)) @ x >= 1])
    assert lines(problem) == ["A(2×2) · x ≥ 0", "B(3×2) · x ≥ 1"]


def test_later_names_and_letters_stay_apart() -> None:
    A = np.diag([1.0, 2.0])
    x = lsip.Variable(2, name="x")
    assert lines(lsip.Problem(lsip.minimize(x.sum()), [np.eye(2) @ x >= 0, A @ x >= 1])) == [
        "B(2×2) · x ≥ 0",
        "A · x ≥ 1",
    ]


def test_names_are_forgotten_with_their_matrices() -> None:
    def made() -> None:
        weights = np.arange(9.0)
        x = lsip.Variable(9)
        lsip.Problem(lsip.minimize(weights @ x), [x >= 0])

    gc.collect()
    before = len(naming._NAMES)
    made()
    gc.collect()
    assert len(naming._NAMES) == before


def test_powers_of_a_loop_read_as_they_would_be_written() -> None:
    x, t = lsip.Variable(3, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    assert str(sum(x[k] * t**k for k in range(3)) >= 1) == "x[0] + x[1] t + x[2] t² ≥ 1"
    assert str((np.ones(3) @ x) * t >= 1) == "([1 1 1] · x) t ≥ 1"
