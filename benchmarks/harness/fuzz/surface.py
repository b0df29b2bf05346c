"""Everything public, found by looking: modules, their functions and classes, the methods and settable properties.

A new public name is found without being listed. Where `calls.py` has a call that works, that is used. Otherwise one is
put together from specimens: arguments are looked up by the name of the parameter, then by its annotation. An object of
a class is a specimen, or made by its own constructor. What cannot be called that way is reported by `unreached`, and a
test fails: either a specimen is missing, or the name should not be public.
"""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from types import FunctionType, ModuleType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import envs
import lsip
import rl

from . import specimens as own
from .calls import Call, call
from .calls import surface as written

PACKAGES = (lsip, rl, envs)
INNER = {  # rooms whose names are for the other rooms: users see what they make, never the rooms
    *("lsip.cli", "lsip.cones", "lsip.expressions", "lsip.interop", "lsip.kernel", "lsip.model", "lsip.proof"),
    *("lsip.report", "lsip.solution", "lsip.solver", "lsip.validation", "lsip.workers", "rl.updates"),
    "envs.experiments",
}
DOORS = ("lsip.interop.cvxpy", "lsip.interop.pyomo")
SEAMS = {  # what others implement; `hooks.py` implements them wrongly
    *("Ambiguity", "Domain", "EnclosableViolation", "Master", "MasterFactory", "Method", "Oracle", "Rows", "RowFamily"),
    *("Simulator", "Timed", "Update", "Violation", "Answer"),
}
WITHIN = {  # methods that the rooms call on each other's objects: nothing that a user is told of takes or gives these
    *("absence", "adding", "admissible", "advance", "advice", "all_reduced_costs", "applied", "assemble", "bend"),
    *(
        "body_at",
        "broadcast",
        "constant",
        "derivative",
        "discounts",
        "features",
        "first",
        "observe",
        "of_steps",
        "scaled_by",
    ),
    *("canonicalize", "climbed", "coefficients", "corners", "data", "describe", "divergence", "doubt", "element"),
    *(
        "entropy",
        "evaluated",
        "exact_support",
        "expand",
        "facts",
        "finite_violation",
        "flat_cells",
        "for_steps",
        "forget",
    ),
    *(
        "forward",
        "found",
        "from_arrays",
        "gather",
        "given",
        "join",
        "judge",
        "keep",
        "key",
        "label",
        "lanes",
        "moved",
        "log_prob",
    ),
    *("log_probs", "logits", "monomial", "nodes", "now", "of", "open", "place", "proven", "read", "refuse", "remember"),
    *(
        "row_multipliers",
        "rows",
        "scaled",
        "shared",
        "slopes",
        "source",
        "split",
        "substituted",
        "sum_last",
        "table",
        "take",
        "terms",
    ),
    *("to_arrays", "typed", "with_args", "with_index", "within", "worst", "written"),
}
WITHIN_OF = {  # the same, where another class has a method of that name for users; and functions that rooms call
    "lsip.domains.as_points",
    *("NPG.step", "PPO.step", "TRPO.step", "PolicyGradient.step", "BatchedSearch.maximise", "FixedGrid.maximise"),
    *("Rule.choose", "Switch.choose", "Exchange.choose", "Lagrangian.choose", "BinaryModel.occupancy"),
    *("MLPCategorical.sample", "MLPGaussian.sample", "SoftmaxTable.sample", "Program.solve", "Program.violation"),
    *(f"{name}Tensors.step" for name in ("Pendulum", "Queue", "ShipRoute", "Spraying")),
    *("cvxpy.Rule.value", "cvxpy.ForAll.at", "cvxpy.Problem.compile", "Grid.per_axis", "Moments.tail"),
}
VALUES = {  # what calls return, as plain data: nobody makes them, and their methods are called
    *("ActivePoint", "BinaryTree", "Bound", "Cell", "Choice", "Constraint", "Convex", "ConvexSolution", "DecisionRule"),
    *("Decomposition", "Discretised", "Effort", "Entry", "Expression", "ForAll", "Guarantee", "Iterate", "Learned"),
    *("MasterResult", "Memory", "ModelSolution", "Objective", "Plan", "Program", "Region", "Separation", "Solution"),
    *("Status", "UpperBound", "Work", "Worst", "WorstViolation"),
}


@dataclass(frozen=True)
class Target:
    """One public callable."""

    label: str
    kind: str  # "class", "function", "method" or "property"
    owner: type | None
    function: Any


def modules() -> Iterator[ModuleType]:
    """The packages, those of their rooms that users import from, and the doors."""
    for package in PACKAGES:
        yield package
        for found in pkgutil.iter_modules(package.__path__):
            name = f"{package.__name__}.{found.name}"
            listed = found.name in package.__all__ and isinstance(getattr(package, found.name), ModuleType)
            if (found.ispkg or listed) and name not in INNER:
                yield import_module(name)
    for door in DOORS:
        yield import_module(door)


def names(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """What a module offers: the names in `__all__`, or what it defines itself."""
    listed = getattr(module, "__all__", None) or [
        name
        for name, part in vars(module).items()
        if name[0] != "_" and callable(part) and getattr(part, "__module__", None) == module.__name__
    ]
    for name in listed:
        yield name, getattr(module, name)


@cache
def targets() -> dict[str, Target]:
    """All public callables by their labels."""
    found: dict[str, Target] = {}
    seen: set[int] = set()
    for module in modules():
        for name, part in names(module):
            label = f"{module.__name__}.{name}"
            if id(part) in seen or isinstance(part, ModuleType) or not callable(part) or label in WITHIN_OF:
                continue
            seen.add(id(part))
            if not inspect.isclass(part):
                found[label] = Target(label, "function", None, part)
            elif not issubclass(part, BaseException) and name not in SEAMS and ours(part) and not seam(part):
                if name not in VALUES:
                    found[label] = Target(label, "class", None, part)
                found |= {t.label: t for t in _members(part, label)}
    return found


def seam(part: type) -> bool:
    """Whether it is a protocol, which others implement."""
    return bool(getattr(part, "_is_protocol", False))


def ours(part: Any) -> bool:
    return str(getattr(part, "__module__", "")).partition(".")[0] in ("lsip", "rl", "envs")


def _members(kind: type, home: str) -> Iterator[Target]:
    """Public methods, and properties that may be set, of a class and of its bases that are ours."""
    short = home.rpartition(".")[2] if home.startswith(("lsip.", "rl.", "envs.")) else home
    short = f"cvxpy.{short}" if ".cvxpy." in home else short
    for name in dir(kind):
        if name in WITHIN or (name.startswith("_") and name not in ("__call__", "__getitem__")):
            continue
        part = inspect.getattr_static(kind, name)
        label = f"{short}.{name}"
        if label in WITHIN_OF:
            continue
        if isinstance(part, property):
            if part.fset is not None and ours(part.fset):
                yield Target(label, "property", kind, part)
        elif isinstance(part, classmethod | staticmethod | FunctionType):
            inner = part.__func__ if isinstance(part, classmethod | staticmethod) else part
            if ours(inspect.unwrap(inner)):
                yield Target(label, "method", kind, part)


# ---- objects and arguments -------------------------------------------------------------------------------------------


@cache
def _made() -> dict[type, Callable[[], Any]]:
    """Specimens by the class that they say they return."""
    found: dict[type, Callable[[], Any]] = {}
    for name, function in vars(own).items():
        specimen = inspect.isfunction(function) or hasattr(function, "__wrapped__")
        if specimen and not name.startswith("_") and not inspect.signature(function).parameters:
            kind = get_type_hints(inspect.unwrap(function)).get("return")
            if inspect.isclass(kind):
                found.setdefault(kind, function)
    return found


def instance(kind: type) -> Any:
    """An object of a class."""
    door = "cvxpy." if ".cvxpy." in kind.__module__ else ""
    made = own.INSTANCES.get(door + kind.__name__) or own.INSTANCES.get(kind.__name__)
    if made is not None:
        return made()
    for other, function in _made().items():
        if issubclass(other, kind):
            return function()
    label = next((t.label for t in targets().values() if t.function is kind), None)
    if label in written():
        function, positional, named = written()[label]()
        return function(*positional, **named)
    return build(kind)


def build(function: Callable[..., Any]) -> Any:
    """What a function gives, called with specimens."""
    positional, named = arguments(function)
    return function(*positional, **named)


def arguments(function: Callable[..., Any]) -> tuple[list[Any], dict[str, Any]]:
    """Specimens for all that a function needs."""
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            if parameter.name in own.SEVERAL:
                positional += own.SEVERAL[parameter.name]()
        elif parameter.kind is parameter.VAR_KEYWORD or parameter.default is not parameter.empty:
            continue
        elif parameter.kind is parameter.POSITIONAL_ONLY:
            positional.append(argument(function, parameter))
        else:
            named[parameter.name] = argument(function, parameter)
    return positional, named


def argument(function: Callable[..., Any], parameter: inspect.Parameter) -> Any:
    """A specimen of a parameter: by its name, or by its annotation."""
    where = f"{getattr(function, '__qualname__', '')}.{parameter.name}"
    for key in (where, parameter.name):
        if key in own.ARGUMENTS:
            return own.ARGUMENTS[key]()
    hint = hints(function).get(parameter.name)
    for kind in _alternatives(hint):
        if inspect.isclass(kind) and kind in own.PLAIN:
            return own.PLAIN[kind]()
        if inspect.isclass(kind) and ours(kind):
            return instance(kind)
    raise LookupError(f"no specimen of `{where}`: {hint}")


def hints(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of a function, or of a constructor; none where they cannot be resolved."""
    owner = function.__init__ if inspect.isclass(function) else inspect.unwrap(function)
    try:
        return get_type_hints(owner, include_extras=True)
    except (NameError, TypeError):
        return {}


def _alternatives(hint: Any) -> Iterator[Any]:
    if get_origin(hint) in (Union, UnionType):
        for part in get_args(hint):
            yield from _alternatives(part)
    elif get_origin(hint) is Annotated:
        yield from _alternatives(get_args(hint)[0])
    elif hint is not None:
        yield get_origin(hint) if inspect.isclass(get_origin(hint)) else hint


def prepared(target: Target) -> Call:
    """A call of a target that works, as far as specimens go."""
    if target.kind == "property":
        thing, name = instance(target.owner), target.label.rpartition(".")[2]  # type: ignore[arg-type]
        return call(_setter(thing, name), value=getattr(thing, name))
    function = target.function
    if target.kind == "method":
        name = target.label.rpartition(".")[2]
        static = isinstance(function, classmethod | staticmethod)
        function = getattr(target.owner if static else instance(target.owner), name)  # type: ignore[arg-type]
    positional, named = arguments(function)
    if inspect.isgeneratorfunction(inspect.unwrap(function)):
        function = partial(own.first, function)
    return Call(function, tuple(positional), named)


def _setter(thing: Any, name: str) -> Callable[..., None]:
    def assign(value: Any) -> None:
        setattr(thing, name, value)

    return assign


@cache
def surface() -> dict[str, Callable[[], Call]]:
    """Every call that is tried: those that were written, and those that were found."""
    known = written()
    return {label: partial(prepared, t) for label, t in targets().items() if label not in known} | known


def unreached() -> dict[str, str]:
    """Public callables that cannot be called with specimens, and why."""
    from lsip import LSIPError

    found: dict[str, str] = {}
    for label, make in surface().items():
        try:
            make()
        except LSIPError:
            found[label] = "refused"
        except Exception as error:
            found[label] = f"{type(error).__name__}: {error}"
    return found
