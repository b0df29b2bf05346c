"""x' P x for a matrix of numbers P, as a sum of squares, where P is proven to have no negative eigenvalue.

The elimination is that of Bareiss, in whole numbers: after it, x' P x is the sum of (m x)^2 / (p q) over its rows m,
with their pivots p and those before, q. So P is semidefinite just where no pivot is negative and nothing but zeros is
left, and the rows m / sqrt(p q) are enclosed to the last digit, however badly conditioned P is.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt, lcm
from typing import NoReturn

import numpy as np

from ..errors import ModelError, NotConvexError
from ..validation import Array
from .enclosed import known
from .graph import Expression
from .operands import Ints

MOST_ENTRIES = 100  # of a row that is eliminated: beyond, whole numbers have too many digits
MOST_ASYMMETRY = 1e-10  # relative; rounding leaves less
Whole = dict[int, int]  # a row of whole numbers, without zeros


def factor(matrix: Array, written: str) -> tuple[float, Expression | None]:
    """A sign s and R (r, n) with s R' R = P, whose numbers are enclosed; None for zero.

    An error where neither P nor -P is semidefinite.
    """
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ModelError(f"{written} takes a square matrix of numbers; got shape {matrix.shape}.")
    scale = float(np.abs(matrix).max(initial=0.0))
    off = np.abs(matrix - matrix.T)
    if off.max(initial=0.0) > MOST_ASYMMETRY * scale:
        i, j = divmod(int(off.argmax()), len(off))
        raise NotConvexError(
            f"The matrix P of {written} is not symmetric: P[{i}, {j}] = {matrix[i, j]:.6g}, P[{j}, {i}] = "
            f"{matrix[j, i]:.6g}.\nWrite (P + P.T) / 2 in its place, which means the same."
        )
    sign = -1.0 if np.trace(matrix) < 0 else 1.0
    unit, rows = _whole(sign * matrix)
    found = _eliminated(rows)
    if found is None:
        _refuse(matrix, scale, written)
    if not found:
        return sign, None
    ends = np.zeros((2, len(found), len(matrix)))
    for k, (row, square) in enumerate(found):
        for j, v in row.items():
            low, high = root(Fraction(v * v, square * unit))
            ends[:, k, j] = (low, high) if v > 0 else (-high, -low)
    return sign, known(ends[0], ends[1])


def _whole(matrix: Array) -> tuple[int, dict[int, Whole]]:
    """Twice the symmetric part as whole numbers, and how many of them make one."""
    every = {
        (int(i), int(j)): Fraction(float(matrix[i, j])) + Fraction(float(matrix[j, i]))
        for i, j in np.argwhere((matrix != 0) | (matrix.T != 0))
    }
    unit = lcm(1, *(v.denominator for v in every.values()))
    rows: dict[int, Whole] = {}
    for (i, j), v in every.items():
        if v:
            rows.setdefault(i, {})[j] = int(v * unit)
    return 2 * unit, rows


def _eliminated(rows: dict[int, Whole]) -> list[tuple[Whole, int]] | None:
    """Rows and the products of their two pivots; None where the matrix is not semidefinite."""
    found: list[tuple[Whole, int]] = []
    for block in _blocks(rows):
        left, before = {i: dict(rows[i]) for i in block}, 1
        while left:
            i = max(left, key=lambda i: left[i].get(i, 0))
            top = left.pop(i)
            pivot = top.get(i, 0)
            if pivot <= 0:
                return None
            if len(top) > MOST_ENTRIES:
                raise ModelError(
                    f"A matrix of more than {MOST_ENTRIES} rows is not proven to be positive semidefinite. Write "
                    "lsip.sum_squares(F @ x) with a matrix F whose F.T @ F it is."
                )
            for k in list(left):
                row, factor = left[k], left[k].get(i, 0)
                new = {j: pivot * row.get(j, 0) - factor * top.get(j, 0) for j in {*row, *(top if factor else ())}}
                new = {j: v // before for j, v in new.items() if v}
                left[k] = new
                if not new:
                    del left[k]
            found.append((top, pivot * before))
            before = pivot
    return found


def _blocks(rows: dict[int, Whole]) -> list[Ints | list[int]]:
    """The rows that entries tie together, block by block."""
    seen, found = set[int](), list[Ints | list[int]]()
    for first in rows:
        if first in seen:
            continue
        block, stack = list[int](), [first]
        seen.add(first)
        while stack:
            i = stack.pop()
            block.append(i)
            new = [j for j in rows[i] if j not in seen]
            seen.update(new)
            stack += new
        found.append(block)
    return found


def root(ratio: Fraction) -> tuple[float, float]:
    """Doubles around the square root of a fraction that is not negative; twice the same, where it is a double."""
    bits = max(0, 130 - ratio.numerator.bit_length() + ratio.denominator.bit_length()) // 2
    scaled = ratio * 4**bits
    low = isqrt(scaled.numerator // scaled.denominator)
    ends = [Fraction(low, 2**bits), Fraction(low if low * low == scaled else low + 1, 2**bits)]
    below, above = (float(e) for e in ends)
    below = below if Fraction(below) <= ends[0] else float(np.nextafter(below, 0.0))
    above = above if Fraction(above) >= ends[1] else float(np.nextafter(above, np.inf))
    return below, above


def _refuse(matrix: Array, scale: float, written: str) -> NoReturn:
    """Say which eigenvalue is negative, and what helps."""
    least = float(np.linalg.eigvalsh(0.5 * matrix / scale + 0.5 * matrix.T / scale)[0]) * scale
    if least > -MOST_ASYMMETRY * scale:
        raise NotConvexError(
            f"{written} is not convex, by rounding: an eigenvalue of P is negative, and zero up to 1e-10.\nWrite "
            f"lsip.sum_squares(F @ x) where P is F.T @ F, or add {1e-12 * scale:.1g} to the diagonal of P."
        )
    raise NotConvexError(
        f"{written} is not convex: the smallest eigenvalue of P is {least:.6g}.\nIts convex part is "
        "lsip.sum_squares(F @ x) with w, V = np.linalg.eigh(P); F = np.sqrt(np.maximum(w, 0))[:, None] * V.T."
    )
