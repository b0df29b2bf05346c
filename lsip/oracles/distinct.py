"""Choosing a few well-separated points, worst first: near-copies of one cut only burden the master."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..kernel import native
from ..kernel.native import in_use
from .base import Array


def distinct(
    points: Array, values: Array, components: NDArray[np.intp], radius: ArrayLike, limit: int
) -> NDArray[np.intp]:
    """Indices of at most `limit` points, worst first, no two of one component within `radius` of each other.

    Greedy: take the largest value left, drop everything of its component in the box of half-width `radius` around it,
    repeat. Points of different components never hide each other, and values that are not finite are never taken.

    Parameters
    ----------
    points : (N, m)
    values : (N,)
    components : (N,)
    radius : a number, or one half-width an axis (m,); 0 drops exact copies only
    limit : at least 0

    Examples
    --------
    >>> y, g = np.array([[0.0], [0.1], [0.9]]), np.array([2.0, 3.0, 1.0])
    >>> distinct(y, g, np.zeros(3, dtype=np.intp), 0.2, limit=5)
    array([1, 2])
    """
    left = np.flatnonzero(np.isfinite(values))
    # Stable, so that equal values are taken in the order they came and results do not depend on the sort.
    left = left[np.argsort(-values[left], kind="stable")]
    reach = np.asarray(radius, dtype=np.float64) + np.zeros(points.shape[1])
    if in_use():
        return left[native.distinct(points[left], components[left], reach, limit)]
    taken: list[int] = []
    while len(left) and len(taken) < limit:
        worst = left[0]
        taken.append(int(worst))
        near = (np.abs(points[left] - points[worst]) <= reach).all(axis=1) & (components[left] == components[worst])
        left = left[~near]
    return np.array(taken, dtype=np.intp)


def one_a_row(values: Array, components: NDArray[np.intp]) -> NDArray[np.intp]:
    """Indices of the worst point of every component: enough where there are many, and cheap to find."""
    order = np.argsort(-values, kind="stable")
    return order[np.unique(components[order], return_index=True)[1]]
