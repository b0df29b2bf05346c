"""Bounds of the coefficients of rules that those of decisions imply: with them, proofs need no exact balance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...domains import Domain
from .recourse import Recourse

Array = NDArray[np.float64]
Row = tuple[dict[int, float], float, float]  # coefficients by column, lower, upper


@dataclass(frozen=True)
class ImpliedTuning:
    """How bounds are implied.

    Parameters
    ----------
    points
        At which a rule is looked at, for each of its coefficients.
    largest
        Larger bounds are none.
    """

    points: int = 4
    largest: float = 1e9


TUNING = ImpliedTuning()
WIDENED = 1 + 1e-6  # widens bounds by more than the rounding of a few sums


def largest_coefficient(rule: Recourse, places: Array, most: float) -> float:
    """A bound of all coefficients of a rule that is at most `most`, in size, at points (P, s); inf if there is none.

    With V the monomials at some of the points and W about the inverse of V, W V = 1 + E: coefficients are at most
    |W| most / (1 - |E|) in size.
    """
    from scipy.linalg import qr

    monomials = rule.found(np.zeros(max(rule.columns) + 1)).terms(places)  # (P, K)
    count = monomials.shape[1]
    if len(monomials) < count:
        return np.inf
    chosen = monomials[qr(monomials.T, mode="r", pivoting=True)[1][:count]]
    try:
        inverse = np.linalg.inv(chosen)
    except np.linalg.LinAlgError:
        return np.inf
    error = float(np.abs(inverse @ chosen - np.eye(count)).sum(axis=1).max())
    if not 2 * error < 1:
        return np.inf
    return float(WIDENED * np.abs(inverse).sum(axis=1).max() * most / (1 - 2 * error))


def spread_points(domain: Domain, count: int) -> Array:
    """Points of a set, enough to tell `count` coefficients apart."""
    return domain.spread(TUNING.points * count + 1)


def through_equalities(rows: list[Row], lower: Array, upper: Array, columns: set[int]) -> None:
    """Bound what an equality determines by what else is in it, in place, as long as that finds anything."""
    waiting = [(row, low) for row, low, high in rows if low == high]
    found = True
    while found:
        found = False
        for row, side in waiting:
            size = {j: max(-lower[j], upper[j]) for j in row}
            free = [j for j in row if np.isinf(size[j])]
            if len(free) != 1 or free[0] not in columns or not row[free[0]]:
                continue
            rest = abs(side) + sum(abs(a) * size[j] for j, a in row.items() if j != free[0])
            most = WIDENED * rest / abs(row[free[0]])
            if most <= TUNING.largest:
                lower[free[0]], upper[free[0]], found = max(lower[free[0]], -most), min(upper[free[0]], most), True
