"""Vector-valued constraints, up to thousands of components that touch a few variables each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import lsip

from .entry import known

Array = NDArray[np.float64]


def scattered(n: int, low: float, high: float, seed: int = 0) -> Array:
    """Numbers between `low` and `high` in no visible order: multiples of the golden ratio, modulo one."""
    golden = (np.sqrt(5) - 1) / 2
    return low + (high - low) * (((np.arange(n) + 1 + 1000 * seed) * golden) % 1.0)


@known(
    1.0775072905,
    digits=12,
    tags=("vector", "smooth"),
    source="constructed",
    note="The k-th peak is 1/(ke), at t = 1/k: the harmonic number of 10 over e.",
)
def envelopes() -> lsip.Problem:
    """The smallest bounds above t exp(-kt) on [0, 2] for k from 1 to 10."""
    x = lsip.Variable(10, name="x")
    t = lsip.Index("t", lsip.Interval(0, 2))
    return lsip.Problem(lsip.minimize(x.sum()), [lsip.forall(t, x >= t * np.exp(-np.arange(1, 11) * t))])


def arches(n: int) -> lsip.Problem:
    """The cheapest piecewise linear function above n parabolic arches, its values at the joints the variables.

    The chord from p to q stays above an arch h^2 t(1 - t) exactly if sqrt(p) + sqrt(q) >= h. In the square roots u the problem
    is a convex quadratic program. Its data are chosen backwards from an optimal u and from multipliers of the arches.
    """
    u = scattered(n + 1, 0.5, 1.5)
    multipliers = scattered(n, 0.5, 1.5, seed=1)
    cost = (np.r_[0, multipliers] + np.r_[multipliers, 0]) / (2 * u)
    squares = (u[:-1] + u[1:]) ** 2
    x = lsip.Variable(n + 1, name="x")
    t = lsip.Index("t", lsip.Interval(0, 1))
    return lsip.Problem(
        lsip.minimize(cost @ x),
        [lsip.forall(t, x[:-1] * (1 - t) + x[1:] * t >= squares * (t * (1 - t)))],
    )


ARCHES = (
    "By construction, half the sum of multiplier times joint square roots over all arches; arch k is touched at "
    "t = u_k / (u_k + u_{k+1}). Each row has two entries."
)


@known(0.0, digits=12, tags=("large", "sparse", "vector", "n>=1000", "constructed"), source="constructed", note=ARCHES)
def arches_1000() -> lsip.Problem:
    """The cheapest piecewise linear function above 1000 parabolic arches."""
    return arches(1000)


@known(0.0, digits=12, tags=("large", "sparse", "vector", "n>=1000", "constructed"), source="constructed", note=ARCHES)
def arches_4000() -> lsip.Problem:
    """The cheapest piecewise linear function above 4000 parabolic arches."""
    return arches(4000)


def bilinear(corners: Any, s: Any, t: Any) -> Any:
    """Bilinear interpolation in every cell of a mesh, at the same place (s, t) of each."""
    west = corners[:-1, :-1] * (1 - s) + corners[1:, :-1] * s
    east = corners[:-1, 1:] * (1 - s) + corners[1:, 1:] * s
    return west * (1 - t) + east * t


def mesh_cost(multipliers: Array, s: Array, t: Array) -> Array:
    """What the joints cost when cell c presses with its multiplier at the place (s_c, t_c)."""
    cost = np.zeros(np.add(multipliers.shape, 1))
    cost[:-1, :-1] += multipliers * (1 - s) * (1 - t)
    cost[1:, :-1] += multipliers * s * (1 - t)
    cost[:-1, 1:] += multipliers * (1 - s) * t
    cost[1:, 1:] += multipliers * s * t
    return cost


@known(
    0.0,
    digits=12,
    tags=("large", "sparse", "vector", "several_indices", "2d", "n>=1000", "constructed"),
    source="constructed",
    note="By complementary slackness: in every cell the dome touches the given surface at one place, and the cost of the "
    "joints is what given multipliers exert there. Each row has four entries.",
)
def mesh_32() -> lsip.Problem:
    """The cheapest piecewise bilinear surface above 32 x 32 paraboloids, one in each cell."""
    cells = (32, 32)
    surface = scattered(33 * 33, 1, 2).reshape(33, 33)
    p, q = (scattered(32 * 32, 0.2, 0.8, seed).reshape(cells) for seed in (1, 2))
    multipliers = scattered(32 * 32, 0.5, 1.5, seed=3).reshape(cells)
    x = lsip.Variable((33, 33), name="x")
    s = lsip.Index("s", lsip.Interval(0, 1))
    t = lsip.Index("t", lsip.Interval(0, 1))
    domes = bilinear(surface, s, t) - 4 * ((s - p) ** 2 + (t - q) ** 2)
    return lsip.Problem(
        lsip.minimize((mesh_cost(multipliers, p, q) * x).sum()),
        [lsip.forall((s, t), bilinear(x, s, t) >= domes)],
    )
