"""The gap between two bounds on an optimum, and when it is closed: the one definition for solvers, checks and displays.

The gap is relative: (upper - lower) / max(|lower|, |upper|), 0 where both are the same number, and infinite where one
of them is not known. An optimum is proven where it is at most `tol`, or where upper - lower is at most `atol`, in units
of the objective. Unless it is given, `atol` is what rounding leaves of the model's own terms, as its data tell.
"""

from __future__ import annotations

import math
from fractions import Fraction

__all__ = ["closed", "relative_gap"]


def relative_gap(lower: float, upper: float) -> float:
    """(upper - lower) / max(|lower|, |upper|), rounded once; infinite without both bounds."""
    if not (math.isfinite(lower) and math.isfinite(upper)):
        return math.inf
    low, high = Fraction(float(lower)), Fraction(float(upper))
    return 0.0 if low == high else float((high - low) / max(abs(low), abs(high)))


def closed(lower: float, upper: float, tol: float, atol: float) -> bool:
    """Whether bounds prove an optimum: the relative gap is at most `tol`, or the absolute one at most `atol`.

    That is decided without rounding, so that whoever checks it agrees.
    """
    if not (math.isfinite(lower) and math.isfinite(upper)):
        return False
    low, high = Fraction(float(lower)), Fraction(float(upper))
    return high - low <= max(Fraction(float(tol)) * max(abs(low), abs(high)), Fraction(float(atol)))
