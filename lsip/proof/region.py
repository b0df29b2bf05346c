"""Lower bounds that hold within a region only: what is said where no exact balance could be found.

What a combination leaves over in a variable without a bound is charged against |x_j| <= radius units_j. The answer is
not certified then, and says so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..expressions.interval import EPS
from ..model.program import Program
from .certificate import Array, Certificate, RegionAssumption
from .dual import Dual, weigh
from .linear_algebra import UNDERFLOW
from .rows import Rows


@dataclass(frozen=True)
class RegionTuning:
    """Which regions are worth a bound.

    Parameters
    ----------
    least_radius
        A bound that holds only nearer than this says nothing worth the name.
    largest_radius
        The most that is said; an infinite radius would say that the bound holds everywhere.
    slope
        What is left over in all, relative to its terms, beyond which it is a slope and not rounding.
    """

    least_radius: float = 10.0
    largest_radius: float = 1e300
    slope: float = 1e-3


TUNING = RegionTuning()


def within(
    program: Program, c: Array, dual: Dual, centre: Array, units: Array, allowed: float, radius: float | None = None
) -> tuple[float, float] | None:
    """(lower, radius): no feasible x within the radius is below `lower`.

    The radius is given, or as large as possible without giving up more than `allowed`.
    """
    rows = Rows.of(program, dual.support)
    found = weigh(c, rows, dual, centre)
    if found is None or not np.isfinite(found.base):
        return None
    wide = ~np.isfinite(found.charge)
    reach = np.where(wide, units, 0.0)
    left = np.maximum(np.abs(found.reduced.lo), np.abs(found.reduced.hi))
    terms = np.abs(c) + abs(rows.mid).T @ np.abs(dual.weights)
    if float(left @ reach) > TUNING.slope * float(terms @ reach) + 1e-300:
        return None
    fixed = float(found.charge[~wide].sum()) + float(left[wide] @ np.abs(centre)[wide])
    some = bool((left[wide] > 0).any())  # even where the products underflow
    slope = max(float(left @ reach) * (1 + (len(c) + 8) * EPS), UNDERFLOW) if some else 0.0
    if radius is None:
        radius = min(max(allowed / slope, TUNING.least_radius), TUNING.largest_radius) if some else np.inf
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


def restated(program: Program, certificate: Certificate) -> Certificate:
    """The certificate with its sentence about the region in the units of this program, as its `units` are."""
    radius, units, known = certificate.radius, certificate.units, certificate.assumptions
    each = (sentence(program, radius, units) if isinstance(a, RegionAssumption) else a for a in known)
    return replace(certificate, assumptions=tuple(each))
