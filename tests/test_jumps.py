"""Rows that jump at an edge inside of the index set: the worst points sit on the edge, where doubles tell no side."""

from __future__ import annotations

import numpy as np
import pytest

import lsip

from .checks import assert_certified


@pytest.mark.parametrize("seed", range(12))
def test_rows_that_jump_at_a_slanted_edge_are_certified(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(1, 3)), int(rng.integers(2, 5))
    y = lsip.Index("y", lsip.Box(np.full(m, -0.3), np.full(m, rng.uniform(0.5, 2))))
    a, level, weights = rng.uniform(-2, 2, (n, m)), rng.uniform(0.1, 0.4), rng.uniform(0.5, 2, m)
    inside = (weights * y).sum() * rng.uniform(0.5, 1) <= level
    x = lsip.Variable(n, name="x", lower=-3, upper=3)
    wanted = np.where(inside, 1 + (y**2).sum(), 0.2 * np.cos(y[0]))
    rows = lsip.forall(y, (np.sin(a @ y) + 1.5) @ x >= wanted)
    problem = lsip.Problem(lsip.minimize(rng.uniform(0.5, 1, n) @ x), [rows])
    solution = problem.solve(verbose=False, max_iterations=200)
    assert_certified(problem, solution, 1e-7)


def test_points_beside_a_jump_have_the_same_row() -> None:
    """At 0.568877551 the comparison 1.96 t - 0.99 < 0.125 cannot be decided in doubles."""
    t, x = lsip.Index("t", lsip.Interval(0, 1)), lsip.Variable(name="x")
    row = x >= np.where(1.96 * t - 0.99 <= 0.125, 1 + t, 0.0)
    rows = lsip.Problem(lsip.minimize(x), [lsip.forall(t, row)]).compile().families[0].source
    on, first = np.array([[1.115 / 1.96]]), np.array([0])
    moved = rows.beside_jumps(on, first)
    assert moved[0, 0] != on[0, 0]
    assert moved == pytest.approx(on, rel=1e-10)
    assert np.concatenate(rows.chosen(moved, first), axis=None) == pytest.approx(
        np.concatenate(rows.chosen(on, first), axis=None), rel=1e-9
    )
    box = rows.enclosed(moved, moved, first)
    assert (box.hi - box.lo).max() < 1e-12
    smooth = np.array([[0.25]])
    assert (rows.beside_jumps(smooth, first) == smooth).all()
