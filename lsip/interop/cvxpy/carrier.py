"""CVXPY's canonical form as lsip sees it: bounds, linear rows, rows in cones, and the families over its columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...cones import ConeRows
from ...model.program import Program
from ...proof.certificate import Certificate
from ...proof.rows import point_rows
from .canonical import Canonical
from .families import Compiled, moved

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Carrier:
    """The program that proofs are about: nonnegative rows with one entry ±1 are bounds, a last column is always 0."""

    canonical: Canonical
    program: Program
    rows: NDArray[np.intp]  # canonical rows that are rows of the program: linear ones, then those in cones
    lower: NDArray[np.intp]  # (n,), the canonical row behind each lower bound; -1 for none
    upper: NDArray[np.intp]

    @staticmethod
    def of(canonical: Canonical, compiled: Compiled, maximise: bool, name: str) -> Carrier:
        A, b, zero, n = canonical.A, canonical.b, canonical.zero, len(canonical.c)
        linear = zero + canonical.nonneg
        single = np.diff(A.indptr) == 1
        single[:zero] = single[linear:] = False
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
        wide = sparse.csr_matrix(sparse.hstack([A[rows], sparse.csr_matrix((len(rows), 1))]))
        flat = int((rows < linear).sum())
        integer = np.zeros(n + 1, dtype=bool)
        integer[canonical.place[canonical.integer]] = True
        program = Program(
            c=np.append(canonical.c, 0.0),
            constant=canonical.constant,
            lower=low,
            upper=high,
            A=wide[:flat],
            row_lower=np.where(rows[:flat] < zero, b[rows[:flat]], -np.inf),
            row_upper=b[rows[:flat]],
            families=moved(compiled.families, canonical.place),
            maximise=maximise,
            name=name,
            integer=integer,
            cones=ConeRows(wide[flat:], b[rows[flat:]], canonical.cones) if canonical.cones else None,
        )
        return Carrier(canonical, program, rows, lower, upper)

    def multipliers(self, certificate: Certificate, program: Program) -> Array:
        """Multipliers of all canonical rows; those behind bounds are what the others leave of the objective.

        The program that was solved may have rows behind these, which follow from the others.
        """
        every = np.zeros(self.canonical.rows)
        if not len(certificate.row_multipliers) and not certificate.support:
            return every
        weight = np.array([s.multiplier for s in certificate.support])
        implied = np.asarray(point_rows(program, certificate.support)[0].T @ weight).ravel()
        if len(certificate.row_multipliers):
            every[self.rows] = certificate.row_multipliers[: len(self.rows)]
            own = self.program.A.shape[0]
            implied = implied + program.A[own:].T @ certificate.row_multipliers[len(self.rows) :]
        reduced = self.canonical.c + self.canonical.A.T @ every + implied[:-1]
        for bound, price in ((self.lower, reduced), (self.upper, -reduced)):
            held = np.flatnonzero((bound >= 0) & (price > 0))
            every[bound[held]] = price[held]
        return every
