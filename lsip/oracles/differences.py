"""Derivatives of a violation: exact where it knows them, central differences where it is a black box."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..domains import Domain
from .base import Array, Violation

# For central differences, as a share of the domain's width: second ones lose least to rounding and to the fourth order.
# A maximiser that is found with them is off by about 1e-8, and its value by the square of that.
STEP = float(np.finfo(float).eps) ** 0.25


def derivatives(
    violation: Violation, y: Array, component: NDArray[np.intp], hessian: bool = True
) -> tuple[Array, Array, Array]:
    """Value (N,), gradient (N, m) and Hessian (N, m, m) of one component a point.

    What is undefined (the gradient of a norm at its kink, say) is given as 0. Black boxes are evaluated in the domain
    only: where central differences do not fit into it, the gradient is fitted to what the domain allows, and the
    Hessian is 0. With ``hessian=False`` they are spared the evaluations that only the Hessian needs.
    """
    exact = violation.derivatives(y, component)
    if exact is None:
        exact = from_values(violation, y, component, hessian)
    value, gradient, curvature = exact
    return (
        np.where(np.isfinite(value), value, -np.inf),
        np.where(np.isfinite(gradient), gradient, 0.0),
        np.where(np.isfinite(curvature), curvature, 0.0),
    )


def from_values(
    violation: Violation, y: Array, component: NDArray[np.intp], hessian: bool
) -> tuple[Array, Array, Array]:
    """The same by differences: central where the stencil fits into the domain, fitted elsewhere."""
    domain = violation.domain
    count, m = y.shape
    centre, shifts = stencil(domain, y, hessian)
    fits = domain.contains((centre + shifts[:, None, :]).reshape(-1, m)).reshape(-1, count).all(axis=0)
    value, gradient, curvature = np.empty(count), np.empty((count, m)), np.zeros((count, m, m))
    if fits.any():
        parts = central_differences(violation, y[fits], component[fits], hessian)
        value[fits], gradient[fits], curvature[fits] = parts
    if not fits.all():
        value[~fits], gradient[~fits] = fitted_gradient(violation, y[~fits], component[~fits])
    return value, gradient, curvature


def stencil(domain: Domain, y: Array, hessian: bool) -> tuple[Array, Array]:
    """Centres (N, m), moved inside the bounding box, and shifts: none, along each axis, back, and along each pair."""
    m = y.shape[1]
    h = STEP * (domain.upper - domain.lower)
    centre = np.clip(y, domain.lower + h, domain.upper - h)
    axes = np.eye(m) * h
    shifts = [np.zeros(m), *axes, *(-axes)]
    for i, j in pairs(m) if hessian else []:
        shifts += [axes[i] + axes[j], axes[i] - axes[j], -axes[i] + axes[j], -axes[i] - axes[j]]
    return centre, np.stack(shifts)


def pairs(m: int) -> list[tuple[int, int]]:
    """The places below the diagonal of an m x m matrix."""
    return [(i, j) for i in range(m) for j in range(i)]


def central_differences(
    violation: Violation, y: Array, component: NDArray[np.intp], hessian: bool = True
) -> tuple[Array, Array, Array]:
    """Second-order differences around a centre near y, carried over to y by their own expansion."""
    domain = violation.domain
    count, m = y.shape
    h = STEP * (domain.upper - domain.lower)
    centre, shifts = stencil(domain, y, hessian)
    around = np.clip(centre + shifts[:, None, :], domain.lower, domain.upper).reshape(-1, m)
    found = _values(violation, np.concatenate([around, y]), component)
    middle, plus, minus = found[0], found[1 : m + 1], found[m + 1 : 2 * m + 1]
    crossed, value = found[2 * m + 1 : -1], found[-1]

    step = np.where(h > 0, h, 1.0)  # Along an axis of no width all differences are 0.
    with np.errstate(invalid="ignore"):
        gradient = ((plus - minus) / (2 * step[:, None])).T
        # One side undefined: lean on the other.
        one_sided = np.where(np.isfinite(plus), plus - middle, middle - minus) / step[:, None]
        gradient = np.where(np.isfinite(gradient), gradient, one_sided.T)
        curvature = np.zeros((count, m, m))
        if hessian:
            curvature[:, np.arange(m), np.arange(m)] = ((plus - 2 * middle + minus) / step[:, None] ** 2).T
            for k, (i, j) in enumerate(pairs(m)):
                pp, pm, mp, mm = crossed[4 * k : 4 * k + 4]
                curvature[:, i, j] = curvature[:, j, i] = (pp - pm - mp + mm) / (4 * step[i] * step[j])
    curvature = np.where(np.isfinite(curvature), curvature, 0.0)
    return value, gradient + np.einsum("nij,nj->ni", curvature, y - centre), curvature


def fitted_gradient(violation: Violation, y: Array, component: NDArray[np.intp]) -> tuple[Array, Array]:
    """Value, and the gradient that best explains the values at neighbours projected on the domain."""
    domain = violation.domain
    count, m = y.shape
    axes = np.eye(m) * (1e-6 * (domain.upper - domain.lower))  # shorter: its error is of first order
    moved = y + np.concatenate([axes, -axes])[:, None, :]
    around = domain.project(moved.reshape(-1, m))
    found = _values(violation, np.concatenate([around, y]), component)
    value = found[-1]
    away = np.swapaxes(around.reshape(2 * m, count, m) - y, 0, 1)  # (N, 2m, m)
    with np.errstate(invalid="ignore"):
        rise = (found[:-1] - value).T
    known = np.isfinite(rise)
    away, rise = np.where(known[:, :, None], away, 0.0), np.where(known, rise, 0.0)
    # What is a thousand times shorter than the longest neighbour is rounding or curvature, not a direction.
    return value, np.einsum("nij,nj->ni", np.linalg.pinv(away, rcond=1e-3), rise)


def _values(violation: Violation, points: Array, component: NDArray[np.intp]) -> Array:
    """Values at several points for each component asked, the points of one after those of the other: shape (-1, N)."""
    rows = np.tile(component, len(points) // len(component))
    return np.asarray(violation.values(points))[np.arange(len(points)), rows].reshape(-1, len(component))
