"""The gap between two bounds on an optimum, and when it is closed: the one definition for solvers, checks and displays.

The gap is relative: (upper - lower) / max(|lower|, |upper|), 0 where both are the same number, and infinite where one
of them is not known. An optimum is proven where it is at most `tol`, or where upper - lower is at most `atol`, in units
of the objective. Unless it is given, `atol` is what rounding leaves of the model's own terms, as its data tell.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from ..deadline import EFFORT
from ..model.peaks import sampled
from ..model.program import Program
from .linear_algebra import ROUNDING, UNDERFLOW
from .scaling import objective_unit, scaling_of

__all__ = ["closed", "data_rounding", "relative_gap"]


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


def data_rounding(program: Program, unit: float | None = None) -> float:
    """What rounding leaves of the terms of a model, as its data tell: no gap is expected to become smaller.

    Where the costs that matter and the rows are about 1, so are the terms of the objective, those of the dual, and both
    sides of the rows, each times its multiplier. Rows may be made of terms that cancel, as those of a polynomial in
    years are. `unit` is what costs are about 1 in, where it is known.
    """
    terms = 0.0
    if unit is None:
        unit = objective_unit(program) if program.c.any() else 0.0
        terms = cancelling(program) if unit and program.cones is None else 0.0
    share = ROUNDING if program.cones is None else 1e-11  # interior-point methods do not tell less from 0
    return max(share * ((4.0 + terms) * unit + 2.0 * abs(program.constant)), UNDERFLOW)


def cancelling(program: Program) -> float:
    """What the terms of each row add up to at least without their signs, where free variables make rows meet sides.

    A least-squares fit at a few index points tells; rows are about 1 themselves. 0 where that is more than doubles can
    resolve: then rounding is no excuse. It is a power of two, since other machines sum up otherwise.
    """
    free = np.flatnonzero(np.isinf(program.lower) & np.isinf(program.upper))
    units, rows, sides = scaling_of(program), [], []
    for family, factors in zip(program.families, units.families, strict=True):
        if family.linear is None and len(free) > 1:
            a, b = sampled(family)
            if a.shape[0] * a.shape[1] * program.n > EFFORT.entries // 4:
                return 0.0
            table = np.zeros((*a.shape[:2], program.n))
            for component, places in enumerate(family.columns):
                np.add.at(table[:, component].T, places, a[:, component].T)
            rows.append((table * units.columns * factors[:, None]).reshape(-1, program.n)[:, free])
            sides.append((b * factors).ravel())
    if not rows:
        return 0.0
    every, right = np.concatenate(rows), np.concatenate(sides)
    try:
        x = np.linalg.lstsq(every, right, rcond=1e-9)[0]  # directions that rows hardly see
    except np.linalg.LinAlgError:  # of rows that are not finite
        return 0.0
    terms = float((np.abs(every) @ np.abs(x)).min())
    if not 1.0 <= terms <= 1e-5 / ROUNDING:  # beyond, cancelling is no excuse for a wider gap
        return 0.0
    return float(2.0 ** np.floor(np.log2(terms)))
