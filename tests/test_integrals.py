"""Integrals and expectations: enclosures hold the true values, and what is certified holds for these."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import factorial
from typing import Any

import numpy as np
import pytest
from flint import acb, arb, ctx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import linprog

import lsip
from lsip.errors import LSIPError, ModelError
from lsip.expressions.enclosed import Enclosed
from lsip.integrals import quadrature
from lsip.proof import checker

from .strategies import formulas

ctx.prec = 120
T = lsip.Index("t", lsip.Interval(0, 1))
Z = lsip.Index("z", lsip.Interval(-np.inf, np.inf))
B = lsip.Index("b", lsip.Box([0, -1], [1, 2]))
D = lsip.Index("d", lsip.Ball([0.5, -1], 2))
S = lsip.Index("s", lsip.Simplex(3))
EASY = settings(max_examples=25, deadline=None)
few = st.floats(-3, 3).map(lambda v: round(v, 3))


def ends(e: Any) -> tuple[float, float]:
    """Between which doubles a number without variables lies."""
    found = e.offset
    return (float(found.lower), float(found.upper)) if isinstance(found, Enclosed) else (float(found.value),) * 2


def assert_holds(e: Any, value: Any, width: float = 1e-11) -> None:
    """The enclosure holds the value, and is narrow."""
    lower, upper = ends(e)
    assert arb(lower) <= value <= arb(upper) or (lower == upper and value.overlaps(arb(lower)))
    assert upper - lower <= width * max(1.0, abs(float(value)))


def number(v: float) -> arb:
    return arb(*[Fraction(v).numerator]) / arb(Fraction(v).denominator)


CLOSED = {
    "exp": (lambda: lsip.integral(np.exp(T), T), lambda: arb(1).exp() - 1),
    "root": (lambda: lsip.integral(np.sqrt(T), T), lambda: arb(2) / 3),
    "kink": (lambda: lsip.integral(np.abs(T - 0.25), T), lambda: arb(5) / 16),
    "jump": (lambda: lsip.integral(np.where(T <= 0.25, 3.0, 1.0), T), lambda: arb(3) / 2),
    "runge": (lambda: lsip.integral(1 / (1 + 25 * T**2), T), lambda: arb(5).atan() / 5),
    "wave": (lambda: lsip.integral(np.sin(50 * T), T), lambda: (1 - arb(50).cos()) / 50),
    "two indices": (
        lambda: lsip.integral(np.exp(T) * B[0], [T, B]),
        lambda: (arb(1).exp() - 1) * arb(3) / 2,
    ),
    "disc": (lambda: lsip.integral(D[0] ** 2 + 0 * D[1], D), lambda: arb.pi() * 4 * (arb(1) / 4 + 1)),
    "volume of a disc": (lambda: lsip.integral(1 + 0 * D[0], D), lambda: arb.pi() * 4),
    "triangle": (lambda: lsip.integral(S[0] * S[1], S), lambda: arb(3).sqrt() / 24),
    "mean over a triangle": (lambda: lsip.expectation(np.exp(S[0]), S), lambda: 2 * (arb(1).exp() - 2)),
    "density": (lambda: lsip.expectation(np.exp(T), T, 2 * T), lambda: arb(2)),
    "finite": (
        lambda: lsip.expectation((i := lsip.Index("i", lsip.Finite([[1.0], [2.0], [4.0]])))[0] ** 2, i),
        lambda: arb(7),
    ),
    "normal": (lambda: lsip.expectation(np.cos(Z), Z, stats.norm(1, 2)), lambda: arb(-2).exp() * arb(1).cos()),
    "call": (
        lambda: lsip.expectation(np.maximum(Z - 1, 0), Z, stats.norm(1, 2)),
        lambda: 2 / (2 * arb.pi()).sqrt(),
    ),
    "fourth moment": (lambda: lsip.expectation(Z**4, Z, stats.norm(0, 2)), lambda: arb(48)),
    "expon": (lambda: lsip.expectation(np.exp(-Z), Z, stats.expon(scale=2)), lambda: arb(1) / 3),
    "gamma": (lambda: lsip.expectation(np.exp(-Z), Z, stats.gamma(3)), lambda: arb(1) / 8),
    "gamma moment": (lambda: lsip.expectation(Z**2, Z, stats.gamma(2.5)), lambda: arb(35) / 4),
    "beta": (
        lambda: lsip.expectation(np.exp(T), T, stats.beta(2, 1)),
        lambda: arb(2),
    ),
    "beta moment": (lambda: lsip.expectation(T**2, T, stats.beta(2, 3)), lambda: arb(1) / 5),
    "triang": (lambda: lsip.expectation(np.abs(T - 0.5), T, stats.triang(0.5)), lambda: arb(1) / 6),
    "triang moment": (lambda: lsip.expectation(T**2, T, stats.triang(0.5)), lambda: arb(7) / 24),
    "uniform": (lambda: lsip.expectation(np.exp(T), T, stats.uniform(0.5, 0.25)), lambda: _uniform()),
    "truncnorm": (lambda: lsip.expectation(Z, Z, stats.truncnorm(-1, 2)), lambda: _truncated()),
}


def _uniform() -> arb:
    return 4 * ((arb(3) / 4).exp() - (arb(1) / 2).exp())


def _truncated() -> arb:
    below, above = ((-(arb(v) ** 2) / 2).exp() / (2 * arb.pi()).sqrt() for v in (1, 2))
    mass = ((2 / arb(2).sqrt()).erf() + (1 / arb(2).sqrt()).erf()) / 2
    return (below - above) / mass


@pytest.mark.parametrize("name", CLOSED)
def test_closed_forms_are_enclosed(name):
    make, value = CLOSED[name]
    assert_holds(make(), value(), 2e-9 if name == "two indices" else 1e-11)  # which have three coordinates


@EASY
@given(a=few, b=few, c=few, low=few, width=st.floats(0.1, 3))
def test_products_of_waves_and_exponentials_are_enclosed(a, b, c, low, width):
    t = lsip.Index("t", lsip.Interval(low, low + width))
    found = lsip.integral(np.exp(a * t) * np.cos(b * t + c), t)
    p, q, r = (number(v) for v in (a, b, c))
    lower, upper = (number(float(v)) for v in (t.domain.lower[0], t.domain.upper[0]))
    value = acb.integral(lambda z, _: (p * z).exp() * (q * z + r).cos(), lower, upper).real
    lo, hi = ends(found)
    assert arb(lo) <= value <= arb(hi)
    largest = max(float((p * lower).exp()), float((p * upper).exp()))
    assert hi - lo <= 1e-12 * largest * width  # of the integral of the absolute value, about


@EASY
@given(formula=formulas(dim=1, scalar=True))
def test_formulas_of_all_kinds_are_enclosed(formula):
    """Against Gauss's rule on many panels, which kinks, jumps and roots leave a little off."""
    y = formula.index()
    lower, upper = ends(lsip.integral(formula(y) + 0 * y, y))
    nodes, weights = np.polynomial.legendre.leggauss(8)
    edges = np.linspace(-2, 2, 201)
    points = (edges[:-1, None] + 0.01 * (nodes + 1)).ravel()
    value = 0.01 * (np.tile(weights, 200) @ formula.at(points[:, None])[:, 0])
    slack = 1e-9 if formula.smooth else 4e-2 * formula.bound
    assert lower - slack * (1 + abs(value)) <= value <= upper + slack * (1 + abs(value))


@settings(EASY, max_examples=12)
@given(m=st.integers(1, 4), pieces=st.integers(2, 9), seen=st.integers(1, 2))
def test_kinks_of_several_functions_are_integrated_together(m, pieces, seen):
    """No kink is hidden by the rounding of functions without one there: few boxes do."""
    z = lsip.Index("z", lsip.Box([0.0] * m, [1.0] * m))
    rule = lsip.Rule(of=z[: min(seen, m)], pieces=pieces)
    _, found = lsip.expectation(rule, z).terms
    low, high = (np.ravel(getattr(found.coefficient, end)) for end in ("lower", "upper"))
    breaks = [Fraction(v) for v in (np.arange(1, pieces) / pieces).tolist()] + [Fraction(1)]
    parts = [(b - a) * (a + b) / 2 - a * (b - a) + (b - a) * (1 - b) for a, b in pairwise(breaks)]
    size = min(seen, m)
    exact = [Fraction(1, 2)] * size + parts * size
    assert all(Fraction(a) <= v <= Fraction(b) for a, v, b in zip(low.tolist(), exact, high.tolist(), strict=True))
    assert (high - low <= 1e-8).all()


@EASY
@given(c=st.lists(few, min_size=1, max_size=8), low=few, width=st.floats(0.1, 3))
def test_polynomials_are_integrated_to_the_last_bit(c, low, width):
    t = lsip.Index("t", lsip.Interval(low, low + width))
    lower, upper = ends(lsip.integral(sum(v * t**k for k, v in enumerate(c)) + 0 * t, t))
    a, b = Fraction(low), Fraction(float(t.domain.upper[0]))
    value = sum((Fraction(v) * (b ** (k + 1) - a ** (k + 1)) / (k + 1) for k, v in enumerate(c)), Fraction(0))
    assert Fraction(lower) <= value <= Fraction(upper)
    assert upper in (lower, np.nextafter(lower, np.inf))


@settings(EASY, max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(a=few, b=few)
def test_exponentials_over_boxes_discs_and_triangles_are_enclosed(a, b, monkeypatch):
    monkeypatch.setattr(quadrature, "EFFORT", replace(quadrature.EFFORT, exact=20_000))
    a, b = a / 3 + 2.0, b / 3 - 2.0  # apart from each other and from 0
    p, q = number(a), number(b)
    box = (p.exp() - 1) / p * ((2 * q).exp() - (-q).exp()) / q
    size = (p**2 + q**2).sqrt()
    disc = (p / 2 - q).exp() * 2 * arb.pi() * 2 * acb(2 * size).bessel_i(1).real / size
    corner = 2 * (p.exp() / (p * (p - q)) + q.exp() / (q * (q - p)) + 1 / (p * q))  # at (a, b, 0)
    for found, value, width in (
        (lsip.integral(np.exp(a * B[0] + b * B[1]), B), box, 1e-6),
        (lsip.integral(np.exp(a * D[0] + b * D[1]), D), disc, 1e-2),
        (lsip.expectation(np.exp(a * S[0] + b * S[1]), S), corner, 1e-6),
    ):
        lower, upper = ends(found)
        assert arb(lower) <= value <= arb(upper)
        assert upper - lower <= width * float(value)


def test_moments_of_balls_and_simplices_are_those_of_dirichlet_and_polar_coordinates():
    ball = lsip.Index("y", lsip.Ball([0, 0, 0, 0], 1))
    assert ends(lsip.expectation(ball[0] ** 2, ball)) == pytest.approx((1 / 6, 1 / 6))
    assert ends(lsip.expectation(ball[0] ** 2 * ball[1] ** 2, ball)) == pytest.approx((1 / 48, 1 / 48))
    simplex = lsip.Index("y", lsip.Simplex(4))
    exact = Fraction(factorial(3) * factorial(2) * factorial(3), factorial(8))
    assert ends(lsip.expectation(simplex[0] ** 2 * simplex[2] ** 3, simplex))[0] == float(exact)


def test_balls_in_space(monkeypatch):
    monkeypatch.setattr(quadrature, "EFFORT", replace(quadrature.EFFORT, exact=20_000))
    ball = lsip.Index("y", lsip.Ball([0, 0, 0], 1))
    assert_holds(lsip.integral(np.exp(ball[2]), ball), 4 * arb.pi() / arb(1).exp(), width=1e-4)
    with pytest.raises(ModelError, match="only polynomials"):
        lsip.integral(np.exp((y := lsip.Index("y", lsip.Ball([0] * 4, 1)))[2]), y)


def test_polynomials_are_exact_beside_other_functions():
    x = lsip.Variable(3, name="x")
    found = lsip.integral(np.stack([1 + 0 * T, T, np.exp(T)]) @ x + T**2 * x[0] - np.sin(T), T)
    widths = {}
    for term in found.terms:
        e = term.coefficient
        low, high = (e.lower, e.upper) if isinstance(e, Enclosed) else (e.value, e.value)
        for column, width in zip(term.columns, np.ravel(high - low), strict=True):
            widths[int(column)] = max(widths.get(int(column), 0.0), width)
    assert widths[0] <= 2**-53  # 1 + 1/3
    assert widths[1] == 0
    assert 0 < widths[2] < 1e-12


def test_averages_of_samples_are_exact():
    assert ends(lsip.expectation(T, T, [0.25, 0.5, 0.75])) == (0.5, 0.5)
    data = np.random.default_rng(0).random(101)
    lower, upper = ends(lsip.expectation(T, T, data))
    assert Fraction(lower) <= sum(map(Fraction, data), Fraction(0)) / 101 <= Fraction(upper)
    assert upper == np.nextafter(lower, np.inf)
    points = np.random.default_rng(1).normal(size=(40, 2))
    y, x = lsip.Index("y", lsip.Box([-9, -9], [9, 9])), lsip.Variable(2, name="x")
    assert lsip.expectation(x @ y + np.sin(y[0]), y, points).at({x: [1, 2]}) == pytest.approx(
        (points @ [1, 2] + np.sin(points[:, 0])).mean()
    )


def above(f: Any, n: int) -> tuple[lsip.Variable, Any, list[Any]]:
    x = lsip.Variable(n, name="x")
    p = T ** np.arange(n) @ x
    return x, p, [lsip.forall(T, p >= f)]


@pytest.mark.parametrize(
    ("name", "f", "n"), [("gg_exp_n2", np.exp(T), 2), ("tfi2_tan_n3", np.tan(T), 3), ("watson4b_tan_n6", np.tan(T), 6)]
)
def test_one_sided_fits_have_their_published_values(name, f, n):
    _, p, rows = above(f, n)
    solution = lsip.Problem(lsip.minimize(lsip.integral(p, T)), rows).solve(verbose=False)
    assert solution.certified
    assert solution.value == pytest.approx(lsip.catalogue.get(name).value, rel=2e-8)
    solution.verify()


def test_one_sided_fit_of_a_weighted_distance():
    """The integral of (p - exp) w, for which Gauss's rule with the weight 2 t and one node has the dual."""
    _, p, rows = above(np.exp(T), 2)
    solution = lsip.Problem(lsip.minimize(lsip.integral((p - np.exp(T)) * 2 * T, T)), rows).solve(verbose=False)
    assert solution.certified
    chord = 2 * (1 / 2 + (np.e - 1) / 3) - 2  # the line through both ends, and 2 = the integral of 2 t exp(t)
    assert solution.value == pytest.approx(chord, abs=1e-8)


@pytest.mark.parametrize("maximise", [False, True])
def test_bounds_hold_for_every_number_in_an_enclosure(maximise):
    """Wide enclosures, and optima for coefficients drawn from them: all lie between the bounds."""
    rng = np.random.default_rng(0)
    c, a, b = np.array([1.0, 0.7]), np.array([1.0, 2.0]), 0.6
    x = lsip.Variable(2, name="x", lower=-4, upper=4)
    wide = 1e-4
    cost, row, side = (Enclosed(v - wide, v + wide) for v in (c, a, np.array(b)))
    grid = np.linspace(0, 1, 801)
    sign = -1 if maximise else 1
    goal = (lsip.maximize if maximise else lsip.minimize)(sign * (cost @ x) + side)
    problem = lsip.Problem(goal, [row @ x >= side, lsip.forall(T, x[0] + x[1] * T >= np.sin(3 * T) - 0.5)])
    solution = problem.solve(verbose=False, tol=2e-2)
    assert solution.certified
    solution.verify()
    assert solution.upper - solution.lower >= wide
    for _ in range(50):
        draw = [v + wide * rng.choice([-1.0, 1.0], np.shape(v)) for v in (c, a, b)]
        lp = linprog(
            draw[0],
            A_ub=np.vstack([-draw[1], -np.stack([np.ones(801), grid], axis=1)]),
            b_ub=np.concatenate([[-draw[2]], 0.5 - np.sin(3 * grid)]),
            bounds=(-4, 4),
        )
        value = sign * lp.fun + draw[2]
        assert solution.lower - 1e-5 <= value <= solution.upper + 1e-5  # the grid is off by less than this


def test_an_objective_of_integrals_is_a_row_that_nobody_sees():
    x, p, rows = above(np.exp(T), 3)
    row = lsip.integral(p * np.sin(T), T) <= 2
    problem = lsip.Problem(lsip.minimize(lsip.integral(p - np.exp(T), T)), [*rows, row])
    assert str(problem).startswith("minimize ∫ (t^[0 1 2] · x - exp(t)) dt")
    solution = problem.solve(verbose=False)
    assert solution.variables == (x,)
    assert solution[lsip.integral(p - np.exp(T), T)] == pytest.approx(solution.value, abs=1e-8)
    assert solution.dual(row) == 0.0
    assert problem.worst_violation({x: solution[x]}).value <= 1e-12
    grid = np.linspace(0, 1, 50)[:, None]
    for points in (50, grid, {T: grid}):
        assert problem.discretise(points).solve().value == pytest.approx(solution.value, abs=1e-4)
    problem.add(lsip.integral(p, T) >= 1.8)
    assert problem.solve(verbose=False).value == pytest.approx(1.8 - np.e + 1, abs=1e-7)


def test_parameters_and_objectives_may_change_between_two_solves():
    x, p, rows = above(np.exp(T), 2)
    factor = lsip.Parameter(name="factor", value=1.0)
    row = lsip.integral(p, T) * factor >= 2
    problem = lsip.Problem(lsip.minimize(lsip.integral(p, T)), [*rows, row])
    for value in (1.0, 0.5, 0.8):
        factor.value = value
        found = problem.solve(verbose=False)
        assert found.certified
        assert found.value == pytest.approx(2 / value, abs=1e-6)
    problem.objective = lsip.minimize(lsip.integral(p * np.exp(T), T))
    assert problem.solve(verbose=False).certified
    problem.objective = lsip.minimize(x[0] + x[1])
    found = problem.solve(verbose=False)
    assert found.value == pytest.approx(np.e, abs=1e-6)
    assert [v.name for v in found.variables] == ["x"]


def test_multipliers_of_rows_with_integrals_are_those_of_the_row_as_written():
    x = lsip.Variable(2, name="x", lower=0)
    for weight in (1.0, np.exp(T)):
        row = lsip.integral((x[0] + x[1] * T**2) * weight, T) >= 1
        solution = lsip.Problem(lsip.minimize(x[0] + x[1]), [row, lsip.forall(T, x[0] >= T * 0.125)]).solve(
            verbose=False
        )
        scale = solution[lsip.integral((x[0] + x[1] * T**2) * weight, T)] / (solution.x.sum())
        assert solution.certified
        assert solution.dual(row) == pytest.approx(1 / scale, rel=1e-6)


def test_equalities_of_polynomials_are_exact_and_others_refused():
    x, p, _ = above(0 * T, 3)
    problem = lsip.Problem(
        lsip.minimize(p.at({T: 0.0, x: 0.0}) + x[0]), [lsip.integral(p, T) == 1, lsip.forall(T, p >= 0)]
    )
    solution = problem.solve(verbose=False)
    assert solution.certified
    assert sum(Fraction(v) / (k + 1) for k, v in enumerate(solution.x)) == pytest.approx(1, abs=1e-12)
    with pytest.raises(ModelError, match="always holds"):
        lsip.Problem(lsip.minimize(x[0]), [lsip.integral(p * np.exp(T), T) <= np.inf]).solve(verbose=False)
    with pytest.raises(ModelError, match="two inequalities"):
        lsip.Problem(lsip.minimize(x[0]), [lsip.integral(p * np.exp(T), T) == 1]).solve(verbose=False)


def test_proofs_with_integrals_are_checked_again(tmp_path):
    _, p, rows = above(np.exp(T), 3)
    problem = lsip.Problem(lsip.minimize(lsip.integral((p - np.exp(T)) * np.cos(T), T)), rows)
    solution = problem.solve(verbose=False)
    solution.export(tmp_path / "proof.json")
    assert checker.main([str(tmp_path / "proof.json")]) == 0
    data = json.loads((tmp_path / "proof.json").read_text())
    steps = [step for family in data["model"]["families"] for step in family["steps"] if step["op"] == "between"]
    assert steps
    for step in steps:  # for numbers from a wider range, the same bounds are not proven
        step["ends"][1] += 1e-4
    (tmp_path / "wide.json").write_text(json.dumps(data))
    assert checker.main([str(tmp_path / "wide.json")]) == 1
    solution.save(tmp_path / "solution.npz")
    assert lsip.Solution.load(tmp_path / "solution.npz", problem).certified


X = lsip.Variable(2, name="x")
P = lsip.Parameter(name="p", value=1.0)
OTHER = lsip.Index("o", lsip.Interval(0, 1))
REFUSED = {
    "no index": (lambda: lsip.integral(X[0] * T, 3), "needs an Index"),
    "another index": (lambda: lsip.integral(X[0] * T * OTHER, T), "cannot depend on o too"),
    "a parameter": (lambda: lsip.integral(X[0] * T * P, T), "takes no parameter; got p"),
    "a pole": (lambda: lsip.integral(1 / T, T), "no finite bounds"),
    "an endless set": (lambda: lsip.integral(np.exp(-(Z**2)), Z), "needs a density or a distribution"),
    "another set": (
        lambda: lsip.integral((e := lsip.Index("e", lsip.Ellipsoid([0, 0], [1, 2])))[0], e),
        "Integrals are over an Interval, a Box",
    ),
    "samples with nan": (lambda: lsip.expectation(T, T, [0.1, np.nan]), "must be numbers; got nan"),
    "samples that are infinite": (lambda: lsip.expectation(Z, Z, [0.1, np.inf]), "must be finite"),
    "no samples": (lambda: lsip.expectation(T, T, []), "at least one sample"),
    "samples of another shape": (lambda: lsip.expectation(B[0], B, [0.1, 0.2]), r"have the shape \(N, 2\)"),
    "samples outside": (lambda: lsip.expectation(T, T, [0.1, 2.0]), "lies outside of"),
    "infinite at a sample": (lambda: lsip.expectation(1 / T, T, [0.0, 0.5]), "no finite bounds"),
    "a density of 2": (lambda: lsip.expectation(T, T, 2 + 0 * T), "integrates to 2"),
    "a density that is a vector": (lambda: lsip.expectation(T, T, T * np.ones(2)), "one number at every index point"),
    "another distribution": (lambda: lsip.expectation(Z, Z, stats.cauchy()), "knows the distributions"),
    "a distribution outside": (lambda: lsip.expectation(T, T, stats.norm()), "ranges over"),
    "a distribution of a vector": (lambda: lsip.expectation(B[0], B, stats.norm()), "distribution of a number"),
    "an infinite density": (lambda: lsip.expectation(T, T, stats.beta(0.5, 1)), "infinite density"),
    "a scale of nan": (lambda: lsip.expectation(Z, Z, stats.norm(0, np.nan)), "nan"),
    "too steep far out": (lambda: lsip.expectation(np.exp(Z), Z, stats.norm()), "no finite bounds"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_mistakes_are_told_in_a_sentence(name):
    make, message = REFUSED[name]
    with pytest.raises(LSIPError, match=message):
        make()


def test_a_point_and_what_no_double_holds():
    point = lsip.Index("p", lsip.Box([0.2, 0.1], [0.2, 0.1]))
    x = lsip.Variable(name="x")
    assert lsip.expectation(x * np.exp(point[0] * point[1]), point).at({x: 1.0}) == pytest.approx(np.exp(0.02))
    line = lsip.Index("s", lsip.Interval(-np.inf, np.inf))
    with pytest.raises(lsip.ModelError, match="too steep"):
        lsip.expectation(x * np.cos(line), line, stats.gamma(1000.3))
    with pytest.raises(lsip.ModelError, match="no finite bounds"):
        lsip.expectation(x * 1e308 * T, T, [0.9, 0.9, 0.95, 1.0])
