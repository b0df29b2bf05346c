"""Numbers that change while a run goes on: a number, or a function of the share of the run that is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from . import validation
from .errors import code_of

Schedule = float | Callable[[float], float]


@dataclass(frozen=True)
class Linear:
    """A linear schedule from one number to another."""

    start: float
    end: float = 0.0

    def __post_init__(self) -> None:
        validation.number("start", self.start)
        validation.number("end", self.end)

    def __call__(self, share: float) -> float:
        return self.start + validation.number("share", share) * (self.end - self.start)


def check(name: str, value: Schedule, kind: str = "positive") -> Schedule:
    """A number of that kind, or a function of the share that is done."""
    if callable(value) and not isinstance(value, type):
        validation.call(name, value, "share")
        return value
    return validation.number(name, value, kind)


def at(name: str, value: Schedule, share: float, kind: str = "amount") -> float:
    """What it is when this share of a run is done: a number of that kind, whatever a function says."""
    if not callable(value):
        return value
    with code_of(f"The schedule `{name}({share:.4g})`"):
        rate = value(share)
    return validation.number(f"{name}({share:.4g})", rate, kind)
