"""What people call the rows of a family, and what they see of its index."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from ..expressions.graph import Index


class Legend:
    """Words for rows and coordinates.

    Parameters
    ----------
    name, labels
        What the family is called, and each of its rows, (p,); functions that say so, as a formula is long to write, and
        seldom read.
    coordinates
        (m,), names of the coordinates of y.
    indices
        The indices of the model that y consists of; none where the rows are functions.
    shown
        How many coordinates of y people see: all but those of directions, which come last.
    """

    def __init__(
        self,
        name: str | Callable[[], str],
        labels: tuple[str, ...] | Callable[[], tuple[str, ...]],
        coordinates: tuple[str, ...],
        indices: tuple[Index, ...] = (),
        shown: int | None = None,
    ) -> None:
        self._name, self._labels = name, labels
        self.coordinates, self.indices = coordinates, indices
        self.shown = len(coordinates) if shown is None else shown

    def __getstate__(self) -> dict[str, Any]:
        """With words, for functions cannot be written to files."""
        return {**vars(self), "_name": self.name, "_labels": self.labels}

    @cached_property
    def name(self) -> str:
        return self._name() if callable(self._name) else self._name

    @cached_property
    def labels(self) -> tuple[str, ...]:
        return self._labels() if callable(self._labels) else self._labels
