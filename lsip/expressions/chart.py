"""The coordinates of a cell of an index set, and the indices of a model as functions of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..domains import Box, Cell
from .graph import Expression, Index, as_expression
from .interval import Array, Interval
from .tape import Tape


class CellChart:
    """How a cell sees an index set: in its own coordinates z, of which y is a function, or in those of y."""

    def __init__(self, cell: Cell, indices: tuple[Index, ...] = ()) -> None:
        self.cell, self.indices = cell, indices  # of the formulas over the cell
        self.instead: dict[Index, Expression] = {}  # those of the model as functions of them
        self._tape: Tape | None = None
        if cell.place is None:
            return
        z = Index("z", Box(cell.lower.min(axis=0), cell.upper.max(axis=0)))
        y, start = cell.place(z), 0
        for index in indices:
            end = start + index.domain.dim
            self.instead[index] = as_expression(y[start] if index.domain.scalar else y[start:end])
            start = end
        self.indices, self._tape = (z,), Tape((as_expression(y),), (z,))

    @property
    def coordinates(self) -> Any:
        """All coordinates of the cell as one vector expression."""
        return np.concatenate([np.atleast_1d(i) for i in self.indices])

    @property
    def sides(self) -> Tape | None:
        """What is nowhere negative in the index set, as a function of the coordinates; None for boxes."""
        return None if self.cell.inside is None else Tape((self.cell.inside(self.coordinates),), self.indices)

    def points(self, z: Array) -> Array:
        """Points (N, k) of the cell as points (N, m) of the index set, rounded."""
        return z if self._tape is None else self._tape.values(z)

    def enclosed(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        """Boxes (N, m) that contain the points of the boxes (N, k) of the cell."""
        if self._tape is None:
            return lower, upper
        found: Interval = self._tape.enclose(lower, upper)
        return found.lo, found.hi
