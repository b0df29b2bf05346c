"""Bounds on single variables that rows imply, outward rounded: x, y >= 0 and x + y = 1 leave x <= 1.

They hold for every feasible point, so that what rounding has left of a reduced cost can be paid there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ..expressions.interval import EPS, TINY, Interval, down, up
from ..masters.base import Matrix
from .certificate import Array, Ints


@dataclass(frozen=True, eq=False)
class UpperSides:
    """sum a x <= side, one for every upper side, as triplets; `source` is the row that each one comes from."""

    row: Ints
    column: Ints
    a: Interval
    side: Array
    source: Ints

    @staticmethod
    def of(mid: Matrix, rad: Matrix, below: Interval, above: Interval) -> UpperSides:
        pattern = sparse.coo_matrix((abs(mid) + rad) != 0)
        i, j = pattern.row.astype(np.intp), pattern.col.astype(np.intp)
        centre, radius = (_entries(m, i, j) for m in (mid, rad))
        with np.errstate(invalid="ignore"):
            ends = down(centre - radius), up(centre + radius)  # nan where nothing is known
        lo, hi = (np.where(radius == 0, centre, end) for end in ends)
        upper, lower = np.isfinite(above.hi), np.isfinite(below.lo)
        count = len(above.hi)
        parts = [(i[upper[i]], j[upper[i]], lo[upper[i]], hi[upper[i]], 0)]
        parts.append((i[lower[i]], j[lower[i]], -hi[lower[i]], -lo[lower[i]], count))
        row = np.concatenate([p[0] + p[4] for p in parts])
        return UpperSides(
            row,
            np.concatenate([p[1] for p in parts]),
            Interval(np.concatenate([p[2] for p in parts]), np.concatenate([p[3] for p in parts])),
            np.concatenate([above.hi, -below.lo]),
            row % max(count, 1),
        )

    def tightened(self, lower: Array, upper: Array, passes: int = 3) -> tuple[Array, Array, Ints]:
        """Bounds of every x that keeps all rows, and the rows behind those that are new.

        Bounds imply further bounds; where they do not within a few passes, they seldom do.
        """
        sources: dict[tuple[int, bool], int] = {}
        source = np.append(self.source, -1)
        for _ in range(passes):
            least, most = self._said(lower, upper)
            new_lower, new_upper = self._kept(lower, upper, least, most)
            low, high = _first(self.column, -least, len(lower)), _first(self.column, most, len(lower))
            sources |= {(j, False): int(source[low[j]]) for j in np.flatnonzero(new_lower > lower).tolist()}
            sources |= {(j, True): int(source[high[j]]) for j in np.flatnonzero(new_upper < upper).tolist()}
            if (new_lower == lower).all() and (new_upper == upper).all():
                break
            lower, upper = new_lower, new_upper
        return lower, upper, np.unique(np.array(list(sources.values()), dtype=np.intp))

    def implied(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        """Bounds of every x that keeps all rows, in one pass."""
        return self._kept(lower, upper, *self._said(lower, upper))

    def _kept(self, lower: Array, upper: Array, least: Array, most: Array) -> tuple[Array, Array]:
        """The narrower of bounds and of what is said of each x."""
        new_upper, new_lower = upper.copy(), lower.copy()
        np.minimum.at(new_upper, self.column, most)
        np.maximum.at(new_lower, self.column, least)
        return new_lower, new_upper

    def _said(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        """What each row says of each x, all others being where they make least of the sum."""
        i, j, a = self.row, self.column, self.a
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            positive, negative = a.lo > 0, a.hi < 0
            at = np.where(positive, lower[j], upper[j])
            least = np.minimum(a.lo * at, a.hi * at)
            open_end = ~(positive | negative) | ~np.isfinite(least)
            closed = np.where(open_end, 0.0, least)
            count = len(self.side)
            total, size = np.bincount(i, closed, count), np.bincount(i, np.abs(closed), count)
            missing, terms = np.bincount(i, open_end, count), np.bincount(i, minlength=count) + 8
            # Without its own share, the rest of the row is known if nothing else in it is open.
            known = (missing[i] - open_end == 0) & np.isfinite(self.side[i])
            room = self.side[i] - (total[i] - closed)
            room = up(room + terms[i] * (EPS * (size[i] + np.abs(self.side[i])) + TINY), 2.0)
            most = np.where(known & positive, up(np.maximum(room / a.lo, room / a.hi), 2.0), np.inf)
            least = np.where(known & negative, down(np.minimum(room / a.lo, room / a.hi), 2.0), -np.inf)
        return np.where(np.isnan(least), -np.inf, least), np.where(np.isnan(most), np.inf, most)


def _entries(matrix: Matrix, i: Ints, j: Ints) -> Array:
    """Entries at these places, of a dense or a sparse matrix."""
    if not sparse.issparse(matrix):
        found: Array = matrix[i, j]
        return found
    return np.asarray(sparse.csr_matrix(matrix)[i, j]).ravel() if len(i) else np.zeros(0)


def _first(column: Ints, value: Array, n: int) -> Ints:
    """For every column the triplet with the least value, -1 where there is none."""
    order = np.lexsort((value, column))
    place = np.full(n, -1, dtype=np.intp)
    columns, first = np.unique(column[order], return_index=True)
    place[columns] = order[first]
    return place
