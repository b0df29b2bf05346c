"""CRPO on a fixed grid: the switching loop of SI-CPO with the constraint at finitely many index points only."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from .. import validation
from ..fixed_grid import FixedGrid
from ..si_cpo import SICPO, SICPOOptions
from ..sicmdp import SICMDP
from ..simulator import Simulator, as_simulator

GRIDS = {250: 16, 500: 23, 1000: 33}  # points an axis that stand for the paper's N


class CRPO(SICPO):
    """SI-CPO with a fixed grid as its oracle.

    Parameters
    ----------
    problem
        As in `SICPO`, and so are the options.
    points
        About how many grid points; 250, 500 and 1000 mean 16 x 16, 23 x 23 and 33 x 33 in two dimensions, as in the
        experiments of the paper.
    """

    def __init__(self, problem: SICMDP | Simulator, points: int = 250, **options: Unpack[SICPOOptions]) -> None:
        validation.count("points", points)
        m = as_simulator(problem).specification.constraint.domain.dim
        per_axis = GRIDS[points] if m == 2 and points in GRIDS else max(int(np.ceil(points ** (1 / m) - 1e-9)), 1)
        settings: SICPOOptions = {"oracle": FixedGrid(per_axis), **options}
        super().__init__(problem, **settings)
