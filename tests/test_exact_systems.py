"""Systems that are nearly singular, in rational numbers: enclosures beside what elimination gives."""

from __future__ import annotations

from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import lsip
from lsip.expressions.interval import Interval
from lsip.proof.exact_systems import ExactSystem

from .exact import eliminated

Rows = list[list[Fraction]]


def powers(points: list[float]) -> Rows:
    """A row for every power, a column for every point."""
    return [[Fraction(p) ** k for p in points] for k in range(len(points))]


def check(system: ExactSystem, rows: Rows, rhs: list[Fraction]) -> None:
    found, exact = system.solve(rhs), eliminated(rows, rhs)
    assert found is not None
    assert exact is not None
    assert encloses(found, exact)


def encloses(found: Interval, exact: list[Fraction]) -> bool:
    ends = zip(found.lo.tolist(), exact, found.hi.tolist(), strict=True)
    return all(Fraction(low) <= v <= Fraction(high) for low, v, high in ends)


@pytest.mark.parametrize("k", [1, 5, 12, 16])
def test_powers_far_from_zero(k: int) -> None:
    rows = powers(np.linspace(100, 101, k).tolist())
    check(ExactSystem.of(rows), rows, [Fraction(1, j + 1) for j in range(k)])


@pytest.mark.parametrize("k", [4, 12, 20])
def test_hilbert_matrices(k: int) -> None:
    rows = [[Fraction(1, i + j + 1) for j in range(k)] for i in range(k)]
    check(ExactSystem.of(rows), rows, [Fraction(1)] * k)


def test_several_sides_after_one_another() -> None:
    rows = powers(np.linspace(10, 11, 9).tolist())
    system = ExactSystem.of(rows)
    for j in range(3):
        check(system, rows, [Fraction(int(i == j)) for i in range(9)])


def test_singular_ones_have_no_solution() -> None:
    assert ExactSystem.of(powers([1.0, 2.0, 2.0, 3.0])).solve([Fraction(1)] * 4) is None
    assert ExactSystem.of([[Fraction(0)] * 2] * 2).solve([Fraction(0)] * 2) is None


@given(st.data())
def test_a_perturbed_dependent_row_is_seen(data: st.DataObject) -> None:
    """Rows of rank k - 1, and a disturbance of 2^-e: what it changes is known to the last digit, or nothing is said."""
    k = data.draw(st.integers(2, 5))
    whole = st.integers(-9, 9).map(Fraction)
    rows = [[data.draw(whole) for _ in range(k)] for _ in range(k - 1)]
    shares = [data.draw(whole) for _ in range(k - 1)]
    last = [sum((s * row[j] for s, row in zip(shares, rows, strict=True)), Fraction(0)) for j in range(k)]
    last[data.draw(st.integers(0, k - 1))] += Fraction(1, 2 ** data.draw(st.integers(0, 120)))
    rows, rhs = [*rows, last], [data.draw(whole) for _ in range(k)]
    exact, found = eliminated(rows, rhs), ExactSystem.of(rows).solve(rhs)
    if found is None:
        return
    assert exact is not None, "a singular matrix was taken for a regular one"
    assert encloses(found, exact)


@pytest.mark.parametrize(("a", "b", "degree"), [(2, 3, 12), (0.5, 0.6, 9), (0, 1, 12)])
def test_fits_in_powers_that_look_alike_are_certified(a: float, b: float, degree: int) -> None:
    t, c = lsip.Index("t", lsip.Interval(a, b)), lsip.Variable(degree + 1, name="c")
    p = (t ** np.arange(degree + 1)) @ c
    problem = lsip.Problem(lsip.minimize(lsip.integral(p, t)), [lsip.forall(t, p >= np.exp(t / b))])
    solution = problem.solve(verbose=False)
    assert solution.certified, solution.message
    exact = b * (np.e - np.exp(a / b))
    assert solution.lower - 1e-7 * exact <= exact <= solution.upper + 1e-12
    solution.verify()  # raises where the proof does not hold
