"""Kinds of arguments as annotations: of the fields of a configuration, and of what a function is given."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from functools import cache, partial, wraps
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    ParamSpec,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

from ..errors import ModelError
from .arguments import choice, file_name, flag, generator, real, whole, words
from .data import shown

Count = Annotated[int, partial(whole, least=0)]
Natural = Annotated[int, partial(whole, least=1)]
Share = Annotated[float, partial(real, meaning="is a share between 0 and 1", allowed=lambda v: 0 < v < 1)]
Positive = Annotated[float, partial(real, meaning="is a positive number", allowed=lambda v: v > 0)]
Distance = Annotated[float, partial(real, meaning="is a number >= 0", allowed=lambda v: v >= 0)]
Seconds = Annotated[float, partial(real, meaning="is a number of seconds", allowed=lambda v: v >= 0)]
Factor = Annotated[float, partial(real, meaning="is a factor above 1", allowed=lambda v: v > 1)]
Level = Annotated[float, partial(real, meaning="is a number", allowed=lambda v: v == v)]
Finite = Annotated[float, partial(real, meaning="is a finite number", allowed=lambda v: -np.inf < v < np.inf)]
Flag = Annotated[bool, flag]
Words = Annotated[str, words]
FileName = Annotated[str | os.PathLike[str], file_name]
RandomState: TypeAlias = np.random.SeedSequence | np.random.BitGenerator | np.random.Generator
Seed = Annotated[int | Sequence[int] | RandomState | None, generator]
P = ParamSpec("P")
R = TypeVar("R")


class Configuration:
    """A dataclass whose fields are what their annotations say: kinds of numbers, tuples of them, or configurations.

    Numbers of other libraries become Python's own.
    """

    def __post_init__(self) -> None:
        own: Any = type(self)
        for name, kind in _kinds(own).items():
            given = getattr(self, name)
            value = _check_field(name, given, kind)
            if value is not given:
                object.__setattr__(self, name, value)


@cache
def _kinds(configuration: type) -> dict[str, Any]:
    return get_type_hints(configuration, include_extras=True)


def _check_field(name: str, value: object, kind: Any) -> object:
    """A value of the kind that an annotation says; refuse all else."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is tuple:
        if not isinstance(value, tuple) or not value:
            raise ModelError(f"`{name}` is a tuple of numbers; got {shown(value)}.")
        if ... not in parts and len(value) != len(parts):
            raise ModelError(f"`{name}` is a tuple of {len(parts)} numbers; got {shown(value)}.")
        return tuple(_check_field(name, item, parts[0]) for item in value)
    if origin is Annotated:
        found = kind.__metadata__[0](name, value)
        return value if found is None else found
    if origin is Literal:
        choice(name, value, parts)
    elif origin in (Union, UnionType) and parts[-1] is NoneType:
        return None if value is None else _check_field(name, value, parts[0])
    elif not isinstance(value, kind):
        raise ModelError(f"`{name}` is {_named(kind)}; got {shown(value)}.")
    return value


def _named(kind: type) -> str:
    """How one gets an object of a class: by the name that the package gives it."""
    home = kind.__module__.partition(".")[0]
    return f"an lsip.solver.{kind.__name__}" if home == "lsip" else f"a {home}.{kind.__name__}"


def checked(**kinds: object) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A function that looks at some of its arguments first: by name, the kinds that they must be of.

    Kinds are those of this module, classes, words that may be chosen (`Literal`), and any of them `| None`. Numbers of
    other libraries become Python's own.

    >>> @checked(steps=Natural, way=Literal["up", "down"])
    ... def walk(steps, way="up"):
    ...     return steps if way == "up" else -steps
    >>> walk(3, "down")
    -3
    >>> walk(2.0)
    Traceback (most recent call last):
    lsip.errors.ModelError: `steps` must be a whole number, at least 1; got 2.0; write 2.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        order = list(inspect.signature(function).parameters)
        order += [name for name in kinds if name not in order]  # of a function of the user's, which takes *given
        places = [(order.index(name), name, kind) for name, kind in kinds.items()]

        @wraps(function)
        def inner(*given: P.args, **named: P.kwargs) -> R:
            values: list[Any] = list(given)
            for place, name, kind in places:
                if place < len(values):
                    values[place] = _check_field(name, values[place], kind)
                elif name in named:
                    named[name] = _check_field(name, named[name], kind)
            return function(*values, **named)

        return inner

    return decorate
