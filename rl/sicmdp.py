"""The tabular model: a Markov decision process with a continuum of cost constraints, and its exact evaluation.

    max_pi V_r^pi(mu)   such that   V_{c_y}^pi(mu) <= u_y   for all y in Y

with V_b^pi(mu) = E sum_t gamma^t b(s_t, a_t), s_0 ~ mu. Occupancy measures are normalised as in the literature:
q(s, a) = (1 - gamma) sum_t gamma^t P(s_t = s, a_t = a) sums to one, and V_b = q . b / (1 - gamma).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

import lsip
from lsip.legible import legibly
from lsip.model import FamilyViolation
from lsip.validation import answer, whole

from . import validation
from .constraint import CostTable, SemiInfiniteCost, Worst
from .dataset import Dataset, Matrix, draw_from_measure, draw_per_pair
from .discounted_solve import solver
from .given_cost import Bound, Cost
from .policy_table import PolicyLike, read_policy
from .transitions import (
    Transitions,
    check_distribution,
    horizon,
    mixing,
    read_transitions,
    stationary,
    visits_until_end,
)
from .validation import Seed

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Specification:
    """A SICMDP without its transition probabilities: everything that is known before there are data.

    Parameters
    ----------
    r
        Rewards (S, A).
    constraint
        A `SemiInfiniteCost` whose cost has a value for each of the S states, or for each pair.
    mu
        Distribution of the first state (S,); None for the uniform one.
    gamma
        Discount factor, 0 <= gamma < 1; or 1 for averages over all time, or with `steps`.
    idle
        How many of the last states cost nothing, whatever y is.
    steps
        Of a model that ends: how many (discounted) steps it has, as `rl.finite_horizon` says.

    Examples
    --------
    >>> import envs
    >>> mdp = envs.sewage(states=3, actions=2, gamma=0.9, seed=0)
    >>> known = mdp.specification  # all but the transitions
    >>> known.with_transitions(mdp.P).P.shape
    (3, 2, 3)
    """

    r: Any
    constraint: SemiInfiniteCost
    mu: Any = None
    gamma: float = 0.9
    idle: int = 0
    steps: float | None = None

    def __post_init__(self) -> None:
        r = validation.array("r", self.r)
        if r.ndim != 2 or not r.size:
            raise lsip.ModelError(
                f"`r` must have one number for every state and action, shape (S, A); got {r.shape}. For rewards of "
                "states alone, repeat them: np.repeat(r[:, None], A, axis=1)."
            )
        if not isinstance(self.constraint, SemiInfiniteCost):
            raise lsip.ModelError(
                "`constraint` must be an rl.SemiInfiniteCost(domain, cost, bound); got "
                f"{validation.shown(self.constraint)}."
            )
        mu = np.full(len(r), 1 / len(r)) if self.mu is None else validation.array("mu", self.mu)
        if mu.shape != (len(r),):
            raise lsip.ModelError(f"`mu` must be a distribution over the {len(r)} states; got shape {mu.shape}.")
        check_distribution(mu[None, :], "mu", lambda i: "")
        validation.count("idle", self.idle, 0)
        if self.steps is not None:
            validation.number("steps", self.steps, "positive")
        for name, value in (("r", r), ("mu", mu), ("gamma", validation.number("gamma", self.gamma, "share"))):
            object.__setattr__(self, name, value)
        if self.constraint.total is None:
            _ = self.costs  # checks the shape of the cost

    @property
    def states(self) -> int:
        return self.r.shape[0]

    @property
    def actions(self) -> int:
        return self.r.shape[1]

    @property
    def average(self) -> bool:
        """Whether rewards and costs are averages over all time."""
        return self.gamma == 1 and self.steps is None

    @property
    def share(self) -> float:
        """What a visit is of all: occupancies are visits times this, and sum to one."""
        if self.steps is not None:
            return 1 / self.steps
        return 1.0 if self.average else 1 - self.gamma

    @property
    def start(self) -> Array:
        """What flows into the states at first: (S,). Averages over all time know no start."""
        return np.zeros(self.states) if self.average else self.share * self.mu

    @cached_property
    def costs(self) -> CostTable:
        """The constraint, for this many states and actions."""
        if self.constraint.total is not None:
            raise lsip.ModelError(
                "A constraint on the total of an episode needs a model of episodes: rl.finite_horizon(mdp, steps=20)."
            )
        weight = self.share if self.constraint.mean else 1.0
        return self.constraint.table(self.states - self.idle, self.actions, weight)

    def check(self, states: int, actions: int) -> None:
        """Refuse data of another size."""
        states, actions = whole("states", states, 1), whole("actions", actions, 1)
        if (states, actions) != self.r.shape:
            raise lsip.ModelError(
                f"The data have {states} states and {actions} actions, the specification {self.states} and "
                f"{self.actions}."
            )

    def with_transitions(self, P: Transitions) -> SICMDP:
        """The model with these transition probabilities."""
        return SICMDP.from_specification(P, self)


class SICMDP:
    """A tabular semi-infinitely constrained Markov decision process.

    Parameters
    ----------
    P
        Transition probabilities: an array (S, A, S), or a SciPy sparse matrix (S * A, S) with row s * A + a.
    r
        Rewards (S, A), or (S,) for rewards that depend on the state alone.
    cost, bound, domain, lipschitz
        The continuum of constraints; see `SemiInfiniteCost`. `domain` may also be the index itself.
    mu
        Distribution of the first state (S,); None for the uniform one.
    gamma
        Discount factor, 0 <= gamma < 1. With 1, rewards and costs are averages over all time, wherever one starts:
        policies must have one recurrent class, and the last state gets what a row of P lacks to sum to one exactly.

    Examples
    --------
    Two states, of which the second pays but is noisy: at no frequency y may the noise pass its bound.

    >>> import lsip, rl
    >>> y = lsip.Index("y", lsip.Interval(0, 1))
    >>> P = np.array([[[1, 0], [0, 1]], [[1, 0], [0, 1]]])  # action a leads to state a
    >>> mdp = rl.SICMDP(P, [0, 1], np.array([0, 1]) * (1 - y**2), 2 - y, y, [1, 0], 0.5)
    >>> mdp.value([1, 1]), round(mdp.worst_violation([1, 1]).value, 6)
    (1.0, -0.75)
    """

    def __init__(
        self,
        P: Transitions,
        r: ArrayLike,
        cost: Cost,
        bound: Bound,
        domain: lsip.Domain | lsip.Index,
        mu: ArrayLike | None = None,
        gamma: float = 0.9,
        *,
        lipschitz: float | tuple[float, float] | None = None,
    ) -> None:
        rows, states, actions = read_transitions(P)
        rewards = validation.array("r", r)
        if rewards.shape == (states,):
            rewards = np.repeat(rewards[:, None], actions, axis=1)
        if rewards.shape != (states, actions):
            raise lsip.ModelError(f"`r` must have shape ({states}, {actions}) or ({states},); got {rewards.shape}.")
        self._set(rows, Specification(rewards, SemiInfiniteCost(domain, cost, bound, lipschitz=lipschitz), mu, gamma))

    @classmethod
    def from_specification(cls, P: Transitions, specification: Specification) -> SICMDP:
        """The model with transition probabilities P, and everything else as specified."""
        mdp = cls.__new__(cls)
        specification = read_specification(specification)
        rows, states, actions = read_transitions(P, specification.steps is not None)
        if (states, actions) != specification.r.shape:
            raise lsip.ModelError(
                f"`P` has {states} states and {actions} actions, the specification {specification.r.shape}."
            )
        mdp._set(rows, specification)
        return mdp

    def _set(self, rows: Matrix, specification: Specification) -> None:
        self.rows: Matrix = rows  # (S * A, S), dense or CSR
        self.specification = specification
        _ = self.horizon  # refuses what grows without end

    # ---- what it is made of -----------------------------------------------------------------------------------------

    @property
    def r(self) -> Array:
        """Rewards (S, A)."""
        return self.specification.r

    @property
    def mu(self) -> Array:
        """Distribution of the first state (S,)."""
        return self.specification.mu

    @property
    def gamma(self) -> float:
        return self.specification.gamma

    @property
    def states(self) -> int:
        return self.specification.states

    @property
    def actions(self) -> int:
        return self.specification.actions

    @property
    def domain(self) -> lsip.Domain:
        """The index set Y."""
        return self.specification.constraint.domain

    @property
    def costs(self) -> CostTable:
        """The costs c_y and bounds u_y, linear in the occupancy."""
        return self.specification.costs

    @property
    def P(self) -> Array:
        """Transition probabilities as an array (S, A, S)."""
        dense = self.rows if isinstance(self.rows, np.ndarray) else self.rows.toarray()
        return dense.reshape(self.states, self.actions, self.states)

    @cached_property
    def horizon(self) -> float:
        """How many discounted visits there are at most, however the rows of P sum: about 1 / (1 - gamma)."""
        spec = self.specification
        if spec.steps is not None:
            return visits_until_end(spec.gamma, self.rows)
        return 1.0 if spec.average else horizon(self.gamma, self.rows)

    @legibly
    def __repr__(self) -> str:
        return (
            f"SICMDP with {self.states} states, {self.actions} actions, discount {self.gamma:g}, "
            f"and a constraint for every y in {self.domain}"
        )

    # ---- exact evaluation -------------------------------------------------------------------------------------------

    def policy(self, policy: PolicyLike) -> Array:
        """A policy as probabilities (S, A), checked; an array of S integers is a deterministic one."""
        return read_policy(policy, self.states, self.actions)

    def chain(self, policy: PolicyLike) -> Matrix:
        """The transition matrix (S, S) under a policy, sparse if P is."""
        pi = self.policy(policy)
        if not isinstance(self.rows, np.ndarray):
            pick = sparse.csr_matrix(
                (pi.ravel(), np.arange(pi.size), np.arange(0, pi.size + 1, self.actions)), shape=(self.states, pi.size)
            )
            return sparse.csr_matrix(pick @ self.rows)
        return np.einsum("sa,sat->st", pi, self.rows.reshape(self.states, self.actions, self.states))

    def state_values(self, policy: PolicyLike, reward: ArrayLike | None = None) -> Array:
        """V^pi(s) of a reward (S, A), the model's own by default."""
        pi = self.policy(policy)
        table = self._reward(reward)
        if self.specification.average:  # the same from every start
            return np.full(self.states, float((self.occupancy(pi) * table).sum()))
        mean = (pi * table).sum(axis=1)
        return solver(self.chain(pi), self.gamma)(mean, False)

    def q_values(self, policy: PolicyLike, reward: ArrayLike | None = None) -> Array:
        """Q^pi(s, a)."""
        if self.specification.average:
            raise lsip.ModelError("Averages over all time have no Q: use `value`, or a discount below 1.")
        values = self.state_values(policy, reward)
        return self._reward(reward) + self.gamma * (self.rows @ values).reshape(self.states, self.actions)

    def advantage(self, policy: PolicyLike, reward: ArrayLike | None = None) -> Array:
        """A^pi(s, a) = Q^pi(s, a) - V^pi(s)."""
        pi, q = self.policy(policy), self.q_values(policy, reward)
        return q - (pi * q).sum(axis=1, keepdims=True)

    def value(self, policy: PolicyLike, reward: ArrayLike | None = None) -> float:
        """V^pi(mu): the expected discounted sum of rewards."""
        return float(self.mu @ self.state_values(policy, reward))

    def occupancy(self, policy: PolicyLike) -> Array:
        """q(s, a), which sums to one."""
        pi = self.policy(policy)
        chain = self.chain(pi)
        if self.specification.average:
            return stationary(chain)[:, None] * pi
        return solver(chain, self.gamma)(self.specification.start, True)[:, None] * pi

    def transition_occupancy(self, policy: PolicyLike) -> Array:
        """z(s, a, s') = q(s, a) P(s' | s, a)."""
        return self.occupancy(policy)[:, :, None] * self.P

    def cost_values(self, policy: PolicyLike, y: ArrayLike) -> Array:
        """V_{c_y}^pi(mu) at the index points y (N, m): shape (N,)."""
        cost, _ = self.costs.at(y)
        return cost @ self.visits(policy)

    def violations(self, policy: PolicyLike, y: ArrayLike) -> Array:
        """V_{c_y}^pi(mu) - u_y at the index points y (N, m): shape (N,)."""
        cost, bound = self.costs.at(y)
        return cost @ self.visits(policy) - bound

    def visits(self, policy: PolicyLike) -> Array:
        """Discounted visits, as the constraint weighs them: occupancies of total 1 / (1 - gamma)."""
        return self.costs.weights(self.occupancy(policy)) / self.specification.share

    def worst_violation(
        self, policy: PolicyLike, oracle: lsip.oracles.Oracle | None = None, *, tol: float = 1e-9, seed: int = 0
    ) -> Worst:
        """sup_y V_{c_y}^pi(mu) - u_y with the worst y: proven over all of Y when the cost can be enclosed.

        `tol` is how far the proven bound may lie above the value found; `oracle` any of `lsip.oracles`.
        """
        chosen = None if oracle is None else validation.oracle(oracle)
        validation.number("tol", tol, "positive")
        return self.costs.worst(self.visits(policy), chosen, tol, validation.seed(seed), self.doubt(policy))

    def keeps(self, policy: PolicyLike, known: Callable[[Array], FamilyViolation] | None = None) -> bool:
        """Whether it is proven that the policy keeps the constraint for every y in Y.

        `known` gives the violation for some visits in a program that was solved, which knows its enclosures already.
        """
        validation.function("known", known, "visits")
        visits = self.visits(policy)
        violation = None if known is None else answer("known(visits)", known, visits)
        if not isinstance(violation, FamilyViolation | None):
            raise lsip.ModelError(f"`known` gives the violation for some visits; got {validation.shown(violation)}.")
        return self.costs.keeps(visits, self.doubt(policy), violation)

    def doubt(self, policy: PolicyLike) -> float:
        """How far, at most, the discounted visits of a policy are from those computed, all in all.

        The residual of the flow equations is spread by 1 / (1 - gamma) at most, by the number of steps that are left,
        or as the chain mixes, and again by the scale of visits.
        """
        pi, spec = self.policy(policy), self.specification
        chain = self.chain(pi)
        mixed = mixing(chain) if spec.average else 1.0
        if not np.isfinite(mixed):
            return np.inf
        d = self.occupancy(pi).sum(axis=1)
        flow = self.gamma * (chain.T @ d)
        start = spec.start
        most = self.states  # predecessors, or successors, which are added up
        if not isinstance(chain, np.ndarray):
            most = max(int(np.diff(each.indptr).max()) for each in (chain.tocsc(), chain.tocsr()))
        eps = np.finfo(float).eps
        terms = (most + self.actions + 8) * eps
        left = np.abs(start + flow - d)
        if spec.average:  # the flow into the last state follows from the others
            left[-1] = left[:-1].sum()
        residual = left.sum() + terms * (start + flow + np.abs(d)).sum()
        sums = (self.states * self.actions + 8) * eps  # over all pairs, as those of rewards
        if spec.average:
            missing = abs(float(d.sum()) - 1) + terms  # of a sum of one
            residual, spread = residual * (1 + 2 * missing) + missing, mixed
        elif spec.steps is not None:
            spread = self.horizon
        else:
            shrinking = 1 - self.gamma * float(chain.sum(axis=1).max()) * (1 + terms)  # rows of P sum to nearly 1
            spread = 1 / shrinking if shrinking > 0 else np.inf
        if not np.isfinite(spread):
            return np.inf
        return float(residual * (1 + sums) * spread + sums * np.abs(d).sum()) / spec.share

    def _reward(self, reward: ArrayLike | None) -> Array:
        if reward is None:
            return self.r
        table = validation.array("reward", reward)
        if table.shape == (self.states,):
            table = table[:, None]
        try:
            return np.broadcast_to(table, self.r.shape)
        except ValueError:
            raise lsip.ModelError(
                f"`reward` must have shape ({self.states}, {self.actions}) or ({self.states},); got {table.shape}."
            ) from None

    # ---- data -------------------------------------------------------------------------------------------------------

    def sample(
        self,
        n: int | None = None,
        *,
        per_pair: int | None = None,
        measure: ArrayLike | None = None,
        seed: Seed = None,
    ) -> Dataset:
        """Transitions drawn from the model.

        Parameters
        ----------
        n, measure
            `n` transitions from pairs (s, a) drawn from `measure` (S, A), uniform by default.
        per_pair
            Instead: this many transitions from every pair, as from a generative model.
        seed
            An integer or a NumPy generator.
        """
        if (n is None) == (per_pair is None) or (per_pair is not None and measure is not None):
            raise lsip.ModelError("Give either per_pair=…, or the number of samples n and, if wanted, measure=….")
        rng = validation.generator(seed)
        name, asked = ("n", n) if per_pair is None else ("per_pair", per_pair)
        count = validation.count(name, _whole(asked))
        if per_pair is not None:
            return draw_per_pair(self.rows, self.states, self.actions, count, rng)
        pairs = np.full(self.r.shape, 1 / self.r.size) if measure is None else validation.array("measure", measure)
        if pairs.shape != self.r.shape:
            raise lsip.ModelError(f"`measure` must have shape {self.r.shape}; got {pairs.shape}.")
        check_distribution(pairs.reshape(1, -1), "measure", lambda i: "")
        return draw_from_measure(self.rows, self.states, self.actions, count, pairs, rng)


def _whole(value: float | None) -> float | None:
    """1e4 as the integer that it is."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def as_specification(problem: Specification | SICMDP) -> Specification:
    """What is known before any data, of a model or as it is, where visits are discounted: what learners can use."""
    specification = read_specification(problem)
    if specification.gamma == 1 or specification.steps is not None:
        raise lsip.ModelError(
            "This needs a discount below 1 and a model without an end; averages over all time and finite horizons are "
            "for rl.plan."
        )
    return specification


def read_specification(problem: Specification | SICMDP) -> Specification:
    """What is known before any data, of a model or as it is."""
    specification = problem.specification if isinstance(problem, SICMDP) else problem
    if not isinstance(specification, Specification):
        raise lsip.ModelError(
            "An rl.Specification(r, constraint, mu, gamma) is needed, or the `specification` of an rl.SICMDP; got "
            f"{validation.shown(problem)}."
        )
    return specification


def as_model(problem: object) -> SICMDP:
    """A model with its transition probabilities, or an error that says how to get one."""
    if isinstance(problem, SICMDP):
        return problem
    hint = ""
    if isinstance(problem, Specification):
        hint = (
            " A specification has no transition probabilities: give them, specification.with_transitions(P), or learn "
            "from data, rl.si_crl(data, specification, delta)."
        )
    raise lsip.ModelError(f"A known model, an rl.SICMDP, is needed; got {validation.shown(problem)}.{hint}")
