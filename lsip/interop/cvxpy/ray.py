"""Directions along which a convex model is unbounded: the exchange on the homogeneous canonical problem."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...certificate import FINITE, Support, leaks
from .canonical import Canonical
from .solution import Model

Array = NDArray[np.float64]
STEPS = 40
MARGINS = (1e-3, 1e-6)  # a direction that keeps away from the boundary of the cone is easier to prove


def find_ray(
    canonical: Canonical, model: Model, cuts: list[Support], oracles: list[Any]
) -> tuple[Array | None, tuple[float, ...]]:
    """A proven direction of the canonical form and, a family, a bound on sup a(y) d; (None, ()) if there is none.

    It improves the objective, -A d lies in the cone (measured), and a(y) d <= 0 for every y (proven).
    """
    carrier = model.carrier
    n = len(canonical.c)
    size = float(np.abs(canonical.c).max(initial=0.0))
    box = sparse.vstack([sparse.eye_array(n), -sparse.eye_array(n)])
    held, stage = list(cuts), 0
    for _ in range(STEPS):
        rows = _rows(carrier, held)[:, :n]
        matrix = sparse.vstack([sparse.csr_matrix(rows), box])
        rhs = np.concatenate([np.full(len(held), -MARGINS[stage]), np.ones(2 * n)])
        status, d, _, _ = canonical.solve(canonical.c, np.zeros(canonical.rows), matrix, rhs)
        solved = status in ("Solved", "AlmostSolved")
        if not solved or canonical.c @ d > -1e-6 * size:
            stage += 1
            if stage == len(MARGINS):
                return None, ()
            continue
        d = np.where(np.abs(d) < 1e-7, 0.0, d)
        d = np.append(d / np.abs(d).max(), 0.0)
        allowed = leaks(carrier, d)
        found = [
            oracle.maximise(carrier.violation(f, d, scale=0.0), family.domain, target=0.5 * allowed[f])
            for f, (oracle, family) in enumerate(zip(oracles, carrier.families, strict=True))
        ]
        if all(s.bound <= most for s, most in zip(found, allowed, strict=True)):
            inside = model.cones.residual(-(carrier.A @ d)) <= FINITE
            return (d, tuple(s.bound for s in found)) if inside else (None, ())
        new = [
            Support(f, int(c), y, 0.0) for f, s in enumerate(found) for y, c in zip(s.points, s.components, strict=True)
        ]
        if not new:
            return None, ()
        held += new
    return None, ()


def _rows(carrier: Any, cuts: list[Support]) -> Array:
    """Coefficients (k, n) of cuts over the canonical columns."""
    rows = np.zeros((len(cuts), carrier.n))
    for f, family in enumerate(carrier.families):
        mine = np.array([i for i, s in enumerate(cuts) if s.family == f], dtype=np.intp)
        if len(mine):
            component = np.array([cuts[i].component for i in mine], dtype=np.intp)
            a, _ = family.chosen(np.array([cuts[i].point for i in mine]), component)
            np.add.at(rows, (mine[:, None], family.columns[component]), a)
    return rows
