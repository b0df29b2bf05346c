"""Whole episodes from Gymnasium environments, many at once, in arrays over time and copies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.wrappers.vector import FlattenObservation
from numpy.typing import NDArray

import lsip
from lsip.validation import shown

from .errors import code_of

Array = NDArray[Any]
AnyEnv = gym.Env | VectorEnv
Act = Callable[[Array], Array]  # observations (n, …) -> actions (n, …)
MULTIPLE = (gym.spaces.MultiDiscrete, gym.spaces.MultiBinary)
COMPOUND = (gym.spaces.Dict, gym.spaces.Tuple, *MULTIPLE)  # whose observations are flattened
OVER_TIME = ("observations", "actions", "drawn", "rewards", "live")  # the arrays (T, n, …)


@dataclass(frozen=True, eq=False)
class Episodes:
    """T steps of n episodes, padded: `live` says which steps exist. Time comes first."""

    observations: Array  # (T, n, …)
    actions: Array  # (T, n, …), as the environment took them
    drawn: Array  # (T, n, …), as the policy drew them
    rewards: Array  # (T, n)
    live: NDArray[np.bool_]  # (T, n)
    terminated: NDArray[np.bool_]  # (n,): the others were cut off, and would have gone on
    last: Array  # (n, …), the observation after the last step
    env_steps: int = 0  # made in all, those included that copies made after the end of their episode
    info: Mapping[str, Array] = field(default_factory=dict)  # (T, n, …), what else was told of steps, if it was kept

    @property
    def next_observations(self) -> Array:
        """What followed each step: (T, n, …)."""
        after = np.concatenate([self.observations[1:], self.last[None].astype(self.observations.dtype)])
        ends = np.maximum(self.live.sum(axis=0) - 1, 0)
        after[ends, np.arange(self.count)] = self.last
        return after

    def more(self, asks: Sequence[str]) -> dict[str, Any]:
        """What a cost asks for besides observations and actions, at the steps that exist."""
        known: dict[str, Any] = {}
        if "next_obs" in asks:
            known["next_obs"] = self.flat(self.next_observations)
        if "info" in asks:
            known["info"] = {key: self.flat(told) for key, told in self.info.items()}
        return known

    @property
    def steps(self) -> int:
        """How many steps the episodes have."""
        return int(self.live.sum())

    @property
    def count(self) -> int:
        """How many episodes there are."""
        return self.live.shape[1]

    def returns(self, gamma: float = 1.0) -> Array:
        """The discounted sum of rewards of every episode: (n,)."""
        return gamma ** np.arange(len(self.rewards)) @ (self.rewards * self.live)

    def flat(self, values: Array) -> Array:
        """An array (T, n, …) at the steps that exist: (steps, …)."""
        return values[self.live]

    def first(self, count: int) -> Episodes:
        """The first so many episodes: copies play whole rounds, which may be more than was asked for."""
        kept = {name: getattr(self, name)[:, :count] for name in OVER_TIME}
        info = {key: told[:, :count] for key, told in self.info.items()}
        ends = {"terminated": self.terminated[:count], "last": self.last[:count]}
        return Episodes(**kept, **ends, env_steps=self.env_steps, info=info)


def as_vector(env: AnyEnv) -> VectorEnv:
    """A vector environment; a single one becomes a vector of one, and compound observations are flattened.

    One of tensors is one already.
    """
    own: Any = env
    if hasattr(own, "device") and hasattr(own, "max_episode_steps") and hasattr(own, "num_envs"):
        vector: VectorEnv = own
        return vector
    if isinstance(env, gym.Env):
        single = env
        return as_vector(SyncVectorEnv([lambda: single]))
    if isinstance(env, VectorEnv):
        return FlattenObservation(env) if isinstance(env.single_observation_space, COMPOUND) else env
    raise lsip.ModelError(
        f"`env` must be a Gymnasium environment, single or vectorised (gymnasium.make_vec); got {type(env).__name__}."
    )


def collect(
    env: VectorEnv,
    act: Act,
    episodes: int,
    seed: int,
    to_env: Callable[[Array], Array] = lambda actions: actions,
    most_steps: int = 100_000,
    told: bool = False,
) -> Episodes:
    """At least so many episodes; each copy of the environment plays the same number of them, from reset to end.

    Every round begins with a reset, so that nothing is carried over from one collection to the next: the same seed and
    the same policy give the same episodes. `to_env` turns what the policy draws into what the environment takes. An
    episode that is longer than `most_steps` is taken for one that never ends. With `told`, numbers in the environment's
    `info` are kept for costs that ask for them.
    """
    seeds = round_seeds(env.num_envs, episodes, seed)
    return joined([play_round(env, act, each, to_env, most_steps, told) for each in seeds])


def round_seeds(copies: int, episodes: int, seed: int) -> list[int]:
    """A seed for each of the rounds that so many copies need for so many episodes; copy i adds i to it."""
    return [seed + k * copies for k in range(-(-episodes // copies))]


def play_round(
    env: VectorEnv,
    act: Act,
    seed: int,
    to_env: Callable[[Array], Array] = lambda actions: actions,
    most_steps: int = 100_000,
    told: bool = False,
    until: int | None = None,
) -> Episodes:
    """One episode of every copy; with `until`, it is cut off after so many steps."""
    mode = env.metadata.get("autoreset_mode")
    if mode == AutoresetMode.DISABLED:
        raise lsip.ModelError("The environment does not reset its copies by itself; choose another autoreset mode.")
    with code_of("`reset` of the environment"):
        observations, _ = env.reset(seed=seed)
    n = env.num_envs
    running, terminated = np.ones(n, dtype=bool), np.zeros(n, dtype=bool)
    last = _checked_array("observations", observations, n)
    record: list[tuple[Array, ...]] = []
    infos: list[dict[str, Array]] = []
    while running.any():
        if len(record) == until:
            last[running] = _checked_array("observations", observations, n)[running]
            break
        if len(record) >= most_steps:
            raise lsip.ModelError(
                f"An episode did not end within {most_steps} steps; give the environment a time limit."
            )
        seen = _checked_array("observations", observations, n)  # a copy: an environment may use its arrays again
        if seen.shape != last.shape:
            raise lsip.ModelError(f"The environment gave observations {seen.shape} after ones of shape {last.shape}.")
        _check_finite("observation", seen, running, len(record))
        drawn = act(seen)
        actions = to_env(drawn)
        with code_of("`step` of the environment"):
            following, rewards, ended, cut, info = env.step(actions)
        earned = _checked_array("rewards", rewards, n).astype(float)
        if earned.shape != (n,):
            raise lsip.ModelError(f"The environment must give ({n},) rewards, one for each copy; got {earned.shape}.")
        _check_finite("reward", earned, running, len(record))
        record.append((seen, actions, drawn, earned, running.copy()))
        if told:
            infos.append(_told(info, n))
        ends = _flags("terminations", ended, n)
        done = running & (ends | _flags("truncations", cut, n))
        if done.any():
            last[done] = _final(mode, following, info, last.shape)[done]
            terminated |= done & ends
            running &= ~done
        observations = following
    parts = [np.stack(part) for part in zip(*record, strict=True)]
    return Episodes(
        **dict(zip(OVER_TIME, parts, strict=True)),
        terminated=terminated,
        last=last,
        env_steps=n * len(record),
        info=_over_time(infos),
    )


def _final(mode: object, following: Array, info: Mapping[str, Any], shape: tuple[int, ...]) -> Array:
    """The last observations of episodes: copies that were reset in the same step have them in `info`."""
    if mode == AutoresetMode.SAME_STEP and "final_obs" in info:
        following = np.stack([o if o is not None else f for o, f in zip(info["final_obs"], following, strict=True)])
    final = _checked_array("last observations", following, shape[0])
    if final.shape != shape:
        raise lsip.ModelError(f"The environment gave last observations {final.shape}; {shape} are needed.")
    return final


def _told(info: Mapping[str, Any], n: int) -> dict[str, Array]:
    """The numbers (n, …) that an environment told of a step, of copies that were reset in it those of before."""
    told = {}
    for key, values in info.items():
        plain = isinstance(values, np.ndarray) and values.dtype.kind in "biuf" and values.shape[:1] == (n,)
        if plain and not key.startswith("_"):
            told[key] = values.astype(float)
    final = info.get("final_info")
    if isinstance(final, Mapping):
        for key, values in _told(final, n).items():
            ended = np.asarray(final.get(f"_{key}", np.ones(n)), dtype=bool)
            told[key] = told.get(key, np.zeros_like(values))
            told[key][ended] = values[ended]
    return told


def _over_time(infos: Sequence[Mapping[str, Array]]) -> dict[str, Array]:
    """Numbers by name, (T, n, …); zero where there were none."""
    first: dict[str, Array] = {}
    for each in infos:
        first = {**each, **first}
    return {key: np.stack([each.get(key, np.zeros_like(like)) for each in infos]) for key, like in first.items()}


def _checked_array(name: str, values: object, n: int) -> Array:
    """What the copies of an environment gave, in an array of its own."""
    try:
        array = np.array(values)
    except Exception as error:  # of a foreign class, or lists of unequal lengths
        raise lsip.ModelError(f"The environment gave {name} that are no array: {error}") from None
    if array.dtype.kind not in "biuf" or array.shape[:1] != (n,):
        raise lsip.ModelError(
            f"The environment must give {name} that are numbers, one row for each of its {n} copies; got "
            f"{shown(values)}."
        )
    return array


def _flags(name: str, values: object, n: int) -> NDArray[np.bool_]:
    """Which copies have ended."""
    array = _checked_array(name, values, n)
    if array.shape != (n,) or (array.dtype != bool and not np.isin(array, (0, 1)).all()):
        raise lsip.ModelError(f"The environment must give ({n},) {name}, True or False; got {shown(values)}.")
    return array.astype(bool, copy=False)


def _check_finite(name: str, values: Array, running: NDArray[np.bool_], step: int) -> None:
    """Refuse what a copy gave that is not a number, unless its episode is over."""
    if np.isfinite(values).all():
        return
    wrong = running & ~np.isfinite(values.reshape(len(values), -1)).all(axis=1)
    if wrong.any():
        raise lsip.ModelError(
            f"The environment gave the {name} {values[np.argmax(wrong)]} at step {step} of an episode; finite numbers "
            "are needed."
        )


def joined(rounds: Sequence[Episodes]) -> Episodes:
    """Rounds side by side, padded to the longest."""
    if len(rounds) == 1:
        return rounds[0]
    longest = max(len(r.rewards) for r in rounds)

    def padded(values: Array) -> Array:
        missing = longest - len(values)
        return np.concatenate([values, np.zeros((missing, *values.shape[1:]), dtype=values.dtype)])

    def beside(name: str) -> Array:
        return np.concatenate([padded(getattr(r, name)) for r in rounds], axis=1)

    known: dict[str, Array] = {}
    for r in rounds:
        known |= r.info
    info = {
        key: np.concatenate(
            [padded(r.info.get(key, np.zeros((len(r.live), r.count, *like.shape[2:])))) for r in rounds], axis=1
        )
        for key, like in known.items()
    }

    ends = {name: np.concatenate([getattr(r, name) for r in rounds]) for name in ("terminated", "last")}
    made = sum(r.env_steps for r in rounds)
    return Episodes(**{name: beside(name) for name in OVER_TIME}, **ends, env_steps=made, info=info)
