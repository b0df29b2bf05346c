"""Values of a violation at many points: evaluated in chunks, and the worst component of each point."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..domains import Domain
from ..errors import ModelError
from .base import Array, Separation, Violation

CHUNK = 16_384  # points evaluated at once; what an evaluation holds in between grows with it


def attained(violation: Violation, points: Array, chunk: int = CHUNK) -> Array:
    """g at `points` (N, m), shape (N, p); -inf where g is undefined, so that such points are never chosen.

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


def worst_component(values: Array) -> tuple[Array, NDArray[np.intp]]:
    """The largest component of each row of `values` (N, p), and which one it is: two arrays of shape (N,)."""
    component = values.argmax(axis=1).astype(np.intp)
    return np.take_along_axis(values, component[:, None], axis=1)[:, 0], component


def unproven(points: Array, values: Array, components: NDArray[np.intp], chosen: NDArray[np.intp]) -> Separation:
    """The chosen points as a `Separation` that claims nothing about the others."""
    return Separation(points[chosen], values[chosen], np.inf, components[chosen])


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
