"""Arguments of one kind each: a function for each kind, one sentence for each mistake."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, TypeGuard

import numpy as np

from ..errors import LSIPError, ModelError
from .data import NO_NUMBERS, fits, is_sparse, shown


def whole(name: str, value: object, least: int) -> int:
    """A whole number of at least `least`, as Python's int; refuse all else."""
    if isinstance(value, NO_NUMBERS) or not isinstance(value, Integral) or value < least:
        hint = f"; write {int(value)}" if isinstance(value, float) and value.is_integer() and value >= least else ""
        raise ModelError(f"`{name}` must be a whole number, at least {least}; got {shown(value)}{hint}.")
    return int(value)


def real(name: str, value: object, meaning: str, allowed: Callable[[float], bool]) -> float:
    """A number that is `allowed`, as Python's float; refuse all else. `meaning` says what it should be."""
    number = double(value)
    if number != number or not allowed(number):
        raise ModelError(f"`{name}` {meaning}; got {shown(value)}.")
    return number


def double(value: object) -> float:
    """The nearest double, or nan where it is too large for one, or no number at all."""
    if isinstance(value, NO_NUMBERS) or not isinstance(value, Real):
        return np.nan
    try:
        return float(value)
    except OverflowError:
        return np.nan


def flag(name: str, value: object) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, bool | np.bool_):
        raise ModelError(f"`{name}` is True or False; got {shown(value)}.")


def truth(name: str, value: object) -> bool:
    """Whether a function of the user's says yes; refuse what is neither yes nor no, as arrays of several."""
    try:
        return bool(value)
    except LSIPError:
        raise
    except Exception as error:  # of a foreign class
        raise ModelError(f"`{name}` gives True or False; got {shown(value)}: {error}") from None


def choice(name: str, value: object, among: Sequence[str]) -> None:
    """Refuse what is none of some words."""
    if not isinstance(value, str) or value not in among:
        named = (
            " or ".join(f'"{word}"' for word in among) if len(among) == 2 else f"one of {', '.join(map(repr, among))}"
        )
        raise ModelError(f"`{name}` is {named}; got {shown(value)}.")


def words(name: str, value: object) -> None:
    """Refuse what is no text."""
    if not isinstance(value, str):
        raise ModelError(f"`{name}` must be text; got {shown(value)}.")


def title(what: str, value: object) -> str:
    """The name of `what`; refuse what is no text, and text that nobody sees."""
    if not isinstance(value, str) or not value.strip():
        raise ModelError(f"The name of {what} is text, not blank; got {shown(value)}.")
    return value


def members(name: str, value: object, what: str) -> Iterable[Any]:
    """What a list holds, one by one, as it may be endless; refuse what cannot be gone through, and text."""
    text, alone = isinstance(value, str | bytes), getattr(value, "shape", None) == ()
    if text or alone or is_sparse(value) or not isinstance(value, Iterable):
        raise ModelError(f"`{name}` must be a list of {what}; got {type(value).__name__}. Put it in a list.")
    return value


def shape_of(value: object, what: str) -> tuple[int, ...]:
    """The shape of `what` is declared: a number, or several."""
    given = tuple(value) if isinstance(value, tuple | list) else (value,)
    if not all(isinstance(s, int | np.integer) and not isinstance(s, NO_NUMBERS) and s >= 1 for s in given):
        raise ModelError(f"{what} needs a positive whole size along every axis; got shape {shown(value)}.")
    shape = tuple(map(int, given))
    fits(what, *shape)
    return shape


def is_mapping(value: object) -> TypeGuard[Mapping[Any, Any]]:
    """Whether it is a dictionary or the like; sparse matrices of one format say that they are."""
    return isinstance(value, Mapping) and not is_sparse(value)


def having(name: str, value: object, method: str, example: str) -> None:
    """Refuse what has not the method that it is needed for: names, numbers, classes."""
    if isinstance(value, type) or not callable(getattr(value, method, None)):
        raise ModelError(f"`{name}` must have a method `{method}`, as {example} has; got {shown(value)}.")


def answer(name: str, function: Callable[..., Any], *arguments: object) -> Any:
    """What a function of the user's says; it is refused where it cannot be called with such arguments.

    Errors that come from inside of it are the user's own, and pass.
    """
    try:
        return function(*arguments)
    except Exception as error:
        inside = error.__traceback__ is not None and error.__traceback__.tb_next is not None
        if inside or isinstance(error, LSIPError):
            raise
        raise ModelError(
            f"`{name}` is called with {_numbered(len(arguments))}; {shown(function)} refuses: {error}."
        ) from error


def _numbered(count: int) -> str:
    return "one argument" if count == 1 else f"{count} arguments"


def file_name(name: str, value: object) -> None:
    """Refuse what cannot be the name of a file, there or not."""
    if not isinstance(value, str | os.PathLike):
        raise ModelError(f"`{name}` must be the name of a file; got {shown(value)}.")
    try:
        os.stat(value)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, ValueError) as error:  # too long a name, or one with a zero in it
        why = error.strerror if isinstance(error, OSError) else error
        raise ModelError(f"{shown(value)} cannot be the name of a file: {why}.") from None


def generator(name: str, value: object) -> None:
    """Refuse what NumPy makes no random numbers of."""
    allowed = (int, np.integer, np.random.SeedSequence, np.random.BitGenerator, np.random.Generator)
    integers = type(value) is np.ndarray and value.ndim == 1 and value.dtype.kind in "iu"
    several: Any = value if integers or isinstance(value, list | tuple) else [value]
    for item in several if value is not None else ():
        negative = isinstance(item, int | np.integer) and item < 0
        if not isinstance(item, allowed) or isinstance(item, NO_NUMBERS) or negative:
            raise ModelError(f"`{name}` must be an integer, at least 0, None or a NumPy generator; got {shown(value)}.")
