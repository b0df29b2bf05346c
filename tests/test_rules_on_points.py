"""Rules over finite sets with fewer points than coefficients: one way to write each, and a proof."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import lsip
from lsip import Box, Finite, Index, Problem, Rule, Variable, forall, minimize


def supply(points: np.ndarray, seed: int) -> tuple[Problem, float]:
    """A decision before and one after a scenario is known, and what it costs at best where the latter is free."""
    rng, (count, m), sites = np.random.default_rng(seed), points.shape, 3
    price, need, help_, base = (
        rng.uniform(0.5, 3, sites),
        rng.normal(size=(3, m)),
        rng.uniform(0.2, 1, (3, sites)),
        rng.uniform(0, 1, (3, 2)),
    )
    z, x, worst = Index("z", Finite(points)), Variable(2, name="x", lower=0), Variable(name="worst")
    after = Rule(sites, of=z, name="after")
    rows = [price @ after <= worst, help_ @ after + base @ x >= 1 + need @ z, after >= 0]
    A, b = [], []
    for k in range(count):
        paid, served = np.zeros(3 + count * sites), np.zeros((3, 3 + count * sites))
        here = slice(3 + k * sites, 3 + (k + 1) * sites)
        paid[2], paid[here], served[:, :2], served[:, here] = -1, price, -base, -help_
        A += [paid, *served]
        b += [0.0, *(-1 - need @ points[k])]
    free = [(0, None)] * 2 + [(None, None)] + [(0, None)] * (count * sites)
    known = linprog(np.r_[2, 3, 1, np.zeros(count * sites)], A_ub=np.array(A), b_ub=b, bounds=free)
    return Problem(minimize(np.array([2, 3]) @ x + worst), [forall(z, rows)]), known.fun


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("method", [lsip.Counterpart(), lsip.Exchange()], ids=["counterpart", "exchange"])
def test_answers_are_proven_and_as_good_as_a_decision_for_each_point(
    method: lsip.Exchange | lsip.Counterpart, seed: int
) -> None:
    """Of m + 1 points in general position, or fewer, a rule may have any values."""
    rng = np.random.default_rng(seed)
    problem, known = supply(rng.uniform(0, 10, (int(rng.integers(2, 6)), 6)), seed)
    solution = problem.solve(method=method, tol=1e-6, verbose=False)
    assert solution.certified
    assert solution.value == pytest.approx(known, rel=2e-6)
    assert solution.verify().certified


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**31), st.integers(1, 7), st.integers(1, 3), st.integers(1, 2))
def test_what_is_left_out_is_spanned_and_nothing_else(seed: int, count: int, m: int, degree: int) -> None:
    points = np.random.default_rng(seed).integers(0, 3, (count, m)) / 4
    z = Index("z", Finite(points))
    rule = Rule(of=z if m > 1 else [z], degree=degree, name="r")
    kept = np.isinf(rule.coefficients.lower)
    assert (np.isinf(rule.coefficients.upper) == kept).all()

    def rank(columns: np.ndarray) -> int:
        """Of small whole numbers, which doubles have no trouble with."""
        table = np.prod((4 * points)[:, None, :] ** rule.exponents[columns], axis=-1)
        return int(np.linalg.matrix_rank(table))

    assert kept[0]  # the constant part is kept
    assert rank(np.flatnonzero(kept)) == kept.sum() == rank(np.arange(len(kept)))


def test_other_entries_are_left_alone() -> None:
    z = Index("z", Finite([[0.0, 1.0, 3.0], [2.0, 5.0, 4.0]]) * Box([0, 0], [1, 1]))
    free = np.isinf(Rule(of=z, name="r").coefficients.lower)
    assert free[0]
    assert free[1:4].sum() == 1  # two points, so a constant and a slope
    assert free[4:].all()
    assert np.isinf(Rule(of=z, degree=2, name="r").coefficients.lower).all()
    many = Index("y", Finite(np.random.default_rng(0).normal(size=(50_000, 8))))
    assert np.isinf(Rule(of=many, name="r").coefficients.lower).all()
