"""Worst cases over sets of distributions, against closed forms and finite linear programs written by hand."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb, log, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import lsip
from lsip.ambiguity import Moments, Wasserstein
from lsip.errors import LSIPError

LINE = lsip.Index("z", lsip.Interval(-np.inf, np.inf))
HALF = lsip.Index("h", lsip.Interval(0, np.inf))
RANGE = lsip.Index("d", lsip.Interval(0, 30))
PLANE = lsip.Index("y", lsip.Box([-1, -1], [1, 1]))
DEMANDS = np.round(np.random.default_rng(0).uniform(0, 20, 12), 3)
RETURNS = np.round(np.random.default_rng(1).normal(0, 0.2, (8, 2)), 3)
EASY = settings(max_examples=12, deadline=None)


def least(bound: lsip.ambiguity.UpperBound, *more: Any, plus: Any = 0.0, **options: Any) -> lsip.Solution:
    """The least value of a bound, certified and proven again."""
    solution = lsip.Problem(lsip.minimize(bound.value + plus), [bound.constraints, *more]).solve(
        verbose=False, **options
    )
    assert solution.certified, solution.status
    solution.verify()
    return solution


@EASY
@given(mean=st.floats(1, 20), sd=st.floats(0.5, 5), price=st.floats(1.2, 9))
def test_scarf_the_newsvendor_of_1958(mean, sd, price):
    """Order x at 1 each, sell at p: with mean and variance only, x = mean + sd (√(p - 1) - 1 / √(p - 1)) / 2."""
    x = lsip.Variable(name="x")
    sales = lsip.worst_expectation([-LINE, -x], Moments(mean, sd**2))
    found = lsip.Problem(lsip.minimize(x + price * sales.value), sales.constraints).solve(verbose=False)
    assert found.certified
    ratio = sqrt(price - 1)
    assert found[x] == pytest.approx(mean + sd / 2 * (ratio - 1 / ratio), abs=1e-3 * sd)
    assert -found.value == pytest.approx((price - 1) * mean - sd * ratio, abs=1e-6 * price * (mean + sd))


@pytest.mark.parametrize(("mean", "sd", "strike"), [(10, 2, 12), (10, 2, 8), (0, 1, 0), (5, 3, 11)])
def test_calls_with_two_moments(mean, sd, strike):
    """Lo (1987): E max(z - k, 0) is at most (√(sd² + (k - mean)²) - (k - mean)) / 2."""
    found = least(lsip.worst_expectation([LINE - strike, 0], Moments(mean, sd**2)))
    away = strike - mean
    assert found.value == pytest.approx((sqrt(sd**2 + away**2) - away) / 2, abs=1e-6)


def test_calls_with_two_moments_of_what_is_never_negative():
    """Lo (1987): on the half line it is m - k m² / (m² + sd²), for strikes k <= (m² + sd²) / (2 m)."""
    found = least(lsip.worst_expectation([HALF - 0.5, 0], Moments(1, 1)))
    assert found.value == pytest.approx(0.75, abs=1e-6)


def test_markov_and_the_mean_over_an_interval():
    """With a mean only, all mass is at the ends: E max(z - 12, 0) <= 18 · 10 / 30."""
    assert least(lsip.worst_expectation([RANGE - 12, 0], Moments(10))).value == pytest.approx(6, abs=1e-6)


def test_mean_absolute_deviations():
    """Ben-Tal and Hochman (1972): mass at both ends and at the mean, as the deviation allows."""
    for deviation, strike in ((1.0, 10.0), (3.0, 14.0), (2.0, 6.0)):
        found = least(lsip.worst_expectation([RANGE - strike, 0], Moments(10, deviation=deviation)))
        p, q = deviation / 2 / 10, deviation / 2 / 20
        value = q * (30 - strike) + (1 - p - q) * max(10 - strike, 0)
        assert found.value == pytest.approx(value, abs=1e-6)


def test_two_dimensions_agree_with_a_finite_program():
    """Distributions on a grid are some of all, so that their worst case is a bound from below, and a close one."""
    mean, covariance = np.array([0.1, -0.2]), np.array([[0.2, 0.05], [0.05, 0.1]])
    x = np.array([1.0, 0.5])
    found = least(lsip.worst_expectation([x @ PLANE, -0.25 + 0 * PLANE[0]], Moments(mean, covariance)))
    grid = PLANE.domain.grid(41)
    d = grid - mean
    rows = np.stack([np.ones(len(grid)), *d.T, d[:, 0] ** 2, d[:, 0] * d[:, 1], d[:, 1] ** 2])
    right = [1, 0, 0, covariance[0, 0], covariance[0, 1], covariance[1, 1]]
    lp = linprog(-np.maximum(grid @ x, -0.25), A_eq=rows, b_eq=right, bounds=(0, None))
    assert -lp.fun - 1e-7 <= found.value <= -lp.fun + 2e-3


def by_hand(points: np.ndarray, radius: float, norm: float, slopes: Any, heights: Any, low: Any, high: Any) -> float:
    """The finite program of Mohajerin Esfahani and Kuhn (2018), Corollary 5.1, for max_k slope_k . ξ + height_k."""
    n, m = points.shape
    k = len(slopes)
    # Variables: λ, s (n), γ (n, k, 2 m) >= 0 for the sides C ξ <= d of the box.
    C, d = np.vstack([np.eye(m), -np.eye(m)]), np.concatenate([high, -np.asarray(low)])
    size = 1 + n + n * k * 2 * m + n * k * m  # the last: bounds of |.| for the dual of the sup norm
    rows, right = [], []
    for i, j in product(range(n), range(k)):
        start = 1 + n + (i * k + j) * 2 * m
        row = np.zeros(size)
        row[1 + i] = -1
        row[start : start + 2 * m] = d - C @ points[i]
        rows.append(row)
        right.append(-(heights[j] + slopes[j] @ points[i]))
        extra = 1 + n + n * k * 2 * m + (i * k + j) * m
        for axis, sign in product(range(m), (1, -1)):
            row = np.zeros(size)
            row[start : start + 2 * m] = sign * C[:, axis]
            if norm == 1:
                row[0] = -1
            else:
                row[extra + axis] = -1
            rows.append(row)
            right.append(sign * slopes[j][axis])
        if norm == np.inf:
            row = np.zeros(size)
            row[extra : extra + m], row[0] = 1, -1
            rows.append(row)
            right.append(0.0)
    c = np.concatenate([[radius], np.full(n, 1 / n), np.zeros(size - 1 - n)])
    bounds = [(0, None)] + [(None, None)] * n + [(0, None)] * (size - 1 - n)
    return float(linprog(c, A_ub=np.array(rows), b_ub=right, bounds=bounds).fun)


@pytest.mark.parametrize("norm", [1, np.inf])
@pytest.mark.parametrize("radius", [0, 0.05, 10])
def test_wasserstein_balls_agree_with_their_finite_program(norm, radius):
    slopes, heights = np.array([[1.0, -0.5], [-2.0, 0.25]]), np.array([0.1, -0.2])
    loss = [s @ PLANE + h for s, h in zip(slopes, heights, strict=True)]
    found = least(lsip.worst_expectation(loss, Wasserstein(RETURNS, radius, norm)))
    assert found.value == pytest.approx(by_hand(RETURNS, radius, norm, slopes, heights, [-1, -1], [1, 1]), abs=1e-6)


def test_supports_that_are_triangles_and_discs():
    """With a large radius, all mass goes where the loss is largest; with none, it stays."""
    for domain, top in ((lsip.Simplex(2), 2.0), (lsip.Polytope([[-1, 0], [0, -1], [1, 1]], [0, 0, 1]), 2.0)):
        y = lsip.Index("y", domain)
        samples = [[0.5, 0.5], [0.25, 0.75]]
        assert least(lsip.worst_expectation(2 * y[0] + y[1], Wasserstein(samples, 9))).value == pytest.approx(
            top, abs=1e-6
        )
        assert least(lsip.worst_expectation(2 * y[0] + y[1], Wasserstein(samples, 0))).value == pytest.approx(1.375)
    disc = lsip.Index("y", lsip.Ball([0, 0], 1))
    loss = lsip.worst_expectation(disc[0] + disc[1], Wasserstein([[0.0, 0.0]], 0.25, norm=2))
    assert least(loss, tol=1e-5).value == pytest.approx(0.25 * sqrt(2), rel=1e-4)


SUPPORTS: dict[str, tuple[lsip.Domain, Any]] = {  # with the cone over each: all (w, a) with w / a in the set
    "box": (lsip.Box([-1] * 4, [1] * 4), lambda cp, w, a: [w <= a, w >= -a]),
    "ball": (lsip.Ball([0] * 4, 1.5), lambda cp, w, a: [cp.norm(w) <= 1.5 * a]),
    "simplex": (lsip.Simplex(4), lambda cp, w, a: [w >= 0, cp.sum(w) == a]),
    "ball and box": (
        lsip.Ball([0] * 4, 1.5) & lsip.Box([-1] * 4, [1] * 4),
        lambda cp, w, a: [cp.norm(w) <= 1.5 * a, w <= a, w >= -a],
    ),
}


def worst_by_moving(x: Any, pieces: Any, samples: Any, radius: float, norm: float, cone: Any) -> float:
    """The largest expectation at x, by where the mass of each sample goes, piece by piece: a program of cones."""
    cp = pytest.importorskip("cvxpy")
    n, m = samples.shape
    rows, gain, paid = [], 0, 0
    for sample in samples:
        share = cp.Variable(len(pieces), nonneg=True)
        rows.append(cp.sum(share) == 1)
        for k, (slope, height) in enumerate(pieces):
            moved = cp.Variable(m)
            rows += cone(cp, moved, share[k])
            gain += (slope * x) @ moved + height * share[k]
            paid += cp.norm(moved - sample * share[k], norm)
    return float(cp.Problem(cp.Maximize(gain / n), [*rows, paid / n <= radius]).solve(solver=cp.CLARABEL))


@pytest.mark.parametrize(
    ("norm", "support"), [(2, "box"), (2, "ball"), (2, "simplex"), (1, "ball"), (np.inf, "ball"), (2, "ball and box")]
)
def test_four_dimensions_agree_with_moving_the_mass(norm, support):
    domain, cone = SUPPORTS[support]
    drawn = np.random.default_rng(5).normal(0.1, 0.3, (2 if "and" in support else 6, 4))  # intersections take long
    samples, pieces = domain.project(drawn), ((-1.0, 0.0), (-3.0, -0.1))
    x, z = lsip.Variable(4, name="x", lower=0), lsip.Index("z", domain)
    bound = lsip.worst_expectation([a * (x @ z) + b for a, b in pieces], Wasserstein(samples, 0.15, norm))
    found = least(bound, x.sum() == 1, tol=1e-6)
    assert found.value == pytest.approx(worst_by_moving(found[x], pieces, samples, 0.15, norm, cone), abs=2e-6)


def test_ten_dimensions_with_the_norm_2():
    samples = np.random.default_rng(1).normal(0, 0.2, (20, 10))
    x, z = lsip.Variable(10, name="x", lower=0), lsip.Index("z", lsip.Box([-1] * 10, [1] * 10))
    bound = lsip.worst_expectation([-(x @ z), -3 * (x @ z) - 0.1], Wasserstein(samples, 0.1, norm=2))
    found = least(bound, x.sum() == 1, tol=1e-6)
    assert found.value == pytest.approx(0.10456499, abs=1e-6)  # by CVXPY, with the dual of every sample


def test_losses_with_a_bend_still_take_the_norm_2():
    """|ξ|² is 2 in a corner of [-1, 1]², √2 from the middle: so much of the mass as 1/2 pays for goes there."""
    loss = lsip.worst_expectation([(PLANE * PLANE).sum()], Wasserstein([[0.0, 0.0]], 0.5, norm=2))
    assert least(loss, tol=1e-5).value == pytest.approx(2 * 0.5 / sqrt(2), abs=1e-4)


@pytest.mark.parametrize("norm", [1, 2, np.inf])
def test_supports_without_ends_cost_the_steepest_slope(norm):
    """Without a support, a loss with the slope c costs the radius times the dual norm of c."""
    space = lsip.Index("y", lsip.Box([-np.inf] * 2, [np.inf] * 2))
    x = lsip.Variable(2, name="x")
    point = np.array([3.0, -4.0])
    bound = lsip.worst_expectation([x @ space, -1], Wasserstein(RETURNS, 0.5, norm))
    found = least(bound, x[0] == point[0], x[1] == point[1])
    dual = {1: 4.0, 2: 5.0, np.inf: 7.0}[norm]
    assert found.value == pytest.approx(np.maximum(RETURNS @ point, -1).mean() + 0.5 * dual, abs=1e-6)


def test_a_newsvendor_with_samples_and_with_a_ball_around_them():
    x = lsip.Variable(name="x", lower=0)

    def cost(over: Any) -> float:
        sales = lsip.worst_expectation([-RANGE, -x], over)
        return least(lsip.ambiguity.UpperBound(x + 5 * sales.value, sales.constraints)).value

    exact = min(q - 5 * np.minimum(DEMANDS, q).mean() for q in DEMANDS)
    assert cost(DEMANDS) == pytest.approx(exact, abs=1e-6)
    # Sales fall by at most the distance that demand moves, and do so where it is below the order.
    assert cost(Wasserstein(DEMANDS, 0.5)) == pytest.approx(exact + 5 * 0.5, abs=1e-6)
    assert cost(Wasserstein(DEMANDS, 0.5, norm=2)) == pytest.approx(exact + 5 * 0.5, abs=1e-5)


@EASY
@given(
    samples=st.lists(st.integers(-50, 50), min_size=1, max_size=9), level=st.sampled_from([0.0, 0.25, 0.5, 0.9, 0.3])
)
def test_cvar_of_samples_is_the_mean_of_the_worst(samples, level):
    y = lsip.Index("y", lsip.Interval(-60, 60))
    found = least(lsip.cvar(y, level, samples))
    mass, total = (1 - Fraction(level)) * len(samples), Fraction(0)
    left = mass
    for v in sorted(samples, reverse=True):
        total += min(left, 1) * v
        left -= min(left, 1)
    assert found.value == pytest.approx(float(total / mass), abs=1e-6 * max(1, abs(float(total / mass))))
    assert found.lower <= total / mass <= found.upper


def test_cvar_with_moments_and_with_a_ball():
    found = least(lsip.cvar(-LINE, 0.9, Moments(10, 4)))
    assert found.value == pytest.approx(-10 + 2 * sqrt(0.9 / 0.1), abs=1e-5)
    samples = least(lsip.cvar(-(3 * PLANE[0]), 0.75, RETURNS)).value
    ball = least(lsip.cvar(-(3 * PLANE[0]), 0.75, Wasserstein(RETURNS, 0.01))).value
    assert ball == pytest.approx(samples + 3 * 0.01 / 0.25, abs=1e-6)  # all of it is spent on the worst quarter


def assets(m: int, rank: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(m)
    factors = rng.normal(size=(m, rank)) / sqrt(rank)
    return rng.uniform(0.02, 0.1, m), factors @ factors.T


@pytest.mark.parametrize(("m", "rank"), [(4, 4), (5, 2), (30, 40)])
def test_cvar_of_assets_with_a_mean_and_a_covariance_is_a_norm(m, rank):
    """El Ghaoui, Oks and Oustry (2003): the mean and √(level / (1 - level)) deviations; singular covariances, too."""
    mean, covariance = assets(m, rank)
    y = lsip.Index("y", lsip.Box(np.full(m, -np.inf), np.full(m, np.inf)))
    share = lsip.Variable(m, name="share", lower=0)
    risk = lsip.cvar(-(y @ share), 0.95, Moments(mean, covariance))
    found = lsip.Problem(lsip.minimize(risk.value), [share.sum() == 1, *risk.constraints]).solve(verbose=False)
    assert found.certified
    s = found[share]
    assert found.upper >= -mean @ s + sqrt(19) * sqrt(max(s @ covariance @ s, 0.0)) - 1e-12
    rng = np.random.default_rng(0)
    for other in rng.dirichlet(np.ones(m), 200):
        assert -mean @ other + sqrt(19) * sqrt(other @ covariance @ other) >= found.lower - 1e-12


def test_two_affine_losses_with_a_mean_and_a_covariance():
    """The largest E max(u, v) is that of a two-point distribution; a third, lower piece leaves it to a majorant."""
    plane = lsip.Index("plane", lsip.Box([-np.inf, -np.inf], [np.inf, np.inf]))
    mean, covariance = np.array([0.5, -0.25]), np.array([[2.0, 0.5], [0.5, 1.0]])
    u, v = 2 * plane[0] - plane[1] + 1, plane[0] + plane[1] - 2
    closed = least(lsip.worst_expectation([u, v], Moments(mean, covariance)))
    w = np.array([1.0, -2.0])
    first, second = 2 * 0.5 + 0.25 + 1, 0.5 - 0.25 - 2
    away = first - second
    assert closed.value == pytest.approx(second + 0.5 * (away + sqrt(away**2 + w @ covariance @ w)), abs=1e-6)
    majorant = least(lsip.worst_expectation([u, v, 0.5 * u + 0.5 * v - 4], Moments(mean, covariance)))
    assert majorant.value == pytest.approx(closed.value, abs=1e-6)
    assert least(lsip.worst_expectation(u, Moments(mean, covariance))).value == pytest.approx(first, abs=1e-6)


def test_chance_constraints_hold_with_their_probability():
    x = lsip.Variable(name="x")
    found = lsip.Problem(lsip.minimize(x), lsip.chance([RANGE - x, 0.5 * RANGE - 2], 0.75, DEMANDS)).solve(
        verbose=False
    )
    assert found.status is lsip.Status.INFEASIBLE  # the second does not depend on x
    found = lsip.Problem(lsip.minimize(x), lsip.chance(RANGE - x, 0.75, DEMANDS)).solve(verbose=False)
    assert found.certified
    assert (found[x] + 1e-9 >= DEMANDS).mean() >= 0.75
    assert found[x] == pytest.approx(np.sort(DEMANDS)[-3:].mean(), abs=1e-6)


def test_scenario_counts_are_the_least_that_do():
    for d, risk, confidence in ((1, 0.1, 0.9), (10, 0.05, 0.999), (3, 0.25, 0.5)):
        n = lsip.scenario_count(d, risk, confidence)

        def broken(count: int, d: int = d, risk: float = risk) -> Fraction:
            e = Fraction(risk)
            return sum((comb(count, i) * e**i * (1 - e) ** (count - i) for i in range(d)), Fraction(0))

        assert broken(n) <= 1 - Fraction(confidence) < broken(n - 1)


def test_hoeffding_sets_keep_their_promise():
    """Of all 2^12 signs, a share of at most the risk breaks a row that holds over the set, with nothing to spare."""
    m, risk = 12, 0.05
    domain = lsip.ambiguity.hoeffding(m, risk)
    z, a = lsip.Index("z", domain), np.linspace(0.2, 1, m)
    height = lsip.Variable(name="h")
    top = lsip.Problem(lsip.minimize(height), [lsip.forall(z, height >= a @ z)]).solve(verbose=False, tol=1e-6)
    assert top.certified
    assert top.value <= sqrt(2 * log(1 / risk)) * np.linalg.norm(a) * (1 + 1e-5)
    signs = np.array(list(product([-1, 1], repeat=m)))
    assert (signs @ a > top.value).mean() <= risk
    assert lsip.ambiguity.hoeffding(2, 0.01) == lsip.Box([-1, -1], [1, 1])


X = lsip.Variable(2, name="x")
REFUSED = {
    "nan": (lambda: Wasserstein([1.0, np.nan], 1), "`samples` must be numbers; got nan"),
    "no samples": (lambda: Wasserstein([], 1), "`samples` have the shape"),
    "a negative radius": (lambda: Wasserstein([1.0], -1), "`radius` is a number >= 0; got -1"),
    "a radius of nan": (lambda: Wasserstein([1.0], np.nan), "`radius` is a number >= 0"),
    "another norm": (lambda: Wasserstein([1.0], 1, norm=3), "`norm` is 1, 2 or np.inf; got 3"),
    "samples of another shape": (
        lambda: lsip.worst_expectation(X @ PLANE, Wasserstein([1.0, 0.5], 1)),
        r"have the shape \(N, 2\)",
    ),
    "samples outside": (lambda: lsip.worst_expectation(RANGE, Wasserstein([50.0], 1)), "lies outside of"),
    "half a line": (lambda: lsip.worst_expectation(HALF, Wasserstein([1.0], 1)), "some ends and lacks others"),
    "not affine": (lambda: lsip.worst_expectation(LINE**2, Wasserstein([1.0], 1)), "has to be affine"),
    "no loss": (lambda: lsip.worst_expectation([], [1.0]), "got an empty list"),
    "no index": (lambda: lsip.worst_expectation(X[0], [1.0]), "depends on one index"),
    "two indices": (lambda: lsip.worst_expectation(LINE + RANGE, [1.0]), "depends on one index"),
    "a vector": (lambda: lsip.worst_expectation(X * LINE, [1.0]), "A loss is one number"),
    "a mean outside": (lambda: lsip.worst_expectation(RANGE, Moments(40)), "lies outside of"),
    "a mean of two": (lambda: lsip.worst_expectation(RANGE, Moments([1, 2])), "`mean` has 2 entries"),
    "a covariance of another shape": (lambda: Moments([1, 2], 3), r"has the shape \(2, 2\)"),
    "a covariance that is none": (lambda: Moments([1, 2], [[1, 2], [2, 1]]), "least eigenvalue is -1"),
    "not symmetric": (lambda: Moments([1, 2], [[1, 2], [0, 1]]), "must be symmetric"),
    "a negative deviation": (lambda: Moments(1, deviation=-1), "numbers >= 0"),
    "a level of 1": (lambda: lsip.cvar(RANGE, 1, [1.0]), "`level` is a number from 0"),
    "a probability of 2": (lambda: lsip.chance(RANGE, 2, [1.0]), "`probability` is a number from 0"),
    "a risk of 0": (lambda: lsip.scenario_count(3, 0, 0.5), "`risk` is a number between 0 and 1"),
    "half a variable": (lambda: lsip.scenario_count(0.5, 0.1, 0.5), "`variables` must be a whole number"),
    "a parameter": (
        lambda: lsip.worst_expectation(lsip.Parameter(name="p", value=1) * LINE, [1.0]),
        "takes no parameter",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_mistakes_are_told_in_a_sentence(name):
    make, message = REFUSED[name]
    with pytest.raises(LSIPError, match=message):
        make()
