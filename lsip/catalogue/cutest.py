"""Problems that the CUTEst collection ships discretised, taken back to the continuum."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..domains import Interval
from ..expressions import Index, Variable
from ..model import Problem, forall, minimize
from .bases import Formula, best_approximation
from .entry import known

POWELL = "Powell (1992)"


@known(
    0.5382453181658122,
    digits=10,
    tags=("chebyshev", "cutest"),
    source="Oettershagen (1982), CUTEst OET1",
)
def oet1() -> Problem:
    """The best uniform approximation of t^2 by t and exp(t) on [0, 2]."""
    t: Any = Index("t", Interval(0, 2))
    return best_approximation(t, np.stack([t, np.exp(t)]), t**2)


@known(
    0.004505069931155194,
    digits=12,
    tags=("chebyshev", "cutest"),
    source="Oettershagen (1982), CUTEst OET3",
)
def oet3() -> Problem:
    """The best uniform approximation of sin by a parabola on [0, 1]."""
    t = Index("t", Interval(0, 1))
    return best_approximation(t, t ** np.arange(3), np.sin(t))


@known(
    0.17839458619719362,
    digits=10,
    tags=("minimax", "cutest"),
    source="Polak & Tits (1982), CUTEst PT",
)
def pt() -> Problem:
    """The mixture of two parabolas on [0, 1] with the smallest maximum."""
    x = Variable(name="x")
    top = Variable(name="top")
    t = Index("t", Interval(0, 1))
    return Problem(
        minimize(top),
        [forall(t, (2 * t**2 - 1) * x + t * (1 - t) * (1 - x) <= top)],
    )


def disc_by_tangents(lower: float | NDArray[np.float64]) -> Problem:
    """The lowest point of the unit disc, which is given by its tangents."""
    x = Variable(2, name="x", lower=lower)
    t = Index("t", Interval(0, 2 * np.pi))
    return Problem(minimize(x[1]), [forall(t, np.cos(t) * x[0] + np.sin(t) * x[1] >= -1)])


@known(
    -1.0,
    digits=12,
    tags=("trig", "cutest", "unbounded_start"),
    source=f"{POWELL}, CUTEst SIPOW1",
)
def sipow1() -> Problem:
    """The lowest point of the unit disc, by tangents."""
    return disc_by_tangents(-np.inf)


@known(
    -1.0,
    digits=12,
    tags=("trig", "cutest", "unbounded_start"),
    source=f"{POWELL}, CUTEst SIPOW2",
)
def sipow2() -> Problem:
    """The lowest point of the unit disc, by tangents, where the first coordinate is at least -1."""
    return disc_by_tangents(np.array([-1, -np.inf]))


def plane_below(t: Index, xi: Formula, eta: Formula) -> Problem:
    """A plane below xi^2 eta on a closed curve with the smallest largest distance."""
    plane = Variable(3, name="plane")
    error = Variable(name="error")
    height = plane[0] + plane[1] * xi + plane[2] * eta
    f = xi**2 * eta
    return Problem(minimize(error), [forall(t, [height + error >= f, height <= f])])


@known(
    0.5358983848622456,
    digits=12,
    tags=("nonsmooth", "cutest", "multi_family"),
    source=f"{POWELL}, CUTEst SIPOW3",
    note="4 - 2 sqrt(3); the values that CUTEst gives grow with its number of points and stay below.",
)
def sipow3() -> Problem:
    """The best plane below xi^2 eta on the boundary of the unit square."""
    t: Any = Index("t", Interval(0, 4))
    xi = np.clip(t - 1, 0, 1) - np.clip(t - 3, 0, 1)
    eta = np.clip(t, 0, 1) - np.clip(t - 2, 0, 1)
    return plane_below(t, xi, eta)


def plane_below_on_circle(end: float) -> Problem:
    """As `plane_below`, on the circle through the corners of the unit square, up to the angle `end`."""
    t = Index("t", Interval(0, end))
    xi = 0.5 - np.sqrt(0.5) * np.cos(np.pi / 4 - t)
    eta = 0.5 - np.sqrt(0.5) * np.sin(np.pi / 4 - t)
    return plane_below(t, xi, eta)


@known(
    0.27294473726936236,
    digits=12,
    tags=("trig", "cutest", "multi_family"),
    source=f"{POWELL}, CUTEst SIPOW4 as it is coded",
    note="The description speaks of the whole circle, but the code stops half way; see sipow4_full.",
)
def sipow4_half() -> Problem:
    """The best plane below xi^2 eta on a half circle."""
    return plane_below_on_circle(np.pi)


@known(
    0.6072382485598378,
    digits=12,
    tags=("trig", "cutest", "multi_family"),
    source=f"{POWELL}, CUTEst SIPOW4 as it is described",
)
def sipow4_full() -> Problem:
    """The best plane below xi^2 eta on a circle."""
    return plane_below_on_circle(2 * np.pi)
