"""Who plays: a policy, how it sees observations, and how its actions fit an environment."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
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
    normaliser: tuple[Array, Array] | None = None  # mean and deviation of observations; None shows them as they are

    @property
    def device(self) -> torch.device:
        """Where the policy lives."""
        return next(self.policy.parameters()).device

    def tensor(self, observations: Array) -> Tensor:
        """Observations as the networks see them: numbers of states as unit vectors."""
        values = vectors(self.observations, observations)
        if self.normaliser is not None:
            mean, deviation = self.normaliser
            values = ((values - mean) / deviation).astype(np.float32)
        if self.shaped:
            values = values.reshape(len(values), *(self.observations.shape or ()))
        return torch.as_tensor(values, device=self.device)

    def draw(self, observations: Array, generator: torch.Generator, deterministic: bool) -> Array:
        """Actions."""
        with torch.no_grad():
            actions: Array = self.policy.sample(self.tensor(observations), generator, deterministic).cpu().numpy()
        return actions

    def to_env(self, actions: Array) -> Array:
        """Actions inside the environment's space; one that wraps them itself gets them raw."""
        space = self.actions
        if isinstance(space, gym.spaces.Discrete):
            return actions + space.start
        if self.periodic:
            return actions
        assert isinstance(space, gym.spaces.Box)
        if self.scaled:
            bounded = np.isfinite(space.low) & np.isfinite(space.high)
            low, high = np.where(bounded, space.low, -1.0), np.where(bounded, space.high, 1.0)
            actions = (low + 0.5 * (actions + 1) * (high - low)).astype(space.dtype)
        return np.clip(actions, space.low, space.high)

    def play(self, env: VectorEnv, seed: int, deterministic: bool = False) -> Episodes:
        """One round of episodes; the seed decides about the environment and about the noise of the policy."""
        generator = torch.Generator(device=self.device)
        generator.manual_seed(int(np.random.default_rng([seed, 1]).integers(2**62)))
        return play_round(env, lambda seen: self.draw(seen, generator, deterministic), seed, self.to_env)

    def on_cpu(self) -> Player:
        """A copy that other machines can use."""
        return replace(self, policy=copy.deepcopy(self.policy).to("cpu"))


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


def vectors(space: gym.Space[Any], observations: Array) -> NDArray[np.float32]:
    """Observations (N, …) as vectors (N, k): numbers of states as unit vectors, arrays flattened."""
    if isinstance(space, gym.spaces.Discrete):
        return np.eye(int(space.n), dtype=np.float32)[np.asarray(observations, dtype=np.intp) - int(space.start)]
    values = np.asarray(observations, dtype=np.float32)
    return values.reshape(len(values), -1)


def width(space: gym.Space[Any]) -> int:
    """How long these vectors are."""
    return int(space.n) if isinstance(space, gym.spaces.Discrete) else int(np.prod(space.shape or ()))
