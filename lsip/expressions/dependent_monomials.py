"""Monomials that others span over an index set: with coefficients of both, a rule could be written in many ways.

No proof could bound such coefficients, so those of the monomials that are spanned are zero. That must not change what a
rule can be: all that is left out is an exact combination of what stays, in rational numbers.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..deadline import EFFORT
from ..domains import Domain, Finite, Product, Simplex
from .graph import Index
from .operands import Ints

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Entry = tuple[Index, int]  # an index, and one of its coordinates

PRIME = 2**31 - 1  # a matrix that is regular modulo a prime is regular


def dependent_monomials(entries: tuple[Entry, ...], exponents: Ints) -> Mask:
    """Which monomials (K,) of entries others span, so that their coefficients are to be zero."""
    found = _of_simplices(entries, exponents)
    degree = int(exponents.sum(axis=1).max(initial=0))
    for factor, places in _factors(entries):
        if isinstance(factor, Finite):
            mine = np.array([place for place, _ in places], dtype=np.intp)
            # Factors are looked at one by one, so products with entries of other ones are left alone.
            own = np.flatnonzero(exponents.sum(axis=1) == exponents[:, mine].sum(axis=1))
            if degree == 1 or len(own) == len(exponents):
                points = np.unique(factor.points[:, [k for _, k in places]], axis=0)
                found[own] |= _dependent(points, exponents[np.ix_(own, mine)])
    return found


def _factors(entries: tuple[Entry, ...]) -> list[tuple[Domain, list[tuple[int, int]]]]:
    """The factors of index sets, each with the places of its coordinates among the entries, and which they are."""
    place = {entry: j for j, entry in enumerate(entries)}
    found: list[tuple[Domain, list[tuple[int, int]]]] = []
    for z in dict.fromkeys(z for z, _ in entries):
        factors, start = z.domain.factors if isinstance(z.domain, Product) else (z.domain,), 0
        for factor in factors:
            seen = [(place[z, start + k], k) for k in range(factor.dim) if (z, start + k) in place]
            found += [(factor, seen)] if seen else []
            start += factor.dim
    return found


def _of_simplices(entries: tuple[Entry, ...], exponents: Ints) -> Mask:
    """Coordinates of a simplex add up to 1, so that 1 is their sum.

    The last coordinate of a second simplex is what the others, and the first one, leave of it.
    """
    degree, found = exponents.sum(axis=1), np.zeros(len(exponents), dtype=bool)
    whole = [places for f, places in _factors(entries) if isinstance(f, Simplex) and len(places) == f.dim]
    for k, places in enumerate(whole):
        found |= (degree < degree.max()) if k == 0 else exponents[:, places[-1][0]] > 0
    return found


def _dependent(points: Array, exponents: Ints) -> Mask:
    """Which monomials (K,) others span at points (N, s); those that stay are as independent as can be."""
    from scipy.linalg import qr

    none, (count, k) = np.zeros(len(exponents), dtype=bool), (len(points), len(exponents))
    rows = points[:: max(count // (2 * k), 1)]  # these are enough to tell that none is spanned
    if len(rows) * k * min(len(rows), k) > 10 * EFFORT.entries:
        return none
    if len(rows) >= k and _regular(rows, exponents):
        return none
    with np.errstate(over="ignore"):
        table = np.prod(points[:, None, :] ** exponents, axis=-1)
    size = np.abs(table).max(axis=0)
    if not np.isfinite(size).all():
        return none
    weight = np.where(exponents.any(axis=1), 1.0, 1e6)  # so that the constant part is kept
    order = qr(table * (weight / np.where(size > 0, size, 1.0)), mode="r", pivoting=True)[1]
    kept = (
        order[:count] if count < k and _regular(points, exponents[order[:count]]) else _chosen(points, exponents, order)
    )
    if kept is None:
        return none
    none[np.setdiff1d(order, kept)] = True
    return none


def _regular(points: Array, exponents: Ints) -> bool:
    """Whether monomials at points are proven to have the rank of a square: by elimination modulo a prime."""
    p = PRIME
    mantissa, power = np.frexp(points)
    whole = np.array([int(v) % p for v in np.ldexp(mantissa, 53).ravel().tolist()], dtype=np.int64).reshape(
        points.shape
    )
    scale = np.array([pow(2, int(e) - 53, p) for e in power.ravel().tolist()], dtype=np.int64).reshape(points.shape)
    value, table = whole * scale % p, np.ones((len(points), len(exponents)), dtype=np.int64)
    for j, column in enumerate(exponents.T):
        powers = np.ones((len(points), int(column.max(initial=0)) + 1), dtype=np.int64)
        for d in range(1, powers.shape[1]):
            powers[:, d] = powers[:, d - 1] * value[:, j] % p
        table = table * powers[:, column] % p
    return _rank(table, p) == len(exponents)


def _rank(table: NDArray[np.int64], p: int) -> int:
    rank = 0
    for column in range(table.shape[1]):
        rows = np.flatnonzero(table[rank:, column])
        if len(rows):
            pivot = rank + int(rows[0])
            table[[rank, pivot]] = table[[pivot, rank]]
            table[rank] = table[rank] * pow(int(table[rank, column]), -1, p) % p
            below = table[rank + 1 :]
            below[:] = (below - below[:, column, None] * table[rank] % p) % p
            rank += 1
    return rank


def _chosen(points: Array, exponents: Ints, order: Ints) -> Ints | None:
    """Independent monomials that span all, in this order, by fractions; None where they would take too long."""
    count, k = len(points), len(exponents)
    if count * k * min(count, k) > EFFORT.exact // 10:
        return None
    exact = [[Fraction(v) for v in row] for row in points.tolist()]
    kept: list[int] = []
    basis: list[tuple[int, list[Fraction]]] = []  # the row of a pivot, and the column, which is 1 there
    for j in order.tolist():
        powers = exponents[j].tolist()
        column = [_product(row, powers) for row in exact]
        for pivot, other in basis:
            if column[pivot]:
                weight = column[pivot]
                column = [a - weight * b for a, b in zip(column, other, strict=True)]
        pivot = next((i for i, v in enumerate(column) if v), -1)
        if pivot >= 0:
            kept.append(j)
            basis.append((pivot, [v / column[pivot] for v in column]))
    return np.array(kept, dtype=np.intp)


def _product(row: list[Fraction], powers: list[int]) -> Fraction:
    found = Fraction(1)
    for value, power in zip(row, powers, strict=True):
        found *= value**power
    return found
