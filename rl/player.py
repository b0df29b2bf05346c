"""Who plays: a policy, how it sees observations, and how its actions fit an environment."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray
from torch import Tensor

from .policies import Policy
from .rollouts import Episodes, play_round

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Player:
    """All that a round of episodes depends on besides the environment and a seed; it can be sent to other processes."""

    policy: Policy
    space: gym.Space[Any]  # of one action
    periodic: bool = False  # the environment takes any number, and wraps it itself (its `periodic_actions`)
    normaliser: tuple[Array, Array] | None = None  # mean and deviation of observations; None shows them as they are

    @property
    def device(self) -> torch.device:
        """Where the policy lives."""
        return next(self.policy.parameters()).device

    def tensor(self, observations: Array) -> Tensor:
        """Observations as the networks see them."""
        values = np.asarray(observations, dtype=np.float32)
        if self.normaliser is not None:
            mean, deviation = self.normaliser
            values = ((values - mean) / deviation).astype(np.float32)
        return torch.as_tensor(values, device=self.device)

    def draw(self, observations: Array, generator: torch.Generator, deterministic: bool) -> tuple[Array, Array]:
        """Actions and their log-probabilities."""
        with torch.no_grad():
            seen = self.tensor(observations)
            actions = self.policy.sample(seen, generator, deterministic)
            log_probs = self.policy.log_prob(seen, actions)
        return actions.cpu().numpy(), log_probs.cpu().numpy()

    def to_env(self, actions: Array) -> Array:
        """Actions inside the environment's space; one that wraps them itself gets them raw."""
        if isinstance(self.space, gym.spaces.Discrete):
            return actions + self.space.start
        if self.periodic:
            return actions
        assert isinstance(self.space, gym.spaces.Box)
        return np.clip(actions, self.space.low, self.space.high)

    def play(self, env: VectorEnv, seed: int, deterministic: bool = False) -> Episodes:
        """One round of episodes; the seed decides about the environment and about the noise of the policy."""
        generator = torch.Generator(device=self.device)
        generator.manual_seed(int(np.random.default_rng([seed, 1]).integers(2**62)))
        return play_round(env, lambda seen: self.draw(seen, generator, deterministic), seed, self.to_env)

    def on_cpu(self) -> Player:
        """A copy that other machines can use."""
        return replace(self, policy=copy.deepcopy(self.policy).to("cpu"))
