"""Inequalities u(y) >= 0 in an index y: where they are proven to hold or not to, and which points keep them.

What is said about boxes is proven, by enclosures. The nearest point that keeps all of them is searched for, in floats,
by Newton's method for the conditions of Karush, Kuhn and Tucker, from a few points that keep them already.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..deadline import EFFORT, check
from .boxes import Bools, Halving, search_boxes
from .graph import Expression, Index
from .interval import EPS, Array, up
from .jets import triangle
from .quadratics import middle
from .tape import Tape


@dataclass(frozen=True, eq=False)
class Inequalities:
    """A vector u (q,) of index expressions, all of them >= 0 on the set."""

    index: Index
    u: Expression

    @cached_property
    def tape(self) -> Tape:
        """For evaluations."""
        return Tape((self.u,), (self.index,))

    def values(self, y: Array) -> Array:
        """(N, q) at points (N, m), rounded."""
        return self.tape.values(y)

    def hold(self, lower: Array, upper: Array) -> Bools:
        """Boxes (N, m) on which all are proven to hold, and to be defined: no comparison with nan holds."""
        with np.errstate(all="ignore"):
            held: Bools = np.asarray((self.tape.enclose(lower, upper).lo >= 0).all(axis=1))
        if held.any() and any(node.partial for node in self.tape.nodes):
            held[held] = ~self.tape.absent(lower[held], upper[held]).nan.any(axis=1)
        return held

    def fail(self, lower: Array, upper: Array) -> Bools:
        """Boxes (N, m) on which one is proven to hold nowhere."""
        with np.errstate(all="ignore"):
            failed: Bools = np.asarray((self.tape.enclose(lower, upper).hi < 0).any(axis=1))
            left = np.flatnonzero(~failed)
            if len(left) and not self.tape.kink_count:  # the mean value theorem is sharper on small boxes
                centre, radius = middle(lower[left], upper[left])
                slope = self.tape.gradients(lower[left], upper[left])
                steep = np.maximum(np.abs(slope.lo), np.abs(slope.hi))  # (m, N, q)
                swing = up((steep * radius.T[:, :, None]).sum(axis=0), 8.0 + len(steep))
                failed[left] = (up(self.tape.enclose(centre, centre).hi + swing) < 0).any(axis=1)
        return failed

    def outer_box(self, lower: Array, upper: Array, known: Array) -> tuple[Array, Array] | None:
        """A box that is proven to hold all solutions in some boxes (K, m); None if there are none.

        `known` are solutions (N, m), as far as floats can tell: where they lie, nothing can be gained.
        """
        search = _OuterSearch(self, lower, upper, known)
        search_boxes(search)
        return (search.lower.min(axis=0), search.upper.max(axis=0)) if len(search.lower) else None

    def nearest(self, y: Array, start: Array, lower: Array, upper: Array, size: float) -> tuple[Array, Bools]:
        """Points of a box near y (N, m) that keep the inequalities, found from `start`, and whether they do."""
        z, multipliers = start.copy(), np.zeros((len(y), self.u.size))
        todo = np.arange(len(y))
        for _ in range(40):  # Newton's steps
            check("projection")
            step, multipliers[todo] = self._step(z[todo], y[todo], multipliers[todo], lower, upper, size)
            z[todo] = np.clip(z[todo] + step, lower, upper)
            todo = todo[(np.abs(step) > 5 * EPS * (size + np.abs(z).max())).any(axis=1)]
            if not len(todo):
                break
        return z, self.kept(z, size)

    def _step(
        self, z: Array, y: Array, multipliers: Array, lower: Array, upper: Array, size: float
    ) -> tuple[Array, Array]:
        """From points z towards the nearest solutions to y, and the multipliers there."""
        m, eye = y.shape[1], np.eye(y.shape[1])
        i, j = triangle(m)
        with np.errstate(all="ignore"):
            value, slope, packed = self.tape.derivatives(z)
        known = np.asarray(np.isfinite(np.concatenate([value[None], slope, packed])).all(axis=(0, 2)))
        value, slope = np.where(known[:, None], value, 0.0), np.where(known[:, None], slope, 0.0)
        bend = np.zeros((len(z), m, m))
        bent = np.einsum("hnq,nq->nh", np.where(known[:, None], packed, 0.0), multipliers)
        bend[:, i, j] = bend[:, j, i] = bent
        roots, axes = np.linalg.eigh(eye - bend)
        # Where the boundary bends towards the point, the model would have no minimum.
        inverse = np.einsum("nij,nj,nkj->nik", axes, 1.0 / np.maximum(roots, 0.1), axes)
        # The inequalities, then the sides of the box, all as rows . step + heights >= 0.
        sides = np.broadcast_to(np.concatenate([eye, -eye]), (len(z), 2 * m, m))
        rows = np.concatenate([slope.transpose(1, 2, 0), sides], axis=1)
        heights = np.concatenate([value, z - lower, upper - z], axis=1)
        step, weights = _quadratic_program(inverse, z - y, rows, heights)
        length = np.linalg.norm(step, axis=1, keepdims=True)
        with np.errstate(over="ignore"):
            step = step * np.minimum(1.0, 0.5 * size / np.maximum(length, 1e-300))
        return np.where(known[:, None], step, 0.0), weights[:, : self.u.size]

    def kept(self, y: Array, size: float) -> Bools:
        """Whether points keep the inequalities, but for a distance that is next to nothing."""
        with np.errstate(all="ignore"):
            value, slope, _ = self.tape.derivatives(y, 1)
            away = -value / np.maximum(np.linalg.norm(slope, axis=0), 1e-300)
        # Nearer to the boundary counts as inside.
        return np.asarray(((value >= 0) | (away <= 1e-12 * size)).all(axis=1))


class _OuterSearch(Halving):
    """The boxes that may hold solutions; halved are those beyond what is known of these."""

    what = "index set"

    def __init__(self, part: Inequalities, lower: Array, upper: Array, known: Array) -> None:
        super().__init__(lower, upper)
        self.part, self.rounds = part, 80
        self.low, self.high = known.min(axis=0, initial=np.inf), known.max(axis=0, initial=-np.inf)
        self.width = np.ones_like(self.width)

    def open_boxes(self) -> NDArray[np.intp] | None:
        self.keep(~self.part.fail(self.lower, self.upper))
        self.rounds -= 1
        if not len(self.lower) or self.rounds < 0:
            return None
        centre = middle(self.lower, self.upper)[0]
        inside = centre[(self.part.values(centre) >= 0).all(axis=1)]
        self.low = np.minimum(self.low, inside.min(axis=0, initial=np.inf))
        self.high = np.maximum(self.high, inside.max(axis=0, initial=-np.inf))
        slack = 1e-4 * (self.upper.max(axis=0) - self.lower.min(axis=0))  # of the bounding box, that may be left over
        beyond = ((self.lower < self.low - slack) | (self.upper > self.high + slack)).any(axis=1)
        return None if len(beyond) > EFFORT.boxes else np.flatnonzero(beyond & (self.upper > self.lower).any(axis=1))


def _quadratic_program(inverse: Array, gradient: Array, rows: Array, heights: Array) -> tuple[Array, Array]:
    """Minimise step' B step / 2 + gradient . step with rows . step + heights >= 0, for B given by its inverse.

    Returns steps (N, m) and multipliers (N, q), by ascent along one multiplier after the other (Hildreth's method).
    """
    ways = np.einsum("nqi,nij->nqj", rows, inverse)
    table = np.einsum("nqi,nri->nqr", ways, rows)
    diagonal = np.einsum("nqq->nq", table)
    usable = diagonal > 1e-14 * (diagonal.max(axis=1, keepdims=True) + 1e-300)
    start = heights - np.einsum("nqi,ni->nq", ways, gradient)  # heights at the step without any multiplier
    weights, current = np.zeros_like(heights), start.copy()
    for _ in range(60):  # sweeps through the multipliers
        moved = 0.0
        for k in range(rows.shape[1]):
            change = np.where(usable[:, k], -current[:, k] / np.where(usable[:, k], diagonal[:, k], 1.0), 0.0)
            change = np.maximum(change, -weights[:, k])
            weights[:, k] += change
            current += change[:, None] * table[:, :, k]
            moved = max(moved, float(np.abs(change).max(initial=0.0)))
        if moved <= 1e-15 * (1.0 + float(weights.max(initial=0.0))):
            break
    step = np.einsum("nq,nqi->ni", weights, ways) - np.einsum("nij,nj->ni", inverse, gradient)
    return step, weights
