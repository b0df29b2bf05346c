"""Problems over every kind of index set, whose optimum is known in closed form: solved, certified, and checked."""

from __future__ import annotations

import numpy as np
import pytest

import lsip


def largest(domain: lsip.Domain, formula, **options) -> lsip.Solution:
    """The largest value of a formula over a set, as the least number that is nowhere below it."""
    z, y = lsip.Variable(name="z"), lsip.Index("y", domain)
    return lsip.Problem(lsip.minimize(z), [lsip.forall(y, z >= formula(y))]).solve(verbose=False, **options)


def assert_known(solution: lsip.Solution, value: float, tol: float = 1e-8) -> None:
    assert solution.certified, solution.status
    assert solution.value == pytest.approx(value, abs=tol * max(1, abs(value)))
    assert solution.lower - 1e-12 <= value <= solution.upper + 1e-12, "the bounds hold the optimum"
    solution.verify()


def test_an_ellipse() -> None:
    Q = np.array([[2, 0.5], [0.5, 1]])
    d = np.array([1, 2.0])
    ellipse = lsip.Ellipsoid([1, 2], Q)
    assert_known(largest(ellipse, lambda y: y @ d), 5 + np.sqrt(d @ Q @ d))
    assert_known(largest(ellipse, lambda y: ((y - [1, 2]) ** 2).sum()), np.linalg.eigvalsh(Q)[-1])


def test_an_ellipsoid_in_three_dimensions() -> None:
    Q = np.array([[2, 0.5, 0], [0.5, 1, 0.1], [0, 0.1, 3]])
    assert_known(largest(lsip.Ellipsoid([0, 0, 0], Q), lambda y: (y**2).sum()), np.linalg.eigvalsh(Q)[-1])


def test_a_hull_of_points() -> None:
    corners = np.array([[0.1, 0.2], [0.7, 0.3], [0.4, 0.9], [0.4, 0.4]])
    hull = lsip.Polytope.from_vertices(corners)
    assert_known(largest(hull, lambda y: y @ [3.0, 1.0]), (corners @ [3, 1]).max())
    assert_known(largest(hull, lambda y: np.exp(y[0] + y[1])), np.exp(1.3))


def test_a_ball_in_a_box() -> None:
    quarter = lsip.Ball([0, 0], 1) & lsip.Box([0, 0], [1, 0.6])
    assert_known(largest(quarter, lambda y: y[0] + 2 * y[1]), 0.8 + 1.2)  # at (0.8, 0.6), where both end
    assert_known(largest(quarter, lambda y: y[0] * y[1]), 0.48)


def test_a_ball_in_a_box_in_many_dimensions() -> None:
    part = lsip.Ball(np.zeros(12), 2) & lsip.Box(np.zeros(12), np.full(12, 0.5))
    d = np.arange(1.0, 13)
    # All twelve at 0.5 spend 3 of the squared radius 4: the ball is slack.
    assert_known(largest(part, lambda y: y @ d), 0.5 * d.sum())
    tight = lsip.Ball(np.zeros(12), 1) & lsip.Box(np.zeros(12), np.full(12, 0.9))
    assert_known(largest(tight, lambda y: y @ d), np.linalg.norm(d))
    tight = lsip.Ball([0, 0, 0], 1) & lsip.Box([0, 0, 0], [1, 1, 0.6])
    assert_known(largest(tight, lambda y: y @ [3.0, 4.0, 100.0]), 0.8 * 5 + 60)


def test_a_flat_set_meets_a_ball() -> None:
    centre = np.full(3, 1 / 3)
    lens = lsip.Simplex(3) & lsip.Ball([1 / 3, 1 / 3, 1 / 3], 0.25)
    assert_known(largest(lens, lambda y: y[0]), 1 / 3 + 0.25 * np.sqrt(2 / 3))
    assert_known(
        largest(lens, lambda y: ((y - centre) ** 2).sum() + y[0] ** 3), 0.0625 + (1 / 3 + 0.25 * np.sqrt(2 / 3)) ** 3
    )
