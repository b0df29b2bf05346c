"""Of many optimal points, a small one: no variable is far out because nothing holds it."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ..proof.linear_program import linear_program
from .linear_master import Array, LinearMaster


def smallest(lp: LinearMaster, margin: float, most: float) -> Array | None:
    """The point of least sum of |z| that keeps all cuts by `margin`, and whose objective c x is at most `most`.

    z are the coordinates of the master, in which the terms of a row are about 1.
    """
    program = lp.program
    rows, rhs = lp.matrix(list(lp.cuts))
    parts = [lp.conditioning.rows(program.c[None, :]), lp.conditioning.rows(rows)]
    finite = sparse.csr_matrix(lp.conditioning.rows(program.A))
    A = sparse.vstack([*(sparse.csr_matrix(part) for part in parts), finite], format="csr")
    n = program.n
    if A.nnz > lp.method.tuning.smaller.most_entries:
        return None
    lower, upper = lp.conditioning.box(program.lower, program.upper, lp.limit)
    least, largest = lp.row_sides()
    matrix = sparse.csr_matrix(sparse.hstack([A, -A]))  # z = z+ - z-, both nonnegative
    found = linear_program(
        np.ones(2 * n),
        np.concatenate([np.maximum(lower, 0.0), np.maximum(-upper, 0.0)]),
        np.concatenate([np.maximum(upper, 0.0), np.maximum(-lower, 0.0)]),
        matrix,
        np.concatenate([np.full(1 + len(rhs), -np.inf), least * lp.row_scale]),
        np.concatenate([[most], rhs - margin, largest * lp.row_scale]),
    )
    return None if found is None else lp.x(found[:n] - found[n:]) + 0.0  # no negative zeros
