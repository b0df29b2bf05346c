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
from .cover import TUNING as COVER
from .cover import Cover
from .directed_cover import covers


@dataclass(frozen=True)
class MemoryTuning:
    """How much is kept of one family.

    Parameters
    ----------
    most_sets
        Index sets whose boxes are remembered; the one asked about longest ago is forgotten first, also where one cover
        alone takes the memory that it may.
    most_grown
        Boxes are kept for other data until there are so many times as many as after the first search.
    """

    most_sets: int = 4
    most_grown: float = 2.0


TUNING = MemoryTuning()
Key = tuple[Domain, Hashable, bool]  # the set, the data, and whether the kernel encloses


@dataclass(frozen=True, eq=False)
class Partition:
    """Covers of an index set, one for each of its cells; they belong to the search that took them."""

    key: Key  # what they are about
    covers: list[Cover]  # may be changed
    kind: type  # of the family
    began: int = 0  # boxes after the first search, with whatever data

    @property
    def boxes(self) -> int:
        return sum(cover.n for cover in self.covers)


class Memory:
    """The covers of the index sets asked about last, for one family."""

    def __init__(self) -> None:
        self._kept: dict[Key, Partition] = {}

    def take(self, family: Rows, domain: Domain) -> Partition:
        """The covers of an earlier call, which are nobody else's from now on, or new ones."""
        key = (domain, family.data_key, in_use())
        found = self._kept.pop(key, None)
        return found or self._renewed(family, key) or self._new(family, key)

    def _new(self, family: Rows, key: Key) -> Partition:
        return Partition(key, covers(family, key[0]), type(family))

    def _renewed(self, family: Rows, key: Key) -> Partition | None:
        """The boxes that were split last for other data of such a family, unless they have become many."""
        for old in reversed(list(self._kept)):
            before = self._kept[old] if (old[0], old[2]) == (key[0], key[2]) else None
            if before is None or before.kind is not type(family):
                continue
            if self._kept.pop(old, None) is None or before.boxes > TUNING.most_grown * before.began:
                return None
            return Partition(key, [cover.renewed(family, old[1]) for cover in before.covers], before.kind, before.began)
        return None

    def keep(self, partition: Partition) -> None:
        """Put covers back for the next call; what is not whole is dropped."""
        if not all(cover.whole for cover in partition.covers):
            return
        began = partition.began or partition.boxes
        self._kept[partition.key] = replace(partition, began=began)  # the last one is the one used last
        for oldest in list(self._kept)[:-1]:
            if len(self._kept) <= TUNING.most_sets and self.bytes <= COVER.most_bytes:
                break
            self._kept.pop(oldest, None)

    def forget(self) -> None:
        """Keep nothing: the next proof begins anew."""
        self._kept.clear()

    @property
    def boxes(self) -> int:
        """How many boxes are kept, over all index sets."""
        return sum(partition.boxes for partition in list(self._kept.values()))

    @property
    def bytes(self) -> int:
        """About how much memory their enclosures take."""
        kept = list(self._kept.values())
        return sum(cover.n * cover.row_bytes for partition in kept for cover in partition.covers)
