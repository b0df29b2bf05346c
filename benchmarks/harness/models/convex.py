"""Convex objectives, through the CVXPY door: Mitsos's test set, PyROS, MATLAB's fseminf, sipr."""

from __future__ import annotations

from typing import Any

import numpy as np

from lsip import Box, Interval

from .claims import NOTHING, published, value


@published("pyros_leyffer_qp", "Pyomo, pyros/tests, build_leyffer", NOTHING, "u in [0.25, 2]")
def leyffer() -> Any:
    import cvxpy as cp

    from lsip.interop.cvxpy import Index, Problem, forall

    x, u = cp.Variable(2, nonneg=True), Index("u", Interval(0.25, 2))
    return Problem(
        cp.Minimize(cp.square(x[0] - 4) + cp.square(x[1] - 1)), [forall(u, x[0] * np.sqrt(u) - u * x[1] <= 2)]
    )


@published("mitsos_watson5", "Mitsos's test set (5), tfi3", value(4.3011845, 1e-6), "a sum of exponentials")
def watson5() -> Any:
    import cvxpy as cp

    from lsip.interop.cvxpy import Index, Problem, forall

    x, y = cp.Variable(3), Index("y", Interval(0, 1))
    below = forall(y, 1 / (1 + y**2) - x[0] - x[1] * y - x[2] * y**2 <= 0)
    return Problem(cp.Minimize(cp.sum(cp.exp(x))), [x >= -1000, x <= 1000, below])


@published("mitsos_watson7", "Mitsos's test set (7)", value(1.0, 1e-6), "a quadratic")
def watson7() -> Any:
    import cvxpy as cp

    from lsip.interop.cvxpy import Index, Problem, forall

    x, y = cp.Variable(3), Index("y", Box([0, 0], [1, 1]))
    a, b = y[0], y[1]
    row = x[0] * (a + b**2 + 1) + x[1] * (a * b - b**2) + x[2] * (a * b + b**2 + b) + 1
    return Problem(cp.Minimize(cp.sum_squares(x)), [forall(y, row <= 0)])


@published("fseminf_simple", "MATLAB, help of fseminf", value(0.25, 4e-6))
def fseminf() -> Any:
    import cvxpy as cp

    from lsip.interop.cvxpy import Index, Problem, forall

    x, t = cp.Variable(), Index("t", Interval(0, 1))
    return Problem(cp.Minimize(cp.square(x - 1)), [x >= 0, x <= 2, forall(t, x - 0.5 - (t - 0.5) ** 2 <= 0)])


@published("sipr_sphere_cube", "bonStats/sipr, sip_hsphere_covers_hcube", value(0.75, 1e-5), "the radius squared")
def sphere() -> Any:
    import cvxpy as cp

    from lsip.interop.cvxpy import Index, Problem, forall

    c, s, t = cp.Variable(3), cp.Variable(), Index("t", Box([0.5, 0, -1], [1.5, 1, 0]))
    far = t[0] ** 2 + t[1] ** 2 + t[2] ** 2 - 2 * (t[0] * c[0] + t[1] * c[1] + t[2] * c[2])
    return Problem(cp.Minimize(s + cp.sum_squares(c)), [forall(t, far <= s)])
