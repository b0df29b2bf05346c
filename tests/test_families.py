"""Families in other units: what is enclosed of them holds, whatever under- or overflows."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

import lsip
from lsip.model import RowFamily, largest_coefficient, steepest_coefficient
from lsip.model.coefficients import affine_in, fractions, undefined_at
from lsip.oracles.base import without_units

Array = NDArray[np.float64]
T = lsip.Index("t", lsip.Interval(0, 1))
POINTS = np.array([[0.0], [0.125], [0.5], [1.0]])
EXACT = [[Fraction(1), Fraction(t), Fraction(t) ** 2 - 1] for t in POINTS[:, 0].tolist()]
UNITS = [(0, 0, 0), (3, -5, 7), (-1070, 4, 2), (600, -600, 900), (-1040, -1060, -1050)]


def family(*powers: int) -> RowFamily:
    """x[0] + t x[1] <= t**2 - 1, its numbers times powers of two."""
    x = lsip.Variable(2, name="x")
    rows = lsip.forall(T, x[0] + T * x[1] <= T**2 - 1)
    found = lsip.Problem(lsip.minimize(x.sum()), [rows]).compile().families[0]
    return replace(found, units=2.0 ** np.array([powers], dtype=float)) if powers else found


def scaled(row: list[Fraction], powers: tuple[int, ...]) -> list[Fraction]:
    return [v * Fraction(2) ** k for v, k in zip(row, powers, strict=True)]


@pytest.mark.parametrize("powers", UNITS)
def test_enclosures_hold_in_other_units(powers: tuple[int, ...]) -> None:
    rows, zeros = family(*powers), np.zeros(len(POINTS), dtype=np.intp)
    a, b = rows.enclosed(POINTS, POINTS, zeros)
    for low, high, exact in zip(np.column_stack([a.lo, b.lo]), np.column_stack([a.hi, b.hi]), EXACT, strict=True):
        for v, w, number in zip(low.tolist(), high.tolist(), scaled(exact, powers), strict=True):
            assert Fraction(v) <= number <= Fraction(w)
    whole = np.zeros((1, 1)), np.ones((1, 1))
    (cell,) = rows.domain.flat_cells()
    found = rows.quadratics(cell)(*whole, None, 2)[0]
    for share, exact in zip(POINTS[:, 0].tolist(), EXACT, strict=True):
        d = 2 * Fraction(share) - 1
        for k, number in enumerate(scaled(exact, powers)):
            value, slope, bend = (Fraction(float(part[..., 0, k].ravel()[0])) for part in found[:3])
            error = Fraction(float(found.error[0, k]))
            assert abs(value + slope * d + bend * d * d / 2 - number) <= error


@pytest.mark.parametrize("powers", UNITS)
def test_exact_forms_are_those_of_the_numbers(powers: tuple[int, ...]) -> None:
    rows, zeros = family(*powers), np.zeros(len(POINTS), dtype=np.intp)
    known = fractions(rows, POINTS, zeros)
    assert known == [scaled(row, powers)[:2] for row in EXACT]
    weights = np.array([3.0, 5.0, -1.0])
    polynomial = rows.polynomial(0, weights)
    if polynomial is None:  # what underflows is another polynomial
        assert (weights * rows.units / rows.units != weights).any()
    else:
        for t, exact in zip(POINTS[:, 0].tolist(), EXACT, strict=True):
            value = sum((c * Fraction(t) ** e[0] for e, c in polynomial.items()), Fraction(0))
            terms = zip(scaled(exact, powers), weights.tolist(), strict=True)
            assert value == sum((v * Fraction(w) for v, w in terms), Fraction(0))
    form = affine_in(rows, np.ones(2, dtype=bool))
    assert form is not None
    box = form.enclosed(POINTS, POINTS, zeros)
    for k in range(2):
        for low, high, row in zip(box.lo[:, k].tolist(), box.hi[:, k].tolist(), EXACT, strict=True):
            assert Fraction(low) <= scaled(row, powers)[k] <= Fraction(high)


@pytest.mark.parametrize(("power", "kept"), [(20, True), (-1000, True), (-1060, False), (1020, False)])
def test_units_are_left_out_only_where_nothing_is_lost(power: int, kept: bool) -> None:
    rows = family(power, power, power)
    weights = np.array([[3.0e10, 5.0, -1.0 / 3.0]])
    found = without_units(rows, weights, np.full((1, 3), 1.0 / 3.0))
    assert (found is not None) == kept
    if found is not None:
        assert found.family.units is None
        assert np.array_equal(found.weights, weights * 2.0**power)
    assert without_units(family(), weights, None) is None


def test_values_are_in_the_units_of_the_family() -> None:
    powers = (3, -5, 7)
    rows, plain, zeros = family(*powers), family(), np.zeros(len(POINTS), dtype=np.intp)
    factors = 2.0 ** np.array(powers)
    for one, other in (
        (rows.rows(POINTS), plain.rows(POINTS)),
        (rows.chosen(POINTS, zeros), plain.chosen(POINTS, zeros)),
    ):
        assert np.array_equal(one[0], other[0] * factors[:2])
        assert np.array_equal(one[1], other[1] * factors[2])
    ours, theirs = rows.chosen_derivatives(POINTS, zeros), plain.chosen_derivatives(POINTS, zeros)
    assert ours is not None
    assert theirs is not None
    for mine, its in zip(ours, theirs, strict=True):
        assert np.array_equal(mine, its * factors)
    assert largest_coefficient(rows) == pytest.approx(8.0)
    assert steepest_coefficient(rows) == pytest.approx(2.0**-5)
    assert rows.data_key != plain.data_key
    assert undefined_at(rows) is None


def test_verify_restates_what_was_written() -> None:
    """What a solver made of an unbounded set, or of an equality, is not taken from it."""
    x, k = lsip.Variable(2, name="x"), lsip.Index("k", lsip.Interval(0, np.inf))
    far = lsip.forall(k, x[0] + x[1] * k >= 2 * k - k**2 / 4)
    problem = lsip.Problem(lsip.minimize(x[0]), [far, x[1] <= 1])
    other = lsip.forall(k, x[0] + x[1] * k >= k - k**2 / 4)
    far.said({})
    far._last[:] = [({}, other.said({}))]  # the parts of another constraint
    solution = problem.solve(verbose=False)
    assert solution.certified
    with pytest.raises(lsip.LSIPError, match="is not that of its model"):
        solution.verify()
