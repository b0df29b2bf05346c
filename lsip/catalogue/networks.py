"""Large networks: ordinary flows with a continuum of side constraints, optimal by complementary slackness.

Each model is written backwards. An optimal flow, prices of the nodes and multipliers of a few indices are chosen first;
demands, bounds and costs follow such that these three satisfy the optimality conditions. The value is then the cost of
the chosen flow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..domains import Interval
from ..expressions import Index, Variable
from ..model import Problem, forall, minimize
from .entry import known
from .large import scattered

Array = NDArray[np.float64]


def harmonics(t: Index | Array) -> Any:
    """The functions of time that emissions are made of."""
    return np.stack([np.ones_like(t), np.cos(2 * np.pi * t), np.sin(2 * np.pi * t)])


@dataclass(frozen=True, eq=False)
class Shipping:
    """Data of a transportation problem with limits on emissions, and its optimal plan."""

    plan: Array  # (n, n), optimal
    cost: Array  # (n, n)
    rate: Array  # (n, n, 3): emission, a combination of the three harmonics
    hours: Array  # (3,): when emissions reach their limit, as fractions of the day

    @classmethod
    def of_size(cls, n: int) -> Shipping:
        # Every source ships to three sinks; the arcs in use have no reduced cost.
        plan = np.zeros((n, n))
        for shift, amount in ((0, scattered(n, 1, 3)), (1, scattered(n, 0.5, 2, 1)), (7, scattered(n, 0.5, 1, 2))):
            plan[np.arange(n), (np.arange(n) + shift) % n] += amount
        reduced = np.where(plan > 0, 0, scattered(n * n, 0, 4, 3).reshape(n, n))
        phase = 2 * np.pi * scattered(n * n, 0, 1, 4).reshape(n, n)
        mean = scattered(n * n, 1, 2, 5).reshape(n, n)
        rate = np.stack([mean, mean * np.cos(phase) / 2, mean * np.sin(phase) / 2], axis=-1)
        prices = scattered(n, 5, 10, 6)[:, None] + scattered(n, 5, 10, 7)
        hours, hour_prices = np.array([0.2, 0.55, 0.8]), np.array([2.0, 1.0, 3.0])
        charge = rate @ harmonics(hours) @ hour_prices
        return cls(plan, prices + reduced - charge, rate, hours)


@known(
    2382.125509664156,
    digits=12,
    tags=("large", "equality", "n>=1000", "constructed"),
    source="constructed",
    note="The cost of a plan that is optimal by complementary slackness; three times of the day are active.",
)
def shipping_100() -> Problem:
    """The cheapest plan from 100 sources to 100 sinks whose emissions stay under a limit all day."""
    data = Shipping.of_size(100)
    x = Variable((100, 100), name="x", lower=0)
    t = Index("t", Interval(0, 1))
    emission = np.stack([(data.rate[..., k] * x).sum() for k in range(3)])
    planned = np.einsum("ijk,ij->k", data.rate, data.plan)
    slack = 100 * np.prod(1 - np.cos(2 * np.pi * (t - data.hours)))
    return Problem(
        minimize((data.cost * x).sum()),
        [
            x.sum(axis=1) == data.plan.sum(axis=1),
            x.sum(axis=0) == data.plan.sum(axis=0),
            forall(t, harmonics(t) @ emission <= harmonics(t) @ planned + slack),
        ],
    )


@dataclass(frozen=True, eq=False)
class PowerGrid:
    """A square power grid whose lines lead right and down, and an optimal flow of active and reactive power."""

    ends: NDArray[np.intp]  # (2, lines): the node that a line leaves and the one that it enters
    flow: Array  # (2, lines)
    rating: Array  # (lines,): a bound on the apparent power, the norm of the two
    cost: Array  # (2, lines)

    @classmethod
    def of_size(cls, side: int) -> PowerGrid:
        node = np.arange(side * side).reshape(side, side)
        right = np.stack([node[:, :-1].ravel(), node[:, 1:].ravel()])
        down = np.stack([node[:-1].ravel(), node[1:].ravel()])
        ends = np.hstack([right, down])
        lines = ends.shape[1]
        flow = np.stack([scattered(lines, 1, 2, 1), scattered(lines, 0.3, 1.5, 2)])
        # The lines outside a spanning tree are at their limits; a multiplier turns each towards its flow.
        tree = (np.arange(lines) < right.shape[1]) | (ends[0] % side == 0)
        power = np.hypot(*flow)
        multiplier = np.where(tree, 0, scattered(lines, 0.5, 1.5, 3))
        distance = 2.0 * np.add.outer(np.arange(side), np.arange(side)).ravel()
        price = scattered(side * side, 0, 1, 4) - distance
        cost = np.array([[1.0], [0.5]]) * (price[ends[0]] - price[ends[1]]) - multiplier * flow / power
        return cls(ends, flow, power * np.where(tree, 1.5, 1), cost)


@known(
    2320.766620410512,
    digits=12,
    tags=("large", "sparse", "vector", "equality", "trig", "n>=1000", "constructed"),
    source="constructed",
    note="The cost of a flow that is optimal by complementary slackness. The index turns the limit on apparent power, "
    "a quarter of a disc for each line, into its tangents.",
)
def power_grid_20() -> Problem:
    """The cheapest flow of active and reactive power through a grid of 20 x 20 nodes with rated lines."""
    from scipy import sparse

    grid = PowerGrid.of_size(20)
    lines = grid.ends.shape[1]
    signs = np.repeat([1.0, -1.0], lines)
    incidence = sparse.csr_array((signs, (grid.ends.ravel(), np.tile(np.arange(lines), 2))), shape=(400, lines))
    active = Variable(lines, name="active", lower=0)
    reactive = Variable(lines, name="reactive", lower=0)
    angle = Index("angle", Interval(0, np.pi / 2))
    return Problem(
        minimize(grid.cost[0] @ active + grid.cost[1] @ reactive),
        [
            incidence @ active == incidence @ grid.flow[0],
            incidence @ reactive == incidence @ grid.flow[1],
            forall(angle, np.cos(angle) * active + np.sin(angle) * reactive <= grid.rating),
        ],
    )
