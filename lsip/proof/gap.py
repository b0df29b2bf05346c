"""The gap between two bounds on an optimum, and when it is closed: the one definition for solvers, checks and displays.

The gap is relative: (upper - lower) / max(|lower|, |upper|), 0 where both are the same number, and infinite where one
of them is not known. An optimum is proven where it is at most `tol`, or where upper - lower is at most `atol`, in units
of the objective. Unless it is given, `atol` is what rounding leaves of the model's own terms, as its data tell. Where
a column may be large at a place that no sample has seen, the data do not tell, and the terms of the proof count.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from ..model.peaks import sampled, unseen
from ..model.program import Program
from .certificate import Support
from .linear_algebra import ROUNDING, UNDERFLOW

__all__ = ["closed", "relative_gap", "rounding_share", "unresolved"]


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


def rounding_share(program: Program) -> float:
    """What rounding takes of the terms of a long sum, as a share."""
    return ROUNDING if program.cones is None else 1e-11  # interior-point methods do not tell less from 0


def unresolved(program: Program, size: float, support: Iterable[Support]) -> float:
    """What rounding leaves of the terms of a proof, of that size in all: no gap is excused by terms that it has not.

    Right-hand sides count as they are at sampled points, since those at active ones may all be zero. An optimum of zero
    may need more than that; so this is infinite where the data tell the terms: where no column has unseen peaks.
    """
    if not any(map(unseen, program.families)):
        return np.inf
    sides = [s.multiplier * np.abs(sampled(program.families[s.family])[1][:, s.component]).max() for s in support]
    return max(4.0 * ROUNDING * (size + float(sum(sides))), UNDERFLOW)
