"""Bases of polynomials: NumPy's numbers, sharp enclosures, and models that are proven at high degrees."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial import chebyshev, legendre, polynomial

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
        (lambda: lsip.bases.chebyshev(lsip.Variable(name="x"), 2), "not affine"),
        (lambda: lsip.bases.monomial(lsip.Variable(name="x"), 2), "not affine"),
    ],
)
def test_wrong_bases_are_refused(call: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        call()
