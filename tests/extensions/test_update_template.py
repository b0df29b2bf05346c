"""How to add a policy update: a frozen dataclass with its options and one method, `step`.

An update receives a policy, a module of torch with the parameters to move, and a batch of tensors on its device:
observations, actions, advantages, weights, and the log-probabilities of the actions when they were drawn. A step makes
actions with larger advantages more likely; `rate` is the learning rate of the run. All chance comes from `rng`, so that
a run can be repeated and resumed, and what is to be kept until the next step goes into `memory`, a dictionary of
tensors and numbers that is saved with the run. What is returned are tensors without axes that tell of the step. In
tabular models, `sampling` says what is drawn for a step.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import lsip

torch = pytest.importorskip("torch")

import rl  # noqa: E402
from rl.flat import Memory  # noqa: E402
from rl.policies import Policy, flat_gradient, flat_parameters, set_flat_parameters  # noqa: E402
from rl.updates import Batch, Paths  # noqa: E402

from ..test_simulator import small  # noqa: E402
from .update_checks import check_update  # noqa: E402


@dataclass(frozen=True)
class ShortSteps:
    """A step along the policy gradient that is never longer than the learning rate.

    Parameters
    ----------
    paths, horizon
        What to sample for one step.
    """

    paths: int = 100
    horizon: int = 10

    @property
    def sampling(self) -> Paths:
        return Paths(self.paths, self.horizon)

    def step(
        self, policy: Policy, batch: Batch, rate: float, rng: np.random.Generator, memory: Memory
    ) -> dict[str, torch.Tensor]:
        log_probs = policy.log_prob(batch.observations, batch.actions)
        gradient = flat_gradient(batch.horizon * (batch.weights * batch.advantages * log_probs).sum(), policy)
        length = gradient.norm()
        set_flat_parameters(policy, flat_parameters(policy) + rate / length.clamp(min=1.0) * gradient)
        return {"step": rate * length.clamp(max=1.0)}


def test_the_template_keeps_the_promises() -> None:
    check_update(ShortSteps())


def agent(mdp: rl.SICMDP) -> rl.SICPO:
    proving = lsip.oracles.BranchAndBound()
    return rl.SICPO(mdp, update=ShortSteps(), evaluation=rl.Exact(), oracle=proving, eta=0.01, learning_rate=0.3)


def constrained() -> rl.SICMDP:
    """The reward is in the second action, and so is the cost."""
    t = lsip.Index("t", lsip.Interval(0, 1))
    mdp = small()
    return rl.SICMDP(mdp.P, mdp.r, np.array([[0.0, 1.0]] * 3) * (1 - t / 2), 1.5 - t / 4, t, mdp.mu, mdp.gamma)


def test_the_template_learns_what_a_plan_proves() -> None:
    mdp = constrained()
    plan = rl.plan(mdp)
    learned = agent(mdp).learn(300).choose("best")
    assert mdp.worst_violation(learned).bound <= 0.01 + 1e-6  # `eta`
    assert mdp.value(learned) == pytest.approx(plan.value, abs=0.03)


def test_a_run_is_resumed_with_the_update_of_ones_own(tmp_path: Path) -> None:
    mdp, file = constrained(), tmp_path / "agent.npz"
    first = agent(mdp)
    first.learn(5).save(file)
    with pytest.raises(lsip.ModelError, match=r"used a ShortSteps of your own; give it: load\(…, update=…\)"):
        rl.SICPO.load(file, mdp)
    again = rl.SICPO.load(file, mdp, update=ShortSteps())
    np.testing.assert_array_equal(again.learn(5).choose("last"), first.learn(5).choose("last"))


def test_what_has_no_step_is_refused() -> None:
    with pytest.raises(lsip.ModelError, match=r"`update` must have a method `step`.*rl\.NPG\(\)"):
        rl.SICPO(constrained(), update=lambda policy: policy)  # type: ignore[arg-type]
