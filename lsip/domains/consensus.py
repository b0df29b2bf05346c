"""Convex sets that are known by their projections: the nearest or furthest point that they have in common.

The alternating direction method of multipliers: every set has a copy of the point, and prices make the copies agree. In
the end, the prices are normals of the sets that balance what pulls at the point: they prove how far it can go. Anderson
mixing extrapolates the steps, of which there would be many otherwise. All of this is a guess, in floats.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..deadline import check

Array = NDArray[np.float64]
Projection = Callable[[Array], Array]


class Agreement(NamedTuple):
    """What the sets agreed upon, one problem a row."""

    points: Array  # (N, m)
    copies: Array  # (k, N, m), the nearest points of the single sets
    prices: Array  # (k, N, m), normals of the sets at their copies; they add up to what pulls at the point


def agree(
    sets: Sequence[Projection],
    start: Array,
    goal: Array | None,
    pull: Array | None,
    size: float,
    prices: Array | None = None,
) -> Agreement:
    """Minimise ||y - goal||² / 2, or maximise pull · y, over the y in all `sets`; both (N, m), one of them None.

    `size` is that of the sets. With `prices` (k, N, m), which are nearly right as the start is, little is left to do.
    Where they have no point in common, copies stay apart, by the same steps for ever.
    """
    k, weight = len(sets), 0.0 if goal is None else 1.0
    constant = pull if goal is None else goal
    assert constant is not None
    # A price is as large as what it balances, and a copy moves by about the size of the sets.
    far = 1.0 if goal is None else np.maximum(np.linalg.norm(goal - start, axis=1, keepdims=True), size)
    rho = np.broadcast_to(far / size, (len(start), 1))

    def middle(v: Array, y: Array) -> Array:
        z: Array = (constant + rho * (2 * y - v).sum(axis=0)) / (weight + k * rho)
        return z

    v = np.repeat(start[None], k, axis=0) + (0.0 if prices is None else prices / rho)
    mixing = _Mixing()
    for _ in range(1000 if prices is None else 60):  # few, where the prices are nearly known
        check("intersection of index sets")
        y = np.stack([project(part) for project, part in zip(sets, v, strict=True)])
        z = middle(v, y)
        apart = np.abs(z - y).max(axis=(0, 2)) > 2e-15 * (size + np.abs(z).max(axis=1))
        if not apart.any():
            break
        flat, step = (np.moveaxis(part, 0, 1).reshape(len(start), -1) for part in (v, z - y))
        moved = mixing.next(flat, step)
        v = np.moveaxis(np.where(apart[:, None], moved, flat).reshape(len(start), k, -1), 1, 0)
    return Agreement(z, y, rho * (v - y))


class _Mixing:
    """Anderson's extrapolation of v -> v + step, for many independent problems at once."""

    def __init__(self) -> None:
        self.moves: list[Array] = []
        self.changes: list[Array] = []
        self.last: tuple[Array, Array] | None = None
        self.best: tuple[Array, Array, Array] | None = None  # lengths of the shortest steps, points and steps

    def next(self, v: Array, step: Array) -> Array:
        """Where to go on from points v (N, q) with steps (N, q)."""
        norm = np.linalg.norm(step, axis=1)
        if self.best is None or self.last is None:
            self.best, self.last = (norm, v, step), (v, step)
            return v + step
        lost = (~(norm <= 2 * self.best[0]))[:, None]  # an extrapolation that led astray: go back and forget
        v, step = np.where(lost, self.best[1], v), np.where(lost, self.best[2], step)
        better = (norm < self.best[0])[:, None]
        self.best = (
            np.where(better[:, 0], norm, np.where(lost[:, 0], np.inf, self.best[0])),
            np.where(better, v, self.best[1]),
            np.where(better, step, self.best[2]),
        )
        self.moves.append(np.where(lost, 0.0, v - self.last[0]))
        self.changes.append(np.where(lost, 0.0, step - self.last[1]))
        for known in (*self.moves, *self.changes):
            known[lost[:, 0]] = 0.0
        del self.moves[:-6], self.changes[:-6]
        self.last = (v, step)
        changes, moves = np.stack(self.changes, axis=2), np.stack(self.moves, axis=2)  # (N, q, memory)
        scale = np.linalg.norm(changes, axis=1, keepdims=True)
        scale = np.where(scale > 0, scale, 1.0)
        changes, moves = changes / scale, moves / scale
        gram = np.einsum("nqi,nqj->nij", changes, changes) + 1e-10 * np.eye(changes.shape[2])
        share = np.linalg.solve(gram, np.einsum("nqi,nq->ni", changes, step)[..., None])
        result: Array = v + step - ((moves + changes) @ share)[..., 0]
        return result
