"""Constraints for all index points that are solved in other words, and what each of them means in these.

A restatement acts on a statement, before rows are made of it: it needs the formulas as they were typed, in exact
numbers, and what it says has numbers in it, so it is said again when parameters have other values. Whoever checks a
solution applies them anew (`Written.anew`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ModelError
from ..expressions.affine import Affine, Constraint, Variable
from ..expressions.graph import Index
from ..expressions.parameter import Values, current
from ..expressions.substitution import numbers_of
from ..legible import legible_repr
from .identities import matched
from .statements import ForAll
from .unbounded import Placement, compactified
from .worst_violation import WorstViolation

Said = tuple[Constraint | ForAll, ...]


class Restatement(Protocol):
    """A transformation of statements."""

    def accepts(self, statement: ForAll) -> bool:
        """Whether the statement is said in other words."""

    def apply(self, statement: ForAll, values: Values) -> Said:
        """Statements that mean the same for these values of parameters; a ModelError where there are none."""


@legible_repr
@dataclass(frozen=True, eq=False)
class BoundedPart(ForAll):
    """A part of a constraint over an unbounded set, and the way back: where its points are in that set."""

    placement: Placement


class MatchCoefficients:
    """An equality of polynomials is that of their coefficients."""

    def accepts(self, statement: ForAll) -> bool:
        return statement.constraint.equality

    def apply(self, statement: ForAll, values: Values) -> Said:
        body = _with_numbers(statement.constraint.body, values)
        return (matched(statement.indices, replace(statement.constraint, body=body), values),)


class BoundedCharts:
    """A constraint over an unbounded box is some over bounded ones."""

    def accepts(self, statement: ForAll) -> bool:
        return not all(i.domain.bounded for i in statement.indices)

    def apply(self, statement: ForAll, values: Values) -> Said:
        return tuple(BoundedPart(*part) for part in compactified(statement.indices, statement.constraint, values))


RESTATEMENTS: tuple[Restatement, ...] = (MatchCoefficients(), BoundedCharts())  # the first that accepts is applied


@dataclass(frozen=True, eq=False)
class Restated(ForAll):
    """A constraint that a restatement accepts."""

    by: Restatement
    _last: list[tuple[Values, Said]] = field(init=False, default_factory=list)

    def said(self, values: Values) -> Said:
        """The statements that stand for it: the same ones for the same values."""
        for known, found in self._last:
            if all(np.array_equal(values[p], known[p]) for p in self.parameters):
                return found
        found = self.anew(values)
        self._last[:] = [({p: values[p] for p in self.parameters}, found)]
        return found

    def anew(self, values: Values) -> Said:
        """Such statements, made now."""
        return self.by.apply(self, {p: values[p] for p in self.parameters})

    def violation(self, values: Mapping[Variable, ArrayLike] | None = None, tol: float = 1e-9) -> WorstViolation:
        """The worst index point, as of any other; without a bound where it may be violated far out."""
        if not self.constraint.equality:
            said = self.said(current(self.parameters))
            parts = [part.violation(values, tol) for part in said if isinstance(part, ForAll)]
        elif not all(i.domain.bounded for i in self.indices):
            raise ModelError(f"{self} has no largest violation: a polynomial that is not zero everywhere has no bound.")
        else:
            body = self.constraint.body
            sides = (replace(self.constraint, body=side, equality=False) for side in (body, -body))
            parts = [ForAll(self.indices, side).violation(values, tol) for side in sides]
        worst = max(parts, key=float)
        return replace(worst, bound=max(part.bound for part in parts))


def stated(indices: tuple[Index, ...], constraint: Constraint) -> ForAll:
    """The statement; what is wrong with a restatement of it is said now, unless that depends on parameters."""
    made = ForAll(indices, constraint)
    by = next((r for r in RESTATEMENTS if r.accepts(made)), None)
    if by is None:
        return made
    found = Restated(indices, constraint, by)
    if not found.parameters:
        found.said({})
    return found


def _with_numbers(body: Affine, values: Values) -> Affine:
    """The body for these values: finite rows have doubles, whatever formulas they come from."""
    formulas = [*(t.coefficient for t in body.terms), *(() if body.varying is None else (body.varying,))]
    return body.substituted({node: number for e in formulas for node, number in numbers_of(e, values).items()})
