"""Index sets that are not boxes: balls, simplices, polytopes, finite sets, their products."""

from __future__ import annotations

import numpy as np

from ..domains import Ball, Finite, Interval, Polytope, Simplex
from ..expressions import Index, Variable
from ..model import Problem, forall, maximize, minimize
from .entry import known


def triangle() -> Polytope:
    """The triangle with the corners (0, 0), (1, 0) and (0, 1)."""
    return Polytope(np.array([[-1, 0], [0, -1], [1, 1]]), np.array([0, 0, 1]))


@known(
    1.8512229878982824,
    digits=12,
    tags=("L1", "2d", "polytope", "smooth"),
    source="convexity",
    note="The plane through the values at the corners is optimal: (1 + e + e^2) / 6.",
)
def triangle_above() -> Problem:
    """The plane above exp(s + 2t) on a triangle with the smallest integral."""
    x = Variable(3, name="x")
    y = Index("y", triangle())
    plane = x[0] + y @ x[1:]
    return Problem(minimize((x[0] + x[1:].sum() / 3) / 2), [forall(y, plane >= np.exp(y[0] + 2 * y[1]))])


@known(
    1.3591409142295225,
    digits=12,
    tags=("L1", "2d", "polytope", "smooth"),
    source="Jensen's inequality",
    note="The tangent at the centroid is optimal: e/2.",
)
def triangle_below() -> Problem:
    """The plane below exp(s + 2t) on a triangle with the largest integral."""
    x = Variable(3, name="x")
    y = Index("y", triangle())
    plane = x[0] + y @ x[1:]
    return Problem(maximize((x[0] + x[1:].sum() / 3) / 2), [forall(y, plane <= np.exp(y[0] + 2 * y[1]))])


@known(
    1.6487212707001282,
    digits=12,
    tags=("3d", "ball", "smooth"),
    source="Jensen's inequality",
    note="The tangent at the centre is optimal: exp(1/2).",
)
def ball_below() -> Problem:
    """The affine function below a convex one on a ball of R^3 with the largest mean."""
    centre = np.array([0.5, 0.25, -0.25])
    x = Variable(4, name="x")
    y = Index("y", Ball(centre, 1))
    convex = np.exp(y.sum()) + ((y - centre) ** 2).sum()
    return Problem(
        maximize(x[0] + centre @ x[1:]),
        [forall(y, x[0] + y @ x[1:] <= convex)],
    )


@known(
    1.0342035083070373,
    digits=12,
    tags=("3d", "simplex", "smooth"),
    source="Gibbs' inequality, shifted away from the boundary",
    note="The tangent at the weights is optimal, so that the value is that of the concave function there.",
)
def simplex_entropy() -> Problem:
    """The linear function above an entropy on the simplex with the smallest mean under given weights."""
    weights = np.array([0.5, 0.3, 0.2])
    x = Variable(3, name="x")
    y = Index("y", Simplex(3))
    entropy = -((y + 0.1) * np.log(y + 0.1)).sum()
    return Problem(minimize(weights @ x), [forall(y, y @ x >= entropy)])


def stability_number(vertices: int, edges: list[tuple[int, int]]) -> Problem:
    """The size of the largest independent set of a graph, as a copositive program."""
    size = Variable(name="size")
    x = Variable(len(edges), name="x")
    y = Index("y", Simplex(vertices))
    tails, heads = np.array(edges).T
    # On the simplex the square of the sum is 1.
    return Problem(
        minimize(size),
        [forall(y, size * (y**2).sum() + (2 * y[tails] * y[heads]) @ x >= 1)],
    )


@known(
    2.0,
    digits=12,
    tags=("3d", "simplex", "copositive", "degenerate"),
    source="Motzkin & Straus (1965); de Klerk & Pasechnik (2002)",
    note="The two ends of the path are independent: 2.",
)
def copositive_path3() -> Problem:
    """The stability number of a path with three vertices."""
    return stability_number(3, [(0, 1), (1, 2)])


@known(
    2.0,
    digits=12,
    tags=("5d", "simplex", "copositive", "degenerate", "hard"),
    source="Motzkin & Straus (1965); de Klerk & Pasechnik (2002)",
    note="2, where the sum-of-squares bound of Lovasz gives sqrt(5).",
)
def copositive_cycle5() -> Problem:
    """The stability number of the pentagon."""
    return stability_number(5, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)])


@known(
    3.847589487197945,
    digits=12,
    tags=("L1", "2d", "finite", "product"),
    source="convexity",
    note="The chord of the largest end values is optimal: (1 + e^3/3) / 2.",
)
def scenarios_above() -> Problem:
    """The line above exp(kt)/k on [0, 1] in three scenarios k with the smallest integral."""
    x = Variable(2, name="x")
    y = Index("y", Finite([[1], [2], [3]]) * Interval(0, 1))
    k, t = y[0], y[1]
    return Problem(minimize(x[0] + x[1] / 2), [forall(y, x[0] + x[1] * t >= np.exp(k * t) / k)])


@known(
    2.3591409142295223,
    digits=12,
    tags=("L1", "3d", "ball", "product", "curve_active", "degenerate"),
    source="convexity",
    note="A sum of two chords is optimal: (1 + e)/2 + 1/2. It touches along both rims and at both centres.",
)
def cylinder_above() -> Problem:
    """The combination of 1, height and squared radius above a function on a cylinder with the smallest mean."""
    x = Variable(3, name="x")
    y = Index("y", Ball([0, 0], 1) * Interval(0, 1))
    square, height = y[0] ** 2 + y[1] ** 2, y[2]
    return Problem(
        minimize(x[0] + x[1] / 2 + x[2] / 2),
        [forall(y, x[0] + x[1] * height + x[2] * square >= np.exp(height) + square**2)],
    )
