"""What a branch-and-bound keeps of a family between calls: the boxes of an index set with their enclosures.

They depend on the index set, on the data of the family, and on who encloses, the compiled kernel or NumPy. They are
kept under all three: no question about another set or about other data is ever answered from them, and what is proven
again without the kernel owes nothing to it. Where data have changed a little, what the boxes had to be split into is
most of the work: it is kept, and over the same boxes everything is enclosed anew.

A search takes boxes out, splits them, and puts them back. In between nobody else has them: a search that runs at the
same time, in another thread, begins with boxes of its own, and of the two partitions the one put back last stays. What
an interrupt leaves half-done is never put back. Every access is one operation of a dictionary.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

from ..domains import Domain
from ..kernel.native import in_use
from .base import Rows
from .bounders import partitions
from .partition import TUNING as PARTITION
from .partition import BoxPartition


@dataclass(frozen=True)
class MemoryTuning:
    """How much is kept of one family.

    Parameters
    ----------
    most_sets
        Index sets whose boxes are remembered; the one asked about longest ago is forgotten first, also where one cell
        alone takes the memory that it may.
    most_grown
        Boxes are kept for other data until there are so many times as many as after the first search.
    """

    most_sets: int = 4
    most_grown: float = 2.0


TUNING = MemoryTuning()
Key = tuple[Domain, Hashable, bool]  # the set, the data, and whether the kernel encloses


@dataclass(frozen=True, eq=False)
class Partitions:
    """The boxes of an index set, cell by cell; they belong to the search that took them."""

    key: Key  # what they are about
    cells: list[BoxPartition]  # may be changed
    kind: type  # of what the rows are
    began: int = 0  # boxes after the first search, with whatever data

    @property
    def boxes(self) -> int:
        return sum(cell.n for cell in self.cells)


class Memory:
    """The boxes of the index sets asked about last, for one family."""

    def __init__(self) -> None:
        self._kept: dict[Key, Partitions] = {}

    def take(self, family: Rows, domain: Domain) -> Partitions:
        """The boxes of an earlier call, which are nobody else's from now on, or new ones."""
        key = (domain, family.data_key, in_use())
        found = self._kept.pop(key, None)
        return found or self._renewed(family, key) or self._new(family, key)

    def _new(self, family: Rows, key: Key) -> Partitions:
        return Partitions(key, partitions(family, key[0]), type(family.source))

    def _renewed(self, family: Rows, key: Key) -> Partitions | None:
        """The boxes that were split last for other data of such a family, unless they have become many."""
        for old in reversed(list(self._kept)):
            before = self._kept[old] if (old[0], old[2]) == (key[0], key[2]) else None
            if before is None or before.kind is not type(family.source):
                continue
            if self._kept.pop(old, None) is None or before.boxes > TUNING.most_grown * before.began:
                return None
            return Partitions(key, [cell.renewed(family, old[1]) for cell in before.cells], before.kind, before.began)
        return None

    def keep(self, kept: Partitions) -> None:
        """Put boxes back for the next call; what is not whole is dropped."""
        if not all(cell.whole for cell in kept.cells):
            return
        began = kept.began or kept.boxes
        self._kept[kept.key] = replace(kept, began=began)  # the last one is the one used last
        for oldest in list(self._kept)[:-1]:
            if len(self._kept) <= TUNING.most_sets and self.bytes <= PARTITION.most_bytes:
                break
            self._kept.pop(oldest, None)

    def forget(self) -> None:
        """Keep nothing: the next proof begins anew."""
        self._kept.clear()

    @property
    def boxes(self) -> int:
        """How many boxes are kept, over all index sets."""
        return sum(kept.boxes for kept in list(self._kept.values()))

    @property
    def bytes(self) -> int:
        """About how much memory their enclosures take."""
        kept = list(self._kept.values())
        return sum(cell.n * cell.row_bytes for partitions in kept for cell in partitions.cells)
