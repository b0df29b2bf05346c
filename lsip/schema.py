"""Plain data from files: what it must look like is declared, and checked before anything is made of it.

A schema is a function that says whether a value will do, a list with the schema of all items, a tuple with one for each
item, a dictionary with those of all fields, `Either`, or `Tagged`: a dictionary whose fields depend on the word in one
of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, TypeAlias

from .errors import ModelError

__all__ = [
    "Either",
    "Schema",
    "Tagged",
    "anything",
    "conform",
    "demand",
    "double",
    "flag",
    "missing",
    "number",
    "text",
    "whole",
]


@dataclass(frozen=True)
class Either:
    """One of two."""

    first: Schema
    second: Schema


@dataclass(frozen=True)
class Tagged:
    """Dictionaries of several kinds: the field `tag` says which, and the others are those of that kind."""

    tag: str
    kinds: Mapping[str, Mapping[str, Schema]]


Schema: TypeAlias = Callable[[object], bool] | list[Any] | tuple[Any, ...] | dict[str, Any] | Either | Tagged


def number(value: object) -> bool:
    """A number that is a double."""
    if isinstance(value, float):
        return isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= 2**53


def double(value: object) -> bool:
    """A number, an infinity or nan."""
    return isinstance(value, float) or (isinstance(value, int) and not isinstance(value, bool) and abs(value) <= 2**53)


def whole(value: object) -> bool:
    """A whole number, not negative."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


def text(value: object) -> bool:
    """Words."""
    return isinstance(value, str)


def flag(value: object) -> bool:
    """True or false."""
    return isinstance(value, bool)


def anything(value: object) -> bool:
    """Anything: it has a schema of its own."""
    return True


def missing(value: object) -> bool:
    """Nothing."""
    return value is None


def demand(ok: object, why: str) -> None:
    """Refuse data that contradict themselves."""
    if not ok:
        raise ModelError(why)


def conform(value: object, schema: Schema, where: str = "the file") -> None:
    """Refuse what a schema does not allow, and say where it stands."""
    if isinstance(schema, list):
        if not isinstance(value, list):
            raise ModelError(f"{where} must be a list; got {_shown(value)}.")
        one = schema[0]
        for i, item in enumerate(value):
            if not callable(one) or not one(item):  # long lists are those of numbers
                conform(item, one, f"{where}[{i}]")
    elif isinstance(schema, tuple):
        if not isinstance(value, list) or len(value) != len(schema):
            raise ModelError(f"{where} must be a list of {len(schema)}; got {_shown(value)}.")
        for i, (item, one) in enumerate(zip(value, schema, strict=True)):
            conform(item, one, f"{where}[{i}]")
    elif isinstance(schema, Tagged):
        kind = value.get(schema.tag) if isinstance(value, dict) else None
        if not isinstance(kind, str) or kind not in schema.kinds:
            raise ModelError(f"{where} must have `{schema.tag}`, a word that is known here; got {_shown(kind)}.")
        conform(value, {schema.tag: text, **schema.kinds[kind]}, where)
    elif isinstance(schema, dict):
        if not isinstance(value, dict) or set(value) != set(schema):
            found = ", ".join(value) if isinstance(value, dict) else value
            raise ModelError(f"{where} must have the fields {', '.join(schema)}; got {_shown(found)}.")
        for name, part in schema.items():
            conform(value[name], part, f"{where}.{name}")
    elif isinstance(schema, Either):
        try:
            conform(value, schema.first, where)
        except ModelError:
            if isinstance(value, dict) and isinstance(schema.first, dict) and set(value) == set(schema.first):
                raise  # one of the fields is wrong, and not the choice
            conform(value, schema.second, where)
    elif not schema(value):
        raise ModelError(f"{where} must be {(schema.__doc__ or '').lower().rstrip('.')}; got {_shown(value)}.")


def _shown(value: object, most: int = 60) -> str:
    found = repr(value)
    return found if len(found) <= most else f"{found[:most]}…"
