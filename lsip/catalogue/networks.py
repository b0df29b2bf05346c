"""Large networks: ordinary flows with a continuum of side constraints, optimal by complementary slackness.

Each model is written backwards. An optimal flow, prices of the nodes and multipliers of a few indices are chosen first; demands,
bounds and costs follow such that these three satisfy the optimality conditions. The value is then the cost of the chosen flow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import lsip

from .entry import known
from .large import scattered

Array = NDArray[np.float64]

HOURS = np.array([0.2, 0.55, 0.8])  # when emissions reach their limit, as fractions of the day
HOUR_PRICES = np.array([2.0, 1.0, 3.0])


@dataclass(frozen=True, eq=False)
class Shipping:
    """Data of a transportation problem with limits on emissions, and its optimal plan."""

    plan: Array  # (n, n), optimal
    cost: Array  # (n, n)
    rate: Array  # (n, n, 3): mean emission, and its amplitude in cosine and sine over the day

    @staticmethod
    def harmonics(t: Array) -> Array:
        return np.stack([np.ones_like(t), np.cos(2 * np.pi * t), np.sin(2 * np.pi * t)])

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
        charge = rate @ cls.harmonics(HOURS) @ HOUR_PRICES
        return cls(plan, prices + reduced - charge, rate)


@known(
    0.0,
    digits=12,
    tags=("large", "equality", "n>=1000", "constructed"),
    source="constructed",
    note="The cost of a plan that is optimal by complementary slackness; three times of the day are active.",
)
def shipping_100() -> lsip.Problem:
    """The cheapest plan from 100 sources to 100 sinks whose emissions stay under a limit all day."""
    data = Shipping.of_size(100)
    x = lsip.Variable((100, 100), name="x", lower=0)
    t = lsip.Index("t", lsip.Interval(0, 1))
    harmonics = np.stack([np.ones_like(t), np.cos(2 * np.pi * t), np.sin(2 * np.pi * t)])
    emission = np.stack([(data.rate[..., k] * x).sum() for k in range(3)])
    planned = np.einsum("ijk,ij->k", data.rate, data.plan)
    slack = 100 * np.prod([1 - np.cos(2 * np.pi * (t - hour)) for hour in HOURS])
    return lsip.Problem(
        lsip.minimize((data.cost * x).sum()),
        [
            x.sum(axis=1) == data.plan.sum(axis=1),
            x.sum(axis=0) == data.plan.sum(axis=0),
            lsip.forall(t, harmonics @ emission <= harmonics @ planned + slack),
        ],
    )
