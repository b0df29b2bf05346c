"""What is left of a proof by branch-and-bound, estimated by probing: a few open boxes are split until none is open.

Boxes of a sample stand for all others (stochastic enumeration, after Knuth's way to estimate the size of a tree): where
splitting k of them leaves l parts open, splitting all n leaves about n l / k, and a sample of these l is split next.
"""

from __future__ import annotations

import numpy as np

from ..deadline import check
from .base import Array, Ints
from .partition import BoxPartition


def boxes_left(partition: BoxPartition, rows: Ints, weights: Array, spread: Array | None, goal: float) -> float:
    """How many boxes would have to be enclosed, about, until no bound of these boxes exceeds the goal."""
    rng = np.random.default_rng(0)
    total, count = 0.0, float(len(rows))
    lower, upper = partition.lower[rows], partition.upper[rows]
    for _ in range(100):  # then the rest is taken for endless
        check("branch-and-bound")
        if count <= 0.01 * total:
            return total
        some = rng.permutation(len(lower))[:100]
        parts = BoxPartition(partition.bounder, (lower[some], upper[some]))
        parts.bounds(weights, slice(None), spread)  # says where splitting pays
        parts.refine(np.arange(parts.n), weights)
        total += count * parts.n / len(some)
        found = parts.bounds(weights, slice(None), spread)
        if found is None:
            break
        still = np.flatnonzero((found.upper.max(axis=1, initial=-np.inf) > goal) & parts.splittable(np.arange(parts.n)))
        count *= len(still) / len(some)
        lower, upper = parts.lower[still], parts.upper[still]
    return np.inf
