"""Points from elsewhere are judged over all index points."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lsip


def chebyshev() -> tuple[lsip.Problem, lsip.Variable, lsip.Variable]:
    """The best line through exp on [0, 1]: 2-norms of nothing, one level for both sides."""
    x, level = lsip.Variable(2, name="x"), lsip.Variable(name="level")
    t = lsip.Index("t", lsip.Interval(0, 1))
    line = x[0] + x[1] * t
    sides = [line - np.exp(t) <= level, np.exp(t) - line <= level]
    return lsip.Problem(lsip.minimize(level), [lsip.forall(t, sides)]), x, level


@settings(max_examples=20)
@given(st.tuples(*[st.floats(-2, 2)] * 3))
def test_the_violation_is_the_largest_over_a_fine_grid(given_x: tuple[float, float, float]) -> None:
    problem, _, _ = chebyshev()
    worst = problem.worst_violation(given_x)
    t = np.linspace(0, 1, 2001)
    line = given_x[0] + given_x[1] * t
    seen = max(float((line - np.exp(t)).max()), float((np.exp(t) - line).max())) - given_x[2]
    assert worst.certified
    assert seen <= worst.bound
    assert worst.value >= seen - 1e-5
    assert worst.bound <= worst.value + 1e-9
    assert float(worst) == worst.value


def test_what_is_feasible_on_a_grid_is_not_between_its_points() -> None:
    """The line from a grid of three points, whose error is known by hand."""
    problem, x, level = chebyshev()
    found = problem.discretise(3).solve().x
    worst = problem.worst_violation({x: found[:2], level: found[2]})
    slope = math.e - 1  # the line is parallel to the chord
    deepest = slope - slope * math.log(slope)  # exp(t) - slope t at t = log slope
    middle = math.exp(0.5) - slope / 2
    assert worst.value == pytest.approx((middle - deepest), abs=1e-9)
    assert worst.point[0] == pytest.approx(math.log(slope), abs=1e-4)
    assert "exp(t)" in worst.constraint
    assert problem.worst_violation(problem.solve(verbose=False).x).bound <= 0


def test_high_dimensions_and_black_boxes() -> None:
    x, y = lsip.Variable(1, name="x"), lsip.Index("y", lsip.Ball(np.zeros(30), 1.0))
    ball = lsip.Problem(lsip.minimize(x[0]), [lsip.forall(y, x[0] >= y.sum())])
    assert ball.worst_violation([0.0]).bound == pytest.approx(math.sqrt(30), abs=1e-12)
    box = lsip.Family(
        lsip.Interval(0, 1), lambda y: -np.ones((len(y), 1)), lambda y: np.array([-math.sin(3 * v) for v in y[:, 0]])
    )
    blind = lsip.Problem(lsip.minimize(x[0]), [box.on(x)]).worst_violation([0.5])
    assert not blind.certified
    assert blind.value == pytest.approx(0.5, abs=1e-6)


def test_points_that_do_not_fit_are_refused() -> None:
    problem, x, _ = chebyshev()
    for given_x, message in (([1.0, 2.0], "3 finite numbers"), ([1, 2, np.nan], "finite"), ({x: [1, 2]}, "exactly")):
        with pytest.raises(lsip.ModelError, match=message):
            problem.worst_violation(given_x)
    z = lsip.Variable(name="z", lower=0)
    with pytest.raises(lsip.ModelError, match="no constraint over an index"):
        lsip.Problem(lsip.minimize(z), [z >= 1]).worst_violation([1.0])


def test_an_objective_is_no_constraint() -> None:
    """What bounds a convex objective over an index is not asked about, and beside it nothing changes."""
    x, t = lsip.Variable(2, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    objective = lsip.minimize(np.abs(x[0] + x[1] * t - np.exp(t)), over=t)
    with pytest.raises(lsip.ModelError, match="no constraint over an index"):
        lsip.Problem(objective).worst_violation([1.0, 1.7])
    limit = lsip.forall(t, x[0] + x[1] * t <= 2 + t / 2)
    convex, plain = lsip.Problem(objective, [limit]), lsip.Problem(lsip.minimize(x[0]), [limit])
    for point in ([1.0, 1.7], [0.0, 0.0]):
        one, other = (problem.worst_violation(point) for problem in (convex, plain))
        assert (one.value, one.bound, one.constraint) == (other.value, other.bound, other.constraint)
        assert abs(one.value) < 3
    concave = lsip.Problem(lsip.maximize(np.minimum(x[0], 1 - x[1] * t), over=t), [limit])
    assert concave.worst_violation([1.0, 1.7]).value == pytest.approx(plain.worst_violation([1.0, 1.7]).value)


def test_what_is_known_when_time_is_up_is_returned():
    y, x = lsip.Index("y", lsip.Box(np.zeros(4), np.ones(4))), lsip.Variable(name="x")
    u = np.sin(3 * y[0] + y[1] ** 2 + y[2] * y[3])  # u exp(-u) is largest all along a surface: a proof takes ages
    problem = lsip.Problem(lsip.minimize(x), [lsip.forall(y, x >= u * np.exp(-u))])
    began = time.perf_counter()
    found = problem.worst_violation([np.exp(-1) + 1e-7], time_limit=1.0)
    assert time.perf_counter() - began < 5
    assert found.value <= -9.99e-8 <= found.bound < np.inf  # the supremum is -1e-7
