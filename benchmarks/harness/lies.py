"""Solvers that lie: of their answers some are spoilt at random, in every call and in every way."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

import lsip
from lsip.masters import MasterResult, open_master
from lsip.masters.base import FiniteResult

Lie = Callable[[Any, random.Random], Any]


def _raise(error: Exception) -> Lie:
    def lie(result: Any, rng: random.Random) -> Any:
        raise error

    return lie


def _spoil(field: str, by: float) -> Lie:
    def lie(result: Any, rng: random.Random) -> Any:
        if getattr(result, field) is None:
            return result
        values = np.array(getattr(result, field), dtype=float)
        if values.size:
            values.flat[rng.randrange(values.size)] = by
        return replace(result, **{field: values if values.ndim else float(values)})

    return lie


def _shake(field: str, size: float) -> Lie:
    def lie(result: Any, rng: random.Random) -> Any:
        if getattr(result, field) is None:
            return result
        noise = np.random.default_rng(rng.randrange(2**32))
        values = np.asarray(getattr(result, field), dtype=float)
        shaken = values + size * (1 + np.abs(values)) * noise.normal(size=values.shape)
        return replace(result, **{field: shaken if shaken.ndim else float(shaken)})

    return lie


def _say(field: str, value: Any) -> Lie:
    return lambda result, rng: replace(result, **{field: value})


def _numbers(*names: str) -> dict[str, Lie]:
    """Lies about numbers."""
    return {
        **{f"{field} {by}": _spoil(field, by) for field in names for by in (np.nan, np.inf, -np.inf, 1e300, -1.0)},
        **{f"{field} off by {size:g}": _shake(field, size) for field in names for size in (1e-9, 1e-6, 1e-3, 1.0)},
    }


ERRORS: dict[str, Lie] = {
    "RuntimeError": _raise(RuntimeError("out of luck")),
    "ValueError": _raise(ValueError("no such column")),
    "ZeroDivisionError": _raise(ZeroDivisionError("float division by zero")),
    "MemoryError": _raise(MemoryError()),
    "out of time": _raise(lsip.OutOfTime("The solver ran out of time.")),
}
LIES: dict[str, Lie] = {
    **_numbers("z", "cut_multipliers", "row_multipliers", "reduced_costs", "objective", "slack"),
    "infeasible": _say("status", "infeasible"),
    "optimal": _say("status", "optimal"),
    "unknown status": _say("status", "unbounded"),
    "no multipliers": lambda result, rng: replace(result, cut_multipliers=0 * result.cut_multipliers),
    "negative multipliers": lambda result, rng: replace(result, cut_multipliers=-result.cut_multipliers),
    **ERRORS,
}
PROGRAM_LIES: dict[str, Lie] = {
    **_numbers("x", "multipliers", "bound"),
    **{status: _say("status", status) for status in ("optimal", "infeasible", "unbounded", "limit", "numeric")},
    "no point": _say("x", None),
    "no multipliers": _say("multipliers", None),
    "negative multipliers": lambda result, rng: replace(
        result, multipliers=None if result.multipliers is None else -result.multipliers
    ),
    "other values": lambda result, rng: replace(result, x=None if result.x is None else result.x + rng.choice((-1, 1))),
    "too short": lambda result, rng: replace(result, x=None if result.x is None else result.x[:-1]),
    **ERRORS,
}
KINDS: dict[type, dict[str, Lie]] = {MasterResult: LIES, FiniteResult: PROGRAM_LIES}


class Liar:
    """Spoils a share of what is said, and remembers what it told; of some `kinds` only, where they are named."""

    def __init__(self, seed: int, share: float, kinds: tuple[str, ...] = ()) -> None:
        self.rng, self.share, self.kinds = random.Random(seed), share, kinds
        self.told: list[str] = []

    def spoil(self, call: str, answer: Any) -> Any:
        """The answer, or a lie."""
        if self.rng.random() >= self.share:
            return answer
        if type(answer) in KINDS:
            known = KINDS[type(answer)]
            kind = self.rng.choice(self.kinds or tuple(known))
            self.told.append(f"{call}: {kind}")
            return known[kind](answer, self.rng)
        if answer is not None:
            self.told.append(f"{call}: nan")
            return answer * np.nan
        return answer


class LyingMaster(Liar):
    """Opens an honest master and spoils a share of what it says."""

    __name__ = "LyingMaster"

    def __init__(self, seed: int, share: float, kinds: tuple[str, ...] = (), honest: str = "highs") -> None:
        super().__init__(seed, share, kinds)
        self.honest = open_master(honest)

    def __call__(
        self, c: Any, lower: Any, upper: Any, A: Any, row_lower: Any, row_upper: Any, tol: float, /
    ) -> _LyingProgram:
        return _LyingProgram(self, self.honest(c, lower, upper, A, row_lower, row_upper, tol))


class _LyingProgram:
    def __init__(self, liar: LyingMaster, honest: Any) -> None:
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


@contextmanager
def lying(liar: Liar, *solvers: type) -> Iterator[None]:
    """While this lasts, `solve` of these classes is what the liar makes of it."""
    honest: list[Any] = [solver.solve for solver in solvers]  # type: ignore[attr-defined]

    def spoilt(method: Any) -> Any:
        return lambda self, *given, **named: liar.spoil("solve", method(self, *given, **named))

    try:
        for solver, method in zip(solvers, honest, strict=True):
            solver.solve = spoilt(method)  # type: ignore[attr-defined]
        yield
    finally:
        for solver, method in zip(solvers, honest, strict=True):
            solver.solve = method  # type: ignore[attr-defined]
