"""A lower bound before the first relaxation: what the constraints say at one point of every index set.

It is the one nearest to zero. Where that is zero, slopes of decision rules have no part in the rows, so that a model
with thousands of free coefficients is a small one, whose multipliers are balanced at once. Bounds of variables are part
of it, and may be all that it takes.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ..model.program import Program
from ..proof.certificate import Array
from ..proof.linear_program import linear_program
from ..proof.prove import prove_lower
from .rows import cut_rows, first_cuts
from .state import State


def nominal_bound(program: Program, state: State) -> None:
    """Keep what is proven so."""
    points = [family.domain.project(np.zeros((1, family.domain.dim))) for family in program.families]
    cuts = first_cuts(program, points)
    rows, sides = cut_rows(program, cuts)
    ends: list[tuple[sparse.csr_matrix, Array]] = [(sparse.csr_matrix(rows), sides)]
    eye = sparse.identity(program.n, format="csr")
    for matrix, lower, upper in (
        (program.A, program.row_lower, program.row_upper),
        (eye, program.lower, program.upper),
    ):
        for sign, side in ((1.0, upper), (-1.0, -lower)):
            ends.append((sign * sparse.csr_matrix(matrix)[np.isfinite(side)], side[np.isfinite(side)]))
    # The dual program: multipliers with which all that holds adds up to minus the objective, at the least cost.
    held, cost = sparse.csr_matrix(sparse.vstack([part for part, _ in ends]).T), np.concatenate([s for _, s in ends])
    free = np.full(len(cost), np.inf)
    found = linear_program(cost, np.zeros(len(cost)), free, held, -program.c, -program.c)
    if found is None:
        return
    atoms, above, below, *_ = np.split(found, np.cumsum([len(side) for _, side in ends])[:-1])
    weights = np.zeros(program.finite_rows)
    weights[np.isfinite(program.row_upper)] += above
    weights[np.isfinite(program.row_lower)] -= below
    support = tuple(cut.weighing(w) for cut, w in zip(cuts, atoms.tolist(), strict=True) if w > 0)
    x = np.clip(np.zeros(program.n), program.lower, program.upper)
    value = program.constant - float(cost @ found)
    state.keep_lower(prove_lower(program, support, weights, x, np.abs(x) + 1.0, state.allowed(value), tuple(cuts)))
