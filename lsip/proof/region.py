"""Lower bounds that hold within a region only: what is said where no exact balance could be found.

What a combination leaves over in a variable without a bound is charged against |x_j| <= radius units_j. The answer is
not certified then, and says so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..expressions.interval import EPS, NORMAL
from ..model.program import Program
from .certificate import Array, RegionAssumption
from .dual import TUNING as WEIGHING
from .dual import Dual, lagrangian_bound
from .linear_algebra import UNDERFLOW
from .rows import DualRows


@dataclass(frozen=True)
class RegionTuning:
    """Which regions are worth a bound.

    Parameters
    ----------
    least_radius
        A bound that holds only nearer than this says nothing worth the name.
    """

    least_radius: float = 10.0


TUNING = RegionTuning()


def within(
    program: Program, c: Array, dual: Dual, centre: Array, units: Array, allowed: float, radius: float | None = None
) -> tuple[float, float] | None:
    """(lower, radius): no feasible x within the radius is below `lower`.

    The radius is given, or as large as possible without giving up more than `allowed`.
    """
    rows = DualRows.of(program, dual.support)
    found = lagrangian_bound(c, rows, dual, centre)
    if found is None or not np.isfinite(found.base):
        return None
    wide = ~np.isfinite(found.charge)
    reach = np.where(wide, units, 0.0)
    left = np.maximum(np.abs(found.reduced.lo), np.abs(found.reduced.hi))
    terms = np.abs(c) + abs(rows.mid).T @ np.abs(dual.weights)
    if float(left @ reach) > WEIGHING.slope * float(terms @ reach) + 1e-300:
        return None
    fixed = float(found.charge[~wide].sum()) + float(left[wide] @ np.abs(centre)[wide])
    some = bool((left[wide] > 0).any())  # even where the products underflow
    slope = max(float(left @ reach) * (1 + (len(c) + 8) * EPS), UNDERFLOW) if some else 0.0
    if radius is None:
        # An infinite radius would say that the bound holds everywhere.
        radius = min(max(allowed / slope, TUNING.least_radius), 1 / NORMAL) if some else np.inf
    lost = (fixed + (radius * slope if some else 0.0)) * (1 + 16 * EPS)
    return found.base - lost - 8 * EPS * abs(found.base), radius


def sentence(program: Program, radius: float, units: Array) -> RegionAssumption:
    """What the user should know, and how to make the bound hold everywhere."""
    open_ends = np.flatnonzero(~(np.isfinite(program.lower) & np.isfinite(program.upper)))
    # Less by as much as three digits round at most, so that what is printed lies inside.
    some = ", ".join(f"|{program.label(j)}| <= {0.995 * radius * units[j]:.3g}" for j in open_ends[:3])
    more = ", …" if len(open_ends) > 3 else ""
    return RegionAssumption(
        f"The bound on the optimal value holds where {some}{more}, not beyond; give these variables bounds, and it "
        "holds everywhere."
    )
