"""What a reduction is: an equivalent program that is easier to solve, and a map between the certificates of both.

Everything that a solver knows is part of a certificate: a point, bounds, the atoms of a dual measure, multipliers of
finite rows, a ray, a proof of infeasibility. So one type goes both ways.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self

from ..model.program import Program
from ..proof.certificate import Certificate


@dataclass(frozen=True, eq=False)
class Map:
    """The way from a given program to its reduction, and back; certificates are the same unless a map changes them."""

    given: Program

    @classmethod
    def of(cls, program: Program) -> Self:
        """The map of this kind that a program carries; an empty one where it has none."""
        return next((m for m in program.maps if isinstance(m, cls)), None) or cls(program)

    def forward(self, certificate: Certificate) -> Certificate:
        """A certificate of the given program, such as a warm start, as one of the reduced program."""
        return certificate

    def inverse(self, certificate: Certificate) -> Certificate:
        """A certificate of the reduced program as one of the given program."""
        return certificate


class Reduction(Protocol):
    """A transformation of programs; `chain` lists those that are applied.

    `tests/extensions/test_reduction_template.py` is a small one.
    """

    def accepts(self, program: Program) -> bool:
        """Whether there may be anything to do."""

    def apply(self, program: Program) -> Program:
        """The reduced program, with the way back as its last map; the program itself where there is nothing to do."""
