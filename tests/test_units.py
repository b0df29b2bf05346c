"""The answer does not depend on the units in which a model is written."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lsip
from benchmarks.harness.scaling import Units, drawn, scaled
from lsip import catalogue

OPEN = {"weakly_infeasible", "duality_gap", "hyperbola_inf"}
SHARP = {"kissing_dim24", "ks_tan_n20", "boundary_eval"}  # no room for the rounding of data in powers of ten
LONG = {"complex_alper", "remez_lowpass_n60", "arches_1000", "ring_1000", "reemtsen1_d4", "reemtsen1_d7"}
LONG |= {"reemtsen2_d5", "reemtsen3_d9", "reemtsen4_d3", "reemtsen4_d5", "reemtsen5_d2", "reemtsen_sqrt_d2"}
LONG |= {"reemtsen_inv_d3", "sloss_211", "sloss_1111", "shipping_100", "power_grid_20", "watson9_2d", "torsion4"}
LONG |= {"pde_defect", "cylinder_above", "copositive_cycle5", "ot_2d", "triangle_below"}
QUICK = [name for name in catalogue.names() if name not in OPEN | SHARP | LONG]


@cache
def usual(name: str) -> tuple[lsip.Program, lsip.Solution]:
    program = catalogue.get(name).build().compile()
    return program, program.solve(verbose=False)


def in_units(program: lsip.Program, units: Units) -> lsip.Solution:
    return scaled(program, units).solve(verbose=False, time_limit=30)


@settings(max_examples=40)
@given(st.sampled_from(QUICK), st.sampled_from([2, 10]), st.integers(0, 10_000))
def test_no_unit_changes_the_answer(name: str, base: int, seed: int) -> None:
    """Every variable, row, constraint and the objective times 2^k, |k| <= 30, or 10^k, |k| <= 9."""
    program, expected = usual(name)
    units = drawn(program, np.random.default_rng(seed), base)
    found = in_units(program, units)
    assert found.status is expected.status, found.message
    assert found.certified
    if np.isfinite(expected.value):
        allowed = 3 * expected.tol * max(1.0, abs(expected.value))
        assert abs(found.lower / units.objective - expected.lower) <= allowed
        assert abs(found.upper / units.objective - expected.upper) <= allowed


@pytest.mark.parametrize("name", ["tfi2_tan_n3", "robust_disc", "abs_d10", "copositive_path3"])
def test_powers_of_two_change_hardly_a_digit(name: str) -> None:
    """The program that is solved is the same; only factors in its formulas round outward once more."""
    program, expected = usual(name)
    units = drawn(program, np.random.default_rng(7), 2)
    found = in_units(program, units)
    assert found.lower / units.objective == pytest.approx(expected.lower, rel=1e-11)
    assert found.upper / units.objective == pytest.approx(expected.upper, rel=1e-11)
    np.testing.assert_allclose(found.x * units.variables, expected.x, rtol=1e-9)
    assert len(found.history) == len(expected.history)


def test_the_largest_units():
    """1e100 times a fit that is 2e-7 from its target: beyond what LP solvers take for finite."""
    x, e, t = lsip.Variable(4, name="x"), lsip.Variable(name="e"), lsip.Index("t", lsip.Interval(-1, 1))
    error = t ** np.arange(4) @ x - 1e100 * np.exp(t)
    solution = lsip.Problem(lsip.minimize(e), [lsip.forall(t, [error <= e, -error <= e])]).solve(verbose=False)
    assert solution.certified
    assert solution.value == pytest.approx(5.528370e97, rel=1e-6)


def test_rows_that_are_affine_in_the_index_stay_so_in_any_units():
    """What underflows of a doubt is no reason to search an index set that has a support function."""
    x, y = lsip.Variable(3, name="x", lower=-1e3, upper=1e3), lsip.Index("y", lsip.Box([-1] * 9, [1] * 9))
    shifted = y - 1e-308 * np.arange(9)  # leaves doubts next to the least doubles
    row = 1000 * x[0] + 700 * x[1] * y[0] + x[2] * (shifted.sum() / 3)
    solution = lsip.Problem(lsip.minimize(-x.sum()), [lsip.forall(y, row <= 5e5)]).solve(verbose=False)
    assert solution.certified
    assert solution.oracle == "SupportFunction"


def test_an_optimum_of_zero_is_closed_where_rows_vanish():
    """The least value of a polynomial that is a square: both sides of the row are 0 at the only atom."""
    best, y = lsip.Variable(name="best"), lsip.Index("y", lsip.Box([-2, -2], [2, 2]))
    motzkin = y[0] ** 4 * y[1] ** 2 + y[0] ** 2 * y[1] ** 4 - 3 * y[0] ** 2 * y[1] ** 2 + 1
    solution = lsip.Problem(lsip.maximize(best), [lsip.forall(y, best <= motzkin)]).solve(verbose=False)
    assert solution.certified, solution.message
    assert abs(solution.value) < 1e-12
