"""Remez's exchange of references: best approximations in one dimension without any linear program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lsip
from lsip import Exchange, Index, Interval, Problem, Status, Variable, forall, minimize

from .test_waves import lowpass

EXCHANGE = Exchange(oracle="branch-and-bound")


def fit(n: int, f: Callable[[Any], Any], basis: Callable[[Index], Any], lower: float = -1, upper: float = 1) -> Problem:
    x, e, t = Variable(n, name="x"), Variable(name="e"), Index("t", Interval(lower, upper))
    error = basis(t) @ x - f(t)
    return Problem(minimize(e), [forall(t, [error <= e, -e <= error])])


def powers(n: int) -> Callable[[Index], Any]:
    return lambda t: t ** np.arange(n)


def cosines(n: int) -> Callable[[Index], Any]:
    return lambda t: np.cos(np.arange(n) * t)


FITS: dict[str, Callable[[], Problem]] = {
    "exp by powers": lambda: fit(6, np.exp, powers(6)),
    "exp by cosines": lambda: fit(30, np.exp, cosines(30), 0, np.pi),
    "an even function, whose error is even": lambda: fit(9, lambda t: 1 / (1 + 25 * t * t), powers(9)),
    "an even function by an odd degree": lambda: fit(8, lambda t: 1 / (1 + 25 * t * t), powers(8)),
    "a weight": lambda: weighted(),
    "a low-pass": lambda: lowpass(25)[0],
    "in other units": lambda: fit(5, lambda t: 1e-6 * np.exp(t / 1e3), lambda t: (t / 1e3) ** np.arange(5), -1e3, 1e3),
}


def weighted() -> Problem:
    """A relative error, which depends on the index."""
    x, e, t = Variable(5, name="x"), Variable(name="e"), Index("t", Interval(0, 2))
    error = t ** np.arange(5) @ x - np.exp(t)
    return Problem(minimize(e), [forall(t, [error <= np.exp(t) * e, -np.exp(t) * e <= error])])


@pytest.mark.parametrize("name", FITS)
def test_one_step_ends_the_solve(name: str) -> None:
    """With the answer of the exchange that solves linear programs, and a proof that can be checked."""
    found, other = FITS[name]().solve(verbose=False), FITS[name]().solve(method=EXCHANGE, verbose=False)
    assert found.status is Status.OPTIMAL
    assert found.certified
    assert len(found.history) == 1 < len(other.history)
    assert found.lower <= other.upper
    assert other.lower <= found.upper
    found.verify()


@pytest.mark.parametrize("taps", [101, 201, 301])
def test_long_filters_are_certified(taps: int) -> None:
    problem, a, delta = lowpass(taps // 2 + 1)
    found = problem.solve(tol=1e-6, verbose=False)
    assert found.certified
    assert len(found.history) == 1
    w = np.concatenate([np.linspace(0, 1.2, 4001), np.linspace(1.2 + 10 / (taps // 2 + 6), np.pi, 4001)])
    error = np.cos(np.outer(w, np.arange(taps // 2 + 1))) @ found[a] - (w <= 1.2)
    assert np.abs(error).max() <= found[delta] + 1e-13


def test_what_is_no_such_problem_is_left_to_the_exchange() -> None:
    """Functions that are no Chebyshev system, kinks, rows without a partner, bounds on coefficients."""
    x, e, t = Variable(3, name="x"), Variable(name="e"), Index("t", Interval(-1, 1))
    odd = np.stack([np.sin(9 * t), t**2, t**5]) @ x - np.exp(t)
    kinked = t ** np.arange(3) @ x - abs(t - 0.3)
    smooth = t ** np.arange(3) @ x - np.exp(t)
    bounded = Variable(3, name="b", lower=-0.5, upper=0.5)
    models = [
        [forall(t, [odd <= e, -e <= odd])],
        [forall(t, [kinked <= e, -e <= kinked])],
        [forall(t, [smooth <= e, -e <= smooth, x[0] * t <= 2])],
        [forall(t, [smooth <= e, -e <= 2 * smooth])],
        [forall(t, [smooth <= e, -e <= smooth]), x[0] + x[1] <= 1.5],
    ]
    free = t ** np.arange(3) @ bounded - np.exp(t)
    models.append([forall(t, [free <= e, -e <= free])])
    for rows in models:
        found, other = (
            Problem(minimize(e), rows).solve(**options, verbose=False) for options in ({}, {"method": EXCHANGE})
        )
        assert found.certified
        assert abs(found.value - other.value) <= 1e-7 * abs(other.value)


def test_solving_again_begins_with_the_reference() -> None:
    p, x, e, t = (
        lsip.Parameter(name="p", value=1.0),
        Variable(5, name="x"),
        Variable(name="e"),
        Index("t", Interval(0, 1)),
    )
    error = t ** np.arange(5) @ x - np.exp(p * t)
    problem = Problem(minimize(e), [forall(t, [error <= e, -e <= error])])
    first = problem.solve(verbose=False)
    p.value = 1.01
    again = problem.solve(warm_start=first, verbose=False)
    anew = problem.solve(verbose=False)
    assert first.certified
    assert again.certified
    assert abs(again.value - anew.value) <= 1e-6 * anew.value


def test_a_time_limit_is_kept() -> None:
    found = lowpass(150)[0].solve(time_limit=0.01, verbose=False)
    assert found.status in (Status.TIME_LIMIT, Status.OPTIMAL)
    assert found.seconds < 2


def test_references_without_a_solution_are_passed_over_silently() -> None:
    """B-splines of one side vanish at all points of a reference on the other: its equations are singular."""
    t = lsip.Index("t", lsip.Interval(0, 1))
    knots = np.concatenate([[0] * 3, np.linspace(0, 1, 18), [1] * 3])
    c, e = lsip.Variable(20, name="c"), lsip.Variable(name="e")
    residual = lsip.bases.bspline(t, knots) @ c - np.exp(t) * np.sin(6 * t)
    solution = lsip.Problem(lsip.minimize(e), [lsip.forall(t, np.abs(residual) <= e)]).solve(verbose=False)
    assert solution.certified
