"""Values of a violation at many points, and which of these are worth a cut: near-copies only burden the master."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..domains import Domain
from ..domains.proven import LOST
from ..errors import ModelError
from ..expressions.interval import EPS
from ..kernel import native
from ..kernel.native import in_use
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


def distinct(
    points: Array, values: Array, components: NDArray[np.intp], radius: ArrayLike, limit: int
) -> NDArray[np.intp]:
    """Indices of at most `limit` points, worst first, no two of one component within `radius` of each other.

    Greedy: take the largest value left, drop everything of its component in the box of half-width `radius` around it,
    repeat. Points of different components never hide each other, and values that are not finite are never taken.

    Parameters
    ----------
    points : (N, m)
    values : (N,)
    components : (N,)
    radius : a number, or one half-width an axis (m,); 0 drops exact copies only
    limit : at least 0

    Examples
    --------
    >>> y, g = np.array([[0.0], [0.1], [0.9]]), np.array([2.0, 3.0, 1.0])
    >>> distinct(y, g, np.zeros(3, dtype=np.intp), 0.2, limit=5)
    array([1, 2])
    """
    left = np.flatnonzero(np.isfinite(values))
    # Stable, so that equal values are taken in the order they came and results do not depend on the sort.
    left = left[np.argsort(-values[left], kind="stable")]
    reach = np.asarray(radius, dtype=np.float64) + np.zeros(points.shape[1])
    if in_use():
        return left[native.distinct(points[left], components[left], reach, limit)]
    taken: list[int] = []
    while len(left) and len(taken) < limit:
        worst = left[0]
        taken.append(int(worst))
        near = (np.abs(points[left] - points[worst]) <= reach).all(axis=1) & (components[left] == components[worst])
        left = left[~near]
    return np.array(taken, dtype=np.intp)


def one_a_row(values: Array, components: NDArray[np.intp]) -> NDArray[np.intp]:
    """Indices of the worst point of every component: enough where there are many, and cheap to find."""
    order = np.argsort(-values, kind="stable")
    return order[np.unique(components[order], return_index=True)[1]]
