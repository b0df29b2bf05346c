"""How to add a policy update: a frozen dataclass with its options and one method, `step`.

An update receives a learner, which is a policy in its world: `learner.policy` with the parameters to move,
`learner.table()` with its probabilities (S, A), `learner.features` with what it observes in every state, and
`learner.simulator`, which can be sampled. The criterion (S, A) is the reward, or the cost at the worst index point. A
step raises its value where `sign` is 1 and lowers it where `sign` is -1; `rate` is the learning rate of the run. All
chance comes from `rng`, so that a run can be repeated and resumed. What is returned are numbers that tell of the step.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import lsip

torch = pytest.importorskip("torch")

import rl  # noqa: E402
from rl.policies import flat_parameters, set_flat_parameters  # noqa: E402
from rl.updates import Learner  # noqa: E402
from rl.updates.base import check_counts, collect, policy_gradient, tensors  # noqa: E402

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

    def __post_init__(self) -> None:
        check_counts(paths=self.paths, horizon=self.horizon)

    def step(
        self, learner: Learner, criterion: np.ndarray, sign: float, rate: float, rng: np.random.Generator
    ) -> dict[str, float]:
        batch = collect(learner.simulator, learner.table(), criterion, self.paths, self.horizon, 0.95, rng)
        seen, actions, advantages, weights = tensors(learner, batch)
        gradient = policy_gradient(learner, seen, actions, weights * advantages)
        length = float(gradient.norm())
        move = sign * rate / max(length, 1.0) * gradient
        set_flat_parameters(learner.policy, flat_parameters(learner.policy) + move)
        return {"step": rate * min(length, 1.0)}


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
