"""What the exchange asks of a finite LP solver: a model that lives on, grows by rows, and is solved again and again.

The model is, in the coordinates z of `Conditioning`,

    min c z   with   row_lower <= A z <= row_upper,   a_i z - s <= b_i for every cut i,   z in a box.

The elastic column s is fixed at minus the margin that the cuts must keep, or set free and minimised to learn the best
margin there is; a positive minimum is a proof of infeasibility.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..errors import LSIPError, MissingExtraError, ModelError

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


class LicenceError(LSIPError, RuntimeError):
    """The LP solver may not be used for this model: it has no licence, or one for smaller models."""


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


class MasterFactory(Protocol):
    """What makes a master: its class, or its class with a solver chosen."""

    def __call__(
        self, c: Array, lower: Array, upper: Array, A: sparse.csr_matrix, row_lower: Array, row_upper: Array, tol: float
    ) -> Master: ...


@dataclass(frozen=True)
class _Door:
    """Where a master lives, and what it needs."""

    module: str
    attribute: str
    package: str  # what has to be installed, by the extra of the master's name
    chooses: bool = False  # whether a solver may be named behind a colon


_MASTERS = {
    "highs": _Door("lsip.masters.highs", "HighsMaster", "highspy"),
    "gurobi": _Door("lsip.masters.gurobi", "open_gurobi", "gurobipy"),
    "cvxpy": _Door("lsip.masters.cvxpy", "open_cvxpy", "cvxpy", chooses=True),
    "pyomo": _Door("lsip.masters.pyomo", "open_pyomo", "pyomo", chooses=True),
}


def open_master(name: str) -> MasterFactory:
    """The master called `name`, or `name:solver` where a master can use many; imported when it is first asked for."""
    master, colon, solver = str(name).partition(":")
    if master not in _MASTERS:
        raise ModelError(
            f"There is no master called {master!r}; choose from {', '.join(_MASTERS)}, or name a solver of CVXPY or "
            "Pyomo, as in 'cvxpy:CLARABEL' and 'pyomo:glpk'."
        )
    door = _MASTERS[master]
    if colon and not (solver and door.chooses):
        advice = "name a solver behind the colon or leave it out" if door.chooses else f"write {master!r}"
        raise ModelError(f"There is no master called {name!r}: {advice}.")
    if find_spec(door.package) is None:
        raise MissingExtraError(f"The master {master!r} needs {door.package}: pip install 'lsip[{master}]'.")
    made: Any = getattr(import_module(door.module), door.attribute)
    factory: MasterFactory = partial(made, solver=solver) if solver else made
    return factory
