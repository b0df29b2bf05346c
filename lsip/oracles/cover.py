"""A partition of an index set into boxes, with quadratic enclosures of a family's coefficients over each.

Nothing here depends on x: since a(y) x - b(y) is linear in (x, -1), a new x costs one matrix product over all boxes.
The partition is only ever refined, so later iterations start where earlier ones left off.

Kinks and curved boundaries are treated alike. A box on which the argument u of a kink changes sign is kept twice,
once for u >= 0 and once for u <= 0, each with the smooth branch extended over the whole box; a box that the domain's
boundary crosses knows that some u >= 0 on the domain. On either, g <= g + lambda u for every lambda >= 0, and the
best lambda removes the slope towards the part that does not count. Without it, maxima on kinks and on boundaries
would need boxes of the size of the tolerance.
"""

from __future__ import annotations

import math
import time
from collections.abc import Hashable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..deadline import EFFORT, check
from ..domains import Cell
from ..domains.proven import LOST
from ..expressions.chart import Chart
from ..expressions.interval import EPS
from ..expressions.jets import triangle
from ..expressions.tape import Quadratic, cubic_weights, middle, quadratic_weights
from ..kernel import native
from ..kernel.native import in_use
from .base import Enclosure, Renewable, Renewal, Rows
from .quadratic_bound import bound_rows

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class CoverTuning:
    """How finely an index set is cut. What depends on its dimension is given for 1, 2, 3 and all higher ones.

    Parameters
    ----------
    first_boxes
        Boxes along each axis to start with, at least and at most.
    least_halvings, most_halvings
        Cuts of one box in each round. A round on a few boxes costs as much as one on many: where few are left, more
        cuts save rounds.
    cheap
        Coefficients enclosed at once that cost little more than one; so many are cut to start with and in each round,
        within these limits.
    most_kinks
        Kinks that straddle one box are told apart up to this many: each of them doubles the pieces of the box.
    most_bytes
        Memory for the boxes of a cover; none is split beyond.
    single
        Coordinates of an index from which on second derivatives, of which there are many then, and errors are kept in
        single precision. Over boxes that are small enough for a proof second derivatives are small, too, and what
        rounding takes from them is nothing beside what is left open of third order.
    """

    first_boxes: tuple[tuple[int, int], ...] = ((4, 32), (3, 10), (2, 5), (2, 2))
    least_halvings: tuple[int, ...] = (3, 2, 2, 1)
    most_halvings: int = 4
    cheap: int = 3000
    most_kinks: int = 3
    most_bytes: float = 1.8e9
    single: int = 5


TUNING = CoverTuning()
SINGLE = np.finfo(np.float32)


class Cover:
    """Boxes of one cell of a domain, and the enclosures of a family over them.

    A cover belongs to one search at a time. While boxes are replaced it is not `whole`: what an interrupt leaves then
    covers only a part of the cell, and must not be asked again.
    """

    direct = False  # whether rows are expanded for given weights, as sharply as can be

    def __init__(self, family: Rows, cell: Cell, order: int = 2, boxes: tuple[Array, Array] | None = None) -> None:
        """Boxes to start with, or those given; over them, expansions of that order."""
        self.cell, self.order = cell, order
        self.p, k = family.columns.shape
        self.width = k + 1
        self.dim = cell.lower.shape[1]
        self.quadratic = 1 + self.dim + len(triangle(self.dim)[0])  # numbers in a quadratic
        self.levels = self.quadratic + (len(cubic_weights(self.dim)) if order == 3 else 0)
        self.single = order == 2 and self.dim >= TUNING.single  # whether second derivatives are kept apart, as `bend`
        self._units: Array | None = None  # (p, K + 1), powers of two in which these and errors are about 1 at first
        self.shared = bool((family.columns == family.columns[0]).all())
        self.chart = Chart(cell)
        self._enclose = self._enclosure(family)
        self.kinks = 0
        self.whole = True
        lower, upper = boxes or _first_boxes(cell, TUNING.cheap / (self.p * self.width))
        self.scale = np.maximum((upper - lower).max(axis=0), 1e-300)
        began = time.perf_counter()
        rows = self._rows(lower, upper, None)
        self.n = len(rows["lower"])
        # Boxes that can be split in a second, about: each into a few, of which each costs as much as one did here.
        self.pace = self.n / (4 * max(time.perf_counter() - began, 1e-9))
        self._store = rows

    def __getattr__(self, name: str) -> Array:
        store = self.__dict__.get("_store")
        if store is None or name not in store:
            raise AttributeError(name)
        return store[name][: self.n]

    def renewed(self, family: Rows, before: Hashable) -> Cover:
        """The same boxes, for rows with other numbers than those of the data `before`; this cover is used up.

        On which side of a kink a box lies has to be found out again, also where no kink is left.
        """
        whole = not (self.direct or self.kinks or self.single)
        changed = family.renewal(self.cell, before) if whole and isinstance(family, Renewable) else None
        if changed is not None:
            return self._changed(family, changed)
        lower, upper = self.lower, self.upper
        if self.kinks:
            both = np.unique(np.concatenate([lower, upper], axis=1), axis=0)
            lower, upper = both[:, : self.dim], both[:, self.dim :]
        other = type(self)(family, self.cell, self.order, (lower.copy(), upper.copy()))
        other.scale = self.scale
        return other

    def _changed(self, family: Rows, renewal: Renewal) -> Cover:
        """The same with other enclosures of some numbers."""
        (was, places, enclose), self.whole = renewal, False
        if len(was) != self.p or (was != np.arange(self.p)).any():
            for key in ("table", "error"):
                self._store[key] = self._store[key][: self.n][:, was]  # of a row that is new, any is enclosed anew
            for key in set(self._store) - {"table", "error"}:
                self._store[key] = self._store[key][: self.n]
            self.p, self.shared = len(was), bool((family.columns == family.columns[0]).all())
        size, step = self.p * (self.width - 1), _at_once(len(places), self.levels)
        inner = places < size
        row = np.where(inner, places // max(self.width - 1, 1), places - size)
        column = np.where(inner, places % max(self.width - 1, 1), self.width - 1)
        for start in range(0, self.n if len(places) else 0, step):
            some = slice(start, min(start + step, self.n))
            found = enclose(self.lower[some], self.upper[some], None, self.order)[0]
            flat, error = self._flat(found)
            self.table[some][:, row, :, column] = flat.transpose(2, 1, 0)
            self.error[some][:, row, column] = error
        self._enclose, self.whole = self._enclosure(family), True
        return self

    def _enclosure(self, family: Rows) -> Enclosure:
        return family.quadratics(self.cell)

    def knows(self, weights: Array) -> bool:
        """Whether bounds say anything for these weights."""
        return True

    def products(self, weights: Array) -> int:
        """About how many multiplications the bounds of a box take."""
        return self.p * self.width * self.levels

    @property
    def _at_once(self) -> int:
        """Boxes that are enclosed in one batch."""
        return _at_once(self.p * self.width, self.levels)

    @property
    def row_bytes(self) -> int:
        """Memory that one box takes, its bounds included."""
        return 8 * self.p + sum(s.itemsize * math.prod(s.shape[1:]) for s in self._store.values())

    @property
    def most(self) -> int:
        """Boxes that fit into memory."""
        return int(TUNING.most_bytes / self.row_bytes)

    def _rows(self, lower: Array, upper: Array, pieces: NDArray[np.int8] | None) -> dict[str, Any]:
        """Enclosures over boxes, laid out as they are kept; boxes with straddling kinks come out in pieces."""
        size = self._at_once
        if len(lower) <= 1.5 * size:
            return self._batch(lower, upper, pieces)
        batches = []
        for part in (slice(i, i + size) for i in range(0, len(lower), size)):
            check("branch-and-bound")
            batches.append(self._batch(lower[part], upper[part], None if pieces is None else pieces[part]))
        return {key: np.concatenate([batch[key] for batch in batches]) for key in batches[0]}

    def _batch(self, lower: Array, upper: Array, pieces: NDArray[np.int8] | None) -> dict[str, Any]:
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
                return self._rows(*(np.concatenate(part) for part in zip(*halves, strict=True)))
        if pieces is not None:
            quadratic = self._rather_whole(quadratic, lower, upper, pieces)
        rows = self._layout(quadratic)
        rows |= {"lower": lower, "upper": upper}
        return rows if sides is None else self._cut_off(rows, sides, pieces, straddles)

    def _cut_off(
        self, rows: dict[str, Any], sides: Quadratic, pieces: NDArray[np.int8] | None, straddles: Bools | None
    ) -> dict[str, Any]:
        """Boxes with what is >= 0 on the part of them that counts, but for those of which nothing counts."""
        rows |= self._sides(sides, pieces, straddles)
        possible = rows.pop("possible")
        return {key: value[possible] for key, value in rows.items()}

    def _rather_whole(self, quadratic: Quadratic, lower: Array, upper: Array, pieces: NDArray[np.int8]) -> Quadratic:
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
            return self._rounded(table, error, rough)
        flat, doubt = self._flat(quadratic)
        table, error = np.empty((n, p, self.levels, width)), np.empty((n, p, width))
        size = p * (width - 1)
        table[..., :-1] = flat[..., :size].reshape(self.levels, n, p, width - 1).transpose(1, 2, 0, 3)
        table[..., -1] = flat[..., size:].transpose(1, 2, 0)
        error[..., :-1] = doubt[:, :size].reshape(n, p, width - 1)
        error[..., -1] = doubt[:, size:]
        return self._rounded(table, error, rough)

    def _rounded(self, table: Array, error: Array, rough: Array) -> dict[str, Any]:
        """All that as it is kept; what single precision takes from second derivatives is error."""
        if not self.single:
            return {"rough": rough, "table": table, "error": error}
        bend, first = table[:, :, 1 + self.dim :], table[:, :, : 1 + self.dim]
        with np.errstate(all="ignore"):
            if self._units is None:
                sizes = np.concatenate([np.abs(bend).max(axis=2), error])
                most = np.where(np.isfinite(sizes), sizes, 0.0).max(axis=0, initial=0.0)
                exponent = np.clip(np.round(np.log2(np.where(most > 0, most, 1.0))), -900.0, 900.0)
                self._units = np.asarray(2.0**exponent, dtype=float)
            units = self._units
            kept = np.clip(bend / units[:, None], SINGLE.min, SINGLE.max).astype(np.float32)
            lost = np.abs(bend - kept * units[:, None]).sum(axis=2)
            doubt = (error + lost) * (1 + (self.levels + self.width + 8) * EPS) / units
            above = np.nextafter(doubt.astype(np.float32), np.float32(np.inf))
            return {"rough": rough.astype(np.float32), "table": first, "bend": kept, "error": above}

    def _errors(self, rows: slice | NDArray[np.intp]) -> Array:
        """Errors (N, p, K + 1) of boxes, in doubles."""
        error = self.error[rows]
        return error if self._units is None else error * self._units

    def _bends(self, rows: slice | NDArray[np.intp]) -> Array:
        """Second derivatives (N, p, levels, K + 1) of boxes, in doubles."""
        if self._units is None:
            return self.table[rows][:, :, 1 + self.dim : self.quadratic]
        return np.asarray(self.bend[rows] * self._units[:, None])

    def _flat(self, quadratic: Quadratic) -> tuple[Array, Array]:
        """The same as they come: coefficients (levels, N, numbers) and errors (N, numbers)."""
        flat = np.concatenate(_levels(quadratic))
        return flat, quadratic.error * (1 + self._rounding) + self._rounding * np.abs(flat).sum(axis=0)

    @property
    def _rounding(self) -> float:
        """Of a product with (x, -1): half a unit in the last place an operation."""
        return 0.5 * (self.width + 4) * EPS

    def _sides(self, sides: Quadratic, pieces: NDArray[np.int8] | None, straddles: Bools | None) -> dict[str, Any]:
        """Functions >= 0 on the part of a box that counts: (N, sides, levels), their errors, and which matter.

        The argument of a kink that straddles zero no more has the sign that it has at the centre, whatever its
        expansion leaves open: the other piece is empty.
        """
        flat = np.moveaxis(np.concatenate([sides.value[None], sides.gradient, sides.hessian]), 0, 2).copy()
        error = sides.error.copy()
        if self.order == 3:
            error += np.einsum("l,lns->ns", cubic_weights(self.dim), np.abs(sides.third)) * (1 + 64 * EPS)
        matters = np.ones(error.shape, dtype=bool)
        if pieces is not None:
            k = self.kinks
            flat[:, :k] *= pieces[:, :, None]
            matters[:, :k] = pieces != 0
        weight = np.concatenate([np.ones(self.dim), quadratic_weights(self.dim)])
        swing = np.abs(flat[..., 1:]) @ weight * (1 + 64 * EPS) + error
        possible = ~((flat[..., 0] + swing < 0) & matters).any(1)
        if straddles is not None:
            k = self.kinks
            possible &= ~((flat[:, :k, 0] + error[:, :k] < 0) & matters[:, :k] & ~straddles).any(1)
        matters &= (flat[..., 0] - swing < 0) & np.isfinite(swing)
        result = {"side": flat, "side_error": error, "matters": matters, "possible": possible}
        if pieces is not None:
            result["pieces"] = pieces
        return result

    def bounds(
        self, weights: Array, rows: slice | NDArray[np.intp], spread: Array | None = None
    ) -> tuple[Array, Array, Array]:
        """Upper bounds (N, p) of the violation over boxes, the points (N, p, m) behind them, and the model there.

        With a `spread` (p, K + 1) of half-widths, the bounds hold for all weights that differ by no more than that.
        """
        n, p, m = len(self.lower[rows]), self.p, self.dim
        with np.errstate(all="ignore"):
            q, rest = self._models(weights, rows)
            if spread is not None:
                rest = rest + self.swing(rows, spread)
            rest = rest * (1 + 1e-13) + np.tile(LOST * (weights != 0).any(axis=1), n)
            bound, d = bound_rows(q, m)
            bound = bound + rest
            if "side" in self._store:
                self._use_sides(rows, q, rest, bound, d)
        known = np.isfinite(bound)
        bound = np.where(known, bound, np.inf).reshape(n, p)
        d = np.where(known[:, None], d, 0.0)
        model = _evaluate(q, d, m).reshape(n, p)
        centre, radius = (np.repeat(part, p, axis=0) for part in middle(self.lower[rows], self.upper[rows]))
        points = self.chart.points(centre + radius * d)
        return bound, points.reshape(n, p, points.shape[1]), np.where(np.isfinite(model), model, -np.inf)

    def _models(self, weights: Array, rows: slice | NDArray[np.intp]) -> tuple[Array, Array]:
        """Quadratics (N p, numbers) for these weights, and what they are off by, at most, (N p,)."""
        table, error = self.table[rows], self._errors(rows)
        if self.single:
            table = np.concatenate([table, self._bends(rows)], axis=2)
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
        return q, rest

    def proven(self, bounds: Array) -> float:
        """What the violation is at most, given the bounds (N, p) of all boxes."""
        return float(bounds.max(initial=-np.inf))

    def swing(self, rows: slice | NDArray[np.intp], spread: Array) -> Array:
        """How far the violation over boxes may move with weights within `spread`, (N p,): |coefficient| times spread.

        Coefficients are polynomials in d with |d_i| <= 1 up to their errors: no larger than their terms in all.
        """
        m, error = self.dim, self._errors(rows)
        parts = [self.table[rows], self._bends(rows)] if self.single else [self.table[rows]]
        levels = (level for part in parts for level in np.moveaxis(part, 2, 0))
        weight = np.concatenate([np.ones(1 + m), quadratic_weights(m), cubic_weights(m) if self.order == 3 else []])
        swing = np.zeros(error.shape[:2])
        for level, share in zip(levels, weight, strict=True):  # a product a level, so that no copy of a table is made
            swing += share * np.einsum("npk,pk->np", np.abs(level), spread)
        swing += np.einsum("npk,pk->np", error, spread)
        return (swing * (1 + (self.width + self.levels + 8) * EPS)).ravel()

    def _use_sides(self, rows: slice | NDArray[np.intp], q: Array, rest: Array, bound: Array, d: Array) -> None:
        """Improve bounds and points, in place, on boxes where some u >= 0 cuts off a part."""
        m, p = self.dim, len(q) // max(len(self.lower[rows]), 1)
        matters = np.repeat(self.matters[rows], p, axis=0)
        some = np.flatnonzero(matters.any(1))
        if not len(some):
            return
        active = matters[some]
        side = np.where(active[..., None], np.repeat(self.side[rows], p, axis=0)[some], 0.0)
        error = np.where(active, np.repeat(self.side_error[rows], p, axis=0)[some], 0.0)
        multiplier = _cheapest(q[some, 1 : 1 + m], side[..., 0], side[..., 1 : 1 + m])
        rounding = (16 + side.shape[1]) * EPS  # an operation for every side, and a few
        extra = (multiplier * error).sum(1) + rounding * np.einsum("ns,nsl->n", multiplier, np.abs(side))
        relaxed = q[some] + np.einsum("ns,nsl->nl", multiplier, side)
        slope_norm = np.sqrt((side[..., 1 : 1 + m] ** 2).sum(2))
        n = np.arange(len(some))
        strongest = (multiplier * slope_norm).argmax(1)
        main, used = side[n, strongest], multiplier[n, strongest] > 0
        bent, bend_error = _bend(relaxed, main, error[n, strongest], multiplier[n, strongest], m)
        for candidate, more in ((relaxed, extra), (bent, extra + bend_error)):
            better, e = bound_rows(candidate, m)
            better = better + rest[some] + more
            improved = better < bound[some]
            bound[some] = np.where(improved, better, bound[some])
            # The relaxed model is flat across an active side: put the point onto the side itself.
            s = main[:, 1 : 1 + m]
            height = _evaluate(main, e, m) / np.maximum((s * s).sum(1), 1e-300)
            moved = np.clip(e - height[:, None] * s, -1.0, 1.0)
            d[some] = np.where(improved[:, None], np.where(used[:, None], moved, e), d[some])

    def refine(self, rows: NDArray[np.intp], spread: Array) -> NDArray[np.intp]:
        """Split boxes and return the positions of their parts; `spread` (N, m) says along which axes it pays."""
        lower, upper = self.lower[rows], self.upper[rows]
        pieces: Any = self.pieces[rows] if "pieces" in self._store else None
        room = np.log2(max(TUNING.cheap / (self.p * self.width * len(rows)), 1.0))
        least = TUNING.least_halvings[min(self.dim, len(TUNING.least_halvings)) - 1]
        halvings = int(np.clip(room, least, TUNING.most_halvings))
        # Where no part can turn out empty, a few boxes at a time: what is enclosed is put where it stays while it is
        # still in the processor's cache.
        step = len(rows) if "side" in self._store else max(self._at_once >> halvings, 1)
        places = []
        for start in range(0, len(rows), step):
            some = slice(start, start + step)
            parts = lower[some], upper[some], spread[some], None if pieces is None else pieces[some]
            for _ in range(halvings):
                parts = _halve(*parts)
            places.append(self._replace(rows[some], self._rows(parts[0], parts[1], parts[3])))
        return np.concatenate(places)

    def _replace(self, rows: NDArray[np.intp], new: dict[str, Any]) -> NDArray[np.intp]:
        """Put parts in the places of the boxes `rows`, and return where they are."""
        self.whole = False  # until the last of the arrays is written
        count = len(new["lower"])
        first = min(len(rows), count)
        total = self.n - (len(rows) - first) + (count - first)
        # Room for twice as many, or for all that there may be: both copies are in memory for a moment, and what is not
        # written to is in none.
        room = 2 * total if 4 * total <= self.most else max(self.most, total)
        # Children take their parents' places; the rest go to the end, and places left empty are filled from the end.
        for key, value in new.items():
            store = self._store[key]
            if len(store) < total:
                grown = np.empty((room, *store.shape[1:]), dtype=store.dtype)
                grown[: self.n] = store[: self.n]
                self._store[key] = store = grown
            store[rows[:first]] = value[:first]
            if count > first:
                store[self.n : total] = value[first:]
            elif first < len(rows):
                keep = np.ones(self.n, dtype=bool)
                keep[rows[first:]] = False
                store[: int(keep.sum())] = store[: self.n][keep]
        if first < len(rows):
            keep = np.ones(self.n, dtype=bool)
            keep[rows[first:]] = False
            places = (np.cumsum(keep) - 1)[rows[:first]]
        else:
            places = np.concatenate([rows[:first], np.arange(self.n, total)])
        self.n = total
        self.whole = True
        return places

    def influence(self, weights: Array, rows: NDArray[np.intp]) -> Array:
        """How much the violation varies along each axis of a box, (N, m): where splitting pays."""
        if self.dim == 1:
            return np.ones((len(rows), 1))
        width = (self.upper[rows] - self.lower[rows]) / self.scale
        varies = self._variation(weights, rows)
        result = shares(np.where(np.isfinite(varies), varies, 0.0)) + 0.25 * shares(width)
        return result + shares(self._kinked(rows)) if self.kinks else result

    def _variation(self, weights: Array, rows: NDArray[np.intp]) -> Array:
        """How much what a bound leaves open varies along each axis of a box, (N, m)."""
        m, size = self.dim, np.abs(weights)
        i, j = triangle(m)
        with np.errstate(all="ignore"):
            part = np.einsum("nplk,pk->nl", np.abs(self._bends(rows)), size)
            linear = np.einsum("nplk,pk->nl", self.table[rows][:, :, 1 : 1 + m], weights)
        result = 1e-3 * np.abs(linear) + self.rough[rows]
        for k, (a, b) in enumerate(zip(i, j, strict=True)):
            result[:, a] += part[:, k]
            if a != b:
                result[:, b] += part[:, k]
        return np.asarray(result)

    def _kinked(self, rows: NDArray[np.intp]) -> Array:
        """How much the arguments of kinks that are open on a box vary along each axis, (N, m).

        On which side of a kink a part lies may be up to an axis along which the violation itself does not vary at all.
        """
        m, k = self.dim, self.kinks
        i, j = triangle(m)
        side = np.where(self.matters[rows][:, :k, None], np.abs(self.side[rows][:, :k]), 0.0).sum(axis=1)
        varies = side[:, 1 : 1 + m].copy()
        for level, (a, b) in enumerate(zip(i, j, strict=True), start=1 + m):
            varies[:, a] += side[:, level]
            if a != b:
                varies[:, b] += side[:, level]
        return np.where(np.isfinite(varies), varies, 0.0)

    def splittable(self, rows: NDArray[np.intp]) -> Bools:
        """Whether a box still has two floats worth telling apart."""
        found = np.empty(len(rows), dtype=bool)
        for start in range(0, len(rows), EFFORT.batch // 8):  # copies of all ends of very many boxes would not be small
            lower, upper = (ends[rows[start : start + EFFORT.batch // 8]] for ends in (self.lower, self.upper))
            wide: Bools = upper - lower > 8 * EPS * np.maximum(np.abs(lower), np.abs(upper)) + 1e-300
            found[start : start + len(wide)] = wide.any(axis=1)
        return found


def _levels(quadratic: Quadratic) -> list[Array]:
    """Coefficients of all levels, the constant ones first."""
    return [quadratic.value[None], quadratic.gradient, quadratic.hessian, quadratic.third]


def _at_once(numbers: int, levels: int) -> int:
    """Boxes, with so many numbers each, that are enclosed in one batch."""
    return max((EFFORT.batch // levels if in_use() else EFFORT.cached) // max(numbers, 1), 1)


def shares(sizes: Array) -> Array:
    """Rows (N, m) relative to their largest entries."""
    return sizes / np.maximum(sizes.max(1, keepdims=True), 1e-300)


def _balance(gradient: Array, slopes: Array) -> Array:
    """Multipliers >= 0 (M, sides) that leave the least of `gradient` + multipliers . `slopes`: coordinate descent."""
    norms = (slopes**2).sum(2)
    inverse = np.where(norms > 0, 1.0 / np.where(norms > 0, norms, 1.0), 0.0)
    multiplier = np.zeros(norms.shape)
    gradient = gradient.copy()
    for _ in range(1 if norms.shape[1] == 1 else 24):
        change = 0.0
        for k in range(norms.shape[1]):
            step = -(gradient * slopes[:, k]).sum(1) * inverse[:, k]
            new = np.maximum(multiplier[:, k] + step, 0.0)
            delta = new - multiplier[:, k]
            gradient += delta[:, None] * slopes[:, k]
            multiplier[:, k] = new
            change = max(change, float(np.abs(delta).max()))
        if change < 1e-14:
            break
    return multiplier


def _cheapest(gradient: Array, height: Array, slopes: Array) -> Array:
    """Multipliers >= 0 (M, sides) with the least bound of the linear parts over the box, or nearly.

    A maximum may lie where a side meets one of the box. There, what is left of the gradient need not be small: its
    part across the side of the box may stay, since the box ends there. That is a linear program in the multipliers:
    coordinate descent, then the two largest at once, since two sides may meet there too.
    """
    found = _balance(gradient, slopes)
    if slopes.shape[2] == 1:
        return found
    n = np.arange(len(found))
    single = _descended(gradient, height, slopes)
    tried = [found, single]
    if slopes.shape[1] > 1:
        tried += _in_pairs(gradient, slopes, np.argsort(-found * np.abs(slopes).sum(axis=2), axis=1)[:, :2])
    every = np.stack(tried)  # (T, M, sides)
    cost = (every * height).sum(axis=2) + np.abs(gradient + np.einsum("tns,nsm->tnm", every, slopes)).sum(axis=2)
    best: Array = every[np.where(np.isfinite(cost), cost, np.inf).argmin(axis=0), n]
    return best


def _descended(gradient: Array, height: Array, slopes: Array) -> Array:
    """One multiplier after the other, each the best for the others as they are."""
    sides = slopes.shape[1]
    multiplier = np.zeros(height.shape)
    for k in list(range(sides)) * (1 if sides == 1 else 3):
        s = slopes[:, k]
        base = gradient - multiplier[:, k, None] * s
        steep = s != 0
        turns = np.where(steep, -base / np.where(steep, s, 1.0), 0.0)
        tried = np.maximum(np.concatenate([np.zeros((len(s), 1)), turns], axis=1), 0.0)  # (M, m + 1)
        cost = tried * height[:, k, None] + np.abs(base[:, None] + tried[..., None] * s[:, None]).sum(axis=2)
        multiplier[:, k] = tried[np.arange(len(s)), cost.argmin(axis=1)]
        gradient = base + multiplier[:, k, None] * s
    return multiplier


def _in_pairs(gradient: Array, slopes: Array, pair: NDArray[np.intp]) -> list[Array]:
    """Multipliers of two sides (M, 2) for which the gradient vanishes along two axes, for every two axes."""
    n, found = np.arange(len(pair)), []
    first, second = slopes[n, pair[:, 0]], slopes[n, pair[:, 1]]  # (M, m)
    for i, j in combinations(range(gradient.shape[1]), 2):
        determinant = first[:, i] * second[:, j] - first[:, j] * second[:, i]
        inverse = np.where(determinant != 0, -1.0 / np.where(determinant != 0, determinant, 1.0), 0.0)
        one = (gradient[:, i] * second[:, j] - gradient[:, j] * second[:, i]) * inverse
        other = (first[:, i] * gradient[:, j] - first[:, j] * gradient[:, i]) * inverse
        tried = np.zeros(slopes.shape[:2])
        tried[n, pair[:, 0]], tried[n, pair[:, 1]] = np.maximum(one, 0.0), np.maximum(other, 0.0)
        found.append(tried)
    return found


def _bend(q: Array, side: Array, side_error: Array, multiplier: Array, m: int) -> tuple[Array, Array]:
    """Let the multiplier of one side vary linearly over the box, so that curvature across the side cancels too.

    With u = u0 + s . d + d' U d / 2 >= 0, adding (w . d) u to the model is allowed while multiplier >= sum |w_i|. The
    vector w that makes H + w s' + s w' vanish along s leaves an error of third order; without it, a maximum on a
    curved boundary is only known to second order.
    """
    i, j = triangle(m)
    h = np.empty((len(q), m, m))
    h[:, i, j] = h[:, j, i] = q[:, 1 + m :]
    s = side[:, 1 : 1 + m]
    norm = np.maximum((s * s).sum(1), 1e-300)[:, None]
    hs = np.einsum("nij,nj->ni", h, s)
    w = -hs / norm + ((s * hs).sum(1)[:, None] / (2 * norm**2)) * s
    # Only convexity across the side needs to go; concavity helps.
    w = np.where(((s * hs).sum(1) > 0)[:, None], w, 0.0)
    total = np.abs(w).sum(1)
    w *= np.minimum(1.0, multiplier * (1 - 1e-9) / np.maximum(total, 1e-300))[:, None]
    total = np.abs(w).sum(1)
    bent = q.copy()
    bent[:, 1 : 1 + m] += side[:, :1] * w
    bent[:, 1 + m :] += w[:, i] * s[:, j] + s[:, i] * w[:, j]
    # Where the side passes beside the centre, that tilted the model: balance it again.
    shift = np.maximum(-side[:, 0] * (w * s).sum(1) / norm[:, 0], total - multiplier)
    bent += shift[:, None] * side
    moved = total + np.abs(shift)
    error = (total * (np.abs(side[:, 1 + m :]) @ quadratic_weights(m)) + moved * side_error) * (1 + 1e-12)
    return bent, error + 32 * EPS * moved * np.abs(side).sum(1)


def _evaluate(q: Array, d: Array, m: int) -> Array:
    """Quadratics (M, levels) at points (M, m)."""
    i, j = triangle(m)
    weight = quadratic_weights(m)
    return q[:, 0] + (q[:, 1 : 1 + m] * d).sum(1) + (q[:, 1 + m :] * (weight * d[:, i] * d[:, j])).sum(1)


def _halve(
    lower: Array, upper: Array, spread: Array, pieces: NDArray[np.int8] | None
) -> tuple[Array, Array, Array, NDArray[np.int8] | None]:
    """Cut every box in two along the axis with the largest spread."""
    axis = np.where(upper > lower, spread, -1.0).argmax(1)
    n = np.arange(len(lower))
    cut = 0.5 * lower[n, axis] + 0.5 * upper[n, axis]
    left, right = upper.copy(), lower.copy()
    left[n, axis] = cut
    right[n, axis] = cut
    half = spread.copy()
    half[n, axis] *= 0.5
    double = None if pieces is None else np.concatenate([pieces, pieces])
    return np.concatenate([lower, right]), np.concatenate([left, upper]), np.concatenate([half, half]), double


def first_work(family: Rows, cell: Cell) -> int:
    """Numbers that the first boxes of a cell take for every coefficient of a family: what a first look costs."""
    m = cell.lower.shape[1]
    p, k = family.columns.shape
    boxes = len(cell.lower) if _cut_already(cell) else math.prod(_first_cuts(cell, TUNING.cheap / (p * (k + 1))))
    return boxes * (1 + m + len(triangle(m)[0]))


def _cut_already(cell: Cell) -> bool:
    """Whether a cell consists of boxes, or of one that cannot be cut."""
    return len(cell.lower) > 1 or bool((cell.lower == cell.upper).all())


def _first_cuts(cell: Cell, cheap: float) -> list[int]:
    """Into how many parts a cell that is one box is cut along each axis: about as many in all as are cheap."""
    width = cell.upper[0] - cell.lower[0]
    m, wide = len(width), int((width > 0).sum())
    limits = TUNING.first_boxes[min(m, len(TUNING.first_boxes)) - 1]
    count = int(np.clip(cheap ** (1.0 / m), *limits))
    # Where every axis cut once makes more boxes, only the widest are cut.
    axes = min(wide, int(math.log2(512) / math.log2(count)))
    cut = np.argsort(-width, kind="stable")[:axes]
    return [count if k in cut else 1 for k in range(m)]


def _first_boxes(cell: Cell, cheap: float) -> tuple[Array, Array]:
    """A cell that is one box is cut along each axis, into about as many as are cheap."""
    if _cut_already(cell):
        return cell.lower.astype(float), cell.upper.astype(float)
    edges = []
    for k, count in enumerate(_first_cuts(cell, cheap)):
        cuts = np.linspace(cell.lower[0, k], cell.upper[0, k], count + 1)
        edges.append((cuts[:-1], cuts[1:]))
    lower = np.stack([g.ravel() for g in np.meshgrid(*(e[0] for e in edges), indexing="ij")], axis=1)
    upper = np.stack([g.ravel() for g in np.meshgrid(*(e[1] for e in edges), indexing="ij")], axis=1)
    return lower, upper
