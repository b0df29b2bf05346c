"""Masters by name, each imported when it is first asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ..errors import MissingExtraError, ModelError
from .base import MasterFactory


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
