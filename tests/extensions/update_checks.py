"""The promises that every policy update makes, as one function. Call `check_update` in the test of a new one."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rl.policies import MLPCategorical, SoftmaxTable, flat_parameters
from rl.simulator import as_simulator
from rl.updates import Learner, Update

from ..test_simulator import Hidden, small

Array = NDArray[np.float64]
THETA = np.array([[0.3, -0.4], [0.0, 0.8], [-0.5, 0.2]])
STEPS = 5


def check_update(update: Update, rate: float = 0.3) -> None:
    """Raise AssertionError, naming the promise, if `update` breaks one on a small problem with that learning rate."""
    for network in (False, True):
        for hidden in (False, True):
            check_direction(update, network, hidden, rate)
    check_generator(update)
    check_indifference(update)
    check_criterion_is_left_alone(update)


def table_learner(problem: Any, theta: Array = THETA) -> Learner:
    """A softmax table with these preferences."""
    policy = SoftmaxTable(*theta.shape)
    with torch.no_grad():
        policy.theta.copy_(torch.as_tensor(theta))
    return Learner(as_simulator(problem), policy, torch.arange(len(theta)))


def network_learner(problem: Any, seed: int = 0) -> Learner:
    """A small network that observes which state it is in."""
    torch.manual_seed(seed)
    spec = problem.specification
    policy = MLPCategorical(spec.states, spec.actions, hidden=(6,)).double()
    with torch.no_grad():
        for p in policy.parameters():
            p.add_(0.3 * torch.randn_like(p))
    return Learner(as_simulator(problem), policy, torch.eye(spec.states, dtype=torch.float64))


def check_direction(update: Update, network: bool, hidden: bool, rate: float = 0.3) -> None:
    """Steps up raise the value and steps down lower it: for tables and networks, known models and hidden ones."""
    mdp = small()
    problem = Hidden(mdp) if hidden else mdp
    for sign in (1.0, -1.0):
        learner = network_learner(problem) if network else table_learner(problem)
        before = mdp.value(learner.table(), mdp.r)
        reports = [update.step(learner, mdp.r, sign, rate, np.random.default_rng(k)) for k in range(STEPS)]
        assert sign * (mdp.value(learner.table(), mdp.r) - before) > 0, "a step up raises the value, one down lowers it"
        numbers = [v for report in reports for v in report.values()]
        assert all(isinstance(v, float) and np.isfinite(v) for v in numbers), "what a step returns are finite floats"


def check_generator(update: Update) -> None:
    found = []
    for seed in (0, 0, 1):
        learner = table_learner(small())
        update.step(learner, small().r, 1.0, 0.5, np.random.default_rng(seed))
        found.append(flat_parameters(learner.policy))
    assert torch.equal(found[0], found[1]), "the same generator gives the same step: chance comes from `rng` alone"


def check_indifference(update: Update) -> None:
    learner = table_learner(small())
    update.step(learner, np.ones(THETA.shape), 1.0, 1.0, np.random.default_rng(0))
    moved = np.abs(learner.policy.theta.detach().numpy() - THETA).max()
    assert moved <= 1e-6, "a criterion that no action changes moves nothing"


def check_criterion_is_left_alone(update: Update) -> None:
    criterion = small().r.copy()
    update.step(table_learner(small()), criterion, 1.0, 0.5, np.random.default_rng(0))
    assert np.array_equal(criterion, small().r), "the criterion belongs to the caller"
