"""Constraints that are continua by nature: on the whole distribution of a cost c, and on every state.

    dominance    E (c - y)+ <= u(y)   for all y        increasing convex (second-order stochastic) dominance
    chance       P(c > y)   <= u(y)   for all y        a chance constraint for every threshold
    cvar         CVaR_a(c)  <= u(a)   for all a        the mean of the worst share 1 - a, for every level a

`of="step"`: c is the cost of a step that is drawn from the (discounted) occupancy measure, which weighs step t by
(1 - gamma) gamma^t; with gamma = 1 it is that of a step in the long run, or any of the steps of an episode.
`of="episode"`: c is the total of an episode. Both are linear in the occupancy measure: in a tabular model the first as
it stands, the second in a model whose states know the total so far (`rl.finite_horizon`); in an environment likewise
(`rl.RunningTotal`), where steps cost the increments f(C_{t+1}) - f(C_t), which sum to f(total) - f(0).

**CVaR.** By Rockafellar and Uryasev, CVaR_a(c) = min over t of t + E (c - t)+ / (1 - a). As a function of the
distribution this is a minimum of linear ones, so CVaR_a(c) <= u(a) at a single level is not convex in the occupancy
measure. Choose thresholds t(a) instead, and ask for

    E (c - t(a))+ <= (1 - a) (u(a) - t(a))   for all a,

which is linear, and implies CVaR_a(c) <= u(a). Theorem: let G(p) = p u(1 - p) be concave with a derivative on (0, 1],
as it is where u(a) = CVaR_a(Z) for a Z with a density, and let t(a) = G'(1 - a) = u(a) - (1 - a) u'(a). Then this is
equivalent to CVaR_a(c) <= u(a) for all levels a in [0, 1), for a bounded c. Proof of the other direction: H(t) = E (c -
t)+ is convex with slopes in [-1, 0], so H(t) is the maximum over p in [0, 1] of h(p) - p t, where h(p) = min over s of
p s + H(s) = p CVaR_{1-p}(c) <= G(p), and h(0) = 0 <= G(0+). At t = t(a), the concave function G(p) - p t has slope 0 at
p = 1 - a, so H(t(a)) <= G(1 - a) - (1 - a) t(a). For some of the levels only, the condition is sufficient.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

import lsip
from lsip.expressions import substituted

from . import validation
from .constraint import SemiInfiniteCost, Total
from .given_cost import Bound, Cost, called, read_range

Array = NDArray[np.float64]
Formula: TypeAlias = lsip.Expression | Array
Pair = tuple[float, float]
MEANINGS = ("step", "episode")
AFTER, BEFORE = "total", "total_before"  # what `RunningTotal` tells of a step


@dataclass(frozen=True)
class Distribution:
    """E f(y, c) <= u(y) for all y, before it is known what c is a cost of."""

    index: lsip.Index  # y
    bound: Any  # u(y), an expression or a number

    def function(self, y: Formula, c: Formula) -> Any:
        """f, which grows with c: of an index and numbers, or points (N, 1) and numbers (1, B)."""
        raise NotImplementedError

    def gained(self, lowest: float, highest: float) -> Pair:
        """What f(y, b) - f(y, a) lies between, for b - a between two numbers."""
        return lowest, highest  # f changes no faster than c

    def of_values(self, values: Array, mean: bool = False) -> SemiInfiniteCost:
        """The constraint where c is one of so many numbers, in an array of any shape."""
        distinct, which = np.unique(values, return_inverse=True)
        part = self.up_to(float(distinct[-1]))
        costs, bound = part.rows(distinct)
        return SemiInfiniteCost(part.index, costs[which.reshape(values.shape)], bound, mean=mean)

    def up_to(self, most: float) -> Distribution:
        """The same without the y above the largest cost, where f = 0, and u, which counts as max(u, 0), is not less."""
        y, bound = self.index, self.bound
        low, high = float(y.domain.lower[0]), float(y.domain.upper[0])
        if not isinstance(y.domain, lsip.Interval) or not low < most < high:
            return self
        beyond = np.linspace(most, high, 1_000)
        least = beyond[np.argmin(self.limit(beyond[:, None]))]
        if self.limit(least.reshape(1, 1))[0] < -1e-9:
            raise lsip.ModelError(f"`bound` is negative at {y.name} = {least:.6g}, and no distribution is below that.")
        kept = lsip.Index(y.name, lsip.Interval(low, most))
        if isinstance(bound, lsip.Expression):
            bound = substituted(bound, {y: kept})
        return replace(self, index=kept, bound=bound)

    def rows(self, values: Array) -> tuple[Any, Any]:
        """f for values (K,) in ascending order, and u; both may be lower by the same function of y."""
        return self.function(self.index, values), self.bound

    def batched(self, y: Formula, values: Any) -> Any:
        """f at points (N, 1), of arrays or traced, and values (B,): (N, B)."""
        return self.function(y, np.asarray(values)[None, :])

    def at(self, part: Formula, y: Formula) -> Any:
        """An expression in the index at points (N, 1), of arrays or traced: (N, 1)."""
        if not isinstance(part, lsip.Expression):
            return 0.0 * y + part
        if isinstance(y, lsip.Expression):
            return substituted(part, {self.index: y[0, 0]}).reshape(1, 1)
        return part.at({self.index: np.asarray(y)[:, 0]})[:, None]

    def limit(self, y: Formula) -> Any:
        """u at points (N, 1): (N,)."""
        return self.at(self.bound, y)[:, 0]

    def constraint(
        self, cost: Cost, of: str, gamma: float | None, steps: int | None, ends: Pair | None
    ) -> SemiInfiniteCost:
        """Of a table of costs, or of a function of an environment; of steps, or of episodes."""
        validation.choice("of", of, MEANINGS)
        if not callable(cost) or isinstance(cost, lsip.Expression):
            validation.unused("a table of costs, whose model knows them", gamma=gamma, steps=steps, range=ends)
            table: Any = cost
            values: Any = validation.array("cost", table)
            if not values.size:
                raise lsip.ModelError(f"`cost` must have a cost of each state, or of each action there; got {table!r}.")
            made = self.of_values(values, mean=of == "step")
        else:
            validation.function("cost", cost, "observations", "actions")
            ends, values = None if ends is None else read_range(ends), cost
            made = (self.of_steps if of == "step" else self.of_episodes)(cost, gamma, steps, ends)
        if of == "episode":
            made.total = Total(values, ends, self.of_values, self.batched, self.gained)
        return made

    def of_steps(
        self, cost: Callable[..., Any], gamma: float | None, steps: int | None, ends: Pair | None
    ) -> SemiInfiniteCost:
        """In an environment: (1 - gamma) f(y, c), or f(y, c) / steps."""
        if (gamma is None) == (steps is None):
            raise lsip.ModelError(
                "In an environment, say what a step is drawn from: gamma=0.99 for discounted episodes, or steps=200 "
                "for all steps of episodes that have so many."
            )
        if gamma is None:
            share, gamma = 1 / validation.count("steps", steps), 1.0
        else:
            share = 1 - validation.number("gamma", gamma, "discount")

        def charged(y: Formula, observations: Formula, actions: Formula) -> Any:
            return share * self.batched(y, called("cost(observations, actions)", cost, observations, actions))

        span = None
        if ends is not None:
            lowest, highest = self.of_values(np.array(ends)).table(len(ends), 1).extremes()
            span = share * min(lowest, 0.0), share * highest
        return SemiInfiniteCost(self.index.domain, charged, self.limit, range=span, gamma=gamma)

    def of_episodes(
        self, cost: Callable[..., Any], gamma: float | None, steps: int | None, ends: Pair | None
    ) -> SemiInfiniteCost:
        """In an environment whose `RunningTotal` tells the totals before and after a step."""
        validation.unused("the total of an episode, which rl.RunningTotal discounts", gamma=gamma, steps=steps)

        def charged(y: Formula, observations: Formula, actions: Formula, info: Mapping[str, Any]) -> Any:
            if AFTER not in info or BEFORE not in info:
                raise lsip.ModelError(
                    "The environment does not tell totals: wrap it, rl.RunningTotal(env, constraint)."
                )
            return self.batched(y, info[AFTER]) - self.batched(y, info[BEFORE])

        def limit(y: Formula) -> Any:
            return self.limit(y) - self.batched(y, np.zeros(1))[:, 0]

        span = None if ends is None else self.gained(min(ends[0], 0.0), max(ends[1], 0.0))
        told: Any = charged
        return SemiInfiniteCost(self.index.domain, told, limit, range=span)


class Excess(Distribution):
    """f(y, c) = (c - y)+."""

    def function(self, y: Formula, c: Formula) -> Any:
        return np.maximum(c - y, 0.0)


class Exceedance(Distribution):
    """f(y, c) = 1 where c > y, else 0."""

    def function(self, y: Formula, c: Formula) -> Any:
        return np.where(c > y, 1.0, 0.0)

    def gained(self, lowest: float, highest: float) -> Pair:
        return -1.0 if lowest < 0 else 0.0, 1.0 if highest > 0 else 0.0

    def rows(self, values: Array) -> tuple[Any, Any]:
        """Where y is below all values, P(c > y) = 1 whatever the policy: f and u are lower by 1 there.

        So rows that cannot be violated have no coefficients, and do not keep the problem from having an interior. A
        jump counts with both of its limits: at the first y, where there is no limit from the left, c = y is not above.
        """
        y, least = self.index, float(values[0])
        first = float(y.domain.lower[0])
        charged = [0.0 * y if v <= max(first, least) else np.where(y < v, 1.0, 0.0) for v in values]
        if least <= first:
            return np.stack(charged), self.bound
        below = np.where(y < least, 1.0, 0.0)
        late = [each if v <= least else np.where(y < least, 0.0, each) for v, each in zip(values, charged, strict=True)]
        return np.stack(late), self.bound - below


@dataclass(frozen=True)
class TailMean(Distribution):
    """f(a, c) = (c - t(a))+, with thresholds t."""

    threshold: Any = 0.0

    def up_to(self, most: float) -> Distribution:
        return self  # levels are no costs

    def function(self, y: Formula, c: Formula) -> Any:
        return np.maximum(c - (self.threshold if y is self.index else self.at(self.threshold, y)), 0.0)


def dominance(
    cost: Cost,
    bound: Bound,
    Y: lsip.Domain | lsip.Index,
    *,
    of: str = "step",
    gamma: float | None = None,
    steps: int | None = None,
    range: Pair | None = None,  # noqa: A002  (the word for it)
) -> SemiInfiniteCost:
    """E (c - y)+ <= u(y) for all y: increasing convex (second-order stochastic) dominance.

    Parameters
    ----------
    cost
        c: a table (S,) or (S, A) of a tabular model, or a function of observations and actions of an environment.
    bound
        u >= 0: an expression in the index, a function of points (N, 1) in NumPy's functions, or a number. For a
        benchmark Z, E (Z - y)+. Above the largest cost of a tabular model, it counts as max(u, 0).
    Y
        An index over an interval, or the interval.
    of
        Of which c: "step", drawn from the (discounted) occupancy measure, or "episode", the total of one.
    gamma, steps
        In an environment, of steps: the discount of the occupancy measure, or how many steps all episodes have.
    range
        In an environment: (lowest, highest) cost c of a step, which `rl.certify` needs.

    Examples
    --------
    Two states, of which the second pays 1, but costs 2:

    >>> import lsip, rl
    >>> y = lsip.Index("y", lsip.Interval(0, 2))
    >>> limit = rl.dominance([0, 2], 0.5 - 0.25 * y, y)
    >>> P = np.array([[[1, 0], [0, 1]], [[1, 0], [0, 1]]])  # action a leads to state a
    >>> task = rl.Specification([[0, 0], [1, 1]], limit, [1, 0], 0.9)
    >>> round(rl.plan(task.with_transitions(P)).value, 6)  # a quarter of the discounted time
    2.5
    """
    return Excess(*_read(bound, Y)).constraint(cost, of, gamma, steps, range)


def chance(
    cost: Cost,
    bound: Bound,
    Y: lsip.Domain | lsip.Index,
    *,
    of: str = "step",
    gamma: float | None = None,
    steps: int | None = None,
    range: Pair | None = None,  # noqa: A002  (the word for it)
) -> SemiInfiniteCost:
    """P(c > y) <= u(y) for all y: a chance constraint for every threshold. Parameters are those of `rl.dominance`.

    Examples
    --------
    >>> import lsip, rl
    >>> y = lsip.Index("y", lsip.Interval(0, 2))
    >>> limit = rl.chance([0, 1, 2], 0.5 - 0.2 * y, y)
    >>> limit.at([[0.5], [1.5]], 3, 1)[0].tolist()
    [[0.0, 1.0, 1.0], [0.0, 0.0, 1.0]]
    """
    return Exceedance(*_read(bound, Y)).constraint(cost, of, gamma, steps, range)


def cvar(
    cost: Cost,
    bound: Bound,
    levels: lsip.Domain | lsip.Index,
    *,
    threshold: Bound | None = None,
    of: str = "step",
    gamma: float | None = None,
    steps: int | None = None,
    range: Pair | None = None,  # noqa: A002  (the word for it)
) -> SemiInfiniteCost:
    """CVaR_a(c) <= u(a) for all levels a, by thresholds t(a): E (c - t(a))+ <= (1 - a) (u(a) - t(a)).

    Every policy that keeps this keeps CVaR_a(c) <= u(a). The converse holds for the default thresholds where the levels
    are all of [0, 1) and (1 - a) u(a) is concave, as it is for the CVaR of a benchmark; `rl/kinds.py` has the proof.

    Parameters
    ----------
    cost, of, gamma, steps, range
        As those of `rl.dominance`.
    bound
        u, as there. An u that does not rise with a allows no c above it at all, with the default thresholds.
    levels
        An index over an interval within [0, 1], or the interval.
    threshold
        t, as u: any function, best where it is the a-quantile of c. u(a) - (1 - a) u'(a) by default.

    Examples
    --------
    The CVaR of a uniform variable on [0, 1] is (1 + a) / 2, and its quantile a:

    >>> import lsip, rl
    >>> a = lsip.Index("a", lsip.Interval(0, 1))
    >>> rl.cvar([0.0, 1.0], (1 + a) / 2, a).at([[0.2]], 2, 1)
    (array([[0. , 0.8]]), array([0.32]))
    """
    index, u = _read(bound, levels)
    low, high = float(index.domain.lower[0]), float(index.domain.upper[0])
    if low < 0 or high > 1:
        raise lsip.ModelError(f"Levels of CVaR lie within [0, 1]; got [{low:g}, {high:g}].")
    if threshold is None:
        slope = lsip.derivative(u, index) if isinstance(u, lsip.Expression) else 0.0
        return TailMean(index, (1 - index) ** 2 * slope, u - (1 - index) * slope).constraint(
            cost, of, gamma, steps, range
        )
    _, t = _read(threshold, index)
    return TailMean(index, (1 - index) * (u - t), t).constraint(cost, of, gamma, steps, range)


def statewise(cost: Formula | ArrayLike, bound: Formula | ArrayLike, Y: lsip.Domain | lsip.Index) -> SemiInfiniteCost:
    """sum over a of pi(a | s) c_y(s, a) <= u_y(s) for all y, in every state s that is visited.

    Parameters
    ----------
    cost
        c: an array (S, A), or an expression of this shape in the index.
    bound
        u: an array (S,), an expression of this shape or of none, or a number.
    Y
        An index over an interval or a box of at most three dimensions, or the set.

    Returns
    -------
    SemiInfiniteCost
        Of a tabular model, with points (s, y): sum over a of q(s, a) (c_y(s, a) - u_y(s)) <= 0.

    Examples
    --------
    >>> import lsip, rl
    >>> y = lsip.Index("y", lsip.Interval(0, 1))
    >>> limit = rl.statewise(np.array([[0, 1], [0, 1]]) + 0 * y, 0.5 + y / 2, y)
    >>> print(limit.at([[1, 0.2]], 2, 2)[0][:, 2:])  # of the second state
    [[-0.6  0.4]]
    """
    index, _ = _read(0.0, Y, 3)
    table = cost if isinstance(cost, lsip.Expression) else validation.array("cost", cost) + 0.0 * _number(index)
    if len(table.shape) != 2:
        raise lsip.ModelError(f"`cost` must have one number a state and action, shape (S, A); got {table.shape}.")
    states = table.shape[0]
    level = bound if isinstance(bound, lsip.Expression) else validation.array("bound", bound)
    if level.shape not in ((), (states,)):
        raise lsip.ModelError(f"`bound` must be one number, or one a state, shape ({states},); got {level.shape}.")
    excess = table - (level.reshape(states, 1) if level.shape else level)
    place = lsip.Index("s_" + index.name, lsip.Finite(np.arange(states)) * index.domain)
    here = np.stack([np.where(abs(place[0] - s) < 0.5, 1.0, 0.0) for s in np.arange(states)])
    moved = substituted(excess, {index: place[1:] if index.shape else place[1]})
    return SemiInfiniteCost(place, here.reshape(states, 1) * moved, 0.0)


def _number(index: lsip.Index) -> Any:
    return index[0] if index.shape else index


def _read(bound: Any, Y: lsip.Domain | lsip.Index, most: int = 1) -> tuple[lsip.Index, Any]:
    """The index, and the bound as an expression in it or a number."""
    index = Y
    if isinstance(Y, lsip.Domain):
        known = bound.indices() if isinstance(bound, lsip.Expression) else ()
        index = next((each for each in known if each.domain == Y), None) or lsip.Index("y", Y)
    if not isinstance(index, lsip.Index) or index.domain.dim > most:
        raise lsip.ModelError(
            f"`Y` must be an interval, or an index over one, as in lsip.Index('y', lsip.Interval(0, 1)); got "
            f"{validation.shown(Y)}."
        )
    if callable(bound) and not isinstance(bound, lsip.Expression):
        found = called("bound(y)", bound, index.reshape(1, 1))
        found = found if isinstance(found, lsip.Expression) else validation.array("bound(y)", found)
        if found.size != 1:
            raise lsip.ModelError(f"`bound(y)` must give one number for one y, in shape (1,); got {found.shape}.")
        bound = found.reshape(()) if isinstance(found, lsip.Expression) else float(found.item())
    if not isinstance(bound, lsip.Expression):
        return index, validation.number("bound", bound)
    if bound.ndim or set(bound.indices()) - {index}:
        raise lsip.ModelError(f"`bound` must be one number for every {index.name}, in this index and no other.")
    return index, bound
