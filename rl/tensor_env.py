"""Environments whose copies are tensors: nothing leaves the device while they are stepped.

They speak as Gymnasium's vectors do, with tensors in place of arrays. `reset(seed=…)` gives observations (n, …) and
`info`; `step(actions)` gives observations, rewards (n,), terminated (n,), truncated (n,) and `info`. A copy whose
episode has ended begins the next one in the same step: the observations that `step` gives are those of the new episode,
and `info["final_obs"]` holds those that ended the old one. A learner takes anything that does this and has the
attributes of `TensorEnv`, as simulators on GPUs do.

`TensorDynamics` does all that for an environment which is written as three functions of tensors without side effects.
All chance enters them as uniform numbers, so that the same formulas can be played by NumPy, compiled, and compared
step for step.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Protocol, TypedDict, runtime_checkable

import gymnasium as gym
import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from . import validation
from .lifted import doubles
from .policies import pick_device

Info = dict[str, Any]


class Options(TypedDict, total=False):
    """Where tensors are, and whether what moves them is compiled."""

    device: str | torch.device
    compile: bool


@runtime_checkable
class TensorEnv(Protocol):
    """Many copies of an environment, as tensors on one device."""

    num_envs: int
    device: torch.device
    single_observation_space: gym.Space[Any]
    single_action_space: gym.Space[Any]
    max_episode_steps: int  # no episode is longer

    def reset(self, *, seed: int | None = None) -> tuple[Tensor, Info]:
        """Begin all copies; the same seed gives the same episodes on the same device."""

    def step(self, actions: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Info]:
        """One step of every copy."""


class TensorDynamics(ABC):
    """A `TensorEnv` from three functions: the first states, what is observed of a state, and the next states.

    Parameters
    ----------
    num_envs
        How many copies.
    device
        Where they are; "auto" is the first GPU of CUDA where there is one, else the CPU.
    max_episode_steps
        After so many steps an episode is truncated.
    compile
        Whether `torch.compile` makes few kernels of a step.

    Notes
    -----
    States are tensors (n, s) of double precision where the device has it. Subclasses set `chance` to how many uniform
    numbers a first state and a step take.
    """

    single_observation_space: gym.Space[Any]
    single_action_space: gym.Space[Any]
    chance: tuple[int, int] = (0, 0)

    def __init__(
        self,
        num_envs: int = 1,
        *,
        device: str | torch.device = "auto",
        max_episode_steps: int,
        compile: bool = False,  # noqa: A002  (the word for it)
    ) -> None:
        for name, count in (("num_envs", num_envs), ("max_episode_steps", max_episode_steps)):
            validation.count(name, count)
        validation.flag("compile", compile)
        self.num_envs, self.max_episode_steps = int(num_envs), int(max_episode_steps)
        self.device = pick_device(device)
        self.kind = doubles(self.device)
        self._moved: Any = torch.compile(self._transition) if compile else self._transition
        self._generator: torch.Generator | None = None
        self.state: Tensor | None = None  # (n, s)
        self._begun: tuple[Tensor, Tensor] | None = None  # first states and observations, where chance has no part
        self.steps = torch.zeros(self.num_envs, dtype=torch.int64, device=self.device)  # of the episode so far

    @abstractmethod
    def first(self, uniform: Tensor) -> Tensor:
        """First states (n, s), for uniform numbers (n, chance[0])."""

    @abstractmethod
    def observe(self, state: Tensor, steps: Tensor) -> Tensor:
        """Observations (n, …) of states (n, s) after so many steps (n,)."""

    @abstractmethod
    def advance(self, state: Tensor, actions: Tensor, uniform: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The next states (n, s), rewards (n,), and which episodes have come to their end (n,).

        For states (n, s), actions (n, …) and uniform numbers (n, chance[1]).
        """

    def constant(self, values: ArrayLike) -> Tensor:
        """Numbers on the device, for formulas: made once, because a copy a step would cost more than the step."""
        return torch.as_tensor(np.asarray(values, dtype=float), dtype=self.kind, device=self.device)

    def reset(self, *, seed: int | None = None) -> tuple[Tensor, Info]:
        """Begin all copies."""
        if seed is not None:
            if self._generator is None:
                self._generator = torch.Generator(self.device)
            self._generator.manual_seed(validation.seed(seed))
        self.state = self.first(self._uniform(self.chance[0]))
        self.steps = torch.zeros_like(self.steps)
        seen = self.observe(self.state, self.steps)
        self._begun = None if self.chance[0] else (self.state, seen)
        return seen, {}

    def step(self, actions: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Info]:
        """One step of every copy."""
        if self.state is None:
            raise gym.error.ResetNeeded("The copies have not started yet: call `reset` first.")
        uniform, fresh = self._uniform(self.chance[1]), self._uniform(self.chance[0])
        moved = self._moved(self.state, self.steps, actions, uniform, fresh)
        self.state, self.steps, observations, rewards, terminated, truncated, final = moved
        return observations, rewards, terminated, truncated, {"final_obs": final}

    def _transition(
        self, state: Tensor, steps: Tensor, actions: Tensor, uniform: Tensor, fresh: Tensor
    ) -> tuple[Tensor, ...]:
        """A step, and a new episode wherever one has ended."""
        state, rewards, terminated = self.advance(state, actions, uniform)
        steps = steps + 1
        truncated = steps >= self.max_episode_steps
        ended, seen = terminated | truncated, self.observe(state, steps)
        none = torch.zeros_like(steps)
        if self._begun is None:
            again = self.first(fresh)
            first = self.observe(again, none)
        else:
            again, first = self._begun
        begun = torch.where(_beside(ended, seen), first, seen)
        state = torch.where(_beside(ended, state), again, state)
        return state, torch.where(ended, none, steps), begun, rewards, terminated, truncated, seen

    def _uniform(self, count: int) -> Tensor:
        """Uniform numbers, so many a copy."""
        size = (self.num_envs, count)
        return torch.rand(size, generator=self._generator, device=self.device, dtype=self.kind)


def _beside(flags: Tensor, values: Tensor) -> Tensor:
    """Flags (n,) with as many axes as values (n, …)."""
    return flags.reshape(-1, *[1] * (values.ndim - 1))
