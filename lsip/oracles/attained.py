"""Values of a violation at many points: evaluated in chunks, and the worst component of each point."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..domains import Domain
from ..domains.proven import LOST
from ..errors import ModelError
from ..expressions.interval import EPS
from .base import Array, EnclosableViolation, Separation, Violation


def attained(violation: Violation, points: Array, chunk: int = 16_384) -> Array:
    """g at `points` (N, m), shape (N, p); -inf where g is undefined, so that such points are never chosen.

    They are evaluated `chunk` at a time: what an evaluation holds in between grows with it.

    Raises
    ------
    ModelError
        When g is undefined at every point: there is nothing to choose from.
    """
    parts = [violation.values(points[i : i + chunk]) for i in range(0, len(points), chunk)]
    values = np.concatenate(parts) if parts else np.empty((0, violation.components))
    defined = np.isfinite(values)
    if values.size and not defined.any():
        raise ModelError(
            f"The constraint is not finite at any of the {len(points)} index points tried, such as {points[0]}; "
            "check its coefficients on the index set (division by zero, logarithm or root of a negative number)."
        )
    return np.where(defined, values, -np.inf)


def largest(violation: EnclosableViolation, points: Array, numbers: float = 2e6) -> float:
    """A proven bound of g at all of the `points` (N, m): in outward-rounded arithmetic, inf where g has no bounds.

    Of the coefficients, about so many `numbers` are enclosed at once.
    """
    p, k = violation.family.columns.shape
    step = max(int(numbers / (p * (k + 1))), 1)
    top = -np.inf
    for i in range(0, len(points), step):
        y = np.repeat(points[i : i + step], p, axis=0)
        top = max(top, float(_raised(violation, y, np.tile(np.arange(p), len(y) // p)).max()))
    return top


def _raised(violation: EnclosableViolation, y: Array, component: NDArray[np.intp]) -> Array:
    """Upper bounds (N,) of component `component[n]` at the point y[n], for every choice of weights in their box."""
    a, b = violation.family.enclosed(y, y, component)
    low = np.concatenate([a.lo, b.lo[:, None]], axis=1)
    high = np.concatenate([a.hi, b.hi[:, None]], axis=1)
    w = violation.weights[component]
    with np.errstate(all="ignore"):
        size = np.maximum(np.abs(low), np.abs(high))
        total = np.maximum(low * w, high * w).sum(axis=1)
        # Half a unit in the last place for every product and sum, and products may underflow.
        operations = w.shape[1] + 4
        total += operations * (EPS * (size * np.abs(w)).sum(axis=1) + LOST)
        if violation.spread is not None:
            total += (size * violation.spread[component]).sum(axis=1) * (1 + operations * EPS) + operations * LOST
    return np.where(np.isnan(total), np.inf, total)


def worst_component(values: Array) -> tuple[Array, NDArray[np.intp]]:
    """The largest component of each row of `values` (N, p), and which one it is: two arrays of shape (N,)."""
    component = values.argmax(axis=1).astype(np.intp)
    return np.take_along_axis(values, component[:, None], axis=1)[:, 0], component


def unproven(points: Array, values: Array, components: NDArray[np.intp], chosen: NDArray[np.intp]) -> Separation:
    """The chosen points as a `Separation` that claims nothing about the others."""
    return Separation(points[chosen], values[chosen], np.inf, components[chosen], trusts=())


def discrete_points(domain: Domain) -> Array | None:
    """All points (N, m) of a domain that has finitely many (a Finite, products and unions of them); None for others."""
    cells = domain.cells()
    if all(cell.inside is None and np.array_equal(cell.lower, cell.upper) for cell in cells):
        return np.concatenate([cell.lower for cell in cells])
    return None


def is_box(domain: Domain) -> bool:
    """Whether the domain is its bounding box."""
    cells = domain.cells()
    return len(cells) == 1 and cells[0].inside is None and len(cells[0].lower) == 1
