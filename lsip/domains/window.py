"""The part of a plane through a point that an index set fills: what a picture of a slice shows."""

from __future__ import annotations

import numpy as np

from .base import Array, Domain


def window(domain: Domain, through: Array, axes: tuple[int, int]) -> Array:
    """The corners (2, 2), lower and upper, of the part of the bounding box in which the slice lies.

    In many dimensions, a plane through a point of the boundary meets a ball in a small disc.
    """
    plane = list(axes)
    corners = whole = np.array([domain.lower[plane], domain.upper[plane]])
    side = 41  # points of a mesh, each on the part that the last one found
    for _ in range(3):
        lines = [np.sort(np.append(np.linspace(corners[0, k], corners[1, k], side), through[plane[k]])) for k in (0, 1)]
        y = np.tile(through, (lines[0].size * lines[1].size, 1))
        y[:, plane] = np.stack(np.meshgrid(*lines), axis=-1).reshape(-1, 2)
        inside = y[domain.contains(y)][:, plane]
        if not len(inside):
            break
        step = (corners[1] - corners[0]) / (side - 1)
        corners = np.clip([inside.min(axis=0) - step, inside.max(axis=0) + step], whole[0], whole[1])
    middle, reach = corners.mean(axis=0), np.ptp(corners, axis=0) / 2
    reach = np.maximum(reach, 5e-4 * (whole[1] - whole[0]))
    found: Array = np.clip([middle - reach, middle + reach], whole[0], whole[1])
    return found
