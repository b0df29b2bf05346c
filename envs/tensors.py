"""The same environments in tensors: all copies of ships, vehicles, pendulums and servers stay on one device.

They are stepped by the formulas of their modules, which torch evaluates instead of NumPy, and agree with those in
arrays step for step. `rl.SICPPO` takes them as they are.
"""

from __future__ import annotations

import math
from typing import Any, Unpack

import gymnasium
import torch
from torch import Tensor

import rl
from rl.tensor_env import Options, TensorDynamics

from . import classic, queue, ship, spraying


class ShipRouteTensors(TensorDynamics):
    """`envs.ship.ShipRoute`, many at once.

    Examples
    --------
    >>> ships = ShipRouteTensors(3, device="cpu")
    >>> observations, info = ships.reset(seed=0)
    >>> observations, rewards, terminated, truncated, info = ships.step(torch.full((3, 1), math.pi / 4))
    >>> observations.shape, round(float(rewards[0]), 4)
    (torch.Size([3, 6]), -0.2414)
    """

    def __init__(
        self, num_envs: int = 1, *, max_episode_steps: int = ship.MAX_STEPS, **options: Unpack[Options]
    ) -> None:
        super().__init__(num_envs, max_episode_steps=max_episode_steps, **options)
        self.single_observation_space, self.single_action_space = ship.spaces(symmetric=False)
        self.periodic_actions, self.twice = True, self.constant(ship.TWICE[:, 0])

    def first(self, uniform: Tensor) -> Tensor:
        """All begin at O."""
        return uniform.new_zeros(len(uniform), 2)

    def observe(self, state: Tensor, steps: Tensor) -> Tensor:
        """As `ShipRoute` does."""
        x, y = state[:, :1], state[:, 1:]
        angles, distances = ship.bearing(x, y, self.twice, torch)  # (n, 2): to D, to the MPA
        return torch.cat([state, torch.stack([angles, distances], dim=2).flatten(1)], dim=1).float()

    def advance(self, state: Tensor, actions: Tensor, uniform: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """One step ahead."""
        before = ship.bearing(state[:, 0], state[:, 1], 2 * ship.GOAL, torch)[1]
        moved = ship.moved(state[:, 0], state[:, 1], actions[:, 0].to(state.dtype), torch)
        state = torch.stack(moved, dim=1).clip(0.0, 1.0)
        arrived = ship.bearing(state[:, 0], state[:, 1], 2 * ship.GOAL, torch)[1] <= ship.ARRIVAL / ship.DIAGONAL
        rewards = -ship.STEP_COST * ship.DIAGONAL * before - ship.STEP_COST
        return state, torch.where(arrived, rewards + ship.PRIZE, rewards), arrived

    def constraint(self) -> rl.SemiInfiniteCost:
        """What the ships must keep to: `envs.ship.constraint()`."""
        return ship.constraint()


class SprayingTensors(TensorDynamics):
    """`envs.spraying.Spraying`, many at once."""

    def __init__(
        self, num_envs: int = 1, *, max_episode_steps: int = spraying.MAX_STEPS, **options: Unpack[Options]
    ) -> None:
        super().__init__(num_envs, max_episode_steps=max_episode_steps, **options)
        self.single_observation_space, self.single_action_space = spraying.spaces()
        self.start = self.constant(spraying.START)
        self.low, self.high = self.constant(spraying.LOW), self.constant(spraying.HIGH)

    def first(self, uniform: Tensor) -> Tensor:
        """All begin at the start."""
        return self.start.expand(len(uniform), 2)

    def observe(self, state: Tensor, steps: Tensor) -> Tensor:
        """As `Spraying` does."""
        passed = (steps / spraying.MAX_STEPS).to(state.dtype)
        return torch.cat([state, passed[:, None]], dim=1).clip(0.0, 1.0).float()

    def advance(self, state: Tensor, actions: Tensor, uniform: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """One step ahead."""
        taken = actions.to(state.dtype).clip(self.low, self.high)
        state = spraying.moved(state, taken, torch)
        arrived = state[:, 0] >= 1.0
        return state, -spraying.STEP_COST - spraying.LIQUID_COST * taken[:, 2] + spraying.PRIZE * arrived, arrived

    def constraint(self) -> rl.SemiInfiniteCost:
        """What the vehicles must keep to: `envs.spraying.constraint()`."""
        return spraying.constraint()


class PendulumTensors(TensorDynamics):
    """Gymnasium's Pendulum-v1, many at once."""

    chance = (2, 0)

    def __init__(self, num_envs: int = 1, *, max_episode_steps: int = 200, **options: Unpack[Options]) -> None:
        super().__init__(num_envs, max_episode_steps=max_episode_steps, **options)
        self.one: Any = gymnasium.make("Pendulum-v1").unwrapped  # which has the constants
        self.single_observation_space, self.single_action_space = self.one.observation_space, self.one.action_space
        self.widest = self.constant([math.pi, 1.0])

    def first(self, uniform: Tensor) -> Tensor:
        """Angles and speeds."""
        return (2 * uniform - 1) * self.widest

    def observe(self, state: Tensor, steps: Tensor) -> Tensor:
        """Cosine, sine and speed."""
        return torch.stack([torch.cos(state[:, 0]), torch.sin(state[:, 0]), state[:, 1]], dim=1).float()

    def advance(self, state: Tensor, actions: Tensor, uniform: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """One step ahead."""
        angles, speeds, rewards = classic.swing(
            state[:, 0], state[:, 1], actions[:, 0].to(state.dtype), self.one, torch
        )
        return torch.stack([angles, speeds], dim=1), rewards, torch.zeros_like(rewards, dtype=torch.bool)

    def constraint(self) -> rl.SemiInfiniteCost:
        """What the pendulums must keep to: `envs.classic.Angles().constraint()`."""
        return classic.Angles().constraint()


class QueueTensors(TensorDynamics):
    """`envs.queue.QueueVector`, on a device."""

    chance = (2, 3)

    def __init__(
        self, num_envs: int = 1, *, max_episode_steps: int = queue.MAX_STEPS, **options: Unpack[Options]
    ) -> None:
        super().__init__(num_envs, max_episode_steps=max_episode_steps, **options)
        self.single_observation_space, self.single_action_space = queue.spaces()
        self.tables = self.constant(queue.COUNTS), self.constant(queue.LOG_FACTORIALS)

    def first(self, uniform: Tensor) -> Tensor:
        """Lengths and bursts."""
        return queue.first(uniform, torch, *self.tables)

    def observe(self, state: Tensor, steps: Tensor) -> Tensor:
        """Length, burst, and the share of time that has passed."""
        return torch.cat([state, (steps / queue.MAX_STEPS).to(state.dtype)[:, None]], dim=1).float()

    def advance(self, state: Tensor, actions: Tensor, uniform: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """One step ahead."""
        state, rewards = queue.advance(state, actions.to(state.dtype), uniform, torch, *self.tables)
        return state, rewards, torch.zeros_like(rewards, dtype=torch.bool)

    def constraint(self) -> rl.SemiInfiniteCost:
        """What the servers must keep to: `envs.queue.constraint()`."""
        return queue.constraint()
