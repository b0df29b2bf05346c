"""Active points: where a constraint holds a solution, as a reader sees it, and which atoms are one of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..legible import legible_repr, legibly, printable
from ..model.directed_rows import DirectedRows
from ..model.families import RowFamily
from ..oracles.base import visible
from ..proof.certificate import Array, Support


@dataclass(frozen=True)
class ReadingTuning:
    """How a dual measure is put into words.

    Parameters
    ----------
    near
        Atoms closer than this share of the index set are one active point.
    most_coordinates
        Coordinates of a point that fit in one line; of more, the first three and the last are written.
    """

    near: float = 1e-3
    most_coordinates: int = 8

    @property
    def vanishing(self) -> float:
        """The share of a range, or of all weights, below which nothing is left."""
        return self.near**2

    @property
    def same(self) -> float:
        """Points of two parts of an unbounded set that are the same, relative to their size; what is at infinity."""
        return self.near**3


TUNING = ReadingTuning()


@legible_repr
@dataclass(frozen=True, eq=False)
class ActivePoint:
    """An index point at which a constraint is tight, with its multiplier.

    Points are those of the index set as it was declared, and multipliers those of the rows as they were written: what
    one unit of room there is worth. There are two exceptions, where `divided_by` is not empty:

    - Over an unbounded set the constraint may hold the solution in the limit only. The point then has infinite
      coordinates, and the multiplier is that of the limit of the row divided by a power of the largest coordinate: of
      the leading coefficients.
    - A row that is zero at a point for every feasible x, such as p(t) >= 0 at 0 where p(0) = 0, has no multiplier
      there. The multiplier is that of the row divided by what vanishes, in the limit at the point.

    Parameters
    ----------
    constraint
        Its name, or its formula.
    point
        (m,); (0,) where there is no index. Coordinates are infinite for what holds in the limit.
    multiplier
        >= 0, but for rows divided by what changes its sign at the point.
    family, component
        The number of the family in `solution.families`, and of its row.
    divided_by
        By what the row is divided, as a formula; empty for the row itself.
    direction
        (m,), of a point at infinity: y = r direction as r grows; None for other points.

    Examples
    --------
    >>> import lsip
    >>> x, t = lsip.Variable(2, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    >>> above = lsip.forall(t, x[0] + x[1] * t >= t**2, name="above")
    >>> problem = lsip.Problem(lsip.minimize(x[0] + x[1] / 2), [above])
    >>> solution = problem.solve(verbose=False)
    >>> point = min(solution.active, key=lambda active: active.point[0])
    >>> point.point, round(point.multiplier, 6), str(point.constraint)
    (array([0.]), 0.5, 'above')
    """

    constraint: str
    point: Array
    multiplier: float
    family: int
    component: int
    divided_by: str = ""
    direction: Array | None = None

    @property
    def row(self) -> str:
        """What the multiplier belongs to: the constraint, or what it is divided by."""
        return f"({self.constraint}) / {self.divided_by}" if self.divided_by else self.constraint

    @property
    def place(self) -> str:
        """The coordinates in words; empty where there is no index."""
        return coordinates([f"{v:.6g}" for v in self.point])

    @legibly
    def __str__(self) -> str:
        place = f" at ({self.place})" if len(self.point) else ""
        by = f" of the row divided by {self.divided_by}" if self.divided_by else ""
        return f"{printable(self.constraint)}{place} with multiplier {self.multiplier:.6g}{by}"


def coordinates(numbers: list[str]) -> str:
    """The coordinates of a point in one line; of many, the first three and the last."""
    return ", ".join(numbers if len(numbers) <= TUNING.most_coordinates else [*numbers[:3], "…", numbers[-1]])


def near(family: RowFamily) -> Array:
    """How close atoms are that are one point: not at all where every point of the set stands alone."""
    domain = visible(family)
    if family.legend.shown and domain.measure[0] == 0:
        return np.zeros(family.legend.shown)
    return np.asarray((TUNING.near * (domain.upper - domain.lower) + 1e-12)[: family.legend.shown])


def room(family: RowFamily, s: Support) -> float:
    """By how much a unit of room on the right of what was written gives room to a row in one of its directions."""
    rows = family.source
    if not isinstance(rows, DirectedRows):
        return 1.0
    start, found = family.domain.dim - rows.worst.index.domain.dim, 1.0
    for block in rows.worst.blocks:
        for places in block.places[block.rows == s.component]:
            found *= block.kind.room(s.point[start + places])
    return found


def together(family: RowFamily, cluster: list[Support]) -> bool:
    """Whether atoms can be one: the middle of them is in the set, unless the set has no inside that it could be in."""
    domain = visible(family)
    if not family.legend.shown or domain.measure[0] < domain.dim or len(cluster[0].point) < domain.dim:
        return True
    return bool(domain.contains(_middle(cluster)[None])[0])


def _middle(cluster: list[Support]) -> Array:
    weights = np.array([s.multiplier for s in cluster])
    return np.asarray(weights @ np.array([s.point for s in cluster]) / weights.sum())


def one(family: RowFamily, cluster: list[Support]) -> Support:
    """Atoms that are one: in their middle, unless one of them has about all the weight."""
    total = sum(s.multiplier for s in cluster)
    whole = replace(cluster[0], multiplier=total)
    domain = visible(family)
    if len(cluster) == 1 or cluster[0].multiplier >= (1.0 - TUNING.vanishing) * total or domain.measure[0] < domain.dim:
        return whole
    middle = _middle(cluster)
    points = np.array([s.point for s in cluster])
    return replace(whole, point=np.clip(middle, points.min(axis=0), points.max(axis=0)))
