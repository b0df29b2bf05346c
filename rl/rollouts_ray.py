"""Rounds of episodes on Ray: across the cores of a machine or of a cluster, whatever becomes of single workers."""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Any, Protocol

import gymnasium as gym
import torch
from gymnasium.vector import VectorEnv

import lsip
from lsip.workers import WorkerLostError, import_ray, join, leave

from . import validation
from .player import Player
from .rollouts import AnyEnv, Episodes, as_vector

if TYPE_CHECKING:
    from ray import ObjectRef

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RayRollouts:
    """How to play episodes on Ray: `rl.SICPPO(env, constraint, workers=rl.RayRollouts(actors=4))`.

    Every actor holds an environment of its own, like the one that the learner was given, and plays whole rounds: one
    episode of each copy. An iteration of 128 episodes with 32 copies is four rounds, and keeps up to four actors busy.
    Each round has its own seed, which decides about environment and noise; so it does not matter who plays it, how many
    actors there are, or whether one of them died in between.

    Parameters
    ----------
    actors
        How many; by default as many as Ray has processors for, and no more than an iteration has rounds.
    address
        Of a cluster, such as "auto" or "ray://head:10001". A Ray that this process already uses is joined; without one
        and without an address, one is started on this machine, listens on 127.0.0.1 alone, and ends with the last agent
        that uses it.
    make
        A function without arguments that makes the environment. It is needed where Gymnasium does not know how: for
        environments that were not made by `gymnasium.make` or `make_vec`, or are wrapped since.
    cpus
        Processors that Ray sets aside for an actor. Torch runs with one thread there.
    patience
        Seconds without any worker after which a run ends with an error; it warns after a fifth of them.
    tries
        A round, or a start, that takes its worker down so often in a row is not tried again.
    """

    actors: int | None = None
    address: str | None = None
    make: Callable[[], AnyEnv] | None = None
    cpus: float = 1.0
    patience: float = 300.0
    tries: int = 3

    def __post_init__(self) -> None:
        if self.actors is not None:
            validation.count("actors", self.actors)
        if self.address is not None:
            validation.words("address", self.address)
        validation.count("tries", self.tries)
        validation.number("patience", self.patience, "positive")
        validation.number("cpus", self.cpus, "positive")
        if self.make is not None and not callable(self.make):
            raise lsip.ModelError(f"`make` must be a function without arguments; got {validation.shown(self.make)}.")

    def open(self, env: AnyEnv, rounds: int) -> RayPool:
        """Start the actors, each with an environment like this one, for so many rounds an iteration."""
        if self.actors is not None and self.actors > rounds:
            log.warning(
                "An iteration has %d rounds, too few for %d actors; vectors of fewer copies make more rounds.",
                *(rounds, self.actors),
            )
        return RayPool(self, self.make or _maker(env), _shape(as_vector(env)), rounds)


class Method(Protocol):
    """A method of a worker in another process."""

    def remote(self, *arguments: object) -> ObjectRef[Any]:
        """Call it there; Ray says later what it answers."""


class Actor(Protocol):
    """A `Worker` in another process, as Ray hands it out."""

    @property
    def prepare(self) -> Method:
        """See `Worker.prepare`."""

    @property
    def play(self) -> Method:
        """See `Worker.play`."""


class RayPool:
    """Ray actors at work. Those that die are replaced, and their rounds are played again."""

    def __init__(self, settings: RayRollouts, make: Callable[[], AnyEnv], shape: tuple[Any, ...], rounds: int) -> None:
        self._ray = import_ray()
        self._make, self._shape = make, shape
        self._patience, self._tries = settings.patience, settings.tries
        processors = None if settings.actors is None else ceil(settings.actors * settings.cpus)
        join(self._ray, self, settings.address, processors)
        self._class = self._ray.remote(num_cpus=settings.cpus, max_restarts=0)(Worker)
        room = self._ray.cluster_resources().get("CPU", 1.0) // settings.cpus
        self.actors = settings.actors or max(min(int(room), rounds), 1)
        self._idle: list[Actor] = []
        self._starting: dict[ObjectRef[Any], Actor] = {}  # what `prepare` will answer -> the actor
        self._failed_starts = 0
        for _ in range(self.actors):
            self._add()

    def play(self, player: Player, seeds: Sequence[int], deterministic: bool = False) -> list[Episodes]:
        """A round a seed, in the order of the seeds."""
        if self._class is None:
            raise lsip.ModelError("The workers of this agent have been closed; make or load another agent.")
        try:
            return self._played(self._ray.put(player.on_cpu()), seeds, deterministic)
        except (self._ray.exceptions.RayError, ConnectionError) as error:
            what = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise WorkerLostError(
                f"Ray is out of reach ({what}). The run can go on from its last whole iteration, with other workers."
            ) from error

    def _played(self, shipped: ObjectRef[Any], seeds: Sequence[int], deterministic: bool) -> list[Episodes]:
        waiting, tries = deque(range(len(seeds))), Counter[int]()
        finished: dict[int, Episodes] = {}
        busy: dict[ObjectRef[Any], tuple[Actor, int]] = {}  # what `play` will answer -> the actor, the round
        try:
            while len(finished) < len(seeds):
                while waiting and self._idle:
                    actor, k = self._idle.pop(), waiting.popleft()
                    busy[actor.play.remote(shipped, seeds[k], deterministic)] = (actor, k)
                answer = self._next([*busy, *self._starting])
                if answer in self._starting:
                    self._started(answer)
                    continue
                actor, k = busy[answer]
                try:
                    finished[k] = self._get(answer)
                except WorkerLostError as lost:
                    del busy[answer]
                    waiting.appendleft(k)
                    tries[k] += 1
                    self._replace(actor, lost, tries[k])
                else:
                    del busy[answer]
                    self._idle.append(actor)
        finally:
            for actor, _ in busy.values():  # after an error or Ctrl-C: they finish first, and begin afresh
                self._prepare(actor)
        return [finished[k] for k in range(len(seeds))]

    def close(self) -> None:
        """End the actors, and Ray if it was started for them."""
        if self._class is None:
            return
        self._class = None
        if self._ray.is_initialized():
            for actor in [*self._idle, *self._starting.values()]:
                self._ray.kill(actor)
        self._idle, self._starting = [], {}
        leave(self._ray, self)

    def _add(self) -> None:
        self._prepare(self._class.remote())

    def _prepare(self, actor: Actor) -> None:
        self._starting[actor.prepare.remote(self._make)] = actor

    def _next(self, answers: list[ObjectRef[Any]]) -> ObjectRef[Any]:
        """The next answer that is there."""
        waited, part = 0, self._patience / 5
        while True:
            ready, _ = self._ray.wait(answers, num_returns=1, timeout=part)
            if ready:
                return ready[0]
            waited = waited + 1 if len(answers) == len(self._starting) else 0
            if waited == 1:
                log.warning("Ray has not started any worker for %g s; its processors may all be in use.", part)
            if waited == 5:
                raise WorkerLostError(
                    f"Ray has not started any worker for {self._patience:g} s: its machines may be gone, or in use. "
                    "The run can go on from its last whole iteration."
                )

    def _started(self, answer: ObjectRef[Any]) -> None:
        actor = self._starting.pop(answer)
        try:
            shape = self._get(answer)
            if shape != self._shape:
                raise lsip.ModelError(
                    f"The workers' environments are not like the learner's: copies, observations and actions are "
                    f"{shape} there and {self._shape} here. Give the same as `make` of rl.RayRollouts."
                )
        except WorkerLostError as lost:
            self._failed_starts += 1
            self._replace(actor, lost, self._failed_starts)
        except Exception:
            self._prepare(actor)  # for whoever tries once more
            raise
        else:
            self._failed_starts = 0
            self._idle.append(actor)

    def _get(self, answer: ObjectRef[Any]) -> Any:
        """What an actor answered; its own errors are raised as they are."""
        errors = self._ray.exceptions
        try:
            return self._ray.get(answer)
        except errors.RayTaskError as error:
            raise error.cause from None
        except errors.RayError as error:
            raise WorkerLostError(str(error).strip().splitlines()[0]) from error

    def _replace(self, actor: Actor, lost: WorkerLostError, times: int) -> None:
        self._ray.kill(actor)  # it may only be out of reach, and must not come back
        self._add()
        if times >= self._tries:
            raise WorkerLostError(
                f"The same work took {times} workers down in a row, the last one with: {lost} Play it in one process "
                "(without `workers`) to see why; an environment that needs too much memory is a common cause."
            ) from lost
        log.warning("A worker was lost and is replaced; its episodes are played again. (%s)", lost)


class Worker:
    """What runs in an actor: an environment, and whoever is sent to play in it."""

    def prepare(self, make: Callable[[], AnyEnv]) -> tuple[Any, ...]:
        """Make the environment, and say what it is like."""
        torch.set_num_threads(1)
        self.env = as_vector(make())
        return _shape(self.env)

    def play(self, player: Player, seed: int, deterministic: bool) -> Episodes:
        """One round."""
        return player.play(self.env, seed, deterministic)


def _shape(env: VectorEnv) -> tuple[Any, ...]:
    return env.num_envs, str(env.single_observation_space), str(env.single_action_space)


def _maker(env: AnyEnv) -> Callable[[], AnyEnv]:
    """How to make an environment like this one elsewhere."""
    spec = getattr(env, "spec", None)
    if isinstance(env, VectorEnv):
        if spec is not None and env.unwrapped is env:
            return partial(gym.make_vec, spec)
    elif spec is not None and all(wrapper.kwargs is not None for wrapper in spec.additional_wrappers):
        return partial(gym.make, spec)
    raise lsip.ModelError(
        "Workers cannot make this environment by themselves: that is for those of `gymnasium.make` or `make_vec`, not "
        "wrapped since. Give a function that makes it: workers=rl.RayRollouts(make=…)."
    )
