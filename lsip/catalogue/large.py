"""Vector-valued constraints, up to thousands of components that touch a few variables each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..domains import Interval
from ..expressions import Index, Variable
from ..model import Problem, forall, minimize
from .entry import known

Array = NDArray[np.float64]


def scattered(n: int, low: float, high: float, seed: int = 0) -> Array:
    """Numbers between `low` and `high` in no visible order: multiples of the golden ratio, modulo one."""
    multiples = (np.arange(n) + 1 + 1000 * seed) * ((np.sqrt(5.0) - 1) / 2)
    return np.asarray(low + (high - low) * (multiples % 1.0), dtype=np.float64)


@known(
    1.0775072044787364,
    digits=12,
    tags=("vector", "smooth"),
    source="constructed",
    note="The k-th peak is 1/(ke), at t = 1/k: the harmonic number of 10 over e.",
)
def envelopes() -> Problem:
    """The smallest bounds above t exp(-kt) on [0, 2] for k from 1 to 10."""
    x = Variable(10, name="x")
    t = Index("t", Interval(0, 2))
    return Problem(minimize(x.sum()), [forall(t, x >= t * np.exp(-np.arange(1, 11) * t))])


def arches(n: int) -> Problem:
    """The cheapest piecewise linear function above n parabolic arches, its values at the joints the variables.

    The chord from p to q stays above an arch h^2 t(1 - t) exactly if sqrt(p) + sqrt(q) >= h. In the square roots u the
    problem is a convex quadratic program. Its data are chosen backwards from an optimal u and the arches' multipliers.
    """
    u = scattered(n + 1, 0.5, 1.5)
    multipliers = scattered(n, 0.5, 1.5, seed=1)
    cost = (np.r_[0, multipliers] + np.r_[multipliers, 0]) / (2 * u)
    squares = (u[:-1] + u[1:]) ** 2
    x = Variable(n + 1, name="x")
    t = Index("t", Interval(0, 1))
    return Problem(
        minimize(cost @ x),
        [forall(t, x[:-1] * (1 - t) + x[1:] * t >= squares * (t * (1 - t)))],
    )


ARCHES = (
    "By construction, half the sum of multiplier times joint square roots over all arches; arch k is touched at "
    "t = u_k / (u_k + u_{k+1}). Each row has two entries."
)


@known(
    1014.3999225787593,
    digits=12,
    tags=("large", "sparse", "vector", "n>=1000", "constructed"),
    source="constructed",
    note=ARCHES,
)
def arches_1000() -> Problem:
    """The cheapest piecewise linear function above 1000 parabolic arches."""
    return arches(1000)


@known(
    3953.6788495755104,
    digits=12,
    tags=("large", "sparse", "vector", "several_indices", "2d", "n>=1000", "constructed"),
    source="constructed",
    note="By complementary slackness: every dome touches the chosen heights at one place, and the cost of a height is "
    "what chosen multipliers exert there. Each row has two entries.",
)
def ring_1000() -> Problem:
    """The cheapest heights around a ring of 1000 posts that hold up a dome between any two neighbours."""
    heights = scattered(1000, 1, 2)
    p, q = scattered(1000, 0.2, 0.8, seed=1), scattered(1000, 0.2, 0.8, seed=2)
    multipliers = scattered(1000, 0.5, 1.5, seed=3)
    cost = multipliers * np.exp(p) + np.roll(multipliers * np.cos(q), 1)
    x = Variable(1000, name="x")
    s = Index("s", Interval(0, 1))
    t = Index("t", Interval(0, 1))

    def support(x: Variable | NDArray[np.float64]) -> Any:
        return x * np.exp(s) + np.roll(x, -1) * np.cos(t)

    domes = support(heights) - 4 * ((s - p) ** 2 + (t - q) ** 2)
    return Problem(minimize(cost @ x), [forall((s, t), support(x) >= domes)])
