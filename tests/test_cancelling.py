"""Models whose terms cancel, as powers of years do: certified as far as doubles reach, and a sentence beyond that."""

from __future__ import annotations

import numpy as np
import pytest

import lsip


def fit(low: float, high: float, degree: int, centred: bool = False) -> lsip.Problem:
    """The best approximation of a curve with a kink by powers of the index, as it is or between -1 and 1."""
    t = lsip.Index("t", lsip.Interval(low, high))
    c, h = lsip.Variable(degree + 1, name="c"), lsip.Variable(name="h")
    share = (t - low) / (high - low)
    base = 2 * share - 1 if centred else t
    error = (base ** np.arange(degree + 1)) @ c - (np.sin(4 * share) + np.abs(share - 0.3))
    return lsip.Problem(lsip.minimize(h), [lsip.forall(t, [error <= h, -error <= h])])


@pytest.mark.parametrize(
    ("low", "high", "degree"), [(1990, 2020, 3), (1900, 2000, 4), (273, 373, 5), (273, 373, 6), (20, 21, 4)]
)
def test_fits_far_from_zero_are_certified(low: float, high: float, degree: int) -> None:
    solution, exact = (
        fit(low, high, degree).solve(verbose=False),
        fit(low, high, degree, centred=True).solve(verbose=False),
    )
    assert solution.certified, solution.message
    assert solution.lower <= exact.upper
    assert exact.lower <= solution.upper
    assert solution.upper - solution.lower <= 1e-4 * exact.value
    assert len(solution.history) <= 12
    solution.verify()


@pytest.mark.parametrize(("low", "high", "degree"), [(1990, 2020, 8), (20, 21, 8), (1990, 2020, 5)])
def test_where_doubles_do_not_reach_the_answer_says_what_to_write(low: float, high: float, degree: int) -> None:
    solution, exact = (
        fit(low, high, degree).solve(verbose=False),
        fit(low, high, degree, centred=True).solve(verbose=False),
    )
    assert solution.status is lsip.Status.STALLED
    assert f"Write it with (t - {(low + high) / 2:.6g}) / {(high - low) / 2:.6g} in place of t." in solution.message
    assert solution.upper >= exact.lower
    trusts = bool(solution.certificate.trusts)
    assert trusts or solution.lower <= exact.upper
    assert ("the bounds are valid on a condition" in solution.message) is trusts
    assert exact.certified


def test_an_answer_is_optimal_only_where_little_of_the_value_is_open() -> None:
    """Rounding of rows is no excuse for more than 1e-4 of it."""
    solution = fit(1990, 2020, 5).solve(verbose=False)
    assert solution.upper - solution.lower > 1e-4 * solution.value
    assert not solution.certified
    assert solution.gap > solution.tol


def test_an_absolute_gap_that_was_asked_for_is_kept() -> None:
    solution = fit(20, 21, 4).solve(atol=1e-12, verbose=False)
    assert solution.status is not lsip.Status.OPTIMAL or solution.upper - solution.lower <= max(
        1e-12, 1e-8 * solution.value
    )
    loose = fit(20, 21, 4).solve(atol=1e-5, verbose=False)
    assert loose.certified
    assert loose.upper - loose.lower <= 1e-5
