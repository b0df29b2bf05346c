"""Whether the costs of sampled steps lie in the range that was declared for them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import lsip

from .discounted_costs import EVERY, DiscountedCosts

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Extremes:
    """The highest and minus the lowest cost of all steps of a sample, as functions of y that an oracle can maximise."""

    sample: DiscountedCosts
    components: int = 2

    @property
    def domain(self) -> lsip.Domain:
        """The index set Y."""
        return self.sample.constraint.domain

    def values(self, y: Array) -> Array:
        """At points (N, m): (N, 2)."""
        costs = np.asarray(self.sample.costs(np.asarray(y, dtype=float), EVERY), dtype=float)
        return np.stack([costs.max(axis=1), -costs.min(axis=1)], axis=1)

    def derivatives(self, y: Array, component: NDArray[np.intp]) -> tuple[Array, Array, Array] | None:
        """None: maxima have kinks."""
        return None


def check_range(sample: DiscountedCosts, at_once: float) -> None:
    """Refuse a sample with a cost outside of the declared range, as far as a search over Y finds one.

    Costs are compared at points all over Y and climb from there; where there are so many steps that this would take
    long, at as many points as `at_once` costs allow. Single precision of an environment may round beyond the range.
    """
    extremes, (low, high) = Extremes(sample), sample.range
    search, steps = lsip.oracles.Multistart(), max(sample.weights.shape[1], 1)
    if search.sample * steps <= at_once:
        points = search.maximise(extremes).points
    else:
        points = extremes.domain.spread(int(at_once / steps) + 1)
    highest = np.concatenate([extremes.values(points[i : i + 1]) for i in range(len(points))])
    rounding = float(np.finfo(np.float32).eps) * max(abs(low), abs(high))
    for column, limit, sign in ((0, high, 1.0), (1, -low, -1.0)):
        k = int(np.argmax(highest[:, column]))
        if highest[k, column] > limit + rounding:
            raise lsip.ModelError(
                f"A step costs {sign * highest[k, column]:.6g} at y = {np.array2string(points[k], precision=6)}, "
                f"outside of the declared range ({low:.6g}, {high:.6g}).\nGive "
                "rl.SemiInfiniteCost a `range` that holds for every step and every y: a guarantee rests on it."
            )
