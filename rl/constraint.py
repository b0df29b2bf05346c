"""The continuum of constraints of a decision problem: costs c_y(s, a) and bounds u_y for every y in an index set Y."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import lsip
from lsip.expressions import Affine
from lsip.legible import legible_repr, legibly
from lsip.model import FamilyViolation, Program, largest_coefficient, steepest_coefficient
from lsip.solution import above
from lsip.validation import axes, is_mapping, numbers

from . import validation
from .given_cost import (
    Bound,
    Cost,
    More,
    Steps,
    Values,
    called,
    constant,
    in_tensors,
    is_function,
    read_cost,
    read_domain,
    read_range,
    refuse_infinite,
)

Array = NDArray[np.float64]
MORE = ("next_obs", "info")


@legible_repr
@dataclass(frozen=True, eq=False)
class Worst:
    """The largest violation sup_y V_{c_y} - u_y: the largest value found, where, and a proven bound on all others.

    Examples
    --------
    >>> import envs, rl
    >>> mdp = envs.sewage(states=3, actions=2, gamma=0.9, seed=0)
    >>> worst = mdp.worst_violation(rl.uniform_policy(3, 2))
    >>> worst.certified, worst.y.shape, worst.value <= worst.bound
    (True, (2,), True)
    """

    value: float
    y: Array  # (m,)
    bound: float  # inf when nothing is proven
    assumptions: tuple[str, ...] = ()  # what the bound takes on trust, in sentences

    @property
    def certified(self) -> bool:
        """Whether `bound` is a theorem about every y in Y, with nothing taken on trust."""
        return bool(np.isfinite(self.bound)) and not self.assumptions

    def __float__(self) -> float:
        return self.value

    @legibly
    def __str__(self) -> str:
        proof = "not proven elsewhere"
        if np.isfinite(self.bound):
            proof = f"at most {above(self.bound, 6):.6g} over all of Y"
            proof += f", if {' and '.join(self.assumptions)}" if self.assumptions else ""
        return f"{self.value:.6g} at y = {np.array2string(self.y, precision=6)} ({proof})"


@dataclass(frozen=True, eq=False)
class Total:
    """What a constraint says of the total cost of an episode: E f(y, total) <= u(y) for all y.

    Parameters
    ----------
    cost
        Of a step: a table (S,) or (S, A), or a function of observations and actions.
    range
        (lowest, highest) cost of a step of an environment, where it is known.
    of_values
        The constraint of a model that ends in one of so many states, each with a total of its own: (K,) ->
        `SemiInfiniteCost`.
    function
        f, of points (N, 1) and totals (B,): (N, B).
    gained
        What f(y, total) - f(y, 0) lies between, for totals between two numbers.
    """

    cost: Any
    range: tuple[float, float] | None
    of_values: Callable[[Array], SemiInfiniteCost]
    function: Callable[[Any, Any], Any]
    gained: Callable[[float, float], tuple[float, float]]


class SemiInfiniteCost:
    """Costs c_y(s, a) whose expected discounted sum must stay below u_y, for every y in Y.

    Parameters
    ----------
    domain
        Y: a domain of `lsip`, or the `lsip.Index` that `cost` and `bound` are written in.
    cost
        Either an expression in an index over Y, or a function of points y (N, m). In a tabular model its values have
        shape (S,) when the cost depends on the state alone, or (S, A); a function has a leading axis N.
    bound
        u: an expression without shape, a function of points (N, m) with values (N,), or a number.
    lipschitz
        For functions that cannot be traced (see `lsip.Family`): Lipschitz constants of cost and bound in y.
    range
        (lowest, highest) cost of one step, whatever y and the step: what `rl.certify` needs to know of episodes that it
        has not seen. (Costs of a tabular model that can be enclosed need none.)
    gamma
        Of an environment with a `step`: how its costs are discounted; one adds them up over an episode as they are. (A
        tabular model has a discount factor of its own.) There, `cost` is a function of points y (N, m), observations
        (B, …) and actions (B, …) with values (N, B).
    candidates
        For such an environment: observations (B, …) -> points of Y (k, m) where the cost may peak; they are looked at
        besides what an oracle finds.

        A cost that has parameters `next_obs` or `info` is given these by name, too: the observations (B, …) that
        followed, and what the environment told of the steps besides, a dictionary of arrays (B, …) such as
        `info["cost"]`. Numbers that it did not tell in a step are zero there.
    tensors
        For such an environment: cost and bound are written with torch's functions, of tensors y, observations and
        actions, which are on the device of the learner; so the search over Y is there, too.
    mean
        Of a tabular model: u bounds the mean cost of a step that is drawn from the (discounted) occupancy measure, and
        not the sum.
    total
        What is a function of the total of an episode, as `rl.dominance(…, of="episode")` makes it.

    Examples
    --------
    >>> import lsip, rl
    >>> y = lsip.Index("y", lsip.Interval(0, 1))
    >>> rl.SemiInfiniteCost(y, np.abs(y - np.array([0.2, 0.7])), 1 + y).at([[0.5]], 2, 1)
    (array([[0.3, 0.2]]), array([1.5]))
    """

    def __init__(
        self,
        domain: lsip.Domain | lsip.Index,
        cost: Cost,
        bound: Bound,
        *,
        lipschitz: float | tuple[float, float] | None = None,
        range: tuple[float, float] | None = None,  # noqa: A002  (the word for it)
        gamma: float = 1.0,
        candidates: Callable[[Steps], ArrayLike] | None = None,
        tensors: bool = False,
        mean: bool = False,
        total: Total | None = None,
    ) -> None:
        validation.flag("tensors", tensors)
        validation.flag("mean", mean)
        self.mean, self.total = bool(mean), total
        self.tensors = bool(tensors)
        self.gamma, self.candidates = validation.number("gamma", gamma, "share"), candidates
        self.range = None if range is None else read_range(range)
        validation.function("candidates", candidates, "observations")
        cost = read_cost(cost)
        self.index, self.domain = read_domain(domain, cost, bound)
        level: Any = bound  # a function has no axes, either
        if axes(level) if not isinstance(bound, lsip.Expression) else bound.ndim:
            raise lsip.ModelError("`bound` is one number for every y; a bound with a shape was given.")
        if self.index is not None and (is_function(cost) or is_function(bound)):
            raise lsip.ModelError(
                "`cost` and `bound` must both be expressions in the index, or both functions of points."
            )
        if is_function(bound):
            validation.call("bound", bound, "y")
        elif not isinstance(bound, lsip.Expression):
            bound = validation.number("bound", bound)
        self.cost: Any = cost if self.index is not None or callable(cost) else constant(cost)
        self.bound: Any = bound if self.index is not None or callable(bound) else constant(bound)
        self.lipschitz = lipschitz

    @cached_property
    def asks(self) -> tuple[str, ...]:
        """What the cost of a step wants to know besides observations and actions."""
        return () if self.index is not None else tuple(n for n in MORE if n in validation.parameters(self.cost))

    @legibly
    def __repr__(self) -> str:
        cost, bound = (getattr(part, "__name__", part) for part in (self.cost, self.bound))
        return f"SemiInfiniteCost({self.domain}, cost={cost}, bound={bound})"

    @classmethod
    def finite(
        cls,
        costs: Sequence[Callable[[Steps, Steps], ArrayLike]],
        bounds: Sequence[float],
        *,
        lipschitz: float | tuple[float, float] | None = None,
        range: tuple[float, float] | None = None,  # noqa: A002  (the word for it)
        gamma: float = 1.0,
        candidates: Callable[[Steps], ArrayLike] | None = None,
    ) -> SemiInfiniteCost:
        """Finitely many costs of an environment, each a function of observations and actions with values (B,)."""
        for name, values in (("costs", costs), ("bounds", bounds)):
            if not isinstance(values, list | tuple | np.ndarray) or getattr(values, "ndim", 1) == 0:
                raise lsip.ModelError(f"`{name}` are a list; got {validation.shown(values)}.")
        for i, each in enumerate(costs):
            validation.function(f"costs[{i}]", each, "observations", "actions")
        if len(costs) != len(bounds) or not len(costs):
            raise lsip.ModelError(f"Each cost needs one bound; got {len(costs)} costs and {len(bounds)} bounds.")
        limits = np.array([validation.number(f"bounds[{i}]", b) for i, b in enumerate(bounds)])

        def cost(y: Array, observations: Steps, actions: Steps) -> Array:
            return np.stack([np.asarray(costs[int(i)](observations, actions), dtype=float) for i in y[:, 0]])

        def bound(y: Array) -> Array:
            return limits[y[:, 0].astype(int)]

        domain = lsip.Finite(np.arange(len(costs))[:, None])
        return cls(domain, cost, bound, lipschitz=lipschitz, range=range, gamma=gamma, candidates=candidates)

    def steps(self, y: Array, observations: Steps, actions: Steps, more: More | None = None) -> Array:
        """Costs c_y at the steps of an environment: (N, B) for points (N, m) and B steps.

        `more` is what the cost asks for besides, by name.
        """
        if self.index is not None:
            self.for_steps()  # says what is wrong
        if self.tensors and more:
            more = in_tensors(more)
        costs = self._computed("cost(y, observations, actions)", self.of_steps(more), y, observations, actions)
        if costs.shape != (len(y), len(observations)):
            raise lsip.ModelError(
                f"`cost(y, observations, actions)` must give one number a point and step, shape "
                f"({len(y)}, {len(observations)}); got {costs.shape}."
            )
        return refuse_infinite(costs, "cost(y, observations, actions)", y)

    def bounds(self, y: Array) -> Array:
        """u_y at points (N, m)."""
        bounds = self._computed("bound(y)", self.bound, y)
        if bounds.shape != (len(y),):
            raise lsip.ModelError(
                f"`bound(y)` must give one number a point, shape ({len(y)},) for y {y.shape}; got {bounds.shape}."
            )
        return refuse_infinite(bounds, "bound(y)", y)

    def _computed(self, call: str, function: Callable[..., Any], *arguments: object) -> Array:
        """What cost or bound give for arrays; those of torch get tensors."""
        if self.tensors:
            import torch

            arguments = tuple(torch.as_tensor(np.asarray(each)) for each in arguments)
        return numbers(called(call, function, *arguments), "What cost or bound give", nan=True)

    @property
    def width(self) -> int:
        """How many numbers a critic sees of an index point."""
        return self.domain.dim

    def features(self, points: Array) -> Array:
        """What it sees: index points (N, m), scaled to the unit box."""
        low, high = self.domain.lower, self.domain.upper
        scaled: Array = (points - low) / np.where(high > low, high - low, 1.0)
        return scaled

    def discounts(self, points: Array) -> Array:
        """The discount factors of the costs at index points: (N,)."""
        return np.full(len(points), self.gamma)

    def of_steps(self, more: More | None) -> Callable[..., Any]:
        """The cost as a function of points, observations and actions alone, with what it asks for besides."""
        if more is not None and not is_mapping(more):
            raise lsip.ModelError(f"What a cost asks for is {{name: values}}; got {validation.shown(more)}.")
        missing = set(self.asks) - set(more or {})
        if missing:
            raise lsip.ModelError(f"The cost asks for {' and '.join(sorted(missing))}, which are not known here.")
        return partial(self.cost, **more) if more else self.cost

    def for_steps(self) -> SemiInfiniteCost:
        """The constraint itself, if it is one of an environment."""
        if self.index is not None:
            raise lsip.ModelError("The cost of an environment is a function cost(y, observations, actions).")
        validation.call("cost", partial(self.cost, **dict.fromkeys(self.asks)), "y", "observations", "actions")
        return self

    def table(self, states: int, actions: int, weight: float = 1.0) -> CostTable:
        """The constraint of a model with so many states and actions, checked; every cost counts with a weight."""
        return CostTable(self, states, actions, weight)

    def at(self, y: ArrayLike, states: int, actions: int) -> tuple[Array, Array]:
        """Costs and bounds at the points y (N, m): shapes (N, S) or (N, S * A), and (N,)."""
        return self.table(states, actions).at(y)


@dataclass(frozen=True, eq=False)
class CostTable:
    """A `SemiInfiniteCost` for S states and A actions: linear in the occupancy of states, or of state-action pairs.

    A model may have more states than that; those that follow cost nothing.
    """

    constraint: SemiInfiniteCost
    states: int
    actions: int
    weight: float = 1.0  # of every cost

    def __post_init__(self) -> None:
        shape = self._shape
        if shape not in ((self.states,), (self.states, self.actions)):
            raise lsip.ModelError(
                f"`cost` must give one number a state, shape ({self.states},), or one a state-action pair, shape "
                f"({self.states}, {self.actions}), for every index point; got shape {shape}."
            )

    @cached_property
    def _shape(self) -> tuple[int, ...]:
        c = self.constraint
        if c.index is not None:
            return tuple(np.shape(c.cost)) if not isinstance(c.cost, lsip.Expression) else c.cost.shape
        validation.call("cost", c.cost, "y")
        point = c.domain.project(0.5 * (c.domain.lower + c.domain.upper)[None, :])
        c.bounds(point)  # checks its shape
        costs = called("cost(y)", c.cost, point)
        if not isinstance(costs, lsip.Expression):
            costs = numbers(costs, "What `cost` gives", nan=True)
        return tuple(costs.shape[1:])

    @property
    def by_state(self) -> bool:
        """Whether the cost depends on the state alone."""
        return len(self._shape) == 1

    @property
    def size(self) -> int:
        """How many occupancies the constraint weighs: S, or S * A."""
        return self.states if self.by_state else self.states * self.actions

    def weights(self, occupancy: Array) -> Array:
        """What the constraint weighs of an occupancy measure (S, A): shape (size,)."""
        charged = occupancy[: self.states]
        return charged.sum(axis=1) if self.by_state else charged.ravel()

    def criterion(self, y: Array, states: int) -> Array:
        """The cost c_y(s, a) at one index point, as a table (states, A)."""
        cost, _ = self.at(y[None, :])
        table = np.zeros((states, self.actions))
        table[: self.states] = cost[0].reshape(self.states, -1)
        return table

    def on(self, x: Affine, scale: float = 1.0) -> Any:
        """The constraint scale * c_y @ x <= u_y for all y, for `lsip` variables x of this size."""
        c, scale = self.constraint, scale * self.weight
        if c.index is not None:
            cost = c.cost if self.by_state else c.cost.reshape(self.size)
            return lsip.forall(c.index, (scale * cost) @ x <= c.bound)

        def rows(y: Array | lsip.Expression) -> Values:
            costs = called("cost(y)", c.cost, y)
            if not isinstance(costs, lsip.Expression):
                costs = numbers(costs, "What `cost` gives", nan=True)
            if costs.shape[:1] != (len(y),):
                raise lsip.ModelError(f"`cost` must give one row a point; got shape {costs.shape} for {len(y)} points.")
            if costs.size != len(y) * self.size:
                raise lsip.ModelError(f"`cost` must give {self.size} numbers a point; got shape {costs.shape}.")
            return scale * costs.reshape(len(y), self.size)

        def limits(y: Array | lsip.Expression) -> Values:
            bounds: Values = called("bound(y)", c.bound, y)
            return bounds

        if c.lipschitz is None:
            return lsip.Family(c.domain, rows, limits).on(x)
        of_cost, of_bound = np.broadcast_to(np.asarray(c.lipschitz, dtype=float), (2,))
        return lsip.Family(c.domain, rows, limits, (scale * of_cost, of_bound)).on(x)

    @cached_property
    def _program(self) -> Program:
        x = lsip.Variable(self.size, name="x")
        return lsip.Problem(lsip.minimize(x.sum()), [self.on(x)], name="constraint").compile()

    def at(self, y: ArrayLike) -> tuple[Array, Array]:
        """Costs (N, size) and bounds (N,) at the points y (N, m)."""
        points, m = validation.array("y", y), self.constraint.domain.dim
        if m == 1 and points.ndim < 2:
            points = points.reshape(-1, 1)
        points = np.atleast_2d(points)
        if points.ndim != 2 or points.shape[1] != m:
            raise lsip.ModelError(f"Index points have shape (N, {m}); got {np.shape(y)}.")
        family = self._program.families[0]
        a, b = family.rows(points)
        cost = np.zeros((len(points), self.size))
        cost[:, family.columns[0]] = a[:, 0]
        return cost, b[:, 0]

    def costs(self, y: Any) -> Any:
        """Costs (N, size) at the points y (N, m), or an expression for one in their place."""
        if isinstance(y, lsip.Expression):
            return self.weight * self.constraint.cost(y).reshape(len(y), self.size)
        return self.at(y)[0]

    def extremes(self, boxes: int = 4096) -> tuple[float, float]:
        """The lowest and the highest cost of all states and actions, proven over all of Y from about so many boxes."""
        family, domain = self._program.families[0], self.constraint.domain
        each = max(int(boxes ** (1 / domain.dim)), 1)
        sides = [np.linspace(a, b, each + 1) for a, b in zip(domain.lower, domain.upper, strict=True)]
        lower, upper = (
            np.stack(np.meshgrid(*ends, indexing="ij"), axis=-1).reshape(-1, domain.dim)
            for ends in ([s[:-1] for s in sides], [s[1:] for s in sides])
        )
        enclosure, _ = family.enclosed(lower, upper, np.zeros(len(lower), dtype=np.intp))
        if not np.isfinite(enclosure.lo).all() or not np.isfinite(enclosure.hi).all():
            raise lsip.ModelError(
                "Nothing bounds the costs of a step over all of Y: say what they lie between, "
                "rl.SemiInfiniteCost(…, range=(lowest, highest))."
            )
        return float(enclosure.lo.min()), float(enclosure.hi.max())

    def steepest(self) -> float:
        """A Lipschitz constant of all costs in y, in the sup norm; inf if none is proven or was given."""
        return steepest_coefficient(self._program.families[0])

    def violation(self, visits: Array) -> FamilyViolation:
        """c_y @ visits - u_y as a function of y, for the oracles of `lsip`; visits have the total 1 / (1 - gamma)."""
        return self._program.violation(0, visits)

    def worst(
        self,
        visits: Array,
        oracle: lsip.oracles.Oracle | None = None,
        tol: float = 1e-9,
        seed: int = 0,
        doubt: float = 0.0,
    ) -> Worst:
        """The largest violation over Y.

        Without an oracle, branch-and-bound where the cost can be enclosed in at most four dimensions (proven to
        within `tol`), else multistart. The bound has room for visits that are wrong by `doubt` in all.
        """
        violation = self.violation(visits)
        if oracle is not None:
            separation = lsip.oracles.ask(oracle, violation, seed=seed)
        elif self._program.families[0].enclosable and violation.domain.dim <= 4:
            separation = lsip.oracles.supremum(violation, tol=tol)
        else:
            separation = lsip.oracles.Multistart().maximise(violation, target=0.0, seed=seed)
        if not len(separation.values):
            raise lsip.ModelError(f"The oracle {type(oracle).__name__} found no point; choose another.")
        k = int(np.argmax(separation.values))
        room = self.room(doubt) if np.isfinite(separation.bound) else 0.0
        return Worst(
            float(separation.values[k]), separation.points[k], float(separation.bound) + room, separation.trusts
        )

    def keeps(self, visits: Array, doubt: float = 0.0, known: FamilyViolation | None = None) -> bool:
        """Whether it is proven that no y is violated, even if the visits are wrong by `doubt` in all.

        `known` is the same violation in a program that was solved: its enclosures are there already.
        """
        family = self._program.families[0]
        if not family.enclosable or self.constraint.domain.dim > 4:
            return False
        room = self.room(doubt)
        violation = self.violation(visits) if known is None else known
        separation = lsip.oracles.BranchAndBound().maximise(violation, target=-room)
        return bool(separation.bound <= -room)

    def room(self, doubt: float) -> float:
        """What visits that are wrong by `doubt` in all can change in a violation, at most."""
        return doubt * largest_coefficient(self._program.families[0]) * (1 + 1e-12) if doubt else 0.0
