"""Narrow peaks: where coefficients are large that a sample of the index set hardly sees.

A column such as exp(-((t - 0.7) / 1e-4)²) is almost zero at any few points. Whoever takes the size of its variable from
those has units that are wrong by any factor; so such columns are looked for, and followed to where they are large.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..lifetime import Remembered
from ..oracles import BranchAndBound
from .families import FamilyViolation, RowFamily

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PeakTuning:
    """Which columns may have a peak, and how it is followed.

    Parameters
    ----------
    most_dimensions, most_columns
        Families of larger index sets, or of more columns in all rows together, are not looked at.
    sample, most_rows
        Index points at which columns are compared; fewer, if that were more rows in all.
    uneven, few
        A column that is `uneven` times larger at so few of them than elsewhere may have a peak.
    finer, boxes
        Points of a second sample where the first is suspicious, and boxes over which columns are bounded then: both
        cost far less than searches.
    growth
        A peak is worth following where it may be so many times larger than what was seen.
    searches, search
        Searches for one of them at most, and what each is done with.
    nothing
        What counts as zero: enclosures of zero are about 1e-300 wide.
    """

    most_dimensions: int = 3
    most_columns: int = 60
    sample: int = 40
    most_rows: int = 4000
    uneven: float = 10.0
    few: int = 2
    finer: int = 1500
    boxes: int = 256
    growth: float = 1e3
    searches: int = 12
    search: BranchAndBound = field(default=BranchAndBound(max_boxes=1000, rounds=6, points=4))
    nothing: float = 1e-290


TUNING = PeakTuning()
_sampled = Remembered[RowFamily, tuple[Array, Array]]()
_known = Remembered[RowFamily, Array]()


def sampled(family: RowFamily) -> tuple[Array, Array]:
    """Coefficients (N, p, K) and right-hand sides (N, p) at a few points all over the index set; computed once."""
    if family not in _sampled:
        _sampled[family] = family.rows(points_of(family))
    return _sampled[family]


def points_of(family: RowFamily) -> Array:
    """A few points all over the index set."""
    count = int(np.clip(TUNING.most_rows // len(family.columns), 4, TUNING.sample))
    return np.concatenate([family.domain.grid(1), family.domain.spread(count)])


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
    """Index points (k, m) at which columns are large that a sample hardly sees; found once."""
    if family not in _known:
        _known[family] = _found(family)
    return _known[family]


def _found(family: RowFamily) -> Array:
    domain, none = family.domain, np.zeros((0, family.domain.dim))
    large = domain.dim > TUNING.most_dimensions or family.columns.size > TUNING.most_columns
    if not family.enclosable or large or family.linear is not None:
        return none
    a = np.abs(sampled(family)[0])
    largest = a.max(axis=0)
    uneven = ((a * TUNING.uneven >= largest).sum(axis=0) <= TUNING.few) | (largest == 0)
    if not uneven.any():
        return none
    suspicious = uneven & _may_grow(_bounds(family, 1), largest)
    if not suspicious.any():
        return none
    finer = domain.spread(TUNING.finer)
    a = np.abs(family.rows(finer)[0])
    seen = finer[np.unique(a.argmax(axis=0)[suspicious & (a.max(axis=0) > largest)])]
    largest = np.maximum(largest, a.max(axis=0))
    left = np.argwhere(suspicious & _may_grow(_bounds(family, TUNING.boxes), largest))
    points = [_followed(family, int(i), int(k), float(largest[i, k])) for i, k in left]
    family.memory.forget()  # its boxes are small where nobody else looks
    return np.concatenate([seen, *(y for y in points if y is not None)])


def inherit(family: RowFamily, inner: RowFamily) -> None:
    """The peaks of a family are those of another one, whose columns have other units: nobody needs to look again."""
    if inner in _known:
        _known[family] = _known[inner]


def _may_grow(bounds: Array, seen: Array) -> NDArray[np.bool_]:
    """Which columns may be far larger somewhere than what was seen of them."""
    grown: NDArray[np.bool_] = bounds > TUNING.growth * np.maximum(seen, TUNING.nothing)
    return grown


def _bounds(family: RowFamily, boxes: int) -> Array:
    """What the coefficients (p, K) do not exceed in size anywhere, by enclosures over so many boxes, about."""
    (p, _), m = family.columns.shape, family.domain.dim
    cuts = np.linspace(family.domain.lower, family.domain.upper, max(round(boxes ** (1 / m)), 1) + 1)
    first = np.indices((len(cuts) - 1,) * m).reshape(m, -1).T
    lower, upper = (np.repeat(cuts[place, np.arange(m)], p, axis=0) for place in (first, first + 1))
    a, _ = family.enclosed(lower, upper, np.tile(np.arange(p), len(first)))
    bound = np.maximum(np.abs(a.lo), np.abs(a.hi)).reshape(len(first), p, -1).max(axis=0)
    return np.where(np.isnan(bound), np.inf, bound)


def _followed(family: RowFamily, component: int, column: int, seen: float) -> Array | None:
    """Where one coefficient is largest in size, if that is far larger than what was seen.

    Between what was seen and what is proven not to be exceeded lie many powers of ten, and each search halves them.
    """
    place, best = family.columns[component, column], None
    for sign in (1.0, -1.0):
        x = np.zeros(int(family.columns.max()) + 1)
        x[place] = sign
        violation = FamilyViolation(family, x, 0.0)
        low, high = max(seen, TUNING.nothing), TUNING.search.maximise(violation, target=np.finfo(float).max).bound
        for _ in range(TUNING.searches):
            if not TUNING.growth * low < high < np.inf:
                break
            target = max(high / TUNING.growth, np.sqrt(low) * np.sqrt(high))
            found = TUNING.search.maximise(violation, target=target)
            mine = np.flatnonzero(found.components == component)
            if len(mine) and found.values[mine].max() > target:
                top = mine[found.values[mine].argmax()]
                low, seen, best = float(found.values[top]), float(found.values[top]), found.points[top][None]
            high = min(high, found.bound)
            if not low > target and (high > target or seen == 0):  # the search gave up, or the column vanishes
                break
    return best
