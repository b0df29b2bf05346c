"""Mechanisms that can be switched off, and steering numbers that can be another, each by a patch of the modules.

A place is `module:function` or `module:Class.method`, of `lsip`. A patch replaces what is there in every module that
has imported it. A place that does not exist raises: a mechanism that was deleted or renamed has to leave this table.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

import lsip

Replace = Callable[[Any], Any]  # what is there -> what takes its place


def gives(value: Any) -> Replace:
    """A function that does nothing and returns this."""
    return lambda original: lambda *_, **__: value


def gives_argument(place: int) -> Replace:
    """A function that does nothing and returns what it was given."""
    return lambda original: lambda *given, **__: given[place]


def stops_after(count: int) -> Replace:
    """An iterator that ends early."""
    return lambda original: lambda *given, **named: islice(original(*given, **named), count)


def instead(replacement: Callable[..., Any]) -> Replace:
    """Another function."""
    return lambda original: replacement


def with_numbers(**values: Any) -> Replace:
    """The same configuration with other numbers."""
    from dataclasses import replace

    return lambda original: replace(original, **values)


nothing, false, never = gives(None), gives(False), gives(iter(()))


class Mechanism(NamedTuple):
    """Something that makes solves possible or faster: what is called where it is entered, and what switches it off."""

    entered: str  # a place; a model enters the mechanism if it is called
    patches: dict[str, Replace]


def off(place: str, replacement: Replace = nothing, entered: str | None = None) -> Mechanism:
    """One patch, at the place that is entered."""
    return Mechanism(entered or place, {place: replacement})


def _bounds_alone(original: Any) -> Any:
    from lsip.proof.certificate import nowhere

    return property(lambda self: (*self.bounds, nowhere()))


def _without_kinks(q: Any, side: Any, error: Any, multiplier: Any, m: int) -> tuple[Any, Any]:
    return q, np.zeros(len(q))


def _balanced_slopes(gradient: Any, height: Any, slopes: Any) -> Any:
    from lsip.oracles import sides

    return sides._balance(gradient, slopes)


def _own_units(program: Any) -> Any:
    from lsip.solver.conditioning import Conditioning

    return Conditioning.none(program.n)


def _boxes_only(family: Any, domain: Any = None) -> Any:
    from lsip.oracles import BranchAndBound

    return BranchAndBound() if family.enclosable else None


MECHANISMS: dict[str, Mechanism] = {
    # oracles
    "cheapest slopes": off("oracles.sides:_cheapest", instead(_balanced_slopes)),
    "bent models": off("oracles.sides:_bend", instead(_without_kinks)),
    "sharper bounders": off("oracles.bounders:sharper"),
    "searches by the kernel": off("oracles.taylor:Taylor.tape", lambda _: None, "oracles.compiled_search:search"),
    "polynomial bounds": off(
        "oracles.polynomial:PolynomialBounder._expanded", entered="oracles.expansions:Expansion.__init__"
    ),
    "trigonometric bounds": off(
        "oracles.trigonometric:Trigonometric.of", entered="oracles.trigonometric:WaveSums.__init__"
    ),
    "Bernstein bounds": off("oracles.bernstein:rational_rows", entered="oracles.bernstein:RationalRow.bound"),
    "exact values": off(
        "oracles.box_search:BoxSearch._exact_values", gives_argument(3), "oracles.bernstein:RationalRow.at"
    ),
    "kept boxes": off("oracles.memory:Memory.keep"),
    "estimates of work": off("oracles.box_search:BoxSearch._estimate", entered="oracles.partition:boxes_left"),
    "support functions": off(
        "oracles.choice:prover", instead(_boxes_only), "oracles.support_function:SupportFunction.maximise"
    ),
    # proofs
    "exact proposals": off("proof.dual_repair:_exactly"),
    "exact systems": off("proof.dual:_refined"),
    "wider bases": off("proof.dual_repair:_wider", gives(())),
    "directions": off("proof.direction:direction"),
    "own bases": off("proof.dual_repair:_own", gives(())),
    "whitened blocks": off("proof.pivots:whitened", gives_argument(0)),
    "levelled multipliers": off("proof.dual_repair:_levelled", gives_argument(2)),
    "longer steps": off("proof.dual_repair:TUNING", with_numbers(steps=(1e-12,)), "proof.direction:direction"),
    "payments at bounds": off("proof.dual_repair:_paid", gives_argument(4)),
    "second choice of bases": off("proof.pivots:strong_rows", stops_after(1), "proof.pivots:_share"),
    "rounds of columns": off("proof.dual_repair:NEAR_ENDS", lambda _: (1e-6,), "proof.dual_repair:_tried"),
    "merged atoms": off("proof.merging:merged"),
    "implied bounds": off("proof.rows:DualRows.implied", _bounds_alone, "proof.implied_bounds:UpperSides.tightened"),
    "implied columns": off("proof.dual:_implied", gives(np.zeros(0, dtype=np.intp))),
    "mended points": off("proof.primal:_mended"),
    "interior points": off("proof.interior:interior"),
    "regions": off("proof.region:within"),
    "confinement": off("proof.dual_bound_tightening:confined"),
    # expressions
    "recurrences": off(
        "expressions.recurrences:closed_forms", gives([]), "expressions.chebyshev:ChebyshevSums.__init__"
    ),
    "removable singularities": off("expressions.removable:_without_common_zeros"),
    "numbers in sums": off("expressions.addends:numbers_in", gives([]), "expressions.addends:without_numbers"),
    "dependent monomials": off(
        "expressions.dependent_monomials:dependent_monomials",
        lambda _: lambda entries, exponents: np.zeros(len(exponents), dtype=bool),
    ),
    # the solver
    "Newton's steps": off("solver.newton:Newton.__call__", entered="solver.newton:polish"),
    "centres of faces": off(
        "solver.strategies:OptimalFaceCentre.__call__", entered="masters.highs:HighsProgram.centre"
    ),
    "sampled rows": off("solver.linear:LinearRelaxation._sample", entered="solver.sampling:SampledRows.separate"),
    "slack cuts": off("solver.linear_master:LinearMaster.drop_slack"),
    "scaled gaps": off("solver.state:State.accept_scaled_gap", false),
    "smaller points": off("solver.linear_master:LinearMaster.smallest"),
    "magnification": off("solver.linear_master:LinearMaster.zoom", entered="solver.linear_master:LinearMaster.zoom"),
    "coordinates anew": off(
        "solver.linear_master:LinearMaster.renew", entered="solver.conditioning:Conditioning.stretched"
    ),
    "mixed coordinates": off(
        "solver.conditioning:Conditioning.fit",
        lambda _: staticmethod(lambda program, rows, tuning=None: _own_units(program)),
        "solver.conditioning:Conditioning.basis",
    ),
    "rays without idle moves": off("solver.rays:_without_idle_moves", gives_argument(1)),
    "refined rays": off("solver.rays:_refined"),
    "simple rays": off("solver.rays:_simple", gives_argument(0)),
    "contradictions of counterparts": off("solver.counterpart:CounterpartRelaxation._contradiction"),
    "counterparts": off(
        "solver.counterpart:expected_faster", false, entered="solver.counterpart:CounterpartRelaxation.propose"
    ),
    "integer counterparts": off(
        "solver.counterpart:expected_whole", false, entered="solver.integer_programs:IntegerCounterpart.solve"
    ),
    "room for whole values": off("solver.integer:IntegerRun._visit_with_room"),
    "excluded values": off("solver.integer_programs:IntegerRelaxation.exclude", false),
    "vanishing variables": off("solver.integer:_at_zero"),
    "references": off("solver.alternation:level_of", entered="solver.remez:levelled"),
    "warm starts": off("solver.warm_start:WarmStart.polished", false),
    "entering constraints": off("solver.warm_start:WarmStart._entering", gives(())),
    "atoms in place of others": off("solver.warm_start:WarmStart._entered", gives_argument(1)),
    "variables off their bounds": off(
        "solver.warm_start:WarmStart._pulled", lambda _: lambda self, point, free: ~(free | True)
    ),
    "smoothed multipliers": off(
        "solver.decomposed:DecomposedRelaxation._price_smoothed",
        lambda _: lambda self, found: self._price(found.multipliers, 1.0) and None,
    ),
    "conic faces": off("solver.conic_master:ConicMaster.contradiction", gives_argument(1)),
    "units of cones": off("solver.conic_master:ConicMaster.rescale", false),
    "first units of cones": off(
        "solver.conic_master:ConicMaster._first_units", lambda _: lambda self: np.ones(len(self.form.c))
    ),
    "bounds by iteration": off("solver.anytime_bounds:BoundsByIteration.prove"),
    "other ways of HiGHS": off("masters.highs:_OTHERS", lambda _: (), "masters.highs:run"),
}


class Number(NamedTuple):
    """A field of a class of steering numbers."""

    owner: type
    field: str


@cache
def numbers() -> dict[str, Number]:
    """All steering numbers, by `module:Class.field`: the fields of the classes called …Tuning that hold numbers."""
    for module in pkgutil.walk_packages(lsip.__path__, "lsip."):
        if not module.name.endswith("__main__"):
            try:
                importlib.import_module(module.name)
            except ImportError:  # of an extra that is not installed
                continue
    found = {}
    for name in sorted(sys.modules):
        if name.startswith("lsip."):
            for owner in vars(sys.modules[name]).values():
                if isinstance(owner, type) and owner.__name__.endswith("Tuning") and owner.__module__ == name:
                    for field in owner.__annotations__:
                        if times(_default(owner, field), 10) is not None:
                            found[f"{name.removeprefix('lsip.')}:{owner.__name__}.{field}"] = Number(owner, field)
    return found


def _default(owner: type, field: str) -> Any:
    known = getattr(owner, "_field_defaults", None)
    return known.get(field) if known is not None else vars(owner).get(field)


def times(value: Any, factor: float) -> Any:
    """A number, or each of several, times a factor; a whole number stays one that is positive; None for others."""
    if isinstance(value, tuple):
        parts = tuple(times(v, factor) for v in value)
        return None if None in parts or not parts else parts
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return max(1, round(value * factor)) if isinstance(value, int) and value > 0 else value * factor


@dataclass(frozen=True)
class Variant:
    """A mechanism that is off, or a number that is another."""

    watched: str  # what a model enters or reads
    patches: dict[str, Replace] | None = None
    number: Number | None = None
    factor: float = 1.0

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Patch the modules meanwhile."""
        with ExitStack() as stack:
            for place, replacement in (self.patches or {}).items():
                stack.enter_context(_patched(place, replacement))
            if self.number is not None:
                stack.enter_context(_multiplied(self.number, self.factor))
            yield


@cache
def variants() -> dict[str, Variant]:
    """Everything that can be switched off or multiplied, by name."""
    made = {name: Variant(m.entered, m.patches) for name, m in MECHANISMS.items()}
    for name, number in numbers().items():
        made[f"{name} x10"] = Variant(name, number=number, factor=10.0)
        made[f"{name} /10"] = Variant(name, number=number, factor=0.1)
    return made


def located(place: str) -> tuple[Any, str, Any]:
    """The owner, the name and the value at a place; an AttributeError if it is no longer there."""
    module, _, path = place.partition(":")
    owner: Any = importlib.import_module(f"lsip.{module}")
    *parents, last = path.split(".")
    for parent in parents:
        owner = getattr(owner, parent)
    if last not in vars(owner):
        raise AttributeError(f"lsip.{module} has no {path}: take it from the table of mechanisms, or name its heir.")
    return owner, last, vars(owner)[last]


@contextmanager
def _patched(place: str, replacement: Replace) -> Iterator[None]:
    """Replace what is at a place, there and wherever it was imported."""
    owner, last, original = located(place)
    new = replacement(original)
    modules = [m for name, m in list(sys.modules.items()) if name.startswith("lsip.")]
    places = [(owner, last)]
    if not isinstance(owner, type):
        places += [(m, key) for m in modules for key, value in list(vars(m).items()) if value is original]
    for where, key in places:
        setattr(where, key, new)
    try:
        yield
    finally:
        for where, key in places:
            setattr(where, key, original)


@contextmanager
def _multiplied(number: Number, factor: float) -> Iterator[None]:
    """Let a field of all instances, old and new, read as a multiple of itself."""
    original = vars(number.owner)[number.field]

    class Multiple:
        def __get__(self, instance: Any, owner: Any = None) -> Any:
            if instance is None:
                return original
            value = original.__get__(instance) if isinstance(instance, tuple) else vars(instance)[number.field]
            return times(value, factor)

        def __set__(self, instance: Any, value: Any) -> None:
            vars(instance)[number.field] = value

    setattr(number.owner, number.field, Multiple())
    try:
        yield
    finally:
        setattr(number.owner, number.field, original)


@contextmanager
def watched() -> Iterator[set[str]]:
    """The places of mechanisms that are called meanwhile, and the numbers that are read."""
    seen: set[str] = set()
    owners: dict[type, dict[str, str]] = {}
    for name, number in numbers().items():
        owners.setdefault(number.owner, {})[number.field] = name
    with ExitStack() as stack:
        for place in {m.entered for m in MECHANISMS.values()}:
            stack.enter_context(_patched(place, lambda original, place=place: _noting(original, place, seen)))
        for owner, fields in owners.items():
            stack.enter_context(_reading(owner, fields, seen))
        yield seen


def _noting(original: Any, place: str, seen: set[str]) -> Any:
    """The same function, which notes that it was called."""
    if isinstance(original, property):
        return property(_noting(original.fget, place, seen))
    if isinstance(original, staticmethod | classmethod | cached_property):
        raise TypeError(f"{place} is no plain function")

    def noting(*given: Any, **named: Any) -> Any:
        seen.add(place)
        return original(*given, **named)

    if hasattr(original, "cache_clear"):
        noting.cache_clear = original.cache_clear  # type: ignore[attr-defined]
    return noting


@contextmanager
def _reading(owner: type, fields: dict[str, str], seen: set[str]) -> Iterator[None]:
    """Note which fields of a class are read."""
    plain = owner.__getattribute__

    def reading(self: Any, name: str) -> Any:
        if name in fields:
            seen.add(fields[name])
        return plain(self, name)

    owner.__getattribute__ = reading  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        del owner.__getattribute__
