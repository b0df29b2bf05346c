"""A continuum of constraints for libraries that know one: the cost at the worst index point, in `info["cost"]`."""

from __future__ import annotations

from collections import deque
from typing import Any, TypedDict, Unpack

import gymnasium
import numpy as np
from numpy.typing import ArrayLike, NDArray

import lsip

from . import validation
from .constraint import SemiInfiniteCost
from .episode_violation import EpisodeViolation
from .rollouts import Episodes
from .validation import Seed

Array = NDArray[Any]


class WorstPoint:
    """The index point with the largest mean violation over the last episodes, found anew after each of them.

    Let C_y(e) be the sum of gamma^t c_y(o_t, a_t) over episode e, with gamma of the constraint, and E the last
    `episodes` whole episodes (fewer at the beginning). Then `y` is where an oracle finds the maximum over Y of

        g(y) = mean of C_y(e) over e in E - u_y,

    and `violation` is g there, which is negative when every constraint is kept. The constraint's own candidates, and
    the y so far, are looked at too. Before the first episode has ended, y is the centre of the bounding box of Y,
    projected on Y.

    Parameters
    ----------
    constraint
        A `SemiInfiniteCost` with a cost of points, observations and actions.
    episodes
        How many episodes the mean is over.
    oracle
        How to maximise over Y: any of `lsip.oracles`; 100 random points by default, because it is asked so often.
    seed
        Of the oracle.
    """

    def __init__(
        self,
        constraint: SemiInfiniteCost,
        *,
        episodes: int = 20,
        oracle: lsip.oracles.Oracle | None = None,
        seed: Seed = 0,
    ) -> None:
        validation.count("episodes", episodes)
        if not isinstance(constraint, SemiInfiniteCost):
            raise lsip.ModelError(f"`constraint` must be an rl.SemiInfiniteCost; got {validation.shown(constraint)}.")
        self.constraint = constraint.for_steps()
        if constraint.asks:
            raise lsip.ModelError(
                f"Of the steps of an episode only observations and actions are known here; the cost asks for "
                f"{' and '.join(constraint.asks)}."
            )
        self.oracle = lsip.oracles.RandomSearch(points=100) if oracle is None else validation.oracle(oracle)
        domain = constraint.domain
        self.y: Array = domain.project(0.5 * (domain.lower + domain.upper)[None, :])[0]
        self.violation = float("nan")
        self._recent: deque[tuple[Array, Array]] = deque(maxlen=int(episodes))
        self._rng = validation.generator(seed)

    @property
    def limit(self) -> float:
        """u_y at the worst index point."""
        return float(self.constraint.bounds(self.y[None, :])[0])

    def add(self, observations: ArrayLike, actions: ArrayLike) -> None:
        """Take note of a whole episode, o_0, …, o_{T-1} and a_0, …, a_{T-1}, and choose y again."""
        seen, done = validation.array("observations", observations), validation.array("actions", actions)
        if not seen.ndim or not done.ndim or len(seen) != len(done) or not len(seen):
            raise lsip.ModelError(
                f"An episode has an action for each observation; got shapes {done.shape} and {seen.shape}."
            )
        if self._recent and (seen.shape[1:], done.shape[1:]) != tuple(part.shape[1:] for part in self._recent[0]):
            raise lsip.ModelError(
                f"Observations and actions have other shapes than before: {seen.shape} and {done.shape}."
            )
        self._recent.append((seen, done))
        violation = EpisodeViolation(self.constraint, _padded(self._recent))
        worst = violation.worst_points(self.oracle, 0.0, self._rng)
        before = float(violation.values(self.y[None, :])[0, 0])
        self.violation = max(worst.value, before)
        if worst.value > before:
            self.y = worst.y


class PointOptions(TypedDict, total=False):
    """Of a `WorstPoint`."""

    episodes: int
    oracle: lsip.oracles.Oracle | None
    seed: Seed


class WorstCost(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment that reports one cost a step, as libraries for safe reinforcement learning expect it.

    Every step keeps Gymnasium's five results and adds `info["cost"]` = c_y(o_t, a_t): the cost of the action in the
    state where it was taken, not discounted, at the current worst index point `y`. Its expected sum over an episode,
    discounted by `constraint.gamma`, is to stay below `limit` = u_y. The point is chosen again when an episode ends
    (see `WorstPoint`), never within one; episodes that are abandoned by a `reset` do not count.

    Parameters
    ----------
    env
        A single Gymnasium environment. Actions are charged as the environment receives them.
    constraint
        A `SemiInfiniteCost` with a cost of points, observations and actions.
    relative
        Report c_y / u_y instead, so that `limit` is always 1: for libraries with one fixed limit. All u_y must be
        positive. The point is the same.
    point
        A `WorstPoint`. Environments of one process may share one, and then follow the same y, from reset to reset.
    options
        Of the `WorstPoint` that is made otherwise: `episodes`, `oracle`, `seed`.

    Examples
    --------
    >>> import envs, gymnasium
    >>> env = WorstCost(gymnasium.make("lsip/ShipRoute-v0"), envs.ship.constraint())
    >>> observation, info = env.reset(seed=0)
    >>> while True:
    ...     observation, reward, terminated, truncated, info = env.step([np.pi / 4])
    ...     if terminated or truncated:
    ...         break
    >>> print(env.y.round(1), round(env.limit, 2), round(env.violation, 2))  # it sailed straight over the MPA
    [0.5 0.5] 0.02 1.29

    Many copies with one index point:

    >>> constraint = envs.ship.constraint()
    >>> point = WorstPoint(constraint)
    >>> ships = gymnasium.make_vec(
    ...     "lsip/ShipRoute-v0",
    ...     num_envs=4,
    ...     vectorization_mode="sync",
    ...     wrappers=[lambda env: WorstCost(env, constraint, point=point)],
    ... )
    >>> observations, infos = ships.reset(seed=0)
    >>> ships.step(ships.action_space.sample())[-1]["cost"].shape
    (4,)
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        constraint: SemiInfiniteCost,
        *,
        relative: bool = False,
        point: WorstPoint | None = None,
        **options: Unpack[PointOptions],
    ) -> None:
        if not isinstance(env, gymnasium.Env):
            raise lsip.ModelError(
                f"`env` must be a single Gymnasium environment; got {validation.shown(env)}. Wrap the copies of a "
                "vector: gymnasium.make_vec(…, vectorization_mode='sync', wrappers=[lambda env: rl.WorstCost(env, …)])."
            )
        super().__init__(env)
        if point is not None and not isinstance(point, WorstPoint):
            raise lsip.ModelError(f"`point` must be an rl.WorstPoint(constraint, …); got {validation.shown(point)}.")
        if point is not None and options:
            raise lsip.ModelError(f"`point` has its own {', '.join(sorted(options))}; give them to WorstPoint.")
        if point is not None and point.constraint is not constraint:
            raise lsip.ModelError("`point` was made for another constraint; share the same object.")
        validation.flag("relative", relative)
        self.constraint, self.relative = constraint, bool(relative)
        self.point = point or WorstPoint(constraint, **options)
        self.y: Array = self.point.y
        self._observations: list[Any] = []
        self._actions: list[Any] = []

    @property
    def limit(self) -> float:
        """What the expected sum of costs of an episode must not exceed: u_y, or 1 when costs are relative."""
        return 1.0 if self.relative else self._bound()

    @property
    def violation(self) -> float:
        """The mean violation at the worst point over the last episodes; nan before the first has ended."""
        return self.point.violation

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        self._observations, self._actions = [np.array(observation)], []
        self.y = self.point.y
        return observation, info

    def step(self, action: ArrayLike) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        if not self._observations:
            raise gymnasium.error.ResetNeeded("No episode is under way: call `reset` first.")
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._actions.append(np.array(action))
        cost = self.constraint.steps(self.y[None, :], self._observations[-1][None], self._actions[-1][None])[0, 0]
        info = {**info, "cost": float(cost) / self._bound() if self.relative else float(cost)}
        if terminated or truncated:
            self.point.add(np.stack(self._observations), np.stack(self._actions))
            self.y = self.point.y
            self._observations, self._actions = [], []
        else:
            self._observations.append(np.array(observation))
        return observation, reward, bool(terminated), bool(truncated), info

    def _bound(self) -> float:
        bound = float(self.constraint.bounds(self.y[None, :])[0])
        if self.relative and not bound > 0:
            raise lsip.ModelError(f"Relative costs need positive bounds; u_y is {bound:g} at y = {self.y}.")
        return bound


def _padded(recent: deque[tuple[Array, Array]]) -> Episodes:
    """Episodes side by side, as `EpisodeViolation` reads them; what it does not read is empty."""
    lengths = np.array([len(observations) for observations, _ in recent])
    T = int(lengths.max())
    live = np.arange(T)[:, None] < lengths

    def beside(parts: list[Array]) -> Array:
        table = np.zeros((T, len(parts), *parts[0].shape[1:]), dtype=parts[0].dtype)
        for k, part in enumerate(parts):
            table[: len(part), k] = part
        return table

    nothing = np.zeros(live.shape)
    actions = beside([actions for _, actions in recent])
    return Episodes(
        beside([observations for observations, _ in recent]),
        actions,
        actions,
        nothing,
        live,
        np.zeros(len(recent), dtype=bool),
        np.zeros((len(recent), 0)),
    )
