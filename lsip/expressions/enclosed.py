"""Numbers that are known to lie between two doubles, as integrals are: whoever proves something, proves it for all.

They enter a model wherever numbers do. A finite row or an objective with one of them is no row of doubles, and is
compiled to a row of a family over one point, whose coefficients are enclosed like those at any index point; unless they
are fractions that become whole numbers together.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ..validation import kept
from .graph import Constant, Expression, Pass
from .interval import Array, Interval
from .jets import Jet, Numbers


class Enclosed(Expression):
    """Numbers between `lower` and `upper`, element by element; `exact` are the same, flat, where they are fractions."""

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


def known(lower: Array, upper: Array, exact: Sequence[Fraction] | None = None) -> Expression:
    """Numbers between doubles; constants, where both ends are the same."""
    same = np.array_equal(lower, upper)
    return Constant(kept(lower)) if same else Enclosed(lower, upper, exact)
