"""The classes of models: a name and a seed give a model, the same one every time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import isfinite
from zlib import crc32

import numpy as np

from . import (
    cones,
    dual_classes,
    hard_bounds,
    hard_doors,
    hard_functions,
    hard_pieces,
    hard_rows,
    hard_seams,
    hard_sets,
)
from .draw import SETS, Rng, any_set
from .far_out import far_out
from .models import Model
from .natural import natural
from .planted import Plan, planted
from .removable import removable


def _planted_over(kind: str, rng: Rng) -> Model:
    return planted(rng, Plan(SETS[kind]))


def _decomposed(rng: Rng) -> Model:
    plan = Plan(any_set, variables=(1, 3), kinds=("box", "at_lower", "at_upper"), units=False)
    boxed = replace(planted(rng, plan), door="decomposed")
    return boxed if all(map(isfinite, (*boxed.lower, *boxed.upper))) else _decomposed(rng)


CLASSES: dict[str, Callable[[Rng], Model]] = {
    **{kind: partial(_planted_over, kind) for kind in SETS},
    "natural": natural,
    "natural_box": lambda rng: natural(rng, SETS["box"]),
    "small_row": hard_rows.small_row,
    "large_variable": hard_rows.large_variable,
    "contradiction": hard_rows.contradiction,
    "contradicted": hard_rows.contradicted,
    "equalities": hard_rows.equalities,
    "contrary": hard_rows.contrary,
    "slow_ray": hard_bounds.slow_ray,
    "far_optimum": hard_bounds.far_optimum,
    "far_feasible": hard_bounds.far_feasible,
    "unbounded": hard_bounds.unbounded,
    "infinite_condition": hard_functions.infinite_condition,
    "large_argument": hard_functions.large_argument,
    "outside_atoms": hard_functions.outside_atoms,
    "points": hard_functions.points,
    "edges": hard_functions.edges,
    "removable": removable,
    "far_out": far_out,
    "thin_set": hard_functions.thin_set,
    "touching": hard_functions.touching,
    "flat_set": hard_sets.flat_set,
    "partly_undefined": hard_sets.partly_undefined,
    "sums_of_maxima": hard_pieces.sums_of_maxima,
    "exact_integers": hard_sets.exact_integers,
    "any_oracle": hard_seams.any_oracle,
    "used_oracle": hard_seams.used_oracle,
    "warm_start": hard_seams.warm_start,
    "black_box": hard_seams.black_box,
    "decomposed": _decomposed,
    "polynomial_basis": hard_doors.polynomial_basis,
    "foreign_data": hard_doors.foreign_data,
    "duals": dual_classes.duals,
    "half_lines": dual_classes.half_lines,
    "unions": dual_classes.unions,
    "quadratics": cones.quadratics,
    **({"cone": hard_doors.cone, "norms": cones.norms} if hard_doors.cvxpy_installed() else {}),
}


def generate(name: str, seed: int) -> Model:
    """The model of a class with a seed."""
    return CLASSES[name](np.random.default_rng([crc32(name.encode()), seed]))
