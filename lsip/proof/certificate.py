"""What is proven about an answer, with the numbers that prove it; all statements are about the minimisation form.

Nothing here computes: `prove` makes certificates, `verify` checks them from these numbers alone, and `export` writes
them for a checker that shares no code with either.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..legible import legible_repr

Array = NDArray[np.float64]
Ints = NDArray[np.intp]


def nowhere() -> Ints:
    """No positions."""
    return np.zeros(0, dtype=np.intp)


class DataAssumption(str):
    """A sentence about the data of the model, such as equalities that agree up to the rounding of their numbers."""


class TrustAssumption(str):
    """A sentence about what is taken on trust; where there is one, nothing is called certified."""


class BoundAssumption(TrustAssumption):
    """A sentence about the lower bound alone: that the point is feasible does not rest on it."""


class RegionAssumption(BoundAssumption):
    """A sentence about where a lower bound holds, if not everywhere."""


class TreeAssumption(BoundAssumption):
    """A sentence about whose branch and bound over integer variables a lower bound is."""


@dataclass(frozen=True, eq=False)
class Support:
    """One atom of the dual measure."""

    family: int
    component: int
    point: Array  # (m,)
    multiplier: float

    def weighing(self, multiplier: float) -> Support:
        """The same atom with another multiplier."""
        if multiplier == self.multiplier:
            return self
        return Support(self.family, self.component, self.point, multiplier)

    def at(self, family: int, component: int) -> Support:
        """The same atom where the row stands in another program."""
        return Support(family, component, self.point, self.multiplier)

    @property
    def place(self) -> tuple[int, int, bytes]:
        """Which row it is; the same for copies."""
        return self.family, self.component, self.point.tobytes()


@legible_repr
@dataclass(frozen=True, eq=False)
class Certificate:
    """What is proven, with the data that proves it; `kind` says which of the fields matter.

    Where there are equalities, an exactly feasible point lies in the box |x' - x| <= box, and everything that is said
    of x is proven for the whole box. The multipliers of the `basis` (positions in the support, then in the finite rows)
    stand for numbers next to them, with which the combination vanishes exactly in the columns `balanced`; they are
    found again, enclosed, wherever the bound is computed.

    Where they are `confined`, the multipliers themselves bound the variables of all feasible points that are no worse
    than `upper`, so that nothing has to balance exactly (`lsip.proof.dual_bound_tightening`).
    """

    kind: str  # "optimal", "infeasible", "unbounded" or "none"
    x: Array
    lower: float
    upper: float
    radius: float = np.inf  # the lower bound holds where |x_j| <= radius units_j; for all x if this is infinite
    support: tuple[Support, ...] = ()
    row_multipliers: Array = field(default_factory=lambda: np.zeros(0))  # of all finite rows; empty for none
    violation: tuple[float, ...] = ()  # a family: sup over Y of a(y) x - b(y) is at most this; inf if unproven
    finite_violation: float = 0.0  # the largest residual of a finite row or a bound at x; above 0 for equalities only
    units: Array = field(default_factory=lambda: np.zeros(0))  # (n,), the shape of the region that `radius` scales
    direction: Array | None = None  # of unboundedness
    drift: tuple[float, ...] = ()  # a family: sup over Y of a(y) d for the direction d
    box: Array = field(default_factory=lambda: np.zeros(0))  # (n,), half-widths; empty where they are zero
    dependent: Ints = field(default_factory=nowhere)  # equalities that follow from the others up to rounded data
    balanced: Ints = field(default_factory=nowhere)
    basis: Ints = field(default_factory=nowhere)
    confined: bool = False
    assumptions: tuple[str, ...] = ()

    @property
    def trusts(self) -> tuple[str, ...]:
        """What is taken on trust."""
        return tuple(a for a in self.assumptions if isinstance(a, TrustAssumption))
