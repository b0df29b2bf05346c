"""Algorithm "Projected Subgradient Ascent" of the paper, with its step size and its averaging."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..validation import real, whole
from .attained import attained, distinct, unproven, worst_component
from .base import Array, Separation, Violation, maximises
from .differences import derivatives


@dataclass(frozen=True)
class ProjectedSubgradient:
    """Iterate y_{t+1} = P_Y(y_t + alpha g_t) with alpha = diam(Y) / (L_y sqrt(T)), and average y_1, ..., y_T.

    Where the violation is concave in y (and Y is convex) the average is within diam(Y) L_y / sqrt(T) of the supremum.
    **Where it is not concave the average may be meaningless**, since it can lie in a valley between the iterates; so
    the best iterate is returned beside it, and the worse (larger) of the two comes first. With several components, each
    step follows the one that is worst at the current point: the maximum of concave functions need not be concave, so
    the guarantee is for a single component.

    Parameters
    ----------
    iterations : T, at least 1
    lipschitz : L_y, a bound on the Euclidean norm of the gradient over Y, for all components; when None, estimated as
        the largest norm met at sampled points (corners included when there are few)

    Examples
    --------
    >>> import lsip
    >>> t, h = lsip.Index("t", lsip.Interval(0, 1)), lsip.Variable(name="h", lower=0, upper=2)
    >>> problem = lsip.Problem(lsip.minimize(h), [lsip.forall(t, h >= t * (1 - t))])
    >>> solution = problem.solve(oracle=lsip.oracles.ProjectedSubgradient(iterations=100), tol=1e-3, verbose=False)
    >>> round(solution.value, 2), solution.certified
    (0.25, False)
    """

    iterations: int = 1000
    lipschitz: float | None = None

    def __post_init__(self) -> None:
        whole("iterations", self.iterations, 1)
        if self.lipschitz is not None:
            meaning = "must be positive and finite, or None to estimate it"
            real("lipschitz", self.lipschitz, meaning, lambda v: 0 < v < np.inf)

    @maximises
    def maximise(self, violation: Violation, *, target: float = 0.0, seed: int = 0) -> Separation:
        """The average and the best iterate. Deterministic: `seed` plays no part, nor does `target`."""
        domain = violation.domain
        y = domain.project((domain.lower + domain.upper)[None, :] / 2)  # y_0
        lipschitz = self.lipschitz or estimate_lipschitz(violation)
        if lipschitz == 0.0:  # The violation is flat as far as one can see: y_0 is as good as any point.
            values, components = worst_component(attained(violation, y))
            return unproven(y, values, components, np.zeros(1, dtype=np.intp))
        alpha = domain.diameter / (lipschitz * np.sqrt(self.iterations))

        path = np.empty((self.iterations, domain.dim))  # y_1, ..., y_T
        for t in range(self.iterations):
            component = worst_at(violation, y)
            _, g, _ = derivatives(violation, y, component, hessian=False)
            y = domain.project(y + alpha * g)
            path[t] = y[0]

        values, components = worst_component(attained(violation, path))
        best = int(values.argmax())
        # Projected because the average of points of a union may lie in none of its members.
        average = domain.project(path.mean(axis=0, keepdims=True))
        points = np.concatenate([average, path[best : best + 1]])
        values, components = worst_component(attained(violation, points))
        return unproven(points, values, components, distinct(points, values, components, 0.0, limit=2))


def worst_at(violation: Violation, y: Array) -> NDArray[np.intp]:
    """The worst component at each point of y (N, m); no evaluation when there is only one."""
    if violation.components == 1:
        return np.zeros(len(y), dtype=np.intp)
    return worst_component(attained(violation, y))[1]


def estimate_lipschitz(violation: Violation, sample: int = 64) -> float:
    """The largest Euclidean norm of a gradient, over all components, at about `sample` points of the domain."""
    domain = violation.domain
    points = domain.spread(sample)
    if 2**domain.dim <= sample:
        # A concave function is steepest on the boundary, and corners are where several slopes add up.
        points = np.concatenate([points, domain.grid(2)])
    repeated = np.repeat(points, violation.components, axis=0)
    components = np.tile(np.arange(violation.components, dtype=np.intp), len(points))
    _, gradient, _ = derivatives(violation, repeated, components, hessian=False)
    return float(np.linalg.norm(gradient, axis=1).max())
