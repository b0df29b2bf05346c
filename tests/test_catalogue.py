"""Every catalogue problem ends as it should: right status, right value, proven wherever a proof can exist."""

from __future__ import annotations

import numpy as np
import pytest

import lsip
from lsip import catalogue
from lsip.catalogue import Entry

from .checks import assert_certified, assert_feasible

TOL = 1e-8
# Its optimum is 1e-5 of its terms: a relative gap of 1e-8 would be 1e-13 of these, below what the LP solver resolves.
COARSER = {"reemtsen1_d7": 1e-6}

# Longer than about three seconds on one core.
SLOW = {
    "arches_1000",
    "cylinder_above",
    "ot_2d",
    "reemtsen1_d7",
    "reemtsen3_d9",
    "reemtsen4_d5",
    "reemtsen5_d2",
    "remez_lowpass_n60",
    "ring_1000",
    "shipping_100",
}


def parameters() -> list[object]:
    return [pytest.param(e, id=e.name, marks=[pytest.mark.slow] if e.name in SLOW else []) for e in catalogue.entries()]


@pytest.mark.parametrize("entry", parameters())
def test_catalogue(entry: Entry) -> None:
    problem = entry.build()
    solution = problem.solve(verbose=False, tol=COARSER.get(entry.name, TOL), time_limit=120.0)
    dimension = max(family.domain.dim for family in solution.program.families)
    check = {"infeasible": infeasible, "unbounded": unbounded, "gap": gap, "infimum": infimum, "optimal": optimal}
    check[entry.status](entry, problem, solution, dimension)
    if not (entry.status == "optimal" and solution.certified):  # assert_certified has verified the others
        solution.verify()


def within(value: float, entry: Entry) -> bool:
    """Whether a value is right to 1e-7 (1 + |value|), or to the digits that are known of it."""
    return abs(value - entry.value) <= max(1e-7, 10.0**-entry.digits) * (1 + abs(entry.value))


def assert_bounds_hold(entry: Entry, solution: lsip.Solution) -> None:
    doubt = max(1e-9, 2 * 10.0**-entry.digits) * (1 + abs(entry.value))
    assert solution.lower <= entry.value + doubt
    assert solution.upper >= entry.value - doubt


def optimal(entry: Entry, problem: lsip.Problem, solution: lsip.Solution, dimension: int) -> None:
    assert_bounds_hold(entry, solution)
    assert within(solution.value, entry), (solution.value, entry.value)
    provable = entry.slater and dimension <= 3
    if provable or solution.certified:
        assert_certified(problem, solution, solution.tol)
    else:
        assert solution.status in (
            lsip.Status.UNCERTIFIED,
            lsip.Status.NO_INTERIOR,
            lsip.Status.STALLED,
            lsip.Status.TIME_LIMIT,
        )


def infimum(entry: Entry, problem: lsip.Problem, solution: lsip.Solution, dimension: int) -> None:
    """Not attained, so that x runs away; but the value can be approached, and the bounds hold."""
    assert_bounds_hold(entry, solution)
    assert within(solution.value, entry) or not solution.certified
    if solution.certified:
        assert_feasible(problem.compile(), solution)


def gap(entry: Entry, problem: lsip.Problem, solution: lsip.Solution, dimension: int) -> None:
    """Relaxations tend to another value: whatever is claimed to be proven must be about the problem."""
    assert_bounds_hold(entry, solution)
    assert not solution.certified


def infeasible(entry: Entry, problem: lsip.Problem, solution: lsip.Solution, dimension: int) -> None:
    assert solution.status is lsip.Status.INFEASIBLE
    assert solution.certified
    assert np.isnan(solution.value)
    assert solution.certificate.support


def unbounded(entry: Entry, problem: lsip.Problem, solution: lsip.Solution, dimension: int) -> None:
    assert solution.status is lsip.Status.UNBOUNDED
    assert solution.certified
    assert solution.value == entry.value
    direction = solution.certificate.direction
    assert direction is not None
    assert solution.program.c @ direction < 0
    for f, family in enumerate(solution.program.families):
        drift = solution.program.violation(f, direction, scale=0.0).values(family.domain.sample(2000, seed=5))
        assert drift.max() <= 1e-11 * np.abs(direction).max()
