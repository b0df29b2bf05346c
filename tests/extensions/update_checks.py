"""The promises that every policy update makes, as one function. Call `check_update` in the test of a new one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import rl
from rl.flat import Memory
from rl.policies import MLPCategorical, Policy, SoftmaxTable, flat_parameters
from rl.tabular import TabularWorld
from rl.updates import Batch, Paths, Update

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
    check_batch_is_left_alone(update)


@dataclass
class Tried:
    """A policy in a small world, and what an update keeps of it."""

    world: TabularWorld
    memory: Memory = field(default_factory=dict)

    @property
    def policy(self) -> Policy:
        return self.world.policy

    def table(self) -> Array:
        return self.world.table()

    def batch(self, update: Update, criterion: Array, rng: np.random.Generator) -> Batch:
        """What the update asks for, drawn for a criterion (S, A) that is to be raised."""
        sampling = getattr(update, "sampling", Paths())
        sample = sampling.draw(self.world.simulator, self.table(), criterion, rng)
        return sample.batch(self.policy, self.world.features, 1 / (1 - self.world.specification.gamma))

    def step(self, update: Update, criterion: Array, sign: float, rate: float, rng: np.random.Generator) -> Any:
        """One step up the criterion, or down."""
        batch = self.batch(update, sign * criterion, rng)
        return {k: float(v) for k, v in update.step(self.policy, batch, rate, rng, self.memory).items()}


def with_table(problem: Any, theta: Array = THETA) -> Tried:
    """A softmax table with these preferences."""
    policy = SoftmaxTable(*theta.shape)
    with torch.no_grad():
        policy.theta.copy_(torch.as_tensor(theta))
    return Tried(TabularWorld(problem, rl.MonteCarlo(), policy, None, torch.device("cpu")))


def with_network(problem: Any, seed: int = 0) -> Tried:
    """A small network that observes which state it is in."""
    torch.manual_seed(seed)
    spec = problem.specification
    policy = MLPCategorical(spec.states, spec.actions, hidden=(6,)).double()
    with torch.no_grad():
        for p in policy.parameters():
            p.add_(0.3 * torch.randn_like(p))
    return Tried(TabularWorld(problem, rl.MonteCarlo(), policy, None, torch.device("cpu")))


def check_direction(update: Update, network: bool, hidden: bool, rate: float = 0.3) -> None:
    """Steps up raise the value and steps down lower it: for tables and networks, known models and hidden ones."""
    mdp = small()
    problem = Hidden(mdp) if hidden else mdp
    for sign in (1.0, -1.0):
        tried = with_network(problem) if network else with_table(problem)
        before = mdp.value(tried.table(), mdp.r)
        reports = [tried.step(update, mdp.r, sign, rate, np.random.default_rng(k)) for k in range(STEPS)]
        assert sign * (mdp.value(tried.table(), mdp.r) - before) > 0, "a step up raises the value, one down lowers it"
        assert np.isfinite([v for report in reports for v in report.values()]).all(), "what a step tells are numbers"


def check_generator(update: Update) -> None:
    found = []
    for seed in (0, 0, 1):
        tried = with_table(small())
        tried.step(update, small().r, 1.0, 0.5, np.random.default_rng(seed))
        found.append(flat_parameters(tried.policy))
    assert torch.equal(found[0], found[1]), "the same generator gives the same step: chance comes from `rng` alone"


def check_indifference(update: Update) -> None:
    tried = with_table(small())
    tried.step(update, np.ones(THETA.shape), 1.0, 1.0, np.random.default_rng(0))
    moved = np.abs(flat_parameters(tried.policy).numpy() - THETA.ravel()).max()
    assert moved <= 1e-6, "a criterion that no action changes moves nothing"


def check_batch_is_left_alone(update: Update) -> None:
    tried, rng = with_table(small()), np.random.default_rng(0)
    batch = tried.batch(update, small().r, rng)
    names = ("observations", "actions", "advantages", "weights", "log_probs")
    before = [getattr(batch, name).clone() for name in names]
    update.step(tried.policy, batch, 0.5, rng, tried.memory)
    same = [torch.equal(getattr(batch, name), kept) for name, kept in zip(names, before, strict=True)]
    assert all(same), "the batch belongs to the caller"
