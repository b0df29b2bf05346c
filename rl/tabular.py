"""A world of finitely many states: estimates of visits give the value of every cost, and samples the advantages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

import lsip

from . import validation
from .errors import code_of
from .evaluation import Evaluator, check_model
from .learner import Evaluation
from .policies import Categorical, SoftmaxTable, flat_parameters
from .rules import Objective
from .sicmdp import SICMDP
from .simulator import Simulator, as_simulator
from .state import KeptPolicy, State
from .updates import Batch, Paths, Sample, Update

Array = NDArray[np.float64]


@dataclass(frozen=True)
class AverageTuning:
    """How good policies are averaged.

    Parameters
    ----------
    window
        How many of the last ones, as in the paper's experiments.
    """

    window: int = 100


TUNING = AverageTuning()


class TabularWorld:
    """A simulator, how policies are evaluated in it, and what they observe."""

    def __init__(
        self,
        problem: SICMDP | Simulator,
        evaluation: Evaluator,
        policy: Categorical | None,
        features: ArrayLike | None,
        device: torch.device,
    ) -> None:
        self.simulator = as_simulator(problem)
        self.specification = self.simulator.specification
        self.evaluation = validation.part("evaluation", evaluation, "evaluate", "rl.MonteCarlo()")
        check_model(evaluation, self.simulator)
        shape = self.specification.states, self.specification.actions
        self.policy: Categorical = SoftmaxTable(*shape) if policy is None else policy
        self.features = _features(self.policy, features, shape, device)  # (S, …), what is observed in each state

    def begin(self, seed: int) -> State:
        """The state of a new run."""
        none = np.zeros((0, self.specification.constraint.domain.dim))
        return State(self.policy, np.random.default_rng(seed), points=none)

    def table(self, policy: Categorical | None = None) -> Array:
        """pi(a | s) for all states: (S, A)."""
        chosen = self.policy if policy is None else policy
        if type(chosen) is SoftmaxTable:  # small enough that calling torch would be most of the work
            logits = chosen.theta.detach().cpu().numpy()
            weights: Array = np.exp(logits - logits.max(axis=1, keepdims=True))
            return weights / weights.sum(axis=1, keepdims=True)
        with torch.no_grad():
            probabilities = chosen.log_probs(self.features).exp().to("cpu", torch.float64).numpy()
        return probabilities / probabilities.sum(axis=1, keepdims=True)

    def evaluate(self, state: State) -> Evaluation:
        """Estimate the visits, from which the value of every cost follows."""
        table = self.table()
        with code_of(f"The evaluation {type(self.evaluation).__name__}"):
            estimate = self.evaluation.evaluate(self.simulator, table, state.rng)
            visits, reward = np.asarray(estimate.visits, dtype=float), float(estimate.reward)
        size = self.specification.costs.size
        if visits.shape != (size,) or not np.isfinite(visits).all():
            raise lsip.ModelError(
                f"An evaluation gives finite visits of shape ({size},), as rl.evaluation.Estimate has them; got shape "
                f"{visits.shape}{'' if np.isfinite(visits).all() else ' with nan or inf'}."
            )
        return Evaluation(reward, self.specification.costs.violation(visits), table)

    def remember(self, evaluation: Evaluation, state: State) -> None:
        """The good set: one of its members at random, its best, and its latest."""
        kept = KeptPolicy(evaluation.reward, flat_parameters(self.policy))
        if state.rng.random() * state.good < 1:
            state.drawn = kept
        if state.best is None or evaluation.reward > state.best.reward:
            state.best = kept
        state.recent = (*state.recent, evaluation.data)[-TUNING.window :]

    def batch(self, evaluation: Evaluation, objective: Objective, update: Update, state: State) -> Batch:
        """Samples for the reward and the costs at the prices of the objective, as one criterion (S, A)."""
        spec = self.specification
        criterion = objective.reward * spec.r
        for y, price in zip(objective.points, objective.prices, strict=True):
            if price:
                criterion = criterion - price * spec.costs.criterion(y, spec.states)
        sampling = getattr(update, "sampling", None) or Paths()
        with code_of(f"The sampling {type(sampling).__name__} of the update"):
            sample = sampling.draw(self.simulator, evaluation.data, criterion, state.rng)
        if not isinstance(sample, Sample):
            raise lsip.ModelError(f"What is drawn for a step is an rl.updates.Sample; got {validation.shown(sample)}.")
        return sample.batch(self.policy, self.features, 1 / (1 - spec.gamma))

    def fit_critics(self, evaluation: Evaluation, state: State) -> Mapping[str, torch.Tensor]:
        """Nothing else is learned."""
        return {}


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
    policy = (policy.float() if device.type == "mps" else policy).to(device)  # MPS has no larger numbers
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
