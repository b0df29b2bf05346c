"""The one loop of all learners: evaluate, separate, step, keep.

A `World` evaluates the policy and draws what a step needs; an oracle searches Y; a `Rule` says what the step is for; an
`Update` makes it. All that changes is one `State`.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

import lsip
from lsip.schema import Schema, whole
from lsip.validation import answer

from . import batched_search, fixed_grid, rules, schedules, updates, validation
from . import checkpoint as checkpoints
from . import evaluation as evaluations
from .errors import GivenCodeError, code_of
from .lifted import doubles
from .logs import Folder, Log, Row, progress
from .rules import Choice, Objective, Rule
from .schedules import Schedule, at
from .separation import RankedPoints, separate
from .state import Misfit, Report, State, pack, snapshot, unpack
from .updates import Batch, Update

Array = NDArray[np.float64]
Callback = Callable[[Any, Report], Any]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What an evaluation of the policy has shown."""

    reward: float  # the mean return, discounted
    violation: lsip.oracles.Violation
    data: Any  # what a batch is made of
    undiscounted: float = np.nan
    arrived: float = 1.0  # share of episodes that came to their own end
    steps: int = 0  # made for it
    candidates: Array | None = None  # index points to look at


class World(Protocol):
    """Where a policy is tried out."""

    def begin(self, seed: int) -> State:
        """The state of a new run."""

    def evaluate(self, state: State) -> Evaluation:
        """Evaluate the policy."""

    def remember(self, evaluation: Evaluation, state: State) -> None:
        """Take note of a policy that was good."""

    def batch(self, evaluation: Evaluation, objective: Objective, update: Update, state: State) -> Batch:
        """What a step towards the objective needs."""

    def fit_critics(self, evaluation: Evaluation, state: State) -> Mapping[str, torch.Tensor]:
        """What follows a step, such as fitting critics; numbers that tell of it."""


@dataclass(frozen=True, eq=False)
class RunConfig:
    """How a run is watched and kept, see `learn`."""

    goal: int
    unit: str  # what is counted: "iteration" or "steps"
    folder: Folder = None
    tensorboard: bool = True
    verbose: bool = False
    checkpoint: str | Path | None = None
    every: int = 1
    callback: Callback | Sequence[Callback] | None = None
    after: Callable[[], bool] = field(default=lambda: False)  # of every iteration; true stops

    def __post_init__(self) -> None:
        validation.flag("tensorboard", self.tensorboard)
        validation.flag("verbose", self.verbose)
        validation.count("every", self.every)
        for each in self.callbacks:
            validation.function("callback", each, "agent", "report")
        checkpoints.check_target(self.checkpoint)

    @property
    def callbacks(self) -> tuple[Callback, ...]:
        """All of them, in their order."""
        if isinstance(self.callback, list | tuple):
            return tuple(self.callback)
        one: Any = self.callback
        return () if one is None else (one,)


class Learner(ABC):
    """A run: its parts, its state, and the loop over both."""

    world: World
    kind: ClassVar[str]  # the name of its files

    def __init__(
        self,
        rule: Rule,
        update: Update,
        oracle: lsip.oracles.Oracle,
        rate: Schedule,
        seed: int | None,
        fallback: lsip.oracles.Oracle | None,
    ) -> None:
        self.rule: Any = validation.part("rule", rule, "choose", "rl.rules.Switch()")
        self.update = validation.part("update", update, "step", "rl.NPG()")
        self.oracle = validation.oracle(oracle)
        self.fallback = None if fallback is None else validation.oracle(fallback, "fallback")
        self.learning_rate = schedules.check("learning_rate", rate)
        self.seed = validation.seed(seed)
        self.state: State

    iteration = property(lambda self: self.state.iteration, doc="Iterations done.")
    good_count = property(lambda self: self.state.good, doc="Iterations within the tolerance.")
    history = property(lambda self: self.state.history, doc="A `Report` an iteration.")
    rng = property(lambda self: self.state.rng, doc="All chance of the run.")
    working_set = property(lambda self: (self.state.points, self.state.prices), doc="Index points and multipliers.")

    @property
    def eta(self) -> float:
        """The tolerance of the rule, which may be set."""
        return float(self.rule.eta)

    @eta.setter
    def eta(self, value: float) -> None:
        self.rule = replace(self.rule, eta=value)

    # ---- the loop ---------------------------------------------------------------------------------------------------

    def _learn(self, run: RunConfig) -> None:
        """Go on until the goal, an iteration at a time; whatever ends one in between is as if it had not begun."""
        validation.flag("verbose", run.verbose)
        state = self.state
        log = Log(run.folder, state, tensorboard=run.tensorboard)
        begun, first, started = getattr(state, run.unit), state.iteration, time.perf_counter()
        undo, place = snapshot(state), f"before iteration {first}"
        try:
            with progress(max(run.goal - begun, 1), run.verbose) as show:
                stop = False
                while not stop and getattr(state, run.unit) < run.goal:
                    place = f"in iteration {state.iteration}"
                    report = self._iterate(started, getattr(state, run.unit) / run.goal)
                    stop = run.after()
                    undo, place = snapshot(state), f"after iteration {report.iteration}"
                    log.write(self._row(report))
                    done = min(getattr(state, run.unit), run.goal) - begun
                    share = state.good / state.iteration
                    show(done, f"return {report.reward:.4f}  violation {report.violation:+.4f}  good {share:.0%}")
                    if run.checkpoint is not None and state.iteration % run.every == 0:
                        log.flush()
                        self.save(run.checkpoint)
                    for callback in run.callbacks:
                        with code_of("The callback"):
                            stop = bool(answer("callback", callback, self, report)) or stop
        except GivenCodeError as error:
            undo()
            raise type(error)(f"{error} This was {place}; {self._kept(run, first)}") from error.__cause__
        except BaseException:
            undo()
            raise
        finally:
            log.close()
            if run.checkpoint is not None and self._saves(run, first):
                self.save(run.checkpoint)

    def _saves(self, run: RunConfig, first: int) -> bool:
        """Whether a run that ends writes its file: if it made no iteration, one that is there may hold more."""
        return run.checkpoint is not None and (self.iteration > first or not Path(run.checkpoint).exists())

    def _kept(self, run: RunConfig, first: int) -> str:
        """What is left of a run that somebody's code has ended."""
        many = f"{self.iteration} whole iteration{'s' * (self.iteration != 1)}"
        also = f", and so is the file {run.checkpoint}" if self._saves(run, first) else ""
        return f"the agent is as it was after {many}{also}, and can go on."

    def _iterate(self, started: float, share: float) -> Report:
        state, world, clock = self.state, self.world, time.perf_counter()
        evaluation = world.evaluate(state)
        if not np.isfinite(evaluation.reward):
            raise lsip.ModelError(
                f"The estimated return of iteration {state.iteration} is no number: {evaluation.reward}."
            )
        seed = int(state.rng.integers(2**31))
        options: dict[str, Any] = {"fallback": self.fallback, "candidates": evaluation.candidates}
        worst = separate(evaluation.violation, self.oracle, self.eta, seed, **options)
        with code_of(f"The rule {type(self.rule).__name__}"):
            aimed = self._aimed(worst, evaluation)
            choice = self.rule.choose(aimed, state.points, state.prices, evaluation.arrived)
        if not isinstance(choice, Choice):
            raise lsip.ModelError(f"`choose` of a rule gives an rl.rules.Choice; got {validation.shown(choice)}.")
        if choice.good:
            state.good += 1
            world.remember(evaluation, state)
        before, state.points, state.prices = state.points, choice.points, choice.prices
        batch = world.batch(evaluation, choice.objective, self.update, state)
        rate = at("learning_rate", self.learning_rate, share) * self._slowed()
        with code_of(f"The update {type(self.update).__name__}"):
            stats = self.update.step(state.policy, batch, rate, state.rng, state.memory)
        numbers = _numbers(stats, world.fit_critics(evaluation, state))
        of_step = {name: numbers[name] for name in stats}
        if not np.isfinite(list(of_step.values())).all():
            raise lsip.ModelError(
                f"The step of iteration {state.iteration} is no number ({of_step}): lower the learning rate."
            )
        if aimed.error is not None:  # all runs of random episodes, and no others
            numbers["lacking"] = float(aimed.lacking(aimed.joined(before, getattr(self.rule, "merge", 0.01))).max())
        if np.isfinite(worst.bound):
            numbers["violation_bound"] = worst.bound
        state.steps += evaluation.steps
        now = time.perf_counter()
        if evaluation.steps:
            numbers["steps_per_second"] = evaluation.steps / (now - clock)
        report = Report(
            state.iteration,
            state.steps,
            evaluation.reward,
            worst.value,
            worst.y,
            choice.good,
            evaluation.arrived,
            now - started,
            evaluation.undiscounted,
            numbers=numbers,
        )
        state.iteration += 1
        state.history.append(report)
        return report

    def _aimed(self, worst: RankedPoints, evaluation: Evaluation) -> RankedPoints:
        """What a rule is told of the worst points: by default what was found."""
        return worst

    def _slowed(self) -> float:
        """A factor of the learning rate."""
        return 1.0

    def _row(self, report: Report) -> Row:
        """What the log says of an iteration."""
        row: Row = {"iteration": report.iteration}
        if report.steps:
            row |= {"steps": report.steps}
        row |= {"reward": report.reward, "violation": report.violation, "good": report.good}
        row |= {"good_share": self.state.good / self.state.iteration}
        if report.steps:
            row |= {"undiscounted": report.undiscounted, "arrived": report.arrived}
        return row | dict(report.numbers) | {f"y{i}": float(v) for i, v in enumerate(report.y)}

    # ---- files ------------------------------------------------------------------------------------------------------

    @abstractmethod
    def _settings(self) -> dict[str, Any]:
        """What the constructor needs to make this agent again, as JSON can hold it."""

    def save(self, path: str | Path) -> None:
        """Everything that the run needs to go on, in one file without code (NumPy's .npz format)."""
        facts, arrays = pack(self.state)
        parts = {name: checkpoints.describe(getattr(self, name)) for name in ("rule", "update", "oracle", "fallback")}
        settings = {"seed": self.seed, "learning_rate": checkpoints.describe(self.learning_rate), **parts}
        checkpoints.write(path, {"kind": self.kind, "settings": settings | self._settings(), "state": facts}, arrays)

    def _restore(self, path: str | Path, facts: dict[str, Any], arrays: dict[str, Any]) -> None:
        try:
            with checkpoints.reading(path, self.kind, facts):
                unpack(self.state, facts["state"], arrays)
        except lsip.ModelError as error:
            if not isinstance(error.__cause__, Misfit):
                raise
            raise lsip.ModelError(
                f"{path} was made for other observations, actions or index sets than these: {error.__cause__}."
            ) from error


def described(value: object) -> bool:
    """A number, nothing, or a part by its name and fields."""
    if isinstance(value, dict):
        return set(value) == {"name", "fields"} and isinstance(value["name"], str)
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def by_path(value: object) -> bool:
    """Plain data by their paths."""
    return isinstance(value, dict)


SETTINGS: dict[str, Schema] = {
    "seed": whole,
    "learning_rate": described,
    **dict.fromkeys(("rule", "update", "oracle", "fallback"), described),
}


def rebuilt(settings: Mapping[str, Any], parts: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Parts of a run: those given, and the others as a file describes them."""
    homes = (updates, evaluations, lsip.oracles, batched_search, fixed_grid, rules, schedules)
    return {
        name: parts[name] if parts.get(name) is not None else checkpoints.rebuild(settings[name], homes, name)
        for name in names
    }


def _numbers(stats: Mapping[str, torch.Tensor], others: Mapping[str, torch.Tensor]) -> dict[str, float]:
    """Tensors without axes as floats, those of a step and others, in one copy."""
    if not isinstance(stats, Mapping) or not all(isinstance(t, torch.Tensor) and not t.ndim for t in stats.values()):
        raise lsip.ModelError(
            "`step` of an update gives numbers by name, tensors without axes, or none at all: {}; got "
            f"{validation.shown(stats)}."
        )
    told = {**stats, **others}
    if not told:
        return {}
    return dict(zip(told, torch.stack([t.detach().to(doubles(t.device)) for t in told.values()]).tolist(), strict=True))
