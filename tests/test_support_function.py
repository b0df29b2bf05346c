"""Constraints that are affine in the index: exact separation in any dimension, and the robust programs it solves."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import brentq, linprog

import lsip
from benchmarks.harness.models.rules import inventory, lot_sizes
from lsip.oracles import BranchAndBound, Multistart, SupportFunction, pick_oracle

from .checks import assert_feasible

Array = NDArray[np.float64]
DOMAINS: dict[str, Callable[[int], lsip.Domain]] = {
    "box": lambda m: lsip.Box(-np.ones(m), np.linspace(0.5, 2.0, m)),
    "ball": lambda m: lsip.Ball(np.linspace(-0.3, 0.3, m), 0.8),
    "budget": lambda m: lsip.Budget(m, 0.4 * m + 0.1),
    "simplex": lsip.Simplex,
    "polytope": lambda m: lsip.Polytope(np.vstack([-np.eye(m), np.ones((1, m))]), np.append(np.zeros(m), 1.0)),
    "product": lambda m: lsip.Ball(np.zeros(m - 1), 1.0) * lsip.Interval(0, 1),
    "union": lambda m: lsip.Ball(np.zeros(m), 1.0) | lsip.Box(np.zeros(m), np.ones(m)),
    "finite": lambda m: lsip.Finite(np.eye(m) - 0.5),
}


def robust(domain: lsip.Domain, n: int, rows: int, seed: int, size: float = 0.1) -> lsip.Problem:
    """A random robust program; x = 0 is strictly feasible, and positive coefficients bound it."""
    rng = np.random.default_rng(seed)
    nominal, deviation = rng.uniform(0.5, 1.5, (rows, n)), rng.uniform(-size, size, (rows, n, domain.dim))
    x, y = lsip.Variable(n, name="x", lower=0), lsip.Index("y", domain)
    shift = rng.uniform(-0.1, 0.1, domain.dim) / domain.dim
    body = (nominal + deviation @ y) @ x
    return lsip.Problem(lsip.maximize(rng.uniform(0.5, 1.5, n) @ x), [lsip.forall(y, body <= 1 + shift @ y)])


@pytest.mark.parametrize("name", DOMAINS)
@settings(max_examples=5)
@given(st.integers(2, 3), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_the_bound_is_the_supremum(name: str, m: int, rows: int, seed: int) -> None:
    """It agrees with branch-and-bound, which knows nothing of support functions."""
    domain = DOMAINS[name](m)
    program = robust(domain, 4, rows, seed).compile()
    violation = program.violation(0, np.random.default_rng(seed).normal(size=4))
    found = SupportFunction().maximise(violation)
    assert found.bound <= found.worst + 1e-12
    assert domain.contains(found.points).all()
    np.testing.assert_allclose(found.values, violation.at(found.points, found.components), atol=1e-13)
    assert (np.diff(found.values) <= 0).all()
    proven = BranchAndBound(tol=1e-6, max_boxes=5_000).maximise(violation, target=found.worst)
    assert proven.worst <= found.bound
    assert proven.bound >= found.worst - 1e-12
    assert (violation.values(domain.sample(200, seed)) <= found.bound).all()


@given(st.integers(1, 6), st.integers(0, 2**32 - 1))
@settings(max_examples=30)
def test_the_bound_covers_rounding(m: int, seed: int) -> None:
    """In exact rational arithmetic no corner of a box exceeds it, even where everything cancels."""
    rng = np.random.default_rng(seed)
    slope, x = rng.normal(size=(3, m)), rng.normal(size=3) * 10.0 ** rng.integers(-8, 8, 3)
    variable, y = lsip.Variable(3), lsip.Index("y", lsip.Box(-np.ones(m), np.ones(m)))
    problem = lsip.Problem(lsip.minimize(variable.sum()), [lsip.forall(y, (slope @ y) @ variable <= 1)])
    violation = problem.compile().violation(0, x)
    found = SupportFunction().maximise(violation)
    exact = [sum(Fraction(a) * Fraction(b) for a, b in zip(column, x, strict=True)) for column in slope.T]
    top = sum((abs(d) for d in exact), start=Fraction(-1))
    assert Fraction(found.bound) >= top
    assert (
        float(Fraction(found.bound) - top) <= 1e-12 * (1 + sum(abs(float(d)) for d in exact)) + 1e-9 * np.abs(x).max()
    )


@pytest.mark.parametrize("name", DOMAINS)
@pytest.mark.parametrize("m", [3, 12])
def test_robust_programs_are_certified_in_any_dimension(name: str, m: int) -> None:
    problem = robust(DOMAINS[name](m), 8, 3, seed=m)
    solution = problem.solve(verbose=False)
    assert solution.certified, solution.status
    assert solution.oracle == "SupportFunction"
    solution.verify()
    if m == 3:
        assert_feasible(problem.compile(), solution)
        other = problem.solve(oracle=BranchAndBound(), verbose=False, tol=1e-6, time_limit=20)
        assert other.lower - 1e-9 <= solution.value <= other.upper + 1e-6


def test_a_ball_matches_the_closed_form() -> None:
    """max sum x with (1 + y) · x <= 1 for every |y| <= r: all x are equal, and n x + r sqrt(n) x = 1."""
    n, r = 40, 0.5
    x, y = lsip.Variable(n, name="x", lower=0), lsip.Index("y", lsip.Ball(np.zeros(n), r))
    solution = lsip.Problem(lsip.maximize(x.sum()), [lsip.forall(y, (1 + y) @ x <= 1)]).solve(verbose=False)
    assert solution.certified
    assert abs(solution.value - n / (n + r * np.sqrt(n))) <= 1e-8


def test_a_budget_matches_its_linear_program() -> None:
    """Bertsimas and Sim: a x + budget p + sum q <= b with p + q >= |d_j x_j|."""
    n, budget = 12, 3.5
    rng = np.random.default_rng(3)
    c, a, d = rng.uniform(0.5, 1.5, n), rng.uniform(1, 2, n), rng.uniform(0.1, 0.9, n)
    x, y = lsip.Variable(n, name="x", lower=0), lsip.Index("y", lsip.Budget(n, budget))
    ours = lsip.Problem(lsip.maximize(c @ x), [lsip.forall(y, (a + d * y) @ x <= 1), x <= 0.2]).solve(verbose=False)
    rows = np.zeros((n + 1, 2 * n + 1))
    rows[0] = np.concatenate([a, [budget], np.ones(n)])
    for j in range(n):
        rows[1 + j, [j, n, n + 1 + j]] = d[j], -1.0, -1.0
    bounds = [(0, 0.2)] * n + [(0, None)] * (n + 1)
    cost, side = np.concatenate([-c, np.zeros(n + 1)]), np.append(1.0, np.zeros(n))
    theirs = linprog(cost, A_ub=rows, b_ub=side, bounds=bounds)
    assert ours.certified
    assert abs(ours.value + theirs.fun) <= 1e-7


def test_newton_slides_along_a_sphere() -> None:
    """The worst points of a ball move with x; following them takes a few iterations where cuts alone take dozens."""
    problem = robust(lsip.Ball(np.zeros(20), 1.0), 40, 8, seed=0, size=0.1)
    quick, slow = (
        problem.solve(verbose=False, method=lsip.Exchange(oracle="support", tol=1e-7, polish=p)) for p in (True, False)
    )
    assert quick.certified
    assert slow.certified
    assert abs(quick.value - slow.value) <= 2e-7
    assert 2 * len(quick.history) <= len(slow.history)


def test_a_curved_constraint_over_a_disc() -> None:
    """A maximiser on the circle of a function that is curved itself: min t with t >= y0 + y1^2 has its top inside."""
    t, y = lsip.Variable(name="t"), lsip.Index("y", lsip.Ball([0, 0], 2.0))
    solution = lsip.Problem(lsip.minimize(t), [lsip.forall(y, t >= y[0] + y[1] ** 2)]).solve(verbose=False)
    # On the circle, y0 + 4 - y0^2 is largest at y0 = 1/2.
    assert solution.certified
    assert abs(solution.value - 4.25) <= 1e-7


@pytest.mark.parametrize("sites", [3, 4, 5])
def test_rules_with_coefficients_that_nothing_holds_are_certified(sites: int) -> None:
    """What a site sends itself costs nothing and cancels: the rule for it is free, and no multiplier balances it.

    The bound has to hold wherever the rule is there.
    """
    solution = lot_sizes(sites).solve(verbose=False, time_limit=20)
    assert solution.certified, solution.message
    assert np.isinf(solution.certificate.radius)
    solution.verify()


def test_coefficients_that_are_known_exactly_have_no_doubt() -> None:
    """Sums of one term, and of terms that cancel, are what they are; so is a coordinate of the index."""
    domain = lsip.Polytope(np.vstack([np.eye(2), -np.eye(2)]), np.ones(4))
    x, y = lsip.Variable((2, 2), name="x"), lsip.Index("y", domain)
    rule = x @ y
    rows = [np.array([0.1, 0.7]) @ rule <= 1, rule.sum() - rule[0] <= 1]
    family = lsip.Problem(lsip.minimize(x.sum()), [lsip.forall(y, rows)]).compile().families[0]
    point = np.array([[0.3, -0.7]])
    total = family.enclosed(point, point, np.array([1]))[0]
    assert (total.lo == total.hi).all()
    assert sorted(total.lo[0].tolist()) == [-0.7, 0.0, 0.0, 0.3]


def test_cuts_that_hold_a_point_are_kept() -> None:
    """Most of those behind an affine rule have no multiplier; without them it would run off again and again."""
    solution = inventory(9).solve(verbose=False)
    assert solution.certified
    assert len(solution.history) <= 34
    worst = [step.violation for step in solution.history]
    assert sum(a > 1e6 > b for b, a in pairwise(worst)) <= 2


def test_infeasible_and_unbounded_programs_are_proven() -> None:
    m = 9
    x, y = lsip.Variable(2, name="x"), lsip.Index("y", lsip.Ball(np.zeros(m), 1.0))
    column = np.ones(m) / 3  # of length 1
    infeasible = lsip.Problem(lsip.minimize(x[0]), [lsip.forall(y, x[0] >= column @ y), x[0] <= 0.5])
    assert infeasible.solve(verbose=False).status is lsip.Status.INFEASIBLE
    unbounded = lsip.Problem(lsip.minimize(x[1]), [lsip.forall(y, x[0] >= column @ y)])
    assert unbounded.solve(verbose=False).status is lsip.Status.UNBOUNDED


def test_which_oracle_is_chosen() -> None:
    x = lsip.Variable(2, name="x")
    y, t = lsip.Index("y", lsip.Ball(np.zeros(9), 1.0)), lsip.Index("t", lsip.Interval(0, 1))

    def chosen(*constraints: object) -> list[type]:
        families = lsip.Problem(lsip.minimize(x.sum()), list(constraints)).compile().families
        return [type(pick_oracle(f)) for f in families]

    assert chosen(lsip.forall(y, x[0] >= y.sum())) == [SupportFunction]
    assert chosen(lsip.forall(y, x[0] >= y @ y)) == [BranchAndBound]  # quadratic over a ball
    assert chosen(lsip.forall(y, x[0] >= np.exp(y @ y))) == [Multistart]
    assert chosen(lsip.forall(y, x[0] >= np.abs(y[0]))) == [Multistart]
    assert chosen(lsip.forall(t, x[0] >= np.sin(t)), lsip.forall(y, x[1] >= 2 * y[0] + 1)) == [
        BranchAndBound,
        SupportFunction,
    ]


def test_looks_and_formulas_work_together() -> None:
    """A program with a family of either kind: the answers of both are those of each alone."""
    x = lsip.Variable(2, name="x")
    y, t = lsip.Index("y", lsip.Ball(np.zeros(6), 1.0)), lsip.Index("t", lsip.Interval(0, 3))
    solution = lsip.Problem(
        lsip.minimize(x.sum()), [lsip.forall(t, x[0] >= t * np.exp(-t)), lsip.forall(y, x[1] + x[0] >= y.sum())]
    ).solve(verbose=False)
    assert solution.certified
    assert abs(solution.value - np.sqrt(6)) <= 1e-7


def test_what_has_no_formula_is_refused() -> None:
    x, y = lsip.Variable(1, name="x"), lsip.Index("y", lsip.Box([0, 0], [1, 1]))
    curved = lsip.Problem(lsip.minimize(x.sum()), [lsip.forall(y, x[0] >= y[0] * y[1])])
    with pytest.raises(lsip.ModelError, match="affine in the index"):
        curved.solve(oracle=SupportFunction(), verbose=False)


def test_budget_arguments() -> None:
    for m, budget, message in ((0, 1.0, "m >= 1"), (2, 3.0, "use Box"), (2, 0.0, "0 < budget"), (1.5, 1, "integer")):
        with pytest.raises(lsip.ModelError, match=message):
            lsip.Budget(m, budget)
    assert lsip.Budget(5, 2) == lsip.Budget(5, 2.0) != lsip.Budget(5, 2.5)


def test_the_projection_onto_a_budget_solves_its_equation() -> None:
    """The threshold of the projection is the root of one decreasing function."""
    budget, point = lsip.Budget(4, 1.7), np.array([1.9, -0.8, 0.3, 0.1])
    root = brentq(lambda v: np.clip(np.abs(point) - v, 0, 1).sum() - 1.7, 0, 2, xtol=1e-14)
    expected = np.sign(point) * np.clip(np.abs(point) - root, 0, 1)
    np.testing.assert_allclose(budget.project(point)[0], expected, atol=1e-12)
