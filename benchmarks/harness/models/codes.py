"""Linear programming bounds: spherical codes (Delsarte) and sphere packings (Cohn and Elkies)."""

from __future__ import annotations

from math import factorial, gamma, pi, sqrt
from typing import Any

import numpy as np

from lsip import Index, Interval, Problem, Variable, forall, minimize

from .claims import published, value

SHARP = "ClusteredLowRankSolver.jl, delsarte; sharp codes of Levenshtein, Cohn and Kumar"
PACKING = "Cohn and Elkies, table of bounds; ahtajdini/LP_HD_SPack"
DEGREE = 8


def _gegenbauer(t: Any, dimension: int) -> Any:
    """P_1, …, P_DEGREE of a dimension, 1 at t = 1."""
    rows = [np.ones_like(t), t]
    for k in range(1, DEGREE):
        rows.append(((2 * k + dimension - 2) * t * rows[k] - k * rows[k - 1]) / (k + dimension - 2))
    return np.stack(rows[1:])


def _code(dimension: int, cosine: float) -> Problem:
    a, t = Variable(DEGREE, name="a", lower=0), Index("t", Interval(-1, cosine))
    return Problem(minimize(1 + a.sum()), [forall(t, _gegenbauer(t, dimension) @ a <= -1)])


for _name, _dimension, _cosine, _size in (
    ("code_12_icosa", 3, 1 / sqrt(5), 12),
    ("code_27_schlafli", 6, 1 / 4, 27),
    ("code_56", 7, 1 / 3, 56),
    ("code_275_mclaughlin", 22, 1 / 6, 275),
    ("code_552", 23, 1 / 5, 552),
    ("code_891", 22, 1 / 4, 891),
):
    published(_name, SHARP, value(float(_size), 1e-6))(lambda d=_dimension, c=_cosine: _code(d, c))


def _packing(dimension: int, degree: int, radius: float) -> Problem:
    """f <= 0 beyond the radius and its transform >= 0: polynomials in w = pi |x|^2 times a Gaussian.

    The half line w >= w0 is w0 / (1 - s) with s in [0, 1), and rows are multiplied by (1 - s)^degree.
    """
    order, start = dimension / 2 - 1, pi * radius**2
    b = Variable(degree + 1, name="b")
    s, u = Index("s", Interval(0, 1)), Index("u", Interval(0, 1))
    function, transform = [], []
    for k in range(degree + 1):
        at_zero = gamma(k + order + 1) / gamma(k + 1) / gamma(order + 1)
        laguerre = [
            (-1) ** i * gamma(k + order + 1) / gamma(k - i + 1) / gamma(order + i + 1) / factorial(i)
            for i in range(k + 1)
        ]
        function.append(
            sum(laguerre[i] / at_zero * (start + 0 * s) ** i * (1 - s) ** (degree - i) for i in range(k + 1))
        )
        transform.append((start * u) ** k * (1 - u) ** (degree - k) / factorial(k) / at_zero)
    return Problem(
        minimize((radius / 2) ** dimension * b.sum()),
        [forall(s, np.stack(function) @ b <= 0), forall(u, np.stack(transform) @ b >= 0), b[0] == 1.0],
    )


PACKINGS = (  # name, dimension, degree, radius, density
    ("d3", 3, 9, 1.1, 0.18616),
    ("d8", 8, 12, sqrt(2), 0.06251),
    ("d8_N11", 8, 11, sqrt(2), 0.06251),
    ("d8_N15", 8, 15, sqrt(2), 0.06251),
    ("d4_N11", 4, 11, 1.2, 0.13126),
    ("d3_N13", 3, 13, 1.1, 0.18616),
    ("d24_N21", 24, 21, 2.0, 1.0),
)
for _name, _dimension, _degree, _radius, _density in PACKINGS:
    published(f"cohn_elkies_{_name}", PACKING, value(_density, 0.05), "a bound of this degree: within 5 %")(
        lambda d=_dimension, n=_degree, r=_radius: _packing(d, n, r)
    )
