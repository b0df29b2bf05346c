"""Algorithm SI-CPO: evaluate the policy, find the worst index point, step on the reward or on that point's cost."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

import lsip

from . import checkpoint as checkpoints
from . import evaluation as evaluations
from . import updates, validation
from .errors import NoGoodPolicyWarning
from .evaluation import Evaluation, MonteCarlo, check_model
from .logs import Log, progress
from .policies import Categorical, SoftmaxTable, flat_parameters, pick_device, set_flat_parameters
from .sicmdp import SICMDP
from .simulator import Simulator, as_simulator
from .snapshot import Snapshot
from .updates import NPG, Learner, Update
from .validation import Seed

Array = NDArray[np.float64]
SETTINGS = ("eta", "learning_rate", "seed", "update", "evaluation", "oracle")
FACTS = ("iteration", "good_count", "rng", "policy")
GOOD = ("drawn", "best", "best_reward", "recent")
ARRAYS = ("parameters", "history", "history_y", "shape")
PARTS = ("update", "evaluation", "oracle", "policy", "features")  # that `load` takes
CHANGING = ("iteration", "good_count", "_drawn", "_best", "_recent")  # replaced by an iteration
CHOICES = ("uniform", "best", "average", "last")
WINDOW = 100  # good policies that `average` is the mean of


@dataclass(frozen=True, eq=False)
class Iteration:
    """One step of the switching loop."""

    iteration: int
    reward: float  # estimated V_r
    violation: float  # estimated V_{c_y} - u_y at the worst y found
    y: Array  # (m,)
    good: bool  # whether the step was on the reward
    seconds: float


class Parts(TypedDict, total=False):
    """What a run is made of."""

    update: Update | None
    evaluation: Evaluation | None
    oracle: lsip.oracles.Oracle | None
    policy: Categorical | None
    features: ArrayLike | None


class Options(Parts, total=False):
    """All options of `SICPO`."""

    eta: float
    learning_rate: float
    seed: int | None
    device: str


class SICPO:
    """Semi-infinitely constrained policy optimisation.

    In every iteration: estimate the visits of the policy; maximise the estimated violation over Y; if it is at most
    `eta`, remember the policy as good and step towards more reward, else step towards less of the worst cost.

    Parameters
    ----------
    problem
        An `rl.SICMDP`, or a simulator (see `rl.Simulator`), which then is only sampled.
    update
        How to step: `rl.NPG` (the paper's), `FisherNPG`, `PolicyGradient`, `TRPO` or `PPO`.
    evaluation
        How to estimate visits: `rl.MonteCarlo` (the paper's), `TemporalDifference` or `Exact`.
    oracle
        How to maximise over Y: any of `lsip.oracles`; the paper's random search with 100 points by default.
    eta
        Tolerance of the switch.
    learning_rate
        alpha.
    policy, features
        A softmax table by default; a `Categorical` policy with what it observes in each state (S, k), one-hot vectors
        by default.
    seed
        The same seed gives the same run; None draws one, which `agent.seed` then tells.
    device
        "auto" takes a GPU where there is one.

    Examples
    --------
    >>> import envs, lsip, rl
    >>> mdp = envs.sewage(states=4, actions=2, seed=1)
    >>> agent = rl.SICPO(mdp, update=rl.NPG(samples=200), evaluation=rl.MonteCarlo(paths=10_000), eta=0.02, seed=0)
    >>> agent.learn(50).policy.shape
    (4, 2)
    """

    def __init__(
        self,
        problem: SICMDP | Simulator,
        *,
        update: Update | None = None,
        evaluation: Evaluation | None = None,
        oracle: lsip.oracles.Oracle | None = None,
        eta: float = 0.01,
        learning_rate: float = 1.0,
        policy: Categorical | None = None,
        features: ArrayLike | None = None,
        seed: int | None = 0,
        device: str = "auto",
    ) -> None:
        self.eta = validation.number("eta", eta, "nonnegative")
        self.learning_rate = validation.number("learning_rate", learning_rate, "positive")
        self.seed = validation.seed(seed)
        self.simulator = as_simulator(problem)
        self.specification = self.simulator.specification
        self.update: Update = NPG() if update is None else validation.part("update", update, "step", "rl.NPG()")
        self.evaluation: Evaluation = (
            MonteCarlo()
            if evaluation is None
            else validation.part("evaluation", evaluation, "evaluate", "rl.MonteCarlo()")
        )
        check_model(self.evaluation, self.simulator)
        self.oracle = lsip.oracles.RandomSearch(points=100) if oracle is None else validation.oracle(oracle)
        self.device = pick_device(device)
        S, A = self.specification.r.shape
        chosen = SoftmaxTable(S, A) if policy is None else policy
        self.learner = Learner(self.simulator, chosen, _features(chosen, features, (S, A), self.device))
        self.rng = np.random.default_rng(self.seed)
        self.iteration = 0
        self.history: list[Iteration] = []
        self.good_count = 0
        self._drawn: torch.Tensor | None = None  # uniform among all good policies so far
        self._best: tuple[float, torch.Tensor] | None = None
        self._recent: list[Array] = []  # tables of the last good policies

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__} with {self.specification.states} states and {self.specification.actions} actions, "
            f"{self.iteration} iterations done, {self.good_count} of them good"
        )

    # ---- learning ---------------------------------------------------------------------------------------------------

    def learn(
        self,
        iterations: int,
        *,
        log: str | Path | None = None,
        tensorboard: bool = True,
        verbose: bool = False,
        checkpoint: str | Path | None = None,
        every: int = 1000,
        callback: Callable[[SICPO, Iteration], Any] | None = None,
    ) -> SICPO:
        """Go on for so many iterations.

        An interrupt (Ctrl-C) undoes the iteration that it falls into and writes the checkpoint before it goes on, so
        that the agent, in memory and in the file, can always go on as if there had been none.

        Parameters
        ----------
        iterations
            How many more.
        log
            A folder for `progress.csv` and, if that is installed, TensorBoard.
        verbose
            Show a line of progress.
        checkpoint, every
            A file that is written every so many iterations and at the end; `load` goes on from it.
        callback
            Called with the agent and every `Iteration`; returning True stops.
        """
        validation.count("iterations", iterations)
        validation.count("every", every)
        validation.function("callback", callback, "agent", "iteration")
        checkpoints.check_target(checkpoint)
        writer = Log(log, first=self.iteration, tensorboard=tensorboard)
        started, before = time.perf_counter(), self._snapshot()
        try:
            with progress(int(iterations), verbose) as show:
                for k in range(int(iterations)):
                    row = self._iterate(started)
                    before = self._snapshot()
                    writer.write(self._row(row))
                    share = self.good_count / self.iteration
                    show(k + 1, f"reward {row.reward:.4f}  violation {row.violation:+.4f}  good {share:.0%}")
                    due = self.iteration % every == 0 or k + 1 == iterations
                    if checkpoint is not None and due:
                        writer.flush()
                        self.save(checkpoint)
                    if callback is not None and callback(self, row):
                        if checkpoint is not None and not due:
                            self.save(checkpoint)
                        break
        except KeyboardInterrupt:
            before.undo()
            if checkpoint is not None:
                self.save(checkpoint)
            raise
        finally:
            writer.close()
        return self

    def _snapshot(self) -> Snapshot:
        return Snapshot.of(self, CHANGING, ["history"], [self.learner.policy])

    def _iterate(self, started: float) -> Iteration:
        spec, learner = self.specification, self.learner
        table = learner.table()
        found = self.evaluation.evaluate(self.simulator, table, self.rng)
        worst = self.oracle.maximise(
            spec.costs.violation(found.visits), target=self.eta, seed=int(self.rng.integers(2**31))
        )
        k = int(np.argmax(worst.values))
        y, violation = worst.points[k], float(worst.values[k])
        if not np.isfinite([violation, found.reward]).all():
            raise lsip.ModelError(
                f"The estimates of iteration {self.iteration} are not numbers: reward {found.reward}, violation "
                f"{violation} at y = {y}. Look at what `cost`, `bound` and the evaluation give there."
            )
        good = violation <= self.eta
        criterion = spec.r
        if good:
            self._remember(found.reward, table)
        else:
            criterion = spec.costs.criterion(y, spec.states)
        self.update.step(learner, criterion, 1.0 if good else -1.0, self.learning_rate, self.rng)
        row = Iteration(self.iteration, found.reward, violation, y, good, time.perf_counter() - started)
        self.iteration += 1
        self.history.append(row)
        return row

    def _remember(self, reward: float, table: Array) -> None:
        """The good set: one of its members at random, its best, and its latest."""
        self.good_count += 1
        if self.rng.random() * self.good_count < 1:
            self._drawn = flat_parameters(self.learner.policy)
        if self._best is None or reward > self._best[0]:
            self._best = (reward, flat_parameters(self.learner.policy))
        self._recent = [*self._recent, table][-WINDOW:]

    def _row(self, row: Iteration) -> dict[str, float | int | bool]:
        numbers: dict[str, float | int | bool] = {
            "iteration": row.iteration,
            "reward": row.reward,
            "violation": row.violation,
            "good": row.good,
            "good_share": self.good_count / self.iteration,
        }
        return numbers | {f"y{i}": float(v) for i, v in enumerate(row.y)}

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
        if choice not in CHOICES:
            raise lsip.ModelError(f"`choice` is one of {', '.join(CHOICES)}; got {choice!r}.")
        if choice == "last" or not self.good_count:
            return self.learner.table()
        if choice == "average":
            return np.mean(self._recent, axis=0)
        vector = self._drawn if choice == "uniform" or self._best is None else self._best[1]
        assert vector is not None
        now = flat_parameters(self.learner.policy)
        set_flat_parameters(self.learner.policy, vector)
        table = self.learner.table()
        set_flat_parameters(self.learner.policy, now)
        return table

    def predict(
        self, states: ArrayLike, *, deterministic: bool = False, choice: str = "uniform", seed: Seed = None
    ) -> NDArray[np.intp]:
        """Actions for states: drawn from the policy, or its most likely ones; `choice` as in `choose`."""
        given = np.asarray(states)
        if (
            not np.issubdtype(given.dtype, np.integer)
            or (given < 0).any()
            or (given >= self.specification.states).any()
        ):
            raise lsip.ModelError(f"States are integers from 0 to {self.specification.states - 1}; got {states!r}.")
        rows = self.choose(choice)[given]
        self._warn(choice)
        if deterministic:
            return rows.argmax(axis=-1)
        u = validation.generator(seed).random((*given.shape, 1))
        return (np.cumsum(rows, axis=-1)[..., :-1] < u).sum(axis=-1)

    # ---- files ------------------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Everything that the run needs to go on, in one file without code (NumPy's .npz format)."""
        facts = {
            "kind": "SICPO",
            "iteration": self.iteration,
            "good_count": self.good_count,
            "rng": self.rng.bit_generator.state,
            "settings": {
                "eta": self.eta,
                "learning_rate": self.learning_rate,
                "seed": self.seed,
                **{name: checkpoints.describe(getattr(self, name)) for name in ("update", "evaluation", "oracle")},
            },
            "policy": type(self.learner.policy).__name__,
        }
        arrays: dict[str, Any] = {"parameters": _numpy(flat_parameters(self.learner.policy))}
        if self._drawn is not None and self._best is not None:
            arrays |= {"drawn": _numpy(self._drawn), "best": _numpy(self._best[1]), "best_reward": self._best[0]}
            arrays["recent"] = np.array(self._recent)
        h = self.history
        arrays |= {
            "history": np.array([[r.reward, r.violation, r.good, r.seconds] for r in h]).reshape(-1, 4),
            "history_y": np.array([r.y for r in h]).reshape(len(h), self.specification.constraint.domain.dim),
            "shape": np.array(self.specification.r.shape),
        }
        checkpoints.write(path, facts, arrays)

    @classmethod
    def load(
        cls, path: str | Path, problem: SICMDP | Simulator, *, device: str = "auto", **parts: Unpack[Parts]
    ) -> SICPO:
        """An agent that goes on as if it had never stopped.

        `parts` gives what a file cannot hold: `policy` and `features` for other policies than the softmax table, and
        an `update`, `evaluation` or `oracle` of your own making.
        """
        other = [name for name in parts if name not in PARTS]
        if other:
            raise lsip.ModelError(
                f"A loaded run keeps its own {', '.join(other)}; `load` takes {', '.join(PARTS)} and device. To go on "
                "otherwise, set the attribute afterwards: agent.eta = …"
            )
        facts, arrays = checkpoints.read(path, "SICPO")
        with checkpoints.reading(path, "SICPO"):
            settings = {name: facts["settings"][name] for name in SETTINGS}
            needed = (*ARRAYS, *(GOOD if facts["good_count"] else ()))
            missing = [name for name in needed if name not in arrays] + [n for n in FACTS if n not in facts]
            if missing:
                raise KeyError(", ".join(missing))
        made: dict[str, Any] = {**parts}
        for name in ("update", "evaluation", "oracle"):
            if name not in made:
                made[name] = checkpoints.rebuild(settings[name], _homes(), name)
        agent = cls(
            problem,
            eta=settings["eta"],
            learning_rate=settings["learning_rate"],
            seed=settings["seed"],
            device=device,
            **made,
        )
        agent._restore(path, facts, arrays)
        return agent

    def _restore(self, path: str | Path, facts: dict[str, Any], arrays: dict[str, Any]) -> None:
        vector = flat_parameters(self.learner.policy)
        if facts["policy"] != type(self.learner.policy).__name__ or arrays["parameters"].shape != vector.shape:
            raise lsip.ModelError(
                f"{path} holds a {facts['policy']} with {arrays['parameters'].size} parameters; the policy here is a "
                f"{type(self.learner.policy).__name__} with {vector.numel()}. Give `policy=` (and `problem`) as then."
            )
        shape = tuple(arrays["shape"].tolist())
        if shape != self.specification.r.shape:
            raise lsip.ModelError(
                f"{path} is of a problem with {shape[0]} states and {shape[1]} actions; this one has "
                f"{self.specification.states} and {self.specification.actions}."
            )
        set_flat_parameters(self.learner.policy, torch.as_tensor(arrays["parameters"]).to(vector))
        self.iteration, self.good_count = facts["iteration"], facts["good_count"]
        self.rng.bit_generator.state = facts["rng"]
        if "drawn" in arrays:
            self._drawn = torch.as_tensor(arrays["drawn"]).to(vector)
            self._best = (float(arrays["best_reward"]), torch.as_tensor(arrays["best"]).to(vector))
            self._recent = list(arrays["recent"])
        self.history = [
            Iteration(i, float(row[0]), float(row[1]), y, bool(row[2]), float(row[3]))
            for i, (row, y) in enumerate(zip(arrays["history"], arrays["history_y"], strict=True))
        ]


def _features(
    policy: Categorical, features: ArrayLike | None, shape: tuple[int, int], device: torch.device
) -> torch.Tensor:
    """What the policy observes in each state, checked to fit."""
    states, actions = shape
    if not isinstance(policy, Categorical):
        raise lsip.ModelError(
            f"`policy` must be a policy over {actions} actions with parameters to learn, such as rl.SoftmaxTable("
            f"{states}, {actions}); got {validation.shown(policy)}."
        )
    policy = policy.to(device)
    if isinstance(policy, SoftmaxTable):
        if policy.theta.shape != shape:
            raise lsip.ModelError(
                f"The policy is a table of shape {tuple(policy.theta.shape)}, the problem has {shape}."
            )
        return torch.arange(states, device=device)
    kind = next(policy.parameters()).dtype
    table = torch.eye(states) if features is None else torch.as_tensor(validation.array("features", features))
    if table.shape[:1] != (states,):
        raise lsip.ModelError(f"`features` needs one row for each of the {states} states; got {tuple(table.shape)}.")
    table = table.to(device, kind)
    try:
        with torch.no_grad():
            fits = policy.logits(table).shape == shape
    except RuntimeError:
        fits = False
    if not fits:
        raise lsip.ModelError(
            f"The policy does not fit: it must turn {tuple(table.shape)} features into {shape} logits."
        )
    return table


def _numpy(vector: torch.Tensor) -> NDArray[Any]:
    return vector.detach().cpu().numpy()


def _homes() -> tuple[Any, ...]:
    """Where the parts of a run may come from."""
    from .baselines import crpo

    return updates, evaluations, lsip.oracles, crpo
