"""Arrays of index points: reading them from users, and spreading them evenly."""

from __future__ import annotations

from functools import cache
from operator import index

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ModelError
from ..validation import fits, numbers, shown

Array = NDArray[np.float64]

FARTHEST = 1e100  # the largest coordinate of an index point: its square, and sums of squares, are doubles


def as_points(y: ArrayLike, dim: int, *, finite: bool = True) -> Array:
    """Read one point (m,), many (N, m) or, when m = 1, many numbers (N,), as an array of shape (N, m)."""
    points = numbers(y, "Index points", nan=True)
    if dim == 1 and points.ndim <= 1:
        points = points.reshape(-1, 1)
    elif points.ndim == 1 and len(points) == dim:
        points = points[None]
    if points.ndim != 2 or points.shape[1] != dim:
        raise ModelError(
            f"Index points of this domain have {dim} coordinate{'s' * (dim != 1)}: "
            f"expected shape ({dim},) or (N, {dim}); got {points.shape}."
        )
    if finite and not np.isfinite(points).all():
        raise ModelError("Index points must be finite; got nan or inf.")
    return points


def coordinates(m: object, written: str) -> int:
    """How many coordinates the points of a set have that is `written` by their number m."""
    try:
        size = index(m)  # type: ignore[arg-type]
    except TypeError:
        raise ModelError(f"{written} needs the number m of coordinates, an integer; got {shown(m)}.") from None
    fits("A point of an index set", size, most=2**24)  # so that a few fit into memory
    return size


def constant(values: ArrayLike, name: str, ndim: int, *, bounded: bool = True) -> Array:
    """A finite read-only copy of a constructor's argument, with no negative zeros so that equal means equal bytes."""
    array: Array = numbers(values, f"`{name}`", nan=True) + 0.0
    if array.ndim != ndim or array.size == 0:
        kind = ("a number", "a vector", "a matrix")[ndim]
        raise ModelError(f"`{name}` must be {kind}, and not empty; got shape {array.shape}.")
    if np.isnan(array).any() or (bounded and np.isinf(array).any()):
        raise ModelError(f"`{name}` must be finite, because index sets are bounded; got {shown(values)}.")
    if np.abs(array[np.isfinite(array)]).max(initial=0.0) > FARTHEST:
        raise ModelError(
            f"`{name}` must stay below {FARTHEST:g}, so that distances can be squared; "
            f"got {np.abs(array).max():.3g}. Measure the index in other units."
        )
    array = np.asarray(array)
    array.setflags(write=False)
    return array


def distinct(points: Array) -> Array:
    """Drop repeated points, equal up to rounding, and keep the order of the others."""
    if len(points) < 2:
        return points
    offset = points - points.min(axis=0)
    scale = max(float(offset.max()), 1e-3 * float(np.abs(points).max()), 1e-300)
    rounded = np.round(offset / scale, 12) + 0.0
    if points.shape[1] == 1:  # many times faster
        _, first = np.unique(rounded[:, 0], return_index=True)
    else:
        _, first = np.unique(rounded, axis=0, return_index=True)
    return points[np.sort(first)]


def additive_recurrence(n: int, dim: int) -> Array:
    """The first `n` points, from the centre on, of a low-discrepancy sequence in the unit cube: shape (n, dim).

    Steps are powers of 1/phi, where phi > 1 solves phi^(dim + 1) = phi + 1: the golden ratio for dim = 1, its
    generalisation beyond. Any prefix of the sequence is evenly spread.
    """
    alpha = _golden(dim) ** -np.arange(1.0, dim + 1)
    sequence: Array = (0.5 + np.arange(n)[:, None] * alpha) % 1.0
    return sequence


@cache
def _golden(dim: int) -> float:
    phi = 2.0
    for _ in range(64):
        phi = (1.0 + phi) ** (1.0 / (dim + 1))
    return phi


def unit_ball(u: Array) -> Array:
    """Map the unit cube onto the unit ball of the same dimension so that uniform points stay uniform.

    Normal coordinates give the direction; the distribution function of their length gives an independent radius.
    """
    from scipy.special import gammainc, ndtri

    dim = u.shape[1]
    normal = ndtri(np.clip(u, 1e-16, 1 - 1e-16))
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    radius = gammainc(dim / 2, length**2 / 2) ** (1 / dim)
    ball: Array = normal * (radius / np.maximum(length, 1e-300))
    return ball


def unit_simplex(u: Array) -> Array:
    """Map the unit cube of dimension k onto the simplex of k + 1 weights: gaps between sorted numbers are uniform."""
    weights: Array = np.diff(np.sort(u, axis=1), axis=1, prepend=0.0, append=1.0)
    return weights


def choose(u: Array, weights: Array) -> tuple[NDArray[np.intp], Array]:
    """Pick entries with probabilities given by `weights` from uniform u (N,), and stretch u to be uniform again."""
    edges = np.concatenate([[0.0], np.cumsum(weights / weights.sum())])
    edges[-1] = 1.0
    picked = np.clip(np.searchsorted(edges, u, side="right") - 1, 0, len(weights) - 1)
    width = np.maximum(edges[picked + 1] - edges[picked], 1e-300)
    return picked, np.clip((u - edges[picked]) / width, 0.0, 1.0)
