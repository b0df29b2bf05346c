"""Algorithm SI-CPPO: SI-CPO with networks, critics, and any Gymnasium environment."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

import lsip
from lsip.legible import legibly
from lsip.schema import Schema, text

from . import checkpoint as checkpoints
from . import named_env, validation
from .agent_file import check_sizes, own_constraint
from .batched_search import BatchedSearch
from .certify import Guarantee, certify
from .constraint import SemiInfiniteCost
from .default_search import default_search, finite
from .episodic import EpisodicWorld, innermost, together
from .errors import NoGoodPolicyWarning
from .keeping import Judge
from .learner import SETTINGS, Callback, Evaluation, Learner, RunConfig, by_path, rebuilt
from .logs import Row, check_folder
from .player import flattened
from .policies import Policy, flat_parameters, pick_device, set_flat_parameters
from .rollouts import AnyEnv, Episodes
from .rules import Rule, Switch
from .schedules import at
from .separation import RankedPoints
from .several import Several
from .si_cppo_config import Settings, SICPPOConfig, configured
from .state import KeptPolicy, Report, is_part
from .updates import PPO, Update

if TYPE_CHECKING:
    from .rollouts_ray import RayRollouts

Array = NDArray[Any]
Observation = ArrayLike | Mapping[str, Any] | tuple[Any, ...]  # those of a Dict or Tuple as they are, or flat

FACTS: dict[str, Schema] = {  # of a file, beside its arrays
    "kind": text,
    "settings": {**SETTINGS, "env": named_env.SCHEMA, "config": by_path},
    "state": by_path,
}


class SICPPO(Learner):
    """Semi-infinitely constrained proximal policy optimisation.

    In every iteration: play episodes; maximise the mean cost over Y; if no constraint is violated by more than `eta`,
    improve the reward, else lower the cost at the worst index point; both by clipped policy steps with advantages from
    a critic, V_r(o) or V_c(o, y). The best policy that an evaluation found feasible is kept.

    Parameters
    ----------
    env
        A Gymnasium environment, best a vector of them (`gymnasium.make_vec`), with Box or Discrete actions.
        Observations are arrays (B, …) or numbers of states (B,); those of a Dict, Tuple, MultiDiscrete or MultiBinary
        are flattened, for the constraint too (`gymnasium.spaces.flatten`: keys in order, numbers as unit vectors).
    constraint
        A `SemiInfiniteCost` with a cost of points, observations and actions; an `lsip.Finite` domain gives finitely
        many constraints. Or a list of such constraints, each with its own index set, bound and discount; then y is
        reported as (k, y, 0, …) for the k-th, padded to the longest. The worst of all is what violates most as it
        is: divide costs and bounds by what is much of each.
    config
        A `SICPPOConfig`; its fields may also be given by name.
    update
        How to step: `rl.PPO` as the config says by default; `rl.TRPO`, `rl.NPG`, `rl.PolicyGradient`, or your own.
    oracle
        How to maximise over Y: any of `lsip.oracles`. By default branch-and-bound with few boxes where the constraint
        has `lipschitz` constants and at most three coordinates, `rl.BatchedSearch` where it is written in torch, else
        multistart trust region. A fixed grid (`rl.baselines.FixedGrid`) gives CRPO.
    fallback
        An oracle for iterations in which the first one fails; by default the error is raised.
    policy
        A policy of your own (`rl.policies.Policy`), which sees observations in their own shape.
    rule
        What a step is for, instead of the switch: one of `rl.rules`.
    seed, device
        The same seed gives the same run, and None draws one, which `agent.seed` then tells; "cpu", "cuda" or "mps", and
        "auto" takes a GPU where there is one.
    tensorboard
        A folder for TensorBoard and `progress.csv`.
    workers
        Who plays the episodes: this process by default; "ray", or an `rl.RayRollouts` with settings, plays them on Ray
        across cores or a cluster. The run is the same. `close` ends the workers.
    evaluation_env
        Where policies are judged, evaluated and certified, by whole episodes; the environment itself by default.
    """

    world: EpisodicWorld
    kind = "SICPPO"

    def __init__(
        self,
        env: AnyEnv,
        constraint: SemiInfiniteCost | Sequence[SemiInfiniteCost],
        config: SICPPOConfig | None = None,
        *,
        update: Update | None = None,
        oracle: lsip.oracles.Oracle | None = None,
        fallback: lsip.oracles.Oracle | None = None,
        policy: Policy | None = None,
        rule: Rule | None = None,
        seed: int | None = 0,
        device: str = "auto",
        tensorboard: str | Path | None = None,
        workers: Literal["ray"] | RayRollouts | None = None,
        evaluation_env: AnyEnv | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        c = configured(config, settings, rule=rule, update=update, policy=policy)
        rate = c.learning_rate if c.learning_rate is not None else 1e-3 if update is None else 1.0
        search = default_search(constraint, whole=c.rollout is None) if oracle is None else oracle
        super().__init__(
            Switch(c.eta, c.switch, c.only_arrived) if rule is None else rule,
            c.update() if update is None else update,
            search,
            rate,
            seed,
            fallback,
        )
        self.folder = check_folder(tensorboard)
        self.world = EpisodicWorld(env, constraint, c, policy, pick_device(device), workers, evaluation_env)
        if oracle is None and self.world.costs_in_tensors and not finite(self.constraint):
            self.oracle = BatchedSearch()  # so that the search stays on the device, too
        self.state = self.world.begin(self.seed)
        self._looking = torch.Generator(device=self.device)  # of predictions; a run has a seed a round instead
        self._looking.manual_seed(self.seed + 1)

    @legibly
    def __repr__(self) -> str:
        best = "no feasible policy yet" if self.best is None else f"best feasible return {self.best[0]:.4g}"
        spec = getattr(self.env, "spec", None)
        name = getattr(spec, "id", None) or type(innermost(self.env)).__name__
        return f"{type(self).__name__} on {name}, {self.iteration} iterations, {self.total_steps} steps, {best}"

    env = property(lambda self: self.world.env, doc="The environment, as a vector.")
    constraint = property(lambda self: self.world.constraint, doc="What must not be violated.")
    device = property(lambda self: self.world.device, doc="Where the networks are.")
    policy = property(lambda self: self.state.policy, doc="The current policy, a module of torch.")
    best = property(lambda self: self.state.best, doc="The best feasible policy so far, a `KeptPolicy`, or None.")
    total_steps = property(lambda self: self.state.steps, doc="Steps of the environment made while learning.")
    evaluations = property(lambda self: self.state.evaluations, doc="A `Report` an evaluation.")

    @property
    def config(self) -> SICPPOConfig:
        """The settings."""
        return self.world.config

    @config.setter
    def config(self, config: SICPPOConfig) -> None:
        self.world.config = config

    def close(self) -> None:
        """End the workers, where there are any. Environments are left to whoever made them."""
        if self.world.pool is not None:
            self.world.pool.close()

    # ---- acting -----------------------------------------------------------------------------------------------------

    def predict(self, observation: Observation, deterministic: bool = True) -> tuple[Array, None]:
        """An action for an observation, or a batch of them, by the best feasible policy.

        Observations are as the environment gives them, one or a vector of them; those of a Dict may also be flat.
        While no evaluation has found a policy feasible it is the current one, with a `NoGoodPolicyWarning`.
        """
        validation.flag("deterministic", deterministic)
        space = self.world.space
        seen = validation.array("observation", flattened(self.world.seen, observation))
        shape = tuple(space.shape or ())
        single = seen.shape == shape
        if not single and seen.shape[1:] != shape:
            many = ", ".join(map(str, ("N", *shape)))
            raise lsip.ModelError(f"Observations have shape {shape}, or ({many}) for many; got {seen.shape}.")
        self._warn()
        with self._using_best() as player:
            actions = player.to_env(player.draw(seen[None] if single else seen, self._looking, deterministic))
        return (actions[0] if single else actions), None

    def _warn(self) -> None:
        if self.best is None:
            warnings.warn(
                f"No evaluation has found a policy feasible in {self.iteration} iterations, so this is the current "
                "one. Learn for longer, or raise `eta` or the bounds.",
                NoGoodPolicyWarning,
                stacklevel=3,
            )

    @contextmanager
    def _using_best(self) -> Iterator[Any]:
        """The best policy, and the normaliser that it was found with, for a while."""
        now, best = flat_parameters(self.state.policy), self.best
        if best is not None:
            set_flat_parameters(self.state.policy, best.parameters)
        try:
            yield self.world.player(self.state, best)
        finally:
            set_flat_parameters(self.state.policy, now)

    def episodes(self, count: int, seed: int, *, deterministic: bool = True) -> Episodes:
        """Fresh episodes of the policy that `predict` uses: exactly so many, the same for the same seed."""
        self._warn()
        return self._fresh(count, seed, deterministic)

    def _fresh(self, count: int, seed: int, deterministic: bool) -> Episodes:
        validation.flag("deterministic", deterministic)
        with self._using_best() as player:
            played = self.world.fresh(player, validation.count("count", count), validation.seed(seed), deterministic)
        return played.first(count)

    def certify(
        self,
        episodes: int = 20_000,
        delta: float = 0.05,
        *,
        seed: int | None = None,
        horizon: int | None = None,
        deterministic: bool = True,
    ) -> Guarantee:
        """What holds for the policy that `predict` uses, for all y at once, with probability at least 1 - delta.

        Parameters
        ----------
        episodes
            Fresh ones, that are played for it.
        delta
            How likely the bound may be wrong.
        seed
            Of the episodes: none that was used to choose the policy. None takes a new one.
        horizon
            The most steps of an episode, where costs are not discounted; the limit of the environment by default.
        deterministic
            Whether the policy takes its most likely actions, as `predict` does by default; else it draws them, as
            `predict(…, deterministic=False)` does. The guarantee says which of the two it is about (`policy`).
        """
        self._warn()
        validation.number("delta", delta, "probability")  # before 20,000 episodes are played for it
        fresh = int(np.random.SeedSequence().generate_state(1)[0] >> 1) if seed is None else seed
        limit = None if horizon is None else validation.count("horizon", horizon)
        if limit is None and self.constraint.gamma == 1:  # of several, the largest
            limit = getattr(getattr(self.env, "spec", None), "max_episode_steps", None)
            limit = limit or getattr(innermost(self.env), "max_episode_steps", None)
        played = self._fresh(episodes, fresh, deterministic)
        if isinstance(self.constraint, Several):
            # δ is not divided: the worst point of all sets is one point, too.
            each = [certify(part, played, delta=delta, horizon=limit) for part in self.constraint.parts]
            k = int(np.argmax([one.bound for one in each]))
            found = replace(each[k], y=self.constraint.domain.lift(k, each[k].y[None])[0])
        else:
            found = certify(self.constraint, played, delta=delta, horizon=limit)
        return replace(found, policy="deterministic" if deterministic else "stochastic")

    # ---- learning ---------------------------------------------------------------------------------------------------

    def learn(
        self,
        total_steps: int,
        *,
        verbose: bool = False,
        evaluate_every: int = 5,
        feasible: float = 0.0,
        checkpoint: str | Path | None = None,
        every: int | None = None,
        target: float | None = None,
        callback: Callback | Sequence[Callback] | None = None,
    ) -> SICPPO:
        """Go on until so many steps have been made in all.

        An interrupt (Ctrl-C), or an error, undoes the iteration that it falls into and writes the checkpoint before it
        goes on, so that the agent, in memory and in the file, can always go on as if there had been none.

        Parameters
        ----------
        total_steps
            Steps of the environment, those of earlier calls included, and those that copies make after their episode
            has ended, while they wait for others. The last iteration is made in full, so that there may be more.
        verbose
            Show a line of progress.
        evaluate_every, feasible
            Every so many iterations, play with the deterministic policy and fresh seeds. One whose violation is at most
            `feasible`, and whose return is the best so far, is played again, with `confirmation` times the episodes,
            and kept as `best` if these show the same, with the confidence of the config for the whole run.
        checkpoint, every
            A file, written every so many iterations (10) and at the end; `load` goes on from it. On Ray it is written
            after each: when Ray's own process on this machine dies, Ray ends this one, too, and nothing can be done.
        target
            Stop as soon as a feasible policy returns this much.
        callback
            Called with the agent and every `Report`, one or a list of them; any that returns True stops.
        """
        goal = validation.work("total_steps", total_steps)
        validation.count("evaluate_every", evaluate_every)
        pace = 10 if every is None else validation.count("every", every)
        if checkpoint is None:
            validation.unused("a run without a `checkpoint`", every=every)
        if self.world.pool is not None:
            pace = 1
        validation.number("feasible", feasible)
        if target is not None:
            validation.number("target", target)

        def after() -> bool:
            if self.iteration % evaluate_every == 0:
                self.judge(feasible)
            return target is not None and self.best is not None and self.best.reward >= target

        threads = torch.get_num_threads()
        torch.set_num_threads(self.config.threads)
        try:
            self._learn(RunConfig(goal, "steps", self.folder, True, verbose, checkpoint, pace, callback, after))
        finally:
            torch.set_num_threads(threads)
        return self

    def _iterate(self, started: float, share: float) -> Report:
        entropy = self.config.entropy
        if isinstance(self.update, PPO) and (entropy is None or callable(entropy)):
            bonus = (
                self.config.still * (self._slowed() - 1) if entropy is None else at("entropy", entropy, share, "finite")
            )
            self.update = replace(self.update, entropy=bonus)
        # Weights change while they are in use: copies of them in lower precision must not be kept.
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.config.amp, cache_enabled=False):
            return super()._iterate(started, share)

    def _row(self, report: Report) -> Row:
        row = super()._row(report) | {"evaluation_reward": "", "evaluation_violation": ""}
        last = self.evaluations[-1] if self.evaluations else None
        if last is not None and last.iteration == self.iteration:
            row |= {"evaluation_reward": last.reward, "evaluation_violation": last.violation}
        return row

    # ---- evaluation -------------------------------------------------------------------------------------------------

    def evaluate(
        self,
        episodes: int | None = None,
        *,
        deterministic: bool = True,
        seed: int = 0,
        oracle: lsip.oracles.Oracle | None = None,
        confidence: float | None = None,
    ) -> Report:
        """Play with the current policy: mean return, and the worst violation over Y (found, not proven).

        `oracle` looks for it instead of the training's own. The report's `margin` is what chance may add to the
        violation: with this confidence, or that of the config, the true violation at any y is at most `violation` +
        `margin`, the largest upper confidence bound over Y (`rl.upper_violation`). What no episode has shown is not in
        it; `certify` has room for that, too.
        """
        validation.flag("deterministic", deterministic)
        chosen = self.oracle if oracle is None else validation.oracle(oracle)
        count = self.env.num_envs if episodes is None else validation.count("episodes", episodes)
        sure = self.config.confidence if confidence is None else confidence
        validation.number("confidence", sure, "probability")
        played = self.world.fresh(self.world.player(self.state), count, validation.seed(seed), deterministic)
        return self._judge.report(self.state, played, seed, sure, chosen)

    @property
    def _judge(self) -> Judge:
        return Judge(self.world, self.oracle, self.fallback, self.eta)

    def judge(self, feasible: float = 0.0) -> None:
        """Evaluate with fresh seeds, and keep the policy if it is feasible and returns more than any before.

        Feasible it is where a trial shows it, by the largest upper confidence bound over Y (`rl.upper_violation`). Such
        a trial takes four times `evaluation_episodes` or more: as many as the noise asks for, while trials take no more
        steps than learning. What is said of `best` is from episodes that chose nothing (`rl.keeping`).
        """
        self.remember(*self._judge.judge(self.state, self.seed, feasible))

    def remember(self, report: Report, better: bool) -> None:
        """Take note of an evaluation, and of the policy if it is better than all before."""
        self.state.evaluations.append(report)
        if better:
            vector = flat_parameters(self.state.policy)
            self.state.best = KeptPolicy(report.reward, vector, report.violation, self.state.observed)

    def _aimed(self, worst: RankedPoints, evaluation: Evaluation) -> RankedPoints:
        return self._judge.aimed(worst, evaluation, self.state)

    def _slowed(self) -> float:
        """Steps are shorter the more often they have crossed what they aim at (Kesten 1958), where no rate is given."""
        if self.config.learning_rate is not None:
            return 1.0
        sides = np.array([r.numbers.get("lacking", r.violation) > self.eta for r in self.history])
        return 1 / float(np.sqrt(1 + (sides[1:] != sides[:-1]).sum() / self.config.settling))

    # ---- files ------------------------------------------------------------------------------------------------------

    def _settings(self) -> dict[str, Any]:
        values = {f.name: getattr(self.config, f.name) for f in fields(self.config)}
        config = {name: checkpoints.describe(v) if callable(v) else v for name, v in values.items()}
        return {"env": named_env.named(self.env), "config": config}

    @classmethod
    def load(
        cls,
        path: str | Path,
        env: AnyEnv | None = None,
        constraint: SemiInfiniteCost | Sequence[SemiInfiniteCost] | None = None,
        *,
        update: Update | None = None,
        oracle: lsip.oracles.Oracle | None = None,
        fallback: lsip.oracles.Oracle | None = None,
        policy: Policy | None = None,
        rule: Rule | None = None,
        device: str = "auto",
        tensorboard: str | Path | None = None,
        workers: Literal["ray"] | RayRollouts | None = None,
        evaluation_env: AnyEnv | None = None,
    ) -> SICPPO:
        """An agent that goes on as if it had never stopped; the environment's own `constraint()` is the default.

        Without an environment, it is made by the name that it had in Gymnasium's registry, with as many copies; one
        that had options or wrappers must be given. Every round of episodes begins with a seeded reset, so that no state
        of an environment belongs to a run. Device and workers do not, either; on another processor, sums may be rounded
        otherwise.
        """
        facts, arrays = checkpoints.read(path, cls.kind, FACTS, is_part)
        parts = {"update": update, "oracle": oracle, "fallback": fallback, "rule": rule}
        with checkpoints.reading(path, cls.kind, facts):
            settings = facts["settings"]
            config = {name: rebuilt(settings["config"], {}, (name,))[name] for name in settings["config"]}
            rebuilt_parts = rebuilt(settings, parts, ("update", "oracle", "fallback", "rule", "learning_rate"))
            rate, seed, named = rebuilt_parts.pop("learning_rate"), settings["seed"], settings["env"]
            kept = SICPPOConfig(**{**config, "hidden": tuple(config["hidden"])})
            held = sum(array.size for array in arrays.values())
        if env is None:
            env = named_env.make(path, named, held)
        limits: Any = together(own_constraint(env) if constraint is None else constraint)
        with checkpoints.reading(path, cls.kind, facts):
            check_sizes(path, kept, env, limits, arrays)
        agent = cls.__new__(cls)
        options: dict[str, Any] = {"device": device, "tensorboard": tensorboard, "workers": workers, "policy": policy}
        options["evaluation_env"] = evaluation_env
        SICPPO.__init__(agent, env, limits, kept, seed=seed, **rebuilt_parts, **options)
        agent.learning_rate = rate
        agent._restore(path, facts, arrays)
        return agent
