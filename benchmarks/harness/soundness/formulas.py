"""Formulas as plain data: one tree that NumPy reads, for arrays and for lsip alike, and that the judge reads in balls.

A tree holds doubles and names of operations and nothing else, so that both readers mean the same function. What NumPy
would fold into a rounded constant, an operation on constants alone, is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

NUMPY: dict[str, Callable[..., Any]] = {
    "add": lambda u, v: u + v,
    "subtract": lambda u, v: u - v,
    "multiply": lambda u, v: u * v,
    "divide": lambda u, v: u / v,
    "negative": lambda u: -u,
    "power": lambda u, v: u**v,
    "square": np.square,
    "reciprocal": np.reciprocal,
    "absolute": np.abs,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "arctan2": np.arctan2,
    "hypot": np.hypot,
    "where_less": lambda u, v, a, b: np.where(u < v, a, b),
    "where_at_most": lambda u, v, a, b: np.where(u <= v, a, b),
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "arcsin": np.arcsin,
    "arccos": np.arccos,
    "arctan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "arcsinh": np.arcsinh,
    "arccosh": np.arccosh,
    "arctanh": np.arctanh,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "sinc": np.sinc,
    "deg2rad": np.deg2rad,
    "erf": special.erf,
    "erfc": special.erfc,
    "expit": special.expit,
}


@dataclass(frozen=True, repr=False)
class Formula:
    """A function of an index point y: an operation on formulas, a coordinate y[i], or a number."""

    op: str
    parts: tuple[Formula, ...] = ()
    number: float = 0.0  # of a "number"; the position i of a "coordinate"

    def __post_init__(self) -> None:
        if self.parts and not any(p.varies for p in self.parts):
            raise ValueError(f"{self.op} of numbers alone would be rounded by whoever reads it; compute it beforehand.")

    @property
    def varies(self) -> bool:
        """Whether it depends on the index point."""
        return self.op != "number"

    def __add__(self, other: Formula | float) -> Formula:
        return apply("add", self, other)

    def __sub__(self, other: Formula | float) -> Formula:
        return apply("subtract", self, other)

    def __mul__(self, other: Formula | float) -> Formula:
        return apply("multiply", self, other)

    def __truediv__(self, other: Formula | float) -> Formula:
        return apply("divide", self, other)

    def __pow__(self, other: Formula | float) -> Formula:
        return apply("power", self, other)

    def __radd__(self, other: float) -> Formula:
        return apply("add", other, self)

    def __rsub__(self, other: float) -> Formula:
        return apply("subtract", other, self)

    def __rmul__(self, other: float) -> Formula:
        return apply("multiply", other, self)

    def __rtruediv__(self, other: float) -> Formula:
        return apply("divide", other, self)

    def __rpow__(self, other: float) -> Formula:
        return apply("power", other, self)

    def __neg__(self) -> Formula:
        return apply("negative", self) if self.varies else number(-self.number)

    def __call__(self, coordinates: Sequence[Any]) -> Any:
        """The value for coordinates that are arrays of floats, or lsip's index expressions."""
        if self.op == "number":
            return self.number
        if self.op == "coordinate":
            return coordinates[int(self.number)]
        return NUMPY[self.op](*(p(coordinates) for p in self.parts))

    def __str__(self) -> str:
        if self.op == "number":
            return repr(self.number)
        if self.op == "coordinate":
            return f"y[{int(self.number)}]"
        return f"{self.op}({', '.join(map(str, self.parts))})"

    __repr__ = __str__


def number(value: float) -> Formula:
    """A constant."""
    return Formula("number", (), float(value))


def coordinate(i: int) -> Formula:
    """The function y -> y[i]."""
    return Formula("coordinate", (), float(i))


def apply(op: str, *parts: Formula | float) -> Formula:
    """An operation of the table on formulas and numbers."""
    return Formula(op, tuple(p if isinstance(p, Formula) else number(p) for p in parts))


def times(factor: float, u: Formula) -> Formula:
    """A multiple; that of a number is rounded here, once, so that all readers have the same double."""
    if factor == 1.0:
        return u
    return u * factor if u.varies else number(factor * u.number)


def total(terms: Sequence[Formula]) -> Formula:
    """The sum of formulas of which at most one is a number; zero when there are none."""
    if not terms:
        return number(0.0)
    result = terms[0]
    for term in terms[1:]:
        result = result + term
    return result
