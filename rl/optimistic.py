"""Optimistic policy iteration: the best policy and the best model of a set at once, for any reward.

For a value function V, the best distribution in the box lo <= p <= hi puts all the mass it may on the states that come
first when sorted by V. So one sort serves all state-action pairs, and with F the mass filled so far (a running sum of
hi - lo, capped at what lo leaves), Abel's summation gives every p . V in one pass. This is the linear maximisation
over occupancy measures z that `lsip.decompose` asks for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import lsip
from lsip.deadline import check

from .dataset import Matrix, OptimisticSet
from .discounted_solve import Solve, solver
from .occupancy import fill
from .sicmdp import SICMDP, Specification
from .transitions import horizon

Array = NDArray[np.float64]
EPS = np.finfo(float).eps


@dataclass(frozen=True)
class SweepTuning:
    """How optimistic policy iteration sweeps.

    Parameters
    ----------
    block
        States that are filled at a time.
    stalls
        Sweeps without gain that end it; a rise by as many roundings of the largest value is none.
    """

    block: int = 64
    stalls: int = 10

    @property
    def settled(self) -> float:
        """The rise of a value, relative to the largest, that no longer counts."""
        return self.stalls * float(np.finfo(float).eps)


TUNING = SweepTuning()


@dataclass(frozen=True, eq=False)
class Greedy:
    """A deterministic policy, with the order in which its model fills up the likely successors (None: one model)."""

    actions: NDArray[np.intp]  # (S,)
    order: NDArray[np.intp] | None  # (S,)


class KnownModel:
    """One model: nothing to choose but the actions."""

    inexact = 0.0  # how far the sum of a row of transitions may be off, which are as they are given here

    def __init__(self, mdp: SICMDP) -> None:
        self.rows, self.actions = mdp.rows, mdp.actions

    def horizon(self, gamma: float) -> float:
        """How many discounted visits there are at most."""
        return horizon(gamma, self.rows)

    def backup(self, values: Array) -> tuple[Array, None]:
        """P V for every pair: (S * A,)."""
        return self.rows @ values, None

    def chain(self, greedy: Greedy) -> Matrix:
        """The transition matrix (S, S) of a policy."""
        return self.rows[np.arange(len(greedy.actions)) * self.actions + greedy.actions]


class ModelSet:
    """All models with lo <= P <= hi."""

    def __init__(self, models: OptimisticSet) -> None:
        S, A, _ = models.lower.shape
        self.states, self.actions = S, A
        self.lower = models.lower.reshape(S * A, S)
        self.upper = models.upper.reshape(S * A, S)
        self.room = np.ascontiguousarray((self.upper - self.lower).T)  # (S, S * A): a successor is a row
        self.left = np.maximum(1.0 - self.lower.sum(axis=1), 0.0)
        self.inexact = 2 * (S + 8) * EPS  # transitions are filled in

    def horizon(self, gamma: float) -> float:
        """How many discounted visits there are at most, in any of the models."""
        return horizon(gamma, self.lower, self.left)

    def backup(self, values: Array) -> tuple[Array, NDArray[np.intp]]:
        """max over the set of P V for every pair, and the order in which successors are filled."""
        order = np.argsort(-values, kind="stable")
        sorted_values = values[order]
        drops = sorted_values - np.append(sorted_values[1:], 0.0)
        result = self.lower @ values
        carry = np.zeros(len(self.left))
        for start in range(0, self.states, TUNING.block):
            filled = self.room[order[start : start + TUNING.block]]
            filled[0] += carry
            np.cumsum(filled, axis=0, out=filled)
            carry = filled[-1].copy()
            np.minimum(filled, self.left, out=filled)
            result += drops[start : start + TUNING.block] @ filled
            if start + TUNING.block < self.states and (carry >= self.left).all():
                result += self.left * sorted_values[start + TUNING.block]
                break
        return result, order

    def chain(self, greedy: Greedy) -> Array:
        assert greedy.order is not None  # because there is a model to choose
        rows = np.arange(self.states) * self.actions + greedy.actions
        return fill(self.lower[rows], self.upper[rows], greedy.order)


class Maximiser:
    """max over policies (and models) of the discounted sum of any reward, with a proven bound.

    Points are x = (V_r, visits): the return, and the discounted visits that the constraint weighs, so that a direction
    w asks for the reward w[0] r + w[1:]. Warm-started from the values of the last call.
    """

    def __init__(self, spec: Specification, model: KnownModel | ModelSet) -> None:
        self.spec, self.model = spec, model
        self.horizon = model.horizon(spec.gamma)
        self.values: Array | None = None
        self.known: dict[int, tuple[Greedy, Array]] = {}  # the visits of the policies that it has found

    @property
    def size(self) -> int:
        """How many numbers a point has."""
        return 1 + self.spec.costs.size

    def __call__(self, direction: Array) -> lsip.Extreme:
        """The point of largest direction @ x, as an `lsip.Extreme`."""
        spec = self.spec
        S, A, gamma = spec.states, spec.actions, spec.gamma
        reward = direction[0] * spec.r
        reward[: spec.costs.states] += direction[1:].reshape(spec.costs.states, -1)
        values = self.values if self.values is not None else np.full(S, reward.max() / (1 - gamma))
        best, stalls = -np.inf, 0
        for _ in range(200):
            check("best policy")
            future, order = self.model.backup(values)
            q = reward + gamma * future.reshape(S, A)
            improved = q.max(axis=1)
            rise = float((improved - values).max())
            # From below, values grow to the optimum; the first sweep starts from those of another reward.
            if np.isfinite(best) and rise <= TUNING.settled * np.abs(improved).max():
                break
            greedy = Greedy(q.argmax(axis=1), order)
            chain = self.model.chain(greedy)
            factors = solver(chain, gamma)
            values = factors(np.take_along_axis(reward, greedy.actions[:, None], axis=1)[:, 0], False)
            value = float(spec.mu @ values)
            if value <= best + 1e-14 * (1 + abs(best)):
                # States that are hardly ever visited may still rise, and the bound holds for all of them.
                future, order = self.model.backup(values)
                rise = float(((reward + gamma * future.reshape(S, A)).max(axis=1) - values).max())
                stalls += 1
                if rise <= TUNING.settled * np.abs(values).max() or stalls >= TUNING.stalls:
                    break
            best, last = max(value, best), (greedy, factors)
        self.values = values
        greedy, factors = last
        self.known[id(greedy)] = greedy, factors(spec.mu, True)
        x, radius = self.reached(*self.known[id(greedy)], factors)
        doubt = 4 * (S + 10) * EPS * (np.abs(reward).max() + 2 * np.abs(values).max())
        bound = float(spec.mu @ values) + (max(rise, 0.0) + doubt) * self.horizon * float(spec.mu.sum())
        return lsip.Extreme(x, bound, greedy, radius)

    def reached(self, greedy: Greedy, visits: Array, factors: Solve) -> tuple[Array, Array]:
        """(V_r, visits) of a deterministic policy, and how far the exact numbers may be from them.

        What is left over in v = mu + gamma P' v is spread by M = (I - gamma P')^-1, which has no negative entry: for
        what is left over at most, t, and any w, M t <= w + horizon * (the sum of what t exceeds w - gamma P' w by).
        """
        spec, chain = self.spec, self.model.chain(greedy)
        gamma, size = spec.gamma, float(np.abs(visits).sum())
        terms = (_most_entries(chain) + 8) * EPS

        def flow(v: Array) -> Array:
            return gamma * np.asarray(chain.T @ v).ravel()

        left = np.abs(spec.mu - (visits - flow(visits))) + 2 * terms * (spec.mu + np.abs(visits) + flow(np.abs(visits)))
        spread = 2 * np.maximum(factors(left, True), 0.0)
        back = flow(spread)
        over = float((np.maximum(left - (spread - back), 0.0) + 2 * terms * (left + spread + back)).sum())
        off = 2 * (spread + self.horizon * (over + self.model.inexact * (1 + 2 * size)))
        x = self.point(greedy, visits)
        pairs = np.zeros(spec.r.shape)
        pairs[np.arange(spec.states), greedy.actions] = off
        gains = np.abs(spec.r)[np.arange(spec.states), greedy.actions]
        doubt = 2 * (off + (spec.r.size + 8) * EPS * np.abs(visits)) @ gains
        return x, np.concatenate([[doubt], spec.costs.weights(pairs)])

    def point(self, greedy: Greedy, visits: Array) -> Array:
        """(V_r, visits) of a deterministic policy with these state visits (S,)."""
        S, A = self.spec.r.shape
        pairs = np.zeros((S, A))
        pairs[np.arange(S), greedy.actions] = visits
        return np.concatenate([[float((pairs * self.spec.r).sum())], self.spec.costs.weights(pairs)])

    def occupancy(self, greedy: Greedy) -> Array:
        """q(s, a) of a policy in its own model, of sum one."""
        S, A = self.spec.r.shape
        q = np.zeros((S, A))
        known = self.known.get(id(greedy))
        visits = self.visits(greedy) if known is None else known[1]
        q[np.arange(S), greedy.actions] = (1 - self.spec.gamma) * visits
        return q

    def visits(self, greedy: Greedy) -> Array:
        """Discounted visits of the states (S,) under a policy in its own model."""
        return self.factors(greedy)(self.spec.mu, True)

    def factors(self, greedy: Greedy) -> Solve:
        """How to solve the equations of a policy in its own model."""
        return solver(self.model.chain(greedy), self.spec.gamma)


def _most_entries(chain: Matrix) -> int:
    """How many predecessors a state has at most."""
    return len(chain) if isinstance(chain, np.ndarray) else int(np.bincount(chain.indices, minlength=1).max())
