"""The finite part of a model as CVXPY canonicalises it: min c z + d with b - A z in a cone, and the way back.

The rows come in the order zero, nonnegative, second-order, semidefinite (upper triangles, off-diagonal entries times
√2), exponential, power. Everything that is proven about a convex model is proven about these numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...cones import Cone, Exponential, Power, SecondOrder, Semidefinite
from ...errors import ModelError
from .affine import BACKEND, LeafLayout
from .package import Objective, Relation, cp

Array = NDArray[np.float64]
JUDGE = "CLARABEL"  # the solver in whose form the model is written; it comes with CVXPY
FORM = {"use_quad_obj": False}  # quadratic objectives as cones, so that one kind of proof is enough


class Dimensions(Protocol):
    """The cones of CVXPY's rows, as it counts them."""

    zero: int
    nonneg: int
    soc: Sequence[int]
    psd: Sequence[int]
    exp: int
    p3d: Sequence[float]
    pnd: Sequence[Sequence[float]]


@dataclass(frozen=True, eq=False)
class Canonical:
    """min c z + d with b - A z in K, and where the user's variables are in z."""

    c: Array
    constant: float
    A: sparse.csr_matrix
    b: Array
    zero: int  # rows with slack zero
    nonneg: int  # rows with nonnegative slacks, which come next
    cones: tuple[Cone, ...]  # of all the others
    place: NDArray[np.intp]  # (n,), the position in z of every element of the layout; len(c) where it is always 0
    integer: NDArray[np.bool_]  # (n,), which of these elements are whole
    problem: Any  # the CVXPY problem behind it: the finite part and the probe
    steps: tuple[Any, ...]  # CVXPY's reductions with what they need to be undone
    kept: NDArray[np.intp]  # rows of CVXPY's form that are not the probe's

    @staticmethod
    def of(objective: Objective, finite: list[Relation], layout: LeafLayout) -> Canonical:
        """Canonicalise; a probe constraint on all variables shows where they went, and is then taken out."""
        probe = layout.vector() <= 0
        problem = cp.Problem(objective, [*finite, probe])
        with _continuous(problem.variables()):
            deep = any(v.ndim > 2 for v in problem.variables())  # such as the coefficients of a matrix of rules
            backend = BACKEND if deep else None
            data, chain, inverse = problem.get_problem_data(JUDGE, canon_backend=backend, solver_opts=dict(FORM))
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
        zero, nonneg, cones = int(dims.zero), int(dims.nonneg) - len(rows), read_cones(dims)
        if len(kept) != zero + nonneg + sum(cone.size for cone in cones):
            raise ModelError("CVXPY's form of this model has a cone that is not known here.")
        offset = float(inverse[-1][cp.settings.OFFSET])
        return Canonical(
            np.asarray(data["c"], dtype=float), offset, A[kept], data["b"][kept], zero, nonneg, cones, place,
            layout.integer(), problem, steps, kept,
        )  # fmt: skip

    @property
    def rows(self) -> int:
        return int(self.A.shape[0])

    @property
    def linear(self) -> bool:
        """Whether this is a linear program."""
        return not self.cones

    def user(self, z: Array) -> Array:
        """The user's variables, in the order of the layout, from a canonical point with a zero behind it."""
        return z[self.place]

    def lifted(self, x: Array) -> Array:
        """The user's variables among canonical ones, with a zero behind them; what CVXPY has added is zero."""
        z = np.zeros(len(self.c) + 1)
        z[self.place] = x
        z[-1] = 0.0
        return z

    def store(self, present: bool, z: Array, rows: Array) -> None:
        """Set the values of the user's variables and the dual values of the finite constraints, as CVXPY does.

        With nothing `present`, as for an infeasible model, all are None.
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
            v.save_value(found.primal_vars[v.id])
        for c in self.problem.constraints:
            if c.id in found.dual_vars:
                c.save_dual_value(found.dual_vars[c.id])


@contextmanager
def _continuous(variables: list[Any]) -> Iterator[None]:
    """Let integer variables pass for others: CVXPY has no conic form of them."""
    given = [(v.attributes, {kind: v.attributes[kind] for kind in ("integer", "boolean")}) for v in variables]
    try:
        for attributes, kinds in given:
            attributes.update(dict.fromkeys(kinds, False))
        yield
    finally:
        for attributes, kinds in given:
            attributes.update(kinds)


def read_cones(dims: Dimensions) -> tuple[Cone, ...]:
    """The cones behind the zero and the nonnegative rows, in the order of the rows."""
    return (
        *(SecondOrder(int(n)) for n in dims.soc),
        *(Semidefinite(int(k)) for k in dims.psd),
        *(Exponential() for _ in range(int(dims.exp))),
        *(Power((float(a), 1.0 - float(a))) for a in dims.p3d),
        *(Power(tuple(map(float, a))) for a in dims.pnd),
    )


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
