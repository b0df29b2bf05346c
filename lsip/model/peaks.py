"""Narrow peaks: where coefficients are large that a sample of the index set hardly sees.

A column such as exp(-((t - 0.7) / 1e-4)²) is almost zero at any few points. Whoever takes the size of its variable from
those has units that are wrong by any factor; so such columns are looked for, and followed to where they are large.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from ..deadline import EFFORT, check
from ..lifetime import remembered
from ..oracles.base import Array, Ints
from .families import RowFamily, RowFunctions

NOTHING = 1e-290  # enclosures of zero are about 1e-300 wide


@dataclass(frozen=True)
class PeakTuning:
    """Where columns are looked at, and which of them may have a peak.

    Parameters
    ----------
    sample
        Index points at which columns are compared; fewer of large rows.
    growth
        A column is followed where it may be so many times larger than what was seen of it.
    """

    sample: int = 40
    growth: float = 1e3


TUNING = PeakTuning()


def sampled(family: RowFamily) -> tuple[Array, Array]:
    """Coefficients (N, p, K) and right-hand sides (N, p) at a few points all over the index set; computed once."""
    a, b = _sampled(family.source)
    return (a, b) if family.units is None else (a * family.units[:, :-1], b * family.units[:, -1])


@remembered
def _sampled(rows: RowFunctions) -> tuple[Array, Array]:
    """The same of rows in no units, since what is known in one is known in all."""
    return rows.rows(_points(rows))


def points_of(family: RowFamily) -> Array:
    """A few points all over the index set."""
    return _points(family.source)


def _points(rows: RowFunctions) -> Array:
    count = int(np.clip(EFFORT.batch // (prod(rows.shape) + 1), 4, TUNING.sample))
    return np.concatenate([rows.domain.grid(1), rows.domain.spread(count)])


def largest(family: RowFamily) -> tuple[Array, Array]:
    """The largest coefficients (p, K) and right-hand sides (p,) over sampled index points, and at peaks."""
    if family.linear is not None:  # most of its numbers are the same everywhere
        table = family.linear.largest(points_of(family))
        return table[:, :-1], table[:, -1]
    parts = [sampled(family)]
    if len(found := peaks(family)):
        parts.append(family.rows(found))
    a, b = (np.abs(np.concatenate(part)).max(axis=0) for part in zip(*parts, strict=True))
    return a, b


def peaks(family: RowFamily) -> Array:
    """Index points (k, m) at which columns are large that a sample hardly sees."""
    return _followed(family.source)[0]


def unseen(family: RowFamily) -> bool:
    """Whether columns may be far larger somewhere than at the points that are known: then units say little."""
    return _followed(family.source)[1]


@remembered
def _followed(rows: RowFunctions) -> tuple[Array, bool]:
    """Such points, and whether there may be others that were not found.

    Every column, or side, that may grow far beyond its sample is followed into the half of its box that promises more.
    It ends where no more is hidden than was seen, or at its peak, where a value is about as large as the bound.
    """
    domain, points = rows.domain, [np.zeros((0, rows.domain.dim))]
    if not rows.enclosable or rows.linear is not None:
        return points[0], False

    def largest(lower: Array, upper: Array, which: Ints) -> Array:
        """The sizes of the coefficients and sides of these rows over boxes; -inf where they are not known."""
        box = rows.enclosed(lower, upper, which)
        size = np.maximum(np.abs(box.lo), np.abs(box.hi))
        return np.where(np.isnan(size), -np.inf, size)

    a, b = _sampled(rows)
    seen = np.maximum(np.abs(np.concatenate([a, b[:, :, None]], axis=2)).max(axis=0), NOTHING)
    p, k = seen.shape
    bounds = largest(np.tile(domain.lower, (p, 1)), np.tile(domain.upper, (p, 1)), np.arange(p))
    most = EFFORT.entries // max(k, 1)
    bounds[:, -1] = np.where(np.isfinite(bounds[:, -1]), bounds[:, -1], 0.0)  # a side may have a pole, which is refused
    i, j = np.nonzero(bounds > TUNING.growth * seen)
    lost = len(i) > most
    i, j = i[:most], j[:most]
    lower, upper = (np.tile(end, (len(i), 1)) for end in (domain.lower, domain.upper))
    while len(i):
        check("peaks")
        n, side = np.arange(len(i)), np.argmax(upper - lower, axis=1)
        cut = (0.5 * lower + 0.5 * upper)[n, side]
        divided = (lower[n, side] < cut) & (cut < upper[n, side])
        left, right = upper.copy(), lower.copy()
        left[n, side] = right[n, side] = cut
        below, above = largest(lower, left, i)[n, j], largest(right, upper, i)[n, j]
        first = below >= above
        upper, lower = np.where(first[:, None], left, upper), np.where(first[:, None], lower, right)
        bound, middle = np.maximum(below, above), 0.5 * lower + 0.5 * upper
        value = largest(middle, middle, i)[n, j]
        hidden = bound > TUNING.growth * seen[i, j]
        peak = hidden & np.isfinite(value) & (2.0 * value >= bound)
        points.append(middle[peak])
        stay = hidden & ~peak & divided
        lost = lost or bool((hidden & ~peak & ~divided).any())
        i, j, lower, upper = i[stay], j[stay], lower[stay], upper[stay]
    every = np.concatenate(points)
    inside = domain.contains(every)
    return every[inside], lost or not inside.all()
