"""What is >= 0 on the part of a box that counts, and how it sharpens bounds there.

Kinks and curved boundaries are treated alike. A box on which the argument u of a kink changes sign is kept twice,
once for u >= 0 and once for u <= 0, each with the smooth branch extended over the whole box; a box that the domain's
boundary crosses knows that some u >= 0 on the domain. On either, g <= g + lambda u for every lambda >= 0, and the
best lambda removes the slope towards the part that does not count. Without it, maxima on kinks and on boundaries
would need boxes of the size of the tolerance.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..expressions.interval import EPS
from ..expressions.jets import triangle
from ..expressions.quadratics import Quadratic, cubic_weights, quadratic_weights
from .base import Array, Pieces
from .quadratic_bound import bound_rows

Bools = NDArray[np.bool_]


def cut_off(rows: dict[str, Any], sides: Quadratic, pieces: Pieces, straddles: Bools | None) -> dict[str, Any]:
    """Boxes with what is >= 0 on the part of them that counts, but for those of which nothing counts.

    `side` (N, sides, levels), `side_error`, and which `matters`. The argument of a kink that straddles zero no more has
    the sign that it has at the centre, whatever its expansion leaves open: the other piece is empty.
    """
    m = len(sides.gradient)
    flat = np.moveaxis(np.concatenate([sides.value[None], sides.gradient, sides.hessian]), 0, 2).copy()
    error = sides.error.copy()
    if len(sides.third):
        error += np.einsum("l,lns->ns", cubic_weights(m), np.abs(sides.third)) * (1 + 64 * EPS)
    matters = np.ones(error.shape, dtype=bool)
    k = 0 if pieces is None else pieces.shape[1]
    if pieces is not None:
        flat[:, :k] *= pieces[:, :, None]
        matters[:, :k] = pieces != 0
    weight = np.concatenate([np.ones(m), quadratic_weights(m)])
    swing = np.abs(flat[..., 1:]) @ weight * (1 + 64 * EPS) + error
    possible = ~((flat[..., 0] + swing < 0) & matters).any(1)
    if straddles is not None:
        possible &= ~((flat[:, :k, 0] + error[:, :k] < 0) & matters[:, :k] & ~straddles).any(1)
    matters &= (flat[..., 0] - swing < 0) & np.isfinite(swing)
    rows = rows | {"side": flat, "side_error": error, "matters": matters}
    if pieces is not None:
        rows["pieces"] = pieces
    return {key: value[possible] for key, value in rows.items()}


def use_sides(boxes: Any, q: Array, rest: Array, bound: Array, d: Array) -> None:
    """Improve bounds and points, in place, on boxes where some u >= 0 cuts off a part."""
    m, p = d.shape[1], len(q) // max(len(boxes), 1)
    matters = np.repeat(boxes["matters"], p, axis=0)
    some = np.flatnonzero(matters.any(1))
    if not len(some):
        return
    active = matters[some]
    side = np.where(active[..., None], np.repeat(boxes["side"], p, axis=0)[some], 0.0)
    error = np.where(active, np.repeat(boxes["side_error"], p, axis=0)[some], 0.0)
    multiplier = _cheapest(q[some, 1 : 1 + m], side[..., 0], side[..., 1 : 1 + m])
    rounding = (16 + side.shape[1]) * EPS  # an operation for every side, and a few
    extra = (multiplier * error).sum(1) + rounding * np.einsum("ns,nsl->n", multiplier, np.abs(side))
    relaxed = q[some] + np.einsum("ns,nsl->nl", multiplier, side)
    slope_norm = np.sqrt((side[..., 1 : 1 + m] ** 2).sum(2))
    n = np.arange(len(some))
    strongest = (multiplier * slope_norm).argmax(1)
    main, used = side[n, strongest], multiplier[n, strongest] > 0
    bent, bend_error = _bend(relaxed, main, error[n, strongest], multiplier[n, strongest], m)
    for candidate, more in ((relaxed, extra), (bent, extra + bend_error)):
        better, e = bound_rows(candidate, m)
        better = better + rest[some] + more
        improved = better < bound[some]
        bound[some] = np.where(improved, better, bound[some])
        # The relaxed model is flat across an active side: put the point onto the side itself.
        s = main[:, 1 : 1 + m]
        height = evaluate(main, e, m) / np.maximum((s * s).sum(1), 1e-300)
        moved = np.clip(e - height[:, None] * s, -1.0, 1.0)
        d[some] = np.where(improved[:, None], np.where(used[:, None], moved, e), d[some])


def kinked(boxes: Any, kinks: int, m: int) -> Array:
    """How much the arguments of kinks that are open on a box vary along each axis, (N, m).

    On which side of a kink a part lies may be up to an axis along which the violation itself does not vary at all.
    """
    i, j = triangle(m)
    side = np.where(boxes["matters"][:, :kinks, None], np.abs(boxes["side"][:, :kinks]), 0.0).sum(axis=1)
    varies = side[:, 1 : 1 + m].copy()
    for level, (a, b) in enumerate(zip(i, j, strict=True), start=1 + m):
        varies[:, a] += side[:, level]
        if a != b:
            varies[:, b] += side[:, level]
    return np.where(np.isfinite(varies), varies, 0.0)


def _balance(gradient: Array, slopes: Array) -> Array:
    """Multipliers >= 0 (M, sides) that leave the least of `gradient` + multipliers . `slopes`: coordinate descent."""
    norms = (slopes**2).sum(2)
    inverse = np.where(norms > 0, 1.0 / np.where(norms > 0, norms, 1.0), 0.0)
    multiplier = np.zeros(norms.shape)
    gradient = gradient.copy()
    for _ in range(1 if norms.shape[1] == 1 else 24):
        change = 0.0
        for k in range(norms.shape[1]):
            step = -(gradient * slopes[:, k]).sum(1) * inverse[:, k]
            new = np.maximum(multiplier[:, k] + step, 0.0)
            delta = new - multiplier[:, k]
            gradient += delta[:, None] * slopes[:, k]
            multiplier[:, k] = new
            change = max(change, float(np.abs(delta).max()))
        if change < 1e-14:
            break
    return multiplier


def _cheapest(gradient: Array, height: Array, slopes: Array) -> Array:
    """Multipliers >= 0 (M, sides) with the least bound of the linear parts over the box, or nearly.

    A maximum may lie where a side meets one of the box. There, what is left of the gradient need not be small: its
    part across the side of the box may stay, since the box ends there. That is a linear program in the multipliers,
    and coordinate descent nearly solves it.
    """
    found = _balance(gradient, slopes)
    if slopes.shape[2] == 1:
        return found
    n = np.arange(len(found))
    every = np.stack([found, _descended(gradient, height, slopes)])  # (T, M, sides)
    cost = (every * height).sum(axis=2) + np.abs(gradient + np.einsum("tns,nsm->tnm", every, slopes)).sum(axis=2)
    best: Array = every[np.where(np.isfinite(cost), cost, np.inf).argmin(axis=0), n]
    return best


def _descended(gradient: Array, height: Array, slopes: Array) -> Array:
    """One multiplier after the other, each the best for the others as they are."""
    sides = slopes.shape[1]
    multiplier = np.zeros(height.shape)
    for k in list(range(sides)) * (1 if sides == 1 else 3):
        s = slopes[:, k]
        base = gradient - multiplier[:, k, None] * s
        steep = s != 0
        turns = np.where(steep, -base / np.where(steep, s, 1.0), 0.0)
        tried = np.maximum(np.concatenate([np.zeros((len(s), 1)), turns], axis=1), 0.0)  # (M, m + 1)
        cost = tried * height[:, k, None] + np.abs(base[:, None] + tried[..., None] * s[:, None]).sum(axis=2)
        multiplier[:, k] = tried[np.arange(len(s)), cost.argmin(axis=1)]
        gradient = base + multiplier[:, k, None] * s
    return multiplier


def _bend(q: Array, side: Array, side_error: Array, multiplier: Array, m: int) -> tuple[Array, Array]:
    """Let the multiplier of one side vary linearly over the box, so that curvature across the side cancels too.

    With u = u0 + s . d + d' U d / 2 >= 0, adding (w . d) u to the model is allowed while multiplier >= sum |w_i|. The
    vector w that makes H + w s' + s w' vanish along s leaves an error of third order; without it, a maximum on a
    curved boundary is only known to second order.
    """
    i, j = triangle(m)
    h = np.empty((len(q), m, m))
    h[:, i, j] = h[:, j, i] = q[:, 1 + m :]
    s = side[:, 1 : 1 + m]
    norm = np.maximum((s * s).sum(1), 1e-300)[:, None]
    hs = np.einsum("nij,nj->ni", h, s)
    w = -hs / norm + ((s * hs).sum(1)[:, None] / (2 * norm**2)) * s
    # Only convexity across the side needs to go; concavity helps.
    w = np.where(((s * hs).sum(1) > 0)[:, None], w, 0.0)
    total = np.abs(w).sum(1)
    w *= np.minimum(1.0, multiplier * (1 - 1e-9) / np.maximum(total, 1e-300))[:, None]
    total = np.abs(w).sum(1)
    bent = q.copy()
    bent[:, 1 : 1 + m] += side[:, :1] * w
    bent[:, 1 + m :] += w[:, i] * s[:, j] + s[:, i] * w[:, j]
    # Where the side passes beside the centre, that tilted the model: balance it again.
    shift = np.maximum(-side[:, 0] * (w * s).sum(1) / norm[:, 0], total - multiplier)
    bent += shift[:, None] * side
    moved = total + np.abs(shift)
    error = (total * (np.abs(side[:, 1 + m :]) @ quadratic_weights(m)) + moved * side_error) * (1 + 1e-12)
    return bent, error + 32 * EPS * moved * np.abs(side).sum(1)


def evaluate(q: Array, d: Array, m: int) -> Array:
    """Quadratics (M, levels) at points (M, m)."""
    i, j = triangle(m)
    weight = quadratic_weights(m)
    return q[:, 0] + (q[:, 1 : 1 + m] * d).sum(1) + (q[:, 1 + m :] * (weight * d[:, i] * d[:, j])).sum(1)
