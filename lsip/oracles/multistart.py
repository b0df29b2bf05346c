"""Local searches from the best of a low-discrepancy sample: for smooth violations that cannot be enclosed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..domains import Domain
from ..lifetime import remembered
from ..validation import choice, whole
from .attained import attained, discrete_points, distinct, unproven
from .base import Array, Separation, Violation, maximises
from .differences import derivatives
from .trust_region import ascend

Method = Literal["trust-region", "trust-constr", "L-BFGS-B"]


@dataclass(frozen=True, eq=False)
class Multistart:
    """Spread points over Y, start a local search at the best of them, and return the distinct maxima found.

    Starts are the points of the sample that none of their nearest neighbours exceeds, best first. Where the violation
    is smooth and its hills are wider than the gaps of the sample this finds the supremum, but proves nothing.

    Parameters
    ----------
    starts : at most how many local searches, and how many points are returned
    sample : about how many points are evaluated to choose the starts
    method : "trust-region", all searches at once in NumPy with exact second derivatives (the default, and the fastest);
        "trust-constr" or "L-BFGS-B", one search at a time with scipy.optimize over the bounding box; its results are
        projected on Y and climb on from there as with "trust-region", which costs nothing at a maximum and is needed
        where Y is not a box. Black boxes get central differences.
    candidates : (K, m), points that the caller knows to be promising, tried besides the sample; projected on Y

    Examples
    --------
    >>> import lsip
    >>> t, h = lsip.Index("t", lsip.Interval(0, 1)), lsip.Variable(name="h", lower=0, upper=2)
    >>> problem = lsip.Problem(lsip.minimize(h), [lsip.forall(t, h >= t * (1 - t))])
    >>> solution = problem.solve(oracle=lsip.oracles.Multistart(starts=4), tol=1e-3, verbose=False)
    >>> round(solution.value, 2), solution.certified
    (0.25, False)
    """

    starts: int = 16
    sample: int = 512
    method: Method = "trust-region"
    candidates: ArrayLike | None = None

    def __post_init__(self) -> None:
        whole("starts", self.starts, 1)
        whole("sample", self.sample, 1)
        choice("method", self.method, get_args(Method))

    @maximises
    def maximise(self, violation: Violation, *, target: float = 0.0, seed: int = 0) -> Separation:
        """The distinct maxima found, worst first. Deterministic: `seed` plays no part, nor does `target`."""
        domain = violation.domain
        width = domain.upper - domain.lower
        points, components = self._starts(violation)
        if discrete_points(domain) is not None:
            ends, values = points, attained(violation, points)[np.arange(len(points)), components]
        else:
            if self.method != "trust-region":
                points = search_with_scipy(violation, points, components, self.method)
            spacing = self.sample ** (-1 / domain.dim)
            ends, values = ascend(violation, points, components, radius=float(np.clip(spacing, 0.02, 0.25)))
        return unproven(ends, values, components, distinct(ends, values, components, 1e-6 * width, self.starts))

    def _starts(self, violation: Violation) -> tuple[Array, NDArray[np.intp]]:
        """Where to start, (K, m), and the component that each start climbs, (K,)."""
        domain = violation.domain
        points, neighbours = _sample(domain, self.sample)
        known = len(points)
        if self.candidates is not None:
            points = np.concatenate([points, domain.project(np.asarray(self.candidates, dtype=np.float64))])
        values = attained(violation, points)
        peaks = np.isfinite(values)
        for neighbour in neighbours.T:
            peaks[:known] &= values[:known] >= values[neighbour]
        rows, components = np.nonzero(peaks)
        components = components.astype(np.intp)
        width = domain.upper - domain.lower
        chosen = distinct(points[rows], values[rows, components], components, 1e-6 * width, self.starts)
        return points[rows[chosen]], components[chosen]


@remembered
def _samples(domain: Domain) -> dict[int, tuple[Array, NDArray[np.intp]]]:
    """By their size."""
    return {}


def _sample(domain: Domain, size: int) -> tuple[Array, NDArray[np.intp]]:
    """About `size` points (N, m) spread over the domain, and the neighbours (N, q) of each; not to be changed."""
    known = _samples(domain)
    if size not in known:
        known[size] = _spread(domain, size)
    return known[size]


def _spread(domain: Domain, size: int) -> tuple[Array, NDArray[np.intp]]:
    from scipy.spatial import cKDTree

    everything = discrete_points(domain)
    if everything is not None:
        return everything, np.empty((len(everything), 0), dtype=np.intp)
    points = domain.spread(size)
    if 3**domain.dim <= size // 4:
        points = np.concatenate([points, domain.grid(3)])  # Maxima are often at corners and on edges.
    width = np.where(domain.upper > domain.lower, domain.upper - domain.lower, 1.0)
    q = min(2 * domain.dim, len(points) - 1)
    _, nearest = cKDTree(points / width).query(points / width, k=np.arange(1, q + 2))
    return points, nearest[:, 1:].astype(np.intp)


def search_with_scipy(violation: Violation, points: Array, components: NDArray[np.intp], method: Method) -> Array:
    """One scipy.optimize search a start over the bounding box; ends (K, m) on the domain, none lower than its start."""
    import warnings

    from scipy.optimize import Bounds, minimize

    domain = violation.domain
    lower, width = domain.lower, np.where(domain.upper > domain.lower, domain.upper - domain.lower, 1.0)
    # In coordinates of the unit box: scipy's first trust radius and finite termination tests assume such a scale.
    bounds = Bounds(np.zeros(domain.dim), np.where(domain.upper > domain.lower, 1.0, 0.0), keep_feasible=True)
    ends = points.copy()
    for k, component in enumerate(components):
        row = np.array([component], dtype=np.intp)

        def at(z: Array, row: NDArray[np.intp] = row) -> tuple[Array, Array, Array]:
            y = np.clip(lower + z * width, lower, domain.upper)
            value, gradient, hessian = derivatives(violation, y[None, :], row)
            return value[0], gradient[0] * width, hessian[0] * width * width[:, None]

        options = (
            {"gtol": 1e-10, "xtol": 1e-12, "maxiter": 200}
            if method == "trust-constr"
            else {"ftol": 1e-15, "gtol": 1e-10}
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # scipy warns of slow progress; the result is judged by its value anyway.
            found = minimize(
                lambda z: -at(z)[0],
                (points[k] - lower) / width,
                jac=lambda z: -at(z)[1],
                hess=(lambda z: -at(z)[2]) if method == "trust-constr" else None,
                method=method,
                bounds=bounds,
                options=options,
            )
        ends[k] = lower + found.x * width
    ends = domain.project(ends)
    both = attained(violation, np.concatenate([ends, points]))
    chosen = np.arange(len(points))
    after, before = both[chosen, components], both[len(points) + chosen, components]
    return np.where((after > before)[:, None], ends, points)
