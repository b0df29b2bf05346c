"""The cones of CVXPY's canonical form and, with outward rounding, membership in their duals.

Weak duality needs multipliers that lie in the dual cone exactly; solvers give some that nearly do. `dual_point` moves
them in by as little as rounding allows, and `proves_dual` checks it: the zero cone's dual is everything, the
nonnegative, second-order and semidefinite cones are their own duals, and those of the exponential and power cones are
checked through their formulas. A matrix is proven semidefinite by a Cholesky factorisation of what is left after the
most that rounding can do to one is taken off its diagonal (Rump's criterion).
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...expressions.interval import EPS, FUNCTION_ULPS, TINY

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Cones:
    """How many rows of each kind; `theirs` is the same in CVXPY's words."""

    zero: int
    nonneg: int
    soc: tuple[int, ...]
    psd: tuple[int, ...]
    exp: int
    power: tuple[tuple[float, ...], ...]  # the exponents of each
    theirs: Any

    @staticmethod
    def of(dims: Any, nonneg: int) -> Cones:
        power = (*((a, 1 - a) for a in dims.p3d), *map(tuple, dims.pnd))
        return Cones(int(dims.zero), nonneg, tuple(dims.soc), tuple(dims.psd), int(dims.exp), power, dims)

    def with_rows(self, count: int) -> Any:
        """CVXPY's description, with so many nonnegative rows more."""
        dims = copy(self.theirs)
        dims.nonneg = self.nonneg + count
        return dims

    @property
    def linear(self) -> bool:
        """Whether this is a linear program."""
        return not (self.soc or self.psd or self.exp or self.power)

    def blocks(self) -> Iterator[tuple[str, slice, Any]]:
        """Kind, rows and parameter of every block."""
        start = 0
        for kind, sizes in (
            ("zero", [(self.zero, None)]),
            ("nonneg", [(self.nonneg, None)]),
            ("soc", [(n, None) for n in self.soc]),
            ("psd", [(k * (k + 1) // 2, k) for k in self.psd]),
            ("exp", [(3, None)] * self.exp),
            ("power", [(len(a) + 1, np.array(a)) for a in self.power]),
        ):
            for size, parameter in sizes:
                yield kind, slice(start, start + size), parameter
                start += size

    def dual_point(self, y: Array) -> Array:
        """A point of the dual cone near y."""
        y = y.copy()
        for kind, rows, parameter in self.blocks():
            if kind != "zero":
                y[rows] = _MOVES[kind](y[rows], parameter)
        return y

    def proves_dual(self, y: Array) -> bool:
        """Whether y is proven to lie in the dual cone."""
        return all(kind == "zero" or bool(_PROOFS[kind](y[rows], parameter)) for kind, rows, parameter in self.blocks())

    def residual(self, s: Array) -> float:
        """By how much s leaves the cone itself, measured, in the size of the numbers of each block."""
        worst = [0.0]
        for kind, rows, parameter in self.blocks():
            if rows.stop > rows.start:
                worst.append(_OUTSIDE[kind](s[rows], parameter))
        return max(worst)


# ---- second-order ----------------------------------------------------------------------------------------------------


def _norm_above(u: Array) -> float:
    """At least the Euclidean norm."""
    squares = float((u * u).sum())
    return float(np.sqrt(squares * (1 + (len(u) + 2) * EPS) + len(u) * TINY) * (1 + 2 * EPS))


def _lift(y: Array, _: Any) -> Array:
    y = y.copy()
    y[0] = max(y[0], _norm_above(y[1:]))
    return y


# ---- semidefinite ----------------------------------------------------------------------------------------------------


def matrix(y: Array, k: int) -> Array:
    """The symmetric matrix of an upper triangle, column by column, whose off-diagonal entries are times √2."""
    full = np.zeros((k, k))
    column, row = np.tril_indices(k)
    full[row, column] = np.where(row == column, y, y / np.sqrt(2.0))
    return np.triu(full) + np.triu(full, 1).T


def _proven_semidefinite(y: Array, k: int) -> bool:
    m = matrix(y, k)
    if not np.isfinite(m).all() or (np.diag(m) < 0).any():
        return False
    # What Cholesky and the division by √2 can hide, and the subtraction below may round.
    room = (k + 2) * EPS / (1 - (k + 2) * EPS) * float(np.trace(m)) + 4 * EPS * float(np.abs(m).sum()) + k * k * TINY
    if room == 0:
        return True
    m = m - 1.01 * room * np.eye(k)
    try:
        np.linalg.cholesky(m)
    except np.linalg.LinAlgError:
        return bool((np.asarray(y) == 0).all())
    return True


def _shift(y: Array, k: int) -> Array:
    if _proven_semidefinite(y, k):
        return y
    values = np.linalg.eigvalsh(matrix(y, k))
    step = 4 * (k + 4) * EPS * (float(np.abs(values).sum()) + TINY) * k
    shift = max(-float(values[0]), 0.0) + step
    diagonal = np.cumsum(np.arange(1, k + 1)) - 1
    for _ in range(60):
        moved = y.copy()
        moved[diagonal] += shift
        if _proven_semidefinite(moved, k):
            return moved
        shift *= 2
    return np.zeros_like(y)


# ---- exponential: the cone is y exp(x / y) <= z, its dual u < 0, -u exp(v / u - 1) <= w, and its limit u = 0 ---------


def _exponential_need(u: float, v: float) -> float:
    """At least -u exp(v / u - 1), for u < 0."""
    ratio = v / u
    exponent = ratio - 1.0 + 4 * EPS * (abs(ratio) + 1.0)
    with np.errstate(over="ignore"):
        return float(-u * np.exp(exponent) * (1 + (FUNCTION_ULPS + 4) * EPS) + 4 * TINY)


def _into_exponential(y: Array, _: Any) -> Array:
    u, v, w = (float(e) for e in y)
    if u >= 0 or w <= 0:
        return np.array([0.0, max(v, 0.0), max(w, 0.0)])
    # Moving v, rather than w, is harmless where u is tiny.
    edge = u * (1.0 + np.log(w / -u))
    v = max(v, edge + 16 * EPS * (abs(edge) - u))
    return np.array([u, v, max(w, _exponential_need(u, v))])


def _proven_exponential(y: Array, _: Any) -> bool:
    u, v, w = (float(e) for e in y)
    if u == 0:
        return v >= 0 and w >= 0
    return u < 0 and _exponential_need(u, v) <= w


# ---- power: the cone is prod x_i^a_i >= |z|, its dual prod (u_i / a_i)^a_i >= |w| ------------------------------------


def _power_room(u: Array, a: Array) -> float:
    """At most prod (u_i / a_i)^a_i, for u >= 0."""
    if (u <= 0).any():
        return 0.0
    terms = a * np.log(u / a)
    doubt = (32.0 + 8 * len(u)) * (1.0 + float(np.abs(terms).sum())) * EPS
    return float(np.exp(terms.sum()) * (1 - doubt))


def _into_power(y: Array, a: Array) -> Array:
    u, w = np.maximum(y[:-1], 0.0), float(y[-1])
    room = _power_room(u, a)
    if 0 < room < abs(w) < 2 * room:
        u = u * (abs(w) / room * (1 + 256 * len(u) * EPS))
        room = _power_room(u, a)
    return np.append(u, np.clip(w, -room, room))


def _proven_power(y: Array, a: Array) -> bool:
    return bool((y[:-1] >= 0).all() and _power_room(y[:-1], a) >= abs(y[-1]))


def _outside_power(s: Array, a: Array) -> float:
    x = np.maximum(s[:-1], 0.0)
    return max(abs(float(s[-1])) - float(np.prod(x**a)), -float(s[:-1].min()), 0.0)


_MOVES: dict[str, Any] = {
    "nonneg": lambda y, _: np.maximum(y, 0.0),
    "soc": _lift,
    "psd": _shift,
    "exp": _into_exponential,
    "power": _into_power,
}
_PROOFS: dict[str, Any] = {
    "nonneg": lambda y, _: (y >= 0).all(),
    "soc": lambda y, _: y[0] >= _norm_above(y[1:]),
    "psd": _proven_semidefinite,
    "exp": _proven_exponential,
    "power": _proven_power,
}


def _outside_exponential(s: Array, _: Any) -> float:
    x, y, z = (float(e) for e in s)
    if y <= 0:
        return max(-y, x, -z, 0.0)
    return max(float(y * np.exp(min(x / y, 700.0))) - z, 0.0)


_OUTSIDE: dict[str, Any] = {
    "zero": lambda s, _: float(np.abs(s).max()),
    "nonneg": lambda s, _: float(max(-s.min(), 0.0)),
    "soc": lambda s, _: max(float(np.linalg.norm(s[1:]) - s[0]), 0.0),
    "psd": lambda s, k: max(-float(np.linalg.eigvalsh(matrix(s, k))[0]), 0.0),
    "exp": _outside_exponential,
    "power": _outside_power,
}
