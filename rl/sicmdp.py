"""The tabular model: a Markov decision process with a continuum of cost constraints, and its exact evaluation.

    max_pi V_r^pi(mu)   such that   V_{c_y}^pi(mu) <= u_y   for all y in Y

with V_b^pi(mu) = E sum_t gamma^t b(s_t, a_t), s_0 ~ mu. Occupancy measures are normalised as in the literature:
q(s, a) = (1 - gamma) sum_t gamma^t P(s_t = s, a_t = a) sums to one, and V_b = q . b / (1 - gamma).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

import lsip
from lsip.legible import legibly
from lsip.model import FamilyViolation
from lsip.validation import answer, whole

from . import validation
from .constraint import Bound, Cost, CostTable, SemiInfiniteCost, Worst
from .dataset import Dataset, Matrix, draw_from_measure, draw_per_pair
from .discounted_solve import solver
from .validation import Seed

Array = NDArray[np.float64]
Transitions: TypeAlias = ArrayLike | sparse.spmatrix | sparse.sparray


@dataclass(frozen=True)
class ModelTuning:
    """What is accepted as a model, and how carefully it is summed.

    Parameters
    ----------
    off
        How far probabilities may be from a sum of one.
    clear
        Of what a discount leaves: where sums may be rounded by more, they are computed to the last bit.
    """

    off: float = 1e-9
    clear: float = 1e-3


TUNING = ModelTuning()


class HasPolicy(Protocol):
    """What has found a policy, such as a `Plan`, and can stand for it."""

    @property
    def policy(self) -> ArrayLike:
        """Probabilities (S, A)."""


PolicyLike = ArrayLike | HasPolicy


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
        Discount factor, 0 <= gamma < 1.
    idle
        How many of the last states cost nothing, whatever y is.

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
        _check_distribution(mu[None, :], "mu", lambda i: "")
        validation.count("idle", self.idle, 0)
        for name, value in (("r", r), ("mu", mu), ("gamma", validation.number("gamma", self.gamma, "discount"))):
            object.__setattr__(self, name, value)
        _ = self.costs  # checks the shape of the cost

    @property
    def states(self) -> int:
        return self.r.shape[0]

    @property
    def actions(self) -> int:
        return self.r.shape[1]

    @cached_property
    def costs(self) -> CostTable:
        """The constraint, for this many states and actions."""
        return self.constraint.table(self.states - self.idle, self.actions)

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
        Discount factor, 0 <= gamma < 1.

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
        self.rows: Matrix  # (S * A, S), dense or CSR
        self.rows, states, actions = _transitions(P)
        rewards = validation.array("r", r)
        if rewards.shape == (states,):
            rewards = np.repeat(rewards[:, None], actions, axis=1)
        if rewards.shape != (states, actions):
            raise lsip.ModelError(f"`r` must have shape ({states}, {actions}) or ({states},); got {rewards.shape}.")
        self.specification = Specification(
            rewards, SemiInfiniteCost(domain, cost, bound, lipschitz=lipschitz), mu, gamma
        )
        _ = self.horizon  # refuses what grows without end

    @classmethod
    def from_specification(cls, P: Transitions, specification: Specification) -> SICMDP:
        """The model with transition probabilities P, and everything else as specified."""
        mdp = cls.__new__(cls)
        mdp.rows, states, actions = _transitions(P)
        specification = as_specification(specification)
        if (states, actions) != specification.r.shape:
            raise lsip.ModelError(
                f"`P` has {states} states and {actions} actions, the specification {specification.r.shape}."
            )
        mdp.specification = specification
        _ = mdp.horizon
        return mdp

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
        return horizon(self.gamma, self.rows)

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
        mean = (pi * self._reward(reward)).sum(axis=1)
        return solver(self.chain(pi), self.gamma)(mean, False)

    def q_values(self, policy: PolicyLike, reward: ArrayLike | None = None) -> Array:
        """Q^pi(s, a)."""
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
        d = solver(self.chain(pi), self.gamma)((1 - self.gamma) * self.mu, True)
        return d[:, None] * pi

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
        return self.costs.weights(self.occupancy(policy)) / (1 - self.gamma)

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

        The residual of the flow equations is spread by 1 / (1 - gamma) at most, and again by the scale of visits.
        """
        pi = self.policy(policy)
        chain, d = self.chain(pi), self.occupancy(pi).sum(axis=1)
        flow = self.gamma * (chain.T @ d)
        start = (1 - self.gamma) * self.mu
        most = self.states  # predecessors, or successors, which are added up
        if not isinstance(chain, np.ndarray):
            most = max(int(np.diff(each.indptr).max()) for each in (chain.tocsc(), chain.tocsr()))
        eps = np.finfo(float).eps
        terms = (most + self.actions + 8) * eps
        residual = np.abs(start + flow - d).sum() + terms * (start + flow + np.abs(d)).sum()
        shrinking = 1 - self.gamma * float(chain.sum(axis=1).max()) * (1 + terms)  # rows of P sum to nearly 1
        if not shrinking > 0:
            return np.inf
        sums = (self.states * self.actions + 8) * eps  # over all pairs, as those of rewards
        return float(residual * (1 + sums) / shrinking + sums * np.abs(d).sum()) / (1 - self.gamma)

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
        _check_distribution(pairs.reshape(1, -1), "measure", lambda i: "")
        return draw_from_measure(self.rows, self.states, self.actions, count, pairs, rng)


def _whole(value: float | None) -> float | None:
    """1e4 as the integer that it is."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def as_specification(problem: Specification | SICMDP) -> Specification:
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


def read_policy(policy: PolicyLike, states: int, actions: int) -> Array:
    """A policy as probabilities (S, A); integers (S,) are the actions of a deterministic one.

    What has a policy, such as a `Plan`, stands for it.
    """
    bare: Any = getattr(policy, "policy", policy)  # an array, or what can be made one
    table = bare if isinstance(bare, np.ndarray) else validation.array("policy", bare)
    if isinstance(bare, list | tuple) and all(isinstance(v, int | np.integer) for v in bare):
        table = table.astype(np.intp)
    if table.shape == (states,) and np.issubdtype(table.dtype, np.integer):
        if (table < 0).any() or (table >= actions).any():
            raise lsip.ModelError(f"A deterministic policy has actions 0 to {actions - 1}; got {table.tolist()}.")
        return np.eye(actions)[table]
    pi = validation.array("policy", bare)
    if pi.shape != (states, actions):
        raise lsip.ModelError(
            f"A policy has shape ({states}, {actions}), or ({states},) with integer actions; got {pi.shape}."
        )
    _check_distribution(pi, "policy", lambda i: f" in state {i}")
    return pi


def uniform_policy(states: int, actions: int) -> Array:
    """Every action with the same probability."""
    validation.count("states", states)
    validation.count("actions", actions)
    validation.fits("A policy", states, actions)
    return np.full((states, actions), 1 / actions)


def policy_of(occupancy: Array, least: float = 1e-12) -> Array:
    """The policy behind an occupancy measure (S, A): q(s, a) / sum_b q(s, b).

    States that are visited less than `least` carry no information; there, every action gets the same probability.
    """
    q = np.maximum(validation.array("occupancy", occupancy), 0.0)
    if q.ndim != 2 or not q.size:
        raise lsip.ModelError(f"An occupancy measure has the shape (S, A); got {q.shape}.")
    validation.number("least", least)
    total = q.sum(axis=1, keepdims=True)
    seen = total > least
    return np.where(seen, q / np.where(seen, total, 1.0), 1 / q.shape[1])


def _transitions(P: Transitions) -> tuple[Matrix, int, int]:
    """P as rows (S * A, S), with S and A."""
    if sparse.issparse(P):
        rows = sparse.csr_matrix(P, dtype=float)
        states = rows.shape[1]
        if rows.shape[0] % states or not rows.shape[0]:
            raise lsip.ModelError(f"A sparse `P` has shape (S * A, S), row s * A + a; got {rows.shape}.")
        actions = rows.shape[0] // states
        low, total = rows.data.min(initial=0.0), np.asarray(rows.sum(axis=1)).ravel()
        finite = np.isfinite(rows.data).all()
    else:
        dense = validation.array("P", P)
        if dense.ndim != 3 or dense.shape[0] != dense.shape[2] or not dense.size:
            raise lsip.ModelError(f"`P` must have shape (S, A, S), P[s, a, t] = P(t | s, a); got {dense.shape}.")
        states, actions = dense.shape[:2]
        rows = dense.reshape(states * actions, states)
        low, total, finite = rows.min(), rows.sum(axis=1), True
    if not finite:
        raise lsip.ModelError("`P` must be finite; got nan or inf.")
    if low < 0:
        raise lsip.ModelError(f"`P` holds a negative probability, {low:.6g}.")
    wrong = np.flatnonzero(np.abs(total - 1) > TUNING.off)
    if len(wrong):
        s, a = divmod(int(wrong[0]), actions)
        raise lsip.ModelError(
            f"Probabilities must sum to one: P[{s}, {a}, :] sums to {total[wrong[0]]:.9g}"
            + (f", and {len(wrong) - 1} more rows are off." if len(wrong) > 1 else ".")
        )
    return rows, states, actions


def horizon(gamma: float, rows: Matrix, more: Array | None = None) -> float:
    """1 / (1 - gamma rho), rounded up, where rho is the largest sum of a row of transition probabilities, at least 1.

    Sums miss 1 a little, and with a discount next to 1 that decides how many visits there are: they are taken as they
    are. `more` (S * A,) is added to the sums. Where gamma rho may be 1, visits would grow without end.
    """
    extra = 0.0 if more is None else more
    doubt = (rows.shape[1] + 8) * np.finfo(float).eps
    most = max(1.0, float((np.asarray(rows.sum(axis=1)).ravel() + extra).max()))
    left = 1.0 - gamma * most
    if doubt > TUNING.clear * left:  # a sum that is rounded once
        each = rows if isinstance(rows, np.ndarray) else _stored(rows)
        most = max(1.0, float((np.array([math.fsum(row) for row in each]) + extra).max()))
        left, doubt = 1.0 - gamma * most, 4 * np.finfo(float).eps
    left -= doubt
    if not left > 0:
        raise lsip.ModelError(
            f"Probabilities sum to as much as 1 + {most - 1:.3g}, which the discount {gamma!r} does not shrink: visits "
            "would grow without end. Divide the probabilities of every pair by their sum, or lower gamma."
        )
    return 1.0 / left


def _stored(rows: sparse.csr_matrix) -> Iterator[Array]:
    for start, end in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
        yield rows.data[start:end]


def _check_distribution(rows: Array, name: str, where: Callable[[int], str]) -> None:
    if (rows < 0).any():
        i = int(np.argmax((rows < 0).any(axis=1)))
        raise lsip.ModelError(f"`{name}` holds a negative probability{where(i)}: {rows[i].min():.6g}.")
    off = np.abs(rows.sum(axis=1) - 1)
    if (off > TUNING.off).any():
        i = int(np.argmax(off))
        raise lsip.ModelError(f"`{name}` must sum to one{where(i)}; it sums to {rows[i].sum():.9g}.")
