"""The finite relaxation: coordinates that follow the cuts, and time that is kept to."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import lsip
from lsip.oracles import box_search
from lsip.proof.certificate import Support
from lsip.proof.families import Bounds, family_bounds
from lsip.solver import certification
from lsip.solver.linear import LinearRelaxation
from lsip.solver.method import opened
from lsip.solver.state import End


def hedge(strikes: np.ndarray, top: float, side: str, wide: float = np.inf) -> lsip.Problem:
    """The cheapest portfolio of cash, stock and calls above s^2 for every price s, or the dearest one below."""
    s = lsip.Index("s", lsip.Interval(0, top))
    x = lsip.Variable(len(strikes) + 2, name="x", lower=-wide, upper=wide)
    prices = np.concatenate([[1, 1], 0.5 * (1.5 - strikes) ** 2])  # as if s were uniform on [1/2, 3/2]
    worth = x[0] + x[1] * s + np.maximum(s - strikes, 0) @ x[2:]
    if side == "super":
        return lsip.Problem(lsip.minimize(prices @ x), [lsip.forall(s, worth >= s**2)])
    return lsip.Problem(lsip.maximize(prices @ x), [lsip.forall(s, worth <= s**2)])


@pytest.mark.parametrize(("count", "top", "side"), list(itertools.product([5, 9], [3.0, 5.0], ["sub", "super"])))
def test_close_kinks_and_free_variables(count, top, side):
    strikes = np.linspace(0.8, 1.2, count)
    free, held = hedge(strikes, top, side), hedge(strikes, top, side, wide=1e4)
    found, expected = (p.solve(verbose=False) for p in (free, held))
    assert expected.status is lsip.Status.OPTIMAL
    assert found.status is lsip.Status.OPTIMAL
    assert found.value == pytest.approx(expected.value, abs=2e-8 * max(1, abs(expected.value)))
    found.verify()
    for iterate in found.history:  # what the table shows does not contradict the proof
        assert iterate.lower <= found.upper + 1e-8
        assert iterate.upper >= found.lower - 1e-8


def test_coordinates_are_fitted_again_to_kinks_between_samples():
    strikes = np.array([0.9, 1.0, 1.0005, 1.001, 1.3])  # three of them lie between neighbouring samples
    problem = hedge(strikes, 4.0, "super")
    held = LinearRelaxation(problem.compile(), lsip.Exchange()).held
    first = held.conditioning
    point = Support(0, 0, np.array([1.0008]), 0.0)
    row = held.matrix([point])[0]
    assert np.abs(first.rows(row)).max() > 1e3
    held.add([point])
    held.renew()
    again = held.conditioning
    assert again is not first
    assert np.abs(again.rows(row)).max() < 1e3
    z = np.linspace(-1, 1, len(strikes) + 2)
    np.testing.assert_allclose(again.rows(row) @ z, row @ again.x(z), rtol=1e-9)
    assert problem.solve(verbose=False).certified


def wavy() -> lsip.Problem:
    """A proof that takes many boxes."""
    h = lsip.Variable(name="h")
    y = lsip.Index("y", lsip.Box([0] * 3, [1] * 3))
    e = np.sin(9 * y.sum()) * np.cos(7 * y[0] * y[1]) * np.exp(y[2] * np.sin(8 * y[0]))
    return lsip.Problem(lsip.minimize(h), [lsip.forall(y, e <= h)])


def test_a_proof_that_runs_out_of_time_is_valid_and_not_tight():
    found = wavy().solve(verbose=False, tol=1e-4)
    x = found.x + 1e-3
    hurried, thorough = (family_bounds(wavy().compile(), x, seconds=s).worst for s in (0.0, np.inf))
    assert thorough <= 0 < hurried < np.inf


def test_the_last_proofs_of_an_interrupted_solve_have_a_deadline(monkeypatch):
    asked = []
    original = certification.separate

    def separate(relaxation, point, margin, left=np.inf, seed=0):
        asked.append(left)
        return original(relaxation, point, margin, left, seed)

    monkeypatch.setattr(certification, "separate", separate)
    run = opened(wavy(), lsip.Exchange(sample_first=False, polish=False))
    steps = run.iterates()
    next(steps)
    assert asked == [np.inf]  # no limit was set
    steps.close()
    run.state.violation = Bounds((np.inf,))
    assert run.stop(End(lsip.Status.INTERRUPTED)).status is lsip.Status.INTERRUPTED
    assert len(asked) > 1
    assert max(asked[1:]) <= max(run.options.tuning.grace, run.options.tuning.share * run.clock.used())


def test_rounds_shrink_with_the_time_that_is_left(monkeypatch):
    problem = wavy()
    x = problem.solve(verbose=False, tol=1e-4).x + 1e-3
    program, rounds = wavy().compile(), []  # of which nothing is known yet
    original = box_search.BoxSearch._split

    def split(self, k, rows, most):
        done = original(self, k, rows, most)
        rounds.append((len(rows), most, done))
        return done

    looks = itertools.count()  # a second passes before the first round, and one with each
    monkeypatch.setattr(box_search.BoxSearch, "_split", split)
    monkeypatch.setattr(box_search.time, "perf_counter", lambda: min(next(looks), 1.0) + len(rounds))
    lsip.oracles.BranchAndBound(seconds=4.5).maximise(program.violation(0, x))
    slowest = rounds[0][1] / 4.5
    for left, (_, _, before), (_, most, done) in zip((3.5, 2.5, 1.5, 0.5), rounds, rounds[1:], strict=False):
        slowest = min(slowest, before)
        assert most == max(1, int(slowest * left))
        assert done <= most
    assert len(rounds) == 5
    assert any(wanted > done for wanted, _, done in rounds)


@pytest.mark.parametrize("width", [1e-5, 4.2e-4, 5e-3])
@pytest.mark.parametrize("kind", ["bell", "ridge", "skewed"])
def test_columns_that_samples_hardly_see_are_followed_to_their_peak(kind, width):
    t, x = lsip.Index("t", lsip.Interval(0, 1)), lsip.Variable(2, name="x")
    u = (t - 0.7213) / width
    peak = {"bell": np.exp(-(u**2)), "ridge": 1 / (1 + u**4), "skewed": np.exp(-(u**2)) * (1 + np.tanh(u))}[kind]
    problem = lsip.Problem(lsip.minimize(0.12 * x[0] + x[1]), [lsip.forall(t, x[0] * peak + x[1] >= t)])
    solution = problem.solve(verbose=False)
    assert solution.certified, solution.message
    assert solution.upper - solution.lower <= 1e-7
    assert solution.value <= 1 + 1e-6  # x = (0, 1) is feasible
    assert np.abs(solution.x).max() < 1e3


def test_of_many_optimal_points_a_small_one_is_returned():
    t, x = lsip.Index("t", lsip.Interval(0, 1)), lsip.Variable(3, name="x")
    solution = lsip.Problem(lsip.minimize(x[0] + x[1]), [lsip.forall(t, x[0] + x[1] >= t)]).solve(verbose=False)
    assert solution.certified
    assert np.abs(solution.x).max() <= 1.01
    rows = [lsip.forall(t, x[0] + x[1] * t >= t - 3), lsip.forall(t, x[1] <= 5 + x[2] * t), x[0] >= -3]
    found = lsip.Problem(lsip.minimize(x[0]), rows).solve(verbose=False)
    assert found.certified
    assert np.abs(found.x).max() < 10


def test_a_model_without_interior_names_the_constraint_and_by_how_much_it_may_be_broken():
    t, p = lsip.Index("t", lsip.Interval(0, 1)), lsip.Variable(4, name="p", lower=-5, upper=5)
    below = lsip.forall(t, lsip.bases.monomial(t, 3) @ p <= np.cos(t - 1))
    solution = lsip.Problem(lsip.maximize(p[0] - p[1]), [below, p.sum() == 1]).solve(verbose=False)
    assert solution.status is lsip.Status.NO_INTERIOR
    assert solution.violation_proven
    assert 0 < solution.max_violation < 1e-8
    assert "· p ≤ cos(t - 1) by at most" in solution.message
    assert "divide it by (1 - t)" in solution.message
    with_room = lsip.Problem(lsip.maximize(p[0] - p[1]), [below, p.sum() == 1 - 1e-6]).solve(verbose=False)
    assert with_room.certified
    assert solution.upper == pytest.approx(with_room.value, abs=1e-3)


def test_an_optimum_of_zero_is_closed_by_a_gap_of_ones_own():
    problem = lsip.catalogue.get("hyperbola_inf").build()
    open_ = problem.solve(verbose=False)
    assert open_.status is lsip.Status.STALLED
    assert open_.upper - open_.lower < 1e-7
    assert "atol=" in open_.message
    closed = problem.solve(verbose=False, atol=1e-7)
    assert closed.certified
    assert closed.upper - closed.lower <= 1e-7
