"""Charts of unbounded index sets: what is said of their rows, as something that is said of the written ones.

The compiler writes a constraint over an unbounded set as rows over bounded charts (`model.unbounded`): far out, a row
is the written one divided by a power of the index.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..model.program import Program
from ..model.unbounded import Placement, placements
from ..proof.certificate import Certificate


class UnboundedCharts:
    """Programs some of whose rows are over charts."""

    def accepts(self, program: Program) -> bool:
        """Whether there are any whose map is not known."""
        return bool(placements(program.layout)) and not any(isinstance(m, Charts) for m in program.maps)

    def apply(self, program: Program) -> tuple[Program, Charts]:
        """The program, whose rows the compiler has written already."""
        return replace(program), Charts(program, placements(program.layout))


@dataclass(frozen=True, eq=False)
class Charts:
    """By (family, row): where the points of a chart are in the unbounded set, and the row of the written constraint."""

    given: Program
    placements: dict[tuple[int, int], tuple[Placement, int]]

    def forward(self, certificate: Certificate) -> Certificate:
        """The same: points and rows are those of charts."""
        return certificate

    def inverse(self, certificate: Certificate) -> Certificate:
        """The same, but a violation far out grows with a power of the index: nothing bounds it."""
        found = list(certificate.violation)
        for (f, _), (placement, _) in self.placements.items():
            if placement.scale_axis is not None and f < len(found) and found[f] > 0:
                found[f] = np.inf
        return replace(certificate, violation=tuple(found))
