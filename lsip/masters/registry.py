"""Who solves the finite programs: masters by name, each imported when it is first asked for, and those of users."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from inspect import isclass, signature
from math import ceil, log2
from typing import Any

from ..errors import MissingExtraError, ModelError
from ..validation import answer, shown
from .base import Backend, Master, MasterFactory
from .checked import Checked
from .elastic import ElasticMaster
from .refined import Refined

# The back ends, each in a module of its name, and what has to be installed for them, by the extra of that name.
_PACKAGES = {"highs": "highspy", "gurobi": "gurobipy", "cvxpy": "cvxpy", "pyomo": "pyomo"}
_CHOOSE = ("cvxpy", "pyomo")  # which have many solvers, one of which may be named behind a colon
DATA = ("c", "lower", "upper", "A", "row_lower", "row_upper", "tol")  # what a master is opened with


def open_master(master: str | MasterFactory) -> MasterFactory:
    """What opens the finite programs of `master`: a name, as `lsip.Exchange` takes it, or a factory of the user's."""
    if not isinstance(master, str):
        _check_factory(master)
        return partial(_opened, master, master_name(master))
    found = backend(master)
    make = partial(ElasticMaster, found)
    unit = 2.0 ** max(0, ceil(log2(found.capabilities.accuracy / 1e-10)))  # an exchange needs 1e-10, see `Refined`
    return make if unit == 1.0 else partial(Refined, make=make, unit=unit, cost=unit)


def integer_backend(master: str | MasterFactory) -> Backend:
    """The back end of a master, if it has a branch and bound."""
    found = backend(master) if isinstance(master, str) else None
    if found is None or not found.capabilities.integers:
        raise ModelError(
            f"Whole variables need the branch and bound of master='highs' or 'gurobi'; got {master_name(master)!r}."
        )
    return found


def master_name(master: str | MasterFactory) -> str:
    """What a master is called in print."""
    if isinstance(master, str):
        return master
    made: Any = getattr(master, "func", master)  # of a `functools.partial`
    return str(getattr(made, "__name__", type(made).__name__))


def backend(name: str) -> Backend:
    """The back end called `name`, or `name:solver` where it can use many; imported when it is first asked for."""
    master, colon, solver = name.partition(":")
    if master not in _PACKAGES:
        raise ModelError(
            f"There is no master called {master!r}; choose from {', '.join(_PACKAGES)}, or name a solver of CVXPY or "
            "Pyomo, as in 'cvxpy:CLARABEL' and 'pyomo:glpk'."
        )
    if colon and not (solver and master in _CHOOSE):
        advice = "name a solver behind the colon or leave it out" if master in _CHOOSE else f"write {master!r}"
        raise ModelError(f"There is no master called {name!r}: {advice}.")
    if find_spec(_PACKAGES[master]) is None:
        raise MissingExtraError(f"The master {master!r} needs {_PACKAGES[master]}: pip install 'lsip[{master}]'.")
    found: Backend = import_module(f"lsip.masters.{master}").backend(*([solver] if solver else []))
    return replace(found, name=name)


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


def _opened(factory: MasterFactory, name: str, *data: Any) -> Master:
    """The program that a factory opens, under observation: solvers fail, and those of users may do anything."""
    return Checked(answer("master", factory, *data), name, len(data[0]), data[3].shape[0])
