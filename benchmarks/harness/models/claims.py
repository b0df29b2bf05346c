"""What was published of a model, how an answer is compared with it, and the list of all models."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Build = Callable[[], Any]
PRINTED = 1e-5  # relative rounding of values that were printed to six digits


@dataclass(frozen=True)
class Claim:
    """A published statement about the optimum.

    `kind` is one of ``"value"`` (the optimum, within a relative error; absolute where it is 0), ``"grid"`` (the value
    on a grid: the optimum of a minimum is not below it, and above by a limited share), ``"above"`` and ``"below"`` (on
    which side of a number the optimum is), ``"infeasible"``, ``"unbounded"``, ``"refused"`` (the model
    has no meaning) and ``"none"``.
    """

    kind: str = "none"
    number: float = math.nan
    within: float = 0.0

    def kept(self, status: str, value: float, lower: float, upper: float) -> bool | None:
        """Whether an answer agrees with the claim; None where nothing was claimed."""
        if self.kind == "none":
            return None
        if self.kind == "refused":
            return status == "REFUSED"
        if self.kind in ("infeasible", "unbounded"):
            return status == self.kind.upper()
        if status in ("INFEASIBLE", "UNBOUNDED", "REFUSED") or not math.isfinite(value):
            return False
        if self.kind == "above":
            return lower > self.number
        if self.kind == "below":
            return upper < self.number
        size = abs(self.number) or 1.0
        low = PRINTED if self.kind == "grid" else self.within
        return -low * size <= value - self.number <= self.within * size

    def __str__(self) -> str:
        if self.kind == "value":
            return f"{self.number:.10g}"
        return f"{self.kind} {self.number:.6g}" if self.kind in ("grid", "above", "below") else self.kind


@dataclass(frozen=True)
class Model:
    """A published model: `build` gives a fresh problem, of lsip or of its CVXPY door."""

    name: str
    source: str
    claim: Claim
    build: Build
    note: str = ""


MODELS: dict[str, Model] = {}

NOTHING = Claim()
INFEASIBLE, UNBOUNDED, REFUSED = Claim("infeasible"), Claim("unbounded"), Claim("refused")


def value(number: float, within: float) -> Claim:
    return Claim("value", number, within)


def grid(number: float, within: float) -> Claim:
    return Claim("grid", number, within)


def above(number: float) -> Claim:
    return Claim("above", number)


def below(number: float) -> Claim:
    return Claim("below", number)


def published(name: str, source: str, claim: Claim = NOTHING, note: str = "") -> Callable[[Build], Build]:
    """Put the decorated function on the list; it gives a fresh problem on every call."""

    def register(build: Build) -> Build:
        if name in MODELS:
            raise ValueError(f"There are two models called {name}.")
        MODELS[name] = Model(name, source, claim, build, note)
        return build

    return register
