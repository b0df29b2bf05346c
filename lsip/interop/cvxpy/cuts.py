"""The index points at which constraints are kept in the relaxations, and their rows over the canonical columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...model.program import Program
from ...proof.certificate import Support
from ...solver.relaxation import Known

Array = NDArray[np.float64]


def cut_rows(program: Program, cuts: list[Support]) -> tuple[sparse.csr_matrix, Array]:
    """Coefficients (k, n) and right-hand sides (k,) of constraints at index points, without the column of zeros."""
    parts: list[tuple[Any, Any, Any]] = []
    rhs = np.zeros(len(cuts))
    for f, family in enumerate(program.families):
        mine = np.array([i for i, s in enumerate(cuts) if s.family == f], dtype=np.intp)
        if len(mine):
            component = np.array([cuts[i].component for i in mine], dtype=np.intp)
            a, rhs[mine] = family.chosen(np.array([cuts[i].point for i in mine]), component)
            columns = family.columns[component]
            parts.append((a.ravel(), np.broadcast_to(mine[:, None], columns.shape).ravel(), columns.ravel()))
    if not parts:
        return sparse.csr_matrix((len(cuts), program.n - 1)), rhs
    values, i, j = (np.concatenate(part) for part in zip(*parts, strict=True))
    return sparse.csr_matrix((values, (i, j)), (len(cuts), program.n))[:, :-1], rhs


class Cuts:
    """Constraints a(y) z <= b(y) at index points; they grow, and are forgotten when they have not mattered."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.cuts: list[Support] = []
        self.rows, self.rhs = cut_rows(program, [])
        for f, family in enumerate(program.families):
            domain, (p, k) = family.domain, family.columns.shape
            if domain.dim == 1:
                points = domain.grid(int(np.clip(k + 1, 5, 50)))
            else:
                count = int(np.clip(2 * k, 8, 50))
                corners = [domain.grid(2)] if domain.dim <= 4 else []
                points = np.concatenate([*corners, domain.spread(count)])
            self.add([Support(f, c, y, 0.0) for y in points for c in range(p)])

    def __len__(self) -> int:
        return len(self.cuts)

    def add(self, new: list[Support], known: Known | None = None) -> int:
        """Append constraints; how many there were."""
        if new:
            rows, rhs = cut_rows(self.program, new)
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
