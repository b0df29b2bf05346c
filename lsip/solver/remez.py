"""Remez's exchange: all extrema of an error at once, from one square system to the next.

Best approximations in one dimension have rows in pairs, f(y) a - w δ <= b and -f(y) a - w δ <= b', and δ is all that is
paid for. Then as many index points as there are variables, a reference, say which row of each pair holds there: by the
signs of the one combination of the f(y) that vanishes, whose sizes are multipliers. The rows of a reference are a
square system for a and δ; between its points the error has larger extrema, and these are the next reference. That
converges quadratically (Veidinger, 1960), and no linear program is solved.

The first reference is spread like the Christoffel function of the f(y): its quantiles are the extrema of Chebyshev
polynomials where the f(y) are polynomials, equidistant for cosines, and denser at the ends of bands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from ..deadline import EFFORT, check
from ..model.coefficients import smooth
from ..model.families import RowFamily
from ..model.program import Program
from ..model.violation import FamilyViolation
from ..oracles.base import Ints
from ..proof.certificate import Array, Support
from .options import Options
from .tuning import Tuning


@dataclass(frozen=True, eq=False)
class Peaks:
    """Extrema of an error, from left to right."""

    family: Ints
    component: Ints
    y: Array
    up: Array  # the sign of the error
    excess: Array  # of the error over the level, in units of δ

    def only(self, places: Ints | list[int]) -> Peaks:
        """Some of them."""
        return Peaks(*(part[places] for part in vars(self).values()))

    def beside(self, reference: Peaks) -> Peaks:
        """Both these and the points of a reference, at which no error exceeds the level."""
        up = np.where(reference.component == 0, 1.0, -1.0)
        other = replace(reference, up=up, excess=np.zeros(len(reference.y)))
        parts = (np.concatenate(part) for part in zip(vars(self).values(), vars(other).values(), strict=True))
        every = Peaks(*parts)
        return every.only(every.y.argsort(kind="stable"))


@dataclass(frozen=True, eq=False)
class Levelled:
    """A reference, and the point at which its rows hold with equality."""

    x: Array
    reference: Peaks
    weights: Array  # (n,), multipliers
    rows: Array  # (n, n)
    rhs: Array  # (n,)
    excess: float = np.inf  # by how much δ is too small for some index point, as far as extrema were found
    least: float = 0.0  # w, at the least

    @property
    def support(self) -> tuple[Support, ...]:
        """The dual measure."""
        at = self.reference
        each = zip(at.family.tolist(), at.component.tolist(), at.y.tolist(), self.weights.tolist(), strict=True)
        return tuple(Support(f, c, np.array([y]), v) for f, c, y, v in each)


class Band:
    """A family whose rows come in one pair, and a table of them."""

    def __init__(self, family: RowFamily, number: int, level: int, points: int) -> None:
        self.family, self.number = family, number
        lower, upper = float(family.domain.lower[0]), float(family.domain.upper[0])
        turn = np.cos(np.linspace(np.pi, 0.0, points))
        self.y = np.clip(0.5 * (lower + upper) + 0.5 * (upper - lower) * turn, lower, upper)
        self.lower, self.upper, self.count = lower, upper, points
        a, b = family.rows(self.y[:, None])
        self.level = int(np.flatnonzero(family.columns[0] == level)[0])
        self.table = np.delete(a[:, 0], self.level, axis=1)  # f(y)
        self.paid, self.rhs = -a[:, :, self.level].T, b.T  # w and b of both rows
        self.paired = bool((self.table == -np.delete(a[:, 1], self.level, axis=1)).all() and (self.paid > 0).all())
        self.found: tuple[Array, Array] = np.zeros(0), np.zeros(0)  # extrema of the last error, and their rows

    def peaks(self, violation: FamilyViolation, level: float, below: float) -> Array:
        """Extrema as columns (family, component, y, up, excess), from left to right, each after one Newton step."""
        error = self.table @ np.delete(violation.weights[0, :-1], self.level)
        start, component = [], []
        for row, up in ((0, 1.0), (1, -1.0)):
            v = up * error - self.paid[row] * level - self.rhs[row]
            high = v > -below * level * self.paid[row]
            high[1:] &= v[1:] > v[:-1]
            high[:-1] &= v[:-1] >= v[1:]
            place = np.flatnonzero(high)
            start.append(place)
            component.append(np.full(len(place), row))
        place, rows = np.concatenate(start), np.concatenate(component)
        y, value = self._moved(violation, self._nearest(place, rows), rows)
        order = y.argsort(kind="stable")
        y, rows = y[order], rows[order]
        self.found = y, rows
        excess = value[order] / self.paid[rows, place[order]]
        return np.stack([np.full(len(y), float(self.number)), rows, y, 1.0 - 2.0 * rows, excess])

    def _nearest(self, place: Ints, rows: Ints) -> Array:
        """Where Newton's method goes on: at extrema of the error before, if these are next to points of the table."""
        y, last = self.y[place], self.count - 1
        for row in (0, 1):
            known, mine = self.found[0][self.found[1] == row], np.flatnonzero(rows == row)
            if not len(known):
                continue
            here = y[mine]
            right = np.clip(np.searchsorted(known, here), 0, len(known) - 1)
            left = np.maximum(right - 1, 0)
            near = np.where(np.abs(known[left] - here) < np.abs(known[right] - here), known[left], known[right])
            beside = self.y[np.maximum(place[mine] - 1, 0)], self.y[np.minimum(place[mine] + 1, last)]
            y[mine] = np.where((near >= beside[0]) & (near <= beside[1]), near, here)
        return y

    def _moved(self, violation: FamilyViolation, y: Array, rows: Ints) -> tuple[Array, Array]:
        """One Newton step up, no farther than to the next points of the table, and the value that is expected there."""
        found = violation.derivatives(y[:, None], rows)
        assert found is not None
        value, slope, bend = found[0], found[1][:, 0], found[2][:, 0, 0]
        known = np.isfinite(slope) & np.isfinite(bend)  # at the ends of an interval there may be none
        slope, bend = np.where(known, slope, 0.0), np.where(known, bend, 0.0)
        step = np.where(bend < 0, -slope / np.where(bend < 0, bend, 1.0), 0.0)
        right = np.clip(np.searchsorted(self.y, y, side="right"), 1, self.count - 1)
        reach = self.y[right] - self.y[right - 1]
        there = np.clip(y + np.clip(step, -reach, reach), self.lower, self.upper)
        step = there - y
        return there, value + slope * step + 0.5 * np.minimum(bend, 0.0) * step * step


def level_of(program: Program) -> int | None:
    """The one variable that is paid for, where all others are free and rows come in pairs over intervals; or None."""
    paid = np.flatnonzero(program.c)
    if len(paid) != 1 or program.finite_rows or not program.families or not 1 < program.n**2 <= EFFORT.entries:
        return None
    level = int(paid[0])
    free = np.isinf(program.lower) & np.isinf(program.upper)
    free[level] = True
    suits = program.c[level] > 0 and free.all() and program.upper[level] == np.inf
    return level if suits and all(_suits(f, program.n) for f in program.families) else None


def _suits(family: RowFamily, n: int) -> bool:
    """Whether a family has two rows in all variables, over an interval, without kinks."""
    if family.columns.shape != (2, n) or family.domain.dim != 1 or family.linear is not None:
        return False
    every = np.arange(n)
    cells = family.domain.cells()
    flat = len(cells) == 1 and len(cells[0].lower) == 1 and cells[0].inside is None and cells[0].place is None
    same = (np.sort(family.columns[0]) == every).all() and (family.columns[0] == family.columns[1]).all()
    wide = bool((family.domain.upper > family.domain.lower).all())
    return bool(flat and same and wide and smooth(family))


def levelled(program: Program, level: int, allowed: Callable[[Array], float], options: Options) -> Levelled | None:
    """The reference whose level is the largest error, up to a share of the gap; None where there is none of this kind.

    The gap that is `allowed` depends on the point.
    """
    tuning = options.tuning
    bands = _bands(program, level, tuning)
    if not bands:
        return None
    best: Levelled | None = None
    reference, highest, patience = _first(bands, program.n, tuning), 0.0, 0
    least = min(float(band.paid.min()) for band in bands)
    for _ in range(options.max_iterations):
        check("exchange of references")
        found = _solved(program, reference)
        if found is not None and found.x[level] < 0:  # the other signs alternate as well
            found = _solved(program, replace(reference, component=1 - reference.component))
        if found is None or not found.x[level] > 0:
            return best
        height = float(found.x[level])
        peaks = _peaks(program, bands, found.x, height, tuning)
        excess = float(peaks.excess.max(initial=0.0))
        patience = 0 if height > highest else patience + 1
        highest = max(highest, height)
        if best is None or excess < best.excess:
            best = replace(found, excess=excess, least=least)
        goal = tuning.share * allowed(found.x) / float(program.c[level])
        if excess <= goal or patience >= tuning.tries:
            return best
        # Where there are too few extrema, points of this reference are as good: the error there has the level's size.
        chosen = _alternating(peaks, program.n) or _alternating(peaks.beside(found.reference), program.n)
        if chosen is None:
            return best
        reference = chosen
    return best


def _bands(program: Program, level: int, tuning: Tuning) -> list[Band]:
    """The families, and tables of their rows; none where these are no pairs."""
    widths = np.array([f.domain.upper[0] - f.domain.lower[0] for f in program.families])
    shares = np.ceil(tuning.points[0] * program.n * widths / widths.sum()).astype(int)
    bands = []
    for number, (family, share) in enumerate(zip(program.families, shares.tolist(), strict=True)):
        band = Band(family, number, level, max(share, tuning.least_points))
        if not (band.paired and np.isfinite(band.table).all()):
            return []
        bands.append(band)
    return sorted(bands, key=lambda band: band.lower)


def _first(bands: list[Band], n: int, tuning: Tuning) -> Peaks:
    """Index points at the quantiles of the Christoffel function, with alternating signs."""
    thin = max(sum(band.count for band in bands) // (tuning.points[0] // 2 * n), 1)
    places = [np.unique(np.append(np.arange(0, band.count, thin), band.count - 1)) for band in bands]
    tables = [band.table[some] for band, some in zip(bands, places, strict=True)]
    for table in tables:
        table[[0, -1]] *= np.sqrt(0.5)  # which stand for half as much of the band as the others do
    q = np.linalg.qr(np.concatenate(tables))[0]
    shares = np.split((q * q).sum(axis=1), np.cumsum([len(some) for some in places])[:-1])
    y = []
    for band, some, share, wanted in zip(bands, places, shares, _quantiles([v.sum() for v in shares], n), strict=True):
        total = np.cumsum(share) - 0.5 * share
        total[0], total[-1] = 0.0, share.sum()
        y.append(np.interp(wanted, total, band.y[some]))
    up = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    family = np.repeat([band.number for band in bands], [len(part) for part in y])
    return Peaks(family, (up < 0).astype(np.intp), np.concatenate(y), up, np.zeros(n))


def _quantiles(totals: list[float], n: int) -> list[Array]:
    """Where n points stand in bands that have so much of the Christoffel function, n - 1 in all.

    They are 1 apart and begin where bands face each other; only there the ends of bands have to be among them.
    """
    first, *others = totals
    if len(others) == 1:
        found = [np.sort(first - np.arange(np.floor(first) + 1)), np.arange(np.floor(others[0]) + 1)]
        if sum(map(len, found)) == n:
            return found
    counts = np.diff(np.round(np.cumsum(totals) * n / (n - 1)), prepend=0.0).astype(int)
    counts[-1] = n - counts[:-1].sum()
    return [np.linspace(0.0, total, count) for total, count in zip(totals, counts.tolist(), strict=True)]


def _solved(program: Program, reference: Peaks) -> Levelled | None:
    """The point at which the rows of a reference hold with equality, and multipliers; None where there is none.

    A multiplier that is negative belongs to the other row of its pair.
    """
    component = reference.component
    for _ in range(2):
        matrix, rhs = _rows(program, reference, component)
        triangles, pivots, singular = linalg.lapack.dgetrf(matrix)
        if singular:
            return None
        factors = triangles, pivots
        weights = linalg.lu_solve(factors, -program.c, trans=1, check_finite=False)
        if not np.isfinite(weights).all():
            return None
        if (weights >= 0).all():
            x = linalg.lu_solve(factors, rhs, check_finite=False)
            held = replace(reference, component=component)
            return Levelled(x, held, weights, matrix, rhs) if np.isfinite(x).all() else None
        component = np.where(weights < 0, 1 - component, component)
    return None


def _rows(program: Program, reference: Peaks, component: Ints) -> tuple[Array, Array]:
    """The rows (n, n) of a reference, and their right-hand sides."""
    matrix, rhs = np.zeros((program.n, program.n)), np.zeros(program.n)
    for f, family in enumerate(program.families):
        mine = np.flatnonzero(reference.family == f)
        if len(mine):
            a, rhs[mine] = family.chosen(reference.y[mine, None], component[mine])
            matrix[mine[:, None], family.columns[component[mine]]] = a
    return matrix, rhs


def _peaks(program: Program, bands: list[Band], x: Array, level: float, tuning: Tuning) -> Peaks:
    """All extrema that matter, from left to right."""
    parts = [band.peaks(program.violation(band.number, x), level, tuning.share) for band in bands]
    every = np.concatenate(parts, axis=1)
    every = every[:, every[2].argsort(kind="stable")]
    return Peaks(every[0].astype(np.intp), every[1].astype(np.intp), *every[2:])


def _alternating(peaks: Peaks, n: int) -> Peaks | None:
    """The n of them, with alternating signs, that are largest; None if there are not so many."""
    starts = np.flatnonzero(np.concatenate([[True], peaks.up[1:] != peaks.up[:-1]]))
    ends = np.append(starts[1:], len(peaks.up))
    size = peaks.excess
    kept = [i + int(size[i:j].argmax()) for i, j in zip(starts.tolist(), ends.tolist(), strict=True)]
    while len(kept) > n:
        if len(kept) == n + 1:
            kept.pop(0 if size[kept[0]] < size[kept[-1]] else -1)
            continue
        least = min(range(len(kept)), key=lambda k: size[kept[k]])
        if least in (0, len(kept) - 1):
            kept.pop(least)
        else:  # its neighbours have the same sign then: the larger one stands for both
            other = least + 1 if size[kept[least + 1]] < size[kept[least - 1]] else least - 1
            for k in sorted((least, other), reverse=True):
                kept.pop(k)
    return peaks.only(kept) if len(kept) == n else None
