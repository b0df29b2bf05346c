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

from .certificate import Support, leaks, leaves
from .masters import Conditioning, open_master
from .program import DENSE, Program

Array = NDArray[np.float64]
STEPS = 60
ROUNDING = 1e-13  # of components, relative to the largest
TOUCHED = 1e-8  # of A d and a(y) d, relative to the size of their terms
MARGINS = (1e-3, 1e-6, 0.0)  # a direction that keeps away from the boundary of the cone is easier to prove


def find_ray(
    program: Program, cuts: list[Support], conditioning: Conditioning, matrix: Any, oracles: list[Any], method: Any
) -> tuple[Array | None, tuple[float, ...]]:
    """A proven direction and, a family, a bound on sup a(y) d; (None, ()) when the problem has none."""
    c = np.asarray(conditioning.rows(program.c[None, :])).ravel()
    lower = np.where(np.isfinite(program.lower), 0.0, -1.0)
    upper = np.where(np.isfinite(program.upper), 0.0, 1.0)
    rows = sparse.csr_matrix(conditioning.rows(program.A))
    if rows.shape[0]:  # small coefficients are coefficients, too
        largest = abs(rows).max(axis=1).toarray().ravel()
        rows = sparse.csr_matrix(sparse.diags(1.0 / np.where(largest > 0, largest, 1.0)) @ rows)
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
        d = _cleaned(program, conditioning.x(result.z), a)
        allowed = leaks(program, d)
        found = [
            oracle.maximise(program.violation(f, d, scale=0.0), family.domain, target=0.5 * allowed[f])
            for f, (oracle, family) in enumerate(zip(oracles, program.families, strict=True))
        ]
        if all(s.bound <= most for s, most in zip(found, allowed, strict=True)) and not leaves(program, d):
            return d, tuple(s.bound for s in found)
        new = [
            Support(f, int(k), y, 0.0)
            for f, s in enumerate(found)
            for y, k, g in zip(s.points, s.components, s.values, strict=True)
            if g > 0
        ]
        if not new:
            return None, ()
        fresh, _ = matrix(new)
        a = sparse.vstack([a, fresh], format="csr") if sparse.issparse(a) else np.concatenate([a, fresh])
        master.add(conditioning.rows(fresh), np.zeros(len(new)))
    return None, ()


def _cleaned(program: Program, d: Array, cuts: Any) -> Array:
    """A direction of unit size that keeps exactly to the rows and bounds to which the master's keeps nearly.

    An LP solver is content with 1e-9; along a ray, that adds up to anything.
    """
    lower = np.where(np.isfinite(program.lower), 0.0, -np.inf)
    upper = np.where(np.isfinite(program.upper), 0.0, np.inf)
    d = d / np.abs(d).max()
    # Components that only rounding put there would leave the cone; the proof is about what is left.
    d = np.clip(np.where(np.abs(d) < ROUNDING, 0.0, d), lower, upper)
    moving = d != 0
    if program.n > DENSE or not moving.any():
        return d
    rows = np.concatenate([program.A.toarray(), cuts])[:, moving]
    sizes = np.abs(rows) @ np.abs(d[moving])
    touched = np.abs(rows @ d[moving]) <= TOUCHED * sizes
    touched &= sizes > 0
    rows = rows[touched] / sizes[touched, None]
    for _ in range(2):
        d[moving] -= np.linalg.lstsq(rows, rows @ d[moving], rcond=None)[0] if len(rows) else 0.0
    return np.clip(d, lower, upper)
