"""Derivatives of formulas in their index: against the derivatives that enclosures use, and in models."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.special as special
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import CubicSpline
from scipy.optimize import linprog

import lsip
from lsip.errors import ModelError, NotAffineError
from lsip.expressions.elementary import DERIVATIVES, FUNCTIONS
from lsip.expressions.graph import as_expression
from lsip.expressions.interval import Interval
from lsip.expressions.operations import Apply
from lsip.expressions.tape import Tape

T = lsip.Index("t", lsip.Interval(0.1, 0.9))
Y = lsip.Index("y", lsip.Box([0.1, 0.2], [0.9, 0.8]))
SPLINE = CubicSpline([0.0, 0.3, 0.6, 1.0], [1.0, 3.0, 2.0, 4.0])

FORMULAS: dict[str, Callable[[Any], Any]] = {
    "quotient": lambda t: np.sin(t) / (1 + t**2),
    "removable": lambda t: np.sin(t - 0.4) / (t - 0.4),
    "root": lambda t: t**2.5,
    "small root": lambda t: t**0.1,
    "negative power": lambda t: t**-1.3,
    "power of a number": lambda t: 3.0**t,
    "angle": lambda t: np.arctan2(t - 0.5, t + 0.1),
    "hypot": lambda t: np.hypot(t, 1 - t),
    "sinc": np.sinc,
    "Bessel": special.j0,
    "digamma": lambda t: special.digamma(t + 0.5),
    "spline": lambda t: lsip.spline(SPLINE, t),
    "broken line": lambda t: np.interp(t, [0.0, 0.41, 1.0], [0.0, 1.0, 0.5]),
    "larger": lambda t: np.maximum(t, 0.3 * t + 0.2),
    "absolute": lambda t: np.abs(t**2 - 0.3),
    "branches": lambda t: np.where(t <= 0.5, t**2, 1 - t),
    "matrix": lambda t: np.array([[1.0, 2.0], [3.0, 4.0]]) @ np.stack([np.exp(t), t**3]),
    "Legendre": lambda t: lsip.bases.legendre(t, 6),
}


def _slopes(e: Any, index: lsip.Index, points: Any) -> Any:
    """The derivatives (N, size) along all coordinates that jets have, which are what enclosures use."""
    return Tape((as_expression(e),), (index,)).derivatives(points, order=1)[1]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_have_the_derivatives_that_they_declare(name: str) -> None:
    u = T + 1.5 if name == "arccosh" else T
    formula = Apply(FUNCTIONS[name], as_expression(u))
    points = np.linspace(0.12, 0.88, 17)[:, None]
    for order in (1, 2, 3):
        found = lsip.derivative(formula, T, order).at({T: points[:, 0]})
        before = formula if order == 1 else lsip.derivative(formula, T, order - 1)
        assert found == pytest.approx(_slopes(before, T, points).ravel(), rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("name", FORMULAS)
def test_formulas_have_the_derivatives_of_their_enclosures(name: str) -> None:
    formula, points = FORMULAS[name](T), np.linspace(0.1234, 0.8765, 23)[:, None]
    for order in (1, 2):
        found = lsip.derivative(formula, T, order)
        before = formula if order == 1 else lsip.derivative(formula, T, order - 1)
        assert found.shape == np.shape(formula)
        expected = _slopes(before, T, points).reshape(len(points), -1)
        assert np.reshape(found.at({T: points[:, 0]}), expected.shape) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=5),
    st.lists(st.floats(-3, 3), min_size=5, max_size=5),
    st.integers(0, 1),
)
def test_polynomials_have_the_derivatives_of_their_coefficients(
    exponents: list[tuple[int, int]], weights: list[float], axis: int
) -> None:
    table = np.array(exponents)
    lower = table.copy()
    lower[:, axis] = np.maximum(lower[:, axis] - 1, 0)
    found = lsip.derivative(np.prod(Y**table, axis=-1) @ np.array(weights[: len(table)]), Y[axis])
    point = np.array([0.37, 0.61])
    expected = (np.array(weights[: len(table)]) * table[:, axis]) @ np.prod(point**lower, axis=-1)
    assert float(found.at({Y: point})) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", DERIVATIVES)
@pytest.mark.parametrize("width", [0.0, 1e-6, 0.1, 3.0])
def test_derivatives_of_special_functions_are_enclosed(name: str, width: float) -> None:
    """Enclosures hold values, and slopes are the differences of values."""
    rng, function = np.random.default_rng(0), DERIVATIVES[name]
    low = rng.uniform(max(function.domain[0], -30.0) + 0.01, 30.0, 200)
    box = function(Interval(low, low + width))
    inside = low + rng.random(200) * width
    values = function(inside)
    assert (box.lo <= values).all()
    assert (values <= box.hi).all()
    step = 1e-5
    slope = (function(inside + step) - function(inside - step)) / (2 * step)
    scale = 1.0 + np.abs(slope) + np.abs(values)
    assert (np.abs(function.first(inside, values) - slope) <= 1e-7 * scale).all()


def test_gradients_have_a_new_last_axis() -> None:
    e = np.stack([Y[0] ** 2 * Y[1], np.exp(Y[1])])
    assert lsip.gradient(e, Y).shape == (2, 2)
    assert lsip.gradient(e, Y).at({Y: [0.5, 0.25]}) == pytest.approx(np.array([[0.25, 0.25], [0.0, np.exp(0.25)]]))
    assert lsip.gradient(T**2, T).shape == (1,)


def test_variables_keep_their_places() -> None:
    x = lsip.Variable((2, 2), name="x")
    body = lsip.derivative(x * T**2 + T + 3, T)
    values = {T: 0.5, x: np.array([[1.0, 2.0], [3.0, 4.0]])}
    assert body.at(values) == pytest.approx(np.array([[2.0, 3.0], [4.0, 5.0]]))
    assert lsip.derivative(x, T).at(values) == pytest.approx(np.zeros((2, 2)))


def test_a_rule_has_its_slopes_as_derivatives() -> None:
    z = lsip.Index("z", lsip.Box([0, 0], [1, 1]))
    rule = lsip.Rule(of=z[:2], name="r", degree=2)
    limits = [rule >= z[0] ** 2, lsip.derivative(rule, z[0]) <= 1.5, lsip.derivative(rule, z[1]) >= 0.1]
    solution = lsip.Problem(lsip.minimize(lsip.expectation(rule, z)), [lsip.forall(z, limits)]).solve(verbose=False)
    assert solution.certified
    assert solution.value == pytest.approx(7 / 15, abs=1e-7)
    pieces = lsip.Rule(of=z[:1], name="p", pieces=2)
    with pytest.raises(ModelError, match="kinks in z"):
        lsip.derivative(pieces, z[0])


@pytest.mark.parametrize("basis", [lsip.bases.monomial, lsip.bases.chebyshev, lsip.bases.legendre])
def test_a_convex_fit_is_certified(basis: Any, tmp_path: Path) -> None:
    """A known optimum: all three bases span the same polynomials."""
    t = lsip.Index("t", lsip.Interval(-1, 1))
    x, e = lsip.Variable(9, name="x"), lsip.Variable(name="e")
    curve = basis(t, 8) @ x
    problem = lsip.Problem(
        lsip.minimize(e),
        [lsip.forall(t, np.abs(curve - np.abs(t - 0.3)) <= e), lsip.forall(t, lsip.derivative(curve, t, 2) >= 0)],
    )
    solution = problem.solve(verbose=False)
    assert solution.certified
    points = np.linspace(-1, 1, 801)
    powers = np.polynomial.polynomial.polyvander(points, 8)
    second = np.stack([np.polynomial.Polynomial(row).deriv(2)(points) for row in np.eye(9)], axis=1)
    one, target = np.ones((len(points), 1)), np.abs(points - 0.3)
    rows = np.block([[powers, -one], [-powers, -one], [-second, 0 * one]])
    sides = np.concatenate([target, -target, 0 * target])
    grid = linprog(np.eye(10)[9], rows, sides, bounds=(None, None))  # a relaxation
    assert grid.fun - 1e-7 <= solution.value <= grid.fun + 1e-4
    problem.save(tmp_path / "p.json")
    assert lsip.load(tmp_path / "p.json").solve(verbose=False).value == pytest.approx(solution.value, abs=1e-7)
    assert pickle.loads(pickle.dumps(problem)).solve(verbose=False).value == pytest.approx(solution.value, abs=1e-7)


@pytest.mark.parametrize("name", ["sinc", "j0", "exprel", "gamma"])
def test_models_with_derivatives_of_special_functions_are_saved(name: str, tmp_path: Path) -> None:
    function: Any = {"sinc": np.sinc, "j0": special.j0, "exprel": special.exprel, "gamma": special.gamma}[name]
    z = lsip.Variable(name="z")
    problem = lsip.Problem(lsip.minimize(z), [lsip.forall(T, z >= lsip.derivative(function(T), T, 2))])
    problem.save(tmp_path / "p.json")
    values = [p.solve(verbose=False).value for p in (problem, lsip.load(tmp_path / "p.json"))]
    grid = lsip.derivative(function(T), T, 2).at({T: np.linspace(0.1, 0.9, 1001)})
    assert values == pytest.approx([grid.max()] * 2, abs=1e-4)


def test_derivatives_print_as_such() -> None:
    p = lsip.Variable(4, name="p")
    curve = p @ lsip.bases.monomial(T, 3)
    assert str(lsip.derivative(curve, T, 2)) == "d²/dt² (p · t^[0 1 2 3])"
    assert str(lsip.derivative(Y[0] * Y[1], Y[0])) == "∂/∂y[0] (y[0] y[1])"
    assert str(lsip.gradient(Y[0] * Y[1], Y)) == "∇(y[0] y[1])"
    assert r"\frac{d^2}{d t^2}" in lsip.derivative(curve, T, 2)._repr_latex_()


@pytest.mark.parametrize(
    ("ask", "error", "said"),
    [
        (lambda: lsip.derivative(Y[0], Y), ModelError, r"one of them, such as y\[0\]"),
        (lambda: lsip.derivative(T, 3), ModelError, "an index or a coordinate"),
        (lambda: lsip.derivative(T, 2 * T), ModelError, "an index or a coordinate"),
        (lambda: lsip.derivative(T, T, 0), ModelError, "at least 1"),
        (lambda: lsip.derivative(T, T, 10**400), ModelError, "at most 8"),
        (lambda: lsip.gradient(T, T + 1), ModelError, "takes an index"),
        (lambda: lsip.derivative(special.j0(T), T, 4), ModelError, "up to the third"),
        (lambda: lsip.derivative(np.abs(lsip.Variable() * T), T), NotAffineError, "convex in its variables"),
    ],
)
def test_what_has_no_derivative_is_refused(ask: Callable[[], Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        ask()
