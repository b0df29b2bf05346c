"""The master of an exchange by any back end: its program with one more column, the slack s that all cuts share.

A program that is infeasible needs a proof. Where the solver gives none, a second program has a slack in every row:
the multipliers of the least slack combine the rows to one that no point satisfies.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from .base import Array, Backend, Bools, FiniteProgram, FiniteResult, MasterError, MasterResult, Matrix
from .checked import open_program


class ElasticMaster:
    """A program over (z, s), whose cuts `a z - s <= b` are divided by their largest coefficient."""

    def __init__(
        self,
        backend: Backend,
        c: Array,
        lower: Array,
        upper: Array,
        A: sparse.csr_matrix,
        row_lower: Array,
        row_upper: Array,
        tol: float,
    ) -> None:
        self.n, self.finite, self.backend, self.tol = len(c), A.shape[0], backend, tol
        self.c, self._box = np.append(c, 0.0), (lower, upper)
        rows = sparse.csr_matrix((A.data, A.indices, A.indptr), shape=(self.finite, self.n + 1))
        box = np.append(lower, 0.0), np.append(upper, 0.0)
        self._live = open_program(backend, FiniteProgram(self.c, *box, rows, row_lower, row_upper), tol)
        self._scale = np.zeros(0)  # of the cuts

    def add(self, rows: Matrix, rhs: Array) -> None:
        if not rows.shape[0]:
            return
        table, right, scale = scaled(rows, rhs)
        column = -1.0 / scale[:, None]
        if not isinstance(table, np.ndarray):
            table = sparse.csr_matrix(sparse.hstack([table, sparse.csr_matrix(column)], format="csr"))
        else:
            table = np.concatenate([table, column], axis=1)
        self._live.add(table, right)
        self._scale = np.concatenate([self._scale, scale])

    def drop(self, keep: Bools) -> None:
        if not keep.all():
            self._live.drop(keep)
            self._scale = self._scale[keep]

    def solve(self, margin: float) -> MasterResult:
        return self._solve(self.c, -margin, -margin)

    def best_margin(self, most: float) -> MasterResult:
        return self._solve(np.append(np.zeros(self.n), 1.0), -most, np.inf)

    def centre(self, margin: float) -> Array | None:
        self._ask(self.c, -margin, -margin)
        x = self._live.centre()
        return None if x is None else x[: self.n]

    def _ask(self, cost: Array, low: float, high: float) -> None:
        """Set the objective and the range of s."""
        self._live.change(cost, (np.append(self._box[0], low), np.append(self._box[1], high)))

    def _solve(self, cost: Array, low: float, high: float) -> MasterResult:
        self._ask(cost, low, high)
        found = self._proven(low)
        multipliers = np.zeros(self.finite + len(self._scale)) if found.multipliers is None else found.multipliers
        row, cut = multipliers[: self.finite], np.maximum(multipliers[self.finite :] / self._scale, 0.0)
        if found.x is None or found.reduced_costs is None:
            nothing = np.zeros(self.n)
            return MasterResult("infeasible", nothing, np.inf, np.inf, cut, row, nothing)
        x, reduced = found.x, found.reduced_costs[: self.n]
        return MasterResult("optimal", x[: self.n], float(x[-1]), float(self.c @ x), cut, row, reduced)

    def _proven(self, low: float) -> FiniteResult:
        """The solution, or multipliers that prove that there is none.

        Nearly infeasible programs defeat some solvers, and others have no word for infeasible: when a solve fails, it
        is the contradiction that decides. Where there is an answer but no contradiction, there are no multipliers.
        """
        failure = None
        try:
            found = self._live.solve()
            if found.status == "optimal" or (found.status == "infeasible" and found.multipliers is not None):
                return found if found.status == "optimal" else replace(found, x=None)
            if found.status != "infeasible":
                failure = MasterError(f"The master {self.backend.name} says {found.status!r} of a bounded LP.")
        except MasterError as error:
            failure = error
        try:
            slack, multipliers = contradiction(self.backend, self._live.program, self.tol)
        except MasterError:
            slack, multipliers = -np.inf, None
        if failure is not None and slack <= 0:
            raise failure
        return FiniteResult("infeasible", None, multipliers)


def contradiction(backend: Backend, program: FiniteProgram, tol: float) -> tuple[float, Array]:
    """How far a bounded program is from being feasible, and multipliers of its rows that prove it."""
    above, below = np.isfinite(program.row_upper), np.isfinite(program.row_lower)
    rows = sparse.csr_matrix(sparse.vstack([program.A[above], -program.A[below]], format="csr"))
    right = np.concatenate([program.row_upper[above], -program.row_lower[below]])
    if not len(right):
        return -np.inf, np.zeros(len(above))
    table, right, scale = scaled(rows, right)
    elastic = FiniteProgram(
        np.append(0.0 * program.c, 1.0),
        np.append(program.lower, -1.0),
        np.append(program.upper, np.inf),
        sparse.csr_matrix(sparse.hstack([table, sparse.csr_matrix(-1.0 / scale[:, None])], format="csr")),
        np.full(len(right), -np.inf),
        right,
    )
    found = open_program(backend, elastic, tol).solve()
    if found.status != "optimal" or found.x is None or found.multipliers is None:
        raise MasterError(f"The master {backend.name} found no least slack, though there is always one.")
    weights, multipliers = np.maximum(found.multipliers, 0.0) / scale, np.zeros(len(above))
    multipliers[above] += weights[: above.sum()]
    multipliers[below] -= weights[above.sum() :]
    return float(found.x[-1]), multipliers


def scaled(
    rows: Matrix, rhs: Array, least_divisor: float = 1e-8, least_coefficient: float = 1e-12
) -> tuple[Matrix, Array, Array]:
    """Rows and right-hand sides, divided by the largest coefficient of each row; these divisors.

    Rows of nearly nothing stay small. Coefficients that are then below what HiGHS takes for zero are left out.
    """
    if isinstance(rows, np.ndarray):
        scale = np.maximum(np.abs(rows).max(axis=1), least_divisor)
        table = rows / scale[:, None]
        table[np.abs(table) < least_coefficient] = 0.0
        return table, rhs / scale, scale
    scale = np.maximum(abs(rows).max(axis=1).toarray().ravel(), least_divisor)
    values = rows.data / np.repeat(scale, np.diff(rows.indptr))
    values[np.abs(values) < least_coefficient] = 0.0
    divided = sparse.csr_matrix((values, rows.indices, rows.indptr), shape=rows.shape)
    divided.eliminate_zeros()
    return divided, rhs / scale, scale
