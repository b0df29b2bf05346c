"""What a problem consists of: an objective, and constraints that hold for every value of an index."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..expressions.affine import Affine, Constraint
from ..expressions.graph import Index
from ..expressions.printing import latex, text


@dataclass(frozen=True, eq=False)
class Objective:
    """What to minimise or maximise."""

    expression: Affine
    maximise: bool

    def __str__(self) -> str:
        return f"{'maximize' if self.maximise else 'minimize'} {text(self.expression)}"


@dataclass(frozen=True, eq=False)
class ForAll:
    """A constraint that holds for every value of its indices."""

    indices: tuple[Index, ...]
    constraint: Constraint

    @property
    def name(self) -> str | None:
        """How it is called in tables, plots, reports and messages; None where its formula stands for it."""
        return self.constraint.name

    @property
    def label(self) -> str:
        """Its name, or its formula."""
        return self.constraint.label

    @property
    def where(self) -> str:
        """The indices and their sets, in LaTeX."""
        return ", ".join(rf"{latex(i)} \in {i.domain.latex()}" for i in self.indices)

    def named(self, name: str) -> ForAll:
        """The same constraint with a name."""
        return replace(self, constraint=self.constraint.named(name))

    def __str__(self) -> str:
        where = ", ".join(f"{i.name} ∈ {i.domain}" for i in self.indices)
        return f"{self.constraint}   for all {where}"

    __repr__ = __str__
