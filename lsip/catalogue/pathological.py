"""Where theory warns: infeasible, unbounded, not attained, with a duality gap, without a Slater point."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..domains import Box, Interval
from ..expressions import Index, Variable
from ..model import Problem, forall, maximize, minimize
from .bases import sphere
from .entry import known


def hyperbola(objective: int, upper: float | NDArray[np.float64]) -> Problem:
    """The smallest coordinate of a point above the branch x1 x2 = 1 of the hyperbola, given by its tangents."""
    x = Variable(2, name="x", upper=upper)
    t = Index("t", Interval(0, 1))
    return Problem(
        minimize(x[objective]),
        [forall(t, t**2 * x[0] + (1 - t) ** 2 * x[1] >= 2 * t * (1 - t))],
    )


@known(
    0.0,
    digits=4,
    status="infimum",
    tags=("not_attained", "constructed", "numerically_unconfirmed"),
    source="textbook example",
    note="x = (h, 1/h) is feasible for every h > 0, and no point with x1 = 0 is.",
)
def hyperbola_inf() -> Problem:
    """The smallest x1 above a hyperbola: an infimum that is not attained."""
    return hyperbola(0, np.inf)


@known(
    0.001,
    digits=12,
    tags=("ill_posed", "constructed"),
    source="textbook example",
    note="(1/1000, 1000) is optimal.",
)
def hyperbola_box() -> Problem:
    """The smallest x1 above a hyperbola where x2 is at most 1000."""
    return hyperbola(0, np.array([np.inf, 1000]))


@known(
    np.nan,
    digits=0,
    status="infeasible",
    tags=("infeasible", "weak", "constructed"),
    source="textbook example",
    note="Every finite subsystem is feasible. At t = 1, x1 has to be 0; divided by 1 - t, one row contradicts itself.",
    slater=False,
)
def weakly_infeasible() -> Problem:
    """A point above a hyperbola with x1 at most 0."""
    return hyperbola(1, np.array([0, np.inf]))


@known(
    0.0,
    digits=0,
    status="gap",
    tags=("duality_gap", "no_slater", "2d", "trig", "numerically_unconfirmed"),
    source="Vandenberghe & Boyd (1996), a semidefinite program",
    note="The value is 0, but finite relaxations have values that tend to -1 at best.",
    slater=False,
)
def duality_gap() -> Problem:
    """A semidefinite program with a duality gap, through the quadratic forms of unit vectors."""
    x = Variable(2, name="x")
    y = Index("y", Box([0, 0], [np.pi, 2 * np.pi]))
    v = sphere(y)
    form = 2 * v[0] * v[1] * x[0] + v[1] ** 2 * x[1] + v[2] ** 2 * (1 + x[0])
    return Problem(minimize(x[0]), [forall(y, form >= 0)])


def parabola_at_a_third(bound: float) -> Problem:
    """The smallest value at 1/3 of a parabola above exp on [0, 1]."""
    x = Variable(3, name="x", lower=-bound, upper=bound)
    t = Index("t", Interval(0, 1))
    return Problem(
        minimize(x[0] + x[1] / 3 + x[2] / 9),
        [forall(t, t ** np.arange(3) @ x >= np.exp(t))],
    )


@known(
    1.3956124250860895,
    digits=11,
    tags=("always_unbounded", "hard", "constructed", "unbounded_start"),
    source="constructed",
    note="exp(1/3). The objective lies on the boundary of the moment cone, by rounding 6e-18 inside of it: relaxations "
    "without 1/3 are unbounded, and multipliers that balance exactly are found in rational numbers.",
)
def boundary_eval() -> Problem:
    """The smallest value at 1/3 of a parabola above exp on [0, 1]."""
    return parabola_at_a_third(np.inf)


@known(
    1.3956124250860895,
    digits=12,
    tags=("constructed",),
    source="constructed",
    note="exp(1/3).",
)
def boundary_eval_box() -> Problem:
    """The smallest value at 1/3 of a parabola above exp on [0, 1], its coefficients at most 50."""
    return parabola_at_a_third(50.0)


@known(
    np.inf,
    digits=0,
    status="unbounded",
    tags=("unbounded", "trig", "constructed", "unbounded_start"),
    source="constructed",
    note="(0, 1) is the only direction of recession that improves, and it touches the tangents at both ends; with "
    "np.pi in place of π only directions such as (1.8e-16, 1) are proven to be one.",
)
def halfdisc_unbounded() -> Problem:
    """The highest point under the tangents of the lower half of a circle."""
    x = Variable(2, name="x")
    t = Index("t", Interval(np.pi, 2 * np.pi))
    return Problem(maximize(x[1]), [forall(t, np.cos(t) * x[0] + np.sin(t) * x[1] <= 1)])


@known(
    np.inf,
    digits=0,
    status="unbounded",
    tags=("unbounded", "2d", "trig", "constructed"),
    source="constructed",
    note="Every direction near (0, 0, 1) is one of recession, with room to spare.",
)
def cap_unbounded() -> Problem:
    """The highest point inside the tangent planes of a cap at the bottom of a sphere."""
    x = Variable(3, name="x")
    y = Index("y", Box([2 * np.pi / 3, 0], [np.pi, 2 * np.pi]))
    return Problem(maximize(x[2]), [forall(y, sphere(y) @ x <= 1)])


@known(
    np.nan,
    digits=0,
    status="infeasible",
    tags=("infeasible", "multi_family", "nonsmooth", "constructed"),
    source="Bernstein (1914)",
    note="Infeasible by a hair: the best quartic errs by 0.06762.",
    slater=False,
)
def infeasible_abs() -> Problem:
    """A quartic within 0.067 of |t| on [-1, 1]."""
    x = Variable(5, name="x")
    t = Index("t", Interval(-1, 1))
    p = t ** np.arange(5) @ x
    return Problem(
        minimize(x[0]),
        [forall(t, [p <= np.abs(t) + 0.067, p >= np.abs(t) - 0.067])],
    )


@known(
    np.nan,
    digits=0,
    status="infeasible",
    tags=("infeasible", "2d", "multi_family", "constructed"),
    source="constructed",
    note="The best plane errs by 1/4, so that a band of width 1/2 would be needed; the four corners prove it.",
    slater=False,
)
def infeasible_plane() -> Problem:
    """A plane between st and st + 0.4 on the unit square."""
    x = Variable(3, name="x")
    y = Index("y", Box([0, 0], [1, 1]))
    plane = x[0] + y @ x[1:]
    product = y[0] * y[1]
    return Problem(minimize(x[0]), [forall(y, [plane >= product, plane <= product + 0.4])])


@known(
    np.nan,
    digits=0,
    status="infeasible",
    tags=("infeasible", "multi_family", "trig", "fir", "constructed"),
    source="Vanderbei's collection of nonlinear models, fir_linear with a fixed ripple",
    note="The smallest ripple is 0.0457.",
    slater=False,
)
def infeasible_fir() -> Problem:
    """A low-pass filter of length 20 with ripple 0.02 and a stop band below 0.01."""
    h = Variable(10, name="h")
    w = Index("w", Interval(0, np.pi / 2))
    v = Index("v", Interval(2 * np.pi / 3, np.pi))
    passed = 2 * np.cos((np.arange(10) - 9.5) * w) @ h
    stopped = 2 * np.cos((np.arange(10) - 9.5) * v) @ h
    return Problem(
        minimize(0 * h[0]),
        [
            forall(w, [passed <= 1.02, passed >= 0.98]),
            forall(v, [stopped <= 0.01, stopped >= -0.01]),
        ],
    )
