"""Bounds by Taylor expansions of all coefficients over a box, of second or third order.

Since a(y) x - b(y) is linear in (x, -1), enclosures that are kept make a new x cost one matrix product over all boxes.
Where boxes are many, writing enclosures takes longer than making them does, and most are asked only once: then boxes
alone are kept, and enclosed for every x anew.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..deadline import check
from ..domains import Cell
from ..domains.proven import LOST
from ..expressions.interval import EPS
from ..expressions.jets import triangle
from ..expressions.quadratics import Quadratic, cubic_weights, quadratic_weights
from ..kernel import native
from ..kernel.native import Leaves, Weights, in_use
from .base import Array, Enclosure, Ints, Pieces, Renewable, Rows, Taped, capable
from .bounder import Bounder, BoxBounds, BoxView, QuadraticBounder, at_once, shares
from .partition import BoxPartition
from .sides import cut_off, kinked


@dataclass(frozen=True)
class TaylorTuning:
    """What is kept of a box.

    Parameters
    ----------
    most_kinks
        Kinks that straddle one box are told apart up to this many: each of them doubles the pieces of the box.
    """

    most_kinks: int = 3


TUNING = TaylorTuning()


class Taylor(QuadraticBounder):
    """Expansions of that order of all (p, K + 1) coefficients over boxes; kept, or made anew for all weights."""

    def __init__(self, family: Rows, cell: Cell, order: int = 2, kept: bool = True) -> None:
        super().__init__(family, cell)
        self.order, self.kept, source = order, kept, capable(family)
        self._rows = source.taped(cell) if isinstance(source, Taped) and cell.inside is None else None
        self._enclose: Enclosure = family.quadratics(cell) if self._rows is None else self._rows.quadratics
        self.levels = self.quadratic + (len(cubic_weights(self.dim)) if order == 3 else 0)
        self.shared = bool((family.columns == family.columns[0]).all())
        self.kinks = 0
        self._narrow: tuple[Ints, native.NativeTape] | None = None  # the columns that had weight last, and their tape

    def other(self, family: Rows) -> Taylor:
        """The same for other rows."""
        return type(self)(family, self.cell, self.order, self.kept)

    @property
    def at_once(self) -> int:
        """Boxes that are enclosed in one batch."""
        return at_once(self.p * self.width, self.levels)

    @property
    def tape(self) -> native.NativeTape | None:
        """The rows in the compiled kernel, where nothing else has to be known of boxes: no kink, no curved boundary."""
        tape = self._rows if 1 < self.dim <= native.MOST_DIMENSIONS and in_use() else None
        return None if tape is None or tape.kink_count else tape.native

    def changed(self, columns: dict[str, Any], n: int, family: Rows, before: Hashable) -> Bounder | None:
        """The same with other enclosures of some numbers."""
        source = capable(family) if self.kept else None
        renewal = source.renewal(self.cell, before) if isinstance(source, Renewable) else None
        if renewal is None:
            return None
        was, places, enclose = renewal
        if len(was) != self.p or (was != np.arange(self.p)).any():
            for key in ("table", "error"):
                columns[key] = columns[key][:n][:, was]  # of a row that is new, any is enclosed anew
        other = self.other(family)
        size, step = other.p * (self.width - 1), at_once(len(places), self.levels)
        inner = places < size
        row = np.where(inner, places // max(self.width - 1, 1), places - size)
        column = np.where(inner, places % max(self.width - 1, 1), self.width - 1)
        for start in range(0, n if len(places) else 0, step):
            some = slice(start, min(start + step, n))
            found = enclose(columns["lower"][some], columns["upper"][some], None, self.order)[0]
            flat, error = self._flat(found)
            columns["table"][some][:, row, :, column] = flat.transpose(2, 1, 0)
            columns["error"][some][:, row, column] = error
        return other

    def enclose(self, lower: Array, upper: Array, pieces: Pieces) -> dict[str, Any]:
        """Enclosures over boxes, laid out as they are kept; boxes with straddling kinks come out in pieces."""
        return self._batches(lower, upper, pieces) if self.kept else self._leaves(lower, upper)

    def _leaves(self, lower: Array, upper: Array) -> dict[str, Any]:
        """Boxes of which nothing is known yet."""
        n, p, m = len(lower), self.p, self.dim
        return {
            "lower": lower, "upper": upper, "pays": np.ones((n, m)), "rough": np.zeros((n, m)),
            "bound": np.full((n, p), np.inf), "points": np.zeros((n, p, m)), "model": np.full((n, p), -np.inf),
            "touched": np.zeros(n, dtype=np.uint8),
        }  # fmt: skip

    def _batches(self, lower: Array, upper: Array, pieces: Pieces) -> dict[str, Any]:
        size = self.at_once
        if len(lower) <= 1.5 * size:
            return self._batch(lower, upper, pieces)
        batches = []
        for part in (slice(i, i + size) for i in range(0, len(lower), size)):
            check("branch-and-bound")
            batches.append(self._batch(lower[part], upper[part], None if pieces is None else pieces[part]))
        return {key: np.concatenate([batch[key] for batch in batches]) for key in batches[0]}

    def _batch(self, lower: Array, upper: Array, pieces: Pieces) -> dict[str, Any]:
        """The same for a few boxes."""
        quadratic, sides, straddles = self._enclose(lower, upper, pieces, self.order)
        if straddles is not None:
            self.kinks = straddles.shape[1]
            pieces = np.zeros((len(lower), self.kinks), dtype=np.int8) if pieces is None else pieces
            undecided = straddles & (pieces == 0)
            count = undecided.sum(1)
            split = (count > 0) & (count <= TUNING.most_kinks)
            if split.any():
                halves = [(lower[~split], upper[~split], pieces[~split])]
                for sign in (1, -1):
                    first = undecided[split].argmax(axis=1)
                    branch = pieces[split].copy()
                    branch[np.arange(len(branch)), first] = sign
                    halves.append((lower[split], upper[split], branch))
                return self._batches(*(np.concatenate(part) for part in zip(*halves, strict=True)))
        if pieces is not None:
            quadratic = self._rather_whole(quadratic, lower, upper, pieces)
        rows = self._layout(quadratic) | {"lower": lower, "upper": upper}
        return rows if sides is None else cut_off(rows, sides, pieces, straddles)

    def _rather_whole(self, quadratic: Quadratic, lower: Array, upper: Array, pieces: NDArray[Any]) -> Quadratic:
        """Enclosures of the whole box for what has none on a piece of it.

        A branch that is extended over the box may not be defined there, as 1 / t is not in 1 / max(t, 0.1), which has
        bounds. What holds on the box holds on every piece.
        """
        lost = np.flatnonzero(~np.isfinite(quadratic.error).all(axis=1) & (pieces != 0).any(axis=1))
        if not len(lost):
            return quadratic
        whole = self._enclose(lower[lost], upper[lost], np.zeros_like(pieces[lost]), self.order)[0]
        unknown = ~np.isfinite(quadratic.error[lost])
        merged = []
        for part, other in zip(quadratic, whole, strict=True):
            mine = part.copy()  # two parts may be one array
            mine[..., lost, :] = np.where(unknown, other, mine[..., lost, :])
            merged.append(mine)
        return Quadratic(*merged)

    def _layout(self, quadratic: Quadratic) -> dict[str, Any]:
        """Coefficients (N, p, levels, K + 1) and errors (N, p, K + 1), rounding of products with (x, -1) included."""
        n, p, width, rough = len(quadratic.value), self.p, self.width, quadratic.rough.sum(axis=-1).T
        if in_use():
            table, error = native.layout(_levels(quadratic), quadratic.error, p, width, self._rounding)
            return {"rough": rough, "table": table, "error": error}
        flat, doubt = self._flat(quadratic)
        table, error = np.empty((n, p, self.levels, width)), np.empty((n, p, width))
        size = p * (width - 1)
        table[..., :-1] = flat[..., :size].reshape(self.levels, n, p, width - 1).transpose(1, 2, 0, 3)
        table[..., -1] = flat[..., size:].transpose(1, 2, 0)
        error[..., :-1] = doubt[:, :size].reshape(n, p, width - 1)
        error[..., -1] = doubt[:, size:]
        return {"rough": rough, "table": table, "error": error}

    def _flat(self, quadratic: Quadratic) -> tuple[Array, Array]:
        """The same as they come: coefficients (levels, N, numbers) and errors (N, numbers)."""
        flat = np.concatenate(_levels(quadratic))
        return flat, quadratic.error * (1 + self._rounding) + self._rounding * np.abs(flat).sum(axis=0)

    @property
    def _rounding(self) -> float:
        """Of a product with (x, -1): half a unit in the last place an operation."""
        return 0.5 * (self.width + 4) * EPS

    def bound(self, boxes: BoxView, weights: Array, spread: Array | None) -> BoxBounds | None:
        """Bounds for weights (p, K + 1) and all others within their spread."""
        if self.kept:
            return super().bound(boxes, weights, spread)
        if self.tape is None:  # NumPy is the reference
            kept = self._batches(boxes["lower"], boxes["upper"], None)
            boxes["rough"], view = kept["rough"], BoxView(kept, len(boxes))
            boxes["pays"] = self._pays(view, self._variation(view, weights))
            return super().bound(view, weights, spread)
        leaves = Leaves(*(np.array(boxes[name]) for name in Leaves._fields))
        bounding = native.SearchLimits(0, 0, 0, 0.0)
        known = len(leaves.lower), 0
        tape, scaled = self.narrowed(weights, spread)
        tape.search(self.order, leaves, known, scaled, (np.inf, np.inf), bounding)
        boxes["pays"], boxes["rough"] = leaves.pays, leaves.rough
        return BoxBounds(leaves.bound, self.placed(leaves.points), leaves.model)

    def narrowed(self, weights: Array, spread: Array | None) -> tuple[native.NativeTape, Weights]:
        """The tape of the columns that have weight, and the weights with what the kernel has to know about them.

        A column without a bound over the cell stays: nobody knows what nought times it is.
        """
        tape, lost = self.tape, LOST * (weights != 0).any(axis=1)
        assert tape is not None
        assert self._rows is not None
        used = np.array((weights if spread is None else np.abs(weights) + spread).any(axis=0), dtype=np.bool_)
        used[-1] = True  # the right-hand side
        if 2 * used.sum() <= self.width:
            used |= ~np.isfinite(self._largest).all(axis=0)
        if 2 * used.sum() > self.width:
            return tape, Weights(weights, spread, lost, self.scale, self._rounding)
        columns = np.flatnonzero(used)
        if self._narrow is None or not np.array_equal(self._narrow[0], columns):
            first = (np.arange(self.p)[:, None] * (self.width - 1) + columns[:-1]).ravel()
            outputs = np.concatenate([first, self.p * (self.width - 1) + np.arange(self.p)])
            instructions = self._rows.instructions
            assert instructions is not None  # as of the tape
            self._narrow = columns, instructions.only(outputs).native()
        few = weights[:, columns], None if spread is None else spread[:, columns]
        return self._narrow[1], Weights(*few, lost, self.scale, self._rounding)

    def reach(self, far: Array) -> Array:
        """How far rows (p,) may move anywhere in the cell with weights that move so far (p, K + 1), at most."""
        with np.errstate(all="ignore"):
            moved = np.where(far > 0, far * self._largest, 0.0).sum(axis=1) * (1 + (self.width + 8) * EPS)
        return np.where(np.isnan(moved), np.inf, moved) + LOST

    @cached_property
    def _largest(self) -> Array:
        """How large coefficients (p, K + 1) are over the whole cell, at most."""
        whole = Taylor(self.family, self.cell)
        boxes = BoxPartition(whole).boxes()
        with np.errstate(all="ignore"):
            sizes = np.einsum("nplk,l->npk", np.abs(boxes["table"]), whole._level_sizes) + boxes["error"]
            return np.asarray(sizes.max(axis=0) * (1 + (whole.levels + 8) * EPS))

    @cached_property
    def _level_sizes(self) -> Array:
        """How much each of the levels adds to the size of a coefficient over the box, at most."""
        cubic = [cubic_weights(self.dim)] if self.order == 3 else []
        return np.concatenate([np.ones(1 + self.dim), quadratic_weights(self.dim), *cubic])

    def _models(self, boxes: BoxView, weights: Array, spread: Array | None) -> tuple[Array, Array]:
        """Quadratics (N p, numbers) for these weights, and what they are off by, at most, (N p,)."""
        table, error = boxes["table"], boxes["error"]
        size, flat = np.abs(weights), len(table) * self.p
        if self.shared and (weights == weights[0]).all():
            q = (table.reshape(-1, self.width) @ weights[0]).reshape(flat, self.levels)
            rest = (error.reshape(-1, self.width) @ size[0]).ravel()
        else:
            q = np.einsum("nplk,pk->npl", table, weights).reshape(flat, self.levels)
            rest = np.einsum("npk,pk->np", error, size).ravel()
        if self.order == 3:  # what is left of the cubic terms once the coefficients have cancelled
            rest = rest + np.abs(q[:, self.quadratic :]) @ cubic_weights(self.dim)
            q = q[:, : self.quadratic]
        return q, rest if spread is None else rest + self._swing(boxes, spread)

    def _swing(self, boxes: BoxView, spread: Array) -> Array:
        """How far the violation over boxes may move with weights within `spread`, (N p,): |coefficient| times spread.

        Coefficients are polynomials in d with |d_i| <= 1 up to their errors: no larger than their terms in all.
        """
        swing = np.einsum("npk,pk->np", boxes["error"], spread)
        # A product a level, so that no copy of a table is made.
        for level, share in zip(np.moveaxis(boxes["table"], 2, 0), self._level_sizes, strict=True):
            swing += share * np.einsum("npk,pk->np", np.abs(level), spread)
        return (swing * (1 + (self.width + self.levels + 8) * EPS)).ravel()

    def influence(self, boxes: BoxView, weights: Array) -> Array:
        """How much the violation varies along each axis of a box, (N, m): where splitting pays."""
        if not self.kept:
            return super().influence(boxes, weights)
        if self.dim == 1:
            return np.ones((len(boxes), 1))
        pays = self._pays(boxes, self._variation(boxes, weights))
        return pays + shares(kinked(boxes, self.kinks, self.dim)) if self.kinks else pays

    def _variation(self, boxes: BoxView, weights: Array) -> Array:
        """How much what a bound leaves open varies along each axis of a box, (N, m)."""
        m, size = self.dim, np.abs(weights)
        i, j = triangle(m)
        with np.errstate(all="ignore"):
            part = np.einsum("nplk,pk->nl", np.abs(boxes["table"][:, :, 1 + m : self.quadratic]), size)
            linear = np.einsum("nplk,pk->nl", boxes["table"][:, :, 1 : 1 + m], weights)
        result = 1e-3 * np.abs(linear) + boxes["rough"]
        for k, (a, b) in enumerate(zip(i, j, strict=True)):
            result[:, a] += part[:, k]
            if a != b:
                result[:, b] += part[:, k]
        return np.asarray(result)


def _levels(quadratic: Quadratic) -> list[Array]:
    """Coefficients of all levels, the constant ones first."""
    return [quadratic.value[None], quadratic.gradient, quadratic.hessian, quadratic.third]
