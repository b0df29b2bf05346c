"""Verified linear algebra: enclosures of residuals, and of the solutions of square systems that are known in intervals.

Products are computed in double precision, rounded to nearest, and widened by their a-priori error bounds (Higham,
Accuracy and Stability, section 3.1), so that they contain what exact arithmetic gives.
"""

from __future__ import annotations

from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import blas

from ..deadline import EFFORT, PACE, afford, afford_factors
from ..domains.proven import LOST_ERROR, SMALL_PRODUCT, SPLIT, two_product
from ..expressions.interval import EPS, NORMAL, TINY, Interval, down, up
from ..masters.base import Matrix, is_sparse

Array = NDArray[np.float64]

ROUNDING = 64 * EPS  # the share of the terms of a long sum that rounding may take from it
# More than products that underflow add up to; proofs rest on that. Boxes are widened by it, and no gap or slope is
# taken for less: where everything is zero, bounds are as far apart as the least doubles.
UNDERFLOW = 1e-290


def entries_a_row(matrix: Matrix) -> Any:
    """How many products a row of the matrix takes part in."""
    return np.diff(matrix.tocsr().indptr) if is_sparse(matrix) else matrix.shape[1]


def most_in_rows(sizes: Matrix) -> Array:
    """The largest entry of each row of a matrix, dense or sparse."""
    largest = sizes.max(axis=1)
    found: Array = largest.toarray().ravel() if is_sparse(largest) else largest
    return found


def product(matrix: Matrix, x: Array, radius: Array | None = None) -> Interval:
    """`matrix` x for every x within `radius` of the given one."""
    value, terms, sizes = matrix @ x, entries_a_row(matrix) + 4.0, abs(matrix)
    doubt = terms * EPS * (sizes @ np.abs(x)) + terms * TINY
    if radius is not None and radius.any():
        doubt = doubt + (sizes @ radius) * (1 + terms * EPS)
    return Interval(down(value - doubt, 2.0), up(value + doubt, 2.0))


def triangular(factor: Array, right: Array, transposed: bool = False) -> Array:
    """The solution of systems with an upper triangular factor, or its transpose, a column of `right` each.

    LAPACK's own call for that shares the smallest of them among threads, which takes a thousand times as long.
    """
    one = right.ndim == 1
    found: Array = blas.dtrsm(1.0, factor, right[:, None] if one else right, trans_a=transposed)
    return found[:, 0] if one else found


def exact_sums(c: Array, matrix: Matrix, x: Array) -> Interval:
    """c + `matrix` x to the last bit: products without error (Dekker), summed without error (Shewchuk).

    For a few sums in which everything is to cancel, this keeps rounding from hiding what is left.
    """
    if is_sparse(matrix):
        rows = sparse.csr_matrix(matrix)
        ends, a, v = rows.indptr.tolist(), rows.data, x[rows.indices]
    else:
        ends = list(range(0, matrix.size + 1, max(matrix.shape[1], 1)))
        a, v = matrix.ravel(), np.broadcast_to(x, matrix.shape).ravel()
    with np.errstate(over="ignore", invalid="ignore"):
        high = a * v
        p, q = SPLIT * a, SPLIT * v
        p, q = p - (p - a), q - (q - v)
        low = ((p * q - high) + p * (v - q) + (a - p) * q) + (a - p) * (v - q)
    if not (np.isfinite(high).all() and np.isfinite(low).all()):
        unknown = np.full(len(c), np.nan)
        return Interval(unknown, unknown)
    upper, lower = high.tolist(), low.tolist()
    pieces = zip(c.tolist(), ends[:-1], ends[1:], strict=True)
    try:
        value = np.array([fsum([first, *upper[i:j], *lower[i:j]]) for first, i, j in pieces])
    except OverflowError:  # of a part of a sum
        value = np.full(len(c), np.nan)
    doubt = 64 * len(x) * TINY  # of products so small that their errors have no bits
    return Interval(down(value - doubt), up(value + doubt))


def doubled_product(matrix: Matrix, x: Array) -> Interval:
    """`matrix` x as in twice the precision: products without error, and all errors added up (Ogita, Rump, Oishi 2005).

    With k products a row, it is off by half a unit in its last place and (k EPS)^2 times the sizes of the terms.
    """
    if is_sparse(matrix):
        return exact_sums(np.zeros(matrix.shape[0]), matrix, x)
    k = matrix.shape[1]
    total, lost, sizes = np.zeros((3, matrix.shape[0]))
    with np.errstate(over="ignore", invalid="ignore"):
        for column, factor in zip(np.ascontiguousarray(matrix.T), x, strict=True):
            high, low = two_product(column, np.broadcast_to(factor, column.shape))
            added = total + high
            part = added - total
            lost += (total - (added - part)) + (high - part) + low
            total = added
            sizes += np.abs(high)
        value = total + lost
        doubt = EPS * np.abs(value) + (k + 4.0) ** 2 * EPS**2 * sizes * (1 + (k + 4) * EPS) + 2 * (k + 1) * LOST_ERROR
    return Interval(down(value - doubt, 2.0), up(value + doubt, 2.0))


def exact_differences(a: Array, v: Array, *sides: float) -> list[float] | None:
    """The sum of a v minus each of the sides, rounded once, so that signs are exact; sides may be infinite.

    None where a product overflows, or is so small that it loses digits.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        high, low = two_product(a, v)
    if not (np.isfinite(low) & ((np.abs(high) >= SMALL_PRODUCT) | (a == 0) | (v == 0))).all():
        return None
    terms = [*high.tolist(), *low.tolist()]
    try:
        return [fsum([*terms, -side]) for side in sides]
    except OverflowError:  # of a part of the sum
        return None


def vanishing(c: Array, matrix: Matrix, x: Array) -> NDArray[np.bool_]:
    """Which of the sums c + `matrix` x are zero, in exact arithmetic; too many are not looked at."""
    rows = sparse.csr_matrix(matrix)
    if rows.nnz > EFFORT.exact:
        return np.zeros(len(c), dtype=bool)
    high, low = two_product(rows.data, x[rows.indices])
    lost = (np.abs(high) < SMALL_PRODUCT) & (rows.data != 0) & (x[rows.indices] != 0)
    ends, upper, lower = rows.indptr.tolist(), np.where(lost, np.inf, high).tolist(), low.tolist()
    sums = zip(c.tolist(), ends[:-1], ends[1:], strict=True)
    return np.array([_is_zero([v, *upper[i:j], *lower[i:j]]) for v, i, j in sums], dtype=bool)


def _is_zero(terms: list[float]) -> bool:
    """Whether a sum is zero; one that overflows on the way is not known to be."""
    try:
        return fsum(terms) == 0
    except (OverflowError, ValueError):  # of a part of the sum; of infinities that cancel
        return False


def solve(mid: Matrix, rad: Matrix | None, rhs: Interval) -> Interval | None:
    """Enclose M^-1 v for every matrix M within `rad` of `mid` (k, k) and every v in `rhs`; None if that fails.

    Krawczyk's test: with R near M^-1 and an approximate solution z, the error e of z satisfies |e| <= |R (v - M z)| +
    |I - R M| |e|. A box that this maps into its own interior contains the error for every M, and shows that none of
    them is singular.
    """
    k = mid.shape[0]
    if k == 0:
        return Interval(np.zeros(0), np.zeros(0))
    rows = _powers(abs(mid).max(axis=1))
    if rows is None:
        return None
    left = sparse.diags_array(rows) if is_sparse(mid) else rows[:, None]
    scaled: Any
    doubt: Any
    scaled, doubt = (None if m is None else left @ m if is_sparse(m) else left * m for m in (mid, rad))
    columns = _powers(abs(scaled).max(axis=0))
    if columns is None:
        return None
    if is_sparse(mid):
        right = sparse.diags_array(columns)
        scaled, doubt = (None if m is None else sparse.csc_matrix(m @ right) for m in (scaled, doubt))
        doubt = _underflown(mid, rad, scaled, doubt)
    else:
        scaled, doubt = (None if m is None else m * columns for m in (scaled, doubt))
        doubt = (np.zeros_like(mid) if doubt is None else doubt) + 2 * TINY
    inverse = _inverse(scaled)
    if inverse is None:
        return None
    lo, hi = rhs.lo * rows, rhs.hi * rows
    middle = 0.5 * lo + 0.5 * hi
    z = inverse @ middle
    for _ in range(2):
        z = z + inverse @ (middle - scaled @ z)
    if not np.isfinite(z).all():
        return None
    near = product(scaled, z)
    residual = np.maximum(np.abs(up(hi - near.lo)), np.abs(down(lo - near.hi)))
    if doubt is not None:
        residual = up(residual + (doubt @ np.abs(z)) * (1 + (k + 4) * EPS))
    size = abs(inverse)
    defect = _defect(inverse, size, scaled, doubt)
    start = up((size @ residual) * (1 + (k + 4) * EPS)) + 2 * k * TINY
    error = start * 1.1 + UNDERFLOW
    for _ in range(12):  # where the inclusion test holds at all, it does after a few
        with np.errstate(over="ignore", invalid="ignore"):  # where nothing contracts
            mapped = up((start + defect @ error) * (1 + (k + 8) * EPS))
        if not np.isfinite(mapped).all():
            return None
        if (mapped < error).all():
            lower, upper = down(down(z - mapped) * columns), up(up(z + mapped) * columns)  # scaling back may underflow
            return Interval(lower, upper) if np.isfinite([lower, upper]).all() else None
        error = mapped * 1.2 + UNDERFLOW
    return None


def _powers(sizes: Matrix) -> Array | None:
    """Powers of two that bring the sizes near 1; None if a row or column is zero, or not finite."""
    sizes = sizes.toarray().ravel() if is_sparse(sizes) else np.asarray(sizes).ravel()
    if not (np.isfinite(sizes).all() and (sizes > 0).all()):
        return None
    powers: Array = 2.0 ** -np.round(np.log2(sizes))
    return powers


def _underflown(
    mid: sparse.csr_matrix, rad: sparse.csr_matrix | None, scaled: sparse.csc_matrix, doubt: sparse.csc_matrix | None
) -> sparse.csc_matrix | None:
    """The doubt about a scaled matrix, with what scaling may have taken from entries next to nothing."""
    given, made = ((m for m in pair if m is not None) for pair in ((mid, rad), (scaled, doubt)))
    if all(b.nnz == a.nnz and abs(b.data).min(initial=1.0) >= NORMAL for a, b in zip(given, made, strict=True)):
        return doubt
    pattern = abs(mid) if rad is None else abs(mid) + rad
    lost = 2 * TINY * sparse.csc_matrix(pattern != 0)
    return lost if doubt is None else sparse.csc_matrix(doubt + lost)


def _inverse(matrix: Matrix) -> Any:
    """An approximate inverse; sparse where the matrix falls into blocks. Raises `OutOfTime` if it would be late."""
    try:
        if is_sparse(matrix):
            found = _block_inverse(sparse.csc_matrix(matrix))
        else:
            afford(6.0 * matrix.shape[0] ** 3 / PACE.dense, "verified linear algebra")  # and its products with it
            found = np.linalg.inv(matrix)
    except (RuntimeError, np.linalg.LinAlgError):
        return None
    return found if np.isfinite(found.data if is_sparse(found) else found).all() else None


def _block_inverse(matrix: sparse.csc_matrix) -> Any:
    """The inverses of all blocks that share neither rows nor columns, those of one size together; dense of one."""
    from scipy.sparse.csgraph import connected_components
    from scipy.sparse.linalg import splu

    k, table = matrix.shape[0], matrix.tocoo()
    graph = sparse.csr_matrix((np.ones(table.nnz), (table.row, k + table.col)), (2 * k, 2 * k))
    count, label = connected_components(graph, directed=False)
    if count == 1:
        afford_factors(matrix)
        factors = splu(matrix)
        afford(2.0 * k * factors.nnz / PACE.sparse, "verified linear algebra")
        return factors.solve(np.eye(k))
    rows, columns = (np.argsort(part, kind="stable") for part in (label[:k], label[k:]))
    sizes = np.bincount(label[:k], minlength=count)
    if (sizes != np.bincount(label[k:], minlength=count)).any():
        raise np.linalg.LinAlgError
    first = np.cumsum(sizes) - sizes
    place = np.empty((2, k), dtype=np.intp)  # within their blocks
    place[0, rows] = place[1, columns] = np.arange(k) - np.repeat(first, sizes)
    parts = []
    for size in np.unique(sizes):
        mine = np.flatnonzero(sizes == size)
        afford(6.0 * len(mine) * size**3 / PACE.dense, "verified linear algebra")
        number = np.full(count, -1)
        number[mine] = np.arange(len(mine))
        entries = number[label[table.row]] >= 0
        i, j = table.row[entries], table.col[entries]
        blocks = np.zeros((len(mine), size, size))
        blocks[number[label[i]], place[0, i], place[1, j]] = table.data[entries]
        at = first[mine][:, None] + np.arange(size)
        shape = (len(mine), size, size)
        ends = np.broadcast_to(columns[at][:, :, None], shape), np.broadcast_to(rows[at][:, None], shape)
        parts.append((np.linalg.inv(blocks).ravel(), *(end.ravel() for end in ends)))
    data, i, j = (np.concatenate(part) for part in zip(*parts, strict=True))
    return sparse.csr_matrix((data, (i, j)), (k, k))


def _defect(inverse: Matrix, size: Matrix, mid: Matrix, rad: Matrix | None) -> Matrix:
    """At least |I - R M| for every M; sparse where R is, since what no product reaches is exactly zero."""
    k = mid.shape[0]
    rounded, terms, lost = (k + 4) * EPS, 1 + (k + 4) * EPS, 2 * k * TINY
    if is_sparse(inverse):
        around, apart = size @ abs(mid), abs(sparse.eye_array(k) - inverse @ mid)
        reached = (size != 0).astype(float) @ (abs(mid) if rad is None else abs(mid) + rad).astype(bool).astype(float)
        found = apart + (rounded * around if rad is None else rounded * around + size @ rad) * terms
        found = sparse.csr_matrix(found)
        found.data = up(found.data, 4.0)
        return sparse.csr_matrix(found + lost * (reached + sparse.eye_array(k)))
    if is_sparse(mid):
        turned = sparse.csr_matrix(mid.T)
        inner, around = (turned @ inverse.T).T, (abs(turned) @ size.T).T
        room = 0.0 if rad is None else (sparse.csr_matrix(rad.T) @ size.T).T
    else:
        inner, around = inverse @ mid, size @ np.abs(mid)
        room = 0.0 if rad is None else size @ rad
    dense: Array = up(np.abs(np.eye(k) - inner) + (rounded * around + room) * terms, 4.0)
    return dense + lost
