"""Lower bounds and contradictions for convex models: weak duality in CVXPY's canonical form.

For multipliers y in the dual cone of the finite rows and weights λ >= 0 on cuts at index points, every feasible point
of min c z with b - A z in K has c z >= -b y - λ b(y_i) + (c + A' y + Σ λ_i a(y_i)) z. What the bracket leaves over is
charged against a region, as in `lsip.certificate`. Solvers only propose y and λ; nothing that they say is trusted.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...certificate import INFEASIBLE_RADIUS, Support, infeasibility, lower_bound
from .canonical import Canonical
from .solution import BALANCE, Model

Array = NDArray[np.float64]
EXACT = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11, "max_iter": 300}


@dataclass(frozen=True, eq=False)
class Bound:
    """A proven lower bound (of zero, for a contradiction), and what proves it."""

    lower: float = -np.inf
    radius: float = np.inf
    support: tuple[Support, ...] = ()
    rows: Array = field(default_factory=lambda: np.zeros(0))  # multipliers of the canonical rows
    units: Array = field(default_factory=lambda: np.zeros(0))  # the shape of the region that `radius` scales


@dataclass(frozen=True, eq=False)
class Judge:
    """Proposes multipliers with an accurate solver, moves them into the dual cone, and computes what they prove."""

    canonical: Canonical
    model: Model

    def bound(self, cuts: list[Support], master: Any, x: Array, slack: float) -> Bound:
        """The best lower bound from these cuts; at most `slack` is given up for the region in which it holds."""
        support, rows, z = self._multipliers(self.canonical.c, cuts, master)
        if not self.model.cones.proves_dual(rows):
            return Bound()
        units = 1.0 + np.abs(np.append(z, 0.0))
        # The region must not miss the point that the bound is compared with.
        np.maximum.at(units, self.canonical.place, np.abs(x))
        return Bound(*lower_bound(self.model.carrier, support, rows, units, slack), support, rows, units)

    def contradiction(self, cuts: list[Support], master: Any) -> Bound | None:
        """A combination of the finite part and the cuts that contradicts itself, if there is one."""
        support, rows, _ = self._multipliers(np.zeros(len(self.canonical.c)), cuts, master)
        if not self.model.cones.proves_dual(rows):
            return None
        units = np.ones(len(self.canonical.c) + 1)
        base, radius = infeasibility(self.model.carrier, support, rows, units, BALANCE)
        return Bound(base, radius, support, rows, units) if base > 0 and radius >= INFEASIBLE_RADIUS else None

    def _multipliers(self, c: Array, cuts: list[Support], master: Any) -> tuple[tuple[Support, ...], Array, Array]:
        """A dual point for the objective c: atoms, multipliers of the rows, and the primal point beside it."""
        place, n = self.canonical.place, len(c)
        shape = (len(place), n + 1)
        choose = sparse.csr_matrix((np.ones(len(place)), (np.arange(len(place)), place)), shape=shape)[:, :n]
        rows = sparse.csr_matrix(master.rows) @ choose
        _, z, dual, weight = self.canonical.solve(c, self.canonical.b, rows, master.rhs, **EXACT)
        weight = np.where(np.isfinite(weight), np.maximum(weight, 0.0), 0.0) / master.scale
        least = 1e-13 * float(weight.max(initial=0.0))
        support = tuple(replace(s, multiplier=float(w)) for s, w in zip(cuts, weight, strict=True) if w > least)
        dual = self.model.cones.dual_point(np.where(np.isfinite(dual), dual, 0.0))
        return support, dual, np.where(np.isfinite(z), z, 0.0)
