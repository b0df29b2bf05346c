"""Algorithm SI-CPO: evaluate the policy, find the worst index point, step on the reward or on that point's cost."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

import lsip
from lsip.legible import legibly
from lsip.schema import Schema, text, whole
from lsip.validation import numbers

from . import checkpoint as checkpoints
from . import validation
from .certify import Guarantee, certify
from .errors import NoGoodPolicyWarning
from .evaluation import Evaluator, MonteCarlo, check_model
from .learner import SETTINGS, Callback, Learner, RunConfig, by_path, described, rebuilt
from .policies import Categorical, flat_parameters, pick_device, set_flat_parameters
from .rules import Rule, Switch
from .schedules import Schedule
from .sicmdp import SICMDP
from .simulator import Simulator, rollout
from .state import is_part
from .tabular import TabularWorld
from .updates import NPG, Update
from .validation import Seed

Array = NDArray[np.float64]
CHOICES = ("uniform", "best", "average", "last")

FACTS: dict[str, Schema] = {  # of a file, beside its arrays
    "kind": text,
    "settings": {**SETTINGS, "evaluation": described, "policy": (text, whole), "shape": (whole, whole)},
    "state": by_path,
}


class Parts(TypedDict, total=False):
    """What a run is made of."""

    update: Update | None
    evaluation: Evaluator | None
    oracle: lsip.oracles.Oracle | None
    fallback: lsip.oracles.Oracle | None
    rule: Rule | None
    policy: Categorical | None
    features: ArrayLike | None


class SICPOOptions(Parts, total=False):
    """All options of `SICPO`."""

    eta: float
    switch: Literal["worst", "set"]
    learning_rate: Schedule
    seed: int | None
    device: str


class SICPO(Learner):
    """Semi-infinitely constrained policy optimisation.

    In every iteration: estimate the visits of the policy; maximise the estimated violation over Y; if it is at most
    `eta`, remember the policy as good and step towards more reward, else step towards less of the worst cost.

    Parameters
    ----------
    problem
        An `rl.SICMDP`, or a simulator (see `rl.Simulator`), which then is only sampled.
    update
        How to step: `rl.NPG` (the paper's), `PolicyGradient`, `TRPO` or `PPO`.
    evaluation
        How to estimate visits: `rl.MonteCarlo` (the paper's), `TemporalDifference` or `Exact`.
    oracle
        How to maximise over Y: any of `lsip.oracles`; the paper's random search with 100 points by default.
    eta
        Tolerance of the switch, 0.01 by default; a negative one is a margin.
    switch
        "worst" steps on the cost at the worst index point, as in the paper; "set" on those at all points that are known
        to be violated, see `rl.rules.Switch`.
    learning_rate
        alpha: a number, or a function of the share of the run that is done, such as `rl.Linear(1, 0)`.
    policy, features
        A softmax table by default; a `Categorical` policy with what it observes in each state (S, k), one-hot vectors
        by default.
    seed
        The same seed gives the same run; None draws one, which `agent.seed` then tells.
    device
        "cpu", "cuda" or "mps"; "auto" takes a GPU where there is one.
    fallback
        An oracle for iterations in which the first one fails; by default the error is raised.
    rule
        What a step is for, instead of the switch: one of `rl.rules`.

    Examples
    --------
    >>> import envs, lsip, rl
    >>> mdp = envs.sewage(states=4, actions=2, seed=1)
    >>> agent = rl.SICPO(mdp, update=rl.NPG(samples=200), evaluation=rl.MonteCarlo(paths=10_000), eta=0.02, seed=0)
    >>> agent.learn(50).policy.shape
    (4, 2)
    """

    world: TabularWorld
    kind = "SICPO"

    def __init__(
        self,
        problem: SICMDP | Simulator,
        *,
        update: Update | None = None,
        evaluation: Evaluator | None = None,
        oracle: lsip.oracles.Oracle | None = None,
        eta: float = Switch.eta,
        switch: Literal["worst", "set"] = "worst",
        learning_rate: Schedule = 1.0,
        policy: Categorical | None = None,
        features: ArrayLike | None = None,
        seed: int | None = 0,
        device: str = "auto",
        fallback: lsip.oracles.Oracle | None = None,
        rule: Rule | None = None,
    ) -> None:
        search = lsip.oracles.RandomSearch(points=100) if oracle is None else oracle
        validation.choice("switch", switch, ("worst", "set"))  # "likely" is for episodes
        switching = Switch(eta, switch)
        if rule is not None and switching != Switch():
            raise lsip.ModelError("`eta` and `switch` cannot be used with a `rule` in place of the switch.")
        super().__init__(
            switching if rule is None else rule,
            NPG() if update is None else update,
            search,
            learning_rate,
            seed,
            fallback,
        )
        way = MonteCarlo() if evaluation is None else evaluation
        self.world = TabularWorld(problem, way, policy, features, pick_device(device))
        self.state = self.world.begin(self.seed)

    @legibly
    def __repr__(self) -> str:
        spec = self.specification
        return (
            f"{type(self).__name__} with {spec.states} states and {spec.actions} actions, "
            f"{self.iteration} iterations done, {self.good_count} of them good"
        )

    simulator = property(lambda self: self.world.simulator, doc="What is sampled.")
    specification = property(lambda self: self.world.specification, doc="Rewards and constraints.")
    evaluation = property(lambda self: self.world.evaluation, doc="How visits are estimated.")

    def learn(
        self,
        iterations: int,
        *,
        log: str | Path | None = None,
        tensorboard: bool = True,
        verbose: bool = False,
        checkpoint: str | Path | None = None,
        every: int | None = None,
        callback: Callback | Sequence[Callback] | None = None,
    ) -> SICPO:
        """Go on for so many iterations.

        An interrupt (Ctrl-C), or an error, undoes the iteration that it falls into and writes the checkpoint before it
        goes on, so that the agent, in memory and in the file, can always go on as if there had been none.

        Parameters
        ----------
        iterations
            How many more.
        log
            A folder for `progress.csv` and, if that is installed, TensorBoard.
        tensorboard
            Whether TensorBoard is written there, too.
        verbose
            Show a line of progress.
        checkpoint, every
            A file that is written every so many iterations (1000) and at the end; `load` goes on from it.
        callback
            Called with the agent and every `Report`, one or a list of them; any that returns True stops.
        """
        goal = self.iteration + validation.work("iterations", validation.count("iterations", iterations))
        pace = 1000 if every is None else every
        if checkpoint is None:
            validation.unused("a run without a `checkpoint`", every=every)
        self._learn(RunConfig(goal, "iteration", log, tensorboard, verbose, checkpoint, pace, callback))
        return self

    # ---- what was learned -------------------------------------------------------------------------------------------

    @property
    def policy(self) -> Array:
        """The policy (S, A) that the algorithm returns: drawn uniformly from the good set.

        While no iterate has been good it is the last one, with a `NoGoodPolicyWarning`.
        """
        self._warn("uniform")
        return self.choose("uniform")

    def _warn(self, choice: str) -> None:
        if choice != "last" and not self.good_count:
            warnings.warn(
                f"None of {self.iteration} iterates kept every constraint to within eta = {self.eta:g}, so this is the "
                "last one. Learn for longer, or raise `eta` or the bounds.",
                NoGoodPolicyWarning,
                stacklevel=3,
            )

    def choose(self, choice: str) -> Array:
        """A policy (S, A) by name; while no iterate has been good, the last one.

        "uniform" is drawn from the good set, as in the algorithm; "best" has the highest estimated reward in it;
        "average" is the mean of its last 100 members; "last" is the last iterate, good or not.
        """
        validation.choice("choice", choice, CHOICES)
        kept = self.state.drawn if choice == "uniform" else self.state.best
        if choice == "last" or kept is None:
            return self.world.table()
        if choice == "average":
            return np.mean(self.state.recent, axis=0)
        now = flat_parameters(self.state.policy)
        set_flat_parameters(self.state.policy, kept.parameters)
        table = self.world.table()
        set_flat_parameters(self.state.policy, now)
        return table

    def predict(
        self, states: ArrayLike, *, deterministic: bool = False, choice: str = "uniform", seed: Seed = None
    ) -> NDArray[np.intp]:
        """Actions for states: drawn from the policy, or its most likely ones; `choice` as in `choose`."""
        validation.flag("deterministic", deterministic)
        wanted, last = numbers(states, "States", nan=True), self.specification.states - 1
        if np.asarray(states).dtype.kind not in "iu" or (wanted < 0).any() or (wanted > last).any():
            raise lsip.ModelError(f"States are integers from 0 to {last}; got {validation.shown(states)}.")
        rows = self.choose(choice)[wanted.astype(np.intp)]
        self._warn(choice)
        if deterministic:
            return rows.argmax(axis=-1)
        u = validation.generator(seed).random((*wanted.shape, 1))
        return (np.cumsum(rows, axis=-1)[..., :-1] < u).sum(axis=-1)

    def certify(
        self,
        episodes: int = 20_000,
        delta: float = 0.05,
        *,
        choice: str = "uniform",
        horizon: int = 100,
        seed: Seed = None,
    ) -> Guarantee:
        """What holds for a policy, `choice` as in `choose`, for all y at once.

        Where the model is known it is proven, and the other arguments play no part. Otherwise it holds with probability
        at least 1 - delta, and rests on so many fresh paths of `horizon` steps, and on the most that may follow them.
        """
        policy = self.choose(choice)
        self._warn(choice)
        model = check_model(self.evaluation, self.simulator)
        count, steps = validation.count("episodes", episodes), validation.count("horizon", horizon)
        if model is not None:
            validation.number("delta", delta, "probability")
            return certify(model, policy)
        pairs = rollout(self.simulator, policy, steps, validation.generator(seed), count=count)
        visits = np.zeros((count, policy.size))
        for t, row in enumerate(pairs):
            visits[np.arange(count), row] += self.specification.gamma**t
        return certify(self.specification, visits.reshape(count, *policy.shape), delta=delta)

    # ---- files ------------------------------------------------------------------------------------------------------

    def _settings(self) -> dict[str, Any]:
        spec = self.specification
        return {
            "evaluation": checkpoints.describe(self.evaluation),
            "policy": [type(self.state.policy).__name__, len(flat_parameters(self.state.policy))],
            "shape": [spec.states, spec.actions],
        }

    @classmethod
    def load(
        cls, path: str | Path, problem: SICMDP | Simulator, *, device: str = "auto", **parts: Unpack[Parts]
    ) -> SICPO:
        """An agent that goes on as if it had never stopped.

        `parts` gives what a file cannot hold: `policy` and `features` for other policies than the softmax table, and
        an `update`, `evaluation`, `rule` or `oracle` of your own making.
        """
        other = [name for name in parts if name not in Parts.__annotations__]
        if other:
            raise lsip.ModelError(
                f"A loaded run keeps its own {', '.join(other)}; `load` takes {', '.join(Parts.__annotations__)} and "
                "device. To go on otherwise, set the attribute afterwards: agent.eta = …"
            )
        facts, arrays = checkpoints.read(path, "SICPO", FACTS, is_part)
        with checkpoints.reading(path, "SICPO", facts):
            settings = facts["settings"]
            (name, size), (states, actions) = settings["policy"], settings["shape"]
            own = ("update", "evaluation", "oracle", "fallback", "rule", "learning_rate")
            options: dict[str, Any] = {**parts, **rebuilt(settings, parts, own)}
        agent = cls.__new__(cls)
        SICPO.__init__(agent, problem, seed=settings["seed"], device=device, **options)
        here, spec = agent.state.policy, agent.specification
        if (name, size) != (type(here).__name__, len(flat_parameters(here))):
            raise lsip.ModelError(
                f"{path} holds a {name} with {size} parameters; the policy here is a {type(here).__name__} with "
                f"{len(flat_parameters(here))}. Give `policy=` (and `problem`) as then."
            )
        if (states, actions) != (spec.states, spec.actions):
            raise lsip.ModelError(
                f"{path} is of a problem with {states} states and {actions} actions; this one has {spec.states} and "
                f"{spec.actions}."
            )
        agent._restore(path, facts, arrays)
        if any(table.shape != (spec.states, spec.actions) for table in agent.state.recent):
            raise lsip.ModelError(f"{path} is damaged: it holds policies of other shapes than {(states, actions)}.")
        return agent
