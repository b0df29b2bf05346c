"""Variables that rows force to zero: a x <= 0 where no term can be negative, as shares of what is not open.

Once integers are fixed, such rows have no point with room, and margins would have no meaning in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from ..model.program import Program
from ..proof.certificate import Support
from ..proof.rows import point_rows
from .reduction import Map


@dataclass(frozen=True, eq=False)
class ForcingRows:
    """Bounds 0 for what finite rows, or rows at the index points of `cuts`, leave no other value."""

    cuts: Sequence[Support] = ()

    def accepts(self, program: Program) -> bool:
        """Whether some variable can move."""
        return bool((program.lower < program.upper).any())

    def apply(self, program: Program) -> Program:
        """The same program with these bounds: the feasible points are the same, and so are bounds on the optimum."""
        middle, radius, side = point_rows(program, tuple(self.cuts))
        zero = (side.lo == 0) & (side.hi == 0)
        middle, radius = sparse.csr_matrix(middle)[zero], sparse.csr_matrix(radius)[zero]
        A = [program.A[program.row_upper == 0], -program.A[program.row_lower == 0]]
        positive = sparse.vstack([*(part > 0 for part in A), middle - radius > 0], format="csr")
        used = sparse.vstack([*(part != 0 for part in A), abs(middle) + radius > 0], format="csr")
        negative = sparse.vstack([*(part < 0 for part in A), middle + radius < 0], format="csr")
        lower, upper, count = program.lower.copy(), program.upper.copy(), -1
        while count != (count := int(((lower == 0) & (upper == 0)).sum())):
            # Terms that cannot be below 0, and terms that are 0.
            least = positive @ (lower == 0).astype(int) + negative @ (upper == 0).astype(int)
            nothing = (used.astype(int) - positive.astype(int) - negative.astype(int)) @ ((lower == 0) & (upper == 0))
            forcing = least + nothing == used.astype(int).sum(axis=1).A1
            columns = np.unique(used[forcing].indices)
            lower[columns] = upper[columns] = 0.0
        return replace(program, lower=lower, upper=upper, maps=(*program.maps, Map(program)))
