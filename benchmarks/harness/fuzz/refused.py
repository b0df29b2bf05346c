"""What must be refused: kinds of arguments, by annotation, and calls, by name. An answer to them is silent nonsense."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache, partial
from types import NoneType
from typing import Any, Literal, get_origin

import numpy as np

import envs
import lsip
import rl
from envs import ship
from rl import baselines

from . import specimens as own
from .malformed import ANYTHING
from .surface import _alternatives, hints

NO_TEXT = {"0", "-1", "0.5", "nan", "an object", "a class", "[]", "{}", "set", "bytes", "ellipsis", "a module", "slice"}
NO_FLAG = {"text", "empty text", "nan", "0.5", "an object", "[]", "{}", "bytes", "a class", "ellipsis"}
NO_NUMBER = {"text", "empty text", "an object", "{}", "bytes", "a class", "ellipsis", "a module", "complex", "set"}
NO_WHOLE = NO_NUMBER | {"0.5", "nan", "[]"}
NO_CHOICE = NO_TEXT | {"text", "empty text", "number as text", "long text"}
KINDS: dict[Any, set[str]] = {str: NO_TEXT, bool: NO_FLAG, int: NO_WHOLE, float: NO_NUMBER}


@cache
def _meanings(function: Callable[..., Any]) -> dict[str, set[str]]:
    """For every parameter, the kinds of arguments that cannot mean anything."""
    found: dict[str, set[str]] = {}
    if inspect.isclass(function) and issubclass(function, BaseException):
        return found
    for name, hint in hints(_plain(function)).items():
        parts = [p for p in _flat(hint) if p is not NoneType]
        if parts and all(p in KINDS or p == "choice" for p in parts):
            found[name] = set.intersection(*(NO_CHOICE if p == "choice" else KINDS[p] for p in parts))
    return found


def _flat(hint: Any) -> list[Any]:
    return ["choice" if get_origin(p) is Literal or p is Literal else p for p in _alternatives(hint)]


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """What is behind a partial call of a generator."""
    return function.args[0] if isinstance(function, partial) and function.func is own.first else function


def refused(function: Callable[..., Any], parameter: str, kind: str) -> bool:
    """Whether an argument of that kind can mean nothing to that parameter."""
    try:
        several = parameter == "seed" and kind == "[]"  # NumPy takes lists of them
        return kind in ANYTHING and not several and kind in _meanings(function).get(parameter, ())
    except TypeError:  # no function that can be looked up
        return False


def _solve(**options: Any) -> Callable[[], Any]:
    return lambda: own.problem().solve(verbose=False, **options)


REFUSALS: dict[str, Callable[[], Any]] = {  # each of these was accepted once, or might be
    'verify(oracle="nonsense")': lambda: own.solution().verify(oracle="nonsense"),
    "verify(oracle=5)": lambda: own.solution().verify(oracle=5),
    "verify(nonsense=1)": lambda: own.solution().verify(nonsense=1),
    "Problem(name=object())": lambda: lsip.Problem(lsip.minimize(own.variable()[0]), [], name=object()),
    "Index(5)": lambda: lsip.Index(5, lsip.Interval(0, 1)),
    "Index(None)": lambda: lsip.Index(None, lsip.Interval(0, 1)),
    "Index('')": lambda: lsip.Index("", lsip.Interval(0, 1)),
    "Variable(name=5)": lambda: lsip.Variable(name=5),
    "Variable(name='')": lambda: lsip.Variable(name=""),
    "Parameter(name=5)": lambda: lsip.Parameter(name=5),
    "Parameter(name=' ')": lambda: lsip.Parameter(name=" "),
    "Rule(name=5)": lambda: lsip.Rule(of=own.index(), name=5),
    "forall(name=5)": lambda: lsip.forall(*own.statement(), name=5),
    "solve(nonsense=1)": _solve(nonsense=1),
    "solve(oracle='nonsense')": _solve(oracle="nonsense"),
    "solve(master='nonsense')": _solve(master="nonsense"),
    "solve(method='nonsense')": _solve(method="nonsense"),
    "solve(polish='yes')": _solve(polish="yes"),
    "plot(kind='nonsense')": lambda: own.solution().plot(kind="nonsense"),
    "plot(family='nonsense')": lambda: own.solution().plot(family="nonsense"),
    "plot(family=0, kind='variables')": lambda: own.solution().plot(family=0, kind="variables"),
    "plot(family=0, kind='convergence')": lambda: own.solution().plot(family=0, kind="convergence"),
    "cvxpy Problem(name=5)": lambda: type(own.door_problem())(own.objective_of_door(), [], name=5),
    "cvxpy Problem(objective, None)": lambda: type(own.door_problem())(own.objective_of_door(), None),
    "cvxpy Index(5)": lambda: type(own.index_of_door())(5, lsip.Interval(0, 1)),
    "cvxpy solve(nonsense=1)": lambda: own.door_problem().solve(nonsense=1),
    "cvxpy solve('NONSENSE')": lambda: own.door_problem().solve("NONSENSE"),
    "cvxpy forall(lipschitz) of a formula": lambda: _door_lipschitz(),
    "Pyomo solve(nonsense=1)": lambda: _pyomo(nonsense=1),
    "Pyomo solve(options=True)": lambda: _pyomo(options=True),
    "Pyomo solve(tee='no')": lambda: _pyomo(tee="no"),
    "Pyomo solve(load_solutions='no')": lambda: _pyomo(load_solutions="no"),
    "EPO(oracle)": lambda: rl.EPO(own.mdp(), oracle="nonsense", **own.quick()),
    "EPO(nonsense)": lambda: rl.EPO(own.mdp(), nonsense=1, **own.quick()),
    "SICPO(nonsense)": lambda: rl.SICPO(own.mdp(), nonsense=1, **own.quick()),
    "CRPO(nonsense)": lambda: baselines.CRPO(own.mdp(), points=9, nonsense=1, **own.quick()),
    "SICPPO(nonsense)": lambda: rl.SICPPO(own.ships(), ship.constraint(), nonsense=1, **own.small()),
    "certify(plan, confidence)": lambda: rl.certify(own.mdp(), own.plan(), nonsense=1),
    "certify(constraint, [episodes])": lambda: rl.certify(ship.constraint(), [own.deep().episodes(4, seed=0)]),
    "learn(nonsense)": lambda: own.learner().learn(1, nonsense=1),
    "learn(total_steps=1e308)": lambda: own.deep().learn(1e308),
    "envs.sewage(nonsense)": lambda: envs.sewage(nonsense=1),
    "rl.plan(nonsense)": lambda: rl.plan(own.mdp(), nonsense=1),
    "Interval(0, 'one')": lambda: lsip.Interval(0, "one"),
    "open_master('nonsense')": lambda: lsip.masters.open_master("nonsense"),
    "catalogue.get('nonsense')": lambda: lsip.catalogue.get("nonsense"),
    "to_frame('nonsense')": lambda: own.solution().to_frame("nonsense"),
    "violation('nonsense')": lambda: own.solution().violation("nonsense"),
    "x of complex numbers": lambda: own.problem().worst_violation(np.array([1j, 2.0])),
}


def _door_lipschitz() -> Any:
    from lsip.interop import cvxpy as opened

    x, t, _ = own.door()
    return opened.forall(t, x[0] + x[1] * t >= t**2, lipschitz=1.0)


def _pyomo(**keywords: Any) -> Any:
    from lsip.interop.pyomo import LSIPSolver

    return LSIPSolver().solve(own.pyomo_model(), **keywords)
