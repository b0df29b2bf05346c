"""The search by the compiled kernel: it has the heap, splits the worst boxes, and returns when the proof is done.

It serves partitions whose `Taylor` bounder keeps boxes alone, where the kernel has the rows as a tape.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from ..deadline import EFFORT, PACE, beat, check
from ..expressions.interval import up
from ..kernel import native
from ..kernel.native import Leaves
from .base import Array
from .bounder import BoxBounds
from .partition import TUNING as PARTITION
from .partition import BoxPartition
from .taylor import Taylor


class Limits(NamedTuple):
    """When a search ends."""

    goal: float  # no box with a bound up to it is split
    alert: float  # a point above it is a violation
    room: int  # so many more boxes
    most: int  # so many enclosed
    deadline: float


def again(partition: BoxPartition, bounder: Taylor, weights: Array, spread: Array | None, alert: float) -> BoxBounds:
    """Bounds (N, p) of all boxes for these weights; of those that are bounded anew, points and the model there.

    Where bounds for other weights are known, they move by no more than coefficients are large, times the distance of
    the weights: boxes whose bounds stay below the `alert` keep them.
    """
    n, known = partition.n, partition.known
    moved = np.inf if known is None else bounder.reach(np.abs(weights - known) + (0.0 if spread is None else spread))
    bound = up(partition.boxes()["bound"] + moved)
    height = bound.max(axis=1)
    anew = ~(height <= alert) | np.isinf(height)
    # The worst in any case, if only for the points behind them.
    anew[np.argpartition(-height, min(64, n) - 1)[:64]] = True
    rows, partition.known, found = np.flatnonzero(anew), None, []
    for start in range(0, len(rows), EFFORT.unwatched):
        check("branch-and-bound")
        found.append(bounder.bound(partition.boxes(rows[start : start + EFFORT.unwatched]), weights, spread))
    new, points, model = (np.concatenate(parts) for parts in zip(*found, strict=True))
    bound[rows] = new
    partition.boxes()["bound"], partition.known = bound, weights.copy()
    return BoxBounds(bound, points, model)


def search(
    partition: BoxPartition, bounder: Taylor, weights: Array, spread: Array | None, limits: Limits
) -> tuple[int, int]:
    """Split boxes whose bounds exceed the goal; how many parts were enclosed, and how many boxes split.

    The bounds are those of the column `bound`. The search ends where none exceeds the goal, a violation is found, so
    many parts are enclosed, there is no room, or time is up. What it does until then depends on nothing but the boxes
    and the weights.
    """
    tape, scaled, halvings = bounder.tape, bounder.scaled(weights, spread), partition.least_halvings
    assert tape is not None
    added, limit = 2**halvings - 1, partition.n + limits.room
    partition.columns["touched"][:] = 0
    enclosed = split = 0
    while enclosed < limits.most:
        batch = min(EFFORT.unwatched >> PARTITION.most_halvings, (limit - partition.n) // added)
        if not batch:
            break
        room = min(limit, max(2 * partition.n, partition.n + batch * added))
        partition.grow(room, room)
        partition.whole = False
        leaves = Leaves(*(partition.columns[name][:room] for name in Leaves._fields))
        most = min(limits.most - enclosed, EFFORT.unwatched)  # then somebody may want to interrupt
        seconds = min(PACE.every, limits.deadline - time.perf_counter())
        effort = native.SearchLimits(batch, most, halvings, seconds)
        done = tape.search(bounder.order, leaves, (partition.n, partition.n), scaled, limits[:2], effort)
        partition.n, partition.whole = done.boxes, True
        enclosed, split = enclosed + done.enclosed, split + done.split
        if not (done.full or done.due) or time.perf_counter() > limits.deadline:
            break
        check("branch-and-bound")
        beat(f"branch-and-bound, {partition.n} boxes")
    return enclosed, split
