"""Rows that are bounded as a whole: quadratics over balls, and norms that are cones at every index point.

Quadratics are planted. A norm of what is affine in the index is convex, so it is largest at a vertex: what Clarabel
finds for the norms at all vertices is the optimum, up to what a cone program in floats gives.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

import lsip

from .draw import Rng, ball_set, short
from .formulas import Formula, apply, coordinate, number, times, total
from .hard_pieces import CLOSE
from .models import Model, Truth
from .planted import Plan, planted
from .planted import slack as any_slack
from .sets import Ball, IndexSet


def quadratics(rng: Rng) -> Model:
    """Over balls of up to five coordinates; rows touch at a point, or along the whole sphere."""
    return planted(rng, Plan(lambda rng: ball_set(rng, int(rng.integers(2, 6))), columns=_columns, slack=_slack))


def _columns(rng: Rng, over: IndexSet, n: int) -> list[Formula]:
    return [number(1.0), *(_quadratic(rng, over.dim) for _ in range(n - 1))]


def _quadratic(rng: Rng, m: int) -> Formula:
    pairs = [(i, j) for i in range(m) for j in range(i + 1)]
    some = [pairs[k] for k in rng.choice(len(pairs), int(rng.integers(1, len(pairs) + 1)), replace=False)]
    terms = [times(short(rng.normal()), coordinate(i) * coordinate(j)) for i, j in some]
    return total([*terms, *(times(short(rng.normal()), coordinate(i)) for i in range(m) if rng.random() < 0.4)])


def _slack(rng: Rng, over: IndexSet, points: list[Any]) -> Formula:
    assert isinstance(over, Ball)
    on_sphere = [
        sum((v - Fraction(c)) ** 2 for v, c in zip(p, over.centre, strict=True)) == Fraction(over.radius) ** 2
        for p in points
    ]
    if points and all(on_sphere) and rng.random() < 0.7:
        offset = total([apply("square", coordinate(j) - c) for j, c in enumerate(over.centre)])
        return times(short(10 ** rng.uniform(-1, 1)), over.radius**2 - offset)
    if len(points) != 1:
        return any_slack(rng, over, points)
    square = total([apply("square", coordinate(j) - float(v)) for j, v in enumerate(points[0])])
    return times(short(10 ** rng.uniform(-1, 1)), square)


def norms(rng: Rng) -> Model:
    """Minimise over a box the largest norm of residuals whose data move within a box; both have small numbers."""
    import cvxpy as cp

    n, m, size = int(rng.integers(1, 4)), int(rng.integers(1, 4)), int(rng.integers(3, 7))
    A = rng.integers(-8, 9, (m + 1, size, n)) / 4.0
    b = rng.integers(-8, 9, (m + 1, size)) / 4.0
    if rng.random() < 0.3:  # residuals that vanish somewhere: the optimum is zero
        b[:] = A @ rng.integers(-4, 5, n)
    x = cp.Variable(n)
    at = [np.append(1.0, y) for y in product((-1.0, 1.0), repeat=m)]
    worst = cp.maximum(*(cp.norm(np.tensordot(y, A, 1) @ x - y @ b) for y in at))
    value = Fraction(float(cp.Problem(cp.Minimize(worst), [x >= -4, x <= 4]).solve(solver=cp.CLARABEL)))
    room = CLOSE * (1 + abs(value))

    def written(model: Model, options: dict[str, Any]) -> Any:
        x = lsip.Variable(n + 1, name="x", lower=np.array(model.lower), upper=np.array(model.upper))
        y = lsip.Index("y", lsip.Box([-1.0] * m, [1.0] * m))
        residual = A[0] @ x[:n] - b[0] + sum(y[i] * (A[i + 1] @ x[:n] - b[i + 1]) for i in range(m))
        row = lsip.forall(y, np.linalg.norm(residual) <= x[n])
        return lsip.Problem(lsip.minimize(x[n]), [row]).solve(verbose=False, **options)

    c, lower, upper = (*([0.0] * n), 1.0), (*([-4.0] * n), -1e4), (*([4.0] * n), 1e4)
    truth = Truth(feasible=True, least=value - room, most=value + room)
    return Model(c, lower, upper, (), (), truth=truth, written=written)
