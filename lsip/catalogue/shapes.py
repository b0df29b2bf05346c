"""Index sets that are not boxes: balls, simplices, polytopes, finite sets, their products."""

from __future__ import annotations

import numpy as np

import lsip

from .entry import known

TRIANGLE = (np.array([[-1, 0], [0, -1], [1, 1]]), np.array([0, 0, 1]))


@known(
    1.8512229878982824,
    digits=12,
    tags=("L1", "2d", "polytope", "smooth"),
    source="convexity",
    note="The plane through the values at the corners is optimal: (1 + e + e^2) / 6.",
)
def triangle_above() -> lsip.Problem:
    """The plane above exp(s + 2t) on a triangle with the smallest integral."""
    x = lsip.Variable(3, name="x")
    y = lsip.Index("y", lsip.Polytope(*TRIANGLE))
    plane = x[0] + y @ x[1:]
    return lsip.Problem(lsip.minimize((x[0] + x[1:].sum() / 3) / 2), [lsip.forall(y, plane >= np.exp(y[0] + 2 * y[1]))])


@known(
    1.3591409142295225,
    digits=12,
    tags=("L1", "2d", "polytope", "smooth"),
    source="Jensen's inequality",
    note="The tangent at the centroid is optimal: e/2.",
)
def triangle_below() -> lsip.Problem:
    """The plane below exp(s + 2t) on a triangle with the largest integral."""
    x = lsip.Variable(3, name="x")
    y = lsip.Index("y", lsip.Polytope(*TRIANGLE))
    plane = x[0] + y @ x[1:]
    return lsip.Problem(lsip.maximize((x[0] + x[1:].sum() / 3) / 2), [lsip.forall(y, plane <= np.exp(y[0] + 2 * y[1]))])


@known(
    1.6487212707001282,
    digits=12,
    tags=("3d", "ball", "smooth"),
    source="Jensen's inequality",
    note="The tangent at the centre is optimal: exp(1/2).",
)
def ball_below() -> lsip.Problem:
    """The affine function below a convex one on a ball of R^3 with the largest mean."""
    centre = np.array([0.5, 0.25, -0.25])
    x = lsip.Variable(4, name="x")
    y = lsip.Index("y", lsip.Ball(centre, 1))
    convex = np.exp(y.sum()) + ((y - centre) ** 2).sum()
    return lsip.Problem(
        lsip.maximize(x[0] + centre @ x[1:]),
        [lsip.forall(y, x[0] + y @ x[1:] <= convex)],
    )


@known(
    1.0342035083070373,
    digits=12,
    tags=("3d", "simplex", "smooth"),
    source="Gibbs' inequality, shifted away from the boundary",
    note="The tangent at the weights is optimal, so that the value is that of the concave function there.",
)
def simplex_entropy() -> lsip.Problem:
    """The linear function above an entropy on the simplex with the smallest mean under given weights."""
    weights = np.array([0.5, 0.3, 0.2])
    x = lsip.Variable(3, name="x")
    y = lsip.Index("y", lsip.Simplex(3))
    entropy = -((y + 0.1) * np.log(y + 0.1)).sum()
    return lsip.Problem(lsip.minimize(weights @ x), [lsip.forall(y, y @ x >= entropy)])


def stability_number(vertices: int, edges: list[tuple[int, int]]) -> lsip.Problem:
    """The size of the largest independent set of a graph, as a copositive program."""
    size = lsip.Variable(name="size")
    x = lsip.Variable(len(edges), name="x")
    y = lsip.Index("y", lsip.Simplex(vertices))
    tails, heads = np.array(edges).T
    # On the simplex the square of the sum is 1.
    return lsip.Problem(
        lsip.minimize(size),
        [lsip.forall(y, size * (y**2).sum() + (2 * y[tails] * y[heads]) @ x >= 1)],
    )


@known(
    2.0,
    digits=12,
    tags=("3d", "simplex", "copositive", "degenerate"),
    source="Motzkin & Straus (1965); de Klerk & Pasechnik (2002)",
    note="The two ends of the path are independent: 2.",
)
def copositive_path3() -> lsip.Problem:
    """The stability number of a path with three vertices."""
    return stability_number(3, [(0, 1), (1, 2)])


@known(
    2.0,
    digits=12,
    tags=("5d", "simplex", "copositive", "degenerate", "hard"),
    source="Motzkin & Straus (1965); de Klerk & Pasechnik (2002)",
    note="2, where the sum-of-squares bound of Lovasz gives sqrt(5).",
)
def copositive_cycle5() -> lsip.Problem:
    """The stability number of the pentagon."""
    return stability_number(5, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)])


@known(
    3.847589487197945,
    digits=12,
    tags=("L1", "2d", "finite", "product"),
    source="convexity",
    note="The chord of the largest end values is optimal: (1 + e^3/3) / 2.",
)
def scenarios_above() -> lsip.Problem:
    """The line above exp(kt)/k on [0, 1] in three scenarios k with the smallest integral."""
    x = lsip.Variable(2, name="x")
    y = lsip.Index("y", lsip.Finite([[1], [2], [3]]) * lsip.Interval(0, 1))
    k, t = y[0], y[1]
    return lsip.Problem(lsip.minimize(x[0] + x[1] / 2), [lsip.forall(y, x[0] + x[1] * t >= np.exp(k * t) / k)])


@known(
    2.3591409142295223,
    digits=12,
    tags=("L1", "3d", "ball", "product", "curve_active", "degenerate"),
    source="convexity",
    note="A sum of two chords is optimal: (1 + e)/2 + 1/2. It touches along both rims and at both centres.",
)
def cylinder_above() -> lsip.Problem:
    """The combination of 1, height and squared radius above a function on a cylinder with the smallest mean."""
    x = lsip.Variable(3, name="x")
    y = lsip.Index("y", lsip.Ball([0, 0], 1) * lsip.Interval(0, 1))
    square, height = y[0] ** 2 + y[1] ** 2, y[2]
    return lsip.Problem(
        lsip.minimize(x[0] + x[1] / 2 + x[2] / 2),
        [lsip.forall(y, x[0] + x[1] * height + x[2] * square >= np.exp(height) + square**2)],
    )
