"""Discounted costs of sampled episodes, for all y: Z_i(y) = sum over steps of weight times c_y(step), plus a tail.

Equal steps and equal episodes are kept once, so that a deterministic policy in a deterministic world is a single
episode, however often it was played.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

import lsip

from . import validation
from .constraint import SemiInfiniteCost, Total
from .kinds import AFTER, BEFORE

if TYPE_CHECKING:
    from .rollouts import Episodes
    from .sicmdp import Specification

Array = NDArray[np.float64]
Steps = slice | NDArray[np.intp]  # some of the distinct ones
Costs = Callable[[Any, Steps], Any]  # points (N, m) -> costs (N, B) of those steps; of an expression, an expression
EVERY = slice(None)


@dataclass(frozen=True, eq=False)
class Form:
    """Of all costs c_y: weights . c_y + constant + factor * the mean of the squares of (row - middle) . (c_y, 1)."""

    weights: Array  # (B,)
    constant: float
    rows: Any = None  # (k, B + 1), dense or sparse; None for none
    shares: Array | None = None  # (k,), of the rows in the mean
    middle: Array | None = None  # (B + 1,)
    factor: float = 0.0

    def __call__(self, costs: lsip.Expression | Array) -> Any:
        """Its values (N,) for costs (N, B), or an expression (1,) for one (1, B)."""
        linear = costs @ self.weights + self.constant
        return linear + self.factor * self.squares(costs) if self.factor else linear

    def squares(self, costs: lsip.Expression | Array) -> Any:
        """The mean of the squares, (N,)."""
        assert self.middle is not None
        rows, last = self.rows[:, :-1], np.asarray(self.rows[:, [-1]].sum(axis=1)).ravel()
        middle, end = self.middle[:-1], self.middle[-1]
        if isinstance(costs, lsip.Expression):
            apart = rows @ costs[0] - (costs[0] @ middle) + (last - end)
            return (self.shares @ apart**2).reshape(1)
        apart = (rows @ costs.T).T - (costs @ middle)[:, None] + (last - end)
        return apart**2 @ self.shares


@dataclass(frozen=True, eq=False)
class DiscountedCosts:
    """Episodes that were drawn independently, as what they cost."""

    constraint: SemiInfiniteCost
    costs: Costs
    weights: sparse.csr_matrix  # (E, B): how distinct episodes weigh distinct steps
    tails: Array  # (E,): what those that were cut off may still cost
    which: NDArray[np.intp]  # (n,): the distinct episode that each is
    range: tuple[float, float]  # of the cost of one step
    most: float  # the weights of an episode sum to this at most

    @property
    def width(self) -> float:
        """By how much the costs of two episodes may differ, at most."""
        return (max(self.range[1], 0.0) - min(self.range[0], 0.0)) * self.most

    @property
    def reach(self) -> float:
        """The largest sum of weights of the episodes that were seen."""
        return float(np.asarray(self.weights.sum(axis=1)).max())

    def shares(self, episodes: slice) -> Array:
        """How much each distinct episode counts among some of them: (E,), of sum 1."""
        some = self.which[episodes]
        return np.bincount(some, minlength=len(self.tails)) / len(some)

    def mean(self, episodes: slice) -> Form:
        """The mean of Z_i over some episodes."""
        shares = self.shares(episodes)
        return Form(np.asarray(shares @ self.weights).ravel(), float(shares @ self.tails))

    def scattered(self, episodes: slice, guess: Form) -> Form:
        """The mean of Z_i over some episodes, with rows whose mean of squares is that of Z_i - guess."""
        shares, mean = self.shares(episodes), self.mean(episodes)
        seen = np.flatnonzero(shares)
        full = sparse.hstack([self.weights[seen], self.tails[seen][:, None]], format="csr")
        middle = np.append(guess.weights, guess.constant)
        if len(seen) <= len(middle):
            return Form(mean.weights, mean.constant, full, shares[seen], middle)
        # Many episodes of few steps: the same sum of squares, from a root of the matrix of second moments.
        mass = np.append(mean.weights, mean.constant)
        moments = (full.T @ sparse.diags(shares[seen]) @ full).toarray()
        moments += np.outer(middle, middle) - np.outer(mass, middle) - np.outer(middle, mass)
        values, vectors = np.linalg.eigh(moments)
        rows, none = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T, np.zeros(len(middle))
        return Form(mean.weights, mean.constant, rows, np.ones(len(rows)), none)


def of_episodes(constraint: SemiInfiniteCost, episodes: Episodes, horizon: int | None, tail: bool) -> DiscountedCosts:
    """What the episodes of an environment cost."""
    from .rollouts import Episodes

    constraint.for_steps()
    if not isinstance(episodes, Episodes):
        raise lsip.ModelError(
            "The evidence for an rl.SemiInfiniteCost are episodes, as agent.episodes(…) gives them; got "
            f"{validation.shown(episodes)}."
        )
    if constraint.range is None:
        raise lsip.ModelError(
            "A guarantee about episodes that nobody has seen needs the lowest and the highest cost of a step: "
            "rl.SemiInfiniteCost(…, range=(0, 1))."
        )
    gamma, length = constraint.gamma, episodes.live.sum(axis=0)
    if gamma == 1 and horizon is None:
        raise lsip.ModelError(
            "Costs that are not discounted add up over an episode: say how many steps it has at most, horizon=…."
        )
    longest = int(length.max(initial=0))
    if horizon is not None and longest > validation.count("horizon", horizon):
        raise lsip.ModelError(f"An episode has {longest} steps, and `horizon` says {horizon} at most.")
    if constraint.total is not None:
        return _of_totals(constraint, constraint.total, episodes, int(horizon or 0))
    ends = constraint.range
    most = float(horizon or 0) if gamma == 1 else 1 / (1 - gamma)
    if gamma < 1 and horizon is not None and not tail:
        most *= 1 - gamma**horizon
    asked = _arrays(episodes, constraint.asks)
    known = [episodes.observations, episodes.actions, *asked.values()]
    keys: dict[tuple[Any, ...], int] = {}
    firsts: list[int] = []
    which = np.empty(episodes.count, dtype=np.intp)
    for i, T in enumerate(length):
        told = (part[:T, i].tobytes() for part in known)
        e = keys.setdefault((*told, bool(episodes.terminated[i])), len(keys))
        which[i] = e
        if e == len(firsts):
            firsts.append(i)
    steps = length[firsts]
    flat = [np.concatenate([part[:T, i] for i, T in zip(firsts, steps, strict=True)]) for part in known]
    table = np.concatenate([np.asarray(p, dtype=float).reshape(len(p), -1) for p in flat], axis=1)
    _, at, step = np.unique(table, axis=0, return_index=True, return_inverse=True)
    observations, actions, *others = (part[at] for part in flat)
    times = np.concatenate([np.arange(T) for T in steps])
    owner = np.repeat(np.arange(len(firsts)), steps)
    weights = sparse.csr_matrix((gamma**times, (owner, step.ravel())), shape=(len(firsts), len(at)))
    cut = ~episodes.terminated[firsts] & tail & (gamma < 1)
    tails = np.where(cut, gamma**steps * max(ends[1], 0.0) * most, 0.0)

    def costs(y: Any, steps: Steps) -> Any:
        more: dict[str, Any] = {"info": {}} if "info" in constraint.asks else {}
        for (where, key), part in zip(asked, others, strict=True):
            if where == "info":
                more["info"][key] = part[steps]
            else:
                more[where] = part[steps]
        if isinstance(y, lsip.Expression):
            return constraint.of_steps(more)(y, observations[steps], actions[steps])
        return constraint.steps(y, observations[steps], actions[steps], more)

    return DiscountedCosts(constraint, costs, weights, tails, which, ends, most)


def _of_totals(constraint: SemiInfiniteCost, total: Total, episodes: Episodes, horizon: int) -> DiscountedCosts:
    """What episodes cost by their totals C: f(y, C) - f(y, 0), once for each of the totals."""
    if not {AFTER, BEFORE} <= set(episodes.info) or total.range is None:
        raise lsip.ModelError("The environment does not tell totals: wrap it, rl.RunningTotal(env, constraint).")
    low, high = min(total.range[0], 0.0), max(total.range[1], 0.0)
    after, before = (episodes.info[name] * episodes.live for name in (AFTER, BEFORE))
    rounding = np.finfo(np.float32).eps * (np.abs(after).max(initial=0.0) + high - low)
    if (after - before < low - rounding).any() or (after - before > high + rounding).any():
        raise lsip.ModelError(
            f"Steps cost from {(after - before).min():.6g} to {(after - before).max():.6g}, outside of the declared "
            f"range {total.range}: give `range` so that it holds for every step."
        )
    last = np.maximum(episodes.live.sum(axis=0) - 1, 0)
    totals, which = np.unique(after[last, np.arange(episodes.count)], return_inverse=True)

    def costs(y: Any, steps: Steps) -> Any:
        return total.function(y, totals[steps]) - total.function(y, np.zeros(1))

    weights = sparse.identity(len(totals), format="csr")
    gained = total.gained(horizon * low, horizon * high)
    return DiscountedCosts(constraint, costs, weights, np.zeros(len(totals)), which.ravel(), gained, 1.0)


def _arrays(episodes: Episodes, asks: Sequence[str]) -> dict[tuple[str, str], Array]:
    """The arrays (T, n, …) that a cost asks for besides observations and actions."""
    told = {("info", key): values for key, values in episodes.info.items()} if "info" in asks else {}
    return told | ({("next_obs", ""): episodes.next_observations} if "next_obs" in asks else {})


def of_visits(specification: Specification, visits: Array) -> DiscountedCosts:
    """What paths of a tabular model cost, from the discounted visits (n, S, A) of each."""
    S, A = specification.r.shape
    checked = validation.array("visits", visits)
    if checked.ndim != 3 or checked.shape[1:] != (S, A) or len(checked) < 2:
        raise lsip.ModelError(
            f"`visits` are the discounted visits of at least two paths, shape (n, {S}, {A}); got {checked.shape}."
        )
    most, counted = 1 / (1 - specification.gamma), checked.sum(axis=(1, 2))
    if (checked < 0).any() or (counted > most * (1 + 1e-9)).any():
        raise lsip.ModelError(f"The discounted visits of a path are at least 0 and sum to {most:.6g} at most.")
    table = specification.costs
    weighed = np.array([table.weights(v) for v in checked])
    lowest, highest = specification.constraint.range or table.extremes()
    kept, which = np.unique(weighed, axis=0, return_inverse=True)
    left = np.zeros(len(kept))
    np.maximum.at(left, which.ravel(), np.maximum(most - counted, 0.0))
    return DiscountedCosts(
        specification.constraint,
        lambda y, steps: table.costs(y)[:, steps],
        sparse.csr_matrix(kept),
        left * max(highest, 0.0),
        which.ravel(),
        (lowest, highest),
        most,
    )
