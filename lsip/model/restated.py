"""Constraints for all index points that are solved in other words: equalities, and what holds over unbounded sets.

An equality of polynomials is that of their coefficients, and a constraint over an unbounded box some over bounded ones.
What is said in their place has numbers in it, so it is said again when parameters have other values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

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


@legible_repr
@dataclass(frozen=True, eq=False)
class BoundedPart(ForAll):
    """A part of a constraint over an unbounded set, and where its points are in that set."""

    placement: Placement


@dataclass(frozen=True, eq=False)
class Restated(ForAll):
    """A constraint for every value of its indices, and what it says for values of its parameters."""

    _last: list[tuple[Values, Said]] = field(init=False, default_factory=list)

    @staticmethod
    def of(indices: tuple[Index, ...], constraint: Constraint) -> Restated:
        """The statement; what is wrong with it is said now, unless that depends on parameters."""
        made = Restated(indices, constraint)
        if not made.parameters:
            made.said({})
        return made

    def said(self, values: Values) -> Said:
        """The statements that stand for it: the same ones for the same values."""
        mine = {p: values[p] for p in self.parameters}
        for known, found in self._last:
            if all(np.array_equal(value, known[p]) for p, value in mine.items()):
                return found
        found = self._said(mine)
        self._last[:] = [(mine, found)]
        return found

    def _said(self, values: Values) -> Said:
        if self.constraint.equality:
            body = _with_numbers(self.constraint.body, values)
            return (matched(self.indices, replace(self.constraint, body=body), values),)
        return tuple(BoundedPart(*part) for part in compactified(self.indices, self.constraint, values))

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


def _with_numbers(body: Affine, values: Values) -> Affine:
    """The body for these values: finite rows have doubles, whatever formulas they come from."""
    formulas = [*(t.coefficient for t in body.terms), *(() if body.varying is None else (body.varying,))]
    return body.substituted({node: number for e in formulas for node, number in numbers_of(e, values).items()})
