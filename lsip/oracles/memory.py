"""What a branch-and-bound keeps of a family between calls: the boxes of an index set with their enclosures.

They depend on the index set and on the data of the family, and on nothing else; they are kept under both, so that no
question about another set, or about other data, is ever answered from them.
"""

from __future__ import annotations

from collections.abc import Hashable

from ..deadline import check
from ..domains import Domain
from .base import Rows
from .cover import Cover

KEPT = 4  # index sets whose boxes are remembered; the one asked about longest ago is forgotten first
MEMORY = 1.5e9  # bytes of enclosures beyond which other index sets are forgotten, and no box is split any more


class Memory:
    """The covers of the index sets asked about last, for one family."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, list[Cover]] = {}

    def covers(self, family: Rows, domain: Domain) -> list[Cover]:
        """One cover for each cell of `domain`: those of an earlier call, or new ones. The list may be changed."""
        key = (domain, family.data_key)
        found = self._kept.pop(key, None)
        if found is None:
            found = []
            for cell in domain.cells():
                check("enclosures")
                found.append(Cover(family, cell))
        self._kept[key] = found  # the last one is the one used last
        while len(self._kept) > 1 and (len(self._kept) > KEPT or self.bytes > MEMORY):
            del self._kept[next(iter(self._kept))]
        return found

    def forget(self) -> None:
        """Keep nothing: the next proof begins anew."""
        self._kept.clear()

    @property
    def boxes(self) -> int:
        """How many boxes are kept, over all index sets."""
        return sum(cover.n for covers in self._kept.values() for cover in covers)

    @property
    def bytes(self) -> int:
        """About how much memory their enclosures take."""
        return sum(cover.n * cover.row_bytes for covers in self._kept.values() for cover in covers)
