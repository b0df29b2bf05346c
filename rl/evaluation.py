"""Policy evaluation: estimates of the discounted visits of a policy, from which the value of every cost c_y follows.

V_{c_y} = sum over (s, a) of visits(s, a) c_y(s, a) for every y at once, so one estimate of the visits serves the whole
continuum of constraints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

import lsip

from . import validation
from .policy_table import PolicyLike, read_policy
from .sicmdp import SICMDP, as_specification
from .simulator import Simulator, TabularSimulator, as_simulator, rollout

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Estimate:
    """Discounted visits as the constraint weighs them, of total near 1 / (1 - gamma), and the return V_r."""

    visits: Array  # (size,), see CostTable.size
    reward: float


class Evaluator(Protocol):
    """A way to estimate the visits of a policy.

    One that cannot do without a known model says so with a true `needs_model`.
    """

    def evaluate(self, simulator: Simulator, policy: Array, rng: np.random.Generator) -> Estimate:
        """The estimate for a policy (S, A)."""


@dataclass(frozen=True)
class MonteCarlo:
    """The mean over paths of fixed length, as in the paper: K_eval paths of H steps.

    Parameters
    ----------
    paths, horizon
        K_eval and H.
    mode
        "population" moves all paths through a known model at once: how many of them go where is one multinomial draw
        a state and step. The visits have the same law as with single paths (and the return too, but for costs of
        states alone, where it is averaged over the actions). "paths" simulates them one by one, for
        simulators that only have a `step`. "auto" prefers the population.
    """

    paths: int = 100_000
    horizon: int = 100
    mode: str = "auto"

    def __post_init__(self) -> None:
        validation.count("paths", self.paths)
        validation.count("horizon", self.horizon)
        validation.choice("mode", self.mode, ("auto", "population", "paths"))

    @property
    def needs_model(self) -> bool:
        """Whether paths alone do not do."""
        return self.mode == "population"

    def evaluate(self, simulator: Simulator, policy: Array, rng: np.random.Generator) -> Estimate:
        simulator, policy = checked(simulator, policy, rng)
        if isinstance(simulator, TabularSimulator) and self.mode != "paths":
            return self._population(simulator, policy, rng)
        check_model(self, simulator)
        return self._single(simulator, policy, rng)

    def _population(self, simulator: TabularSimulator, policy: Array, rng: np.random.Generator) -> Estimate:
        mdp = simulator.mdp
        if mdp.costs.by_state:
            return self._population_of_states(simulator, policy, rng)
        S, A = policy.shape
        rows = _exact(mdp.P.reshape(-1, S))
        here = rng.multinomial(self.paths, _exact(mdp.mu))
        policy = _exact(policy)
        visits, weight = np.zeros((S, A)), 1.0 / self.paths
        for t in range(self.horizon):
            pairs = rng.multinomial(here, policy)
            visits += weight * pairs
            weight *= mdp.gamma
            if t + 1 < self.horizon:
                here = rng.multinomial(pairs.ravel(), rows).sum(axis=0)
        return Estimate(mdp.costs.weights(visits), float((visits * mdp.r).sum()))

    def _population_of_states(self, simulator: TabularSimulator, policy: Array, rng: np.random.Generator) -> Estimate:
        """Where costs depend on the state alone, actions need not be counted; the return takes their mean."""
        mdp = simulator.mdp
        chain = mdp.chain(policy)
        chain = _exact(chain if isinstance(chain, np.ndarray) else chain.toarray())
        here = rng.multinomial(self.paths, _exact(mdp.mu))
        counts = np.empty((self.horizon, mdp.states))
        for t in range(self.horizon):
            counts[t] = here
            if t + 1 < self.horizon:
                here = rng.multinomial(here, chain).sum(axis=0)
        states = mdp.gamma ** np.arange(self.horizon) @ counts / self.paths
        return Estimate(states[: mdp.costs.size], float(states @ (policy * mdp.r).sum(axis=1)))

    def _single(self, simulator: Simulator, policy: Array, rng: np.random.Generator) -> Estimate:
        spec = simulator.specification
        visits = np.zeros(policy.size)
        left = self.paths
        while left:
            count = min(left, 10_000)
            pairs = rollout(simulator, policy, self.horizon, rng, count=count)
            for t in range(self.horizon):
                visits += spec.gamma**t * np.bincount(pairs[t], minlength=policy.size)
            left -= count
        table = (visits / self.paths).reshape(policy.shape)
        return Estimate(spec.costs.weights(table), float((table * spec.r).sum()))


@dataclass(frozen=True)
class TemporalDifference:
    """TD(lambda) on successor features: psi(s) predicts the discounted visits of every pair from s.

    What repeated TD(lambda) updates on the sampled transitions converge to is computed at once, by least squares.

    Parameters
    ----------
    paths, horizon
        Transitions to learn from.
    trace
        lambda; 0 is TD(0), 1 the Monte-Carlo end.
    """

    paths: int = 1000
    horizon: int = 100
    trace: float = 0.0

    def __post_init__(self) -> None:
        validation.count("paths", self.paths)
        validation.count("horizon", self.horizon)
        if self.horizon < 2:
            raise lsip.ModelError("Temporal differences need a horizon of at least 2.")
        validation.number("trace", self.trace, "share")

    def evaluate(self, simulator: Simulator, policy: Array, rng: np.random.Generator) -> Estimate:
        simulator, policy = checked(simulator, policy, rng)
        spec = simulator.specification
        S, A = policy.shape
        pairs = rollout(simulator, policy, self.horizon, rng, count=self.paths)
        states = pairs // A
        one, pair = np.eye(S), np.eye(S * A)
        eligible = np.zeros((self.paths, S))
        system, right = np.zeros((S, S)), np.zeros((S, S * A))
        for t in range(self.horizon - 1):
            eligible *= spec.gamma * self.trace
            eligible[np.arange(self.paths), states[t]] += 1.0
            system += eligible.T @ (one[states[t]] - spec.gamma * one[states[t + 1]])
            right += eligible.T @ pair[pairs[t]]
        # States that no transition begins in predict nothing.
        started = np.bincount(states[:-1].ravel(), minlength=S) > 0
        psi = np.zeros((S, S * A))
        psi[started] = np.linalg.lstsq(system[np.ix_(started, started)], right[started], rcond=None)[0]
        first = np.bincount(states[0], minlength=S) / self.paths
        table = (first @ psi).reshape(S, A)
        return Estimate(spec.costs.weights(table), float((table * spec.r).sum()))


@dataclass(frozen=True)
class Exact:
    """Exact evaluation by solving a linear system; needs a known model."""

    needs_model: ClassVar[bool] = True

    def evaluate(self, simulator: Simulator, policy: Array, rng: np.random.Generator) -> Estimate:
        simulator, policy = checked(simulator, policy, rng)
        mdp = check_model(self, simulator)
        assert mdp is not None  # because it needs one
        visits = mdp.occupancy(policy) / (1 - mdp.gamma)
        return Estimate(mdp.costs.weights(visits), float((visits * mdp.r).sum()))


def checked(simulator: Simulator, policy: PolicyLike, rng: np.random.Generator) -> tuple[Simulator, Array]:
    """A simulator whose answers are checked, and the policy as probabilities (S, A)."""
    if not isinstance(rng, np.random.Generator):
        raise lsip.ModelError(
            f"`rng` must be a generator such as np.random.default_rng(0); got {validation.shown(rng)}."
        )
    simulator = as_simulator(simulator)
    spec = as_specification(simulator.specification)
    return simulator, read_policy(policy, spec.states, spec.actions)


def check_model(evaluation: Evaluator, simulator: Simulator) -> SICMDP | None:
    """The known model of a simulator (None if it has none), or an error if the evaluation cannot do without."""
    mdp = simulator.mdp if isinstance(simulator, TabularSimulator) else None
    if mdp is None and getattr(evaluation, "needs_model", False):
        raise lsip.ModelError(
            f"{evaluation} needs a known model, an rl.SICMDP; for a simulator use rl.MonteCarlo(…) or "
            "rl.TemporalDifference(…)."
        )
    return mdp


def _exact(rows: Array) -> Array:
    """Probabilities that sum to one as nearly as they can."""
    return rows / rows.sum(axis=-1, keepdims=True)
