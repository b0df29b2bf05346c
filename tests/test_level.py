"""Level steps: bounds from the first iteration on where rules have hundreds of coefficients."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lsip
from benchmarks.harness.rules import lot_sizing
from lsip import Index, Problem, Rule, Variable, forall, maximize, minimize, solver
from lsip.proof import Support
from lsip.solver.halfspaces import Halfspaces, nearest
from lsip.solver.linear import LinearRelaxation
from lsip.solver.loop import CutLoop
from lsip.solver.rows import end_cuts

EMPTY = solver.LevelTuning().empty
ALWAYS = lsip.Tuning(level=solver.LevelTuning(few=1))
NEVER = lsip.Tuning(level=solver.LevelTuning(few=10**6))


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


@settings(deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 8), st.integers(1, 12))
def test_nearest_point_is_the_nearest(seed: int, n: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    a, inside, x = rng.normal(size=(k, n)), rng.normal(size=n), 5 * rng.normal(size=n)
    side = a @ inside + rng.random(k)
    point, multipliers, _ = nearest(x, a, side, EMPTY)
    assert point is not None
    assert (multipliers >= 0).all()
    size = 1 + np.abs(x).max() + np.abs(point).max()
    assert (a @ point - side).max() <= 1e-8 * size
    # No point of the set is on the other side of the plane through the nearest one, across the way from x.
    assert (x - point) @ (inside - point) <= 1e-7 * size**2


def test_multipliers_of_an_empty_set_contradict_it() -> None:
    a, side = np.array([[1.0, 2.0], [-1.0, -1.0], [0.0, -1.0]]), np.array([1.0, -2.0, -1.0])
    point, u, _ = nearest(np.zeros(2), a, side, EMPTY)
    assert point is None
    assert np.abs(u @ a).max() <= 1e-12 * u.max()
    assert u @ side < 0


def test_bounds_meet_within_one_iteration() -> None:
    problem = inventory(10)
    solution = problem.solve(method=lsip.Exchange(tuning=ALWAYS), tol=1e-6, verbose=False)
    other = problem.solve(method=lsip.Counterpart(), tol=1e-6, verbose=False)
    assert solution.certified
    assert len(solution.history) == 1
    assert solution.value == pytest.approx(other.value, rel=2e-6)
    assert solution.verify().certified


def test_first_iteration_has_both_bounds_only_with_level_steps() -> None:
    problem = inventory(13)
    bounded, open_ended = (
        problem.solve(method=lsip.Exchange(tuning=tuning, max_iterations=1), tol=1e-6, verbose=False)
        for tuning in (lsip.Tuning(), NEVER)
    )
    assert problem.compile().n > solver.LevelTuning().few
    assert bounded.certified
    assert bounded.gap <= 1e-6
    assert not open_ended.upper < np.inf


def test_equalities_bounds_and_balls() -> None:
    n = 30
    x, z, worst = Variable(n, name="x", lower=0, upper=0.2), Index("z", lsip.Ball([0.0] * n, 1.0)), Variable(name="w")
    returns = 1.1 + 0.05 * np.arange(n) / n + 0.3 * np.arange(1, n + 1) / n * z
    problem = Problem(maximize(worst), [forall(z, returns @ x >= worst), x.sum() == 1])
    level, plain = (
        problem.solve(method=lsip.Exchange(tuning=tuning), tol=1e-6, verbose=False) for tuning in (ALWAYS, NEVER)
    )
    assert level.certified
    assert plain.certified
    assert level.value == pytest.approx(plain.value, rel=2e-6)


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


@pytest.mark.parametrize("problem", [lot_sizing(6), scattered(6)], ids=["lots", "scattered"])
def test_an_exchange_closes_where_level_steps_do_not(problem: Problem) -> None:
    solution = problem.solve(method=lsip.Exchange(), tol=1e-6, verbose=False)
    other = problem.solve(method=lsip.Counterpart(), tol=1e-6, verbose=False)
    assert problem.compile().n > solver.LevelTuning().few
    assert len(solution.history) > 1
    assert solution.certified
    assert solution.value == pytest.approx(other.value, rel=2e-6)
    assert solution.verify().certified
    assert np.abs(solution.x).max() <= 1e3 * np.abs(other.x).max()


def test_rows_are_held_at_both_ends_of_their_axes() -> None:
    """A rule of two of three indices has a slope along these; the set has one lowest and one highest point on each."""
    z = Index("z", lsip.Box([1, 2, 3], [4, 5, 6]))
    make = Rule(of=z[:2], name="make")
    cuts = end_cuts(Problem(minimize(make.coefficients[0]), [forall(z, make >= 0)]).compile())
    assert len({cut.place for cut in cuts}) == len(cuts)
    assert {float(cut.point[0]) for cut in cuts} >= {1.0, 4.0}
    assert {float(cut.point[1]) for cut in cuts} >= {2.0, 5.0}
    assert len(cuts) <= 4


def test_models_without_a_solution_stay_so() -> None:
    solution = inventory(4, most=300.0).solve(method=lsip.Exchange(tuning=ALWAYS), tol=1e-6, verbose=False)
    assert solution.status is lsip.Status.INFEASIBLE


def test_gaps_that_rounding_hides_end_with_bounds() -> None:
    solution = inventory(8).solve(method=lsip.Exchange(tuning=ALWAYS, max_iterations=1), tol=1e-13, verbose=False)
    assert solution.lower <= solution.upper <= solution.lower + 1e-3 * abs(solution.upper)


def test_time_limits_are_kept() -> None:
    solution = inventory(16).solve(method=lsip.Exchange(), tol=1e-12, time_limit=1.0, verbose=False)
    assert solution.status is lsip.Status.TIME_LIMIT
    assert solution.seconds < 2.0


def test_a_lower_bound_comes_before_the_first_relaxation() -> None:
    """At zero, slopes have no part in the rows: what is left is the cheapest plan for the nominal demand."""
    problem = inventory(13)
    program = problem.compile()
    options = lsip.Exchange(tol=1e-6, time_limit=60.0)
    run = CutLoop(program, options, lambda clock: LinearRelaxation(program, options))
    assert run.state.proven is None
    with np.errstate(over="ignore", invalid="ignore"):  # as in a solve
        run.anytime.begin(run)
    assert run.state.proven is not None
    assert not run.state.history
    bound, best = run.state.proven.value / run.relaxation.scaling.objective, problem.solve(tol=1e-6, verbose=False)
    assert 0.5 * best.value <= bound <= best.upper


def test_nothing_is_held_twice() -> None:
    cuts = [Support(0, 0, np.array([0.5]), 0.0), Support(0, 1, np.array([0.5]), 0.0)]
    rows = Halfspaces.of(np.eye(2), np.ones(2), 1.0, cuts=cuts)
    old = replace(rows, age=np.array([3, 1]))
    bounds = Halfspaces.of(np.eye(2), np.ones(2), 0.0)
    both = old.joined(bounds).with_new(Halfspaces.of(np.eye(2)[:1], np.ones(1), 1.0, cuts=cuts[:1]), bounds)
    assert len(both) == 4
    assert both.age.tolist() == [0, 1, 0, 0]


@settings(deadline=None)
@given(st.integers(0, 2**31), st.integers(2, 8), st.integers(1, 12))
def test_a_guess_leads_to_the_same_point(seed: int, n: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    a, inside, x = rng.normal(size=(k, n)), rng.normal(size=n), 5 * rng.normal(size=n)
    side = a @ inside + rng.random(k)
    point, *_ = nearest(x, a, side, EMPTY)
    guessed, multipliers, _ = nearest(x, a, side, EMPTY, rng.random(k) < 0.5)
    assert point is not None
    assert guessed is not None
    assert (multipliers >= 0).all()
    np.testing.assert_allclose(guessed, point, atol=1e-6 * (1 + np.abs(point).max()))
