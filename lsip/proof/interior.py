"""A point well inside of the finite part: what is mixed with a little of it has room in every row."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ..deadline import EFFORT
from ..lifetime import remembered
from ..masters.checked import linear_program
from ..model.program import Program
from .certificate import Array, Ints


@remembered
def _found(program: Program) -> list[Array | None]:
    """The point, once it was looked for."""
    return []


def interior(program: Program, size: Array, pairs: tuple[Ints, Ints]) -> Array | None:
    """A point that keeps equalities, and inequalities and bounds with room; None if there is none, or none is found.

    `size` (n,) is what counts as large for each variable, and `pairs` are rows that are opposite to each other. The
    point is found once for every program.
    """
    found = _found(program)
    if not found:
        found.append(_deepest(program, size, pairs))
    return found[0]


def _deepest(program: Program, size: Array, pairs: tuple[Ints, Ints]) -> Array | None:
    n, rows = program.n, program.A
    if program.cones is not None or rows.nnz + n > EFFORT.entries // 10:
        return None
    same = program.row_lower == program.row_upper
    same[pairs[0]] = True
    reach = np.where(same, 0.0, abs(rows) @ size)
    above, below = np.isfinite(program.row_upper), np.isfinite(program.row_lower) & ~same
    above[pairs[1]] = False
    left, right = np.isfinite(program.lower), np.isfinite(program.upper)
    eye = sparse.eye_array(n, format="csr")
    # Every side in its own row, with s times the size of its terms as room.
    parts = [
        (rows[above], reach[above]),
        (-rows[below], reach[below]),
        (-eye[left], size[left]),
        (eye[right], size[right]),
    ]
    matrix = sparse.vstack([sparse.hstack([a, w[:, None]]) for a, w in parts if a.shape[0]], format="csr")
    upper = np.concatenate(
        [program.row_upper[above], -program.row_lower[below], -program.lower[left], program.upper[right]]
    )
    lower = np.full(len(upper), -np.inf)
    lower[: int(above.sum())][same[above]] = program.row_upper[above][same[above]]
    scale = abs(matrix).max(axis=1).toarray().ravel()
    scale = np.where(scale > 0, scale, 1.0)
    matrix = sparse.csr_matrix(sparse.diags_array(1.0 / scale) @ matrix)
    infinite = np.full(n, np.inf)
    found = linear_program(
        np.append(np.zeros(n), -1.0),
        np.append(-infinite, 0.0),
        np.append(infinite, 1.0),
        matrix,
        lower / scale,
        upper / scale,
    )
    return None if found is None or found[-1] < 1e-7 else found[:-1]  # deeper than the accuracy of `linear_program`
