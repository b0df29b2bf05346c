"""Index sets that are cut by inequalities with parameters: `Interval(0, 2).where(lambda t: t <= p)`.

Which points belong to such a set depends on values, and what was proven for other values says nothing about it. So it
answers no question about points: with values, it is another set, which does. All that is known of it before is the box
around the set that it is cut from.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..domains import Cell, Domain, Product, Union
from ..domains.base import COMBINED, Array
from ..errors import ModelError
from ..legible import legibly
from .graph import Condition, Constant, Expression, Index
from .parameter import Parameter, Values, current, parameters_in
from .printing import latex, text
from .region import Rule, asked, cut, meet
from .substitution import substituted


@final
@dataclass(frozen=True, init=False, eq=False, repr=False)
class ParametricRegion(Domain):
    """The points of a set at which inequalities with parameters hold: what `domain.where(lambda y: …)` makes of them.

    >>> import lsip
    >>> p = lsip.Parameter(name="p", value=1)
    >>> half = lsip.Interval(0, 2).where(lambda t: t <= p)
    >>> print(half, half.fixed().contains([0.5, 1.5]))
    {t ∈ [0, 2] : t ≤ p} [ True False]
    """

    base: Domain
    index: Index
    conditions: tuple[Condition, ...]
    _last: list[tuple[Values, Domain]] = field(repr=False)  # the values asked for last, and the set that they make

    def __init__(self, base: Domain, index: Index, conditions: tuple[Condition, ...]) -> None:
        base._refuse_unbounded()
        self._set(base=base, index=index, conditions=conditions, lower=base.lower, upper=base.upper, _last=[])

    @property
    def moved_by(self) -> tuple[Parameter, ...]:
        """The parameters on which it depends."""
        return tuple(dict.fromkeys([*moved_by(self.base), *parameters_in(*(c.u for c in self.conditions))]))

    def at(self, values: Values) -> Domain:
        """The set for these values of its parameters; a ModelError says if it is empty."""
        mine = {p: values[p] for p in self.moved_by}
        for known, found in self._last:
            if all(np.array_equal(value, known[p]) for p, value in mine.items()):
                return found
        numbers: dict[Expression, Expression] = {p: Constant(value) for p, value in mine.items()}

        def rule(y: Expression) -> list[Condition]:
            return [replace(c, u=substituted(c.u, {self.index: y, **numbers})) for c in self.conditions]

        made = cut(at_values(self.base, values), rule)
        self._last[:] = [(mine, made)]
        return made

    @property
    def scalar(self) -> bool:  # type: ignore[override]
        """As the index of the set that it is cut from."""
        return self.base.scalar

    def _refuse(self) -> NoReturn:
        names = ", ".join(p.name for p in self.moved_by)
        raise ModelError(
            f"{self} depends on the parameter {names}: constraints for all of its points are solved for the values "
            "of that time, and nothing else can be done with it. The set for the values of now is its .fixed()."
        )

    @property
    def diameter(self) -> float:
        self._refuse()

    @property
    def measure(self) -> tuple[int, float]:
        self._refuse()

    def contains(self, y: ArrayLike, tol: float = 1e-9) -> NDArray[np.bool_]:
        self._refuse()

    def project(self, y: ArrayLike) -> Array:
        self._refuse()

    def place(self, u: Array) -> Array:
        self._refuse()

    def cells(self) -> tuple[Cell, ...]:
        self._refuse()

    def _arguments(self) -> tuple[object, ...]:
        return (self.base, id(self))  # equal to itself alone

    def __reduce__(self) -> tuple[object, ...]:
        return ParametricRegion, (self.base, self.index, self.conditions)

    @legibly
    def __repr__(self) -> str:
        return f"ParametricRegion({self.base!r}, {', '.join(map(text, self.conditions))!r})"

    @legibly
    def __str__(self) -> str:
        return f"{{{text(self.index)} ∈ {self.base} : {', '.join(map(text, self.conditions))}}}"

    def latex(self) -> str:
        """The base, and the inequalities."""
        return rf"\{{{latex(self.index)} \in {self.base.latex()} : {', '.join(map(latex, self.conditions))}\}}"


def moved_by(domain: Domain) -> tuple[Parameter, ...]:
    """The parameters on which an index set depends."""
    if isinstance(domain, ParametricRegion):
        return domain.moved_by
    return tuple(dict.fromkeys(p for part in _parts(domain) for p in moved_by(part)))


def at_values(domain: Domain, values: Values) -> Domain:
    """An index set for these values of its parameters: itself, if it has none."""
    if isinstance(domain, ParametricRegion):
        return domain.at(values)
    parts = _parts(domain)
    found = [at_values(part, values) for part in parts]
    return domain if all(a is b for a, b in zip(parts, found, strict=True)) else type(domain)(*found)


def _parts(domain: Domain) -> tuple[Domain, ...]:
    if isinstance(domain, Product):
        return domain.factors
    return domain.members if isinstance(domain, Union) else ()


def _where(domain: Domain, rule: Rule) -> Domain:
    """What `domain.where(rule)` is: a set of numbers, or one that waits for values."""
    index = Index("t" if domain.scalar else "y", domain)
    conditions = asked(rule, index)
    if moved_by(domain) or parameters_in(*(c.u for c in conditions)):
        return ParametricRegion(domain, index, conditions)
    return cut(domain, rule)


def _and(a: Domain, b: Domain) -> Domain:
    """a & b: of a set that waits for values, the base meets the other one."""
    if not isinstance(a, ParametricRegion):
        a, b = b, a
    if not isinstance(a, ParametricRegion):
        return meet(b, a)
    conditions = a.conditions
    return (a.base & b).where(_moved(a.index, conditions))


def _moved(index: Index, conditions: tuple[Condition, ...]) -> Callable[[Any], list[Condition]]:
    """The same inequalities about another index."""
    return lambda y: [replace(c, u=substituted(c.u, {index: y})) for c in conditions]


COMBINED["fixed"] = lambda domain: at_values(domain, current(moved_by(domain)))
COMBINED["where"] = _where
COMBINED["&"] = _and
