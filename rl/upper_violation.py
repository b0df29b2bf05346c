"""Upper confidence bounds of the violation, one for every y, from sampled episodes.

Z_1(y), …, Z_n(y) are the discounted costs of n independent episodes at y, with mean m, standard deviation s and maximum
z. With the chance δ that it is wrong, the bound is

    U(y) = m + t s / sqrt(n) + (z - m) log(1/δ) / n - u_y,     t the 1 - δ quantile of Student's t with n - 1 degrees.

The second term is Student's. It is too small where costs are skewed: rare large costs are underrepresented in most
samples, and these samples also have the smaller deviation. The third term is what an episode as dear as the dearest one
adds, if it has the largest probability that goes unseen in n episodes with the chance δ. For costs that are 0 or one
other number, the sum of the three covers the exact (Poisson) limit once that number was seen.

**For all y.** A policy whose true violation at y* is above a level is found to be below it everywhere only if
U(y*) is too small, at this one point, which does not depend on the sample. So a test of sup_y U(y) needs no union bound
over Y; but it must look for the supremum of U, and not at the y with the largest mean.

**What is assumed.** Episodes are independent, and costs that were never seen play no part: an event of probability p is
in none of n episodes with the chance (1 - p)^n. `rl.certify` needs no such assumption, but the range of costs instead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, stats

from .episode_violation import EpisodeViolation
from .rollouts import Episodes
from .several import Violations

if TYPE_CHECKING:
    from .device_costs import DeviceCosts

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Margin:
    """What chance may add to a mean of so many episodes: factors of their deviation, and of maximum minus mean."""

    deviation: float
    excess: float

    @classmethod
    def of(cls, chance: float, episodes: int) -> Margin:
        """The factors for a bound that is wrong with this chance; infinite for a single episode."""
        if episodes < 2:
            return cls(math.inf, math.inf)
        quantile = float(stats.t.isf(chance, episodes - 1))
        return cls(max(quantile, 0.0) / math.sqrt(episodes), -math.log(chance) / episodes)

    def __call__(self, sums: Array) -> Array:
        """For the costs (N, n) of episodes: (N,)."""
        if math.isinf(self.deviation) or sums.shape[1] < 2:
            return np.full(len(sums), np.inf)
        apart = sums.max(axis=1) - sums.mean(axis=1)
        margin: Array = self.deviation * sums.std(axis=1, ddof=1) + self.excess * apart
        return margin


@dataclass(eq=False)
class UpperViolation(EpisodeViolation):
    """U(y), which oracles maximise as they do g(y).

    Parameters
    ----------
    chance
        δ.
    """

    chance: float = 0.05

    def __post_init__(self) -> None:
        count = self.episodes.count
        self.margin = Margin.of(self.chance, count)
        super().__post_init__()
        steps = len(self.owner)
        self._sums = sparse.csr_matrix((self.weights * count, (self.owner, np.arange(steps))), shape=(count, steps))

    def _on_device(self, **options: Any) -> DeviceCosts | None:
        if self.device is None:
            return None
        from .device_costs import Raised

        raised = Raised(self.owner, self.episodes.count, self.margin.deviation, self.margin.excess)
        return super()._on_device(estimate=raised, **options)

    def estimate(self, costs: Array) -> Array:
        """The mean over episodes and its margin, for costs (N, B) of all steps: (N,)."""
        sums: Array = (self._sums @ costs.T).T
        return super().estimate(costs) + self.margin(sums)

    def derivatives(self, y: Array, component: NDArray[np.intp]) -> tuple[Array, Array, Array] | None:
        """None: a deviation has no derivative where it vanishes."""
        return None

    def steepness(self) -> float:
        """Deviations and maxima of sums change no faster than the sums: as fast as the weights of an episode sum to."""
        n = self.episodes.count
        lengths = np.bincount(self.owner, weights=self.weights, minlength=n) * n
        swing = float(np.sqrt((lengths**2).sum() / (n - 1))) if n > 1 else math.inf
        return (
            super().steepness()
            + self.margin.deviation * swing
            + self.margin.excess * float(lengths.max() + lengths.mean())
        )


class Moments:
    """A violation with what chance does to it, as a rule sees them; points that were asked for last are remembered."""

    def __init__(self, violation: EpisodeViolation | Violations) -> None:
        self.violation, self.domain = violation, violation.domain
        self._points, self._found = np.zeros((0, 0)), np.zeros((3, 0))

    def __call__(self, points: Array) -> Array:
        """(3, k), see `EpisodeViolation.moments`."""
        if not np.array_equal(points, self._points):
            self._points, self._found = np.array(points), self.violation.moments(points)
        return self._found

    def values(self, points: Array) -> Array:
        """(k, 1)."""
        return self(points)[0][:, None]

    def margin(self, points: Array, factors: Margin) -> Array:
        """(k,)."""
        found = self(points)
        margin: Array = factors.deviation * found[1] + factors.excess * found[2]
        return margin


def alike(episodes: Episodes) -> bool:
    """Whether all episodes are one and the same, so that only what was not seen is uncertain."""
    return all(bool((part == part[:, :1]).all()) for part in (episodes.observations, episodes.actions, episodes.live))
