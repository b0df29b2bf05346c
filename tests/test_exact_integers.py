"""Whole numbers beyond 2**53 are compared before they are rounded."""

from __future__ import annotations

from fractions import Fraction

import pytest

import lsip
from lsip.errors import ModelError
from lsip.model.finite_rows import whole_factor

LARGE = 2.0**53
T = lsip.Index("t", lsip.Interval(0, 1))


def test_an_odd_number_beyond_2_53_is_none_that_a_row_has() -> None:
    x = lsip.Variable(name="x", lower=0, upper=LARGE)
    row = lsip.integral(2 * T * x - (LARGE + 2 * T), T) == 0  # x = 2**53 + 1
    with pytest.raises(ModelError, match="coefficients that no doubles are"):
        lsip.Problem(lsip.minimize(x), [row]).solve(verbose=False)


@pytest.mark.parametrize("unit", [1.0, 3.0, 64.0, 0.5, 1 / 64, 0.375])
def test_coefficients_that_match_are_not_rounded(unit: float) -> None:
    x = lsip.Variable(name="x", lower=0, upper=LARGE)
    with pytest.raises(ModelError, match="numbers that doubles do not hold"):
        lsip.Problem(lsip.minimize(x), [lsip.forall(T, unit * (x * T - LARGE * T - T) == 0)]).solve(verbose=False)


def test_sums_of_decimals_are_rounded_as_decimals_are() -> None:
    x = lsip.Variable(name="x", lower=0, upper=9)
    rows = [lsip.forall(T, x * T == 0.1 * T + 0.2 * T)]
    assert lsip.Problem(lsip.minimize(x), rows).solve(verbose=False).value == 0.1 + 0.2


def test_coefficients_that_doubles_hold_match() -> None:
    x = lsip.Variable(name="x", lower=0, upper=LARGE)
    exact = lsip.Problem(lsip.minimize(x), [lsip.forall(T, 2 * x * T == LARGE * T + LARGE * T)]).solve(verbose=False)
    assert exact.value == LARGE


@pytest.mark.parametrize(
    ("values", "factor"),
    [
        ([Fraction(1), Fraction(2**53 + 1)], None),
        ([Fraction(1), Fraction(2**53)], Fraction(1)),
        ([Fraction(1, 3), Fraction(2**53 + 1, 3)], None),
        ([Fraction(2), Fraction(2 * (2**53 + 1))], None),
        ([Fraction(2**60), Fraction(3 * 2**60)], Fraction(1, 2**60)),
        ([Fraction(0), Fraction(0)], Fraction(1)),
        ([Fraction(1, 2**1074), Fraction(3, 2**1074)], None),  # the factor itself is no double
    ],
)
def test_factors_that_make_whole_numbers(values: list[Fraction], factor: Fraction | None) -> None:
    assert whole_factor(values) == factor
