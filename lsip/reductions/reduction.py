"""What a reduction is: an equivalent program that is easier to solve, and a map between the certificates of both.

Everything that a solver knows is part of a certificate: a point, bounds, the atoms of a dual measure, multipliers of
finite rows, a ray, a proof of infeasibility. So one type goes both ways. `forward` takes what is known of the program
into a solve, as warm starts and `verify` do; `inverse` takes what was found back.
"""

from __future__ import annotations

from typing import Protocol

from ..model.program import Program
from ..proof.certificate import Certificate


class Map(Protocol):
    """The way from a program to its reduction, and back."""

    @property
    def given(self) -> Program:
        """The program that was reduced."""

    def forward(self, certificate: Certificate) -> Certificate:
        """A certificate of the given program as one of the reduced program."""

    def inverse(self, certificate: Certificate) -> Certificate:
        """A certificate of the reduced program as one of the given program."""


class Reduction(Protocol):
    """A transformation of programs; `chain` lists those that are applied."""

    def accepts(self, program: Program) -> bool:
        """Whether there is anything to do."""

    def apply(self, program: Program) -> tuple[Program, Map]:
        """The reduced program, and the map between both; the program itself where nothing was found."""
