"""Upper bounds of many quadratics over the cube [-1, 1]^m at once, with the points where they are (nearly) attained.

For  q(d) = v + g . d + d' H d / 2:  a coordinate in which q is monotone is fixed at its end; what is left is made
concave by taking out lambda I, with lambda the largest eigenvalue if positive (which costs lambda / 2 a coordinate at
most), and a concave quadratic lies below its tangent plane at any point, in particular at an approximate maximiser.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..expressions.interval import EPS
from ..expressions.jets import triangle
from ..kernel import native
from ..kernel.native import in_use

Array = NDArray[np.float64]


def bound_rows(table: Array, m: int) -> tuple[Array, Array]:
    """Bounds (M,) and points (M, m) for quadratics (M, levels): value, gradient, upper triangle."""
    if in_use() and m <= native.MOST_DIMENSIONS:
        return native.bound(table, m)
    return bound_quadratics(table[:, 0], table[:, 1 : 1 + m], table[:, 1 + m :])


def bound_quadratics(v: Array, g: Array, q: Array) -> tuple[Array, Array]:
    """Bounds (M,) and points (M, m) for values v (M,), gradients g (M, m) and upper triangles q (M, m (m+1) / 2)."""
    if g.shape[1] == 1:
        return _bound_parabolas(v, g[:, 0], q[:, 0])
    m = g.shape[1]
    i, j = triangle(m)
    size = np.abs(v) + np.abs(g).sum(1) + 2 * np.abs(q).sum(1)
    h = np.empty((len(v), m, m))
    h[:, i, j] = h[:, j, i] = q
    g = g.copy()
    d = np.zeros_like(g)
    free = np.ones(g.shape, dtype=bool)
    for _ in range(2):
        settled = free & (np.abs(g) >= (np.abs(h) * free[:, None, :]).sum(2))
        if not settled.any():
            break
        s = np.where(settled, np.copysign(1.0, g), 0.0)
        hs = np.einsum("nij,nj->ni", h, s)
        v = v + (s * g).sum(1) + 0.5 * (s * hs).sum(1)
        g = np.where(settled, 0.0, g + hs)
        d += s
        free &= ~settled
        h = h * (free[:, :, None] & free[:, None, :])
        g *= free
    rest = free.any(1)
    bound = v.copy()
    if rest.any():
        bound[rest], d[rest] = _bound_concave(v[rest], g[rest], h[rest], free[rest], d[rest])
    return bound + 64 * m * m * EPS * size, d


def _bound_concave(
    v: Array, g: Array, h: Array, free: NDArray[np.bool_], d: Array, sweeps: int = 3
) -> tuple[Array, Array]:
    """Bounds of what is left, with tangent planes at points from so many `sweeps` over the coordinates."""
    m = g.shape[1]
    size = np.abs(h).sum((1, 2))
    if m == 2:
        a, b, c = h[:, 0, 0], h[:, 0, 1], h[:, 1, 1]
        largest = 0.5 * (a + c) + np.hypot(0.5 * (a - c), b)  # squares would underflow
    else:
        largest = np.full(len(v), np.inf)
        known = np.isfinite(size)
        largest[known] = np.linalg.eigvalsh(h[known])[:, -1]
    excess = np.maximum(largest + 8 * m * EPS * size, 0.0)
    diagonal = np.arange(m)
    concave = h.copy()
    concave[:, diagonal, diagonal] -= excess[:, None] * free
    curvature = concave[:, diagonal, diagonal]
    e = np.zeros_like(g)
    for _ in range(sweeps):
        for k in range(m):
            slope = g[:, k] + np.einsum("nj,nj->n", concave[:, k], e) - curvature[:, k] * e[:, k]
            with np.errstate(all="ignore"):
                step = np.where(curvature[:, k] < 0, -slope / curvature[:, k], np.copysign(1.0, slope))
            e[:, k] = np.clip(step, -1.0, 1.0) * free[:, k]
    e = np.nan_to_num(e)
    he = np.einsum("nij,nj->ni", concave, e)
    slope = g + he
    value = v + (g * e).sum(1) + 0.5 * (e * he).sum(1)
    return value + (np.abs(slope) - slope * e).sum(1) + 0.5 * excess * free.sum(1), d + e


def _bound_parabolas(v: Array, g: Array, q: Array) -> tuple[Array, Array]:
    """One coordinate: the exact maximum of a parabola over [-1, 1]."""
    inside = (q < 0) & (np.abs(g) < -q)
    with np.errstate(all="ignore"):
        d = np.where(inside, -g / q, np.copysign(1.0, g))
    bound = v + g * d + 0.5 * q * d * d
    return bound + 32 * EPS * (np.abs(v) + np.abs(g) + np.abs(q)), d[:, None]
