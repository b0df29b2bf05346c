"""The angle of a point in the plane, np.arctan2(y, x): smooth but for the origin and for its cut, where y = 0 > x.

Across the cut it jumps from pi to -pi; on the cut it is pi. A box that the cut crosses knows both sides, and nothing
about slopes. Elsewhere derivatives are those of arctan(y / x) or of -arctan(x / y), whichever divides by more.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import jets
from .defined import SURE, WILD, Doubt, worst
from .functions import FUNCTIONS, HALF_PI_ABOVE, PI_ABOVE
from .graph import Expression, Part, Pass, as_expression
from .interval import Array, Interval, magnitudes, widened
from .jets import Jet, Numbers
from .kinks import choose
from .operands import Mask
from .operations import Pairwise
from .printing import Origin

ANGLE_ULPS = 4.0  # what np.arctan2 may be off by, for all arguments; measured below 1, NumPy's kernels admit 4


class Angle(Pairwise):
    """The angle of (x, y), in (-pi, pi], element by element: y is its first argument."""

    op = "angle"

    def forward(self, args: list[Jet[Numbers]], run: Pass) -> Jet[Numbers]:
        known: list[Jet[Any]] = args  # arrays at points, intervals over boxes
        y, x = known
        steep, lost, value = self._boxes(y.value, x.value) if isinstance(run.y, Interval) else _points(y.value, x.value)
        if run.order == 0 or (y.gradient is None and x.gradient is None):
            return Jet(value)
        flat, upright = _arctan(y, x, run.order), jets.negate(_arctan(x, y, run.order))
        derivatives = [
            choose(~steep, steep, flat[d], upright[d], True, run.entries(d)) for d in range(1, run.order + 1)
        ]
        return Jet(value, *(_forgotten(d, lost) for d in derivatives))

    def derivative(self, args: list[Expression | None]) -> Expression:
        y, x = self.args
        dy, dx = (0.0 if d is None else d for d in args)
        return as_expression((x * dy - y * dx) / (x**2 + y**2))

    def _boxes(self, y: Interval, x: Interval) -> tuple[Mask, Mask, Interval]:
        """Which boxes are rather above or below the origin, on which nothing is known of slopes, and the angles."""
        near_x, near_y = magnitudes(x)[0], magnitudes(y)[0]
        origin = (near_x == 0) & (near_y == 0)
        crossed = (x.lo < 0) & (y.lo < 0) & (y.hi >= 0)
        # Along every side of a box without origin and cut the angle is monotone; adding 0.0 makes 0.0 of -0.0.
        corners = np.stack(np.broadcast_arrays(*(_angle(b, a) for a in (x.lo, x.hi) for b in (y.lo, y.hi))))
        box = widened(corners.min(axis=0), corners.max(axis=0), ANGLE_ULPS)
        right, above = x.lo >= 0, y.lo >= 0
        least = np.where(above, 0.0, np.where(right, -HALF_PI_ABOVE, -PI_ABOVE))
        lo = np.where(origin, least, np.where(crossed, -PI_ABOVE, box.lo))
        hi = np.where(origin, np.where(right, HALF_PI_ABOVE, PI_ABOVE), np.where(crossed, PI_ABOVE, box.hi))
        return near_y > near_x, origin | crossed, Interval(lo, hi)

    @property
    def partial(self) -> bool:
        return True

    def typed(self, k: int, part: Part) -> Origin:
        return ("arctan2", part(0, k), part(1, k))

    def doubt(self, args: list[Interval], doubts: list[Doubt], value: Interval, run: Pass) -> Doubt:
        """On the cut and at the origin NumPy has the sign of a zero decide, which reals have not."""
        y, x = args
        turns = (y.lo <= 0) & (y.hi >= 0) & (x.lo <= 0)
        return worst(super().doubt(args, doubts, value, run), np.where(turns, WILD, SURE))

    def absence(self, args: list[Interval], doubts: list[Doubt], value: Interval, run: Pass) -> Doubt:
        """An angle has a value everywhere: on the cut it is pi, and at the origin 0."""
        return super().doubt(args, doubts, value, run)


def _angle(y: Array, x: Array) -> Array:
    return np.arctan2(y + 0.0, x + 0.0)


def _points(y: Array, x: Array) -> tuple[Mask, Mask, Array]:
    return np.abs(y) > np.abs(x), np.zeros((1, 1), dtype=bool), _angle(y, x)


def _arctan(a: Jet[Numbers], b: Jet[Numbers], order: int) -> Jet[Numbers]:
    """arctan(a / b)."""
    inverse, arctan = FUNCTIONS["reciprocal"], FUNCTIONS["arctan"]
    below = jets.chain(b, inverse, inverse.first, inverse.second, inverse.third, order)
    return jets.chain(jets.multiply(a, below, order), arctan, arctan.first, arctan.second, arctan.third, order)


def _forgotten(derivative: Numbers | None, lost: Mask) -> Numbers | None:
    """A derivative without what is not known of it."""
    if not isinstance(derivative, Interval) or not lost.any():
        return derivative
    return Interval(np.where(lost, -np.inf, derivative.lo), np.where(lost, np.inf, derivative.hi))
