"""An active point: where a constraint holds a solution, as a reader sees it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..legible import legible_repr, legibly, printable

Array = NDArray[np.float64]


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
    """An index point at which a constraint holds the solution, with its multiplier.

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
