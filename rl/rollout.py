"""The buffer of a learner: whole episodes as tensors on its device, whoever played them.

Environments of tensors are played here. Nothing is read from the device while they are, but a few numbers at once now
and then: whether any episode goes on, and what the episodes have shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

import lsip

from .device_costs import read
from .errors import code_of
from .rollouts import OVER_TIME, Episodes
from .tensor_env import TensorEnv

Act = Callable[[Tensor], Tensor]  # observations (n, …) -> actions (n, …)


class Summary(NamedTuple):
    """What episodes have shown, read in one copy."""

    going: float  # whether any goes on
    finite: float  # whether all that the environment gave are numbers
    longest: float
    steps: float  # that exist
    reward: float  # the mean return, discounted
    undiscounted: float
    arrived: float  # share of episodes that came to their own end
    horizon: float  # the mean of the discounted steps of an episode


@dataclass(frozen=True, eq=False)
class Rollout:
    """T steps of n episodes, padded, as `rl.rollouts.Episodes` holds them, in tensors of one device."""

    observations: Tensor  # (T, n, …)
    actions: Tensor  # (T, n, …), as the environment took them
    drawn: Tensor  # (T, n, …), as the policy drew them
    rewards: Tensor  # (T, n), zero after the end
    live: Tensor  # (T, n)
    terminated: Tensor  # (n,)
    last: Tensor  # (n, …)
    steps: int  # how many steps the episodes have
    info: Mapping[str, Tensor] = field(default_factory=dict)  # (T, n, …), what else was told of steps, if it was kept

    @classmethod
    def of(cls, episodes: Episodes | Rollout, device: torch.device) -> Rollout:
        """Episodes on a device."""
        if isinstance(episodes, Rollout):
            return episodes
        names = (*OVER_TIME, "terminated", "last")
        arrays = {name: np.array(getattr(episodes, name)) for name in names}
        arrays["rewards"] = (arrays["rewards"] * arrays["live"]).astype(np.float32)
        parts = {name: torch.as_tensor(values, device=device) for name, values in arrays.items()}
        info = {key: torch.as_tensor(np.array(told), device=device) for key, told in episodes.info.items()}
        return cls(**parts, steps=episodes.steps, info=info)

    @classmethod
    def joined(cls, rounds: Sequence[Rollout]) -> Rollout:
        """Rounds side by side, padded to the longest."""
        if len(rounds) == 1:
            return rounds[0]
        longest = max(len(r.live) for r in rounds)

        def beside(parts: list[Tensor]) -> Tensor:
            ends = [part.new_zeros(longest - len(part), *part.shape[1:]) for part in parts]
            return torch.cat([torch.cat(pair) for pair in zip(parts, ends, strict=True)], dim=1)

        once = {name: torch.cat([getattr(r, name) for r in rounds]) for name in ("terminated", "last")}
        info = {key: beside([r.info[key] for r in rounds]) for key in rounds[0].info}
        over_time = {name: beside([getattr(r, name) for r in rounds]) for name in OVER_TIME}
        return cls(**over_time, **once, steps=sum(r.steps for r in rounds), info=info)

    def host(self) -> Episodes:
        """The same in arrays."""
        parts = {name: getattr(self, name).cpu().numpy() for name in (*OVER_TIME, "terminated", "last")}
        info = {key: told.cpu().numpy() for key, told in self.info.items()}
        return Episodes(**parts, env_steps=self.env_steps, info=info)

    def more(self, asks: Sequence[str]) -> dict[str, Any]:
        """What a cost asks for besides observations and actions, at the steps that exist."""
        known: dict[str, Any] = {}
        if "next_obs" in asks:
            known["next_obs"] = self.flat(self.next_observations)
        if "info" in asks:
            known["info"] = {key: self.flat(told) for key, told in self.info.items()}
        return known

    @property
    def next_observations(self) -> Tensor:
        """What followed each step: (T, n, …)."""
        after = torch.cat([self.observations[1:], self.last[None]])
        final = self.final.reshape(*self.final.shape, *[1] * (after.ndim - 2))
        return torch.where(final, self.last, after)

    @property
    def count(self) -> int:
        """How many episodes there are."""
        return self.live.shape[1]

    @property
    def env_steps(self) -> int:
        """Steps made in all, those included that copies made after the end of their episode."""
        return self.live.numel()

    @property
    def device(self) -> torch.device:
        """Where the tensors are."""
        return self.live.device

    @cached_property
    def places(self) -> Tensor:
        """Where the steps that exist are among all T n: (steps,). How many there are is known: nothing is read."""
        live = self.live.reshape(-1)
        before = torch.cumsum(live, 0) - 1
        found = torch.zeros(self.steps + 1, dtype=torch.int64, device=live.device)
        found.scatter_(0, torch.where(live, before, self.steps), torch.arange(live.numel(), device=live.device))
        return found[: self.steps]

    @property
    def times(self) -> Tensor:
        """When each of them was: (steps,)."""
        return torch.div(self.places, self.count, rounding_mode="floor")

    def flat(self, values: Tensor) -> Tensor:
        """A tensor (T, n, …) at the steps that exist: (steps, …)."""
        return values.flatten(0, 1).index_select(0, self.places)

    def padded(self, values: Tensor) -> Tensor:
        """Signals (k, steps) at all times, zero where there is no step: (T, k, n)."""
        table = values.new_zeros(len(values), self.live.numel())
        return table.index_copy_(1, self.places, values).reshape(len(values), *self.live.shape).transpose(0, 1)

    def unpadded(self, values: Tensor) -> Tensor:
        """Signals (T, k, n) at the steps that exist: (k, steps)."""
        return values.transpose(0, 1).flatten(1).index_select(1, self.places)

    @cached_property
    def final(self) -> Tensor:
        """Whether a step is the last one of its episode: (T, n)."""
        after = torch.cat([self.live[1:], torch.zeros_like(self.live[:1])])
        return self.live & ~after

    def returns(self, gamma: float = 1.0) -> Tensor:
        """The discounted sum of rewards of every episode: (n,)."""
        return discounts(gamma, self.rewards) @ self.rewards

    def summary(self, gamma: float) -> Tensor:
        """The numbers of a `Summary`, but for the first."""
        live = self.live.to(self.rewards.dtype)
        numbers = [p for p in (self.observations, self.rewards, self.last) if p.is_floating_point()]
        shown = [
            torch.stack([torch.isfinite(part).all() for part in numbers]).all(),
            live.sum(dim=0).max(),
            live.sum(),
            self.returns(gamma).mean(),
            self.rewards.sum(dim=0).mean(),
            self.terminated.to(live.dtype).mean(),
            (discounts(gamma, live) @ live).mean(),
        ]
        return torch.stack([part.to(torch.float64 if live.device.type != "mps" else live.dtype) for part in shown])


def discounts(gamma: float, over_time: Tensor) -> Tensor:
    """gamma^t for the first axis of a tensor (T, …): (T,)."""
    return gamma ** torch.arange(len(over_time), device=over_time.device, dtype=over_time.dtype)


class Recorder:
    """One episode of every copy, step by step: nothing is read from the device."""

    def __init__(self, env: TensorEnv, act: Act, to_env: Act, seed: int | None, told: bool = False) -> None:
        self.env, self.act, self.to_env, self.told = env, act, to_env, told
        self.infos: list[dict[str, Tensor]] = []
        with code_of("`reset` of the environment"):
            self.seen, _ = env.reset(seed=seed)
        n = env.num_envs
        self.last = self.seen
        self.running = torch.ones(n, dtype=torch.bool, device=env.device)
        self.terminated = torch.zeros_like(self.running)
        self.record: list[tuple[Tensor, ...]] = []

    def go(self, steps: int) -> None:
        """Play so many more."""
        for _ in range(steps):
            drawn = self.act(self.seen)
            actions = self.to_env(drawn)
            with code_of("`step` of the environment"):
                following, rewards, ended, cut, info = self.env.step(actions)
            rewards = torch.where(self.running, rewards, 0.0)
            self.record.append((self.seen, actions, drawn, rewards, self.running))
            if self.told:
                kept = {k: v for k, v in info.items() if k != "final_obs" and isinstance(v, Tensor)}
                self.infos.append({k: v for k, v in kept.items() if v.shape[:1] == self.running.shape})
            done = self.running & (ended | cut)
            final = info.get("final_obs", following)
            self.last = torch.where(done.reshape(-1, *[1] * (final.ndim - 1)), final, self.last)
            self.terminated = self.terminated | (done & ended)
            self.running = self.running & ~done
            self.seen = following

    def rollout(self) -> Rollout:
        """All that was played; how many steps exist is not known yet."""
        parts = dict(zip(OVER_TIME, map(torch.stack, zip(*self.record, strict=True)), strict=True))
        info = {key: torch.stack([told[key] for told in self.infos]) for key in (self.infos[0] if self.infos else ())}
        going = self.running.reshape(-1, *[1] * (self.seen.ndim - 1))
        last = torch.where(going, self.seen, self.last)
        return Rollout(**parts, terminated=self.terminated, last=last, steps=0, info=info)


def play(
    env: TensorEnv,
    act: Act,
    to_env: Act,
    seed: int,
    gamma: float,
    expected: int,
    told: bool = False,
    cut: int | None = None,
) -> tuple[Rollout, Summary]:
    """One episode of every copy, and what they show for a discount factor.

    The device is asked whether any goes on when the longest should be over, when twice that has passed, and when none
    can go on: three times at most.
    """
    recorder, limit = Recorder(env, act, to_env, seed, told), min(env.max_episode_steps, cut or env.max_episode_steps)
    for until in sorted({min(expected, limit), min(2 * expected, limit), limit}):
        recorder.go(until - len(recorder.record))
        rollout = recorder.rollout()
        going = recorder.running.any().to(torch.float64 if env.device.type != "mps" else torch.float32)
        found = Summary(*read(torch.cat([going[None], rollout.summary(gamma)])).tolist())
        if not found.going:
            break
    if not found.finite:
        raise lsip.ModelError("The environment gave observations or rewards that are not finite numbers.")
    if found.going and limit != cut:
        raise lsip.ModelError(f"An episode did not end within its `max_episode_steps`, {limit}.")
    longest = int(found.longest)
    parts: dict[str, Any] = {name: getattr(rollout, name)[:longest] for name in OVER_TIME}
    info = {key: values[:longest] for key, values in rollout.info.items()}
    return replace(rollout, **parts, steps=int(found.steps), info=info), found
