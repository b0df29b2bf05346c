"""What is known of an object for as long as it lives.

A table of values by object leaks as soon as one value refers, however indirectly, to its own object: the table holds
the value, the value holds the object, and no weak reference to the object ever ends. So no table holds values here.
They lie beside what they are about, in the object's own `__dict__`; a value that refers to its object is then a cycle
like any other, and the garbage collector takes both.

Python loses a Ctrl-C that comes while a finaliser runs, because nobody can catch what a finaliser raises. So the few
entries that must go when an object does go by callbacks that are compiled, in which no signal is handled; those of
`weakref.WeakKeyDictionary` are Python's.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial, wraps
from typing import Any, TypeVar
from weakref import ref

K = TypeVar("K")
V = TypeVar("V")
H = TypeVar("H", bound=Hashable)

_BESIDE = "_lsip_remembered"  # the entry of an object's `__dict__`


def departing(value: V, table: dict[H, Any], key: H) -> ref[V]:
    """A weak reference to a value; when the value goes, so does the entry of that key."""
    return ref(value, partial(table.pop, key))  # the reference itself is what `pop` gives where there is no entry


class _Beside:
    """What is known of one object; copies of the object, pickled ones too, start with nothing."""

    __slots__ = ("of", "values")

    def __init__(self, of: object = None) -> None:
        self.of = None if of is None else ref(of)
        self.values: dict[object, Any] = {}

    def __reduce__(self) -> tuple[type[_Beside], tuple[()]]:
        return _Beside, ()


def remembered(function: Callable[[K], V]) -> Callable[[K], V]:
    """A function of one object whose value is kept for as long as the object lives, whatever the object is equal to.

    A value may hold its object, and goes with it all the same. Objects need a `__dict__`.
    """

    @wraps(function)
    def known(key: K) -> V:
        beside = vars(key).get(_BESIDE)
        if beside is None or beside.of is None or beside.of() is not key:  # it was copied
            beside = vars(key)[_BESIDE] = _Beside(key)
        if known not in beside.values:
            beside.values[known] = function(key)
        value: V = beside.values[known]
        return value

    return known
