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
from .graph import Expression, Index
from .interval import EPS, Array, up
from .jets import triangle
from .quadratics import middle
from .tape import Tape

Bools = NDArray[np.bool_]


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
        low, high = known.min(axis=0, initial=np.inf), known.max(axis=0, initial=-np.inf)
        lower, upper = lower.copy(), upper.copy()
        for _ in range(80):  # rounds of halving
            check("index set")
            kept = ~self.fail(lower, upper)
            lower, upper = lower[kept], upper[kept]
            if not len(lower):
                return None
            centre = middle(lower, upper)[0]
            inside = centre[(self.values(centre) >= 0).all(axis=1)]
            low, high = (
                np.minimum(low, inside.min(axis=0, initial=np.inf)),
                np.maximum(high, inside.max(axis=0, initial=-np.inf)),
            )
            slack = 1e-4 * (upper.max(axis=0) - lower.min(axis=0))  # of the bounding box, that may be left over
            open_boxes = ((lower < low - slack) | (upper > high + slack)).any(axis=1)
            open_boxes &= (upper > lower).any(axis=1)
            if not open_boxes.any() or len(lower) > EFFORT.boxes:
                break
            lower, upper = _halved(lower, upper, np.flatnonzero(open_boxes))
        return lower.min(axis=0), upper.max(axis=0)

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


def _halved(lower: Array, upper: Array, chosen: NDArray[np.intp]) -> tuple[Array, Array]:
    """All boxes, the chosen ones cut in two along their widest sides."""
    kept = np.ones(len(lower), dtype=bool)
    kept[chosen] = False
    a, b = lower[chosen], upper[chosen]
    n, axis = np.arange(len(a)), (b - a).argmax(axis=1)
    cut = 0.5 * a[n, axis] + 0.5 * b[n, axis]
    left, right = b.copy(), a.copy()
    left[n, axis] = right[n, axis] = cut
    return np.concatenate([lower[kept], a, right]), np.concatenate([upper[kept], left, b])


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
