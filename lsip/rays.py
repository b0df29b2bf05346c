"""Directions along which a problem is unbounded: the exchange once more, on the homogeneous problem.

A ray d improves the objective, c d < 0, and never leaves the feasible set, a(y) d <= 0 for every y. It is sought in
the box -1 <= d <= 1 of the master's coordinates, cut by cut; a relaxation with an unbounded ray is never mistaken for
the problem.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .certificate import LEAK, Support
from .masters import Conditioning, open_master
from .program import Program

Array = NDArray[np.float64]
STEPS = 60
MARGINS = (1e-3, 1e-6, 0.0)  # a direction that keeps away from the boundary of the cone is easier to prove


def find_ray(
    program: Program, cuts: list[Support], conditioning: Conditioning, matrix: Any, oracles: list[Any], method: Any
) -> tuple[Array | None, tuple[float, ...]]:
    """A proven direction and, a family, a bound on sup a(y) d; (None, ()) when the problem has none."""
    c = np.asarray(conditioning.rows(program.c[None, :])).ravel()
    lower = np.where(np.isfinite(program.lower), 0.0, -1.0)
    upper = np.where(np.isfinite(program.upper), 0.0, 1.0)
    rows = sparse.csr_matrix(conditioning.rows(program.A))
    master = open_master(method.master)(
        c,
        lower,
        upper,
        rows,
        np.where(np.isfinite(program.row_lower), 0.0, -np.inf),
        np.where(np.isfinite(program.row_upper), 0.0, np.inf),
        method.tol,
    )
    a, _ = matrix(cuts)
    master.add(conditioning.rows(a), np.zeros(len(cuts)))
    size = float(np.abs(c).max(initial=0.0))
    stage = 0
    for _ in range(STEPS):
        result = master.solve(MARGINS[stage])
        if result.status != "optimal" or result.objective > -1e-7 * size:
            stage += 1
            if stage == len(MARGINS):
                return None, ()
            continue
        d = conditioning.x(result.z)
        # Components that only rounding put there would leave the cone; the proof is about what is left.
        d = np.where(np.abs(d) < 1e-13 * np.abs(d).max(), 0.0, d) / np.abs(d).max()
        d = np.clip(
            d, np.where(np.isfinite(program.lower), 0.0, -np.inf), np.where(np.isfinite(program.upper), 0.0, np.inf)
        )
        found = [
            oracle.maximise(program.violation(f, d, scale=0.0), family.domain, target=0.5 * LEAK)
            for f, (oracle, family) in enumerate(zip(oracles, program.families, strict=True))
        ]
        if max((s.bound for s in found), default=-np.inf) <= 0.5 * LEAK:
            return d, tuple(s.bound for s in found)
        new = [
            Support(f, int(k), y, 0.0)
            for f, s in enumerate(found)
            for y, k, g in zip(s.points, s.components, s.values, strict=True)
            if g > 0
        ]
        if not new:
            return None, ()
        a, _ = matrix(new)
        master.add(conditioning.rows(a), np.zeros(len(new)))
    return None, ()
