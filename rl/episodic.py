"""A world of episodes: any Gymnasium environment, with critics V_r(o) and V_c(o, y) for the advantages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv
from numpy.typing import NDArray
from torch import Tensor

import lsip

from . import backprop, critics, validation
from .advantage import gae
from .constraint import SemiInfiniteCost
from .device_costs import speaks_tensors
from .episode_violation import EpisodeViolation
from .learner import Evaluation
from .lifted import doubles
from .player import Player, width
from .policies import MLPCategorical, MLPGaussian, Policy
from .rollout import Rollout, Summary, play
from .rollouts import AnyEnv, Episodes, as_vector, joined, round_seeds
from .rules import Objective
from .several import Several, Violations, violation_of
from .si_cppo_config import SICPPOConfig
from .state import KeptPolicy, Normaliser, State
from .tail import Tail
from .tensor_env import TensorEnv
from .updates import Batch, Update

if TYPE_CHECKING:
    from .rollouts_ray import RayPool, RayRollouts

Array = NDArray[Any]


@dataclass(eq=False)
class TrainingData:
    """Episodes, and what was computed of them on the way to a batch."""

    episodes: Episodes | Rollout
    violation: EpisodeViolation | Violations
    horizon: float  # discounted steps of an episode
    seen: Tensor | None = None  # (steps, k), as the critics see them
    shown: Tensor | None = None  # (steps, …), as the policy does
    indices: list[Tensor] = field(default_factory=list)  # index points (m,), scaled to the unit box
    targets: Tensor | None = None  # (1 + k, steps), of V_r and of V_c at these points
    explained: Tensor | None = None  # share of the variance of returns that V_r explains


class EpisodicWorld:
    """An environment, its constraint, and whoever plays in it."""

    def __init__(
        self,
        env: AnyEnv,
        constraint: SemiInfiniteCost | Sequence[SemiInfiniteCost],
        config: SICPPOConfig,
        policy: Policy | None,
        device: torch.device,
        workers: Literal["ray"] | RayRollouts | None,
        evaluation_env: AnyEnv | None = None,
    ) -> None:
        self.arena: Any = None if evaluation_env is None else as_vector(evaluation_env)  # where policies are judged
        self.env: Any = as_vector(env)  # a vector of Gymnasium, or one of tensors
        self.config, self.device = config, device
        self.constraint, self.own_policy = together(constraint), policy
        self.space, self.actions = self.env.single_observation_space, self.env.single_action_space
        whole = isinstance(env, gym.Env) and not isinstance(env, TensorEnv)  # a single one
        own: Any = env
        self.seen = own.observation_space if whole else own.single_observation_space  # not flattened
        if self.arena is not None and (self.arena.single_observation_space, self.arena.single_action_space) != (
            self.space,
            self.actions,
        ):
            raise lsip.ModelError(
                "The evaluation environment must have the observations and actions of the one for learning, "
                f"{self.space} and {self.actions}."
            )
        if not isinstance(self.space, gym.spaces.Box | gym.spaces.Discrete):
            raise lsip.ModelError(
                f"Observations must be arrays (a Box), numbers of states (Discrete), several of them (MultiDiscrete, "
                f"MultiBinary), or dictionaries and tuples of these; got {self.space}."
            )
        self.periodic = _periodic(self.env)
        self.pool = _open(workers, env, -(-config.episodes // self.env.num_envs))
        self.in_tensors = isinstance(env, TensorEnv)
        there = getattr(env, "device", None)
        if self.in_tensors and there != device:
            raise lsip.ModelError(
                f"The environment is on {there} and the learner on {device}: give both the same `device`."
            )
        self.expected = getattr(self.env, "max_episode_steps", 0)  # steps of the longest episode, as far as is known

    def begin(self, seed: int) -> State:
        """The state of a new run."""
        self.seed = seed
        size, m, c = width(self.space), self.constraint.domain.dim, self.config
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            if self.own_policy is not None and not isinstance(self.own_policy, Policy):
                raise lsip.ModelError(
                    "`policy` is a network, an rl.policies.Policy such as rl.MLPGaussian(…); got "
                    f"{validation.shown(self.own_policy)}."
                )
            policy = self._policy(size) if self.own_policy is None else self.own_policy
            nets = critics.critics(size, self.constraint.width, tuple(c.hidden))
        if c.compile:
            for net in (*policy.children(), *nets.children()):
                net.compile()
        return State(
            policy.to(self.device),
            np.random.default_rng(seed),
            nets.to(self.device),
            observed=Normaliser.of((size,), self.device),
            returned=Normaliser.of((), self.device),
            spent=Normaliser.of((), self.device),
            points=np.zeros((0, m)),
        )

    def _policy(self, size: int) -> Policy:
        if isinstance(self.actions, gym.spaces.Discrete):
            return MLPCategorical(size, int(self.actions.n), tuple(self.config.hidden))
        if isinstance(self.actions, gym.spaces.Box) and len(self.actions.shape) == 1:
            return MLPGaussian(size, int(self.actions.shape[0]), tuple(self.config.hidden), self.config.log_std)
        raise lsip.ModelError(f"Actions must be Discrete or a Box of shape (k,); got {self.actions}.")

    # ---- playing ----------------------------------------------------------------------------------------------------

    def player(self, state: State, kept: KeptPolicy | None = None) -> Player:
        """The policy with what it needs to play; of a policy that was kept, with the normaliser of then."""
        seen = state.observed if kept is None or kept.normaliser is None else kept.normaliser
        normaliser = (seen.mean, seen.deviation) if self.config.normalise and seen.seen else None
        scaled, shaped = self.config.scale_actions, self.own_policy is not None
        told = "info" in self.constraint.asks
        cut = self.config.rollout
        return Player(state.policy, self.space, self.actions, self.periodic, scaled, shaped, told, cut, normaliser)

    def episodes(self, player: Player, count: int, seed: int, deterministic: bool) -> Episodes:
        """At least so many; the same seed gives the same ones, whoever plays them."""
        seeds = round_seeds(self.env.num_envs, count, seed)
        if self.in_tensors:
            return joined([self._played(player, each, deterministic)[0].host() for each in seeds])
        if self.pool is not None:
            return joined(self.pool.play(player, seeds, deterministic))
        return joined([player.play(self.env, each, deterministic) for each in seeds])

    def fresh(self, player: Player, count: int, seed: int, deterministic: bool) -> Episodes:
        """The same where policies are judged: whole episodes of the evaluation environment, where there is one."""
        if self.arena is None:
            return self.episodes(player, count, seed, deterministic)
        player, seeds = replace(player, cut=None), round_seeds(self.arena.num_envs, count, seed)
        return joined([player.play(self.arena, each, deterministic) for each in seeds])

    def _played(self, player: Player, seed: int, deterministic: bool) -> tuple[Rollout, Summary]:
        """A round of an environment of tensors, which stays on the device."""
        noise = player.generator(seed)

        def act(seen: Tensor) -> Tensor:
            return player.sample(seen, noise, deterministic)

        rollout, summary = play(
            self.env, act, player.to_env, seed, self.config.gamma, self.expected, player.told, player.cut
        )
        self.expected = len(rollout.live)
        return rollout, summary

    def evaluation_of(self, episodes: Episodes, state: State | None = None) -> Evaluation:
        """What episodes show; with a state, its critics say what follows those that were cut off on purpose."""
        live = episodes.live
        summary = Summary(
            False,
            True,
            len(live),
            episodes.steps,
            float(episodes.returns(self.config.gamma).mean()),
            float(episodes.returns().mean()),
            float(episodes.terminated.mean()),
            float((self.config.gamma ** np.arange(len(live)) @ live).mean()),
        )
        return self._evaluation(episodes, summary, True, state)

    def _evaluation(
        self, episodes: Episodes | Rollout, summary: Summary, candidates: bool, state: State | None
    ) -> Evaluation:
        where = Rollout.of(episodes, self.device) if self.costs_in_tensors else episodes
        tail = None if state is None or self.config.rollout is None else self._tail(episodes, state)
        violation = violation_of(self.constraint, where, self.device, tail=tail)
        return Evaluation(
            summary.reward,
            violation,
            TrainingData(episodes, violation, summary.horizon),
            summary.undiscounted,
            summary.arrived,
            episodes.env_steps,
            violation.candidates() if candidates else None,
        )

    def _tail(self, episodes: Episodes | Rollout, state: State) -> Any:
        """What follows episodes that were cut off, as the critic of the costs says: of several constraints, a list."""
        on = Rollout.of(episodes, self.device)
        seen, lengths = self.player(state).vectors(on.last), on.live.sum(dim=0)
        critic, unit = state.critics["cost"], state.spent.deviation if self.config.normalise_costs else 1.0
        parts = self.constraint.parts if isinstance(self.constraint, Several) else (self.constraint,)

        def of(k: int) -> Tail:
            part = parts[k]
            weights = part.gamma ** lengths.to(doubles(self.device)) * ~on.terminated
            if not isinstance(self.constraint, Several):
                return Tail(critic, seen, weights, part.domain, unit=unit)
            before = tuple(float(i == k) for i in range(len(parts)))
            after = self.constraint.width - len(before) - part.domain.dim
            return Tail(critic, seen, weights, part.domain, before, after, unit)

        tails = [of(k) for k in range(len(parts))]
        return tails if isinstance(self.constraint, Several) else tails[0]

    def evaluate(self, state: State) -> Evaluation:
        """Episodes of an iteration, with a seed of its own."""
        seed = int(np.random.default_rng([self.seed, state.iteration]).integers(2**30))
        player, wanted = self.player(state), self.config.episodes
        if not self.in_tensors:
            return self.evaluation_of(self.episodes(player, wanted, seed, False), state)
        seeds = round_seeds(self.env.num_envs, wanted, seed)
        rounds = [self._played(player, each, False) for each in seeds]
        rollout = Rollout.joined([each for each, _ in rounds])
        found = Summary(*np.mean([summary for _, summary in rounds], axis=0).tolist())
        if not self.costs_in_tensors:
            return self._evaluation(rollout.host(), found, True, state)
        return self._evaluation(rollout, found, False, state)

    @cached_property
    def costs_in_tensors(self) -> bool:
        """Whether the costs of an environment of tensors can be computed where it is: tried with one step."""
        parts = self.constraint.parts if isinstance(self.constraint, Several) else (self.constraint,)
        if not self.in_tensors or all(part.tensors for part in parts):
            return self.in_tensors
        seen = np.asarray(self.env.reset(seed=0)[0][:1].cpu())
        done = np.zeros((1, *(self.actions.shape or ())), dtype=self.actions.dtype)
        return all(part.tensors or (not part.asks and speaks_tensors(part, seen, done)) for part in parts)

    def remember(self, evaluation: Evaluation, state: State) -> None:
        """Evaluations choose what is kept."""

    # ---- learning ---------------------------------------------------------------------------------------------------

    def batch(self, evaluation: Evaluation, objective: Objective, update: Update, state: State) -> Batch:
        """All steps, with advantages from the critics: of the reward and of the costs at the prices of the objective.

        The critic of the costs is also trained at the worst point found and at a few random ones.
        """
        c, data = self.config, evaluation.data
        e = data.episodes = Rollout.of(data.episodes, self.device)
        player = self.player(state)
        random = self.constraint.domain.sample(c.index_points, int(state.rng.integers(2**31)))
        indices = np.concatenate([objective.points, random])
        data.indices = list(self._tensor(self.constraint.features(indices)))
        both = player.vectors(torch.cat([e.flat(e.observations), e.last]))
        data.seen = both[: e.steps]
        gammas = self._tensor(np.concatenate([[c.gamma], self.constraint.discounts(indices)]))
        signals = self._signals(e, data, indices, state)
        advantages, values = self._advantages(e, state, signals, both, data.indices, gammas)
        data.targets = advantages + values
        left = (data.targets[0] - values[0]).var(correction=0)
        data.explained = 1 - left / data.targets[0].var(correction=0).clamp(min=1e-30)
        earned = state.returned.deviation if c.normalise_rewards else 1.0  # the units of what critics see
        unit = state.spent.deviation if c.normalise_costs else 1.0
        weights = self._tensor(np.concatenate([[objective.reward], -objective.prices]))
        wanted = weights[0] * earned * advantages[0] + (weights[1:] * unit) @ advantages[1 : len(weights)].to(weights)
        wanted = wanted.float()
        wanted = (wanted - wanted.mean()) / (wanted.std(correction=0) + 1e-8)
        data.shown, actions = player.shown(data.seen), e.flat(e.drawn)
        with torch.no_grad():
            log_probs = backprop.log_probabilities(state.policy, data.shown, actions)[0]
        if log_probs.shape != (e.steps,):
            raise lsip.ModelError(
                f"`log_prob` of the policy must give one number a step, shape ({e.steps},); got "
                f"{tuple(log_probs.shape)}."
            )
        return Batch(data.shown, actions, wanted, torch.full_like(wanted, 1 / e.steps), log_probs, data.horizon)

    def _signals(self, e: Rollout, data: TrainingData, indices: Array, state: State) -> Tensor:
        """Rewards and costs at all steps: (1 + k, steps)."""
        rewards = e.flat(e.rewards).float()[None]
        state.returned = state.returned.saw(e.returns(self.config.gamma))
        if self.config.normalise_rewards:
            rewards = (rewards / state.returned.deviation).float()
        if not len(indices):
            return rewards
        costs = data.violation.step_costs(indices, self.device)
        gammas = self._tensor(self.constraint.discounts(indices))
        powers = gammas ** torch.arange(len(e.live), device=self.device)[:, None]  # (T, k)
        sums = torch.einsum("tk,tkn->kn", powers, e.padded(costs))
        state.spent = state.spent.saw(sums.reshape(-1))
        if self.config.normalise_costs:
            costs = (costs / state.spent.deviation).float()
        return torch.cat([rewards, costs])

    def _advantages(
        self, e: Rollout, state: State, signals: Tensor, both: Tensor, indices: list[Tensor], gammas: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Advantages and values of all signals, (1 + k, steps) each.

        After its last step, an episode that ended is worth nothing, and one that was cut off what the critic says.
        """
        found = critics.values(state.critics, both, indices)
        here, after = found[:, : e.steps], found[:, e.steps :]
        over = (e.final & e.terminated)[:, None]
        cut = (e.final & ~e.terminated)[:, None]
        values = e.padded(here)
        ahead = after.expand(len(values), -1, -1)
        advantages = gae(e.padded(signals), values, after, gammas[:, None], self.config.trace, over, cut, ahead)
        return e.unpadded(advantages), here

    def fit_critics(self, evaluation: Evaluation, state: State) -> Mapping[str, Tensor]:
        """Fit both critics, and watch the observations."""
        data, c = evaluation.data, self.config
        loss = self._fit(data, state)
        if c.normalise:
            e, plain = data.episodes, replace(self.player(state), normaliser=None)
            state.observed = state.observed.saw(plain.vectors(e.flat(e.observations)))
        with torch.no_grad():
            entropy = state.policy.entropy(data.shown).mean()
        units = {"return_deviation": state.returned.deviation, "cost_deviation": state.spent.deviation}
        return {"critic_loss": loss, "explained_variance": data.explained, "entropy": entropy, **units}

    def _fit(self, data: TrainingData, state: State) -> Tensor:
        assert data.seen is not None
        assert data.targets is not None
        c = self.config
        how: dict[str, Any] = {"epochs": c.critic_epochs, "minibatch": c.minibatch, "rate": c.critic_rate}
        return critics.fit(state.critics, state.critic_memory, data.seen, data.indices, data.targets, state.rng, **how)

    def _tensor(self, values: Array) -> Tensor:
        return torch.as_tensor(np.array(values, dtype=np.float32), device=self.device)


def together(constraint: SemiInfiniteCost | Several | Sequence[SemiInfiniteCost]) -> SemiInfiniteCost | Several:
    """One constraint, or several as one."""
    if isinstance(constraint, SemiInfiniteCost):
        return constraint.for_steps()
    if isinstance(constraint, Several):
        return constraint
    if not isinstance(constraint, list | tuple):
        raise lsip.ModelError(
            f"`constraint` must be an rl.SemiInfiniteCost, or a list of them; got {type(constraint).__name__}."
        )
    return Several(constraint)


def _periodic(env: AnyEnv) -> bool:
    """Whether the environment says that it takes any number as an action, and wraps it itself."""
    bare, name = innermost(env), "periodic_actions"
    if isinstance(bare, AsyncVectorEnv):  # asked politely: an error would end its processes
        return bare.call("has_wrapper_attr", name)[0] and bool(bare.get_attr(name)[0])
    return bool(getattr(bare, name, False))


def innermost(env: AnyEnv) -> AnyEnv:
    """The environment without its wrappers; of a vector of single ones, the first."""
    bare: AnyEnv = getattr(env, "unwrapped", env)
    return bare.envs[0].unwrapped if isinstance(bare, SyncVectorEnv) else bare


def _open(workers: Literal["ray"] | RayRollouts | None, env: AnyEnv, rounds: int) -> RayPool | None:
    if workers is None:
        return None
    from .rollouts_ray import RayRollouts

    settings = RayRollouts() if isinstance(workers, str) and workers == "ray" else workers
    if not isinstance(settings, RayRollouts):
        raise lsip.ModelError(f'`workers` is None, "ray" or an rl.RayRollouts; got {validation.shown(workers)}.')
    return settings.open(env, rounds)
