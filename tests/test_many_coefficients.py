"""An exchange where rules have hundreds of coefficients: it solves the counterpart, unless an oracle is named."""

from __future__ import annotations

import numpy as np
import pytest

import lsip
from benchmarks.harness.rules import lot_sizing
from lsip import Index, Problem, Rule, Variable, forall, maximize, minimize


def inventory(periods: int, most: float = 567.0) -> Problem:
    wave = 1 + 0.5 * np.sin(np.pi * np.arange(periods) / 12)
    cost, z = np.array([[1], [1.5], [2]]) * wave, Index("z", lsip.Box([-1] * periods, [1] * periods))
    make = [Rule(3, of=z[:t], name=f"make{t}") for t in range(periods)]
    stock, rows, worst = 500.0, [], Variable(name="worst")
    for t in range(periods):
        stock = stock + make[t].sum() - 1000 * wave[t] * (1 + 0.2 * z[t])
        rows += [make[t] >= 0, make[t] <= most, stock >= 500, stock <= 2000]
    total = sum(cost[:, t] @ make[t] for t in range(periods))
    return Problem(minimize(worst), [forall(z, [*rows, total <= worst])])


def scattered(samples: int) -> Problem:
    """Rules of their own around every sample, none of which is near zero."""
    value = np.array([4.5, 4.41, 3.61, 4.49, 4.38, 4.58])
    seen = np.random.RandomState(1).gamma(4.0, 10.0, (samples, len(value)))
    x, each, rows = Variable(len(value), name="x", lower=0), Variable(samples, name="a"), []
    for s, centre in enumerate(seen):
        d = Index(f"d{s}", lsip.Box(centre - 0.25, centre + 0.25))
        left = Rule(len(value), of=d, name=f"left{s}")
        rows += [forall(d, [value @ left <= each[s], left >= x - d, left >= 0])]
    return Problem(minimize((3 - value) @ x + each.sum() / samples), [*rows, x.sum() <= 240])


@pytest.mark.parametrize("problem", [inventory(10), lot_sizing(6), scattered(6)], ids=["stock", "lots", "scattered"])
def test_bounds_meet_within_one_iteration(problem: Problem) -> None:
    solution = problem.solve(method=lsip.Exchange(), tol=1e-6, verbose=False)
    assert solution.certified
    assert len(solution.history) == 1
    assert solution.verify().certified


@pytest.mark.parametrize("problem", [inventory(7), lot_sizing(4), scattered(3)], ids=["stock", "lots", "scattered"])
def test_cuts_alone_lead_to_the_same_value(problem: Problem) -> None:
    solution = problem.solve(oracle="support", tol=1e-6, verbose=False)
    other = problem.solve(method=lsip.Counterpart(), tol=1e-6, verbose=False)
    assert len(solution.history) > 1
    assert solution.certified
    assert solution.value == pytest.approx(other.value, rel=2e-6)
    assert solution.verify().certified
    assert np.abs(solution.x).max() <= 1e3 * np.abs(other.x).max()


def test_equalities_bounds_and_balls() -> None:
    n = 30
    x, z, worst = Variable(n, name="x", lower=0, upper=0.2), Index("z", lsip.Ball([0.0] * n, 1.0)), Variable(name="w")
    returns = 1.1 + 0.05 * np.arange(n) / n + 0.3 * np.arange(1, n + 1) / n * z
    problem = Problem(maximize(worst), [forall(z, returns @ x >= worst), x.sum() == 1])
    found, plain = (problem.solve(oracle=oracle, tol=1e-6, verbose=False) for oracle in (None, "support"))
    assert found.certified
    assert plain.certified
    assert found.value == pytest.approx(plain.value, rel=2e-6)


@pytest.mark.parametrize("oracle", [None, "support"], ids=["counterpart", "cuts"])
def test_models_without_a_solution_stay_so(oracle: str | None) -> None:
    solution = inventory(4, most=300.0).solve(oracle=oracle, tol=1e-6, verbose=False)
    assert solution.status is lsip.Status.INFEASIBLE


def test_gaps_that_rounding_hides_end_with_bounds() -> None:
    solution = inventory(8).solve(method=lsip.Exchange(max_iterations=1), tol=1e-13, verbose=False)
    assert 0 < solution.lower <= solution.upper < np.inf


def test_time_limits_are_kept() -> None:
    solution = inventory(16).solve(oracle="support", tol=1e-12, time_limit=1.0, verbose=False)
    assert solution.status is lsip.Status.TIME_LIMIT
    assert solution.seconds < 2.0
