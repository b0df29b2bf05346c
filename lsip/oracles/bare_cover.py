"""A partition of an index set into boxes that the compiled kernel bounds for every x anew, by itself.

A `Cover` keeps the enclosures of all coefficients over every box, so that a new x costs one product. Where boxes are
many, writing them takes longer than making them does, and most are asked only once. This one keeps boxes alone; the
kernel has the heap, splits the worst boxes, and returns when the proof is done or a violation is found.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..deadline import EFFORT, beat, check
from ..domains import Cell
from ..domains.proven import LOST
from ..expressions.interval import EPS, up
from ..expressions.tape import Tape, quadratic_weights
from ..kernel import native
from ..kernel.native import Leaves, Weights, in_use
from .base import Array, Pieces, Rows
from .cover import TUNING as COVER
from .cover import Cover


@dataclass(frozen=True)
class BareTuning:
    """When boxes are kept without their enclosures.

    Parameters
    ----------
    batch
        Boxes that are split at once.
    seconds
        After which it is asked whether somebody wants to interrupt.
    """

    batch: int = 256
    seconds: float = 0.1


TUNING = BareTuning()


class Searched(NamedTuple):
    """Bounds of all boxes, what is known of those that are new, and what they took."""

    bounds: Array  # (N, p)
    points: Array  # (new, p, dim)
    model: Array  # (new, p)
    blind: bool  # whether derivatives over some of them are unbounded
    enclosed: int
    split: int


def tape_of(cover: Cover) -> native.NativeTape | None:
    """The rows in the compiled kernel, where nothing else has to be known of boxes: no kink, no curved boundary."""
    tape = getattr(cover._enclose, "__self__", None)
    plain = type(cover) in (Cover, BareCover) and cover.cell.inside is None and 1 < cover.dim <= native.MOST_DIMENSIONS
    if not (plain and in_use() and isinstance(tape, Tape)) or tape.kink_count:
        return None
    return tape.native


class BareCover(Cover):
    """Boxes of one cell of a domain, and nothing that depends on the rows; only where `tape_of` finds a tape."""

    direct = True

    def __init__(self, family: Rows, cell: Cell, order: int = 2, boxes: tuple[Array, Array] | None = None) -> None:
        self._family = family
        self._known: Array | None = None  # the weights that the bounds in store are about
        self._sizes: Array | None = None
        super().__init__(family, cell, order, boxes)

    def _rows(self, lower: Array, upper: Array, pieces: Pieces) -> dict[str, Any]:
        n, p, m = len(lower), self.p, self.dim
        rows: dict[str, Any] = {"lower": lower, "upper": upper, "pays": np.ones((n, m)), "rough": np.zeros((n, m))}
        rows |= {"bound": np.full((n, p), np.inf), "points": np.zeros((n, p, m)), "model": np.full((n, p), -np.inf)}
        return rows | {"touched": np.zeros(n, dtype=np.uint8)}

    def _leaves(self, rows: slice | NDArray[np.intp]) -> Leaves:
        return Leaves(*(np.array(self._store[name][: self.n][rows]) for name in Leaves._fields))

    def _weights(self, weights: Array, spread: Array | None) -> Weights:
        return Weights(weights, spread, LOST * (weights != 0).any(axis=1), self.scale, self._rounding)

    def bounds(
        self, weights: Array, rows: slice | NDArray[np.intp], spread: Array | None = None
    ) -> tuple[Array, Array, Array]:
        """Upper bounds (N, p) of the violation over boxes, the points (N, p, m) behind them, and the model there."""
        tape, leaves = tape_of(self), self._leaves(rows)
        assert tape is not None
        n = len(leaves.lower)
        bounding = native.Effort(0, 0, 0, 0.0)
        tape.heap(self.order, leaves, (n, 0), self._weights(weights, spread), (np.inf, np.inf), bounding)
        for name in ("pays", "rough"):
            self._store[name][: self.n][rows] = getattr(leaves, name)
        return leaves.bound, self._placed(leaves.points), leaves.model

    def again(self, weights: Array, spread: Array | None, alert: float) -> tuple[Array, Array, Array]:
        """Bounds (N, p) of all boxes for these weights; of those that are bounded anew, points and the model there.

        Where bounds for other weights are known, they move by no more than coefficients are large, times the distance
        of the weights: boxes whose bounds stay below the `alert` keep them.
        """
        bound = up(self.bound + self._moved(weights, spread))
        height = bound.max(axis=1)
        anew = ~(height <= alert) | np.isinf(height)
        # The worst in any case, if only for the points behind them.
        anew[np.argpartition(-height, min(64, self.n) - 1)[:64]] = True
        rows, self._known, found = np.flatnonzero(anew), None, []
        for start in range(0, len(rows), EFFORT.unwatched):
            check("branch-and-bound")
            found.append(self.bounds(weights, rows[start : start + EFFORT.unwatched], spread))
        new, points, model = (np.concatenate(parts) for parts in zip(*found, strict=True))
        bound[rows] = new
        self._store["bound"][: self.n], self._known = bound, weights.copy()
        return bound, points, model

    def _moved(self, weights: Array, spread: Array | None) -> Array:
        """How far rows (p,) may have moved since their bounds were found, at most."""
        if self._known is None:
            return np.full(self.p, np.inf)
        return self._reach(np.abs(weights - self._known) + (0.0 if spread is None else spread))

    def swing(self, rows: slice | NDArray[np.intp], spread: Array) -> Array:
        """How far the violation over boxes may move with weights within `spread`, (N p,)."""
        return np.tile(self._reach(spread), len(self.lower[rows]))

    def _reach(self, far: Array) -> Array:
        """How far rows (p,) may move with weights that move so far (p, K + 1), at most."""
        if self._sizes is None:
            self._sizes = self._largest()
        with np.errstate(all="ignore"):
            moved = np.where(far > 0, far * self._sizes, 0.0).sum(axis=1) * (1 + (self.width + 8) * EPS)
        return np.where(np.isnan(moved), np.inf, moved) + LOST

    def _largest(self) -> Array:
        """How large coefficients (p, K + 1) are over the whole cell, at most."""
        first = Cover(self._family, self.cell)
        m = self.dim
        share = np.concatenate([np.ones(1 + m), quadratic_weights(m)])
        table = np.concatenate([first.table, first._bends(slice(None))], axis=2) if first.single else first.table
        with np.errstate(all="ignore"):
            sizes = np.einsum("nplk,l->npk", np.abs(table), share) + first._errors(slice(None))
            return np.asarray(sizes.max(axis=0) * (1 + (len(share) + 8) * EPS))

    def _placed(self, points: Array) -> Array:
        placed = self.chart.points(points.reshape(-1, self.dim))
        return placed.reshape(*points.shape[:2], placed.shape[1])

    def influence(self, weights: Array, rows: NDArray[np.intp]) -> Array:
        """How much the violation varies along each axis of a box, (N, m): where splitting pays."""
        self.bounds(weights, rows)
        return self.pays[rows]

    def dig(
        self, bounds: Array, weights: Array, spread: Array | None, goals: tuple[float, float], room: int, most: int,
        deadline: float,
    ) -> Searched | None:  # fmt: skip
        """Split boxes whose bounds (N, p) exceed the first of the `goals`; None where there is room for none.

        It ends where there are none, a point above the second goal is found, `most` parts are enclosed, there are
        `room` more boxes, or time is up. What it does until then depends on nothing but the boxes and the weights.
        """
        tape, scaled = tape_of(self), self._weights(weights, spread)
        assert tape is not None
        halvings = COVER.least_halvings[min(self.dim, len(COVER.least_halvings)) - 1]
        added, limit = 2**halvings - 1, self.n + room
        self._store["bound"][: self.n], self._store["touched"][:] = bounds, 0
        enclosed = split = 0
        while enclosed < most:
            batch = min(TUNING.batch, (limit - self.n) // added)
            if not batch:
                break
            room = min(limit, max(2 * self.n, self.n + batch * added))
            self._grow(room)
            seconds = min(TUNING.seconds, deadline - time.perf_counter())
            self.whole = False
            leaves = Leaves(*(self._store[name][:room] for name in Leaves._fields))
            effort = native.Effort(batch, most - enclosed, halvings, seconds)
            dug = tape.heap(self.order, leaves, (self.n, self.n), scaled, goals, effort)
            self.n, self.whole = dug.boxes, True
            enclosed, split = enclosed + dug.enclosed, split + dug.split
            if not (dug.full or (dug.late and time.perf_counter() < deadline)):
                break
            check("branch-and-bound")
            beat(f"branch-and-bound, {self.n} boxes")
        if not split:
            return None
        new = np.flatnonzero(self.touched)
        points, blind = self._placed(self.points[new]), bool(self.rough[new].any())
        return Searched(self.bound.copy(), points, self.model[new], blind, enclosed, split)

    def _grow(self, room: int) -> None:
        """Room for so many boxes."""
        for name, store in self._store.items():
            if len(store) < room:
                grown = np.zeros((room, *store.shape[1:]), dtype=store.dtype)
                grown[: self.n] = store[: self.n]
                self._store[name] = grown
