"""Models whose finite part is linear: CVXPY's canonical linear program, solved by lsip's own exchange."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...certificate import point_rows
from ...exchange import solve
from ...program import Program
from ...solution import Solution
from .canonical import Canonical
from .families import Compiled, moved
from .solution import ModelSolution

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Linear:
    """The canonical linear program as lsip sees it: rows with one entry ±1 are bounds."""

    canonical: Canonical
    program: Program
    rows: NDArray[np.intp]  # canonical rows that stayed rows
    lower: NDArray[np.intp]  # (n,), the canonical row behind each lower bound; -1 for none
    upper: NDArray[np.intp]

    @staticmethod
    def of(canonical: Canonical, compiled: Compiled, maximise: bool, name: str) -> Linear:
        A, b, zero, n = canonical.A, canonical.b, canonical.cones.zero, len(canonical.c)
        single = np.diff(A.indptr) == 1
        single[:zero] = False
        single[single] = np.abs(A.data[A.indptr[:-1][single]]) == 1.0
        low, high = np.full(n + 1, -np.inf), np.full(n + 1, np.inf)
        low[n] = high[n] = 0.0  # stands in for elements of variables that are always zero
        lower, upper = np.full(n, -1, dtype=np.intp), np.full(n, -1, dtype=np.intp)
        for i in np.flatnonzero(single):
            j, sign = A.indices[A.indptr[i]], A.data[A.indptr[i]]
            if sign > 0 and b[i] < high[j]:
                high[j], upper[j] = b[i], i
            elif sign < 0 and -b[i] > low[j]:
                low[j], lower[j] = -b[i], i
        crossed = np.flatnonzero(low > high)
        for j in crossed:  # contradictory bounds stay rows, so that the contradiction can be reported
            single[[lower[j], upper[j]]] = False
            low[j], high[j], lower[j], upper[j] = -np.inf, np.inf, -1, -1
        rows = np.flatnonzero(~single)
        kept = sparse.csr_matrix(sparse.hstack([A[rows], sparse.csr_matrix((len(rows), 1))]))
        program = Program(
            c=np.append(canonical.c, 0.0),
            constant=canonical.constant,
            lower=low,
            upper=high,
            A=kept,
            row_lower=np.where(rows < zero, b[rows], -np.inf),
            row_upper=b[rows],
            families=moved(compiled.families, canonical.place),
            maximise=maximise,
            name=name,
        )
        return Linear(canonical, program, rows, lower, upper)

    def row_multipliers(self, solution: Solution) -> Array:
        """Multipliers of all canonical rows; those behind bounds are what the others leave of the objective."""
        certificate, program = solution.certificate, self.program
        every = np.zeros(self.canonical.rows)
        if not len(certificate.row_multipliers) and not certificate.support:
            return every
        if len(certificate.row_multipliers):
            every[self.rows] = certificate.row_multipliers
        weight = np.array([s.multiplier for s in certificate.support])
        reduced = program.c + program.A.T @ every[self.rows] + point_rows(program, certificate.support)[0].T @ weight
        reduced = np.asarray(reduced).ravel()[:-1]
        for bound, price in ((self.lower, reduced), (self.upper, -reduced)):
            held = np.flatnonzero((bound >= 0) & (price > 0))
            every[bound[held]] = price[held]
        return every

    def solve(self, **options: Any) -> Solution:
        return solve(self.program, None, **options)

    def answer(self, solution: Solution, values: dict[int, Array]) -> ModelSolution:
        """lsip's solution, to be asked for CVXPY variables."""
        known = {f.name: getattr(solution, f.name) for f in fields(Solution)}
        return ModelSolution(**known, values=values)
