"""Variables that rows force to zero: a x <= 0 where no term can be negative, as shares of what is not open.

Once integers are fixed, such rows have no point with room, and margins would have no meaning in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse

from ..model.program import Program
from ..proof.certificate import Support
from ..proof.rows import point_rows


def forced(program: Program, cuts: Sequence[Support] = ()) -> Program:
    """The same program with bounds 0 for what its finite rows, or those at index points, leave no other value."""
    middle, radius, side = point_rows(program, tuple(cuts))
    zero = (side.lo == 0) & (side.hi == 0)
    middle, radius = sparse.csr_matrix(middle)[zero], sparse.csr_matrix(radius)[zero]
    A = [program.A[program.row_upper == 0], -program.A[program.row_lower == 0]]
    positive = sparse.vstack([*(part > 0 for part in A), middle - radius > 0], format="csr")
    used = sparse.vstack([*(part != 0 for part in A), abs(middle) + radius > 0], format="csr")
    negative = sparse.vstack([*(part < 0 for part in A), middle + radius < 0], format="csr")
    lower, upper, count = program.lower.copy(), program.upper.copy(), -1
    while count != (count := int(((lower == 0) & (upper == 0)).sum())):
        least = positive @ (lower == 0).astype(int) + negative @ (upper == 0).astype(
            int
        )  # terms that cannot be below 0
        nothing = (used.astype(int) - positive.astype(int) - negative.astype(int)) @ ((lower == 0) & (upper == 0))
        forcing = least + nothing == used.astype(int).sum(axis=1).A1
        columns = np.unique(used[forcing].indices)
        lower[columns] = upper[columns] = 0.0
    return replace(program, lower=lower, upper=upper)
