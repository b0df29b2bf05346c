"""What is known of an object for as long as it lives.

Python loses a Ctrl-C that comes while a finaliser runs, because nobody can catch what a finaliser raises. So entries go
by callbacks that are compiled, in which no signal is handled; those of `weakref.WeakKeyDictionary` are Python's.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from typing import Any, Generic, TypeVar
from weakref import ref

K = TypeVar("K")
V = TypeVar("V")
H = TypeVar("H", bound=Hashable)


def departing(value: V, table: dict[H, Any], key: H) -> ref[V]:
    """A weak reference to a value; when the value goes, so does the entry of that key."""
    return ref(value, partial(table.pop, key))  # the reference itself is what `pop` gives where there is no entry


class Remembered(Generic[K, V]):
    """Values by object, whatever its equality; a value must not hold its object."""

    def __init__(self) -> None:
        self._entries: dict[int, tuple[ref[K], V]] = {}

    def __contains__(self, key: K) -> bool:
        return id(key) in self._entries

    def __getitem__(self, key: K) -> V:
        return self._entries[id(key)][1]

    def __setitem__(self, key: K, value: V) -> None:
        self._entries[id(key)] = departing(key, self._entries, id(key)), value
