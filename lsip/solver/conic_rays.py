"""Directions along which a program with cones may be unbounded: the exchange on the homogeneous program."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..model.program import Program
from ..oracles import Oracle, ask, tuned
from ..proof.certificate import Array, Support
from .clock import Clock
from .conic_master import ConicMaster
from .rows import cuts_at


@dataclass(frozen=True)
class RayTuning:
    """How directions are looked for.

    Parameters
    ----------
    steps
        Directions that are tried at most.
    stages
        Margin and inset of each stage, those that are easier to prove first.
    least_gain
        A direction that improves the objective by less, in good units, ends a stage.
    noise
        What a solver leaves where it means zero, as a part of the largest entry in good units.
    """

    steps: int = 40
    stages: tuple[tuple[float, float], ...] = ((1e-3, 1e-3), (1e-6, 1e-6), (1e-3, 0.0), (1e-6, 0.0), (0.0, 0.0))
    least_gain: float = 1e-6
    noise: float = 1e-7


TUNING = RayTuning()


def find_ray(
    master: ConicMaster, program: Program, cuts: list[Support], oracles: list[Oracle], clock: Clock
) -> Array | None:
    """A direction that improves the objective, stays in the cones, and satisfies every index.

    Nothing of this is proven here.
    """
    held, stage = list(cuts), 0
    for _ in range(TUNING.steps):
        found = master.direction(master.cuts.coefficients(held)[0], *TUNING.stages[stage])
        if found.status != "optimal" or found.value > -TUNING.least_gain or clock.left() < 0:
            stage += 1
            if stage == len(TUNING.stages) or clock.left() < 0:
                return None
            continue
        d = master.form.direction(np.where(np.abs(found.z) < TUNING.noise * master.units, 0.0, found.z))
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
