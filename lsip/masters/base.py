"""What the exchange asks of a finite LP solver: a model that lives on, grows by rows, and is solved again and again.

The model is, in the coordinates z of `Conditioning`,

    min c z   with   row_lower <= A z <= row_upper,   a_i z - s <= b_i for every cut i,   z in a box.

The elastic column s is fixed at minus the margin that the cuts must keep, or set free and minimised to learn the best
margin there is; a positive minimum is a proof of infeasibility.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..errors import LSIPError, ModelError

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MasterResult:
    """What one solve says."""

    status: str  # "optimal", "infeasible", or what the solver calls its failure
    z: Array  # (n,)
    slack: float  # the elastic column s
    objective: float
    cut_multipliers: Array  # (cuts,), >= 0
    row_multipliers: Array  # (rows,), positive at an upper side, negative at a lower one
    reduced_costs: Array  # (n,), what each z would cost if it could move


class MasterError(LSIPError, RuntimeError):
    """The LP solver failed on a problem that it should be able to solve."""


class Master(Protocol):
    """A finite LP that is kept alive."""

    def __init__(
        self, c: Array, lower: Array, upper: Array, A: sparse.csr_matrix, row_lower: Array, row_upper: Array, tol: float
    ) -> None: ...

    @property
    def cuts(self) -> int:
        """How many cut rows the model holds."""

    def add(self, rows: Any, rhs: Array) -> None:
        """Append cuts `rows z - s <= rhs`."""

    def drop(self, keep: NDArray[np.bool_]) -> None:
        """Keep only these cuts."""

    def set_box(self, lower: Array, upper: Array) -> None:
        """Replace the bounds on z."""

    def solve(self, margin: float) -> MasterResult:
        """Minimise c z with every cut kept by at least `margin`."""

    def centre(self, margin: float) -> Array | None:
        """A point in the middle of the optimal face of `solve(margin)`, where there are many; None if that fails."""

    def best_margin(self, most: float) -> MasterResult:
        """Minimise s >= -most instead of c z."""


_MASTERS = {"highs": ("lsip.masters.highs", "HighsMaster")}


def open_master(name: str) -> type[Master]:
    """The master of that name, imported when it is first asked for."""
    if name not in _MASTERS:
        raise ModelError(f"There is no master called {name!r}; choose from {', '.join(_MASTERS)}.")
    module, attribute = _MASTERS[name]
    master: type[Master] = getattr(import_module(module), attribute)
    return master
