"""Finite programs that are solved again with changes, and what the exchange asks of them.

A back end opens a finite program,

    min c x   with   row_lower <= A x <= row_upper,   lower <= x <= upper,

some x integer or some rows in cones if it can do that, and keeps it alive. It implements these primitives:

- `add` and `drop`: rows `a x <= b` that come and go behind those that the program was opened with;
- `change`: other costs, bounds of variables, or sides of the first rows;
- `solve`: a point with multipliers of all rows, or a word why there is none;
- `centre`: a point in the middle of the optimal face, if the solver can find one.

HiGHS also takes new columns. Everything else is written once, on top of these: the margin that cuts must keep and the
best one there is (`elastic.py`), proofs of infeasibility for solvers that give none (`elastic.py`), more digits than a
solver has (`refined.py`), mixtures of points (`columns.py`), and the checks of all that a solver says (`checked.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..errors import LSIPError

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Pair = tuple[Array, Array]  # lower and upper ends
Matrix: TypeAlias = Array | sparse.csr_matrix  # rows, dense or sparse


def is_sparse(matrix: object) -> TypeGuard[sparse.csr_matrix]:
    """Whether it is a matrix that is kept by its entries."""
    return bool(sparse.issparse(matrix))


class MasterError(LSIPError, RuntimeError):
    """The LP solver failed on a problem that it should be able to solve."""


class LicenceError(LSIPError, RuntimeError):
    """The LP solver may not be used for this model: it has no licence, or one for smaller models."""


# ---- back ends -------------------------------------------------------------------------------------------------------


class ConeBlock(NamedTuple):
    """Rows whose slacks row_upper - A x lie in a cone."""

    rows: NDArray[np.intp]
    kind: str = "second-order"  # or "semidefinite", "exponential", "power": see `lsip.cones`
    exponents: tuple[float, ...] = ()  # of a power cone


@dataclass(frozen=True, eq=False)
class FiniteProgram:
    """Minimise c x where row_lower <= A x <= row_upper and lower <= x <= upper."""

    c: Array
    lower: Array
    upper: Array
    A: Matrix
    row_lower: Array
    row_upper: Array
    integer: Bools | None = None  # (n,), which variables are integer; None for a continuous program
    cones: Sequence[ConeBlock] = ()


@dataclass(frozen=True, eq=False)
class FiniteResult:
    """What one solve says."""

    status: str  # "optimal", "infeasible", "unbounded" or "limit" (of nodes or time, of a branch and bound)
    x: Array | None = None  # (n,); None where none was found
    multipliers: Array | None = None  # of all rows: positive at an upper side, negative at a lower one; None if unknown
    reduced_costs: Array | None = None  # (n,), c + A^T multipliers
    bound: float = -np.inf  # of a branch and bound: it says that no point is better than this


class LiveProgram(Protocol):
    """A finite program that its solver keeps."""

    @property
    def program(self) -> FiniteProgram:
        """The program as it stands."""

    def add(self, rows: Matrix, rhs: Array) -> None:
        """Append rows `rows x <= rhs`, dense or sparse."""

    def drop(self, keep: Bools) -> None:
        """Keep only these of the rows that were added."""

    def change(self, c: Array | None = None, bounds: Pair | None = None, sides: Pair | None = None) -> None:
        """Replace the costs, the bounds of the variables, or the sides of the rows that it was opened with."""

    def solve(
        self,
        *,
        interior: bool = False,
        once: bool = False,
        gap: float = 0.0,
        start: Array | None = None,
        nodes: int | None = None,
    ) -> FiniteResult:
        """Solve it, from the last solution where that helps; `interior` recommends an interior-point method instead.

        Where a method fails, others are tried, unless it is to be tried only `once`. A branch and bound stops at a
        relative `gap` or after so many `nodes`; a feasible point to `start` from helps. Raises `MasterError` if the
        solver fails, `OutOfTime` at the deadline.
        """

    def centre(self) -> Array | None:
        """A point in the middle of the optimal face; None without one, or if `solve` gives that already."""


@dataclass(frozen=True)
class Capabilities:
    """What a back end can do, for callers to ask.

    Parameters
    ----------
    integers, cones
        Whether programs may have integer variables, and rows in cones.
    accuracy
        The smallest residual of a row that the solver can be asked for.
    """

    integers: bool = False
    cones: bool = False
    accuracy: float = 1e-10


@dataclass(frozen=True)
class Backend:
    """A solver: its name in messages, what opens a program to a relative gap, and what it can do."""

    name: str
    open: Callable[[FiniteProgram, float], LiveProgram]
    capabilities: Capabilities = Capabilities()


# ---- masters ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class MasterResult:
    """What one solve of a master says."""

    status: str  # "optimal" or "infeasible"; a solver that fails raises `MasterError`
    z: Array  # (n,)
    slack: float  # the elastic column s
    objective: float
    cut_multipliers: Array  # (cuts,), >= 0
    row_multipliers: Array  # (rows,), positive at an upper side, negative at a lower one
    reduced_costs: Array  # (n,), what each z would cost if it could move


class Master(Protocol):
    """The finite LP of an exchange, in coordinates z that it chooses.

    It is min c z with row_lower <= A z <= row_upper, a_i z - s <= b_i for every cut i, and z in a box. The elastic
    column s is fixed at minus the margin that the cuts must keep, or set free and minimised to learn the best margin
    there is; a positive minimum is a proof of infeasibility.
    """

    def add(self, rows: Matrix, rhs: Array) -> None:
        """Append cuts `rows z - s <= rhs`."""

    def drop(self, keep: Bools) -> None:
        """Keep only these cuts."""

    def solve(self, margin: float) -> MasterResult:
        """Minimise c z with every cut kept by at least `margin`."""

    def centre(self, margin: float) -> Array | None:
        """A point in the middle of the optimal face of `solve(margin)`, where there are many; None if that fails."""

    def best_margin(self, most: float) -> MasterResult:
        """Minimise s >= -most instead of c z."""


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
