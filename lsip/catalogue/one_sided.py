"""One-sided L1 approximation: the smallest integral of a combination that stays above a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..domains import Box, Interval
from ..expressions import Index, Variable
from ..model import Problem, forall, minimize
from .bases import monomials, quadratic_exponents
from .entry import known

KORTANEK = "Kortanek & No, linear part of the CUTEst problem KSIP"


def polynomial_above(f: Callable[[Any], Any], n: int) -> Problem:
    """The polynomial with n coefficients that lies above f on [0, 1] and has the smallest integral."""
    x = Variable(n, name="x")
    t = Index("t", Interval(0, 1))
    integrals = 1 / np.arange(1, n + 1)
    return Problem(minimize(integrals @ x), [forall(t, t ** np.arange(n) @ x >= f(t))])


@known(
    1.8591409142295225,
    digits=12,
    tags=("smooth", "L1"),
    source="Glashoff & Gustafson, Linear Optimization and Approximation (1983)",
    note="The chord is optimal: (1 + e) / 2.",
)
def gg_exp_n2() -> Problem:
    """The line above exp on [0, 1] with the smallest integral."""
    return polynomial_above(np.exp, 2)


@known(
    0.6490420932966572,
    digits=12,
    tags=("smooth", "L1", "cutest"),
    source="Tanaka, Fukushima & Ibaraki (1988), CUTEst TFI2; Watson (1983), problem 4a",
    note="Radau quadrature gives (3 tan(1/3) + tan 1) / 4; values in the literature often belong to a discretisation.",
)
def tfi2_tan_n3() -> Problem:
    """The parabola above tan on [0, 1] with the smallest integral."""
    return polynomial_above(np.tan, 3)


@known(
    0.6160851514356736,
    digits=11,
    tags=("smooth", "L1", "sipampl", "unbounded_start"),
    source="Watson (1983), problem 4b; SIPAMPL watson4b",
    note="The Lobatto quadrature of tan with four nodes on [0, 1].",
)
def watson4b_tan_n6() -> Problem:
    """The quintic above tan on [0, 1] with the smallest integral."""
    return polynomial_above(np.tan, 6)


@known(
    0.6156532236333742,
    digits=11,
    tags=("smooth", "L1", "sipampl", "unbounded_start"),
    source="Watson (1983), problem 4c; SIPAMPL watson4c",
    note="The Lobatto quadrature of tan with five nodes on [0, 1].",
)
def watson4c_tan_n8() -> Problem:
    """The polynomial of degree 7 above tan on [0, 1] with the smallest integral."""
    return polynomial_above(np.tan, 8)


@known(
    0.4596976941320484,
    digits=12,
    tags=("smooth", "L1", "ill_conditioned", "unbounded_start"),
    source=f"{KORTANEK}, for sin",
    note="The Gauss quadrature of sin with five nodes on [0, 1].",
)
def ks_sin_n10() -> Problem:
    """The polynomial of degree 9 above sin on [0, 1] with the smallest integral."""
    return polynomial_above(np.sin, 10)


@known(
    0.6931472081218274,
    digits=11,
    tags=("smooth", "L1", "ill_conditioned", "unbounded_start"),
    source=f"{KORTANEK}, for 1/(2 - t)",
    note="The Lobatto quadrature of 1/(2 - t) with six nodes on [0, 1].",
)
def ks_inv_n10() -> Problem:
    """The polynomial of degree 9 above 1/(2 - t) on [0, 1] with the smallest integral."""
    return polynomial_above(lambda t: 1 / (2 - t), 10)


@known(
    1.7182818284590453,
    digits=12,
    tags=("smooth", "L1", "ill_conditioned", "hard", "unbounded_start"),
    source=f"{KORTANEK}, for exp with 20 coefficients",
    note="The Lobatto quadrature of exp with eleven nodes, which is e - 1 in double precision.",
)
def ks_exp_n20() -> Problem:
    """The polynomial of degree 19 above exp on [0, 1] with the smallest integral."""
    return polynomial_above(np.exp, 20)


@known(
    0.6156264703873019,
    digits=10,
    tags=("smooth", "L1", "ill_conditioned", "hard", "unbounded_start"),
    source=f"{KORTANEK}, for tan with 20 coefficients",
    note="The Lobatto quadrature of tan with eleven nodes on [0, 1].",
)
def ks_tan_n20() -> Problem:
    """The polynomial of degree 19 above tan on [0, 1] with the smallest integral."""
    return polynomial_above(np.tan, 20)


@known(
    2.435643488286993,
    digits=9,
    tags=("smooth", "L1", "sipampl", "2d"),
    source="Watson (1983), problem 8; SIPAMPL watson8",
)
def watson8_2d() -> Problem:
    """The quadratic above exp(|y|^2) on the unit square with the smallest integral."""
    x = Variable(6, name="x")
    y = Index("y", Box([0, 0], [1, 1]))
    integrals = np.array([1, 1 / 2, 1 / 2, 1 / 3, 1 / 4, 1 / 3])
    return Problem(
        minimize(integrals @ x),
        [forall(y, monomials(y, quadratic_exponents()) @ x >= np.exp(y[0] ** 2 + y[1] ** 2))],
    )


@known(
    -12.0,
    digits=12,
    tags=("smooth", "sipampl", "2d", "degenerate", "curve_active"),
    source="Watson (1983), problem 9; SIPAMPL watson9",
    note="The constant 3 is optimal and touches the bound along both diagonals.",
)
def watson9_2d() -> Problem:
    """The quadratic below 3 + (y1^2 - y2^2)^2 on a square with the largest integral."""
    x = Variable(6, name="x")
    y = Index("y", Box([-1, -1], [1, 1]))
    bound = 3 + (y[0] - y[1]) ** 2 * (y[0] + y[1]) ** 2
    return Problem(
        minimize(-4 * x[0] - 2 / 3 * (x[3] + x[5])),
        [forall(y, monomials(y, quadratic_exponents()) @ x <= bound)],
    )
