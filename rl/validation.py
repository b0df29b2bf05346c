"""What an option may be, checked in one place: every message says what was expected and what came."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

import lsip
from lsip.validation import NO_NUMBERS, numbers, real, whole
from lsip.validation import Seed as Seed
from lsip.validation import choice as choice
from lsip.validation import fits as fits
from lsip.validation import flag as flag
from lsip.validation import generator as check_seed
from lsip.validation import shown as described
from lsip.validation import words as words

Part = TypeVar("Part")

RANGES: dict[str, tuple[str, Callable[[float], bool]]] = {
    "finite": ("must be a finite number", lambda v: bool(np.isfinite(v))),
    "positive": ("must be positive", lambda v: 0 < v < np.inf),
    "nonnegative": ("must not be negative", lambda v: v >= 0),
    "amount": ("must be a number, not negative", lambda v: 0 <= v < np.inf),
    "share": ("must be between 0 and 1", lambda v: 0 <= v <= 1),
    "discount": ("must be at least 0 and below 1", lambda v: 0 <= v < 1),
    "logarithm": ("is the logarithm of a number, between -40 and 40", lambda v: -40 <= v <= 40),
    "probability": ("is a probability between 0 and 1", lambda v: 0 < v < 1),
}


def number(name: str, value: object, kind: str = "finite") -> float:
    """A number of one of these ranges, as Python's float."""
    return real(name, value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value, *RANGES[kind])


def count(name: str, value: object, least: int = 1) -> int:
    """An integer that is large enough."""
    return whole(name, value, least)


def work(name: str, value: object) -> int:
    """How much is to be done: a positive whole number, that a float can also be (1e6), if it can be counted up to."""
    amount = number(name, value, "positive")
    if amount > 2**53 or (amount != int(amount)):
        raise lsip.ModelError(f"`{name}` must be a whole number, at most 2**53; got {shown(value)}.")
    return int(amount)


def sizes(name: str, value: Sequence[int]) -> tuple[int, ...]:
    """The sizes of the layers of a network."""
    if not isinstance(value, list | tuple):
        raise lsip.ModelError(f"`{name}` are the sizes of layers, as in (64, 64); got {shown(value)}.")
    return tuple(count(name, size) for size in value)


def array(name: str, value: ArrayLike) -> NDArray[np.float64]:
    """Finite numbers, copied."""
    values = numbers(value, f"`{name}`", nan=True).copy()
    if not np.isfinite(values).all():
        raise lsip.ModelError(f"`{name}` must be finite; got nan or inf.")
    return values


def part(name: str, value: Part, method: str, example: str) -> Part:
    """An object with the method that it is needed for: not a name, a number or a class."""
    if isinstance(value, type) or not callable(getattr(value, method, None)):
        raise lsip.ModelError(f"`{name}` must have a method `{method}`, as {example} has; got {shown(value)}.")
    return value


def oracle(value: lsip.oracles.Oracle, name: str = "oracle") -> lsip.oracles.Oracle:
    """One of `lsip.oracles`, or an object with their method."""
    return part(name, value, "maximise", "lsip.oracles.RandomSearch(points=100)")


def seed(value: object) -> int:
    """The seed of a run; None draws one, so that the run can be repeated with the seed that it recorded."""
    if value is None:
        return int(np.random.default_rng().integers(2**31))
    if isinstance(value, NO_NUMBERS) or not isinstance(value, int | np.integer) or not 0 <= value < 2**63:
        raise lsip.ModelError(f"`seed` must be an integer, at least 0, or None for a random one; got {shown(value)}.")
    return int(value)


def generator(value: Seed) -> np.random.Generator:
    """A NumPy generator, from all that NumPy makes one of."""
    check_seed("seed", value)
    return np.random.default_rng(value)


def call(name: str, function: Callable[..., object], *arguments: str) -> None:
    """Refuse a function that cannot be called with these arguments; of compiled ones nothing is known."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*arguments)
    except TypeError:
        raise lsip.ModelError(
            f"`{name}` is called as {name}({', '.join(arguments)}); the one given takes {signature}."
        ) from None


def parameters(function: Callable[..., object]) -> tuple[str, ...]:
    """The names of a function's parameters; none where nothing is known of it."""
    try:
        return tuple(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return ()


def function(name: str, value: Callable[..., object] | None, *arguments: str) -> None:
    """Refuse what is not a function of so many arguments; None is none at all."""
    if value is not None and not callable(value):
        raise lsip.ModelError(f"`{name}` must be a function of {', '.join(arguments)}; got {shown(value)}.")
    if value is not None:
        call(name, value, *arguments)


def unused(whose: str, **options: object) -> None:
    """Refuse options that play no part here, rather than swallow them."""
    names = [f"`{name}`" for name, value in options.items() if value is not None]
    if names:
        them = "it" if len(names) == 1 else "them"
        raise lsip.ModelError(f"{' and '.join(names)} cannot be used with {whose}; leave {them} out.")


def shown(value: object) -> str:
    """A value for a message, in a few words."""
    if isinstance(value, type):
        return f"the class {value.__name__} (make one of it: {value.__name__}(…))"
    return described(value)
