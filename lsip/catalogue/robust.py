"""Robust linear programs: constraints that hold for every value of their uncertain data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..domains import Ball, Box, Polytope
from ..expressions import Index, Variable
from ..model import Problem, forall, maximize
from .bases import sphere
from .entry import known

BEN_TAL = "Ben-Tal & Nemirovski (1999)"


def ellipsoidal_row(centre: NDArray[np.float64], axes: NDArray[np.float64], angles: Box) -> Problem:
    """The largest sum of variables under one row that ranges over an ellipsoid, its surface given by angles."""
    x = Variable(len(centre), name="x")
    y = Index("y", angles)
    return Problem(maximize(x.sum()), [forall(y, (centre + axes @ sphere(y)) @ x <= 1)])


@known(
    6.893663862472569,
    digits=10,
    tags=("robust", "trig", "2d", "unbounded_start"),
    source=BEN_TAL,
    note="The gauge of the ellipsoid at (1, 1, 1), a root of a quadratic.",
)
def robust_ellipsoid3() -> Problem:
    """A robust program in R^3 with one ellipsoidal row."""
    centre = np.array([0.2, 0.1, -0.1])
    axes = np.array([[1, 0.2, 0], [0, 0.5, 0.1], [0.1, 0, 0.25]])
    return ellipsoidal_row(centre, axes, Box([0, 0], [np.pi, 2 * np.pi]))


@known(
    5.414703505233641,
    digits=10,
    tags=("robust", "trig", "3d", "badly_scaled"),
    source=BEN_TAL,
    note="The gauge of the ellipsoid at (1, 1, 1, 1), a root of a quadratic.",
)
def robust_ellipsoid4() -> Problem:
    """A robust program in R^4 with one ellipsoidal row."""
    centre = np.array([0.1, -0.1, 0.05, 0.02])
    axes = np.diag([1, 0.5, 0.25, 0.1]) + 0.05
    return ellipsoidal_row(centre, axes, Box([0, 0, 0], [np.pi, np.pi, 2 * np.pi]))


@known(
    1.9347596767745472,
    digits=12,
    tags=("robust", "trig", "2d", "multi_family", "constructed"),
    source=BEN_TAL,
    note="Checked by solving the equivalent second-order cone program.",
)
def robust_lp10() -> Problem:
    """A robust program with 10 nonnegative variables and three ellipsoidal rows."""
    random = np.random.RandomState(7)  # the legacy generator, because its stream never changes
    x = Variable(10, name="x", lower=0)
    y = Index("y", Box([0, 0], [np.pi, 2 * np.pi]))
    rows = []
    for bound in (1, 2, 3):
        centre = random.uniform(0.5, 1.5, 10)
        axes = random.uniform(-0.4, 0.4, (10, 3))
        rows.append((centre + axes @ sphere(y)) @ x <= bound)
    return Problem(maximize(random.uniform(0.5, 1.5, 10) @ x), [forall(y, rows)])


@known(
    0.7387961250362586,
    digits=12,
    tags=("robust", "2d", "ball"),
    source=BEN_TAL,
    note="4 / (4 + sqrt(2)), with equal variables by symmetry.",
)
def robust_disc() -> Problem:
    """A robust program with one row whose two coefficients range over a disc."""
    x = Variable(2, name="x")
    u = Index("u", Ball([0, 0], 1))
    return Problem(maximize(x.sum()), [forall(u, (1 + u / 2) @ x <= 1)])


@known(
    0.6666666666666666,
    digits=12,
    tags=("robust", "3d", "polytope", "degenerate"),
    source="Bertsimas & Sim (2004)",
    note="2/3, with equal variables by symmetry.",
)
def robust_budget() -> Problem:
    """A robust program whose three coefficients may grow within a budget of 3/2."""
    x = Variable(3, name="x", lower=0)
    budget = Polytope(np.vstack([np.eye(3), -np.eye(3), np.ones((1, 3))]), np.array([1, 1, 1, 0, 0, 0, 1.5]))
    u = Index("u", budget)
    return Problem(maximize(x.sum()), [forall(u, (1 + u) @ x <= 1)])


@known(
    1.183503419072274,
    digits=12,
    tags=("robust", "2d", "union"),
    source="constructed",
    note="The gauge of the convex hull at (3, 1): 5 / (3 + sqrt(3/2)), where the ray meets the disc.",
)
def robust_union() -> Problem:
    """A robust program whose row ranges over a square and a disc beside it."""
    x = Variable(2, name="x")
    u = Index("u", Box([-1, -1], [1, 1]) | Ball([2, 0], 1))
    return Problem(maximize(3 * x[0] + x[1]), [forall(u, u @ x <= 1)])
