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

from ..domains import Cell, Domain
from ..domains.proven import LOST
from ..expressions.directions import Choices
from ..expressions.interval import EPS
from .base import Array, Directed, Ints, Pieces, Rows
from .bounder import Bounder, BoxBounds, BoxView


class AffinePieces(Bounder):
    """Boxes of choices, one coordinate for every piece, after that of the row that a box is about.

    A piece is open over [0, 1], chosen at 1, and left out at 0; where one is chosen, all others of its maximum are left
    out. Boxes between such choices are rounded to those that they contain, and vanish where there is none.
    """

    def __init__(self, family: Rows, domain: Domain) -> None:
        assert isinstance(family, Directed)
        self.directed, self.domain = family, domain
        self.rows = family.worst.choices or ()
        width = 1 + max(row.slots[-1].stop if row.tables else 0 for row in self.rows)
        super().__init__(family.entries, Cell(*_first(len(self.rows), width), None))
        self._last: tuple[bytes, list[AffineRow]] = (b"", [])

    @staticmethod
    def suits(family: Rows, domain: Domain) -> bool:
        """Whether all pieces are affine in the index, and finitely many."""
        if not isinstance(family, Directed) or family.entries.linear is None:
            return False
        return family.worst.choices is not None and domain.support(np.zeros((1, domain.dim))) is not None

    def first_boxes(self) -> tuple[Array, Array]:
        """One for every row, with all choices open."""
        return self.cell.lower, self.cell.upper

    def other(self, family: Rows) -> AffinePieces:
        """The same for other rows."""
        return AffinePieces(family, self.domain)

    def changed(self, columns: dict[str, Any], n: int, family: Rows, before: Hashable) -> Bounder:
        """Choices are the same for all data."""
        return self.other(family)

    def enclose(self, lower: Array, upper: Array, pieces: Pieces) -> dict[str, Any]:
        """Boxes as the choices in them."""
        lower, upper = lower.copy(), upper.copy()
        some, count = np.ones(len(lower), dtype=bool), lower.shape[1]
        for i, row in enumerate(self.rows):
            mine = np.flatnonzero(lower[:, 0] == i)
            if not len(mine):
                continue
            used = row.slots[-1].stop if row.slots else 0
            lower[np.ix_(mine, np.arange(1 + used, count))] = upper[np.ix_(mine, np.arange(1 + used, count))] = 0.0
            for slot in row.slots:
                places = np.ix_(mine, np.arange(1 + slot.start, 1 + slot.stop))
                low, high, possible = _snapped(lower[places], upper[places])
                lower[places], upper[places] = low, high
                some[mine] &= possible
        lower, upper = lower[some], upper[some]
        return {"lower": lower, "upper": upper, "rough": np.zeros_like(lower), "pays": np.zeros_like(lower)}

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

    def _affine(self, weights: Array, spread: Array | None) -> list[AffineRow]:
        """The rows for these weights; those for the last ones are kept."""
        key = weights.tobytes() + (b"" if spread is None else spread.tobytes())
        if self._last[0] != key:
            self._last = key, affine_rows(self.directed, self.domain, self.rows, weights, spread)
        return self._last[1]


class AffineRow:
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

    def bound(self, possible: Array) -> tuple[Array, Array, Array]:
        """Bounds (N,) where these pieces are open (N, R), points y (N, m) behind them, and where splitting pays."""
        share, left = np.zeros(possible.shape), np.zeros((len(possible), len(self.slots)))
        for k, slot in enumerate(self.slots):
            share[:, slot], left[:, k] = _shares(self.apart[k], possible[:, slot])
        d = self.base_slope + share @ self.slope
        y, top = self._top(d)
        constant = self.base + share @ self.constant + left.sum(axis=1)
        values = np.where(possible, self.constant + y @ self.slope.T, -np.inf)
        pays = np.zeros(possible.shape)
        for k, slot in enumerate(self.slots):
            best = values[:, slot].argmax(axis=1)
            over = left[:, k] + (share[:, slot] * np.where(possible[:, slot], values[:, slot], 0.0)).sum(axis=1)
            pays[np.arange(len(y)), slot.start + best] = np.maximum(over - values[:, slot].max(axis=1), 0.0)
        lost = 8 * (possible.shape[1] + d.shape[1] + 8) * EPS * (np.abs(constant) + np.abs(left).sum(axis=1))
        bound = constant + top + self.doubt + lost
        return np.where(np.isnan(bound), np.inf, bound), y, pays + LOST * (possible.sum(axis=1) > len(self.slots))[:, None]

    def entries(self, y: Array) -> Array:
        """All entries (N, P) at points."""
        return self.parts[0] + y @ self.parts[1].T


def affine_rows(
    family: Directed, domain: Domain, rows: Sequence[Choices], weights: Array, spread: Array | None
) -> list[AffineRow]:
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
    return [AffineRow(domain, row, (value, slope), float(moved[i]), reach) for i, row in enumerate(rows)]


def _shares(apart: Array, possible: Array) -> tuple[Array, Array]:
    """Shares (N, R) of open pieces, and how far a maximum may exceed their sum, (N,)."""
    sets, inverse = np.unique(possible, axis=0, return_inverse=True)
    share = np.array([_mixture(apart, np.flatnonzero(some)) for some in sets])
    over = np.where(sets, share @ apart.T, -np.inf).max(axis=1)
    return share[inverse.ravel()], over[inverse.ravel()]


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


def _snapped(lower: Array, upper: Array) -> tuple[Array, Array, Array]:
    """Boxes of the choices of one maximum, and whether there is any in them."""
    chosen, possible = lower > 0, upper >= 1
    impossible = (chosen & ~possible).any(axis=1) | ((lower > 0) & (upper < 1)).any(axis=1)
    impossible |= (lower > 0).sum(axis=1) > 1
    possible &= chosen | ~chosen.any(axis=1, keepdims=True)
    impossible |= ~possible.any(axis=1)
    alone = possible & (possible.sum(axis=1, keepdims=True) == 1)
    return alone.astype(float), possible.astype(float), ~impossible


def _first(rows: int, width: int) -> tuple[Array, Array]:
    lower, upper = np.zeros((rows, width)), np.ones((rows, width))
    lower[:, 0] = upper[:, 0] = np.arange(rows)
    return lower, upper
