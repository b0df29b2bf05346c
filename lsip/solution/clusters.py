"""Atoms of a dual measure that lie close together: one active point."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..model.directed_rows import DirectedRows
from ..model.families import RowFamily
from ..oracles.base import visible
from ..proof.certificate import Support
from .active import TUNING

Array = NDArray[np.float64]


def near(family: RowFamily) -> Array:
    """How close atoms are that are one point: not at all where every point of the set stands alone."""
    domain = visible(family)
    if family.legend.shown and domain.measure[0] == 0:
        return np.zeros(family.legend.shown)
    return np.asarray((TUNING.near * (domain.upper - domain.lower) + 1e-12)[: family.legend.shown])


def room(family: RowFamily, s: Support) -> float:
    """By how much a unit of room on the right of what was written gives room to a row in one of its directions."""
    rows = family.source
    if not isinstance(rows, DirectedRows):
        return 1.0
    start, found = family.domain.dim - rows.worst.index.domain.dim, 1.0
    for block in rows.worst.blocks:
        for places in block.places[block.rows == s.component]:
            found *= block.kind.room(s.point[start + places])
    return found


def together(family: RowFamily, cluster: list[Support]) -> bool:
    """Whether atoms can be one: the middle of them is in the set, unless the set has no inside that it could be in."""
    domain = visible(family)
    if not family.legend.shown or domain.measure[0] < domain.dim or len(cluster[0].point) < domain.dim:
        return True
    return bool(domain.contains(_middle(cluster)[None])[0])


def _middle(cluster: list[Support]) -> Array:
    weights = np.array([s.multiplier for s in cluster])
    return np.asarray(weights @ np.array([s.point for s in cluster]) / weights.sum())


def one(family: RowFamily, cluster: list[Support]) -> Support:
    """Atoms that are one: in their middle, unless one of them has about all the weight."""
    total = sum(s.multiplier for s in cluster)
    whole = replace(cluster[0], multiplier=total)
    domain = visible(family)
    if len(cluster) == 1 or cluster[0].multiplier >= (1.0 - TUNING.vanishing) * total or domain.measure[0] < domain.dim:
        return whole
    middle = _middle(cluster)
    points = np.array([s.point for s in cluster])
    return replace(whole, point=np.clip(middle, points.min(axis=0), points.max(axis=0)))
