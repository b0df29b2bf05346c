"""A master that lies: HiGHS, of whose answers some are spoilt at random, in every call and in every way."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import lsip
from lsip.masters import MasterResult
from lsip.masters.highs import HighsMaster

Lie = Callable[[MasterResult, random.Random], MasterResult]


def _raise(error: Exception) -> Lie:
    def lie(result: MasterResult, rng: random.Random) -> MasterResult:
        raise error

    return lie


def _spoil(field: str, by: float) -> Lie:
    def lie(result: MasterResult, rng: random.Random) -> MasterResult:
        values = np.array(getattr(result, field), dtype=float)
        if values.size:
            values.flat[rng.randrange(values.size)] = by
        return replace(result, **{field: values if values.ndim else float(values)})

    return lie


def _shake(field: str, size: float) -> Lie:
    def lie(result: MasterResult, rng: random.Random) -> MasterResult:
        noise = np.random.default_rng(rng.randrange(2**32))
        values = np.asarray(getattr(result, field), dtype=float)
        shaken = values + size * (1 + np.abs(values)) * noise.normal(size=values.shape)
        return replace(result, **{field: shaken if shaken.ndim else float(shaken)})

    return lie


FIELDS = ("z", "cut_multipliers", "row_multipliers", "reduced_costs", "objective", "slack")
LIES: dict[str, Lie] = {
    **{f"{field} {by}": _spoil(field, by) for field in FIELDS for by in (np.nan, np.inf, -np.inf, 1e300, -1.0)},
    **{f"{field} off by {size:g}": _shake(field, size) for field in FIELDS for size in (1e-9, 1e-6, 1e-3, 1.0)},
    "infeasible": lambda result, rng: replace(result, status="infeasible"),
    "optimal": lambda result, rng: replace(result, status="optimal"),
    "unknown status": lambda result, rng: replace(result, status="unbounded"),
    "no multipliers": lambda result, rng: replace(result, cut_multipliers=0 * result.cut_multipliers),
    "negative multipliers": lambda result, rng: replace(result, cut_multipliers=-result.cut_multipliers),
    "RuntimeError": _raise(RuntimeError("out of luck")),
    "ValueError": _raise(ValueError("no such column")),
    "ZeroDivisionError": _raise(ZeroDivisionError("float division by zero")),
    "MemoryError": _raise(MemoryError()),
    "out of time": _raise(lsip.OutOfTime("The solver ran out of time.")),
}


class LyingMaster:
    """Opens HiGHS, and spoils a share of what it says."""

    __name__ = "LyingMaster"

    def __init__(self, seed: int, share: float, kinds: tuple[str, ...] = tuple(LIES)) -> None:
        self.rng, self.share, self.kinds = random.Random(seed), share, kinds
        self.told: list[str] = []

    def __call__(
        self, c: Any, lower: Any, upper: Any, A: Any, row_lower: Any, row_upper: Any, tol: float, /
    ) -> _LyingProgram:
        return _LyingProgram(self, HighsMaster(c, lower, upper, A, row_lower, row_upper, tol))

    def spoil(self, call: str, answer: Any) -> Any:
        """The answer, or a lie."""
        if self.rng.random() >= self.share:
            return answer
        kind = self.rng.choice(self.kinds)
        if isinstance(answer, MasterResult):
            self.told.append(f"{call}: {kind}")
            return LIES[kind](answer, self.rng)
        if answer is not None:
            self.told.append(f"{call}: nan")
            return answer * np.nan
        return answer


class _LyingProgram:
    def __init__(self, liar: LyingMaster, honest: HighsMaster) -> None:
        self.liar, self.honest = liar, honest

    def add(self, rows: Any, rhs: Any) -> None:
        self.honest.add(rows, rhs)

    def drop(self, keep: Any) -> None:
        self.honest.drop(keep)

    def solve(self, margin: float) -> Any:
        return self.liar.spoil("solve", self.honest.solve(margin))

    def best_margin(self, most: float) -> Any:
        return self.liar.spoil("best_margin", self.honest.best_margin(most))

    def centre(self, margin: float) -> Any:
        return self.liar.spoil("centre", self.honest.centre(margin))
