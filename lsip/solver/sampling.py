"""Sampling before proving: rows sampled once find most violations for the price of a matrix product.

A proof is worth its price where nothing is left to find. Until then, the exchange asks `SampledRows`: the rows of a
family at points that cover its index set are kept in a table, one product with (x, -1) gives the violation at all of
them, and a Newton step from every peak leads close to the local maximisers. What it finds is attained; what it does not
find means nothing, and a branch-and-bound has the last word.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..deadline import EFFORT
from ..model.families import RowFamily
from ..model.program import STORAGE
from ..model.violation import FamilyViolation, contract
from ..oracles import Separation
from ..oracles.attained import distinct
from ..oracles.bounders import convex
from ..oracles.trust_region import newton_step
from ..proof.certificate import Array
from .tuning import DEFAULTS, Tuning

Peaks = tuple[Array, NDArray[np.intp], Array]  # points (k, m), components (k,), rows with the rhs last (k, K + 1)


class SampledRows:
    """Rows of a family at points that cover its domain; every separation adds those to which Newton steps led."""

    def __init__(self, family: RowFamily, first: Array, tuning: Tuning = DEFAULTS) -> None:
        self.family, self.domain, self.tuning = family, family.domain, tuning
        (p, k), m = family.columns.shape, self.domain.dim
        wanted = tuning.points[min(m, len(tuning.points)) - 1] * (k + 1)
        most = min(m * tuning.points[0] * tuning.least_points, EFFORT.batch // (p * (k + 1)))
        count = int(np.clip(wanted, tuning.least_points, most))
        spread = self.domain.spread(count)
        if m > 1:  # the outermost points move onto the boundary, where many maxima are
            middle = 0.5 * (self.domain.lower + self.domain.upper)
            spread = self.domain.project(middle + (1 + count ** (-1.0 / m)) * (spread - middle))
        points = np.concatenate([first, spread])
        a, b = family.rows(points)
        self.first = a[: len(first)].reshape(-1, k), b[: len(first)].ravel()  # of all components, point by point
        order = points[:, 0].argsort(kind="stable") if m == 1 else slice(None)
        self.points = points[order]
        self.table = np.moveaxis(np.concatenate([a, b[..., None]], axis=-1)[order], 1, 0).copy()  # (p, N, K + 1)
        self.spacing = 0.75 * (self.domain.upper - self.domain.lower) * count ** (-1.0 / m)
        self.most = int(np.clip(3 * (k + 1), 8, tuning.least_points))
        self.refined: Peaks = (np.zeros((0, m)), np.zeros(0, dtype=np.intp), np.zeros((0, k + 1)))

    @staticmethod
    def suits(family: RowFamily, tuning: Tuning) -> bool:
        """Whether a table of the family's rows is small, and a sample finds what a proof would not find as quickly."""
        if convex(family):
            return False
        p, k = family.columns.shape
        small = tuning.least_points * p * (k + 1) <= EFFORT.batch
        return small and p <= tuning.least_points and k <= STORAGE.most_dense

    def separate(self, violation: FamilyViolation, threshold: float, refine: bool = True) -> Separation:
        """Distinct points at which the violation exceeds `threshold`, worst first, with their rows.

        Without refinement by Newton steps, only the points of the table are looked at.
        """
        found = self._peaks(violation, threshold, self.tuning.share if refine else 0.0)
        y, component, rows = self._refine(violation, *found) if refine else found
        value = (rows * violation.weights[component]).sum(axis=1)
        kept = np.flatnonzero(value > threshold)
        radius = 2e-3 * (self.domain.upper - self.domain.lower)
        chosen = kept[distinct(y[kept], value[kept], component[kept], radius, self.most)]
        y, component, rows = y[chosen], component[chosen], rows[chosen]
        if refine:
            a, b, c = self.refined
            self.refined = np.concatenate([a, y]), np.concatenate([b, component]), np.concatenate([c, rows])
        return Separation(y, value[chosen], np.inf, component, (rows[:, :-1], rows[:, -1]))

    def _peaks(self, violation: FamilyViolation, threshold: float, low: float) -> Peaks:
        """Where the violation is largest among its neighbours, and not far below the threshold."""
        g = np.matmul(self.table, violation.weights[:, :, None])[..., 0]  # (p, N)
        floor = threshold - low * (g.max() - g.min())
        high = g > floor
        if self.points.shape[1] == 1:  # in order along the line
            high[:, 1:] &= g[:, 1:] > g[:, :-1]
            high[:, :-1] &= g[:, :-1] >= g[:, 1:]
        component, place = np.nonzero(high)
        y, rows, g = self.points[place], self.table[component, place], g[component, place]
        if len(self.refined[0]):
            again = (self.refined[2] * violation.weights[self.refined[1]]).sum(axis=1)
            near = np.flatnonzero(again > floor)
            y, component, rows = (
                np.concatenate([new, old[near]]) for new, old in zip((y, component, rows), self.refined, strict=True)
            )
            g = np.concatenate([g, again[near]])
        chosen = distinct(y, g, component, self.spacing, self.most)
        return y[chosen], component[chosen], rows[chosen]

    def _refine(self, violation: FamilyViolation, y: Array, component: NDArray[np.intp], rows: Array) -> Peaks:
        """One Newton step up from every peak, kept where it helps; the next separation goes on from there."""
        parts = self.family.chosen_derivatives(y, component) if len(y) else None
        if parts is None:
            return y, component, rows
        w = violation.weights[component]
        reach = self.spacing if y.shape[1] > 1 else None  # points along a line are so dense that Newton is safe
        better = self.domain.project(newton_step(y, *contract(parts[1], parts[2], w), self.domain, reach))
        refined = np.column_stack(self.family.chosen(better, component))
        up = ((refined - rows) * w).sum(axis=1, keepdims=True) > 0
        return np.where(up, better, y), component, np.where(up, refined, rows)
