"""Regular blocks: which rows, the more appealing the better, can make up for rounding in which columns.

Rows at atoms of different families often share no column. Blocks that hang together are looked at one by one, so that
many small ones cost what each costs by itself; finite rows that reach across blocks count where one is short of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from ..deadline import EFFORT, PACE, afford
from ..masters.base import Matrix, is_sparse
from .certificate import Array, Ints, nowhere
from .direction import gaps
from .dual import TUNING as WEIGHING
from .linear_algebra import ROUNDING, most_in_rows, triangular
from .rows import DualRows, Mask


@dataclass(frozen=True)
class PivotTuning:
    """Which rows are relied on.

    Parameters
    ----------
    least_pivot
        The share of the largest pivot below which a row of a basis is not relied on.
    """

    least_pivot: float = 1e-4


TUNING = PivotTuning()


def square(rows: DualRows, columns: Ints, allowed: Mask, appeal: Array) -> tuple[Ints, Ints]:
    """Rows, the more appealing the better, and as many of the columns, that make a regular block.

    Nothing if columns are left over that the others could not imply, because their entries are not exact.
    """
    places = np.flatnonzero(allowed)
    if not len(columns) or not len(places) or len(columns) - len(places) > len(_certain(rows, columns)):
        return nowhere(), nowhere()
    part = rows.mid[places][:, columns]
    if is_sparse(part):
        if len(places) == len(columns) and _regular(part):
            return places, columns
        found = _by_blocks(part, appeal[places], places < rows.atoms)
    else:
        found = _pivots(part, appeal[places])
    if found is None:
        return nowhere(), nowhere()
    left = np.setdiff1d(columns, columns[found[1]])
    if len(_certain(rows, left)) < len(left):
        return nowhere(), nowhere()
    return places[found[0]], columns[found[1]]


def _by_blocks(part: sparse.csr_matrix, appeal: Array, atoms: Mask) -> tuple[Ints, Ints] | None:
    """Pivots of blocks that share no row at an atom; those short of rows are one with all that reach across."""
    of_row, of_column = _linked(part, atoms)
    blocks = np.arange(of_column.max() + 1)
    rows, columns = (np.argsort(each, kind="stable") for each in (of_row, of_column))
    first, last = (np.searchsorted(of_row[rows], blocks, side=side) for side in ("left", "right"))
    left, right = (np.searchsorted(of_column[columns], blocks, side=side) for side in ("left", "right"))
    ordered, chosen, solved = sparse.csr_matrix(part[rows][:, columns]), list[Ints](), list[Ints]()
    shared, short = [np.flatnonzero(of_row < 0)], list[Ints]()
    for k in blocks.tolist():
        own, mine = rows[first[k] : last[k]], columns[left[k] : right[k]]
        found = None
        if len(own) >= len(mine):
            starts = ordered.indptr[first[k] : last[k] + 1]
            inside = slice(starts[0], starts[-1])
            row, column = np.repeat(np.arange(len(own)), np.diff(starts)), ordered.indices[inside] - left[k]
            if len(own) * len(mine) <= EFFORT.entries:
                block = np.zeros((len(own), len(mine)))
                block[row, column] = ordered.data[inside]
                found = _pivots(block, appeal[own])
        if found is not None and len(found[1]) == len(mine):
            chosen.append(own[found[0]])
            solved.append(mine)
        else:
            shared.append(own)
            short.append(mine)
    if short:
        own, mine = np.sort(np.concatenate(shared)), np.sort(np.concatenate(short))
        found = _pivots(part[own][:, mine], appeal[own])
        if found is None:
            return None
        chosen.append(own[found[0]])
        solved.append(mine[found[1]])
    return np.concatenate(chosen), np.sort(np.concatenate(solved))


def _linked(part: sparse.csr_matrix, atoms: Mask) -> tuple[Ints, Ints]:
    """The block of every row and column, by the rows at atoms; -1 for a finite row that reaches across, or is empty."""
    table, (count, width) = part.tocoo(), part.shape
    inner = atoms[table.row]
    ends = table.row[inner], count + table.col[inner]
    graph = sparse.csr_matrix((np.ones(len(ends[0])), ends), (count + width, count + width))
    of_column = np.unique(connected_components(graph, directed=False)[1][count:], return_inverse=True)[1]
    first, last = np.full(count, width), np.full(count, -1)
    np.minimum.at(first, table.row, of_column[table.col])
    np.maximum.at(last, table.row, of_column[table.col])
    return np.where(first == last, last, -1), of_column


def _pivots(part: Matrix, appeal: Array) -> tuple[Ints, Ints] | None:
    """As many rows of a block, the more appealing the better, as it has rank, and columns; None if it is too large."""
    if not 0 < len(appeal) * part.shape[1] <= EFFORT.entries:
        return None
    short, long = sorted(part.shape)
    afford(10.0 * short**2 * long / PACE.dense, "lower bound")
    block = part.toarray() if is_sparse(part) else part
    block = whitened(block * np.sqrt(np.maximum(appeal, 1e-300))[:, None])
    if not np.isfinite(block).all():
        return None
    factor, order = linalg.qr(block.T, mode="r", pivoting=True, check_finite=False)
    pivots = np.abs(np.diag(factor))
    rank = int((pivots > TUNING.least_pivot * pivots.max(initial=0.0)).sum())
    chosen = order[:rank]
    if rank == part.shape[1]:
        return chosen, np.arange(rank)
    return chosen, np.sort(linalg.qr(block[chosen], mode="r", pivoting=True, check_finite=False)[1][:rank])


def _certain(rows: DualRows, columns: Ints) -> Ints:
    """Columns whose entries are known without rounding."""
    doubt = rows.rad[:, columns]
    doubtful = np.diff(sparse.csc_matrix(doubt).indptr) > 0 if is_sparse(doubt) else doubt.any(axis=0)
    return columns[~doubtful]


def _regular(block: sparse.csr_matrix) -> bool:
    """Whether a sparse square block is all that it needs to be a basis."""
    scale = [1.0 / np.where(most > 0, most, 1.0) for most in (most_in_rows(abs(block)), most_in_rows(abs(block.T)))]
    try:
        factors = splu(sparse.csc_matrix(sparse.diags_array(scale[0]) @ block @ sparse.diags_array(scale[1])))
    except RuntimeError:
        return False
    pivots = np.abs(factors.U.diagonal())
    return bool(pivots.min() > ROUNDING * pivots.max())


def whitened(block: Array) -> Array:
    """The block in coordinates of its columns in which it is orthonormal, where that can be done.

    Monomials of a high degree look alike, and no threshold on pivots would tell them apart.
    """
    scale = np.abs(block).max(axis=0)
    block = block / np.where(scale > 0, scale, 1.0)
    if len(block) < block.shape[1] or not np.isfinite(block).all():
        return block
    factor = linalg.qr(block, mode="r", check_finite=False)[0][: block.shape[1]]
    diagonal = np.abs(np.diag(factor))
    if diagonal.min(initial=np.inf) <= ROUNDING * diagonal.max(initial=0.0):
        return block
    return triangular(factor, block.T, transposed=True).T


def strong_rows(rows: DualRows, room: Array, columns: Ints) -> Iterator[tuple[Mask, Array]]:
    """Rows that weigh enough to be a basis, and how gladly each is taken: beside the heaviest, or in no units at all.

    What a row weighs in a column, beside the heaviest there, does not depend on the units of either.
    """
    always = rows.equal | (rows.conic & (room > 0))
    largest = float(room.max(initial=0.0))
    yield (room > WEIGHING.likely * largest) | always, np.where(rows.equal, largest, room)
    size = abs(rows.mid[:, columns])
    room = filled(size, room, rows.equal)
    share = _share(size, room)
    yield (share > WEIGHING.likely) | always, room * room / np.where(share > 0, share, 1.0)


def _share(size: Matrix, room: Array) -> Array:
    """How much each row weighs in the column in which it weighs most, beside the heaviest there."""
    if is_sparse(size):
        terms = sparse.diags_array(room) @ size
        most = terms.max(axis=0).toarray().ravel()
        share = (terms @ sparse.diags_array(1 / np.where(most > 0, most, 1.0))).max(axis=1)
        return np.asarray(share.toarray()).ravel()
    terms = size * room[:, None]
    most = terms.max(axis=0, initial=0.0)
    found: Array = (terms / np.where(most > 0, most, 1.0)).max(axis=1, initial=0.0)
    return found


def appeal_of(rows: DualRows, room: Array, centre: Array) -> Array:
    """How gladly a row is taken into the basis: for its weight, and otherwise for having little slack."""
    size, gap = rows.norms, gaps(rows, centre)
    share = room * size
    share = share / max(float(share.max(initial=0.0)), 1e-300)
    usual = float(np.median(gap[np.isfinite(gap)])) if np.isfinite(gap).any() else 1.0
    appeal: Array = np.maximum(share, 1e-3 / (1.0 + gap / max(usual, 1e-300))) / size
    return np.where(rows.equal, appeal.max(initial=0.0), appeal)


def filled(size: Matrix, room: Array, equal: Mask) -> Array:
    """The room of every row, where equalities, which have no end of it, get as much as weighs like that of others."""
    if not equal.any():
        return room
    if is_sparse(size):
        most = (sparse.diags_array(np.where(equal, 0.0, room)) @ size).max(axis=0).toarray().ravel()
        part = sparse.csr_matrix(size[equal]).tocoo()
        i, j, entry = part.row, part.col, part.data
    else:
        most = (size * np.where(equal, 0.0, room)[:, None]).max(axis=0, initial=0.0)
        i, j = np.nonzero(size[equal])
        entry = size[equal][i, j]
    fair = np.full(int(equal.sum()), np.inf)
    known = (entry > 0) & (most[j] > 0)
    np.minimum.at(fair, i[known], most[j[known]] / entry[known])
    filled = room.copy()
    filled[equal] = np.where(np.isfinite(fair), fair, float(room.max(initial=0.0)) or 1.0)
    return filled
