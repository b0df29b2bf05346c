"""What arguments must be: one function for each kind, one sentence for each mistake."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

from .errors import ModelError


def whole(name: str, value: Any, least: int) -> None:
    """Refuse what is not a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        hint = f"; write {int(value)}" if isinstance(value, float) and value.is_integer() and value >= least else ""
        raise ModelError(f"`{name}` must be a whole number, at least {least}; got {value!r}{hint}.")


def real(name: str, value: Any, meaning: str, allowed: Callable[[float], bool]) -> None:
    """Refuse what is not a number that is `allowed`; `meaning` says what it should be."""
    if isinstance(value, bool) or not isinstance(value, Real) or not allowed(float(value)):
        raise ModelError(f"`{name}` {meaning}; got {value!r}.")
