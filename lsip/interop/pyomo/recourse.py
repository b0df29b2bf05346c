"""Variables of a Pyomo model that are decision rules: polynomials of what they see, or affine in pieces.

Their coefficients are columns. What of an entry lies in a piece is a number where the entry is one; where it is a
formula, it is a coordinate of the index with its parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import mul
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...expressions.decision_rule import DecisionRule, EntrySlice
from ...expressions.folds import Pieces, breaks_of, fold, refuse_outside
from ...expressions.graph import Index
from ...expressions.rule import exponents_up_to
from .columns import Columns
from .comparison import Value

Lift = Callable[[int, Value], Sequence[Value]]  # the parts of an entry, which is a formula, as formulas


@dataclass(frozen=True, eq=False)
class Bends:
    """What of the entries of rules lies in which pieces: between which numbers, and as formulas."""

    parts: tuple[EntrySlice, ...]
    lift: Lift

    @staticmethod
    def none() -> Bends:
        return Bends((), lambda entry, value: ())

    @staticmethod
    def along(indices: tuple[Index, ...], pieces: Pieces) -> Bends:
        """Those of indices that are numbers, one after the other."""
        breaks = [breaks_of(i, pieces) for i in indices]
        ends = (np.concatenate([getattr(i.domain, end) for i in indices]) for end in ("lower", "upper"))
        refuse_outside(pieces, ", ".join(i.name for i in indices), *ends)

        def lift(entry: int, value: Value) -> Sequence[Value]:
            if not any(breaks[entry]):
                return ()
            assert isinstance(value, Index)
            found = fold(value, breaks[entry])
            return [found.part(place) for place in found.parts(0).tolist()]

        folds = [(j, fold(i, b)) for j, (i, b) in enumerate(zip(indices, breaks, strict=True)) if any(b)]
        return Bends(tuple(EntrySlice(j, *ends) for j, found in folds for ends in found.limits(0)), lift)


@dataclass(frozen=True, eq=False)
class Recourse:
    """A decision as a polynomial, or as an affine function in pieces."""

    name: str
    seen: tuple[str, ...]
    exponents: NDArray[np.intp]  # (K, s)
    columns: tuple[int, ...]  # of the coefficients: (K,), then of the parts
    bends: Bends

    @staticmethod
    def of(name: str, seen: tuple[str, ...], degree: int, columns: Columns, bends: Bends) -> Recourse:
        exponents = exponents_up_to(len(seen), degree)
        count = len(exponents) + len(bends.parts)
        shape = DecisionRule(name, seen, np.zeros(count), exponents, bends.parts)
        return Recourse(
            name, seen, exponents, tuple(columns.added(f"{name}: {shape.monomial(k)}") for k in range(count)), bends
        )

    def row(self, values: Sequence[Value]) -> dict[int, Value]:
        """The decision for what is seen, numbers or formulas, by column."""
        found: list[Value] = []
        for powers in self.exponents.tolist():
            factors = [v if e == 1 else v**e for v, e in zip(values, powers, strict=True) if e]
            found.append(reduce(mul, factors) if factors else 1.0)
        for entry, value in enumerate(values):
            if isinstance(value, float):
                own = [part for part in self.bends.parts if part.entry == entry]
                found += [float(np.clip(value, part.lower, part.upper)) - part.lower for part in own]
            else:
                found += self.bends.lift(entry, value)
        return dict(zip(self.columns, found, strict=True))

    def found(self, x: NDArray[np.float64]) -> DecisionRule:
        """The rule with these values of all columns."""
        return DecisionRule(self.name, self.seen, x[list(self.columns)], self.exponents, self.bends.parts)


@dataclass(frozen=True, eq=False)
class RecourseFunction:
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
