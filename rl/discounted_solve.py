"""Solve (I - gamma P) x = b, or its transpose, for the transition matrix P (S, S) of a policy.

Factors serve any b, but those of a sparse random graph fill up: 5,000 states with 9 successors each have 45,000
transitions and 13 million entries of factors. There, a Krylov method on what is left over, b - (I - gamma P) x, gets
to rounding errors with products by P alone; where it gains nothing, a sweep x + (what is left over) does, which
shrinks the error by gamma. Whoever needs a proof bounds the error from what is left over: it is spread by
1 / (1 - gamma) at most.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse import linalg as sparse_linalg

from lsip.deadline import PACE, check, factor_operations, left

from .dataset import Matrix

Array = NDArray[np.float64]
Solve = Callable[[Array, bool], Array]  # b, and whether the system is transposed -> x


@dataclass(frozen=True)
class SolveTuning:
    """When sparse systems are factored, and how they are solved otherwise.

    Parameters
    ----------
    most_operations
        Factors that may take more than this, as if all of their envelope filled up, are not computed. A second at most.
    most_products
        Products by P in one round of a Krylov method, which makes what is left over smaller by half of its digits.
    """

    most_operations: float = 1e9
    most_products: int = 400


TUNING = SolveTuning()


def solver(chain: Matrix, gamma: float) -> Solve:
    """How to solve (I - gamma chain) x = b for several b."""
    if isinstance(chain, np.ndarray):
        return _dense(chain, gamma)
    system = sparse.eye(chain.shape[0], format="csc") - gamma * sparse.csc_matrix(chain)
    if gamma == 1 or factor_operations(system) <= min(TUNING.most_operations, max(left(), 0.0) * PACE.sparse):
        return _factored(system)
    forward, backward = sparse.csr_matrix(chain), sparse.csr_matrix(chain.T)
    return lambda b, transposed: iterate(backward if transposed else forward, gamma, b)


def _dense(chain: Array, gamma: float) -> Solve:
    system = np.eye(len(chain)) - gamma * chain
    factors = linalg.lu_factor(system, check_finite=False)

    def solve(b: Array, transposed: bool) -> Array:
        x = linalg.lu_solve(factors, b, trans=int(transposed), check_finite=False)
        over = b - (system.T if transposed else system) @ x
        return x + linalg.lu_solve(factors, over, trans=int(transposed), check_finite=False)

    return solve


def _factored(system: sparse.csc_matrix) -> Solve:
    factors = sparse_linalg.splu(system)

    def solve(b: Array, transposed: bool) -> Array:
        way = "T" if transposed else "N"
        x = factors.solve(b, trans=way)
        return x + factors.solve(b - (system.T if transposed else system) @ x, trans=way)

    return solve


def iterate(chain: sparse.csr_matrix, gamma: float, b: Array) -> Array:
    """The solution without factors, to rounding errors."""
    system = sparse_linalg.LinearOperator(chain.shape, matvec=lambda x: x - gamma * (chain @ x), dtype=float)
    x, over = b.copy(), gamma * (chain @ b)
    # What is left over no longer counts where it may be the rounding of the products of a row.
    rounding = (int(np.diff(chain.indptr).max(initial=0)) + 2) * np.finfo(float).eps
    for _ in range(int(np.ceil(-np.log(np.finfo(float).tiny) / (1 - gamma)))):
        check("policy evaluation")
        size = float(np.abs(over).max(initial=0.0))
        if size <= rounding * np.abs(x).max(initial=0.0):
            break
        step, _ = sparse_linalg.bicgstab(system, over, rtol=np.sqrt(np.finfo(float).eps), maxiter=TUNING.most_products)
        following = x + step
        rest = b - following + gamma * (chain @ following)
        if not np.abs(rest).max() < 0.5 * size:  # a nan compares false
            following = x + over
            rest = b - following + gamma * (chain @ following)
            # A sweep shrinks the largest entry, or for visits the sum of all.
            if not (np.abs(rest).max() < size or np.abs(rest).sum() < np.abs(over).sum()):
                break
        x, over = following, rest
    return x
