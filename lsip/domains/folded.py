"""Index sets whose points carry their parts above breakpoints with them: rules in pieces are affine there.

A point z[j] between b[0] < … < b[K] is b[0] + u[0] + … + u[K - 1], where u[k] is what of it lies between b[k] and
b[k + 1]. All such (z, u[1], …) are a curve, whose hull is u[0] / w[0] >= u[1] / w[1] >= … >= 0 with the widths w, and
what is affine in them is largest at a corner of the hull: over a box, nothing is lost. Over other sets the hull of each
entry is taken by itself, within the set: these are more points than there are, so that what holds for all of them holds
(Georghiou, Wiesemann & Kuhn, 2015).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError
from .base import Array, Domain
from .box import Box
from .budget import Budget
from .interval import Interval
from .polytope import Polytope

Breaks = tuple[tuple[float, ...], ...]  # of every entry, from below, within its range


def folded(domain: Domain, breaks: Breaks) -> Polytope:
    """The points of a set, followed by their parts above each breakpoint: first those of z[0], then of z[1], …."""
    if not isinstance(domain, Interval | Box | Budget | Polytope):
        raise ModelError(
            f"Rules in pieces are of data in an Interval, a Box, a Budget or a Polytope; got {domain}. Take one of "
            "these that holds all of it."
        )
    m, size = domain.dim, domain.dim + sum(map(len, breaks))
    rows: list[Array] = []
    sides: list[float] = []
    above = np.zeros((m, size))  # what of each entry is positive
    start = m
    for j, inner in enumerate(breaks):
        ends = np.array([domain.lower[j], *inner, domain.upper[j]])
        places = start + np.arange(len(inner), dtype=np.intp)
        above[j, places[np.array(inner) >= 0]] = 1.0
        for row, side in _chain(size, j, places, ends):
            rows.append(row)
            sides.append(side)
        start += len(inner)
    if isinstance(domain, Polytope):
        rows += list(np.hstack([domain.A, np.zeros((len(domain.A), size - m))]))
        sides += domain.b.tolist()
    if isinstance(domain, Budget):  # |z| is twice what is positive, without z
        rows.append(2 * above.sum(axis=0) - np.r_[np.ones(m), np.zeros(size - m)])
        sides.append(domain.budget)
    return Polytope(np.array(rows), np.array(sides))


def _chain(size: int, j: int, places: NDArray[np.intp], ends: Array) -> list[tuple[Array, float]]:
    """The rows for entry j, whose parts stand at these places: no part begins before the one below it is full.

    Widths are rounded; the sides are raised by more than that can matter.
    """
    unit, width = np.eye(size), np.diff(ends)
    first = unit[j] - unit[places].sum(axis=0)  # what is below the first breakpoint
    if not len(places):
        return [(first, float(ends[1])), (-first, -float(ends[0]))]
    parts = [first, *unit[places]]
    found = [(first, float(ends[1])), (-parts[-1], 0.0)]
    room = 8 * np.finfo(float).eps * float(width.max() * np.abs(ends).max())
    for k in range(len(places)):
        start = float(ends[0]) if k == 0 else 0.0
        found.append((width[k] * parts[k + 1] - width[k + 1] * parts[k], -float(width[k + 1]) * start + room))
    return found
