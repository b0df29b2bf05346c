"""Sums of squares and moments: SumOfSquares.jl, MomentOpt.jl, YALMIP, SOSTOOLS, with polynomials taken as they are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lsip import Ball, Box, Index, Interval, Problem, Simplex, Variable, forall, maximize, minimize

from .claims import NOTHING, above, published, value

SOS, MOMENT, YALMIP = "SumOfSquares.jl", "MomentOpt.jl", "YALMIP"


@published("sosdemo8_prob", f"{SOS}, bounds_in_probability", value(1 / 37, 1e-6))
def probability() -> Problem:
    q = Variable(3, name="q")
    x, y = Index("x", Interval(0, 5)), Index("y", Interval(4, 5))
    moments = np.array([1, 1, 1.25])
    return Problem(
        minimize(moments @ q), [forall(x, x ** np.arange(3) @ q >= 0), forall(y, y ** np.arange(3) @ q >= 1)]
    )


@published("sosdemo7_chebyshev", f"{SOS}, test/chebyshev", value(128.0, 1e-7))
def leading_coefficient() -> Problem:
    q, x = Variable(9, name="q"), Index("x", Interval(-1, 1))
    p = x ** np.arange(9) @ q
    return Problem(maximize(q[8]), [forall(x, [p <= 1, p >= -1])])


def _options(strike: float, unit: float = 50.0) -> Problem:
    """Boyle and Lin: the dearest option on the best of three assets with these moments.

    Quadratics over the positive orthant are homogeneous quadratics over a simplex.
    """
    mean = 44.21 / unit
    variance, covariance = 184.04 / unit**2 + mean**2, 164.88 / unit**2 + mean**2
    q, y = Variable(10, name="q"), Index("y", Simplex(4))
    pairs = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2), (0, 3), (1, 3), (2, 3), (3, 3)]
    products = np.stack([y[i] * y[j] for i, j in pairs])
    same, other = {True: variance, False: covariance}, {3: 1.0}
    moments = np.array([same[i == j] if j < 3 else other.get(i, mean) for i, j in pairs])
    above_zero = [forall(y, products @ q >= 0)]
    above_gain = [forall(y, products @ q >= (y[i] - strike / unit * y[3]) * y[3]) for i in range(3)]
    return Problem(minimize(unit * (moments @ q)), above_zero + above_gain)


for _strike, _price in ((30.0, 21.51), (40.0, 13.20)):
    published(f"boyle_lin_K{_strike:.0f}", f"{SOS}, test/options_pricing", value(_price, 4e-4))(
        lambda strike=_strike: _options(strike)
    )


@published("bpt12_399", f"{SOS}, test/BPT12e399", value(10.0, 1e-6))
def circle() -> Problem:
    a, t = Variable(name="a"), Index("t", Interval(0, 2 * np.pi))
    return Problem(maximize(a), [forall(t, np.cos(t) ** 2 + a * np.sin(t) <= 10)])


def _least(name: str, polynomial: Any, half: float) -> Problem:
    """The largest number below a polynomial on a square."""
    y, g = Index(name, Box([-half, -half], [half, half])), Variable(name="g")
    return Problem(maximize(g), [forall(y, polynomial(y[0], y[1]) >= g)])


def goldstein_price(a: Any, b: Any) -> Any:
    first = 1 + (a + b + 1) ** 2 * (19 - 14 * a + 3 * a**2 - 14 * b + 6 * a * b + 3 * b**2)
    return first * (30 + (2 * a - 3 * b) ** 2 * (18 - 32 * a + 12 * a**2 + 48 * b - 36 * a * b + 27 * b**2))


def _motzkin(a: Any, b: Any) -> Any:
    return a**4 * b**2 + a**2 * b**4 - 3 * a**2 * b**2 + 1


def yalmip_quartic(a: Any, b: Any) -> Any:
    return (1 + a * b) ** 2 - a * b + (1 - b) ** 2


published("goldstein_price", f"{SOS}, goldstein_price", value(3.0, 1e-5))(lambda: _least("y", goldstein_price, 2.0))
published("momentopt_motzkin", f"{MOMENT}, polopt", value(0.0, 1e-6))(lambda: _least("y", _motzkin, 1.0))
published("yalmip_sos_lower", f"{YALMIP}, sumofsquaresprogramming", value(0.75, 1e-6))(
    lambda: _least("y", yalmip_quartic, 10.0)
)


@published("yalmip_sos_two", f"{YALMIP}, sumofsquaresprogramming", value(0.25, 1e-5))
def two_quartics() -> Problem:
    y, t = Index("y", Box([-10, -10], [10, 10])), Variable(name="t")
    a, b = y[0], y[1]
    return Problem(
        minimize(t),
        [
            forall(
                y, [t * (1 + a * b) ** 2 - a * b + (1 - b) ** 2 >= 0, (1 - a * b) ** 2 + a * b + t * (1 + b) ** 2 >= 0]
            )
        ],
    )


@published("sos_lyap_switch", f"{YALMIP} and SOSTOOLS", value(2.0, 1e-6), "x^4 - a x^2 y^2 + y^4 on the circle")
def quartic_form() -> Problem:
    a, t = Variable(name="a"), Index("t", Interval(0, 2 * np.pi))
    c, s = np.cos(t), np.sin(t)
    return Problem(maximize(a), [forall(t, c**4 - a * c**2 * s**2 + s**4 >= 0)])


def _volume(degree: int) -> Problem:
    """An upper bound on the area of the unit disc, by even polynomials on the square around it."""
    powers = [(i, j) for i in range(0, degree + 1, 2) for j in range(0, degree + 1 - i, 2)]
    q = Variable(len(powers), name="q")
    d, b = Index("d", Ball([0, 0], 1)), Index("b", Box([-1, -1], [1, 1]))
    integrals = np.array([4 / (i + 1) / (j + 1) for i, j in powers])
    return Problem(
        minimize(integrals @ q),
        [forall(d, monomials(powers, d) @ q >= 1), forall(b, monomials(powers, b) @ q >= 0)],
    )


published("momentopt_volume_d8", f"{MOMENT}, volume (order 4)")(lambda: _volume(8))
published("momentopt_volume_d20", f"{MOMENT}, volume (order 10)")(lambda: _volume(20))


def monomials(powers: list[tuple[int, int]], y: Any) -> Any:
    return np.stack([y[0] ** i * y[1] ** j for i, j in powers])


def all_powers(degree: int) -> list[tuple[int, int]]:
    return [(i, total - i) for total in range(degree + 1) for i in range(total, -1, -1)]


def _disc_integral(i: int, j: int, radius: float) -> float:
    if i % 2 or j % 2:
        return 0.0
    a, b = (i + 1) / 2, (j + 1) / 2
    around = 2 * math.gamma(a) * math.gamma(b) / math.gamma(a + b)
    return around * radius ** (i + j + 2) / (i + j + 2)


@published("julia_set_deg4", f"{SOS}, julia_set (d = 2)", NOTHING, "v(f(y)) <= v(y), integral over a disc")
def julia() -> Problem:
    c, shrink = complex(-0.7, 0.2), 0.5
    radius = 0.5 * (1 + math.sqrt(1 + 4 * abs(c)))
    powers = all_powers(4)
    v, w = Variable(len(powers), name="v"), Variable(len(powers), name="w")
    y = Index("y", Ball([0, 0], radius))
    image = [y[0] ** 2 - y[1] ** 2 + c.real, 2 * y[0] * y[1] + c.imag]
    here, there = monomials(powers, y), monomials(powers, image)
    integrals = np.array([_disc_integral(i, j, radius) for i, j in powers])
    rows = [shrink * (there @ v) <= here @ v, here @ w >= here @ v + 1, here @ w >= 0]
    return Problem(minimize(integrals @ w), [forall(y, rows)])


@published("sos_barrier", f"{SOS}, barrier_certificate", above(0.0), "the plane is cut to a square")
def barrier() -> Problem:
    powers = all_powers(4)
    b, margin = Variable(len(powers), name="b", lower=-1, upper=1), Variable(name="margin", upper=1)
    unsafe, start = Index("u", Ball([-1, -1], 0.4)), Index("o", Ball([1.5, 0], 0.5))
    y = Index("y", Box([-2.5, -2.5], [2.5, 2.5]))
    flow = [y[1], -y[0] + y[0] ** 3 / 3 - y[1]]
    slope = [
        i * y[0] ** max(i - 1, 0) * y[1] ** j * flow[0] + j * y[0] ** i * y[1] ** max(j - 1, 0) * flow[1]
        for i, j in powers
    ]
    return Problem(
        maximize(margin),
        [
            forall(unsafe, monomials(powers, unsafe) @ b >= margin),
            forall(start, monomials(powers, start) @ b <= 0),
            forall(y, np.stack(slope) @ b <= 0),
        ],
    )


@published("yalmip_lyapunov", f"{YALMIP}, robustoptimization (uncertain LMI)", NOTHING, "a matrix by its directions")
def lyapunov() -> Problem:
    p, y = Variable((2, 2), name="P"), Index("y", Box([1, 0], [2, np.pi]))
    t, v = y[0], np.stack([np.cos(y[1]), np.sin(y[1])])
    moved = np.stack([-v[0] + t * v[1], 0.2 * v[0] - v[1]])
    return Problem(minimize(p[0, 0] + p[1, 1]), [p[0, 1] == p[1, 0], forall(y, 2 * (moved @ (p @ v)) <= -1)])
