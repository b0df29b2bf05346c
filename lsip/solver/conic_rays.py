"""Directions along which a program with cones may be unbounded: the exchange on the homogeneous program."""

from __future__ import annotations

import numpy as np

from ..model.program import Program
from ..oracles import Oracle, ask, tuned
from ..proof.certificate import Array, Support
from .clock import Clock
from .conic_master import ACCURACY, ConicMaster
from .rays import margins
from .rows import cuts_at


def find_ray(
    master: ConicMaster, program: Program, cuts: list[Support], oracles: list[Oracle], clock: Clock
) -> Array | None:
    """A direction that improves the objective, stays in the cones, and satisfies every index.

    Nothing of this is proven here.
    """
    tuning, held, stage = master.tuning, list(cuts), 0
    wide, narrow, none = margins(tuning)
    stages = ((wide, wide), (narrow, narrow), (wide, none), (narrow, none), (none, none))  # margin and inset
    for _ in range(tuning.patience * len(stages)):
        found = master.direction(master.cuts.coefficients(held)[0], *stages[stage])
        if found.status != "optimal" or found.value > -narrow or clock.left() < 0:
            stage += 1
            if stage == len(stages) or clock.left() < 0:
                return None
            continue
        d = master.form.direction(np.where(np.abs(found.z) < ACCURACY / tuning.share * master.units, 0.0, found.z))
        seen = [
            ask(tuned(oracle, seconds=clock.left()), program.violation(f, d, scale=0.0))
            for f, oracle in enumerate(oracles)
        ]
        if all(s.worst <= 0 for s in seen):
            return d
        new = cuts_at(seen)
        if not new:
            return None
        held += new
    return None
