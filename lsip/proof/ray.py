"""Unboundedness without allowance: a direction that improves the objective and never leaves the feasible set.

The direction d is proven as a point is: equalities A d = 0 hold exactly for some d' in a tiny box around it, and all
the rest, a(y) d' <= 0 for every y, rows, bounds and c d' < 0, for the whole box.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..model.program import Program
from .certificate import Array
from .families import family_bounds, never_positive
from .linear_algebra import product
from .primal import NotProven, finite_point


@dataclass(frozen=True, eq=False)
class Ray:
    """A proven direction, the box that holds an exact one, and a bound on sup a(y) d, a family."""

    direction: Array
    box: Array | None
    drift: tuple[float, ...]


def recession(program: Program) -> Program:
    """The same rows and bounds with 0 in place of every finite side: the directions that the finite part allows."""

    def zeroed(side: Array) -> Array:
        return np.where(np.isfinite(side), 0.0, side)

    return replace(
        program,
        lower=zeroed(program.lower),
        upper=zeroed(program.upper),
        row_lower=zeroed(program.row_lower),
        row_upper=zeroed(program.row_upper),
        cones=None if program.cones is None else program.cones.recession(),
    )


def prove_ray(program: Program, direction: Array | None, seconds: float = np.inf) -> Ray | None:
    """The direction, in about unit size, if it is proven to be one of unboundedness; None if not."""
    if direction is None or direction.shape != (program.n,) or not np.isfinite(direction).all() or not direction.any():
        return None
    unit = 2.0 ** np.ceil(np.log2(np.abs(direction).max()))  # which rounds nothing
    found = finite_point(recession(program), direction / unit)
    if isinstance(found, NotProven) or len(found.dependent):
        return None
    d, box = found.x, found.box
    if not product(program.c[None, :], d, box).hi[0] < 0:
        return None
    bounds = family_bounds(program, d, box, scale=0.0, target=0.0, seconds=seconds)
    if bounds.trusts:
        return None
    drift = tuple(
        0.0 if v > 0 and box is None and never_positive(program, f, d) else v for f, v in enumerate(bounds.values)
    )
    return Ray(d, box, drift) if max(drift, default=-np.inf) <= 0 else None
