"""An inventory with a service level for every threshold: the environment, its constraint, and a linear program.

The rules are those of `simulators.inventory`, which shares no code with this. Stock is up to 20; the action is the
level up to which is ordered, over 20; demand is Poisson with mean 3, or 6 on days of a busy spell. What was asked
for in vain is lost. The policy is to keep E of the mean of (shortfall - y)+ below 0.3 exp(-y / 2) for all y in [0, 10].
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray
from scipy import optimize, sparse, stats

import lsip
import rl

Array = NDArray[Any]
DAYS, FULL, FIRST, LONGEST = 30, 20, 10, 10.0
MEANS, STAYS, BOUGHT, HELD = (3.0, 6.0), 0.8, 0.02, 0.1


class InventoryVector(VectorEnv[Any, Any, Any]):
    """Many shops at once; observations are stock, spell, time and the last shortfall."""

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(self, num_envs: int) -> None:
        self.num_envs, self.max_episode_steps = num_envs, DAYS
        self.single_observation_space = gymnasium.spaces.Box(0.0, np.inf, (4,), np.float32)
        self.single_action_space = gymnasium.spaces.Box(0.0, 1.0, (1,), np.float32)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        super().reset(seed=seed)
        n = self.num_envs
        self.stock, self.busy = np.full(n, float(FIRST)), self.np_random.random(n) < 0.5
        self.short, self.day = np.zeros(n), 0
        return self._seen(), {}

    def _seen(self) -> Array:
        time = np.full(self.num_envs, self.day / DAYS)
        return np.stack([self.stock / FULL, self.busy, time, self.short], axis=1).astype(np.float32)

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        never = np.zeros(self.num_envs, dtype=bool)
        if self.day == DAYS:
            return self.reset()[0], np.zeros(self.num_envs), never, never, {}
        level = np.maximum(self.stock, np.rint(FULL * np.clip(np.asarray(actions)[:, 0], 0, 1)))
        left = level - self.np_random.poisson(np.where(self.busy, MEANS[1], MEANS[0]))
        rewards = -BOUGHT * (level - self.stock) - HELD * np.maximum(left, 0)
        self.short, self.stock = np.maximum(-left, 0), np.maximum(left, 0)
        self.busy = self.np_random.random(self.num_envs) < np.where(self.busy, STAYS, 1 - STAYS)
        self.day += 1
        return self._seen(), rewards, never, np.full(self.num_envs, self.day == DAYS), {}


def constraint() -> rl.SemiInfiniteCost:
    """Of each step, the shortfall that followed."""

    def cost(y: Array, observations: Array, actions: Array, next_obs: Array) -> Array:
        return np.maximum(next_obs[:, 3] - y.reshape(len(y), 1), 0.0) / DAYS

    def bound(y: Array) -> Array:
        return 0.3 * np.exp(-y[:, 0] / 2)

    domain = lsip.Interval(0, LONGEST)
    return rl.SemiInfiniteCost(domain, cost, bound, lipschitz=(1 / DAYS, 0.15), range=(0.0, 1.0))


def bound() -> float:
    """No policy that keeps the constraint earns more: a linear program over occupations, with 41 of all thresholds."""
    levels = np.arange(FULL + 1)
    rows, columns, shares, rewards, missing = [], [], [], [], []
    y = np.linspace(0, LONGEST, 41)
    pairs = [(x, b, level) for x in levels for b in (0, 1) for level in levels[x:]]
    for k, (x, b, level) in enumerate(pairs):
        chance = stats.poisson.pmf(np.arange(61), MEANS[b])
        left = level - np.arange(61)
        rewards.append(-BOUGHT * (level - x) - HELD * chance @ np.maximum(left, 0))
        missing.append(np.maximum(-left[None] - y[:, None], 0) @ chance / DAYS)
        stock = np.bincount(np.maximum(left, 0), chance, FULL + 1)
        for spell in (0, 1):
            there = np.flatnonzero(stock)
            rows += [*(there * 2 + spell)]
            columns += [k] * len(there)
            shares += [*(stock[there] * (STAYS if spell == b else 1 - STAYS))]
    states, n = 2 * (FULL + 1), len(pairs)
    after = sparse.csr_matrix((shares, (rows, columns)), (states, n))
    here = sparse.csr_matrix((np.ones(n), ([2 * x + b for x, b, _ in pairs], np.arange(n))), (states, n))
    flow = sparse.kron(sparse.eye(DAYS), here) - sparse.kron(sparse.eye(DAYS, k=-1), after)
    begin = np.zeros(states * DAYS)
    begin[[2 * FIRST, 2 * FIRST + 1]] = 0.5
    solved = optimize.linprog(
        -np.tile(rewards, DAYS),
        A_ub=np.tile(np.array(missing).T, DAYS),
        b_ub=0.3 * np.exp(-y / 2),
        A_eq=flow,
        b_eq=begin,
        method="highs-ipm",
    )
    return float(-solved.fun)
