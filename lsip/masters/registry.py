"""Who solves the finite programs: masters by name, each imported when it is first asked for, and those of users."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from inspect import isclass, signature
from typing import Any

from ..errors import MissingExtraError, ModelError
from ..validation import answer, shown
from .base import IntegerMaster, IntegerMasterFactory, Master, MasterFactory
from .checked import Checked, CheckedInteger, observed


@dataclass(frozen=True)
class _Door:
    """Where a master lives, and what it needs."""

    module: str
    attribute: str
    package: str  # what has to be installed, by the extra of the master's name
    chooses: bool = False  # whether a solver may be named behind a colon
    integer: tuple[str, str] | None = None  # module and attribute of the master with whole variables, if it has one


_MASTERS = {
    "highs": _Door(
        "lsip.masters.highs", "HighsMaster", "highspy", integer=("lsip.masters.highs_integer", "HighsIntegerMaster")
    ),
    "gurobi": _Door(
        "lsip.masters.gurobi", "open_gurobi", "gurobipy", integer=("lsip.masters.gurobi_integer", "GurobiIntegerMaster")
    ),
    "cvxpy": _Door("lsip.masters.cvxpy", "open_cvxpy", "cvxpy", chooses=True),
    "pyomo": _Door("lsip.masters.pyomo", "open_pyomo", "pyomo", chooses=True),
}


DATA = ("c", "lower", "upper", "A", "row_lower", "row_upper", "tol")  # what a master is opened with


def open_master(master: str | MasterFactory) -> MasterFactory:
    """What opens the finite programs of `master`: a name, as `lsip.Exchange` takes it, or a factory of the user's."""
    if isinstance(master, str):
        return _named(master)
    _check_factory(master)
    return partial(_opened, master, master_name(master))


def open_integer_master(master: str | MasterFactory) -> IntegerMasterFactory:
    """What opens finite programs with whole variables, where `master` has such programs."""
    door = _MASTERS.get(master) if isinstance(master, str) else None
    if door is None or door.integer is None:
        names = " or ".join(f"{name!r}" for name, door in _MASTERS.items() if door.integer)
        raise ModelError(f"Whole variables need the branch and bound of master={names}; got {master_name(master)!r}.")
    open_master(master)  # which says what is not installed
    found: IntegerMasterFactory = getattr(import_module(door.integer[0]), door.integer[1])
    return partial(_opened_integer, found, master_name(master))


def master_name(master: str | MasterFactory) -> str:
    """What a master is called in print."""
    if isinstance(master, str):
        return master
    made: Any = getattr(master, "func", master)  # of a `functools.partial`
    return str(getattr(made, "__name__", type(made).__name__))


def _named(name: str) -> MasterFactory:
    """The master called `name`, or `name:solver` where a master can use many; imported when it is first asked for."""
    master, colon, solver = name.partition(":")
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
    return partial(_opened, factory, name)


def _check_factory(master: Any) -> None:
    """Refuse what cannot open a finite program, before any work."""
    opens = f"what opens a finite program when it is called with ({', '.join(DATA)})"
    if not callable(master):
        advice = "Give its class, since every solve opens a fresh one." if hasattr(master, "best_margin") else ""
        raise ModelError(f"`master` is a name, such as 'highs', or {opens}; got {shown(master)}. {advice}".rstrip())
    try:
        taken = signature(master)
    except ValueError:  # some that are written in C have none
        return
    try:
        taken.bind(*DATA)
    except TypeError as error:
        if isclass(master) and "__call__" in vars(master):
            raise ModelError(f"`master` is a class; make one with parentheses: {master.__name__}().") from error
        raise ModelError(
            f"`master` must be {opens}; {master_name(master)} takes ({', '.join(taken.parameters)})."
        ) from error


def _opened_integer(factory: IntegerMasterFactory, name: str, *data: Any) -> IntegerMaster:
    return CheckedInteger(observed(name, factory, *data), name, len(data[0]))


def _opened(factory: MasterFactory, name: str, *data: Any) -> Master:
    """The program that a factory opens, under observation: solvers fail, and those of users may do anything."""
    return Checked(answer("master", factory, *data), name, len(data[0]), data[3].shape[0])
