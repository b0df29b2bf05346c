"""One equilibration, from sizes over all of Y: entries that are negligible, and columns that nobody would use."""

from __future__ import annotations

import numpy as np
import pytest

import lsip
from benchmarks.harness.scaling import drawn, scaled
from lsip.reductions.equilibration import scaling_of
from lsip.solver.conditioning import Conditioning


def bumps(width: float, *stretches: tuple[float, float]) -> lsip.Problem:
    """The fewest Gaussians, with centres all over [0, 1], that add up to 1 on some stretches."""
    x, centres = lsip.Variable(21, name="x", lower=0), np.linspace(0, 1, 21)
    rows = []
    for k, (low, high) in enumerate(stretches):
        y = lsip.Index(f"y{k}", lsip.Interval(low, high))
        rows.append(lsip.forall(y, np.exp(-(((y - centres) / width) ** 2)) @ x >= 1))
    return lsip.Problem(lsip.minimize(x.sum()), rows)


def certified(problem: lsip.Problem | lsip.Program, value: float) -> None:
    solution = problem.solve(verbose=False)
    assert solution.certified, solution.message
    assert solution.lower <= value * (1 + 1e-7)
    assert value * (1 - 1e-7) <= solution.upper
    assert solution.upper - solution.lower <= 1e-8 * abs(value)
    solution.verify()


@pytest.mark.parametrize("tiny", [1e-9, 1e-15, 1e-30, 1e-60])
def test_a_column_that_hardly_helps_does_no_harm(tiny: float) -> None:
    x = lsip.Variable(2, name="x", lower=0)
    certified(lsip.Problem(lsip.minimize(x.sum()), [x[0] + tiny * x[1] >= 1]), 1.0)


@pytest.mark.parametrize("tiny", [1e-9, 1e-15, 1e-30])
def test_a_column_that_is_used_keeps_its_units(tiny: float) -> None:
    """Tiny or not, it is what pays."""
    x = lsip.Variable(2, name="x", lower=0)
    certified(lsip.Problem(lsip.maximize(x.sum()), [x[0] + tiny * x[1] <= 1]), 1 / tiny)
    certified(lsip.Problem(lsip.minimize(x[0] + tiny / 2 * x[1]), [x[0] + tiny * x[1] >= 1]), 0.5)


@pytest.mark.parametrize(("width", "value"), [(0.05, 3.21230306), (0.03, 4.96753355), (0.01, 1270.95486)])
def test_columns_that_are_zero_but_for_rounding_do_no_harm(width: float, value: float) -> None:
    certified(bumps(width, (0.4, 0.6)), value)


@pytest.mark.parametrize(("width", "value"), [(0.05, 6.42460597), (0.03, 9.93506711)])
def test_entries_that_are_negligible_in_one_row_and_not_in_another(width: float, value: float) -> None:
    certified(bumps(width, (0.4, 0.6), (0.0, 0.2)), value)


def test_a_row_that_nobody_breaks_says_nothing_of_the_objective() -> None:
    """The last column is useless but for a row that holds without it."""
    problem = bumps(0.05, (0.4, 0.6))
    x = problem.variables[0]
    certified(lsip.Problem(lsip.minimize(x.sum()), [*problem.constraints, 1e-28 * x[20] <= 1]), 3.21230306)


@pytest.mark.parametrize("seed", range(3))
def test_negligible_entries_are_negligible_in_all_units(seed: int) -> None:
    program = bumps(0.05, (0.4, 0.6), (0.0, 0.2)).compile()
    units = drawn(program, np.random.default_rng(seed), 2)
    other = scaled(program, units)
    before, after = scaling_of(program), scaling_of(other)
    assert np.abs(np.log2(before.columns / after.columns / units.variables)).max() <= 1  # exponents are rounded
    certified(other, units.objective * 6.42460597)


def test_the_units_of_many_masts_do_not_depend_on_a_few_sampled_points() -> None:
    """Every column peaks at 1, so there is nothing to scale; the gap closes with hundreds of columns."""
    rng = np.random.default_rng(0)
    centres = rng.uniform(0, 1, (400, 2))
    x, y = lsip.Variable(400, name="x", lower=0, upper=1), lsip.Index("y", lsip.Box([0, 0], [1, 1]))
    rows = np.exp(-20 * ((y - centres) ** 2).sum(axis=-1)) @ x <= 3
    problem = lsip.Problem(lsip.maximize(x.sum()), [lsip.forall(y, rows)])
    program = problem.compile()
    fitted = Conditioning.fit(program, program.families[0].rows(np.array([[0.1, 0.2], [0.7, 0.7]]))[0][:, 0])
    assert (fitted.scale == 1).all()
    solution = problem.solve(verbose=False)
    assert solution.certified, solution.message


@pytest.mark.parametrize("power", [2048.0, 4096.0, 9999.0])
def test_a_side_that_is_large_near_an_end_only_keeps_its_unit(power: float) -> None:
    """A sample sees t^4096 where it is 1e-26; its unit is that of its largest value."""
    t, x = lsip.Index("t", lsip.Interval(0, 1)), lsip.Variable(2, name="x")
    rows = lsip.forall(t, x[0] + x[1] * t >= t**power)
    solution = lsip.Problem(lsip.minimize(x[0] + x[1] / 2), [rows]).solve(verbose=False)
    assert solution.certified
    assert solution.value == pytest.approx(0.5, abs=1e-7)
