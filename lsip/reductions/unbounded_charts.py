"""Charts of unbounded index sets: what is said of their rows, as something that is said of the written ones.

The compiler writes a constraint over an unbounded set as rows over bounded charts (`model.unbounded`): far out, a row
is the written one divided by a power of the index.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ..model.program import Program
from ..model.unbounded import Placement, placements
from ..proof.certificate import Certificate
from .reduction import Map


class UnboundedCharts:
    """Programs some of whose rows are over charts."""

    def accepts(self, program: Program) -> bool:
        """Whether there are any, and the program was not looked at before."""
        return bool(placements(program.layout)) and not Charts.of(program).placements

    def apply(self, program: Program) -> Program:
        """The same rows, which the compiler has written already."""
        return replace(program, maps=(*program.maps, Charts(program, placements(program.layout))))


@dataclass(frozen=True, eq=False)
class Charts(Map):
    """By (family, row): where the points of a chart are in the unbounded set, and the row of the written constraint."""

    placements: dict[tuple[int, int], tuple[Placement, int]] = field(default_factory=dict)

    def inverse(self, certificate: Certificate) -> Certificate:
        """What is violated far out grows with a power of the index: nothing bounds it."""
        found = list(certificate.violation)
        for (f, _), (placement, _) in self.placements.items():
            if placement.scale_axis is not None and f < len(found) and found[f] > 0:
                found[f] = np.inf
        return replace(certificate, violation=tuple(found))
