"""A server with bursts of arrivals: serve just enough that the queue is rarely long, for every meaning of long.

In state (q, b, t) of a queue of length q, with or without a burst b, the action a in [0, 1] is how much of the server
is used: it costs a² and serves as many as a Poisson variable with mean 5 a says. Then as many arrive as one with mean 1
says, or 3 in a burst; the queue has room for 40. A burst goes on with probability 0.7, and one begins with probability
0.15. An episode has 40 steps. For every length y in [0, 20],

    E (1/40) sum over t of (q_t - y)+  <=  u_y = 3 exp(-y / 5):

increasing convex dominance. All chance of a step is three uniform numbers, of which Poisson variables are made by
inversion, so that copies in arrays and in tensors are the same.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

import lsip
import rl
from lsip.validation import numbers
from rl import validation

__all__ = ["QueueVector", "constraint"]

Array = NDArray[np.float64]
Numbers: TypeAlias = Any  # arrays of NumPy, or tensors of torch
Single = NDArray[np.float32]
Flags = NDArray[np.bool_]

ARRIVALS, SERVED, ROOM = (1.0, 3.0), 5.0, 40.0
STAYS, BEGINS, AT_FIRST, WAITING = 0.7, 0.15, 0.3, 2.0
MAX_STEPS = 40
HIGHEST, DECAY, LONGEST = 3.0, 5.0, 20.0  # of u_y, and of y
COUNTS = np.arange(41)
LOG_FACTORIALS = np.concatenate([[0.0], np.cumsum(np.log(COUNTS[1:]))])


def poisson(means: Numbers, uniform: Numbers, m: Numbers, counts: Numbers, logs: Numbers) -> Any:
    """Poisson variables (n,) by inversion, of at most 41; `m` is numpy or torch, which `counts` and `logs` are of."""
    means = means.reshape(-1, 1).clip(1e-12)
    below = m.cumsum(m.exp(counts * m.log(means) - means - logs), -1)
    return ((below <= uniform.reshape(-1, 1)) * m.ones_like(below)).sum(-1)


def spaces() -> tuple[gymnasium.spaces.Box[np.float32], gymnasium.spaces.Box[np.float32]]:
    """Observations (q, b, t / 40), and actions."""
    high = np.array([ROOM, 1, 1], dtype=np.float32)
    return gymnasium.spaces.Box(np.zeros(3, dtype=np.float32), high), gymnasium.spaces.Box(0.0, 1.0, (1,), np.float32)


class QueueVector(gymnasium.vector.VectorEnv[Single, Single, NDArray[Any]]):
    """Many servers at once, in arrays; autoreset mode NEXT_STEP.

    Parameters
    ----------
    num_envs
        How many servers.
    max_episode_steps
        After so many steps all episodes are truncated.

    Examples
    --------
    >>> servers = QueueVector(2)
    >>> observations, infos = servers.reset(seed=0)
    >>> observations, rewards, terminated, truncated, infos = servers.step(np.full((2, 1), 0.5))
    >>> rewards.tolist()
    [-0.25, -0.25]
    """

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(self, num_envs: int = 1, *, max_episode_steps: int = MAX_STEPS) -> None:
        for name, count in (("num_envs", num_envs), ("max_episode_steps", max_episode_steps)):
            validation.count(name, count)
        self.num_envs, self.max_episode_steps = int(num_envs), int(max_episode_steps)
        self.single_observation_space, self.single_action_space = spaces()
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.state, self._steps = np.zeros((self.num_envs, 2)), -1

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Single, dict[str, Any]]:
        super().reset(seed=seed)
        self.state = first(self.np_random.random((self.num_envs, 2)), np, COUNTS, LOG_FACTORIALS)
        self._steps = 0
        return self._observe(), {}

    def step(self, actions: ArrayLike) -> tuple[Single, Array, Flags, Flags, dict[str, Any]]:
        if self._steps < 0:
            raise gymnasium.error.ResetNeeded("Nobody queues yet: call `reset` first.")
        none = np.zeros(self.num_envs, dtype=np.bool_)
        if self._steps == self.max_episode_steps:
            return self.reset()[0], np.zeros(self.num_envs), none, none, {}
        used = numbers(actions, "Actions", nan=True)
        if used.shape != (self.num_envs, 1):
            raise lsip.ModelError(f"Actions are one share a server, ({self.num_envs}, 1); got {used.shape}.")
        uniform = self.np_random.random((self.num_envs, 3))
        self.state, rewards = advance(self.state, used, uniform, np, COUNTS, LOG_FACTORIALS)
        self._steps += 1
        return self._observe(), rewards, none, np.full(self.num_envs, self._steps == self.max_episode_steps), {}

    def constraint(self) -> rl.SemiInfiniteCost:
        """What the servers must keep to: `envs.queue.constraint()`."""
        return constraint()

    def _observe(self) -> Single:
        return np.column_stack([self.state, np.full(self.num_envs, self._steps / MAX_STEPS)]).astype(np.float32)


def first(uniform: Numbers, m: Numbers, counts: Numbers, logs: Numbers) -> Any:
    """First states (n, 2), for uniform numbers (n, 2), in arrays or tensors."""
    one = m.ones_like(uniform[:, 0])
    return m.stack([poisson(WAITING * one, uniform[:, 0], m, counts, logs), one * (uniform[:, 1] < AT_FIRST)], -1)


def advance(
    state: Numbers, actions: Numbers, uniform: Numbers, m: Numbers, counts: Numbers, logs: Numbers
) -> tuple[Any, Any]:
    """The next states (n, 2) and rewards (n,), for uniform numbers (n, 3)."""
    used, burst = actions[:, 0].clip(0.0, 1.0), state[:, 1]
    arrived = poisson(ARRIVALS[0] + (ARRIVALS[1] - ARRIVALS[0]) * burst, uniform[:, 0], m, counts, logs)
    served = poisson(SERVED * used, uniform[:, 1], m, counts, logs)
    left = (state[:, 0] - served).clip(0.0)
    again = m.ones_like(burst) * (uniform[:, 2] < BEGINS + (STAYS - BEGINS) * burst)
    return m.stack([(left + arrived).clip(0.0, ROOM), again], -1), -(used**2)


def constraint() -> rl.SemiInfiniteCost:
    """The continuum of constraints: mean excess of the queue over every length y.

    Examples
    --------
    >>> c = constraint()
    >>> c.bounds(np.array([[0.0], [5.0]])).round(3).tolist()
    [3.0, 1.104]
    >>> c.steps(np.array([[2.0]]), np.array([[6.0, 0, 0]]), np.zeros((1, 1))).tolist()
    [[0.1]]
    """

    def cost(y: Array, observations: Array, actions: Array) -> Array:
        return np.maximum(observations[:, 0] - y.reshape(len(y), 1), 0.0) / MAX_STEPS

    def bound(y: Array) -> Array:
        return HIGHEST * np.exp(-y[:, 0] / DECAY)

    slopes, ends = (1 / MAX_STEPS, HIGHEST / DECAY), (0.0, ROOM / MAX_STEPS)
    return rl.SemiInfiniteCost(lsip.Interval(0, LONGEST), cost, bound, lipschitz=slopes, range=ends)
