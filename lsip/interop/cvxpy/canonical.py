"""The finite part of a model as CVXPY canonicalises it: min c z + d with b - A z in a cone, and the way back.

The rows come in the order zero, nonnegative, second-order, semidefinite (upper triangles, off-diagonal entries times
√2), exponential, power. Everything that is proven about a convex model is proven about these numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...errors import ModelError
from .affine import Layout
from .cones import Cones
from .package import cp

Array = NDArray[np.float64]
JUDGE = "CLARABEL"  # the solver in whose form the model is written; it comes with CVXPY
FORM = {"use_quad_obj": False}  # quadratic objectives as cones, so that one kind of proof is enough


@dataclass(frozen=True, eq=False)
class Canonical:
    """min c z + d with b - A z in K, and where the user's variables are in z."""

    c: Array
    constant: float
    A: sparse.csr_matrix
    b: Array
    cones: Cones
    place: NDArray[np.intp]  # (n,), the position in z of every element of the layout; len(c) where it is always 0
    problem: Any  # the CVXPY problem behind it: the finite part and the probe
    steps: tuple[Any, ...]  # CVXPY's reductions with what they need to be undone
    solver: Any
    kept: NDArray[np.intp]  # rows of CVXPY's form that are not the probe's

    @staticmethod
    def of(objective: Any, finite: list[Any], layout: Layout) -> Canonical:
        """Canonicalise; a probe constraint on all variables shows where they went, and is then taken out."""
        probe = layout.vector() <= 0
        problem = cp.Problem(objective, [*finite, probe])
        data, chain, inverse = problem.get_problem_data(JUDGE, solver_opts=dict(FORM))
        A, dims = sparse.csr_matrix(data["A"]), data["dims"]
        steps = tuple(zip(chain.reductions, inverse, strict=True))
        # Which rows are the probe's: number all multipliers, and let CVXPY say which ones it would give to the probe.
        numbered = _undone(steps, np.zeros(A.shape[1]), np.arange(A.shape[0], dtype=float)).dual_vars[probe.id]
        rows = np.rint(np.ravel(numbered, order="F")).astype(np.intp)
        seen = A[rows]
        if (np.diff(seen.indptr) > 1).any() or (seen.data != 1).any():
            raise ModelError("CVXPY canonicalises a variable of this model in a way that is not supported in forall.")
        place = np.full(len(rows), A.shape[1], dtype=np.intp)
        place[np.diff(seen.indptr) == 1] = seen.indices
        kept = np.delete(np.arange(A.shape[0]), rows)
        cones = Cones.of(dims, nonneg=dims.nonneg - len(rows))
        if A.shape[0] != len(rows) + sum(block.stop - block.start for _, block, _ in cones.blocks()):
            raise ModelError("CVXPY's form of this model has a cone that is not known here.")
        offset = float(inverse[-1][cp.settings.OFFSET])
        return Canonical(
            np.asarray(data["c"], dtype=float), offset, A[kept], data["b"][kept], cones, place, problem, steps,
            chain.solver, kept,
        )  # fmt: skip

    @property
    def rows(self) -> int:
        return int(self.A.shape[0])

    def user(self, z: Array) -> Array:
        """The user's variables, in the order of the layout, from a canonical point."""
        return np.append(z, 0.0)[self.place]

    def solve(self, c: Array, b: Array, cuts: Any, rhs: Array, **options: Any) -> tuple[str, Array, Array, Array]:
        """Minimise c z with b - A z in K and cuts z <= rhs: status, z, multipliers of the rows and of the cuts."""
        at = self.cones.zero + self.cones.nonneg
        data = {
            "c": c,
            "A": sparse.csc_matrix(sparse.vstack([self.A[:at], cuts, self.A[at:]])),
            "b": np.concatenate([b[:at], rhs, b[at:]]),
            "dims": self.cones.with_rows(len(rhs)),
        }
        raw = self.solver.solve_via_data(data, False, False, options)
        z, dual = np.array(raw.x, dtype=float), np.array(raw.z, dtype=float)
        k = len(rhs)
        return str(raw.status), z, np.concatenate([dual[:at], dual[at + k :]]), dual[at : at + k]

    def store(self, present: bool, z: Array, rows: Array, values: dict[int, Array] | None = None) -> None:
        """Set the values of the user's variables and the dual values of the finite constraints, as CVXPY does.

        `values` are those of the variables, by id; without them they are read from the canonical point z. With nothing
        `present`, as for an infeasible model, all are None.
        """
        if not present:
            duals = [d for c in self.problem.constraints for d in c.dual_variables]
            for leaf in (*self.problem.variables(), *duals):
                leaf.save_value(None)
            return
        every = np.zeros(self.rows + len(self.place))
        every[self.kept] = rows
        found = _undone(self.steps, z, every)
        for v in self.problem.variables():
            v.save_value(found.primal_vars[v.id] if values is None else values[v.id])
        for c in self.problem.constraints:
            if c.id in found.dual_vars:
                c.save_dual_value(found.dual_vars[c.id])


def _undone(steps: tuple[Any, ...], z: Array, rows: Array) -> Any:
    """CVXPY's solution of the user's problem from a point and multipliers of the canonical one."""
    tools, solver = cp.reductions.solvers.utilities, cp.reductions.solvers.solver.Solver
    last = steps[-1][1]
    zero = last["dims"].zero
    duals: dict[Any, Any] = {}
    for part, kind in ((rows[:zero], solver.EQ_CONSTR), (rows[zero:], solver.NEQ_CONSTR)):
        duals |= tools.get_dual_values(part, tools.extract_dual_value, last[kind])
    solution = cp.reductions.solution.Solution(cp.OPTIMAL, 0.0, {last["var_id"]: z}, duals, {})
    for reduction, inverse in reversed(steps[:-1]):
        solution = reduction.invert(solution, inverse)
    return solution
