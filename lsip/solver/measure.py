"""The dual measure that the multipliers of a robust counterpart are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..model.counterpart import FiniteCounterpart
from ..model.program import Program
from ..proof.certificate import Array, Support


@dataclass(frozen=True)
class MeasureTuning:
    """How multipliers are read.

    Parameters
    ----------
    negligible
        Those below this share of the largest are left out.
    """

    negligible: float = 1e-14


TUNING = MeasureTuning()


def atoms(program: Program, finite: FiniteCounterpart, multipliers: Array) -> tuple[tuple[Support, ...], Array]:
    """Index points with their weights, and the multipliers of finite rows."""
    least = TUNING.negligible * float(np.abs(multipliers).max(initial=0.0))
    support = []
    for f, components, points, weights in finite.measure(multipliers, least):
        domain = program.families[f].domain
        points = np.clip(points, domain.lower, domain.upper)
        each = zip(components.tolist(), points, weights.tolist(), strict=True)
        support += [Support(f, c, y, w) for c, y, w in each]
    return tuple(support), program.admissible(multipliers[: finite.finite])
