"""sin(u) / u with its removable singularity, and its derivatives up to the sixth.

All of them are integrals, s⁽ⁿ⁾(u) = ∫₀¹ τⁿ cos⁽ⁿ⁾(τ u) dτ. So |s⁽ⁿ⁾| <= 1 / (n + 1), and s⁽ⁿ⁾ changes by at most
1 / (n + 2) times the change of u, which is all that an enclosure needs beside the value at the middle of a box.
"""

from __future__ import annotations

from math import factorial
from typing import Any

import numpy as np

from .interval import EPS, Array, Interval, down, up
from .jets import Numbers

WAVE_ULPS = 4.0  # what np.sin and np.cos may be off by, in the checked range

# Beyond, the kernels of sin and cos lose digits near multiples of pi / 2: 2,000 units at 2e14.
CHECKED_ANGLES = (-1e8, 1e8)


def _errors() -> tuple[float, ...]:
    """What the computed values of each order may be off by.

    In the series, the coefficient of u^(2k) meets 2k + 1 roundings and is at most 1 / (2k)!: less than 8 units. Beyond
    |u| = 1, order 0 is a sine and a division, and the recurrence takes n times the error of the order before, that of
    a sine, and three roundings of numbers below 2.
    """
    units = [WAVE_ULPS + 1.0]
    for n in range(1, 7):
        units.append(n * units[-1] + WAVE_ULPS + 3.0)
    return tuple(max(8.0, 1.25 * u) * EPS for u in units)


ERROR = _errors()


def sinc(u: Numbers, order: int = 0) -> Any:
    """The derivative of that order of sin(u) / u, at points or over intervals."""
    return _enclosed(u, order) if isinstance(u, Interval) else _values(np.asarray(u, dtype=float), order)


def _values(u: Array, order: int) -> Array:
    small = np.abs(u) < 1
    far = np.where(small, 1.0, u)
    waves = (np.sin(far), np.cos(far), -np.sin(far), -np.cos(far))  # the derivatives of sin
    value = waves[0] / far
    for n in range(1, order + 1):  # u s = sin u, differentiated n times: u s⁽ⁿ⁾ + n s⁽ⁿ⁻¹⁾ = sin⁽ⁿ⁾ u
        value = (waves[n % 4] - n * value) / far
    return np.where(small, _series(np.where(small, u, 0.0), order), value)


def _series(u: Array, order: int) -> Array:
    """The Taylor series, whose terms hold the powers of u with the parity of the order."""
    first = order % 2
    total = np.zeros_like(u)
    for j in range(first + 22, first - 1, -2):  # what is left out is below 1e-22
        sign = -1.0 if (j + order) // 2 % 2 else 1.0
        total = total * (u * u) + sign / ((j + order + 1) * factorial(j))
    return total * u if first else total


def _enclosed(u: Interval, order: int) -> Interval:
    middle = 0.5 * u.lo + 0.5 * u.hi
    radius = up(np.maximum(u.hi - middle, middle - u.lo))
    value, room = _values(middle, order), up(radius / (order + 2), 2.0) + ERROR[order]
    # Where the box leaves the checked arguments, or is infinite, only the last bound is known.
    least, largest = CHECKED_ANGLES
    room = np.where((u.lo >= least) & (u.hi <= largest), room, np.inf)
    most = float(up(np.asarray(1.0 / (order + 1))))
    return Interval(np.fmax(down(value - room, 2.0), -most), np.fmin(up(value + room, 2.0), most))
