"""What a problem consists of: an objective, and constraints that hold for every value of an index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from numpy.typing import ArrayLike

from ..errors import ModelError
from ..expressions.affine import Affine, Constraint, Variable
from ..expressions.convex_rows import Height
from ..expressions.graph import Index
from ..expressions.parameter import Parameter
from ..expressions.parametric_region import moved_by
from ..expressions.printing import latex, text
from ..legible import legible_repr, legibly, mathematics
from .compilation import single
from .worst_violation import WorstViolation, flat, worst_violation


@legible_repr
@dataclass(frozen=True, eq=False)
class Objective:
    """What to minimise or maximise; what is convex, or enclosed, is an epigraph variable that constraints bound."""

    expression: Affine
    maximise: bool
    epigraph: tuple[Constraint | ForAll, ...] = ()

    @property
    def over(self) -> tuple[Index, ...]:
        """The indices whose worst value counts."""
        return self.expression.over if isinstance(self.expression, Height) else ()

    @legibly
    def __str__(self) -> str:
        return f"{'maximize' if self.maximise else 'minimize'} {text(self.expression)}{_worst_over(self.over)}"

    def latex(self) -> str:
        """What it is of, and of the worst of what."""
        if not self.over:
            return latex(self.expression)
        return rf"\{'min' if self.maximise else 'max'}_{{{_sets(self.over)}}} {latex(self.expression)}"


@dataclass(frozen=True, eq=False)
class ForAll:
    """A constraint that holds for every value of its indices."""

    indices: tuple[Index, ...]
    constraint: Constraint

    def __deepcopy__(self, memo: dict[int, object]) -> ForAll:
        return self  # as all statements: a solution knows it by its identity

    @property
    def directions(self) -> tuple[Index, ...]:
        """Further indices, for all of which its rows hold, that nobody sees."""
        return self.constraint.directions

    @property
    def name(self) -> str | None:
        """How it is called in tables, plots, reports and messages; None where its formula stands for it."""
        return self.constraint.name

    @property
    def label(self) -> str:
        """Its name, or its formula."""
        return self.constraint.label

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters in its formula, and in its index sets."""
        sets = (p for i in self.indices for p in moved_by(i.domain))
        return tuple(dict.fromkeys([*self.constraint.parameters, *sets]))

    @property
    def where(self) -> str:
        """The indices and their sets, in LaTeX."""
        return _sets(self.indices)

    def named(self, name: str) -> ForAll:
        """The same constraint with a name."""
        return replace(self, constraint=self.constraint.named(name))

    def violation(self, values: Mapping[Variable, ArrayLike] | None = None, tol: float = 1e-9) -> WorstViolation:
        """The worst index point at values of its variables, by default those of the last solution, with a proof.

        `value` is the largest violation found, negative where there is room everywhere; no index point exceeds `bound`,
        which is within `tol` of it where that can be had.
        """
        variables = tuple(dict.fromkeys(t.variable for t in self.constraint.body.terms))
        known = {v: v.value for v in variables} if values is None else {v: values[v] for v in variables if v in values}
        missing = [v.name for v in variables if known.get(v) is None]
        if missing:
            raise ModelError(f"{', '.join(missing)} has no value: give one, or solve the problem first.")
        program = single(self)
        return worst_violation(program, flat(variables, known), tol)  # type: ignore[arg-type]

    @legibly
    def __str__(self) -> str:
        where = ", ".join(f"{text(i)} ∈ {i.declared.domain}" for i in self.indices)
        return f"{self.constraint}   for all {where}"

    __repr__ = __str__


def check_indices(constraint: object, indices: Sequence[Index], found: Sequence[Index]) -> None:
    """Refuse a constraint for all `indices` that depends on another index, or on none of these."""
    names = [i.name for i in indices]
    free = [i.name for i in found if all(i is not j for j in indices)]
    if any(name in names for name in free):
        name = next(name for name in free if name in names)
        raise ModelError(
            f"{constraint} depends on another index that is called {name} too, made by a call of its own: make one "
            "Index, and use it in the constraint and in forall."
        )
    if free:
        raise ModelError(f"{constraint} depends on {', '.join(free)} too; list every index: forall((…), …).")
    if not found:
        raise ModelError(f"{constraint} does not depend on {', '.join(names)}: leave it outside of forall.")


def _sets(indices: tuple[Index, ...]) -> str:
    return ", ".join(rf"{latex(i)} \in {i.declared.domain.latex()}" for i in indices)


def _worst_over(indices: tuple[Index, ...]) -> str:
    return f"   at its worst over {', '.join(f'{text(i)} ∈ {i.declared.domain}' for i in indices)}" if indices else ""


def titled(constraint: Constraint | ForAll) -> str:
    """The formula of a constraint in LaTeX, after its name if it has one."""
    formula = latex(constraint.constraint if isinstance(constraint, ForAll) else constraint)
    if constraint.name is None:
        return formula
    return rf"\mathrm{{{mathematics(constraint.name)}:\ }} {formula}"
