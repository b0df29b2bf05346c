"""An oracle for CRPO: the same uniform grid of Y in every iteration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import lsip

from . import validation


@dataclass(frozen=True)
class FixedGrid:
    """An oracle that evaluates the same uniform grid in each call, with `per_axis` points along each axis."""

    per_axis: int
    candidates: ClassVar[bool] = False  # what a constraint suggests besides is not for this oracle

    def __post_init__(self) -> None:
        validation.count("per_axis", self.per_axis)

    def maximise(
        self, violation: lsip.oracles.Violation, *, target: float = 0.0, seed: int = 0
    ) -> lsip.oracles.Separation:
        """The worst grid point; nothing is proven."""
        points = violation.domain.grid(self.per_axis)
        values = violation.values(points).max(axis=1)
        k = int(np.argmax(values))
        return lsip.oracles.Separation(points[[k]], values[[k]], np.inf, np.zeros(1, dtype=np.intp))
