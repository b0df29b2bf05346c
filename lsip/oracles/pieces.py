"""Sums of maxima and absolute values of what is affine in the index: branching on which piece is the largest.

Over y in Y, such a row is b(y) + sum over k of max over j of r_kj(y), all affine. Where one piece of each maximum is
chosen, the supremum over y is a support function of Y, and the largest of these over all choices is that of the row. A
box stands for the choices that are still open: over the set C of open pieces of a maximum, with shares t,

    max over j of r_j  <=  sum over i of t_i r_i  +  max over j of sum over i of t_i sup over Y of (r_j - r_i),

which for two pieces is the secant of their maximum over the range of their difference (a concave envelope; McCormick,
1976). What is left is affine in y again, so no coordinate of the index is ever split.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..deadline import EFFORT
from ..domains import Cell, Domain
from ..domains.proven import LOST
from ..expressions.directions import Choices
from ..expressions.interval import EPS
from .base import Array, Directed, Ints, Pieces, Rows, capable
from .bounder import Bounder, BoxBounds, BoxView

Mask = NDArray[np.bool_]


class AffinePieces(Bounder):
    """Boxes of choices, one coordinate for every piece, after that of the row that a box is about.

    A piece is open over [0, 1], chosen at 1, and left out at 0; where one is chosen, all others of its maximum are left
    out. Boxes between such choices are rounded to those that they contain, and vanish where there is none.
    """

    peaks = True

    def __init__(self, directed: Directed, domain: Domain) -> None:
        self.directed, self.domain = directed, domain
        self.rows = directed.worst.choices or ()
        width = 1 + max(sum(row.counts) for row in self.rows)
        super().__init__(directed.entries, Cell(*_first(len(self.rows), width), None))
        self._last: tuple[bytes, list[PiecewiseRow]] = (b"", [])

    @staticmethod
    def of(directed: Directed, domain: Domain) -> AffinePieces | None:
        """None where pieces are not affine in the index or infinitely many, or the index set has no support."""
        if directed.entries.linear is None or directed.worst.choices is None:
            return None
        return None if domain.support(np.zeros((1, domain.dim))) is None else AffinePieces(directed, domain)

    @property
    def leaves(self) -> float:
        """Into how many choices a row can be split."""
        return max(float(np.prod(row.counts)) for row in self.rows)

    def other(self, family: Rows) -> AffinePieces:
        """The same for other rows."""
        directed = capable(family)
        assert isinstance(directed, Directed)
        return AffinePieces(directed, self.domain)

    def changed(self, columns: dict[str, Any], n: int, family: Rows, before: Hashable) -> Bounder:
        """Choices are the same for all data."""
        return self.other(family)

    @property
    def at_once(self) -> int:
        """Boxes of choices are small."""
        return EFFORT.unwatched

    def enclose(self, lower: Array, upper: Array, pieces: Pieces) -> dict[str, Any]:
        """Boxes as the choices in them."""
        least, most = np.zeros_like(lower), np.zeros_like(upper)
        some = np.ones(len(lower), dtype=bool)
        least[:, 0] = most[:, 0] = lower[:, 0]
        for i, row in enumerate(self.rows):
            mine = np.flatnonzero(lower[:, 0] == i) if len(self.rows) > 1 else slice(None)
            used = slice(1, 1 + sum(row.counts))
            if row.counts:
                least[mine, used], most[mine, used], some[mine] = _snapped(
                    lower[mine, used], upper[mine, used], row.counts
                )
        least, most = least[some], most[some]
        return {"lower": least, "upper": most, "rough": np.zeros_like(least), "pays": np.zeros_like(least)}

    def bound(self, boxes: BoxView, weights: Array, spread: Array | None) -> BoxBounds:
        """Bounds (N, 1) of the row that each box is about."""
        known, of = self._affine(weights, spread), boxes["lower"][:, 0].astype(np.intp)
        dim = self.domain.dim + self.directed.worst.index.domain.dim
        bound, model, points = np.empty(len(of)), np.empty(len(of)), np.empty((len(of), dim))
        pays = boxes["pays"].copy()
        for i in np.unique(of):
            mine, row = np.flatnonzero(of == i), known[i]
            count = len(row.constant)
            bound[mine], y, pays[mine, 1 : 1 + count] = row.bound(boxes["upper"][mine, 1 : 1 + count] > 0)
            entries = row.entries(y)
            directions = self.directed.worst.worst(entries)[:, i]
            model[mine] = self.directed.worst.value(entries)[:, i]
            points[mine] = np.concatenate([y, directions], axis=1)
        boxes["pays"] = pays
        return BoxBounds(bound[:, None], points[:, None, :], model[:, None], of[:, None])

    def _affine(self, weights: Array, spread: Array | None) -> list[PiecewiseRow]:
        """The rows for these weights; those for the last ones are kept."""
        key = weights.tobytes() + (b"" if spread is None else spread.tobytes())
        if self._last[0] != key:
            self._last = key, piecewise_rows(self.directed, self.domain, self.rows, weights, spread)
        return self._last[1]


class PiecewiseRow:
    """A row for given weights: an affine part and pieces, up to a doubt, with how far pieces differ over Y."""

    def __init__(self, domain: Domain, row: Choices, parts: tuple[Array, Array], doubt: float, reach: Array) -> None:
        """Entries are parts[0] + parts[1] · y; the row is known up to `doubt` where no |y| exceeds `reach`."""
        value, slope = parts
        self.domain, self.parts, self.slots, self.reach = domain, parts, row.slots, reach
        none = [np.zeros(0)], [np.zeros((0, domain.dim))]
        each = list(zip(row.entries, row.tables, strict=True))
        self.base, self.base_slope = value[row.base], slope[row.base]
        self.constant = np.concatenate([t @ value[e] for e, t in each] or none[0])  # of all pieces
        self.slope = np.concatenate([t @ slope[e] for e, t in each] or none[1])
        # Sizes of all that is added up: what rounding takes from any sum of them is a share of that.
        total = np.abs(value[row.base]) + np.abs(slope[row.base]) @ reach
        for e, t in each:
            total += (np.abs(t) @ (np.abs(value[e]) + np.abs(slope[e]) @ reach)).max()
        operations = 8 * (len(self.constant) + sum(t.shape[1] for _, t in each) + domain.dim + 8)
        self.doubt = (doubt + operations * (EPS * total + LOST * (1 + reach.sum()))) * (1 + 64 * EPS)
        self.apart = [self._apart(slot) for slot in self.slots]

    def _apart(self, slot: slice) -> Array:
        """sup over Y of r_j - r_i, at most, (R, R)."""
        constant, slope = self.constant[slot], self.slope[slot]
        count = len(constant)
        d = (slope[:, None] - slope[None, :]).reshape(count * count, -1)
        gap = (constant[:, None] - constant[None, :]) + self._top(d)[1].reshape(count, count)
        np.fill_diagonal(gap, 0.0)
        return gap

    def _top(self, d: Array) -> tuple[Array, Array]:
        """Points of Y where d · y is largest, and upper bounds."""
        found = self.domain.support(d)
        assert found is not None
        return found[0], np.where((d != 0).any(axis=1), found[1], 0.0)

    def bound(self, possible: Mask) -> tuple[Array, Array, Array]:
        """Bounds (N,) where these pieces are open (N, R), points y (N, m) behind them, and where splitting pays."""
        share, left = np.zeros(possible.shape), np.zeros((len(possible), len(self.slots)))
        pairs = [k for k, slot in enumerate(self.slots) if slot.stop - slot.start == 2]
        if pairs:
            places = np.array([[self.slots[k].start, self.slots[k].start + 1] for k in pairs])
            apart = np.array([self.apart[k] for k in pairs])
            share[:, places], left[:, pairs] = _secants(apart, possible[:, places])
        for k in set(range(len(self.slots))).difference(pairs):
            share[:, self.slots[k]], left[:, k] = _shares(self.apart[k], possible[:, self.slots[k]])
        d = self.base_slope + share @ self.slope
        y, top = self._top(d)
        constant = self.base + share @ self.constant + left.sum(axis=1)
        values = np.where(possible, self.constant + y @ self.slope.T, -np.inf)
        lost = 8 * (possible.shape[1] + d.shape[1] + 8) * EPS * (np.abs(constant) + np.abs(left).sum(axis=1))
        bound = constant + top + self.doubt + lost
        return np.where(np.isnan(bound), np.inf, bound), y, self._pays(possible, share, left, values)

    def _pays(self, possible: Mask, share: Array, left: Array, values: Array) -> Array:
        """How much what a bound leaves open may gain by choosing the piece that is largest at its point, (N, R)."""
        pays = np.zeros(possible.shape)
        if not self.slots:
            return pays
        start, counts = [slot.start for slot in self.slots], [slot.stop - slot.start for slot in self.slots]
        largest = np.maximum.reduceat(values, start, axis=1)
        mean = np.add.reduceat(share * np.where(possible, values, 0.0), start, axis=1)
        gain = np.maximum(left + mean - largest, 0.0)
        open_ = np.add.reduceat(possible, start, axis=1, dtype=np.intp) > 1
        best = possible & (values == np.repeat(largest, counts, axis=1))
        pays[best] = np.repeat(gain + LOST, counts, axis=1)[best]
        return np.where(np.repeat(open_, counts, axis=1), pays, 0.0)

    def entries(self, y: Array) -> Array:
        """All entries (N, P) at points."""
        return self.parts[0] + y @ self.parts[1].T


def piecewise_rows(
    family: Directed, domain: Domain, rows: Sequence[Choices], weights: Array, spread: Array | None
) -> list[PiecewiseRow]:
    """All rows of a family for weights (p, K + 1), and all others within their spread."""
    form = family.entries.linear
    assert form is not None
    value, value_doubt, slope, slope_doubt = form.weighted(family.of_entries(weights))
    reach = np.maximum(np.abs(domain.lower), np.abs(domain.upper)) * (1 + 4 * EPS)
    reach = reach + 1e-6 * (domain.upper - domain.lower).max()  # a bounding box may be rounded
    doubt = (value_doubt + slope_doubt @ reach) * (1 + (domain.dim + 4) * EPS)
    if spread is not None:
        doubt = doubt + form.swing(reach, family.of_entries(spread))
    moved = family.worst.swing(doubt)
    return [PiecewiseRow(domain, row, (value, slope), float(moved[i]), reach) for i, row in enumerate(rows)]


def _shares(apart: Array, possible: Mask) -> tuple[Array, Array]:
    """Shares (N, R) of open pieces, and how far a maximum may exceed their sum, (N,)."""
    code = np.packbits(possible, axis=1)
    key = np.ascontiguousarray(code).view(np.dtype((np.void, code.shape[1]))).ravel()
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    sets = possible[first]
    share = np.array([_mixture(apart, np.flatnonzero(some)) for some in sets])
    over = np.where(sets, share @ apart.T, -np.inf).max(axis=1)
    return share[inverse], over[inverse]


def _secants(apart: Array, possible: Mask) -> tuple[Array, Array]:
    """The same for many maxima of two pieces, (N, A, 2), at once."""
    ends = apart[:, [0, 1], [1, 0]]  # how far the first exceeds the second, and the second the first
    inside = np.asarray((ends > 0).all(axis=1))
    total = np.where(inside, ends.sum(axis=1), 1.0)
    split = np.where(inside[:, None], ends / total[:, None], (ends >= ends.max(axis=1, keepdims=True)).astype(float))
    split[np.flatnonzero(~inside & (ends[:, 0] == ends[:, 1]))] = [1.0, 0.0]
    share = np.where(possible.all(axis=2, keepdims=True), split, possible)
    over = np.where(possible, share[..., ::-1] * ends, -np.inf).max(axis=2)
    return share, over


def _mixture(apart: Array, some: Ints) -> Array:
    """Shares of some pieces for which the largest of sum over i of t_i apart[j, i] is small."""
    share = np.zeros(len(apart))
    game = apart[np.ix_(some, some)]
    if len(some) == 2 and game[0, 1] > 0 and game[1, 0] > 0:
        share[some] = np.array([game[0, 1], game[1, 0]]) / (game[0, 1] + game[1, 0])
        return share
    # Fictitious play: again and again the piece that is least exceeded by those that exceed the mixture most.
    count, best = np.zeros(len(some)), np.inf
    over = np.zeros(len(some))
    for _ in range(8 * len(some)):
        count[game[over.argmax()].argmin() if count.any() else game.max(axis=0).argmin()] += 1
        over = game @ count
        if over.max() / count.sum() < best:
            best = over.max() / count.sum()
            share[some] = count / count.sum()
    return share


def _snapped(lower: Array, upper: Array, counts: Sequence[int]) -> tuple[Array, Array, Mask]:
    """The choices in boxes (N, R) of maxima with so many pieces each, and whether there are any."""
    start = np.cumsum([0, *counts[:-1]])
    chosen, possible = lower > 0, upper >= 1
    chosen_here = np.add.reduceat(chosen, start, axis=1, dtype=np.intp)
    possible &= chosen | (np.repeat(chosen_here, counts, axis=1) == 0)
    left = np.add.reduceat(possible, start, axis=1, dtype=np.intp)
    alone = possible & (np.repeat(left, counts, axis=1) == 1)
    clear = np.concatenate([(chosen_here <= 1) & (left >= 1), ~(chosen & (upper < 1))], axis=1)
    some: Mask = np.asarray(clear.all(axis=1))
    return alone.astype(float), possible.astype(float), some


def _first(rows: int, width: int) -> tuple[Array, Array]:
    lower, upper = np.zeros((rows, width)), np.ones((rows, width))
    lower[:, 0] = upper[:, 0] = np.arange(rows)
    return lower, upper
