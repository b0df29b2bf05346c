"""What rounding leaves of the terms of a model: no gap between bounds is expected to become smaller."""

from __future__ import annotations

import numpy as np

from ..deadline import EFFORT
from ..model.peaks import sampled
from ..model.program import Program
from ..proof.gap import rounding_share
from ..proof.linear_algebra import ROUNDING, UNDERFLOW
from .curtis_reid import fitted_units
from .equilibration import scaling_of


def data_rounding(program: Program, unit: float | None = None) -> float:
    """What rounding leaves of the terms of a model, as its data tell: no gap is expected to become smaller.

    Where the costs that matter and the rows are about 1, so are the terms of the objective, those of the dual, and both
    sides of the rows, each times its multiplier. Rows may be made of terms that cancel, as those of a polynomial in
    years are. `unit` is what costs are about 1 in, where it is known.
    """
    terms = 0.0
    if unit is None:
        unit = _objective_unit(program) if program.c.any() else 0.0
        terms = _cancelling(program) if unit and program.cones is None else 0.0
    return max(rounding_share(program) * ((4.0 + terms) * unit + 2.0 * abs(program.constant)), UNDERFLOW)


def _objective_unit(program: Program) -> float:
    """What the costs that matter are about 1 in, in units of the objective."""
    if program.cones is None:
        return 1.0 / scaling_of(program).objective
    found = fitted_units(program)
    return 1.0 / found[-1] if found is not None else float(np.abs(program.c).max(initial=0.0))


def _cancelling(program: Program) -> float:
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
