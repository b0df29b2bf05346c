"""Equalities over index sets without room inside: coefficients have to match only where that is proven to follow."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import lsip
from lsip.errors import ModelError

Statement = Callable[[Any, Any], Any]


def least(domain: lsip.domains.Domain, statement: Statement, *more: Statement) -> lsip.Solution:
    """The least x[1] between -5 and 9."""
    x, y = lsip.Variable(2, name="x", lower=-5, upper=9), lsip.Index("y", domain)
    rows = [make(y, x) for make in more]
    return lsip.Problem(lsip.minimize(x[1]), [lsip.forall(y, statement(y, x)), *rows]).solve(verbose=False)


def line(t: Any, x: Any) -> Any:
    return x[0] + x[1] * t == 1 + t


def plane(y: Any, x: Any) -> Any:
    return x[0] * y[0] + x[1] * y[1] == y[0] + y[1]


def half(_: Any, x: Any) -> Any:
    return x[0] == 0.5


P = lsip.Parameter(name="p", value=0.0)
BOX = lsip.Box([-1, -1], [1, 1])
UNPROVEN: dict[str, tuple[lsip.domains.Domain, Statement]] = {
    "a point, by a square": (lsip.Interval(-1, 1).where(lambda t: t**2 <= 0), line),
    "a point, by a modulus": (lsip.Interval(-1, 1).where(lambda t: np.abs(t - 0.1875) <= 0), line),
    "a point, by a parameter": (lsip.Interval(-1, 1).where(lambda t: t**2 <= P), line),
    "a product with a point": (lsip.Interval(0, 1) * lsip.Interval(-1, 1).where(lambda t: t**2 <= 0), plane),
    "two points": (lsip.Interval(-1, 1).where(lambda t: t**2 <= 0) | lsip.Interval(1, 1), line),
    "a line, by a square": (BOX.where(lambda y: (y[0] - y[1]) ** 2 <= 0), plane),
    "a line, by a maximum": (BOX.where(lambda y: np.maximum(y[0] - y[1], y[1] - y[0]) <= 0), plane),
    "a flat part of a simplex": (lsip.Simplex(3).where(lambda y: [y[0] <= 0.5, y[0] >= 0.5]), plane),
}


@pytest.mark.parametrize("name", UNPROVEN)
def test_nothing_is_matched_where_room_is_not_proven(name: str) -> None:
    domain, statement = UNPROVEN[name]
    with pytest.raises(ModelError, match="not proven that this set has room inside"):
        least(domain, statement)


DIAGONAL = BOX.where(lambda y: [y[0] - y[1] <= 0, y[0] - y[1] >= 0])
MEANING: dict[str, tuple[lsip.domains.Domain, Statement, float]] = {
    "a point": (lsip.Interval(0, 0), line, -5.0),
    "an interval": (lsip.Interval(0, 1), line, 1.0),
    "points": (lsip.Interval(0, 0) | lsip.Interval(0.5, 0.5), line, 1.0),
    "a point beside an interval": (lsip.Interval(0, 0) | lsip.Interval(1, 2), line, 1.0),
    "half a line": (lsip.Interval(2, np.inf), line, 1.0),
    "a line": (lsip.Interval(-np.inf, np.inf), line, 1.0),
    "an interval by a square": (lsip.Interval(-1, 1).where(lambda t: t**2 <= 1e-4), line, 1.0),
    "beside a flat region": (lsip.Interval(-1, 1).where(lambda t: t**2 <= 0) | lsip.Interval(1, 2), line, 1.0),
    "where a root is defined": (lsip.Interval(-1, 1).where(lambda t: np.sqrt(t) <= 0.5), line, 1.0),
    "a flat box": (lsip.Box([0, 1], [1, 1]), lambda y, x: x[0] * y[0] + x[1] * y[0] * y[1] == y[0], -5.0),
    "points times an interval": (lsip.Finite([[0.0]]) * lsip.Interval(0, 1), plane, 1.0),
    "the diagonal": (DIAGONAL, plane, -5.0),
    "part of the diagonal": (BOX.where(lambda y: [y[0] <= y[1], y[0] >= y[1], y[0] ** 2 <= 0.5]), plane, -5.0),
    "a flat polytope": (lsip.Polytope([[1, -2], [-1, 2], [0, 1], [0, -1]], [0, 0, 1, 1]), plane, -5.0),
    "a polytope that is a point": (lsip.Polytope([[1, 1], [-1, 0], [0, -1]], [1, -0.5, -0.5]), plane, -5.0),
    "a simplex": (lsip.Simplex(2), plane, 1.0),
    "a ball": (lsip.Ball([0, 0], 1e-3), plane, 1.0),
    "a thin ellipsoid": (lsip.Ellipsoid([0, 0], [1, 1e-6]), plane, 1.0),
    "a budget": (lsip.Budget(2, 1), plane, 1.0),
    "a lens": (lsip.Ball([0, 0], 1) & lsip.Ball([1.9, 0], 1), plane, 1.0),
    "between two curves": (BOX.where(lambda y: [y[0] ** 2 <= y[1], y[1] <= y[0] ** 2 + 1e-5]), plane, 1.0),
    "a cusp": (BOX.where(lambda y: y[0] ** 3 >= y[1] ** 2), plane, 1.0),
}


@pytest.mark.parametrize("name", MEANING)
def test_an_equality_means_what_it_says_on_its_set(name: str) -> None:
    domain, statement, value = MEANING[name]
    solution = least(domain, statement)
    assert solution.certified
    assert solution.value == pytest.approx(value, abs=1e-9)
    solution.verify()


def test_points_of_a_diagonal_leave_a_line_of_solutions() -> None:
    solution = least(DIAGONAL, lambda y, x: x[0] * y[0] + x[1] * y[1] == y[0], half)
    assert solution.certified
    assert solution.value == 0.5


def test_a_parameter_decides_whether_a_set_has_room() -> None:
    p = lsip.Parameter(name="p", value=0.25)
    x, t = (
        lsip.Variable(2, name="x", lower=-5, upper=9),
        lsip.Index("t", lsip.Interval(-1, 1).where(lambda t: t**2 <= p)),
    )
    problem = lsip.Problem(lsip.minimize(x[1]), [lsip.forall(t, line(t, x))])
    assert problem.solve(verbose=False).value == 1
    p.value = 0.0
    with pytest.raises(ModelError, match="room inside"):
        problem.solve(verbose=False)


def test_a_contradiction_of_coefficients_is_one_on_the_set() -> None:
    with pytest.raises(ModelError, match="cannot hold for all index points: the power 2"):
        least(lsip.Interval(0, 1), lambda t, x: x[0] + x[1] * t == t**2)
    assert least(lsip.Interval(1, 1), lambda t, x: x[0] + x[1] * t == t**2).certified


def test_rows_are_divided_as_if_coordinates_of_no_width_were_numbers() -> None:
    """(y0 - y1) (x0 + x1 y2) <= (y0 - y1)², where y2 = 2, says x0 + 2 x1 = 0, and not that both vanish."""
    x = lsip.Variable(2, name="x", lower=-5, upper=9)
    y = lsip.Index("y", lsip.Box([0, 0, 2], [1, 1, 2]))
    away = y[0] - y[1]
    rows = [lsip.forall(y, away * (x[0] + x[1] * y[2]) - away**2 <= 0)]
    solution = lsip.Problem(lsip.minimize(x[1]), rows).solve(verbose=False)
    assert solution.lower <= -4.5 <= solution.upper
    assert solution.certified


@pytest.mark.parametrize("at", [0.1, 1 / 3])
def test_equations_are_exact_where_their_numbers_are_in_simple_proportions(at: float) -> None:
    """0.1 ** 2 is no double, but three times as much of one side is three of the other."""
    x, t = lsip.Variable(name="x"), lsip.Index("t", lsip.Interval(0, 1))
    problem = lsip.Problem(lsip.minimize(x), [lsip.forall(t, x * (t + at) ** 2 == 3 * (t + at) ** 2)])
    program = problem.compile()
    for number, side in zip(program.A.toarray()[:, 0], program.row_upper, strict=True):
        assert Fraction(side) == 3 * Fraction(number)
    assert problem.solve(verbose=False).certified
