"""Who plays: a policy, how it sees observations, and how its actions fit an environment."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import VectorEnv
from gymnasium.vector.utils import batch_space, iterate
from numpy.typing import NDArray
from torch import Tensor

import lsip

from . import validation
from .policies import Policy
from .rollouts import COMPOUND, MULTIPLE, Episodes, play_round

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Player:
    """All that a round of episodes depends on besides the environment and a seed; it can be sent to other processes."""

    policy: Policy
    observations: gym.Space[Any]  # of one copy
    actions: gym.Space[Any]
    periodic: bool = False  # the environment takes any number, and wraps it itself (its `periodic_actions`)
    scaled: bool = False  # actions from -1 to 1 mean those from the lower to the upper bounds of a Box
    shaped: bool = False  # the policy sees observations in their own shape, and not as vectors
    told: bool = False  # keep what the environment tells of steps besides, for costs that ask for it
    cut: int | None = None  # episodes are cut off after so many steps
    normaliser: tuple[Tensor, Tensor] | None = None  # mean and deviation of observations; None shows them as they are

    @property
    def device(self) -> torch.device:
        """Where the policy lives."""
        return next(self.policy.parameters()).device

    def vectors(self, observations: Array | Tensor) -> Tensor:
        """Observations (N, …) as the critics see them, (N, k)."""
        values = vectors(self.observations, observations, self.device)
        if self.normaliser is not None:
            mean, deviation = self.normaliser
            values = ((values - mean) / deviation).clamp(-10, 10).float()  # what hardly varied so far may yet
        return values

    def shown(self, values: Tensor) -> Tensor:
        """Vectors (N, k) as the policy sees them."""
        return values.reshape(len(values), *(self.observations.shape or ())) if self.shaped else values

    def tensor(self, observations: Array | Tensor) -> Tensor:
        """Observations as the policy sees them: numbers of states as unit vectors."""
        return self.shown(self.vectors(observations))

    def sample(self, observations: Array | Tensor, generator: torch.Generator, deterministic: bool) -> Tensor:
        """Actions, on the device."""
        with torch.no_grad():
            return self.policy.sample(self.tensor(observations), generator, deterministic)

    def draw(self, observations: Array, generator: torch.Generator, deterministic: bool) -> Array:
        """Actions, on the host."""
        actions: Array = self.sample(observations, generator, deterministic).cpu().numpy()
        return actions

    def to_env(self, actions: Any) -> Any:
        """Actions, arrays or tensors, inside the environment's space; one that wraps them itself gets them raw."""
        space = self.actions
        if isinstance(space, gym.spaces.Discrete):
            return actions + int(space.start)
        if self.periodic:
            return actions
        lowest, highest, low, high = self._bounds_there if isinstance(actions, Tensor) else self._bounds
        if self.scaled:
            actions = low + 0.5 * (actions + 1) * (high - low)
            actions = actions if isinstance(actions, Tensor) else actions.astype(space.dtype)
        return actions.clip(lowest, highest)

    @cached_property
    def _bounds(self) -> list[Array]:
        """Of actions: as they are, and those of what -1 and 1 mean."""
        assert isinstance(self.actions, gym.spaces.Box)
        lowest, highest = self.actions.low, self.actions.high
        bounded = np.isfinite(lowest) & np.isfinite(highest)
        return [lowest, highest, np.where(bounded, lowest, -1.0), np.where(bounded, highest, 1.0)]

    @cached_property
    def _bounds_there(self) -> list[Tensor]:
        """The same on the device."""
        return [torch.as_tensor(part, dtype=torch.float32, device=self.device) for part in self._bounds]

    def generator(self, seed: int) -> torch.Generator:
        """The noise of the policy in the round of this seed."""
        generator = torch.Generator(device=self.device)
        return generator.manual_seed(int(np.random.default_rng([seed, 1]).integers(2**62)))

    def play(self, env: VectorEnv, seed: int, deterministic: bool = False) -> Episodes:
        """One round of episodes; the seed decides about the environment and about the noise of the policy."""
        generator = self.generator(seed)

        def act(seen: Array) -> Array:
            return self.draw(seen, generator, deterministic)

        return play_round(env, act, seed, self.to_env, told=self.told, until=self.cut)

    def on_cpu(self) -> Player:
        """A copy that other machines can use."""
        seen = None if self.normaliser is None else (self.normaliser[0].cpu(), self.normaliser[1].cpu())
        return replace(self, policy=copy.deepcopy(self.policy).to("cpu"), normaliser=seen)


def flattened(space: gym.Space[Any], observation: Any) -> Any:
    """An observation of a compound space, or many as a vector of environments gives them, as arrays; others as is."""
    nested = isinstance(observation, Mapping | tuple)
    if not isinstance(space, COMPOUND) or not (nested or isinstance(space, MULTIPLE)):
        return observation
    if space.contains(observation):
        return gym.spaces.flatten(space, observation)
    try:
        parts = list(iterate(batch_space(space, 1), observation))
    except (TypeError, KeyError, ValueError):
        parts = []
    if parts and all(space.contains(part) for part in parts):
        return np.stack([np.asarray(gym.spaces.flatten(space, part)) for part in parts])
    if nested:
        raise lsip.ModelError(
            f"An observation is one of {space}, or many of them; got {validation.shown(observation)}."
        )
    return observation  # an array that is flat already


def vectors(space: gym.Space[Any], observations: Array | Tensor, device: torch.device) -> Tensor:
    """Observations (N, …) as vectors (N, k) of a device: numbers of states as unit vectors, arrays flattened."""
    if not isinstance(observations, Tensor):
        array = np.asarray(observations)
        observations = torch.as_tensor(array if array.flags.writeable else array.copy(), device=device)
    if isinstance(space, gym.spaces.Discrete):
        return torch.eye(int(space.n), device=device)[observations.long() - int(space.start)]
    return observations.float().reshape(len(observations), -1)


def width(space: gym.Space[Any]) -> int:
    """How long these vectors are."""
    return int(space.n) if isinstance(space, gym.spaces.Discrete) else int(np.prod(space.shape or ()))
