"""Asking every family's oracle where a point violates, within the time that is left."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..model.program import Program
from ..oracles import Oracle, Separation, tuned
from ..proof.certificate import Array, Support


def separate(
    program: Program,
    oracles: Sequence[Oracle],
    x: Array,
    box: Array | None = None,
    *,
    margin: float = 0.0,
    left: float = np.inf,
    seed: int = 0,
) -> list[Separation]:
    """What each oracle finds at x, or over a box around it.

    One that can use it knows how much room the margin leaves, and the seconds left.
    """
    near = max(0.5 * margin, 0.0)
    return [
        tuned(oracle, near=near, seconds=left).maximise(program.violation(f, x, radius=box), target=0.0, seed=seed)
        for f, oracle in enumerate(oracles)
    ]


def cuts_at(separations: Sequence[Separation], above: float = -np.inf, most: int | None = None) -> list[Support]:
    """The points found with a violation beyond `above`, as cuts; so many of a family at most."""
    return [
        Support(f, int(c), y, 0.0)
        for f, s in enumerate(separations)
        for y, c, g in zip(s.points[:most], s.components[:most], s.values[:most], strict=True)
        if g > above
    ]
