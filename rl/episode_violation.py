"""The estimated violation of sampled episodes as a function of the index: what the oracles of lsip maximise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import lsip

from .constraint import SemiInfiniteCost, Worst
from .rollouts import Episodes

Array = NDArray[np.float64]
NUMBERS = 2_000_000  # costs held at a time


@dataclass(eq=False)
class EpisodeViolation:
    """g(y) = the mean over episodes of the discounted sum of c_y, minus u_y."""

    constraint: SemiInfiniteCost
    episodes: Episodes
    components: int = 1

    def __post_init__(self) -> None:
        e = self.episodes
        times = np.broadcast_to(np.arange(len(e.live))[:, None], e.live.shape)[e.live]
        self.observations, self.actions = e.flat(e.observations), e.flat(e.actions)
        self.weights = self.constraint.gamma**times / e.count

    @property
    def domain(self) -> lsip.Domain:
        """The index set Y."""
        return self.constraint.domain

    def values(self, y: Array) -> Array:
        """g at points (N, m): (N, 1)."""
        y = np.asarray(y, dtype=float)
        chunk = max(NUMBERS // max(len(self.weights), 1), 1)
        parts = [
            self.constraint.steps(y[i : i + chunk], self.observations, self.actions) @ self.weights
            for i in range(0, len(y), chunk)
        ]
        total: Array = np.concatenate(parts) if parts else np.zeros(0)
        return (total - self.constraint.bounds(y))[:, None]

    def at(self, y: Array, component: NDArray[np.intp]) -> Array:
        """g at points, (N,)."""
        return self.values(y)[:, 0]

    def derivatives(self, y: Array, component: NDArray[np.intp]) -> None:
        """A sampled cost is a black box."""
        return

    def worst(self, oracle: lsip.oracles.Oracle, target: float, rng: np.random.Generator) -> Worst:
        """The largest violation that an oracle finds, or that the constraint's own candidates show.

        Where the oracle fails, 100 random points stand in for it.
        """
        seed = int(rng.integers(2**31))
        try:
            found = oracle.maximise(self, target=target, seed=seed)
        except (ArithmeticError, ValueError, lsip.LSIPError):
            found = None
        if found is None or not len(found.values) or not np.isfinite(found.values).all():
            found = lsip.oracles.RandomSearch(points=100).maximise(self, target=target, seed=seed)
        k = int(np.argmax(found.values))
        best = Worst(float(found.values[k]), found.points[k], float(found.bound), found.trusts)
        if self.constraint.candidates is not None and getattr(oracle, "candidates", True):
            points = np.asarray(self.constraint.candidates(self.observations), dtype=float)
            if not len(points):
                return best
            points = self.domain.project(points)
            values = self.values(points)[:, 0]
            k = int(np.argmax(values))
            if values[k] > best.value:
                best = Worst(float(values[k]), points[k], best.bound, best.assumptions)
        return best
