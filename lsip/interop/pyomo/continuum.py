"""Constraints that range over a ContinuousSet, taken apart: which coordinates are a continuum, and which are members.

A constraint over the product of ContinuousSets and ordinary sets is one `ContinuumPiece` for every member of the
ordinary sets. The members that a ContinuousSet holds as points (its bounds, and what `initialize` gave) play no part:
the rule stands for all values in between.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise, product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...domains import Domain, Interval, Product
from ...errors import ModelError

if TYPE_CHECKING:
    from pyomo.core.base.component import Component
    from pyomo.core.base.set import SetData
    from pyomo.core.expr.template_expr import IndexTemplate
    from pyomo.environ import Constraint, Var

Array = NDArray[np.float64]


def is_continuum(set_: SetData) -> bool:
    """Whether a set is a ContinuousSet that no transformation has discretised."""
    from pyomo.dae import ContinuousSet

    return isinstance(set_, ContinuousSet) and not set_.get_discretization_info()


def factors(component: Component) -> list[SetData]:
    """The sets whose product a component is indexed by; refuses other combinations with a ContinuousSet."""
    if not component.is_indexed():
        return []
    sets = list(component.index_set().subsets(expand_all_set_operators=False))
    for s in sets:
        if not is_continuum(s) and any(is_continuum(part) for part in s.subsets(expand_all_set_operators=True)):
            raise ModelError(
                f"'{component.name}' is indexed by {s}, which combines a ContinuousSet with other sets; products such "
                "as m.t * m.I are supported, so write one constraint for each part."
            )
    return sets


def is_semi_infinite(component: Component) -> bool:
    """Whether a component is indexed by a ContinuousSet, alone or in a product."""
    return any(is_continuum(s) for s in factors(component))


@dataclass(frozen=True, eq=False)
class ContinuumPiece:
    """A constraint, or a variable, for all values of its ContinuousSets and one member of its ordinary sets."""

    component: Constraint | Var
    sets: tuple[SetData, ...]  # the ContinuousSets, in order of position
    slots: tuple[int, ...]  # their positions among the factors
    members: tuple[tuple[Any, ...], ...]  # what stands at every position, () for a ContinuousSet
    written: tuple[tuple[Array, Any], ...] = ()  # the points at which Pyomo has built the constraint, with its data

    @property
    def name(self) -> str:
        shown = [", ".join(map(str, m)) if m else "·" for m in self.members]
        return self.component.name if len(shown) == len(self.slots) else f"{self.component.name}[{', '.join(shown)}]"

    @property
    def coordinates(self) -> tuple[str, ...]:
        names = [s.local_name for s in self.sets]
        return tuple(n if names.count(n) == 1 else f"{n}[{i}]" for i, n in enumerate(names))

    @property
    def domain(self) -> Domain:
        parts = [Interval(*map(float, s.bounds())) for s in self.sets]
        return parts[0] if len(parts) == 1 else Product(*parts)

    def key(self, point: Sequence[float | IndexTemplate]) -> Any:
        """The index of the Pyomo constraint at a point, one value a ContinuousSet: what its rule is called with."""
        values = dict(zip(self.slots, point, strict=True))
        flat = [v for i, m in enumerate(self.members) for v in ((values[i],) if i in values else m)]
        return flat[0] if len(flat) == 1 else tuple(flat)

    def ask(self, point: Sequence[float | IndexTemplate]) -> Any:
        """What the rule says at a point, of numbers or of symbols."""
        return self.component.rule(self.component.parent_block(), self.key(point))

    def built(self) -> list[tuple[Any, Any]]:
        """Indices at which Pyomo has built the component, with what it has there."""
        return list(self.component.items())

    def extend(self, point: Array) -> None:
        """Make a point one of those at which Pyomo has built the component."""
        for set_, value in zip(self.sets, point.tolist(), strict=True):
            if value not in set_:
                set_.add(value)
        _ = self.component[self.key(point.tolist())]  # Pyomo calls the rule when it is first asked for an index

    def at(self, point: Array) -> str:
        """A point in words."""
        return ", ".join(f"{n} = {v:.6g}" for n, v in zip(self.coordinates, point, strict=True))


def pieces(component: Constraint) -> Iterator[ContinuumPiece]:
    """All pieces of a constraint over a ContinuousSet that are switched on."""
    if component.rule is None or component.rule.contains_indices():
        raise ModelError(
            f"'{component.name}' is indexed by a ContinuousSet but has no rule, only expressions at listed points; "
            "give it a rule, or index it by an ordinary Set of these points."
        )
    for piece in parts(component):
        active = [data.active for _, data in piece.written]
        if any(active) and not all(active):
            raise ModelError(
                f"'{piece.name}' is deactivated at some points of a continuum, which changes nothing about the points "
                "between them; deactivate the whole constraint, or restrict its ContinuousSet."
            )
        if all(active) or not active:
            yield piece


def parts(component: Constraint | Var) -> Iterator[ContinuumPiece]:
    """A component over a ContinuousSet, for each member of its ordinary sets."""
    sets = factors(component)
    slots = tuple(i for i, s in enumerate(sets) if is_continuum(s))
    continuous = tuple(sets[i] for i in slots)
    choices = [((),) if i in slots else tuple(_members(component, s)) for i, s in enumerate(sets)]
    for members, written in _written(component, slots, choices).items():
        yield ContinuumPiece(component, continuous, slots, members, tuple(written))


def _written(
    component: Constraint | Var, slots: tuple[int, ...], choices: list[tuple[tuple[Any, ...], ...]]
) -> dict[tuple[tuple[Any, ...], ...], list[tuple[Array, Any]]]:
    """All combinations of members, each with the points at which Pyomo has already built the constraint."""
    found: dict[tuple[tuple[Any, ...], ...], list[tuple[Array, Any]]] = {members: [] for members in product(*choices)}
    widths = [{1} if i in slots else {len(m) for m in choice} for i, choice in enumerate(choices)]
    layouts = [tuple(accumulate(w, initial=0)) for w in product(*widths)]  # more than one if members differ in length
    for key, data in component.items():
        flat = key if isinstance(key, tuple) else (key,)
        for starts in layouts:
            parts = [flat[start:end] for start, end in pairwise(starts)]
            members = tuple(() if i in slots else part for i, part in enumerate(parts))
            if starts[-1] == len(flat) and members in found:
                found[members].append((np.array([float(parts[i][0]) for i in slots]), data))
    return found


def _members(component: Constraint | Var, set_: SetData) -> Iterator[tuple[Any, ...]]:
    if not set_.isfinite():
        raise ModelError(
            f"'{component.name}' is indexed by {set_}, which is neither finite nor a ContinuousSet; a continuum needs "
            "bounds: ContinuousSet(bounds=(0, 1))."
        )
    for member in set_:
        yield member if isinstance(member, tuple) else (member,)
