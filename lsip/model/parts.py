"""What was compiled before: rows and families whose constraints are still there are not made again.

Parts are kept by whoever solves a model again, whatever values parameters have by now.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from ..oracles.memory import Memory
from .families import RowFamily
from .quantified import Groups, Quantified

Part = TypeVar("Part")


@dataclass(frozen=True)
class CompilationTuning:
    """How constraints are put together.

    Parameters
    ----------
    most_padded
        Coefficients up to which constraints over the same indices become one family, whose rows are all as wide as the
        widest; beyond, those of about the same width do.
    """

    most_padded: int = 100_000


TUNING = CompilationTuning()


class Parts:
    """What was compiled before, by what it was made of."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Any] = {}
        self.families: list[RowFamily] = []
        self.groups: Groups = ()
        self._apart = False

    def once(self, key: Hashable, make: Callable[[], Part]) -> Part:
        """What is known under that key, or is made now."""
        if key not in self._known:
            self._known[key] = make()
        found: Part = self._known[key]
        return found

    @contextmanager
    def apart(self) -> Iterator[None]:
        """While this lasts, constraints that are new have families of their own, and the others keep theirs."""
        self._apart = True
        try:
            yield
        finally:
            self._apart = False

    def arranged(self, groups: Groups) -> Groups:
        """These groups, or parts of them where new constraints stay apart."""
        return tuple(part for group in groups for part in self._parted(group)) if self._apart else groups

    def _parted(self, group: tuple[Quantified, ...]) -> Groups:
        """Families that were there, and one of what is new, which is put together with the last when it is as large.

        So every row is compiled again once for each doubling, and there are few families.
        """
        there = set(map(id, group))
        kept = [old for old in self.groups if all(id(c) in there for c in old)]
        known = {id(c) for old in kept for c in old}
        while kept and len(known) < len(group):
            new = tuple(c for c in group if id(c) not in known)
            if _rows(kept[-1]) > _rows(new):
                return (*kept, new)
            known -= set(map(id, kept.pop()))
        return tuple(kept) or (group,)

    def memory(self, group: tuple[Quantified, ...]) -> Memory:
        """The boxes of that family which had most of these constraints; none where they are new."""
        mine = set(map(id, group))
        shared = [sum(id(c) in mine for c in old) for old in self.groups]
        most = max(shared, default=0)
        return self.families[shared.index(most)].memory if most else Memory()

    def keep(self, keys: set[Hashable]) -> None:
        """Forget all others."""
        self._known = {key: part for key, part in self._known.items() if key in keys}

    def forget(self) -> None:
        """Families forget what was found out about them."""
        for family in self.families:
            family.memory.forget()


def grouped(members: Sequence[Quantified]) -> Groups:
    """Constraints over the same indices by the families that they share: all, unless that pads a lot."""
    widths = [m.constraint.body.width for m in members]
    widest = max(widths)
    if _rows(members) * widest <= TUNING.most_padded:
        return (tuple(members),)
    found: dict[int, list[Quantified]] = {}
    for member, width in zip(members, widths, strict=True):
        found.setdefault(width.bit_length(), []).append(member)  # less than half of a row is padding
    return tuple(map(tuple, found.values()))


def _rows(members: Sequence[Quantified]) -> int:
    return sum(m.constraint.body.size for m in members)
