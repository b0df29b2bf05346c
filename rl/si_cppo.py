"""Algorithm SI-CPPO: SI-CPO with proximal policy optimisation, critics, and any Gymnasium environment."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Unpack

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

import lsip

from . import backprop, validation
from . import checkpoint as checkpoints
from .advantage import gae
from .constraint import SemiInfiniteCost, Worst
from .episode_violation import EpisodeViolation
from .logs import Log, check_folder, progress
from .player import Player
from .policies import MLPCategorical, MLPGaussian, flat_parameters, layers, pick_device, set_flat_parameters
from .rollouts import AnyEnv, Episodes, as_vector, joined, round_seeds
from .si_cppo_config import Settings, SICPPOConfig
from .snapshot import Snapshot

if TYPE_CHECKING:
    from .rollouts_ray import RayPool, RayRollouts

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Report:
    """One iteration, or one evaluation."""

    iteration: int
    steps: int
    reward: float
    violation: float
    y: Array
    good: bool
    arrived: float  # share of episodes that ended by themselves
    seconds: float


class SICPPO:
    """Semi-infinitely constrained proximal policy optimisation.

    In every iteration: play episodes; maximise the mean cost over Y; if no constraint is violated by more than `eta`,
    improve the reward, else lower the cost at the worst index point; both by clipped policy steps with advantages from
    a critic, V_r(s) or V_c(s, y). The best policy that an evaluation found feasible is kept.

    Parameters
    ----------
    env
        A Gymnasium environment, best a vector of them (`gymnasium.make_vec`), with Box or Discrete actions.
    constraint
        A `SemiInfiniteCost` with a cost of points, observations and actions; an `lsip.Finite` domain gives finitely
        many constraints.
    config
        A `SICPPOConfig`; its fields may also be given by name.
    oracle
        How to maximise over Y: any of `lsip.oracles`; multistart trust region by default, with 100 random points where
        it fails. A fixed grid (`rl.baselines.FixedGrid`) gives CRPO.
    seed, device
        The same seed gives the same run, and None draws one, which `agent.seed` then tells; "auto" takes a GPU where
        there is one.
    tensorboard
        A folder for TensorBoard and `progress.csv`.
    workers
        Who plays the episodes: this process by default; "ray", or an `rl.RayRollouts` with settings, plays them on Ray
        across cores or a cluster. The run is the same. `close` ends the workers.
    """

    CHANGING: ClassVar[tuple[str, ...]] = (  # replaced by an iteration
        "iteration",
        "total_steps",
        "good_count",
        "best",
        "mean",
        "square",
        "seen",
        "_best_normaliser",
    )

    def __init__(
        self,
        env: AnyEnv,
        constraint: SemiInfiniteCost,
        config: SICPPOConfig | None = None,
        *,
        oracle: lsip.oracles.Oracle | None = None,
        seed: int | None = 0,
        device: str = "auto",
        tensorboard: str | Path | None = None,
        workers: Literal["ray"] | RayRollouts | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        known = {f.name for f in fields(SICPPOConfig)}
        unknown = set(settings) - known
        if unknown:
            raise lsip.ModelError(
                f"Unknown settings {', '.join(sorted(unknown))}; there are {', '.join(sorted(known))}."
            )
        if config is not None and not isinstance(config, SICPPOConfig):
            raise lsip.ModelError(f"`config` must be an rl.SICPPOConfig(…); got {validation.shown(config)}.")
        self.config = replace(config or SICPPOConfig(), **settings)
        self.env = as_vector(env)
        if not isinstance(constraint, SemiInfiniteCost):
            raise lsip.ModelError(f"`constraint` must be an rl.SemiInfiniteCost; got {type(constraint).__name__}.")
        self.constraint = constraint.for_steps()
        self.oracle = lsip.oracles.Multistart() if oracle is None else validation.oracle(oracle)
        self.seed, self.folder = validation.seed(seed), check_folder(tensorboard)
        self.device = pick_device(device)
        self.rng = np.random.default_rng(self.seed)
        self._looking = torch.Generator(device=self.device)  # of predictions; a run has a seed a round instead
        self._looking.manual_seed(self.seed + 1)
        with torch.random.fork_rng():
            torch.manual_seed(self.seed)
            self._build()
        self.iteration = self.total_steps = self.good_count = 0
        self.history: list[Report] = []
        self.evaluations: list[Report] = []
        self.best: tuple[float, Tensor] | None = None  # return and parameters of the best feasible policy
        self._best_normaliser = (self.mean, self.square, self.seen)
        self.pool = _open(workers, env, -(-self.config.episodes // self.env.num_envs))

    def __repr__(self) -> str:
        best = "no feasible policy yet" if self.best is None else f"best feasible return {self.best[0]:.4g}"
        name = getattr(self.env.spec, "id", None) or type(self.env).__name__
        return f"{type(self).__name__} on {name}, {self.iteration} iterations, {self.total_steps} steps, {best}"

    def close(self) -> None:
        """End the workers, where there are any. Environments are left to whoever made them."""
        if self.pool is not None:
            self.pool.close()

    def _build(self) -> None:
        space, actions = self.env.single_observation_space, self.env.single_action_space
        if not isinstance(space, gym.spaces.Box) or len(space.shape or ()) != 1:
            raise lsip.ModelError(f"Observations must be vectors, a Box of shape (k,); got {space}. Flatten them.")
        size, c = int(space.shape[0]), self.config
        if isinstance(actions, gym.spaces.Discrete):
            self.policy: MLPCategorical | MLPGaussian = MLPCategorical(size, int(actions.n), tuple(c.hidden))
        elif isinstance(actions, gym.spaces.Box) and len(actions.shape) == 1:
            self.policy = MLPGaussian(size, int(actions.shape[0]), tuple(c.hidden), c.log_std)
        else:
            raise lsip.ModelError(f"Actions must be Discrete or a Box of shape (k,); got {actions}.")
        m = self.constraint.domain.dim
        self.policy.to(self.device)
        self.reward_critic = layers([size, *c.hidden, 1]).to(self.device)
        self.cost_critic = layers([size + m, *c.hidden, 1]).to(self.device)
        self.policy_optimiser = backprop.adam([self.policy], c.learning_rate)
        self.critic_optimiser = backprop.adam([self.reward_critic, self.cost_critic], c.critic_rate)
        self.mean, self.square, self.seen = np.zeros(size), np.ones(size), 0
        self.periodic = _periodic(self.env)

    # ---- acting -----------------------------------------------------------------------------------------------------

    def player(self) -> Player:
        """The current policy, ready to play."""
        normaliser = None
        if self.config.normalise and self.seen:
            normaliser = self.mean, np.sqrt(np.maximum(self.square - self.mean**2, 1e-8))
        return Player(self.policy, self.env.single_action_space, self.periodic, normaliser)

    def _play(self, episodes: int, seed: int, deterministic: bool = False) -> Episodes:
        """At least so many episodes with the current policy; the same seed gives the same ones, whoever plays them."""
        player, seeds = self.player(), round_seeds(self.env.num_envs, episodes, seed)
        if self.pool is not None:
            return joined(self.pool.play(player, seeds, deterministic))
        return joined([player.play(self.env, each, deterministic) for each in seeds])

    def predict(self, observation: ArrayLike, deterministic: bool = True) -> tuple[Array, None]:
        """An action for an observation, or a batch of them, by the best feasible policy (the current one if none)."""
        given = validation.array("observation", observation).astype(np.float32)
        size, single = len(self.mean), given.ndim == 1
        if given.ndim not in (1, 2) or given.shape[-1] != size:
            raise lsip.ModelError(f"Observations have shape ({size},), or (N, {size}) for many; got {given.shape}.")
        with self._using_best():
            player = self.player()
            actions = player.to_env(player.draw(given[None] if single else given, self._looking, deterministic)[0])
        return (actions[0] if single else actions), None

    @contextmanager
    def _using_best(self) -> Iterator[None]:
        """The best policy, and the normaliser that it was found with, for a while."""
        now, normaliser = flat_parameters(self.policy), (self.mean, self.square, self.seen)
        if self.best is not None:
            set_flat_parameters(self.policy, self.best[1])
            self.mean, self.square, self.seen = self._best_normaliser
        try:
            yield
        finally:
            set_flat_parameters(self.policy, now)
            self.mean, self.square, self.seen = normaliser

    # ---- learning ---------------------------------------------------------------------------------------------------

    def learn(
        self,
        total_steps: int,
        *,
        verbose: bool = False,
        evaluate_every: int = 5,
        feasible: float = 0.0,
        checkpoint: str | Path | None = None,
        every: int = 10,
        target: float | None = None,
        callback: Callable[[SICPPO, Report], Any] | None = None,
    ) -> SICPPO:
        """Go on until so many steps have been made in all.

        An interrupt (Ctrl-C) undoes the iteration that it falls into and writes the checkpoint before it goes on, so
        that the agent, in memory and in the file, can always go on as if there had been none.

        Parameters
        ----------
        total_steps
            Steps of the environment, those of earlier calls included. The last iteration is made in full, so that there
            may be more.
        verbose
            Show a line of progress.
        evaluate_every, feasible
            Every so many iterations, play with the deterministic policy; the best return whose violation is at most
            `feasible` is kept as `best`.
        checkpoint, every
            A file, written every so many iterations and at the end; `load` goes on from it.
        target
            Stop as soon as a feasible policy returns this much.
        callback
            Called with the agent and every `Report`; returning True stops.
        """
        total_steps = int(validation.number("total_steps", total_steps, "positive"))
        validation.count("evaluate_every", evaluate_every)
        validation.count("every", every)
        validation.function("callback", callback, "agent", "report")
        validation.number("feasible", feasible)
        if target is not None:
            validation.number("target", target)
        checkpoints.check_target(checkpoint)
        log = Log(self.folder, first=self.iteration)
        started, threads = time.perf_counter(), torch.get_num_threads()
        torch.set_num_threads(self.config.threads)
        first, before = self.total_steps, self._snapshot()
        try:
            with progress(max(total_steps - first, 1), verbose) as show:
                while self.total_steps < total_steps:
                    report = self._iterate(started)
                    if self.iteration % evaluate_every == 0:
                        self.keep_best(self.evaluate(), feasible)
                    before = self._snapshot()
                    log.write(_row(report))
                    done = min(self.total_steps, total_steps) - first
                    show(done, f"return {report.reward:.3f}  violation {report.violation:+.4f}")
                    if checkpoint is not None and self.iteration % every == 0:
                        log.flush()
                        self.save(checkpoint)
                    enough = target is not None and self.best is not None and self.best[0] >= target
                    if (callback is not None and callback(self, report)) or enough:
                        break
        except KeyboardInterrupt:
            before.undo()
            if checkpoint is not None:
                self.save(checkpoint)
            raise
        finally:
            torch.set_num_threads(threads)
            log.close()
        if checkpoint is not None:
            self.save(checkpoint)
        return self

    def _snapshot(self) -> Snapshot:
        lists = ("history", "evaluations")
        return Snapshot.of(self, self.CHANGING, lists, self._nets().values(), self._optimisers().values())

    def _iterate(self, started: float) -> Report:
        c = self.config
        episodes = self._play(c.episodes, self._seed_of_iteration())
        violation = EpisodeViolation(self.constraint, episodes)
        worst = violation.worst(self.oracle, c.eta, self.rng)
        arrived = float(episodes.terminated.mean())
        good = worst.value <= c.eta or (c.only_arrived and arrived < 1)
        self._update(episodes, worst, good)
        if c.normalise:
            self._watch(episodes.flat(episodes.observations).astype(float))
        self.good_count += good
        self.total_steps += episodes.steps
        report = Report(
            self.iteration,
            self.total_steps,
            float(episodes.returns(c.gamma).mean()),
            worst.value,
            worst.y,
            good,
            arrived,
            time.perf_counter() - started,
        )
        self.iteration += 1
        self.history.append(report)
        return report

    def _seed_of_iteration(self) -> int:
        return int(np.random.default_rng([self.seed, self.iteration]).integers(2**30))

    def _watch(self, observations: Array) -> None:
        """Running mean and mean square of the observations."""
        count = len(observations)
        share = count / (self.seen + count)
        self.mean = (1 - share) * self.mean + share * observations.mean(axis=0)
        self.square = (1 - share) * (self.square if self.seen else 0.0) + share * (observations**2).mean(axis=0)
        self.seen += count

    def _update(self, episodes: Episodes, worst: Worst, good: bool) -> None:
        c, e = self.config, episodes
        seen = self.player().tensor(e.flat(e.observations))
        indices = np.concatenate(
            [worst.y[None, :], self.constraint.domain.sample(c.index_points, int(self.rng.integers(2**31)))]
        )
        costs = self._costs(e, indices)  # (1 + k, T, n)
        reward_values, cost_values = self._values(e, indices)
        of_reward = _advantages(e.rewards * e.live, reward_values, e, c.gamma, c.trace)
        of_cost = [
            _advantages(cost, values, e, self.constraint.gamma, c.trace)
            for cost, values in zip(costs, cost_values, strict=True)
        ]
        chosen = e.flat(self._chosen(of_reward, of_cost[0], worst, good))
        self._improve(seen, e, (chosen - chosen.mean()) / (chosen.std() + 1e-8))
        targets = np.stack([e.flat(a + v[:-1]) for a, v in zip(of_cost, cost_values, strict=True)])
        self._fit(seen, e.flat(of_reward + reward_values[:-1]), indices, targets)

    def _chosen(self, of_reward: Array, of_cost: Array, worst: Worst, good: bool) -> Array:
        """The advantages that the policy follows."""
        return of_reward if good else -of_cost

    def _costs(self, e: Episodes, indices: Array) -> Array:
        table = np.zeros((len(indices), *e.live.shape))
        table[:, e.live] = self.constraint.steps(indices, e.flat(e.observations), e.flat(e.actions))
        return table

    def _values(self, e: Episodes, indices: Array) -> tuple[Array, Array]:
        """V_r and V_c(., y) at all steps and after the last one of each episode: (T + 1, n) and (k, T + 1, n)."""
        T, n = e.live.shape
        rewards, costs = np.zeros((T + 1, n)), np.zeros((len(indices), T + 1, n))
        ends = e.live.sum(axis=0)
        copies = np.arange(n)
        # One pass over the existing steps, and the observations after the last ones.
        stacked = np.concatenate([e.flat(e.observations), e.last])
        with torch.no_grad():
            seen = self.player().tensor(stacked)
            of_cost = backprop.Network(self.cost_critic)
            found = [backprop.Network(self.reward_critic)(seen).squeeze(-1)] + [
                of_cost(self._with(seen, y)).squeeze(-1) for y in indices
            ]
            values = torch.stack(found).cpu().numpy().astype(float)
        steps = e.steps
        rewards[:-1][e.live] = values[0, :steps]
        rewards[ends, copies] = values[0, steps:]
        for k in range(len(indices)):
            costs[k, :-1][e.live] = values[k + 1, :steps]
            costs[k, ends, copies] = values[k + 1, steps:]
        return rewards, costs

    def _with(self, seen: Tensor, y: Array) -> Tensor:
        """Observations with an index point beside each, scaled to the unit box."""
        domain = self.constraint.domain
        width = np.where(domain.upper > domain.lower, domain.upper - domain.lower, 1.0)
        scaled = torch.as_tensor((y - domain.lower) / width, dtype=seen.dtype, device=seen.device)
        return torch.cat([seen, scaled.expand(len(seen), -1)], dim=1)

    def _improve(self, seen: Tensor, e: Episodes, advantages: Array) -> None:
        """Clipped steps of the policy, until it has moved far enough."""
        c = self.config
        actions = torch.as_tensor(e.flat(e.drawn), device=self.device)
        old = torch.as_tensor(e.flat(e.log_probs), device=self.device)
        gains = torch.as_tensor(advantages, dtype=torch.float32, device=self.device)
        net = backprop.Network(self.policy.net)
        for _ in range(c.epochs):
            for part in self._parts(len(gains)):
                gain, passed = gains[part], net.forward(seen[part])
                log_probs, pull = backprop.log_probabilities(self.policy, passed[-1], actions[part])
                ratio = torch.exp(log_probs - old[part])
                # The smaller of ratio * gain and clamp(ratio) * gain is flat where the policy has moved far enough.
                enough = torch.where(gain > 0, ratio > 1 + c.clip, ratio < 1 - c.clip)
                slope = (ratio * gain).masked_fill_(enough, 0.0) / -len(part)
                net.backward(passed, pull(slope))
                backprop.step(self.policy_optimiser, most=0.5)
            change = backprop.log_probabilities(self.policy, net(seen), actions)[0] - old
            if float((torch.exp(change) - 1 - change).mean()) > c.divergence:
                return

    def _fit(self, seen: Tensor, rewards: Array, indices: Array, costs: Array) -> None:
        """Both critics, by least squares on the same minibatches; V_c at one index point of the batch each."""
        wanted = torch.as_tensor(rewards, dtype=torch.float32, device=self.device)
        costly = torch.as_tensor(costs, dtype=torch.float32, device=self.device)
        beside = [self._with(seen, y) for y in indices]
        of_reward, of_cost = backprop.Network(self.reward_critic), backprop.Network(self.cost_critic)
        for _ in range(self.config.critic_epochs):
            for part in self._parts(len(wanted)):
                k = int(self.rng.integers(len(indices)))
                for net, inputs, targets in ((of_reward, seen, wanted), (of_cost, beside[k], costly[k])):
                    passed = net.forward(inputs[part])
                    net.backward(passed, (passed[-1] - targets[part, None]) * (2 / len(part)))
                backprop.step(self.critic_optimiser)

    def _parts(self, count: int) -> list[Tensor]:
        order = torch.as_tensor(self.rng.permutation(count), device=self.device)
        return list(torch.split(order, self.config.minibatch))

    # ---- evaluation -------------------------------------------------------------------------------------------------

    def evaluate(
        self,
        episodes: int | None = None,
        *,
        deterministic: bool = True,
        seed: int = 0,
        oracle: lsip.oracles.Oracle | None = None,
    ) -> Report:
        """Play with the current policy: mean return, and the worst violation over Y (found, not proven).

        `oracle` looks for it instead of the training's own.
        """
        seed, chosen = validation.seed(seed), self.oracle if oracle is None else validation.oracle(oracle)
        count = self.env.num_envs if episodes is None else validation.count("episodes", episodes)
        played = self._play(count, seed, deterministic)
        found = EpisodeViolation(self.constraint, played)
        worst = found.worst(chosen, 0.0, np.random.default_rng(seed))
        reward = float(played.returns(self.config.gamma).mean())
        arrived = float(played.terminated.mean())
        return Report(
            self.iteration, self.total_steps, reward, worst.value, worst.y, worst.value <= self.config.eta, arrived, 0.0
        )

    def keep_best(self, report: Report, feasible: float = 0.0) -> None:
        """Remember an evaluation, and the policy if it is feasible and returns more than any before."""
        self.evaluations.append(report)
        if report.violation <= feasible and (self.best is None or report.reward > self.best[0]):
            self.best = (report.reward, flat_parameters(self.policy))
            self._best_normaliser = (self.mean, self.square, self.seen)

    # ---- files ------------------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Everything that the run needs to go on, in one file without code (NumPy's .npz format)."""
        facts = {
            "kind": type(self).__name__,
            "env": getattr(self.env.spec, "id", None),
            "oracle": checkpoints.describe(self.oracle),
            "config": asdict(self.config),
            "seed": self.seed,
            "iteration": self.iteration,
            "total_steps": self.total_steps,
            "good_count": self.good_count,
            "seen": self.seen,
            "best_seen": self._best_normaliser[2],
            "rng": self.rng.bit_generator.state,
            "best": None if self.best is None else self.best[0],
            **self._facts(),
        }
        arrays: dict[str, Any] = {
            "mean": self.mean,
            "square": self.square,
            **{f"net.{name}": flat_parameters(net).cpu().numpy() for name, net in self._nets().items()},
        }
        for name, optimiser in self._optimisers().items():
            for i, state in enumerate(optimiser.state_dict()["state"].values()):
                arrays |= {f"adam.{name}.{i}.{k}": v.cpu().numpy() for k, v in state.items()}
        if self.best is not None:
            arrays["best"] = self.best[1].cpu().numpy()
            arrays["best_mean"], arrays["best_square"] = self._best_normaliser[:2]
        for name in ("history", "evaluations"):
            rows = getattr(self, name)
            arrays[name] = np.array(
                [[r.iteration, r.steps, r.reward, r.violation, r.good, r.arrived, r.seconds, *r.y] for r in rows]
            )
        checkpoints.write(path, facts, arrays)

    def _facts(self) -> dict[str, Any]:
        """What a subclass wants to be saved, too; it finds it in `_restore`."""
        return {}

    @classmethod
    def load(
        cls,
        path: str | Path,
        env: AnyEnv,
        constraint: SemiInfiniteCost | None = None,
        *,
        oracle: lsip.oracles.Oracle | None = None,
        device: str = "auto",
        tensorboard: str | Path | None = None,
        workers: Literal["ray"] | RayRollouts | None = None,
    ) -> SICPPO:
        """An agent that goes on as if it had never stopped; the environment's own `constraint()` is the default.

        Every round of episodes begins with a seeded reset, so that no state of an environment belongs to a run. Device
        and workers do not, either; on another processor, sums may be rounded otherwise.
        """
        facts, arrays = checkpoints.read(path, cls.__name__)
        with checkpoints.reading(path, cls.__name__):
            config = SICPPOConfig(**{**facts["config"], "hidden": tuple(facts["config"]["hidden"])})
            described, seed = facts["oracle"], facts["seed"]
        if constraint is None:
            make = getattr(_innermost(env), "constraint", None)
            if make is None:
                raise lsip.ModelError(
                    "The environment does not bring its constraint along; give it: load(path, env, constraint)."
                )
            constraint = make()
        if oracle is None:
            from .baselines import crpo

            oracle = checkpoints.rebuild(described, (lsip.oracles, crpo), "oracle")
        agent = cls(env, constraint, config, oracle=oracle, seed=seed, device=device, tensorboard=tensorboard)
        with checkpoints.reading(path, cls.__name__):
            agent._restore(path, facts, arrays)
        agent.pool = _open(workers, env, -(-config.episodes // agent.env.num_envs))
        return agent

    def _nets(self) -> dict[str, nn.Module]:
        return {"policy": self.policy, "reward": self.reward_critic, "cost": self.cost_critic}

    def _optimisers(self) -> dict[str, torch.optim.Adam]:
        return {"policy": self.policy_optimiser, "critic": self.critic_optimiser}

    def _restore(self, path: str | Path, facts: dict[str, Any], arrays: dict[str, Any]) -> None:
        for name, net in self._nets().items():
            now = flat_parameters(net)
            if arrays[f"net.{name}"].shape != now.shape:
                raise lsip.ModelError(f"{path} was made for other observations, actions or index sets than these.")
            set_flat_parameters(net, torch.as_tensor(arrays[f"net.{name}"]).to(now))
        for name, optimiser in self._optimisers().items():
            state = optimiser.state_dict()
            for key, value in arrays.items():
                if key.startswith(f"adam.{name}."):
                    place, field = key.split(".")[2:]
                    state["state"].setdefault(int(place), {})[field] = torch.as_tensor(value)
            parameters = [p for group in optimiser.param_groups for p in group["params"]]
            if state["state"]:
                for i, p in enumerate(parameters):
                    moments = state["state"][i]
                    if any(moments[k].shape != p.shape for k in ("exp_avg", "exp_avg_sq")) or "step" not in moments:
                        raise ValueError(f"the state of the optimiser {name} does not fit")
            optimiser.load_state_dict(state)
        size, m = self.mean.shape, self.constraint.domain.dim
        expected: dict[str, Any] = {"mean": size, "square": size}
        if facts["best"] is not None:
            expected |= {"best": flat_parameters(self.policy).shape, "best_mean": size, "best_square": size}
        for name, shape in expected.items():
            if arrays[name].shape != tuple(shape):
                raise ValueError(f"{name} has shape {arrays[name].shape}")
        for name in ("history", "evaluations"):
            if len(arrays[name]) and arrays[name].shape[1:] != (7 + m,):
                raise ValueError(f"{name} has shape {arrays[name].shape}")
        self.rng.bit_generator.state = facts["rng"]
        self.mean, self.square, self.seen = arrays["mean"], arrays["square"], facts["seen"]
        self.iteration, self.total_steps = facts["iteration"], facts["total_steps"]
        self.good_count = facts["good_count"]
        if facts["best"] is not None:
            self.best = (facts["best"], torch.as_tensor(arrays["best"]).to(flat_parameters(self.policy)))
            self._best_normaliser = (arrays["best_mean"], arrays["best_square"], facts["best_seen"])
        for name in ("history", "evaluations"):
            rows = arrays[name]
            setattr(
                self,
                name,
                [Report(int(r[0]), int(r[1]), r[2], r[3], r[7:], bool(r[4]), float(r[5]), float(r[6])) for r in rows],
            )


def _periodic(env: AnyEnv) -> bool:
    """Whether the environment says that it takes any number as an action, and wraps it itself."""
    bare, name = _innermost(env), "periodic_actions"
    if isinstance(bare, AsyncVectorEnv):  # asked politely: an error would end its processes
        return bare.call("has_wrapper_attr", name)[0] and bool(bare.get_attr(name)[0])
    return bool(getattr(bare, name, False))


def _innermost(env: AnyEnv) -> AnyEnv:
    """The environment without its wrappers; of a vector of single ones, the first."""
    bare: AnyEnv = getattr(env, "unwrapped", env)
    return bare.envs[0].unwrapped if isinstance(bare, SyncVectorEnv) else bare


def _open(workers: Literal["ray"] | RayRollouts | None, env: AnyEnv, rounds: int) -> RayPool | None:
    if workers is None:
        return None
    from .rollouts_ray import RayRollouts

    settings = RayRollouts() if workers == "ray" else workers
    if not isinstance(settings, RayRollouts):
        raise lsip.ModelError(f'`workers` is None, "ray" or an rl.RayRollouts; got {workers!r}.')
    return settings.open(env, rounds)


def _advantages(rewards: Array, values: Array, e: Episodes, gamma: float, trace: float) -> Array:
    """Advantages (T, n) of episodes of different lengths.

    After its last step, an episode that ended is worth nothing, and one that was cut off what the critic says.
    """
    T, n = e.live.shape
    ends = e.live.sum(axis=0) - 1
    ended, cut = np.zeros((T, n), dtype=bool), np.zeros((T, n), dtype=bool)
    copies = np.arange(n)
    ended[ends, copies] = e.terminated
    cut[ends, copies] = ~e.terminated
    found = gae(rewards, values[:-1], values[-1], gamma, trace, ended, cut, values[1:])
    return found * e.live


def _row(report: Report) -> dict[str, float | int | bool]:
    return {
        "iteration": report.iteration,
        "steps": report.steps,
        "reward": report.reward,
        "violation": report.violation,
        "good": report.good,
        "arrived": report.arrived,
        **{f"y{i}": float(v) for i, v in enumerate(report.y)},
    }
