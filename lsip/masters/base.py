"""What the exchange asks of a finite LP solver: a model that lives on, grows by rows, and is solved again and again.

The model is, in the coordinates z of `Conditioning`,

    min c z   with   row_lower <= A z <= row_upper,   a_i z - s <= b_i for every cut i,   z in a box.

The elastic column s is fixed at minus the margin that the cuts must keep, or set free and minimised to learn the best
margin there is; a positive minimum is a proof of infeasibility.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..errors import LSIPError

Array = NDArray[np.float64]
Matrix: TypeAlias = Array | sparse.csr_matrix  # rows, dense or sparse


def is_sparse(matrix: object) -> TypeGuard[sparse.csr_matrix]:
    """Whether it is a matrix that is kept by its entries."""
    return bool(sparse.issparse(matrix))


@dataclass(frozen=True, eq=False)
class MasterResult:
    """What one solve says."""

    status: str  # "optimal" or "infeasible"; a solver that fails raises `MasterError`
    z: Array  # (n,)
    slack: float  # the elastic column s
    objective: float
    cut_multipliers: Array  # (cuts,), >= 0
    row_multipliers: Array  # (rows,), positive at an upper side, negative at a lower one
    reduced_costs: Array  # (n,), what each z would cost if it could move


class MasterError(LSIPError, RuntimeError):
    """The LP solver failed on a problem that it should be able to solve."""


class LicenceError(LSIPError, RuntimeError):
    """The LP solver may not be used for this model: it has no licence, or one for smaller models."""


class Master(Protocol):
    """A finite LP that is kept alive."""

    def add(self, rows: Matrix, rhs: Array) -> None:
        """Append cuts `rows z - s <= rhs`."""

    def drop(self, keep: NDArray[np.bool_]) -> None:
        """Keep only these cuts."""

    def solve(self, margin: float) -> MasterResult:
        """Minimise c z with every cut kept by at least `margin`."""

    def centre(self, margin: float) -> Array | None:
        """A point in the middle of the optimal face of `solve(margin)`, where there are many; None if that fails."""

    def best_margin(self, most: float) -> MasterResult:
        """Minimise s >= -most instead of c z."""


@dataclass(frozen=True, eq=False)
class IntegerResult:
    """What a branch and bound says of min c x over whole and other values."""

    status: str  # "optimal", "infeasible", "unbounded" or, where time was up, "limit"
    x: Array | None  # (n,), whole up to the tolerance of the solver; None where none was found
    bound: float  # no point is better than this, says the tree


class IntegerMaster(Protocol):
    """A finite program in which some variables are whole, and which grows by rows."""

    def add(self, rows: Matrix, rhs: Array) -> None:
        """Append rows `rows x <= rhs`."""

    def solve(self, gap: float, start: Array | None = None, nodes: int | None = None) -> IntegerResult:
        """Minimise c x to a relative gap, with so many nodes at most; a feasible point to `start` from helps."""


class IntegerMasterFactory(Protocol):
    """What opens such a program."""

    def __call__(
        self,
        c: Array,
        lower: Array,
        upper: Array,
        integer: NDArray[np.bool_],
        A: sparse.csr_matrix,
        row_lower: Array,
        row_upper: Array,
        /,
    ) -> IntegerMaster: ...


class MasterFactory(Protocol):
    """What opens a master, afresh at every call: its class, or a value with its options.

    The box is finite; a row that has no lower or no upper side has an infinite one. `tol` is the relative gap that the
    exchange is to reach: 1e-8 needs rows that are kept to about 1e-10.
    """

    def __call__(
        self,
        c: Array,
        lower: Array,
        upper: Array,
        A: sparse.csr_matrix,
        row_lower: Array,
        row_upper: Array,
        tol: float,
        /,
    ) -> Master: ...
