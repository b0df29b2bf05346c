"""Cuts, which are constraints at index points, and their rows as a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from ..masters.base import Matrix
from ..model.families import RowFamily
from ..model.program import Program, held_dense
from ..oracles import Separation
from ..oracles.base import Ints
from ..proof.certificate import Array, Support

Known = dict[int, tuple[Array, Array]]  # rows and right-hand sides of new cuts, by family, where they are known
Entries = list[tuple[Array, Any, Any]]  # numbers with their rows and columns, which have shapes that fit together


def first_cuts(program: Program, points: Sequence[Array]) -> list[Support]:
    """All constraints at some index points (k, m), an array for every family."""
    rows = [range(len(family.columns)) for family in program.families]
    return [Support(f, c, y, 0.0) for f, each in enumerate(points) for y in each for c in rows[f]]


def cuts_at(separations: Sequence[Separation], above: float = -np.inf, most: int | None = None) -> list[Support]:
    """The points found with a violation beyond `above`, as cuts; so many of a family at most."""
    return [
        Support(f, int(c), y, 0.0)
        for f, s in enumerate(separations)
        for y, c, g in zip(s.points[:most], s.components[:most], s.values[:most], strict=True)
        if g > above
    ]


def cut_rows(
    program: Program, cuts: list[Support], known: Known | None = None, sharp: bool = False
) -> tuple[Matrix, Array]:
    """Rows (k, n) and right-hand sides of cuts, dense for small models; those `known` of a family are not asked.

    They are `sharp` where they are evaluated with more digits than doubles need.
    """
    rhs, entries = np.zeros(len(cuts)), []
    for f, family in enumerate(program.families):
        mine = np.array([i for i, s in enumerate(cuts) if s.family == f], dtype=np.intp)
        if len(mine):
            y, component = np.array([cuts[i].point for i in mine]), np.array([cuts[i].component for i in mine])
            given = None if known is None or sharp else known.get(f)
            a, rhs[mine] = given or _evaluated(family, y, component, sharp)
            entries.append((a, mine[:, None], family.columns[component]))
    return scattered(entries, (len(cuts), program.n)), rhs


def _evaluated(family: RowFamily, y: Array, component: Ints, sharp: bool) -> tuple[Array, Array]:
    """Rows as they are evaluated, or the middles of their enclosures, which lose less where terms cancel."""
    a, b = family.chosen(y, component)
    if not sharp:
        return a, b
    middles = (0.5 * v.lo + 0.5 * v.hi for v in family.enclosed(y, y, component))
    better_a, better_b = (np.where(np.isfinite(v), v, old) for v, old in zip(middles, (a, b), strict=True))
    return better_a, better_b


def scattered(entries: Entries, shape: tuple[int, int]) -> Matrix:
    """Entries with their rows and columns as a matrix: dense for small models, sparse for large ones.

    Those at one place are added up.
    """
    if held_dense(shape, sum(np.broadcast(*entry).size for entry in entries)):
        out = np.zeros(shape)
        for data, i, j in entries:
            np.add.at(out, (i, j), data)
        return out
    flat = [[part.ravel() for part in np.broadcast_arrays(*entry)] for entry in entries]
    data, i, j = (np.concatenate(part) for part in zip(*flat, strict=True)) if flat else np.zeros((3, 0))
    used = data != 0
    return sparse.csr_matrix((data[used], (i[used], j[used])), shape=shape)
