"""What a calculator gives."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lsip.legible import legibly


@dataclass(frozen=True)
class Bound:
    """A number that the theory gives, and where it comes from.

    >>> from rl.theory import optimistic_failure
    >>> print(optimistic_failure(8, 4, 1e-5))
    0.00512 probability [Theorem_Feasible, explicit constants]
    """

    value: float
    units: str
    theorem: str  # the label in the paper
    exact: bool  # whether the proof gives every constant; otherwise only the order of growth is known
    note: str

    def __float__(self) -> float:
        return self.value

    @legibly
    def __str__(self) -> str:
        plain = 1 <= self.value < 1e15 and self.value == round(self.value)
        number = f"{self.value:,.0f}" if plain else f"{self.value:.4g}"
        source = f"{self.theorem}, {'explicit constants' if self.exact else 'up to a constant'}"
        return f"{number} {self.units} [{source}]{': ' if self.note else ''}{self.note}"


def bounded(value: float, units: str, theorem: str, exact: bool = True, note: str = "") -> Bound:
    """A bound; one that no float holds says so."""
    if value == math.inf:
        note = "; ".join(filter(None, [note, "more than any float can hold"]))
    return Bound(value, units, theorem, exact, note)
