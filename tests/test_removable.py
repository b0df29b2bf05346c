"""Quotients that are defined where their denominator vanishes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import lsip
from lsip.expressions.tape import Tape

T = lsip.Index("t", lsip.Interval(-1, 1))

QUOTIENTS: list[tuple[Callable, float]] = [  # and what they are at t = 0
    (lambda t: np.sin(t) / t, 1.0),
    (lambda t: np.sin(3 * t) / t, 3.0),
    (lambda t: np.sin(-t / 3) / (2 * t), -1 / 6),
    (lambda t: (2**t - 1) / t, np.log(2)),
    (lambda t: (1.5**t - 1) / (2 * t), np.log(1.5) / 2),
    (lambda t: (np.exp(-2 * t) - 1) / t, -2.0),
    (lambda t: np.expm1(t / 3) / t, 1 / 3),
    (lambda t: (np.exp2(t) - 1) / t, np.log(2)),
]


@pytest.mark.parametrize(("quotient", "limit"), QUOTIENTS)
def test_quotients_are_smooth_where_both_vanish(quotient: Callable, limit: float) -> None:
    tape = Tape((quotient(T),), (T,))
    assert tape.values(np.zeros((1, 1)))[0, 0] == pytest.approx(limit, rel=1e-15)
    t = np.linspace(-1, 1, 100)[:, None]
    np.testing.assert_allclose(tape.values(t)[:, 0], quotient(t[:, 0]), rtol=1e-13)
    box = tape.enclose(np.array([[-1e-3]]), np.array([[1e-3]]))
    assert box.lo[0, 0] <= limit <= box.hi[0, 0]
    assert box.hi[0, 0] - box.lo[0, 0] <= 0.1
    slope = tape.gradients(np.array([[-0.1]]), np.array([[0.1]]))
    assert np.isfinite(slope.lo).all()
    assert np.isfinite(slope.hi).all()


def test_they_are_proven() -> None:
    z = lsip.Variable(name="z")
    solution = lsip.Problem(lsip.minimize(z), [lsip.forall(T, z >= np.sin(3 * T) / T)]).solve(verbose=False)
    assert solution.certified
    assert solution.value == pytest.approx(3)


def test_other_quotients_stay_what_they_are() -> None:
    away = lsip.Index("t", lsip.Interval(1, 2))
    kinds = {
        type(node).__name__ + getattr(getattr(node, "function", None), "name", "")
        for node in (np.sin(away) / away).nodes()
    }
    assert "Applysinc" not in kinds
    z = lsip.Variable(name="z")
    with pytest.raises(lsip.ModelError, match="not defined"):
        lsip.Problem(lsip.minimize(z), [lsip.forall(T, z >= np.sin(T + 1e-3) / T)]).solve(verbose=False)
