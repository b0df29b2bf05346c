"""Bases of polynomials: NumPy's numbers, sharp enclosures, and models that are proven at high degrees."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial import chebyshev, legendre, polynomial
from scipy import special
from scipy.interpolate import BSpline
from scipy.optimize import linprog

import lsip
from lsip.errors import ModelError
from lsip.expressions.graph import as_expression
from lsip.expressions.tape import Tape

from .checks import assert_certified

BASES: dict[str, tuple[Any, Any]] = {
    "monomial": (lsip.bases.monomial, polynomial.polyvander),
    "chebyshev": (lsip.bases.chebyshev, chebyshev.chebvander),
    "legendre": (lsip.bases.legendre, legendre.legvander),
}


@pytest.mark.parametrize("name", BASES)
@given(st.integers(0, 40), st.lists(st.floats(-1, 1), min_size=1, max_size=5))
def test_bases_are_numpy_s(name: str, degree: int, points: list[float]) -> None:
    ours, theirs = BASES[name]
    t = np.array(points)
    expected = theirs(t, degree)
    np.testing.assert_allclose(ours(t, degree), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(ours(points[0], degree), expected[0], rtol=1e-12, atol=1e-12)
    assert ours(t.reshape(-1, 1), degree).shape == (len(t), 1, degree + 1)


@pytest.mark.parametrize("name", BASES)
@settings(max_examples=30)
@given(st.integers(0, 24), st.floats(-1, 1), st.floats(0, 0.1))
def test_enclosures_of_bases_hold_their_values(name: str, degree: int, low: float, width: float) -> None:
    ours, theirs = BASES[name]
    t = lsip.Index("t", lsip.Interval(-1, 1.25))
    basis = as_expression(ours(t, degree))
    assert basis.shape == (degree + 1,)
    tape = Tape((basis,), (t,))
    high = low + width
    box = tape.enclose(np.array([[low]]), np.array([[high]]))
    expected = theirs(np.linspace(low, high, 20), degree)
    np.testing.assert_allclose(tape.values(np.array([[high]])), expected[-1:], rtol=1e-10, atol=1e-10)
    assert (box.lo[0] <= expected + 1e-10).all()
    assert (box.hi[0] >= expected - 1e-10).all()


@pytest.mark.parametrize("domain", [(2, 5), lsip.Interval(2, 5)])
@pytest.mark.parametrize("name", ["chebyshev", "legendre"])
def test_a_domain_is_mapped_to_the_interval_of_the_basis(name: str, domain: Any) -> None:
    ours, theirs = BASES[name]
    t = np.linspace(2, 5, 11)
    np.testing.assert_allclose(ours(t, 6, domain), theirs((t - 3.5) / 1.5, 6), atol=1e-13)


def test_weights_of_legendre_polynomials_are_exact_averages() -> None:
    table = lsip.bases._averages(20)
    assert (table >= 0).all()
    assert all(sum(map(Fraction, row)) == 1 for row in table.tolist())


@pytest.mark.parametrize("name", ["chebyshev", "legendre"])
def test_a_fit_of_degree_24_is_proven(name: str) -> None:
    """In monomials this is out of reach: their coefficients reach 1e9."""
    x, error = lsip.Variable(25, name="x"), lsip.Variable(name="error")
    t = lsip.Index("t", lsip.Interval(-1, 1))
    residual = BASES[name][0](t, 24) @ x - 1 / (1 + 25 * t**2)
    problem = lsip.Problem(lsip.minimize(error), [lsip.forall(t, [residual <= error, -residual <= error])])
    solution = problem.solve(verbose=False)
    assert_certified(problem, solution, 1e-8)
    assert solution.value == pytest.approx(0.00408297429, abs=1e-8)


def test_a_family_of_functions_can_use_a_basis() -> None:
    above = lsip.Family(
        lsip.Interval(0, 1), lambda y: -lsip.bases.chebyshev(y[:, 0], 4, (0, 1)), lambda y: -np.exp(y[:, 0])
    )
    solution = lsip.linsip([1, 0, 0, 0, 0], [above], bounds=(-9, 9))
    assert solution.certified
    assert solution.program.families[0].enclosable


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: lsip.bases.monomial(0.5, -1), "`degree` must be a whole number, at least 0; got -1"),
        (lambda: lsip.bases.chebyshev(0.5, 2.0), "`degree` must be a whole number, at least 0; got 2.0; write 2"),
        (lambda: lsip.bases.legendre(0.5, None), "`degree`"),
        (lambda: lsip.bases.chebyshev(0.5, 2, (1, 1)), r"`domain` must be .* a < b; got \(1, 1\)"),
        (lambda: lsip.bases.chebyshev(0.5, 2, (0, np.inf)), "`domain` must be"),
        (lambda: lsip.bases.chebyshev(0.5, 2, 3), "`domain` must be an lsip.Interval or a pair"),
        (lambda: lsip.bases.chebyshev(0.5, 2, ("0", "1")), "`domain` must be real numbers; got text, '0'"),
        (lambda: lsip.bases.chebyshev(lsip.Variable(name="x"), 3), "is convex only where"),
        (lambda: lsip.bases.monomial(lsip.Variable(name="x"), 3), "not known to be convex"),
    ],
)
def test_wrong_bases_are_refused(call: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        call()


@given(
    st.integers(1, 4),
    st.sets(st.integers(1, 99).map(lambda k: k / 100), max_size=6),
    st.lists(st.floats(0, 1), min_size=1, max_size=5),
)
def test_b_splines_are_scipy_s(degree: int, inside: set[float], points: list[float]) -> None:
    knots = np.concatenate([[0.0] * (degree + 1), sorted(inside), [1.0] * (degree + 1)])
    t, count = lsip.Index("t", lsip.Interval(0, 1)), len(knots) - degree - 1
    found = lsip.bases.bspline(t, knots, degree)
    expected = BSpline(knots, np.eye(count), degree)(np.array(points))
    assert found.shape == (count,)
    np.testing.assert_allclose(found.at({t: np.array(points)}), expected, atol=1e-9)
    np.testing.assert_allclose(lsip.bases.bspline(np.array(points), knots, degree), expected, atol=1e-9)


def test_bernstein_polynomials_and_waves_have_their_values() -> None:
    t, points = lsip.Index("t", lsip.Interval(1, 3)), np.linspace(1, 3, 7)
    u = (points - 1) / 2
    expected = np.stack([special.comb(5, k) * u**k * (1 - u) ** (5 - k) for k in range(6)], axis=-1)
    for found in (lsip.bases.bernstein(t, 5, (1, 3)).at({t: points}), lsip.bases.bernstein(points, 5, (1, 3))):
        np.testing.assert_allclose(found, expected, atol=1e-14)
    angle = np.pi * points[:, None] * np.arange(4)
    expected = np.concatenate([np.cos(angle), np.sin(angle[:, 1:])], axis=-1)
    for found in (lsip.bases.trigonometric(t, 3, 2.0).at({t: points}), lsip.bases.trigonometric(points, 3, 2.0)):
        np.testing.assert_allclose(found, expected, atol=1e-14)


def test_a_monotone_spline_is_fitted_with_proof() -> None:
    """Against a linear program on a grid, which bounds from below."""
    knots = np.concatenate([[0] * 3, np.linspace(0, 1, 8), [1] * 3])
    t, c, e = lsip.Index("t", lsip.Interval(0, 1)), lsip.Variable(10, name="c"), lsip.Variable(name="e")
    curve = lsip.bases.bspline(t, knots) @ c
    limits = [np.abs(curve - np.sin(5 * t)) <= e, lsip.derivative(curve, t) >= 0]
    problem = lsip.Problem(lsip.minimize(e), [lsip.forall(t, limits)])
    solution = problem.solve(verbose=False)
    assert_certified(problem, solution, 1e-7)
    points = np.linspace(0, 1, 401)
    spline = BSpline(knots, np.eye(10), 3)
    values, slopes, one = spline(points), spline(points, nu=1), np.ones((401, 1))
    rows, target = np.block([[values, -one], [-values, -one], [-slopes, 0 * one]]), np.sin(5 * points)
    grid = linprog(np.eye(11)[10], rows, np.concatenate([target, -target, 0 * target]), bounds=(None, None))
    assert grid.fun - 1e-7 <= solution.value <= grid.fun + 1e-3


def test_splines_whose_values_are_arrays_keep_their_axes() -> None:
    t, knots = lsip.Index("t", lsip.Interval(0, 1)), np.concatenate([[0] * 3, [0.5], [1] * 3])
    table = np.arange(24.0).reshape(4, 3, 2)
    spline = BSpline(knots, table, 2)
    assert lsip.spline(spline, t).shape == (3, 2)
    np.testing.assert_allclose(lsip.spline(spline, t).at({t: 0.3}), spline(0.3), atol=1e-12)


def test_variables_as_coefficients_of_a_spline_lead_to_the_basis() -> None:
    knots = np.concatenate([[0] * 3, [0.5], [1] * 3])
    with pytest.raises(ModelError, match=r"lsip\.bases\.bspline\(t, knots, degree\) @ c"):
        BSpline(knots, lsip.Variable(4, name="c"), 2)


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: lsip.bases.bspline(0.5, [0, 0, 1, 1], 2), "6 or more numbers for degree 2"),
        (lambda: lsip.bases.bspline(0.5, [0, 1, 0.5, 2], 1), "in increasing order"),
        (lambda: lsip.bases.trigonometric(0.5, 2, 0), "`period` must be a positive number"),
        (lambda: lsip.bases.trigonometric(0.5, 2, [1, 2]), "`period` must be a positive number"),  # type: ignore[arg-type]
        (lambda: lsip.bases.bernstein(0.5, -1), "`degree`"),
    ],
)
def test_bases_refuse_what_makes_none(ask: Any, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        ask()
