"""Verified quadrature: means over the unit cube, enclosed by Taylor expansions on smaller and smaller boxes.

Over a box with centre c, every function is v + g . d + d' Q d / 2 + T(d, d, d) + rest in coordinates |d_i| <= 1
(`Tape.quadratics`). Odd powers of d have the mean 0, squares 1/3: the mean over the box is v + trace Q / 6, and off by
no more than the bound of the rest, which is of fourth order. Boxes are halved where these bounds are largest. Their
corners are multiples of powers of two, so that centres, widths and shares of the cube are exact.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import fsum

import numpy as np
from numpy.typing import NDArray

from ..deadline import EFFORT, check
from ..expressions.boxes import search_boxes
from ..expressions.interval import EPS, Array, Interval, down, up
from ..expressions.jets import triangle
from ..expressions.quadratics import Quadratic
from ..expressions.tape import Tape

Ints = NDArray[np.intp]


@dataclass(frozen=True)
class QuadratureTuning:
    """How sharp integrals are.

    Parameters
    ----------
    accuracies
        The error that is aimed at, relative to the integral of the absolute value: in one, two, and more dimensions.
    """

    accuracies: tuple[float, ...] = (1e-13, 1e-11, 1e-9)


TUNING = QuadratureTuning()


@dataclass(frozen=True, eq=False)
class Boxes:
    """N boxes in the unit cube, and what is known of the means of K functions over each."""

    lower: Array  # (N, k)
    depth: Ints  # (N, k), how often each axis was halved
    mean: Array  # (N, K)
    error: Array  # (N, K)

    @property
    def share(self) -> Array:
        """(N, 1), of the cube."""
        return np.ldexp(1.0, -self.depth.sum(axis=1))[:, None]

    def take(self, which: Ints) -> Boxes:
        """Some of them."""
        return Boxes(*(getattr(self, f)[which] for f in FIELDS))

    def joined(self, other: Boxes) -> Boxes:
        """All of both."""
        return Boxes(*(np.concatenate([getattr(self, f), getattr(other, f)]) for f in FIELDS))


FIELDS = tuple(f.name for f in fields(Boxes))


def means(tape: Tape) -> Interval:
    """The means (K,) of all outputs of a tape over the unit cube; infinite where no bound was found."""
    search = _MeanSearch(tape)
    search_boxes(search)
    return _total(search.boxes)


class _MeanSearch:
    """Boxes that are split until their means are sharp enough."""

    def __init__(self, tape: Tape) -> None:
        self.tape, k = tape, tape.dim
        self.boxes = _enclosed(tape, np.zeros((1, k)), np.zeros((1, k), dtype=np.intp))
        self.accuracy = TUNING.accuracies[min(k, len(TUNING.accuracies)) - 1]
        # After so many boxes, whose means are added up exactly, the enclosure is what it is.
        self.most = min(EFFORT.exact // max(k - 1, 1), EFFORT.entries // max(sum(tape.sizes), 1))

    def open_boxes(self) -> Ints | None:
        if len(self.boxes.lower) >= self.most:
            return None
        self.size = _sizes(self.boxes)
        return np.flatnonzero(_loose(self.boxes, self.size, self.accuracy))

    def split(self, chosen: Ints) -> None:
        halved = _halved(self.tape, self.boxes.take(chosen), self.size)
        self.boxes = self.boxes.take(np.delete(np.arange(len(self.boxes.lower)), chosen)).joined(halved)


def _sizes(boxes: Boxes) -> Array:
    """About the mean (K,) of the absolute value of every function, 1 for one that is 0."""
    found = (boxes.share * np.abs(boxes.mean)).sum(axis=0)
    return np.where(found > 0, found, 1.0)


def _loose(boxes: Boxes, size: Array, accuracy: float) -> NDArray[np.bool_]:
    """The boxes with the largest errors, such that those of all others together are small enough; none if all are.

    More are halved than would do, until half of that is left: one by one, they would take as many rounds.
    """
    share = boxes.share
    worst = (share * boxes.error / size).max(axis=1)
    rounding = 64 * EPS * share[:, 0]  # which halving does not help against
    # Halvings that leave corners and centres doubles.
    worst = np.where((boxes.depth < 50).any(axis=1) & (worst > rounding), worst, 0.0)
    order = np.argsort(worst)
    others = np.cumsum(worst[order])
    loose: NDArray[np.bool_] = np.zeros(len(worst), dtype=bool)
    loose[order] = others > accuracy / (4 if others[-1] > accuracy / 2 else 2)
    return loose & (worst > 0)


def _halved(tape: Tape, boxes: Boxes, size: Array) -> Boxes:
    """Both halves of every box: along wide axes first, then along the one that leaves the smallest error.

    Errors are relative to the functions, so that the rounding of one of them does not hide the kink of another.
    """
    n, found = np.arange(len(boxes.lower)), list[Boxes]()
    for axis in range(tape.dim):
        depth, right = boxes.depth.copy(), boxes.lower.copy()
        depth[:, axis] += 1
        right[:, axis] += np.ldexp(1.0, -depth[:, axis])
        found.append(_enclosed(tape, np.concatenate([boxes.lower, right]), np.concatenate([depth, depth])))
    halves = {f: np.stack([getattr(b, f) for b in found]) for f in FIELDS}  # (k, 2 N, …)
    both = halves["error"][:, : len(n)] + halves["error"][:, len(n) :]
    left = (both / size).max(axis=2)
    before = boxes.depth.T
    order = (before, left, np.minimum(before, 2), before >= 50)  # the last counts most
    chosen = np.tile(np.lexsort(order, axis=0)[0], 2)
    return Boxes(*(halves[f][chosen, np.arange(len(chosen))] for f in FIELDS))


def _enclosed(tape: Tape, lower: Array, depth: Ints) -> Boxes:
    """What is known over boxes, a few of them at a time."""
    k, outputs = tape.dim, sum(tape.sizes)
    upper = lower + np.ldexp(1.0, -depth)
    entries = 1 + k + k * (k + 1) // 2 + k * (k + 1) * (k + 2) // 6
    size = max(EFFORT.entries // max(entries * outputs, 1), 1)
    parts = []
    for start in range(0, len(lower), size):
        check("integral")
        some = slice(start, start + size)
        parts.append(_mean(tape.quadratics(lower[some], upper[some], order=3)[0], k))
    mean, error = (np.concatenate(p) for p in zip(*parts, strict=True))
    return Boxes(lower, depth, mean, error)


def _mean(found: Quadratic, k: int) -> tuple[Array, Array]:
    """The mean over every box (N, K), and its error."""
    i, j = triangle(k)
    with np.errstate(all="ignore"):
        squares = found.hessian[i == j]  # (k, N, K)
        mean = found.value + squares.sum(axis=0) / 6.0
        size = np.abs(found.value) + np.abs(squares).sum(axis=0)
        error = up(found.error + (k + 4) * EPS * size, 4.0)
    known = np.isfinite(error) & np.isfinite(mean)
    return np.where(known, mean, 0.0), np.where(known, error, np.inf)


def _total(boxes: Boxes) -> Interval:
    """The sum over all boxes, outward."""
    share = boxes.share
    value = np.array([fsum(column) for column in (share * boxes.mean).T.tolist()])
    error = up((share * boxes.error).sum(axis=0) * (1 + (len(share) + 4) * EPS) + np.abs(value) * EPS, 4.0)
    return Interval(down(value - error), up(value + error))
