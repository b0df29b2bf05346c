"""What the matrices of a model are called: the variable of Python that holds the same numbers, or a letter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from string import ascii_uppercase
from typing import Any
from weakref import ref

import numpy as np

from ..lifetime import departing
from ..validation import is_sparse

_PLAIN = {str, int, float, bool, type(None)}


@dataclass(frozen=True)
class Name:
    """What a matrix is called."""

    text: str
    typed: bool  # in Python; other names are letters of ours
    of: ref[Any]


_NAMES: dict[int, Name] = {}  # by the id of an array, while it lives


def called(matrix: object) -> Name | None:
    """The name of a matrix, if it has one."""
    name = _NAMES.get(id(matrix))
    return name if name is not None and name.of() is matrix else None


def name_matrices(statements: Iterable[object], *scopes: Mapping[str, object]) -> None:
    """Call the matrices of statements as the first scope does that knows them, and others A, B, C and so on."""
    found = [m for m in _matrices(statements) if called(m) is None]
    if not found:
        return
    known = {
        name: value
        for scope in reversed(scopes)
        for name, value in scope.items()
        if not name.startswith("_") and _is_matrix(value)
    }
    letters = (letter for letter in _letters() if letter not in known)
    for matrix in found:
        same = next((name for name, value in known.items() if _equal(matrix, value)), None)
        _call(matrix, same or next(letters), same is not None)


def names_in(statements: Iterable[object]) -> list[tuple[Any, str, bool]]:
    """The matrices of statements that have names, each with its name, and whether it was typed: for a copy."""
    return [(m, name.text, name.typed) for m in _matrices(statements) if (name := called(m)) is not None]


def recall(names: Iterable[tuple[Any, str, bool]]) -> None:
    """Call matrices as those were called of which they are copies."""
    for matrix, text, typed in names:
        _call(matrix, text, typed)


def _call(matrix: object, text: str, typed: bool) -> None:
    _NAMES[id(matrix)] = Name(text, typed, departing(matrix, _NAMES, id(matrix)))


def _letters() -> Iterator[str]:
    for round_ in count():
        yield from (letter + (str(round_) if round_ else "") for letter in ascii_uppercase)


def _matrices(statements: Iterable[object]) -> Iterator[Any]:
    """All matrices and long vectors that were typed, each once, in the order in which they are read."""
    waiting, seen = list(statements)[::-1], set[int]()
    while waiting and len(seen) < 400:  # operands in the order in which they are read
        item = waiting.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        origin: Any = item if type(item) in (tuple, list) else getattr(item, "origin", None)
        if origin is not None:
            waiting.extend(part for part in origin[::-1] if type(part) not in _PLAIN)
        elif _is_matrix(item):
            yield item


def _is_matrix(value: object) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "fiu" and (value.ndim > 1 or value.size > 6)  # longer vectors have names
    return is_sparse(value)


def _equal(matrix: Any, value: Any) -> bool:
    if matrix.shape != value.shape or is_sparse(matrix) != is_sparse(value):
        return False
    return (abs(matrix - value)).nnz == 0 if is_sparse(matrix) else np.array_equal(matrix, value)
