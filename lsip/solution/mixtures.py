"""Points of an index with the parts of its entries, for rules in pieces, as mixtures of points of the index itself."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ..expressions.folds import Folded
from ..expressions.graph import Index
from ..proof.certificate import Array
from .active import TUNING


def on_graph(indices: tuple[Index, ...], z: Array) -> list[tuple[float, Array]] | None:
    """A point of lifted indices as a mixture of points whose parts are those of their entries; None if there is none.

    Parts of an entry are shares of the way between breakpoints, and those of a point that is a mixture fall from one
    part to the next. All entries are drawn with one uniform number, so that the points are few.
    """
    entries: list[Array | tuple[Array, Array]] = []  # a number, or shares of parts and where these end
    start = 0
    for index in indices:
        dim = index.declared.domain.dim
        if isinstance(index, Folded):
            entries.extend(_shares(index, j, z[start : start + index.domain.dim]) for j in range(dim))
        else:
            entries.extend(z[start : start + dim])
        start += index.domain.dim
    if any(e is None for e in entries):
        return None
    levels = np.unique(np.concatenate([[0.0, 1.0], *(e[0] for e in entries if isinstance(e, tuple))]))
    levels = levels[(levels >= 0) & (levels <= 1)]
    found = []
    for low, high in pairwise(levels.tolist()):
        if high - low > TUNING.same:
            at = (low + high) / 2
            point = [e[1][int((e[0] > at).sum())] if isinstance(e, tuple) else float(e) for e in entries]
            found.append((float(high - low), np.array(point)))
    return found


def _shares(index: Folded, j: int, z: Array) -> Any:
    """An entry as its number, where its parts are its own; otherwise the shares of its parts, and all breakpoints."""
    low, high = float(index.of.domain.lower[j]), float(index.of.domain.upper[j])
    limits, entry = index.limits(j), float(z[j])
    if not limits:
        return np.float64(entry)
    parts = z[index.parts(j)]
    own = np.array([np.clip(entry, a, b) - a for a, b in limits])
    if (np.abs(parts - own) <= TUNING.vanishing * (high - low)).all():
        return np.float64(entry)
    ends = np.array([low, limits[0][0], *(b for _, b in limits)])
    lengths = np.diff(ends)
    shares = np.concatenate([[entry - low - parts.sum()], parts]) / lengths
    if (np.diff(shares) > TUNING.vanishing).any() or shares.min() < -TUNING.vanishing:
        return None
    return np.clip(shares, 0.0, 1.0), ends
