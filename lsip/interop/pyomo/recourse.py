"""Variables of a Pyomo model that are decision rules: polynomials of what they see, whose coefficients are columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import mul
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...expressions.decision_rule import DecisionRule
from ...expressions.rule import exponents_up_to
from .columns import Columns
from .comparison import Value


@dataclass(frozen=True, eq=False)
class Recourse:
    """A decision as a polynomial."""

    name: str
    seen: tuple[str, ...]
    exponents: NDArray[np.intp]  # (K, s)
    columns: tuple[int, ...]  # (K,), of the coefficients

    @staticmethod
    def of(name: str, seen: tuple[str, ...], degree: int, columns: Columns) -> Recourse:
        exponents = exponents_up_to(len(seen), degree)
        shape = DecisionRule(name, seen, np.zeros(len(exponents)), exponents)
        return Recourse(
            name, seen, exponents, tuple(columns.added(f"{name}: {shape.monomial(k)}") for k in range(len(exponents)))
        )

    def row(self, values: Sequence[Value]) -> dict[int, Value]:
        """The decision for what is seen, numbers or formulas, by column."""
        found: dict[int, Value] = {}
        for column, powers in zip(self.columns, self.exponents.tolist(), strict=True):
            factors = [v if e == 1 else v**e for v, e in zip(values, powers, strict=True) if e]
            found[column] = reduce(mul, factors) if factors else 1.0
        return found

    def found(self, x: NDArray[np.float64]) -> DecisionRule:
        """The rule with these values of all columns."""
        return DecisionRule(self.name, self.seen, x[list(self.columns)], self.exponents)


@dataclass(frozen=True, eq=False)
class Function:
    """A variable over ContinuousSets: a rule of the point for each member of its ordinary sets."""

    component: Any
    sets: tuple[Any, ...]  # the ContinuousSets, in order of position
    rules: dict[tuple[tuple[int, ...], tuple[Any, ...]], Recourse]  # by their positions in a key, and the rest of it

    def split(self, key: tuple[Any, ...]) -> tuple[Recourse, list[Any]]:
        """The rule for a key, and what stands in the key for the ContinuousSets; a KeyError where there is none."""
        for places in dict.fromkeys(places for places, _ in self.rules):
            rest = tuple(part for i, part in enumerate(key) if i not in places)
            if (places, rest) in self.rules:
                return self.rules[places, rest], [key[i] for i in places]
        raise KeyError(key)

    def row(self, data: Any) -> dict[int, Value]:
        """The decision at one of the points at which Pyomo has built the variable."""
        index = data.index()
        rule, values = self.split(index if isinstance(index, tuple) else (index,))
        return rule.row([float(v) for v in values])
