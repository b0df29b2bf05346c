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

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, TypeAlias

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

import lsip
import rl
from lsip.validation import Configuration, Finite, Positive, numbers
from rl import validation

__all__ = ["Angles", "Distances", "PendulumVector"]

Array = NDArray[np.float64]
Numbers: TypeAlias = Any  # arrays of NumPy, or tensors of torch
Single = NDArray[np.float32]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Angles(Configuration):
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

    highest: Finite = 15.8
    slope: Finite = 4.4
    steepness: Positive = 8.0
    gamma: Positive = 0.95

    def constraint(self) -> rl.SemiInfiniteCost:
        """The constraint, for `rl.SICPPO` and all others."""

        def cost(y: Array, observations: Array, actions: Array) -> Array:
            angle = np.abs(np.arctan2(observations[:, 1], observations[:, 0]))
            return _beyond(angle, y, self.steepness)

        def bound(y: Array) -> Array:
            return self.highest - self.slope * y[:, 0]

        return _thresholds(0.3, 3.0, cost, bound, (self.steepness / 4, self.slope), self.gamma)


@dataclass(frozen=True)
class Distances(Configuration):
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

    rest: Finite = 0.2
    height: Finite = 30.0
    decay: Finite = 3.5
    steepness: Positive = 20.0
    gamma: Positive = 0.99

    def constraint(self) -> rl.SemiInfiniteCost:
        """The constraint, for `rl.SICPPO` and all others."""

        def cost(y: Array, observations: Array, actions: Array) -> Array:
            return _beyond(np.abs(observations[:, 0]), y, self.steepness)

        def bound(y: Array) -> Array:
            return self.rest + self.height * np.exp(-self.decay * y[:, 0])

        return _thresholds(0.2, 2.0, cost, bound, (self.steepness / 4, self.height * self.decay), self.gamma)


def _beyond(values: Array, y: Array, steepness: float) -> Array:
    """A smooth step of values (B,) at thresholds (N, 1): (N, B)."""
    return 1 / (1 + np.exp(-steepness * (values - y.reshape(len(y), 1))))


def _thresholds(
    low: float,
    high: float,
    cost: Callable[[Array, Array, Array], Array],
    bound: Callable[[Array], Array],
    lipschitz: tuple[float, float],
    gamma: float,
) -> rl.SemiInfiniteCost:
    domain = lsip.Interval(low, high)
    return rl.SemiInfiniteCost(domain, cost, bound, range=(0.0, 1.0), lipschitz=lipschitz, gamma=gamma)


def swing(angles: Numbers, speeds: Numbers, torques: Numbers, one: Numbers, m: ModuleType) -> tuple[Any, Any, Any]:
    """Angles and speeds of pendulums a step later, and rewards; `m` is numpy or torch, `one` has the constants."""
    torques = torques.clip(-one.max_torque, one.max_torque)
    turned = (angles + np.pi) % (2 * np.pi) - np.pi
    rewards = -(turned**2 + 0.1 * speeds**2 + 0.001 * torques**2)
    pull = 3 * one.g / (2 * one.l) * m.sin(angles) + 3.0 / (one.m * one.l**2) * torques
    speeds = (speeds + pull * one.dt).clip(-one.max_speed, one.max_speed)
    return angles + speeds * one.dt, speeds, rewards


class PendulumVector(gymnasium.vector.VectorEnv[Single, Single, NDArray[Any]]):
    """Many pendulums at once: the dynamics and rewards of Gymnasium's Pendulum-v1, in arrays.

    One generator draws all first states, so that a seed gives other ones than in Gymnasium's copies. In the step after
    an episode has ended, its copy begins again whatever the action, with reward 0 (autoreset mode NEXT_STEP).

    Parameters
    ----------
    num_envs
        How many pendulums.
    max_episode_steps
        After so many steps all episodes are truncated.

    Examples
    --------
    >>> swings = PendulumVector(3)
    >>> observations, infos = swings.reset(seed=0)
    >>> observations, rewards, terminated, truncated, infos = swings.step(np.zeros((3, 1)))
    >>> observations.shape, bool(truncated.any())
    ((3, 3), False)
    """

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(self, num_envs: int = 1, *, max_episode_steps: int = 200) -> None:
        for name, count in (("num_envs", num_envs), ("max_episode_steps", max_episode_steps)):
            validation.count(name, count)
        self.num_envs, self.max_episode_steps = int(num_envs), int(max_episode_steps)
        self.one: Any = gymnasium.make("Pendulum-v1").unwrapped  # which has the constants
        self.single_observation_space, self.single_action_space = self.one.observation_space, self.one.action_space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.angles, self.speeds, self._steps = np.zeros(self.num_envs), np.zeros(self.num_envs), -1

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Single, dict[str, Any]]:
        super().reset(seed=seed)
        self.angles, self.speeds = self.np_random.uniform([[-np.pi], [-1.0]], [[np.pi], [1.0]], (2, self.num_envs))
        self._steps = 0
        return self._observe(), {}

    def step(self, actions: ArrayLike) -> tuple[Single, Array, Flags, Flags, dict[str, Any]]:
        if self._steps < 0:
            raise gymnasium.error.ResetNeeded("The pendulums do not swing yet: call `reset` first.")
        none = np.zeros(self.num_envs, dtype=np.bool_)
        if self._steps == self.max_episode_steps:
            return self.reset()[0], np.zeros(self.num_envs), none, none, {}
        wanted, one = numbers(actions, "Torques", nan=True), self.one
        if wanted.shape != (self.num_envs, 1):
            raise lsip.ModelError(f"Actions are one torque a pendulum, ({self.num_envs}, 1); got {wanted.shape}.")
        self.angles, self.speeds, rewards = swing(self.angles, self.speeds, wanted[:, 0], one, np)
        self._steps += 1
        return self._observe(), rewards, none, np.full(self.num_envs, self._steps == self.max_episode_steps), {}

    def constraint(self) -> rl.SemiInfiniteCost:
        """What the pendulums must keep to: `envs.classic.Angles().constraint()`."""
        return Angles().constraint()

    def _observe(self) -> Single:
        return np.stack([np.cos(self.angles), np.sin(self.angles), self.speeds], axis=1).astype(np.float32)
