"""The part of a plane through a point that an index set fills: what a picture of a slice shows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .base import Array, Domain


@dataclass(frozen=True)
class WindowTuning:
    """How closely a slice is framed.

    Parameters
    ----------
    side
        Points along a side of the mesh on which the set is looked for.
    rounds
        Meshes, each on the part that the last one found.
    least
        The share of the set's own width that is shown at least.
    """

    side: int = 41
    rounds: int = 3
    least: float = 1e-3


TUNING = WindowTuning()


def window(domain: Domain, through: Array, axes: tuple[int, int]) -> Array:
    """The corners (2, 2), lower and upper, of the part of the bounding box in which the slice lies.

    In many dimensions, a plane through a point of the boundary meets a ball in a small disc.
    """
    plane = list(axes)
    corners = whole = np.array([domain.lower[plane], domain.upper[plane]])
    for _ in range(TUNING.rounds):
        lines = [
            np.sort(np.append(np.linspace(corners[0, k], corners[1, k], TUNING.side), through[plane[k]]))
            for k in (0, 1)
        ]
        y = np.tile(through, (lines[0].size * lines[1].size, 1))
        y[:, plane] = np.stack(np.meshgrid(*lines), axis=-1).reshape(-1, 2)
        inside = y[domain.contains(y)][:, plane]
        if not len(inside):
            break
        step = (corners[1] - corners[0]) / (TUNING.side - 1)
        corners = np.clip([inside.min(axis=0) - step, inside.max(axis=0) + step], whole[0], whole[1])
    middle, reach = corners.mean(axis=0), np.ptp(corners, axis=0) / 2
    reach = np.maximum(reach, TUNING.least / 2 * (whole[1] - whole[0]))
    found: Array = np.clip([middle - reach, middle + reach], whole[0], whole[1])
    return found
