"""Numbers that are known to lie between two doubles, as integrals are: whoever proves something, proves it for all.

They enter a model wherever numbers do. A finite row or an objective with one of them is no row of doubles, and is
compiled to a row of a family over one point, whose coefficients are enclosed like those at any index point; unless they
are fractions that become whole numbers together.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from math import prod
from typing import Any, ClassVar

import numpy as np

from ..schema import Either, Schema, demand, missing
from ..validation import kept
from .graph import NUMBERS, PLACES, Constant, Expression, Fields, Part, Pass, ProofSteps, Step
from .interval import Array, Interval
from .jets import Jet, Numbers
from .printing import Origin
from .ring import NotPolynomialError, Ring, Terms

MOST_DIGITS = 4_000  # of a fraction: Python reads no more than 4,300
_FRACTION = re.compile(r"-?[0-9]+(/0*[1-9][0-9]*)?")


def fraction(value: object) -> bool:
    """A fraction, such as "-1/3"."""
    return isinstance(value, str) and len(value) <= MOST_DIGITS and bool(_FRACTION.fullmatch(value))


def _short(v: Fraction) -> bool:
    """Whether a fraction has not too many digits; one takes more than three bits."""
    return v.numerator.bit_length() + v.denominator.bit_length() < 3 * (MOST_DIGITS - 4)


_EXACT: Schema = Either([fraction], missing)


class Enclosed(Expression):
    """Numbers between `lower` and `upper`, element by element; `exact` are the same, flat, where they are fractions."""

    op = "between"
    schema: ClassVar[Fields] = {
        "shape": PLACES,
        "lower": NUMBERS,
        "upper": NUMBERS,
        "exact": Either([fraction], missing),
    }

    def __init__(self, lower: Array, upper: Array, exact: Sequence[Fraction] | None = None) -> None:
        self.lower, self.upper, self.exact = kept(lower), kept(upper), exact
        self.value = kept(np.clip(0.5 * lower + 0.5 * upper, lower, upper))
        self.shape = lower.shape
        self.origin = ("constant", self.value)

    def forward(self, args: list[Jet[Numbers]], run: Pass) -> Jet[Numbers]:
        if not isinstance(run.y, Interval):
            return Jet(self.value.reshape(1, -1))
        return Jet(Interval(self.lower.reshape(1, -1), self.upper.reshape(1, -1)))

    def key(self) -> tuple[Any, ...] | None:
        return (self.shape, self.lower.tobytes(), self.upper.tobytes())

    def typed(self, k: int, part: Part) -> Origin:
        return ("constant", self.value.ravel()[k])

    def file_data(self) -> Step | None:
        if not all(_short(v) for v in self.exact or ()):
            return None
        exact = None if self.exact is None else [str(v) for v in self.exact]
        return {"lower": self.lower.ravel().tolist(), "upper": self.upper.ravel().tolist(), "exact": exact}

    @classmethod
    def read(cls, step: Step, args: list[Expression], where: str) -> Expression:
        lower, upper = (np.array(step[end], dtype=float) for end in ("lower", "upper"))
        shape, exact = tuple(step["shape"]), None if step["exact"] is None else [Fraction(v) for v in step["exact"]]
        fits = len(lower) == len(upper) == prod(shape) == (len(lower) if exact is None else len(exact))
        demand(fits, f"{where} has another number of values than its shape says.")
        ordered = all(a <= v <= b for a, v, b in zip(lower, exact or lower, upper, strict=True))
        said = f"{where} needs `lower` below `upper`, and what is exact between them."
        demand(ordered and (lower <= upper).all(), said)
        return Enclosed(lower.reshape(shape), upper.reshape(shape), exact)

    def proven(self, steps: ProofSteps, args: list[list[int]]) -> list[int]:
        ends = zip(self.lower.ravel().tolist(), self.upper.ravel().tolist(), strict=True)
        return [steps.step("constant", value=a) if a == b else steps.step("between", ends=[a, b]) for a, b in ends]

    def expand(self, ring: Ring, args: list[Terms]) -> Terms:
        if self.exact is None:
            raise NotPolynomialError
        return [ring.number(v) for v in self.exact]


def known(lower: Array, upper: Array, exact: Sequence[Fraction] | None = None) -> Expression:
    """Numbers between doubles; constants, where both ends are the same."""
    same = np.array_equal(lower, upper)
    return Constant(kept(lower)) if same else Enclosed(lower, upper, exact)
