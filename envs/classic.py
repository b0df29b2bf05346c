"""Gymnasium's classic control with a continuum of constraints: one for every threshold that a state may pass.

Both costs are smooth steps: c_y is about 1 beyond the threshold y and about 0 below it, so that the discounted sum of
c_y is the time spent beyond y. Of Pendulum-v1 it is the angle |θ| from upright, in [0.3, 3], with the bound

    u_y = 15.8 - 4.4 y       (discount 0.95: all of time is 20).

Who only follows the reward spends too much time at small and middle angles; what dynamic programming can reach
(`python -m benchmarks methods`) leaves every threshold about 0.4 of slack. Of CartPole-v1 it is the distance |x| of the
cart from the middle, in [0.2, 2], with

    u_y = 0.2 + 30 exp(-3.5 y)       (discount 0.99: all of time is 100).

A linear controller that also looks at the cart keeps it, and one that looks at the pole alone does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import lsip
import rl


@dataclass(frozen=True)
class Angles:
    """Of Pendulum-v1: how long the pole may be further from upright than y, for every angle y.

    Parameters
    ----------
    highest, slope
        The bound is `highest` - `slope` y.
    steepness
        Of the step from 0 to 1 at the threshold.
    gamma
        The discount of the costs.

    Examples
    --------
    >>> c = Angles().constraint()
    >>> c.bounds(np.array([[0.3], [3.0]])).round(2).tolist()
    [14.48, 2.6]
    >>> hanging, upright = [-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]
    >>> c.steps(np.array([[1.0]]), np.array([hanging, upright]), np.zeros((2, 1))).round(3).tolist()
    [[1.0, 0.0]]
    """

    highest: float = 15.8
    slope: float = 4.4
    steepness: float = 8.0
    gamma: float = 0.95

    def constraint(self) -> rl.SemiInfiniteCost:
        """The constraint, for `rl.SICPPO` and all others."""

        def cost(y: Any, observations: Any, actions: Any) -> Any:
            angle = np.abs(np.arctan2(observations[:, 1], observations[:, 0]))
            return _beyond(angle, y, self.steepness)

        def bound(y: Any) -> Any:
            return self.highest - self.slope * y[:, 0]

        return _thresholds(0.3, 3.0, cost, bound, (self.steepness / 4, self.slope), self.gamma)


@dataclass(frozen=True)
class Distances:
    """Of CartPole-v1: how long the cart may be further from the middle than y, for every distance y.

    Parameters
    ----------
    rest, height, decay
        The bound is `rest` + `height` exp(-`decay` y).
    steepness
        Of the step from 0 to 1 at the threshold.
    gamma
        The discount of the costs.

    Examples
    --------
    >>> Distances().constraint().bounds(np.array([[0.2], [2.0]])).round(2).tolist()
    [15.1, 0.23]
    """

    rest: float = 0.2
    height: float = 30.0
    decay: float = 3.5
    steepness: float = 20.0
    gamma: float = 0.99

    def constraint(self) -> rl.SemiInfiniteCost:
        """The constraint, for `rl.SICPPO` and all others."""

        def cost(y: Any, observations: Any, actions: Any) -> Any:
            return _beyond(np.abs(observations[:, 0]), y, self.steepness)

        def bound(y: Any) -> Any:
            return self.rest + self.height * np.exp(-self.decay * y[:, 0])

        return _thresholds(0.2, 2.0, cost, bound, (self.steepness / 4, self.height * self.decay), self.gamma)


def _beyond(values: Any, y: Any, steepness: float) -> Any:
    """A smooth step of values (B,) at thresholds (N, 1): (N, B)."""
    return 1 / (1 + np.exp(-steepness * (values - y.reshape(len(y), 1))))


def _thresholds(
    low: float, high: float, cost: Any, bound: Any, lipschitz: tuple[float, float], gamma: float
) -> rl.SemiInfiniteCost:
    domain = lsip.Interval(low, high)
    return rl.SemiInfiniteCost(domain, cost, bound, range=(0.0, 1.0), lipschitz=lipschitz, gamma=gamma)
