"""Multipliers of written rows that add up to what other rows say: a small system of least squares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ..proof.certificate import Array
from .active import TUNING, ActivePoint


@dataclass(frozen=True, eq=False)
class WrittenMultipliers:
    """Multipliers of written finite rows, costs that fixed variables pay for, and active points beside the others."""

    rows: Array
    costs: Array
    points: list[ActivePoint]


Use: TypeAlias = Callable[[WrittenMultipliers, float], None]  # where a multiplier goes


@dataclass(frozen=True, eq=False)
class MultiplierTerm:
    """A row (n + 1,) that may have a multiplier not below `least`, and what becomes of that."""

    row: Array
    least: float
    use: Use


def on_row(i: int, sign: float = 1.0) -> Use:
    """Of a finite row."""

    def use(found: WrittenMultipliers, value: float) -> None:
        found.rows[i] += sign * value

    return use


def on_bound(j: int, sign: float = 1.0) -> Use:
    """Of a bound, which reduced costs know."""

    def use(found: WrittenMultipliers, value: float) -> None:
        found.costs[j] += sign * value

    return use


def fitted(target: Array, terms: list[MultiplierTerm]) -> Array | None:
    """Multipliers of the terms that add up to the target; None where there are none."""
    from scipy.optimize import lsq_linear

    if not terms:
        return None
    table = np.array([term.row for term in terms])
    scale = np.abs(table).max(axis=1)
    scale[scale == 0] = 1.0
    least = np.array([term.least for term in terms])
    found = lsq_linear((table / scale[:, None]).T, target, (least, np.inf), tol=1e-14).x
    left = np.abs(found @ (table / scale[:, None]) - target).max()
    if left > TUNING.vanishing * np.abs(target).max():
        return None
    found[np.abs(found) <= TUNING.same * np.abs(found).max()] = 0.0
    return np.asarray(found / scale)
