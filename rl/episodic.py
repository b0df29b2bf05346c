"""A world of episodes: any Gymnasium environment, with critics V_r(o) and V_c(o, y) for the advantages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv
from numpy.typing import NDArray
from torch import Tensor, nn

import lsip

from . import backprop, validation
from .constraint import SemiInfiniteCost
from .episode_violation import EpisodeViolation
from .flat import Flat
from .learner import Evaluation
from .player import Player, vectors, width
from .policies import MLPCategorical, MLPGaussian, Policy, layers
from .rollouts import AnyEnv, Episodes, as_vector, joined, round_seeds
from .rules import Objective
from .si_cppo_config import SICPPOConfig
from .state import KeptPolicy, Normaliser, State
from .updates import Batch, Update

if TYPE_CHECKING:
    from .rollouts_ray import RayPool, RayRollouts

Array = NDArray[Any]


@dataclass(eq=False)
class TrainingData:
    """Episodes, and what was computed of them on the way to a batch."""

    episodes: Episodes
    violation: EpisodeViolation
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
        constraint: SemiInfiniteCost,
        config: SICPPOConfig,
        policy: Policy | None,
        device: torch.device,
        workers: Literal["ray"] | RayRollouts | None,
    ) -> None:
        self.env, self.config, self.device = as_vector(env), config, device
        if not isinstance(constraint, SemiInfiniteCost):
            raise lsip.ModelError(f"`constraint` must be an rl.SemiInfiniteCost; got {type(constraint).__name__}.")
        self.constraint, self.own_policy = constraint.for_steps(), policy
        self.space, self.actions = self.env.single_observation_space, self.env.single_action_space
        self.seen = env.observation_space if isinstance(env, gym.Env) else env.single_observation_space  # not flattened
        if not isinstance(self.space, gym.spaces.Box | gym.spaces.Discrete):
            raise lsip.ModelError(
                f"Observations must be arrays (a Box), numbers of states (Discrete), several of them (MultiDiscrete, "
                f"MultiBinary), or dictionaries and tuples of these; got {self.space}."
            )
        self.periodic = _periodic(self.env)
        self.pool = _open(workers, env, -(-config.episodes // self.env.num_envs))
        domain = self.constraint.domain
        self._low = self._tensor(domain.lower)
        wide = np.where(domain.upper > domain.lower, domain.upper - domain.lower, 1.0)
        self._wide = self._tensor(wide)

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
            reward, cost = layers([size, *c.hidden, 1]), layers([size + m, *c.hidden, 1])
        return State(
            policy.to(self.device),
            np.random.default_rng(seed),
            nn.ModuleDict({"reward": reward, "cost": cost}).to(self.device),
            observed=Normaliser(np.zeros(size), np.ones(size)),
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
        return Player(state.policy, self.space, self.actions, self.periodic, scaled, shaped, normaliser)

    def episodes(self, player: Player, count: int, seed: int, deterministic: bool) -> Episodes:
        """At least so many; the same seed gives the same ones, whoever plays them."""
        seeds = round_seeds(self.env.num_envs, count, seed)
        if self.pool is not None:
            return joined(self.pool.play(player, seeds, deterministic))
        return joined([player.play(self.env, each, deterministic) for each in seeds])

    def evaluation_of(self, episodes: Episodes) -> Evaluation:
        """What episodes show."""
        violation = EpisodeViolation(self.constraint, episodes, self.device)
        return Evaluation(
            float(episodes.returns(self.config.gamma).mean()),
            violation,
            TrainingData(episodes, violation),
            float(episodes.returns().mean()),
            float(episodes.terminated.mean()),
            episodes.env_steps,
            violation.candidates(),
        )

    def evaluate(self, state: State) -> Evaluation:
        """Episodes of an iteration, with a seed of its own."""
        seed = int(np.random.default_rng([self.seed, state.iteration]).integers(2**30))
        return self.evaluation_of(self.episodes(self.player(state), self.config.episodes, seed, False))

    def remember(self, evaluation: Evaluation, state: State) -> None:
        """Evaluations choose what is kept."""

    # ---- learning ---------------------------------------------------------------------------------------------------

    def batch(self, evaluation: Evaluation, objective: Objective, update: Update, state: State) -> Batch:
        """All steps, with advantages from the critics: of the reward and of the costs at the prices of the objective.

        The critic of the costs is also trained at the worst point found and at a few random ones.
        """
        c, data = self.config, evaluation.data
        e: Episodes = data.episodes
        player = self.player(state)
        random = self.constraint.domain.sample(c.index_points, int(state.rng.integers(2**31)))
        indices = np.concatenate([objective.points, random])
        data.indices = [(self._tensor(y) - self._low) / self._wide for y in indices]
        both = self._tensor(vectors(self.space, np.concatenate([e.flat(e.observations), e.last])))
        if player.normaliser is not None:
            mean, deviation = (self._tensor(part) for part in player.normaliser)
            both = (both - mean) / deviation
        data.seen = both[: e.steps]
        advantages, values = self._advantages(e, state, self._signals(e, data, indices, state), both, data.indices)
        data.targets = advantages + values
        left = (data.targets[0] - values[0]).var(correction=0)
        data.explained = 1 - left / data.targets[0].var(correction=0).clamp(min=1e-30)
        unit = state.spent.deviation if c.normalise_costs else 1.0  # of what the critic of the costs sees
        weights = np.concatenate([[objective.reward], -objective.prices * unit])
        wanted = self._tensor(weights) @ advantages[: len(weights)]
        wanted = (wanted - wanted.mean()) / (wanted.std(correction=0) + 1e-8)
        data.shown = data.seen.reshape(e.steps, *(self.space.shape or ())) if player.shaped else data.seen
        actions = torch.as_tensor(e.flat(e.drawn), device=self.device)
        with torch.no_grad():
            log_probs = backprop.log_probabilities(state.policy, data.shown, actions)[0]
        if log_probs.shape != (e.steps,):
            raise lsip.ModelError(
                f"`log_prob` of the policy must give one number a step, shape ({e.steps},); got "
                f"{tuple(log_probs.shape)}."
            )
        horizon = float((c.gamma ** np.arange(len(e.live)) @ e.live).mean())
        return Batch(data.shown, actions, wanted, torch.full_like(wanted, 1 / e.steps), log_probs, horizon)

    def _signals(self, e: Episodes, data: TrainingData, indices: Array, state: State) -> Tensor:
        """Rewards and costs at all steps, padded: (1 + k, T, n)."""
        rewards = e.rewards * e.live
        if self.config.normalise_rewards:
            state.returned = state.returned.saw(e.returns(self.config.gamma))
            rewards = rewards / state.returned.deviation
        table = torch.zeros((1 + len(indices), *e.live.shape), device=self.device)
        table[0] = self._tensor(rewards)
        if len(indices):
            table[1:, torch.as_tensor(e.live, device=self.device)] = self._costs(data.violation, indices)
        if len(indices) and self.config.normalise_costs:
            discount = self._tensor(self.constraint.gamma ** np.arange(len(e.live)))
            sums = torch.einsum("t,ktn->kn", discount, table[1:])
            state.spent = state.spent.saw(sums.cpu().numpy().ravel().astype(float))
            table[1:] /= float(state.spent.deviation)
        return table

    def _costs(self, violation: EpisodeViolation, indices: Array) -> Tensor:
        """Costs at points (k, m) and all steps: (k, steps)."""
        there = violation.on_device
        if there is None:
            return self._tensor(violation.costs(indices))
        with torch.no_grad():
            return there.costs(there.tensor(indices)).float()

    def _advantages(
        self, e: Episodes, state: State, signals: Tensor, both: Tensor, indices: list[Tensor]
    ) -> tuple[Tensor, Tensor]:
        """Advantages and values of all signals, (1 + k, steps) each.

        After its last step, an episode that ended is worth nothing, and one that was cut off what the critic says.
        """
        T, n = e.live.shape
        live, going = torch.as_tensor(e.live, device=self.device), self._tensor(~e.terminated)
        ends = torch.as_tensor(e.live.sum(axis=0), device=self.device)
        values = signals.new_zeros(len(signals), T + 1, n)
        with torch.no_grad():
            outputs = [backprop.outputs(state.critics["reward"], both)[0].squeeze(-1)]
            outputs += [backprop.outputs(state.critics["cost"], _beside(both, y))[0].squeeze(-1) for y in indices]
            all_values = torch.stack(outputs)
        values[:, :-1][:, live] = all_values[:, : e.steps]
        values[:, ends, torch.arange(n, device=self.device)] = all_values[:, e.steps :] * going
        gammas = signals.new_tensor([self.config.gamma] + [self.constraint.gamma] * len(indices))[:, None]
        surprise = (signals + gammas[..., None] * values[:, 1:] - values[:, :-1]) * live
        carry, running = gammas * self.config.trace, signals.new_zeros(len(signals), n)
        for t in range(T - 1, -1, -1):
            running = surprise[:, t] + carry * running
            surprise[:, t] = running
        return surprise[:, live], values[:, :-1][:, live]

    def fit_critics(self, evaluation: Evaluation, state: State) -> Mapping[str, float]:
        """Fit both critics, and watch the observations."""
        data, c = evaluation.data, self.config
        loss = self._fit(data, state)
        if c.normalise:
            e = data.episodes
            state.observed = state.observed.saw(vectors(self.space, e.flat(e.observations)).astype(float))
        with torch.no_grad():
            stats = torch.stack([loss, data.explained, state.policy.entropy(data.shown).mean()]).tolist()
        return dict(zip(("critic_loss", "explained_variance", "entropy"), stats, strict=True))

    def _fit(self, data: TrainingData, state: State) -> Tensor:
        """Least squares on the same minibatches; V_c at one index point of the batch each."""
        seen, targets, points = data.seen, data.targets, data.indices
        assert seen is not None
        assert targets is not None
        critics, memory = state.critics, state.critic_memory
        flat, loss = Flat(critics["reward"], critics["cost"]), seen.new_zeros(())
        for _ in range(self.config.critic_epochs):
            order = torch.as_tensor(state.rng.permutation(len(seen)), device=self.device)
            for part in torch.split(order, self.config.minibatch):
                k = int(state.rng.integers(len(points)))
                loss = _regress(critics["reward"], seen[part], targets[0][part])
                _regress(critics["cost"], _beside(seen[part], points[k]), targets[k + 1][part])
                flat.adam(memory, self.config.critic_rate)
        return loss

    def _tensor(self, values: Array) -> Tensor:
        return torch.as_tensor(np.array(values, dtype=np.float32), device=self.device)


def _regress(net: nn.Module, inputs: Tensor, targets: Tensor) -> Tensor:
    """The mean squared error, of which the gradients are set."""
    values, back = backprop.outputs(net, inputs)
    error = values - targets[:, None]
    back(error * (2 / len(inputs)))
    return (error**2).mean()


def _beside(seen: Tensor, y: Tensor) -> Tensor:
    """Observations with an index point beside each."""
    return torch.cat([seen, y.expand(len(seen), -1)], dim=1)


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
