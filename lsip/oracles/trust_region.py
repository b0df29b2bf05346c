"""Local search from many starts at once: a projected trust-region Newton ascent, batched in NumPy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..deadline import beat, left
from ..domains import Domain
from .attained import is_box
from .base import Array, Violation
from .differences import derivatives


def ascend(
    violation: Violation, y: Array, component: NDArray[np.intp], radius: float, iterations: int = 60
) -> tuple[Array, Array]:
    """Climb from each point of y (N, m), each along its own component, to a local maximum in the domain.

    Every step maximises the quadratic model at the current point over the domain and a ball of trust; it is taken only
    where the value rises, so no start ends lower than it began.

    Parameters
    ----------
    radius : the first trust radius, as a fraction of the domain's width

    Returns
    -------
    The points (N, m) and their values (N,).
    """
    domain = violation.domain
    width = domain.upper - domain.lower
    # A box is scaled axis by axis; elsewhere projections are Euclidean, and only one scale for all axes respects them.
    scale = np.where(width > 0, width, 1.0) if is_box(domain) else np.full(domain.dim, max(width.max(), 1e-300))
    y = y.copy()
    value, gradient, hessian = _scaled_derivatives(violation, y, component, scale)
    trust = np.full(len(y), radius)
    live = np.flatnonzero(np.isfinite(value))
    for _ in range(iterations):
        if not len(live) or left() < 0:
            break
        beat("local searches")
        g, h, base, delta = gradient[live], hessian[live], y[live], trust[live]
        step = _model_step(domain, base, g, h, delta, scale)
        trial = domain.project(base + step * scale)
        step = (trial - base) / scale
        predicted = _model(g, h, step)
        found, slope, bend = _scaled_derivatives(violation, trial, component[live], scale)
        gained = found - value[live]

        better = gained > 0
        y[live[better]] = trial[better]
        value[live[better]], gradient[live[better]], hessian[live[better]] = found[better], slope[better], bend[better]
        length = np.linalg.norm(step, axis=1)
        shrink = gained < 0.25 * predicted
        grow = (gained > 0.75 * predicted) & (length > 0.9 * delta)
        trust[live] = np.where(
            shrink, 0.25 * np.minimum(length, delta), np.where(grow, np.minimum(2 * delta, 1.0), delta)
        )
        noise = 1e-16 * (1 + np.abs(value[live]))
        live = live[(predicted > noise) & (length > 1e-12) & (trust[live] > 1e-12)]
    return y, value


def _scaled_derivatives(
    violation: Violation, y: Array, component: NDArray[np.intp], scale: Array
) -> tuple[Array, Array, Array]:
    value, gradient, hessian = derivatives(violation, y, component)
    return value, gradient * scale, hessian * scale * scale[:, None]


def _model(g: Array, h: Array, step: Array) -> Array:
    """The gain that the quadratic model promises for each step (N, m): g s + s H s / 2."""
    gain: Array = np.einsum("ni,ni->n", g, step) + 0.5 * np.einsum("ni,nij,nj->n", step, h, step)
    return gain


def _model_step(domain: Domain, y: Array, g: Array, h: Array, delta: Array, scale: Array) -> Array:
    """Roughly maximise the model over steps that stay in the domain and within `delta`, in scaled coordinates."""
    m = y.shape[1]
    # Coordinates pressed against the bounding box stay: they are dropped from the model, so that the rest is exact.
    pressed = ((y <= domain.lower) & (g < 0)) | ((y >= domain.upper) & (g > 0)) | (domain.lower == domain.upper)
    free = ~pressed
    g_free = np.where(free, g, 0.0)
    h_free = np.where(free[:, :, None] & free[:, None, :], h, 0.0)
    h_free[:, np.arange(m), np.arange(m)] -= np.where(pressed, 1.0, 0.0)
    step = _newton_step(g_free, h_free, delta)

    inside = (domain.project(y + step * scale) - y) / scale
    cut = np.flatnonzero(np.abs(inside - step).max(axis=1) > 1e-12)
    if len(cut):
        inside[cut] = _improve(domain, y[cut], g[cut], h[cut], delta[cut], scale, inside[cut])
    return inside


def _newton_step(g: Array, h: Array, delta: Array) -> Array:
    """The step within `delta` that maximises g s + s H s / 2: (lambda I - H)^{-1} g with lambda >= max(0, eig H)."""
    eigenvalues, vectors = np.linalg.eigh(h)
    along = np.einsum("nji,nj->ni", vectors, g)
    top = eigenvalues[:, -1]
    floor = np.maximum(top, 0.0) + 1e-14 * np.abs(eigenvalues).max(axis=1) + 1e-300

    def solve(shift: Array) -> Array:
        # Where the shift only just clears an eigenvalue the step overflows, which reads as "too long": just what it is.
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            solved: Array = np.where(along == 0, 0.0, along / (shift[:, None] - eigenvalues))
        return solved

    def too_long(step: Array) -> NDArray[np.bool_]:
        with np.errstate(over="ignore"):
            longer: NDArray[np.bool_] = ~(np.linalg.norm(step, axis=1) <= delta)
        return longer

    low, high = floor, floor + np.linalg.norm(along, axis=1) / delta
    bind = too_long(solve(low))
    for _ in range(14 if bind.any() else 0):
        middle = (low + high) / 2
        over = too_long(solve(middle))
        low, high = np.where(over, middle, low), np.where(over, high, middle)
    step = solve(np.where(bind, high, floor))
    # At a saddle or a minimum the gradient says nothing: leave along the direction of largest curvature.
    rest = delta**2 - (step**2).sum(axis=1)
    stuck = (top > 0) & (rest > 0.5 * delta**2)
    step[:, -1] += np.where(stuck, np.where(along[:, -1] < 0, -1.0, 1.0) * np.sqrt(np.maximum(rest, 0.0)), 0.0)
    back: Array = np.einsum("nij,nj->ni", vectors, step)
    return back


def _improve(
    domain: Domain, y: Array, g: Array, h: Array, delta: Array, scale: Array, step: Array, steps: int = 12
) -> Array:
    """So many `steps` of projected gradient ascent on the model, from `step` or from 0, whichever promises more.

    The Newton step has left the domain.
    """
    step = np.where((_model(g, h, step) > 0)[:, None], step, 0.0)
    steepness = np.linalg.norm(h, ord=2, axis=(1, 2)) + np.linalg.norm(g, axis=1) / delta + 1e-300
    for _ in range(steps):
        slope = g + np.einsum("nij,nj->ni", h, step)
        step = (domain.project(y + (step + slope / steepness[:, None]) * scale) - y) / scale
    length = np.linalg.norm(step, axis=1)
    shortened: Array = step * np.minimum(1.0, delta / np.maximum(length, 1e-300))[:, None]
    return shortened


def newton_step(y: Array, gradient: Array, hessian: Array, domain: Domain, reach: Array | None = None) -> Array:
    """Where the quadratic model at y has its maximum over the coordinates that can move inside the bounding box.

    Where the model has none, y stays; with `reach` (m,), no step is longer than that along an axis, and directions of
    positive curvature are climbed as if it were negative.
    """
    m = y.shape[1]
    pinned = ((y <= domain.lower) & (gradient < 0)) | ((y >= domain.upper) & (gradient > 0))
    diagonal = np.arange(m)
    h = np.where(pinned[:, :, None] | pinned[:, None, :], 0.0, hessian)
    h[:, diagonal, diagonal] = np.where(pinned, -1.0, h[:, diagonal, diagonal])
    if m == 1:  # a concave parabola has its top at -g / h
        bend = h[:, 0] if reach is None else -np.abs(h[:, 0])
        top = np.where(bend < 0, -gradient / np.where(bend < 0, bend, 1.0), 0.0)
        top = np.where(pinned | ~np.isfinite(top), 0.0, top)
        return np.clip(y + (top if reach is None else np.clip(top, -reach, reach)), domain.lower, domain.upper)
    usable = np.isfinite(h).all(axis=(1, 2)) & np.isfinite(gradient).all(axis=1)
    step = np.zeros_like(y)
    if usable.any():
        w, v = np.linalg.eigh(h[usable])
        if reach is not None:
            w = -np.abs(w)
        concave = w[:, -1] < 0
        inverse = np.where(w < 0, -1.0 / np.where(w < 0, w, 1.0), 0.0)
        g = np.where(pinned[usable], 0.0, gradient[usable])
        full = np.einsum("nij,nj->ni", v, inverse * np.einsum("nij,ni->nj", v, g))
        step[usable] = np.where(concave[:, None], full, 0.0)
    if reach is not None:
        step = np.clip(step, -reach, reach)
    return np.clip(y + step, domain.lower, domain.upper)
