"""An environment whose observations know the total cost of the episode so far, for constraints on totals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorWrapper
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

import lsip
from lsip.validation import numbers

from . import validation
from .constraint import SemiInfiniteCost
from .given_cost import called
from .kinds import AFTER, BEFORE
from .rollouts import AnyEnv, as_vector

Array = NDArray[Any]


class RunningTotal(VectorWrapper[Any, Any, Any]):
    """Copies of an environment, with the total cost so far as the last number of their observations.

    A constraint on the total of an episode (`rl.dominance(cost, u, Y, of="episode")`) depends on it, and so does a
    policy that keeps the constraint well. The totals before and after each step are told in `info`.

    Parameters
    ----------
    env
        A Gymnasium environment, single or vectorised, whose observations are a Box of one axis.
    constraint
        On the total, as `rl.dominance(…, of="episode")` makes it; or the cost of a step, a function of observations (n,
        …) and actions (n, …) with values (n,).
    gamma
        How costs are discounted in the total.
    scale
        Observations show the total divided by this: about what a whole episode costs.

    Examples
    --------
    >>> import gymnasium, lsip, rl
    >>> y = lsip.Index("y", lsip.Interval(0, 10))
    >>> limit = rl.dominance(lambda o, a: np.abs(o[:, 0]), 10 - y, y, of="episode", range=(0, 2.5))
    >>> env = rl.RunningTotal(gymnasium.make_vec("CartPole-v1", num_envs=2), limit, scale=10)
    >>> observations, _ = env.reset(seed=0)
    >>> *_, info = env.step(np.zeros(2, dtype=int))
    >>> observations.shape, bool((info["total"] == np.abs(observations[:, 0])).all())
    ((2, 5), True)
    """

    def __init__(
        self,
        env: AnyEnv,
        constraint: SemiInfiniteCost | Callable[[Array, Array], ArrayLike],
        *,
        gamma: float = 1.0,
        scale: float = 1.0,
    ) -> None:
        super().__init__(as_vector(env))
        total = getattr(constraint, "total", None)
        cost: Any = total.cost if total is not None else constraint
        validation.function("constraint", cost, "observations", "actions")
        self.cost = cost
        self.gamma = validation.number("gamma", gamma, "share")
        self.scale = validation.number("scale", scale, "positive")
        space = self.env.single_observation_space
        if not isinstance(space, gym.spaces.Box) or len(space.shape) != 1 or hasattr(self.env, "device"):
            raise lsip.ModelError(f"rl.RunningTotal needs observations that are vectors of NumPy; got {space}.")
        if self.env.metadata.get("autoreset_mode") != AutoresetMode.NEXT_STEP:
            raise lsip.ModelError("rl.RunningTotal needs an environment with the autoreset mode NEXT_STEP.")
        low, high = np.append(space.low, -np.inf), np.append(space.high, np.inf)
        self.single_observation_space = gym.spaces.Box(low.astype(np.float32), high.astype(np.float32))
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self._begin(np.zeros((self.num_envs, *space.shape)))

    def _begin(self, observations: Array) -> None:
        self._seen = observations
        self._total, self._weight = np.zeros(self.num_envs), np.ones(self.num_envs)
        self._over = np.zeros(self.num_envs, dtype=bool)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        if isinstance(seed, list | tuple) and len(seed) == self.num_envs:  # one for each copy
            seed = [validation.seed(each) for each in seed]
        elif seed is not None:
            seed = validation.seed(seed)
        if options is not None and not isinstance(options, dict):
            raise lsip.ModelError(f"`options` must be a dict, or None; got {validation.shown(options)}.")
        observations, info = self.env.reset(seed=seed, options=options)
        self._begin(np.array(observations))
        return self._shown(), info

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        if validation.array("actions", actions).shape[:1] != (self.num_envs,):
            shown = validation.shown(actions)
            raise lsip.ModelError(f"`actions` has one action for each of the {self.num_envs} copies; got {shown}.")
        observations, rewards, ended, cut, info = self.env.step(actions)
        costs = numbers(called("cost(observations, actions)", self.cost, self._seen, actions), "Costs", nan=True)
        if costs.shape != (self.num_envs,):
            raise lsip.ModelError(f"`cost` must give one number a copy, ({self.num_envs},); got {costs.shape}.")
        before = np.where(self._over, 0.0, self._total)  # this step has reset those that were over
        self._total = np.where(self._over, 0.0, before + self._weight * costs)
        self._weight = np.where(self._over, 1.0, self._weight * self.gamma)
        self._seen, self._over = np.array(observations), np.asarray(ended) | np.asarray(cut)
        return self._shown(), rewards, ended, cut, {**info, BEFORE: before, AFTER: self._total.copy()}

    def _shown(self) -> Array:
        return np.column_stack([self._seen, self._total / self.scale]).astype(np.float32)
