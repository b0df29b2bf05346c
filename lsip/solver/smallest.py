"""Of many optimal points, a small one: no variable is far out because nothing holds it."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ..proof.certificate import Array
from ..proof.linear_program import linear_program
from .linear_master import LinearMaster


def smallest(lp: LinearMaster, margin: float, most: float) -> Array | None:
    """The point of least sum of |z| that keeps all cuts by `margin`, and whose objective c x is at most `most`.

    z are the coordinates of the master, in which the terms of a row are about 1.
    """
    rows, rhs = lp.matrix(lp.cuts)
    parts = [lp.c[None, :], lp.conditioning.rows(rows), lp.finite]
    A = sparse.vstack([sparse.csr_matrix(part) for part in parts], format="csr")
    if A.nnz > lp.method.tuning.smaller.most_entries:
        return None
    lower, upper = lp.conditioning.box(lp.program.lower, lp.program.upper, lp.limit)
    least, largest = lp.row_sides()
    n = len(lower)
    found = linear_program(
        np.ones(2 * n),  # z = z+ - z-, both nonnegative
        np.concatenate([np.maximum(lower, 0.0), np.maximum(-upper, 0.0)]),
        np.concatenate([np.maximum(upper, 0.0), np.maximum(-lower, 0.0)]),
        sparse.csr_matrix(sparse.hstack([A, -A])),
        np.concatenate([np.full(1 + len(rhs), -np.inf), least]),
        np.concatenate([[most], rhs - margin, largest]),
    )
    return None if found is None else lp.x(found[:n] - found[n:]) + 0.0  # no negative zeros
