"""The estimated violation of sampled episodes as a function of the index: what the oracles of lsip maximise."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

import lsip
from lsip.deadline import EFFORT

from . import validation
from .constraint import SemiInfiniteCost
from .given_cost import called
from .rollouts import Episodes
from .separation import RankedPoints, separate

if TYPE_CHECKING:
    import torch

    from .device_costs import DeviceCosts
    from .rollout import Rollout
    from .tail import Tail

Array = NDArray[np.float64]


@dataclass(eq=False)
class EpisodeViolation:
    """g(y) = the mean over episodes of the discounted sum of c_y, minus u_y.

    Where the costs can be computed on the device of a learner, they are, and only g is read.
    """

    constraint: SemiInfiniteCost
    episodes: Episodes | Rollout
    device: torch.device | None = None  # of a learner
    components: int = 1
    tail: Tail | None = None  # what follows episodes that were cut off; else nothing does

    def __post_init__(self) -> None:
        self.on_device = self._on_device()

    @cached_property
    def host(self) -> Episodes:
        """The episodes in arrays."""
        return self.episodes if isinstance(self.episodes, Episodes) else self.episodes.host()

    @cached_property
    def observations(self) -> Array:
        """Of all steps: (B, …)."""
        return self.host.flat(self.host.observations)

    @cached_property
    def actions(self) -> Array:
        """Of all steps: (B, …)."""
        return self.host.flat(self.host.actions)

    @cached_property
    def owner(self) -> NDArray[np.intp]:
        """The episode of every step, and of every tail: (B,)."""
        live, count = self.host.live, self.episodes.count
        owner = np.broadcast_to(np.arange(count), live.shape)[live]
        return owner if self.tail is None else np.concatenate([owner, np.arange(count)])

    @cached_property
    def weights(self) -> Array:
        """How every step, and every tail, counts in the mean of discounted sums: (B,)."""
        live = self.host.live
        times = np.broadcast_to(np.arange(len(live))[:, None], live.shape)[live]
        weights: Array = self.constraint.gamma**times / self.episodes.count
        if self.tail is None:
            return weights
        return np.concatenate([weights, self.tail.weights.cpu().numpy() / self.episodes.count])

    def _on_device(self, **options: Any) -> DeviceCosts | None:
        """The steps on the device, where their costs can be computed there."""
        if self.device is None:
            return None
        import torch

        from .device_costs import DeviceCosts, on_device
        from .lifted import doubles

        e = self.episodes
        if isinstance(e, Episodes):
            options |= {"more": self.more, "tail": self.tail}
            return on_device(self.constraint, self.observations, self.actions, self.weights, self.device, **options)
        weights = self.constraint.gamma ** e.times.to(doubles(self.device)) / e.count
        if self.tail is not None:
            weights = torch.cat([weights, self.tail.weights.to(weights) / e.count])
        options |= {"more": e.more(self.constraint.asks), "tail": self.tail}
        return DeviceCosts(self.constraint, e.flat(e.observations), e.flat(e.actions), weights, self.device, **options)

    @cached_property
    def more(self) -> dict[str, Any]:
        """What the cost asks for besides, of all steps."""
        return self.host.more(self.constraint.asks)

    @property
    def domain(self) -> lsip.Domain:
        """The index set Y."""
        return self.constraint.domain

    def values(self, y: Array) -> Array:
        """g at points (N, m): (N, 1)."""
        y = np.asarray(y, dtype=float)
        if self.on_device is not None:
            return _finite(self.on_device.values(y), y)[:, None]
        chunk = max(EFFORT.entries // max(len(self.weights), 1), 1)
        parts = [self.estimate(self.costs(y[i : i + chunk])) for i in range(0, len(y), chunk)]
        total: Array = np.concatenate(parts) if parts else np.zeros(0)
        return (total - self.constraint.bounds(y))[:, None]

    def estimate(self, costs: Array) -> Array:
        """The mean over episodes, for costs (N, B) of all steps: (N,)."""
        means: Array = costs @ self.weights
        return means

    def costs(self, y: Array) -> Array:
        """c_y at points (N, m) and all B steps, tails included: (N, B)."""
        costs = self.constraint.steps(y, self.observations, self.actions, self.more)
        return costs if self.tail is None else np.concatenate([costs, self.tail.of_arrays(y)], axis=1)

    def moments(self, y: Array) -> Array:
        """g at points (N, m), and deviation and maximum minus mean of what episodes cost: (3, N)."""
        count = self.episodes.count
        if self.on_device is not None:
            import torch

            of: Any = self.episodes
            if isinstance(of, Episodes):
                owner = torch.as_tensor(self.owner, device=self.device)
            else:
                ends = [] if self.tail is None else [torch.arange(count, device=self.device)]
                owner = torch.cat([of.places % count, *ends])
            return self.on_device.moments(y, owner, count)
        steps = len(self.owner)
        table = sparse.csr_matrix((self.weights * count, (self.owner, np.arange(steps))), shape=(count, steps))
        sums = (table @ self.costs(y).T).T
        middle = sums.mean(axis=1)
        rows = [middle - self.constraint.bounds(y), sums.std(axis=1, ddof=1), sums.max(axis=1) - middle]
        return np.stack(rows)

    def step_costs(self, y: Array, device: torch.device) -> torch.Tensor:
        """c_y at points (N, m) and all steps, but no tails, on a device and in single precision: (N, steps)."""
        import torch

        there = self.on_device
        if there is None:
            costs = self.constraint.steps(y, self.observations, self.actions, self.more)
            return torch.as_tensor(costs.astype(np.float32), device=device)
        with torch.no_grad():
            return there.step_costs(there.tensor(y)).float()

    def at(self, y: Array, component: NDArray[np.intp]) -> Array:
        """g at points, (N,)."""
        return self.values(y)[:, 0]

    def derivatives(self, y: Array, component: NDArray[np.intp]) -> tuple[Array, Array, Array] | None:
        """By automatic differentiation on the device; elsewhere a sampled cost is a black box."""
        return None if self.on_device is None else self.on_device.derivatives(y)

    def candidates(self) -> Array | None:
        """Points where the constraint says that the cost may peak: (k, m)."""
        if self.constraint.candidates is None:
            return None
        places = called("candidates(observations)", self.constraint.candidates, self.observations)
        points = validation.array("candidates(observations)", places)
        if points.ndim != 2 or points.shape[1] != self.domain.dim:
            raise lsip.ModelError(
                f"`candidates(observations)` must give index points, shape (k, {self.domain.dim}); got {points.shape}."
            )
        return points

    def provable(self) -> lsip.oracles.Violation:
        """The same function, which branch-and-bound can enclose where the constraint has Lipschitz constants.

        The sum of gamma^t c_y over an episode changes by at most the sum of gamma^t as fast as c_y.
        """
        if self.constraint.lipschitz is None or self.tail is not None:  # nobody knows how fast a network changes
            return self
        of_cost, of_bound = np.broadcast_to(np.asarray(self.constraint.lipschitz, dtype=float), (2,))
        x = lsip.Variable(1, name="x")
        constants = (float(of_cost * self.steepness()), float(of_bound))
        family = lsip.Family(self.domain, self._rows, self.constraint.bounds, constants)
        program = lsip.Problem(lsip.minimize(x.sum()), [family.on(x)], name="episodes").compile()
        return program.violation(0, np.ones(1))

    def steepness(self) -> float:
        """How many times as fast as c_y the estimate may change with y."""
        return float(self.weights.sum())

    def _rows(self, y: Array) -> Array:
        """The estimates at points (N, m), as rows of one coefficient: (N, 1)."""
        y = np.asarray(y, dtype=float)
        return self.values(y) + self.constraint.bounds(y)[:, None]

    def worst_points(
        self,
        oracle: lsip.oracles.Oracle,
        target: float,
        rng: np.random.Generator,
        fallback: lsip.oracles.Oracle | None = None,
    ) -> RankedPoints:
        """What an oracle finds, the constraint's own candidates included."""
        seed = int(rng.integers(2**31))
        return separate(self, oracle, target, seed, fallback=fallback, candidates=self.candidates())


def _finite(values: Array, y: Array) -> Array:
    """Values at points, none of which is nan or infinite."""
    if not np.isfinite(values).all():
        at = int(np.argmin(np.isfinite(values)))
        raise lsip.ModelError(f"The violation is not finite at y = {y[at]}: it is {values[at]} there.")
    return values
