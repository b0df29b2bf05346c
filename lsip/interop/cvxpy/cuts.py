"""The index points at which constraints are kept in the relaxations, and their rows over the canonical columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...model.families import RowFamily
from ...model.program import Program
from ...proof.certificate import Support
from ...solver.rows import Known, cut_rows, first_cuts

Array = NDArray[np.float64]


def canonical_rows(program: Program, cuts: list[Support]) -> tuple[sparse.csr_matrix, Array]:
    """Coefficients (k, n) and right-hand sides (k,) of constraints at index points, without the column of zeros."""
    rows, rhs = cut_rows(program, cuts)
    return sparse.csr_matrix(rows)[:, :-1], rhs


class ConicCuts:
    """Constraints a(y) z <= b(y) at index points; they grow, and are forgotten when they have not mattered."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.cuts = first_cuts(program, [_first_points(family) for family in program.families])
        self.rows, self.rhs = canonical_rows(program, self.cuts)

    def __len__(self) -> int:
        return len(self.cuts)

    def add(self, new: list[Support], known: Known | None = None) -> int:
        """Append constraints; how many there were."""
        if new:
            rows, rhs = canonical_rows(self.program, new)
            self.rows = sparse.csr_matrix(sparse.vstack([self.rows, rows]))
            self.rhs, self.cuts = np.concatenate([self.rhs, rhs]), self.cuts + new
        return len(new)

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Forget all others."""
        self.rows, self.rhs = self.rows[mask], self.rhs[mask]
        self.cuts = [s for s, kept in zip(self.cuts, mask, strict=True) if kept]

    @property
    def scale(self) -> float:
        """The size of the right-hand sides."""
        sizes = np.abs(self.rhs[self.rhs != 0])
        return float(np.median(sizes)) if len(sizes) else 1.0


def _first_points(family: RowFamily) -> Array:
    """Index points to begin with."""
    domain, k = family.domain, family.columns.shape[1]
    if domain.dim == 1:
        return domain.grid(int(np.clip(k + 1, 5, 50)))
    corners = [domain.grid(2)] if domain.dim <= 4 else []
    return np.concatenate([*corners, domain.spread(int(np.clip(2 * k, 8, 50)))])
