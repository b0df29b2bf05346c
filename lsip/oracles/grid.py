"""A uniform grid over the domain: the brute force that the paper's experiments use for the inner maximisation."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError
from ..validation import whole
from .attained import attained, discrete_points, distinct, largest
from .base import Array, EnclosableViolation, Separation, Violation, maximises


@dataclass(frozen=True)
class Grid:
    """Evaluate the violation on a uniform grid, and return its distinct local maxima over the grid, worst first.

    A grid point is a local maximum when no neighbour (diagonal ones included) has a larger value of the same component.
    On a domain with finitely many points all of them are evaluated, whatever `points` says, and `bound` is their
    maximum, rounded up, if the violation belongs to rows that can be enclosed: the one case in which this oracle proves
    something.

    Parameters
    ----------
    points : about how many points the grid may have in total; along each axis, the m-th root of it, rounded down
    cuts : how many points to return at most

    Examples
    --------
    >>> import lsip
    >>> t, h = lsip.Index("t", lsip.Interval(0, 1)), lsip.Variable(name="h", lower=0, upper=2)
    >>> problem = lsip.Problem(lsip.minimize(h), [lsip.forall(t, h >= t * (1 - t))])
    >>> solution = problem.solve(oracle=lsip.oracles.Grid(points=101), tol=1e-3, verbose=False)
    >>> round(solution.value, 2), solution.certified
    (0.25, False)
    """

    points: int = 10_000
    cuts: int = 16

    def __post_init__(self) -> None:
        whole("points", self.points, 1)
        whole("cuts", self.cuts, 1)

    def per_axis(self, m: int) -> int:
        """The largest k with k^m <= points, at least 2 unless `points` is 1 (the centre alone)."""
        if self.points == 1:
            return 1
        # The root may fall just short of an integer: 1000 ** (1/3) is 9.999...
        k = int(self.points ** (1 / m) + 1e-9)
        if k < 2:
            raise ModelError(
                f"A grid with 2 points an axis has 2^{m} points in {m} dimensions, more than the {self.points} "
                "allowed; raise `points`, or use Multistart or RandomSearch."
            )
        return k

    @maximises
    def maximise(self, violation: Violation, *, target: float = 0.0, seed: int = 0) -> Separation:
        """The local maxima of the grid. Deterministic: `seed` plays no part, nor does `target`."""
        domain = violation.domain
        everything = discrete_points(domain)
        if everything is not None:
            found = self._select(everything, attained(violation, everything), np.zeros(domain.dim))
            if not isinstance(violation, EnclosableViolation):
                return found
            bound = max(largest(violation, everything), found.worst)
            return replace(found, bound=bound, trusts=violation.family.source.trusts(domain))
        k = self.per_axis(domain.dim)
        points = domain.grid(k)
        step = (domain.upper - domain.lower) / max(k - 1, 1)
        values = attained(violation, points)
        peaks = local_maxima(points, values, domain.lower, step, k)
        # One and a half steps: peaks are further apart than that anyway, and a plateau is thinned out.
        return self._select(points, np.where(peaks, values, -np.inf), 1.5 * step)

    def _select(self, points: Array, values: Array, radius: Array) -> Separation:
        p = values.shape[1]
        rows = np.repeat(np.arange(len(points)), p)
        components = np.tile(np.arange(p, dtype=np.intp), len(points))
        flat = values.ravel()
        # Only what can be chosen is handed on: with many components the repeated points would be the largest array.
        candidates = np.flatnonzero(np.isfinite(flat))
        rows, components, flat = rows[candidates], components[candidates], flat[candidates]
        chosen = distinct(points[rows], flat, components, radius, self.cuts)
        return Separation(points[rows[chosen]], flat[chosen], np.inf, components[chosen], trusts=())


def local_maxima(points: Array, values: Array, lower: Array, step: Array, k: int) -> NDArray[np.bool_]:
    """Which entries of `values` (N, p) no neighbour on the grid exceeds, shape (N, p).

    Points are sorted into a lattice of k^m places by rounding, so that points off it (the ones projected onto a curved
    boundary) count as neighbours of what is near them; the best of a place stands for all of it.
    """
    m, p = points.shape[1], values.shape[1]
    place = np.rint((points - lower) / np.where(step > 0, step, 1.0)).astype(np.intp).clip(0, k - 1)
    index = tuple(place.T)
    lattice = np.full((k,) * m + (p,), -np.inf)
    np.maximum.at(lattice, index, values)
    # The maximum over 3 x ... x 3 neighbours, one axis at a time.
    for axis in range(m):
        along = np.moveaxis(lattice, axis, 0)
        around = along.copy()
        np.maximum(around[1:], along[:-1], out=around[1:])
        np.maximum(around[:-1], along[1:], out=around[:-1])
        lattice = np.moveaxis(around, 0, axis)
    peaks: NDArray[np.bool_] = np.isfinite(values) & (values >= lattice[index])
    return peaks
