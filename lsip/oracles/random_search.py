"""Algorithm "Random Search" of the paper: the worst of a uniform sample."""

from __future__ import annotations

from dataclasses import dataclass

from ..validation import whole
from .attained import attained, distinct, unproven, worst_component
from .base import Separation, Violation, maximises


@dataclass(frozen=True)
class RandomSearch:
    """Sample y_1, ..., y_M independently and uniformly on Y and return the worst of them.

    For a violation that is L-Lipschitz, M of the order of (L diam(Y) / eps)^m points come within eps of the supremum
    with high probability (the paper's theorem on random search); nothing is proven about one run.

    Parameters
    ----------
    points : the sample size M, at least 1. The paper's experiments use 100.

    Examples
    --------
    >>> import lsip
    >>> t, h = lsip.Index("t", lsip.Interval(0, 1)), lsip.Variable(name="h", lower=0, upper=2)
    >>> problem = lsip.Problem(lsip.minimize(h), [lsip.forall(t, h >= t * (1 - t))])
    >>> solution = problem.solve(oracle=lsip.oracles.RandomSearch(points=100), tol=1e-3, verbose=False)
    >>> round(solution.value, 2), solution.certified
    (0.25, False)
    """

    points: int = 100

    def __post_init__(self) -> None:
        whole("points", self.points, 1)

    @maximises
    def maximise(self, violation: Violation, *, target: float = 0.0, seed: int = 0) -> Separation:
        """The worst point of the sample drawn with `seed`; `target` plays no part."""
        sample = violation.domain.sample(self.points, seed)
        values, components = worst_component(attained(violation, sample))
        return unproven(sample, values, components, distinct(sample, values, components, 0.0, limit=1))
