"""Quadratic enclosures over boxes, from jets.

Over a box with centre c and half-widths r, every output f is enclosed by a quadratic in the scaled coordinates d = (y
- c) / r,

    f(y) = v + g . d + d' Q d / 2 + rest,   |rest| <= error,   for all |d_i| <= 1,

with v and g taken at the centre and Q the middle of the enclosure of the Hessian over the box: the rest is of third
order. With `order` 3 there is a cubic term as well, Q is taken at the centre, and the rest is of fourth order; many
large coefficients that cancel each other then cancel in the cubic term too. Where derivatives are unbounded the
expansion falls back to a lower order, output by output.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .interval import EPS, NORMAL, Array, Interval, up
from .jets import Jet, tetrahedron, triangle


class Quadratic(NamedTuple):
    """Quadratic enclosures of K outputs over N boxes, in coordinates scaled to [-1, 1]."""

    value: Array  # (N, K)
    gradient: Array  # (m, N, K)
    hessian: Array  # (m (m+1) / 2, N, K)
    third: Array  # (m (m+1) (m+2) / 6, N, K), or (0, N, K) at order 2
    rough: Array  # (m, N, K), how much an output enclosed by a constant may vary along each axis
    error: Array  # (N, K), >= 0, inf when nothing is known


def expanded(jet: Jet[Interval], radius: Array, order: int) -> Quadratic:
    """The enclosures of a jet that was pushed through centres and boxes (2 N, …), of half-widths `radius` (N, m)."""
    (n, m), size = radius.shape, jet.value.shape[-1]
    i, j = triangle(m)
    r = radius.T[:, :, None]  # (m, n, 1)
    rr = r[i] * r[j]
    none = np.zeros((len(cubic_weights(m)) if order == 3 else 0, n, size))
    with np.errstate(all="ignore"):
        v, v_doubt = _centre(jet.value, (2 * n, size), n)
        flat, flat_error = _range(jet.value, (2 * n, size), n)
        if jet.gradient is None:
            flat_axes = np.zeros((m, n, size))
            return Quadratic(v, flat_axes, np.zeros((len(i), n, size)), none, flat_axes, up(v_doubt, 4.0))
        g, g_doubt = _centre(jet.gradient, (m, 2 * n, size), n)
        error = v_doubt + (g_doubt * r).sum(0)
        g_mid, g_rad = _range(jet.gradient, (m, 2 * n, size), n)
        first = v_doubt + ((g_rad + np.abs(g_mid - g)) * r).sum(0)
        weight = quadratic_weights(m)[:, None, None]
        h, h_rad = _range(jet.hessian, (len(i), 2 * n, size), n)
        second = error + (weight * rr * h_rad).sum(0)
        g, q = g * r, h * rr
        # Scaling by r rounded too; a few ulps of every kept term cover it.
        scaling = 8 * EPS * np.abs(g).sum(0)
        first, error = first + scaling, error + scaling
        second = _unless(_underflown(rr, r[i], r[j]), second + scaling + 8 * EPS * np.abs(q).sum(0))
        zeroth = np.where(np.isfinite(flat_error), flat_error, np.inf)
        use2 = second <= zeroth  # a nan compares false
        use1 = ~use2 & (first <= zeroth)
        use0 = ~(use2 | use1)
        third, best = none, second
        if order == 3:
            third, q, best, use2 = _cubic(jet, r, rr, q, error, second, use2)
            use0 &= ~use2
            use1 &= ~use2
        rough = np.zeros((m, n, size))
        if use0.any():
            swing = (g_rad + np.abs(g_mid)) * r
            rough = np.where(use0, np.where(swing < zeroth, swing, np.where(np.isfinite(zeroth), zeroth, 1.0)), 0.0)
        if use0.any() or use1.any():
            q, third = np.where(use2, q, 0.0), np.where(use2, third, 0.0)
            g = np.where(use0, 0.0, g)
            v = np.where(use0, np.where(np.isfinite(zeroth), flat, 0.0), v)
            best = np.where(use2, best, np.where(use1, first, zeroth))
    return Quadratic(v, g, q, third, rough, up(best, 64.0 * (m + 2) ** 2))


def _cubic(
    jet: Jet[Interval],
    r: Array,
    rr: Array,
    q: Array,
    error: Array,
    second: Array,
    use2: NDArray[np.bool_],
) -> tuple[Array, Array, Array, NDArray[np.bool_]]:
    """Where it is sharper: the Hessian at the centre, a cubic term, and the fourth-order rest."""
    (m, n, _), size = r.shape, q.shape[-1]
    a, b, c = tetrahedron(m)[:3]
    rrr = r[a] * r[b] * r[c]
    t, t_rad = _range(jet.third, (len(a), 2 * n, size), n)
    h, h_doubt = _centre(jet.hessian, (len(q), 2 * n, size), n)
    t, central = t * rrr, h * rr
    fourth = error + (quadratic_weights(m)[:, None, None] * rr * h_doubt).sum(0)
    fourth = fourth + (cubic_weights(m)[:, None, None] * rrr * t_rad).sum(0)
    fourth = fourth + 8 * EPS * (np.abs(central).sum(0) + np.abs(t).sum(0))
    fourth = _unless(_underflown(rrr, r[a], r[b], r[c]), fourth)
    use3 = fourth <= second
    return (
        np.where(use3, t, 0.0),
        np.where(use3, central, q),
        np.where(use3, fourth, second),
        use2 | (use3 & np.isfinite(fourth)),
    )


def quadratic_weights(m: int) -> Array:
    """d' Q d / 2 as a sum over the stored triangle: 1/2 on the diagonal, 1 off it."""
    return np.where(np.equal(*triangle(m)), 0.5, 1.0)


def cubic_weights(m: int) -> Array:
    """The third-order term as a sum over the stored entries: 1/6 times the number of their arrangements."""
    i, j, k = tetrahedron(m)[:3]
    same = (i == j).astype(int) + (j == k)
    return np.array([1.0, 0.5, 1.0 / 6.0])[same] * (1 + 4 * EPS)


def spread(v: Array, shape: tuple[int, ...]) -> Array:
    return v if v.shape == shape else np.broadcast_to(v, shape)


def _centre(part: Interval | None, shape: tuple[int, ...], n: int) -> tuple[Array, Array]:
    """Middle and half-width at the centres, the first half of the batch."""
    if part is None:
        zero = np.zeros((*shape[:-2], n, shape[-1]))
        return zero, zero
    lo, hi = spread(part.lo, shape)[..., :n, :], spread(part.hi, shape)[..., :n, :]
    mid = 0.5 * lo + 0.5 * hi
    return mid, np.maximum(hi - mid, mid - lo)


def _range(part: Interval | None, shape: tuple[int, ...], n: int) -> tuple[Array, Array]:
    """Middle and half-width over the boxes, the second half of the batch."""
    if part is None:
        zero = np.zeros((*shape[:-2], n, shape[-1]))
        return zero, zero
    lo, hi = spread(part.lo, shape)[..., n:, :], spread(part.hi, shape)[..., n:, :]
    mid = 0.5 * lo + 0.5 * hi
    return mid, up(np.maximum(hi - mid, mid - lo))


def middle(lower: Array, upper: Array) -> tuple[Array, Array]:
    """Centres, and half-widths that reach both ends in spite of rounding."""
    centre = np.clip(0.5 * lower + 0.5 * upper, lower, upper)
    return centre, up(np.maximum(upper - centre, centre - lower)) * (upper > lower)


def _underflown(product: Array, *factors: Array) -> NDArray[np.bool_] | None:
    """Where products of radii (levels, n, 1) have lost digits, which matters beside huge derivatives; None if nowhere.

    A box has no width along some axes, mostly because it is a point: there, zero is what the product is.
    """
    if not product.size or product.min() >= NORMAL:
        return None
    positive = np.logical_and.reduce([v > 0 for v in factors])
    lost: NDArray[np.bool_] = ((product < NORMAL) & positive).any(axis=0)
    return lost if lost.any() else None


def _unless(unknown: NDArray[np.bool_] | None, error: Array) -> Array:
    """Errors (n, size), nan on boxes of which nothing is known."""
    return error if unknown is None else np.where(unknown, np.nan, error)
