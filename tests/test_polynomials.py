"""Polynomials in rational numbers: rows, bounds and multipliers where doubles lose too much."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest

from benchmarks.harness.models import MODELS
from lsip import Ball, Box, Index, Interval, Problem, Status, Variable, forall, maximize, minimize
from lsip.expressions.interval import EPS
from lsip.expressions.polynomials import Polynomials, neighbours
from lsip.expressions.tape import Tape
from lsip.oracles import BranchAndBound
from lsip.oracles.bernstein import RationalRow

t = Index("t", Interval(0, 1))
y = Index("y", Box([-1, -1], [1, 1]))


def alternating(degree: int) -> list[Fraction]:
    """(1 - 2 t)^degree, whose terms are 3^degree times as large as its values."""
    return [Fraction(comb(degree, k) * (-2) ** k) for k in range(degree + 1)]


def cancelling(degree: int) -> Problem:
    """An even power of 1 - 2 t, written out, stays above a: the optimum is 0, in the middle."""
    x, a = Variable(1, name="x", lower=1, upper=1), Variable(name="a")
    row = sum(float(c) * t**k for k, c in enumerate(alternating(degree)))
    return Problem(maximize(a), [forall(t, x[0] * row + 1e-3 >= a)])


def test_formulas_become_the_polynomials_that_they_are():
    found = Polynomials.of(Tape((np.stack([(1 - t) ** 3 / 3 + t * t, 2 * t - 0.5 * (t + 1) ** 2, 0 * t]),), (t,)))
    point = Fraction(0.3)
    exact = [(1 - point) ** 3 / 3 + point**2, 2 * point - (point + 1) ** 2 / 2, Fraction(0)]
    assert found.fractions(np.array([[0.3]]), [[0, 1, 2]]) == [exact]
    ends = found.at(np.array([[0.3]]), [[0, 1, 2]])
    for low, high, value in zip(ends.lo[0], ends.hi[0], exact, strict=True):
        assert Fraction(low) <= value <= Fraction(high)
        assert high in (low, np.nextafter(low, np.inf))


def test_several_coordinates_and_matrices():
    table = np.array([[1.0, -2.0], [0.25, 3.0]])
    e = table @ np.stack([y[0] ** 2 * y[1], np.prod(y ** np.array([1, 3]))])
    found = Polynomials.of(Tape((e,), (y,)))
    a, b = Fraction(0.7), Fraction(-0.2)
    one, two = a**2 * b, a * b**3
    assert found.fractions(np.array([[0.7, -0.2]]), [[0, 1]]) == [[one - 2 * two, one / 4 + 3 * two]]


@pytest.mark.parametrize("e", [np.exp(t), 1 / (1 + t), t**0.5, np.abs(t), np.maximum(t, 0.5), t**200, np.sin(t) * t])
def test_what_is_no_polynomial_is_none(e):
    assert Polynomials.of(Tape((e,), (t,))) is None


@pytest.mark.parametrize("value", [Fraction(1, 3), Fraction(-1, 3), Fraction(1, 2), Fraction(0), Fraction(1, 2**1080)])
def test_doubles_next_to_a_fraction(value):
    low, high = neighbours(value.numerator, value.denominator)
    assert Fraction(low) <= value <= Fraction(high)
    assert (low == high) == (Fraction(float(value)) == value)
    assert low == high or np.nextafter(low, np.inf) == high


def test_rows_at_points_are_sharp_where_terms_cancel():
    family = cancelling(16).compile().families[0]
    points = np.linspace(0.3, 0.7, 9)[:, None]
    a, _ = family.enclosed(points, points, np.zeros(9, dtype=np.intp))
    rounded = family.source.tape.enclose(points, points)
    place = list(family.columns[0]).index(0)
    for p, low, high, wide in zip(points[:, 0], a.lo[:, place], a.hi[:, place], rounded.hi - rounded.lo, strict=True):
        exact = -((1 - 2 * Fraction(p)) ** 16)
        assert Fraction(low) <= exact <= Fraction(high)
        assert high - low <= EPS * abs(low) < 1e-3 * wide.max()


def touching(steepness: int, gap: float) -> float:
    """A proven bound of -(steepness t - 1)^2 - gap on [0, 1]."""
    x = Variable(2, name="x")
    program = Problem(minimize(x[0]), [forall(t, -x[0] * (steepness * t - 1) ** 2 - x[1] <= 0)]).compile()
    return BranchAndBound().maximise(program.violation(0, np.array([1.0, gap]))).bound


def test_a_maximum_that_touches_zero_is_bounded_in_whole_numbers():
    assert touching(3, 1e-30) <= 0  # no double is a third
    assert 0 <= touching(4, 0.0) <= 1e-40


def test_a_violation_of_next_to_nothing_is_found():
    x = Variable(2, name="x")
    program = Problem(minimize(x[0]), [forall(t, x[1] - x[0] * (3 * t - 1) ** 2 <= 0)]).compile()
    found = BranchAndBound().maximise(program.violation(0, np.array([1.0, 1e-25])))
    assert found.bound >= found.worst > 0
    assert Fraction(1e-25) - (3 * Fraction(found.points[0, 0]) - 1) ** 2 > 0


def test_bounds_hold_on_any_interval():
    rng = np.random.default_rng(5)
    for _ in range(30):
        coefficients = [Fraction(v) for v in rng.normal(size=rng.integers(1, 8))]
        lower, width = rng.normal(), rng.exponential()
        bound, value, point = RationalRow(coefficients).bound(float(lower), float(lower + width))
        exact = [
            sum(c * Fraction(v) ** k for k, c in enumerate(coefficients))
            for v in (point, *np.linspace(lower, lower + width, 50))
        ]
        assert Fraction(bound) >= max(exact)
        assert Fraction(value) <= exact[0]
        assert value == RationalRow(coefficients).at(point)
        narrow = RationalRow(coefficients).bound(point, point + 1e-9 * width)
        assert narrow[0] <= narrow[1] + 1e-6 * (1 + abs(value))


def test_branch_and_bound_proves_what_rounding_would_hide():
    program = cancelling(22).compile()  # terms of 1e10, so that doubles leave 1e-6
    violation = program.violation(0, np.array([1.0, 1e-3 - 1e-12]))
    found = BranchAndBound().maximise(violation)
    assert found.bound <= 0
    assert BranchAndBound().maximise(program.violation(0, np.array([1.0, 1e-3 + 1e-12]))).worst > 0


def test_a_box_of_points_is_bounded_for_all_of_them():
    program = cancelling(22).compile()
    inside = program.violation(0, np.array([1.0, 1e-3 - 1e-6]), radius=np.array([0.0, 5e-7]))
    outside = program.violation(0, np.array([1.0, 1e-3 - 1e-9]), radius=np.array([0.0, 5e-7]))
    assert BranchAndBound().maximise(inside).bound <= 0
    assert BranchAndBound().maximise(outside).bound > 0


@pytest.mark.parametrize("name", ["cohn_elkies_d4_N11", "cohn_elkies_d8_N11"])
def test_packing_bounds_are_certified(name):
    solution = MODELS[name].build().solve(verbose=False)
    assert solution.status is Status.OPTIMAL
    solution.verify()


@pytest.mark.parametrize("power", [3, 5])
def test_a_condition_that_holds_on_a_cusp(power):
    a = Variable(name="a")
    above = np.where(y[0] ** power >= y[1] ** 2, 1 + y[0], 3 + 0 * y[0])
    solution = Problem(maximize(a), [forall(y, a <= above)]).solve(verbose=False, time_limit=20)
    assert solution.status is Status.OPTIMAL
    assert solution.upper == pytest.approx(1.0, abs=1e-8)
    solution.verify()


def test_a_condition_at_its_tip_is_decided_exactly():
    z, a = Index("z", Ball([0, 0], 1)), Variable(name="a")
    above = np.where(z[0] ** 3 >= z[1] ** 2, z[0], 1 + 0 * z[0])
    solution = Problem(maximize(a), [forall(z, a <= above)]).solve(verbose=False, time_limit=20)
    assert -1e-9 <= solution.lower <= 0 <= solution.upper <= 1e-20


def test_multipliers_of_atoms_next_to_each_other():
    """Two atoms at a distance of 1e-7 share a weight: intervals cannot tell how."""
    from lsip.proof.certificate import Support
    from lsip.proof.dual import Dual, enclosed_weights
    from lsip.proof.rows import DualRows

    x = Variable(3, name="x")
    rows = np.stack([(t + 9) ** 0 + 0 * t, (t + 9) ** 7, (t + 9) ** 8])
    program = Problem(minimize(x[0]), [forall(t, rows @ x >= 0)]).compile()
    points, shares = (0.5, 0.5 + 2.0**-20, 0.75), (1.0, 1e-9, 1.0)
    exact = [[-((Fraction(p) + 9) ** k) for k in (0, 7, 8)] for p in points]
    c = np.array(
        [
            float(-sum(w * Fraction(s) for s, w in zip(shares, column, strict=True)))
            for column in zip(*exact, strict=True)
        ]
    )
    dual = Dual(tuple(Support(0, 0, np.array([p]), s) for p, s in zip(points, shares, strict=True)), np.zeros(0))
    dual = Dual(dual.support, np.zeros(0), np.arange(3), np.arange(3))
    table = DualRows.of(program, dual.support)
    assert enclosed_weights(table, c, dual, exactly=False) is None
    found = enclosed_weights(table, c, dual)
    solution = solve_exactly(exact, c)
    for low, high, value in zip(found.lo, found.hi, solution, strict=True):
        assert Fraction(low) <= value <= Fraction(high)
        assert high - low <= 4 * EPS * abs(value)


def solve_exactly(rows: list[list[Fraction]], c: np.ndarray) -> list[Fraction]:
    """Weights w with c + sum w row = 0, by Cramer's rule."""

    def determinant(m: list[list[Fraction]]) -> Fraction:
        (a, b, d), (e, f, g), (h, i, j) = m
        return a * (f * j - g * i) - b * (e * j - g * h) + d * (e * i - f * h)

    right = [-Fraction(float(v)) for v in c]
    whole = determinant(rows)
    return [determinant([right if i == k else row for i, row in enumerate(rows)]) / whole for k in range(3)]
