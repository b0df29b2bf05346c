"""A broadband antenna array: complex moduli by an angle, at six frequencies, over all directions."""

from __future__ import annotations

from typing import Any

import numpy as np

from lsip import Box, Index, Problem, Variable, forall, minimize

from .claims import grid, published

SPEED, SAMPLING, HIGHEST = 2000.0, 8000.0, 2000.0
SIDE, TAPS = 6, 2  # elements a side of the square array, taps an element
FREQUENCIES = np.linspace(500, 3000, 6)


@published(
    "cvx_broadband_array", "CVX examples, antenna_array_design/broadband_array_min_sidelobe", grid(0.491879, 0.102)
)
def broadband() -> Problem:
    apart = 0.45 * SPEED / HIGHEST
    east = np.repeat(np.tile(np.arange(SIDE), SIDE), TAPS) * apart / SPEED
    north = np.repeat(np.repeat(np.arange(SIDE), SIDE), TAPS) * apart / SPEED
    delay = np.tile(np.arange(TAPS) / SAMPLING, SIDE**2)
    u, v, t = Variable(len(east), name="u"), Variable(len(east), name="v"), Variable(name="t")
    directions = np.linspace(1, 360, 180)
    target = np.deg2rad(directions[np.argmin(np.abs(directions - 70))])

    def phase(f: float, angle: Any) -> Any:
        return 2 * np.pi * f * (east * np.cos(angle) + north * np.sin(angle) - delay)

    rows: list[Any] = []
    for f in FREQUENCIES:
        inside = 1500 <= f <= 2000
        if inside:
            ahead = phase(f, target)
            rows += [np.cos(ahead) @ u - np.sin(ahead) @ v == 1, np.sin(ahead) @ u + np.cos(ahead) @ v == 0]
        for k, (first, last) in enumerate([(80, 360), (1, 60)] if inside else [(1, 360)]):
            y = Index(f"y{f:.0f}_{k}", Box([np.deg2rad(first), 0], [np.deg2rad(last), 2 * np.pi]))
            turned = phase(f, y[0]) + y[1]
            rows.append(forall(y, np.cos(turned) @ u - np.sin(turned) @ v <= t))
    return Problem(minimize(t), rows)
