"""Asking every family's oracle where a point violates, within the time that is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .oracles import BranchAndBound, Oracle, Separation
from .program import Program

Array = NDArray[np.float64]
LEAST = 0.05  # seconds that a branch-and-bound always gets


def separate(
    program: Program, oracles: Sequence[Oracle], x: Array, *, margin: float = 0.0, left: float = np.inf, seed: int = 0
) -> list[Separation]:
    """What each oracle finds at x; a branch-and-bound knows how much room the margin leaves, and the seconds left."""
    return [
        _tuned(oracle, margin, left).maximise(program.violation(f, x), family.domain, target=0.0, seed=seed)
        for f, (oracle, family) in enumerate(zip(oracles, program.families, strict=True))
    ]


def _tuned(oracle: Oracle, margin: float, left: float) -> Oracle:
    if not isinstance(oracle, BranchAndBound):
        return oracle
    return replace(oracle, near=max(0.5 * margin, 0.0), seconds=min(oracle.seconds, max(left, LEAST)))
