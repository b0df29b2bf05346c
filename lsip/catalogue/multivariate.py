"""Best uniform approximation in two, three and four variables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..domains import Ball, Box, Interval
from ..expressions import Index, Variable
from ..model import Problem, forall, minimize
from .bases import best_approximation, exponents, monomials
from .entry import known

REEMTSEN = "Reemtsen, JOTA 71 (1991)"
SLOSS = "Sloss (1965)"


def best_polynomial(f: Callable[[Any], Any], lower: Sequence[float], upper: Sequence[float], degree: int) -> Problem:
    """The best polynomial of this total degree to f on a box."""
    y = Index("y", Box(lower, upper))
    return best_approximation(y, monomials(y, exponents(len(lower), degree)), f(y))


def log_sine(degree: int) -> Problem:
    return best_polynomial(lambda y: np.log(y[0] + y[1]) * np.sin(y[0]), [0, 1], [1, 2.5], degree)


def variable_power(degree: int) -> Problem:
    return best_polynomial(lambda y: (1 + y[0]) ** y[1], [0, 1], [1, 2.5], degree)


def cosine_power(degree: int) -> Problem:
    return best_polynomial(lambda y: np.cos(y[2]) * (1 + y[0]) ** y[1], [0, 1, 0], [1, 2, 1], degree)


@known(0.028063150494302046, digits=12, tags=("chebyshev", "2d"), source=REEMTSEN)
def reemtsen1_d2() -> Problem:
    """The best quadratic to log(s + t) sin(s)."""
    return log_sine(2)


@known(0.000696185587892383, digits=12, tags=("chebyshev", "2d"), source=REEMTSEN)
def reemtsen1_d4() -> Problem:
    """The best quartic to log(s + t) sin(s)."""
    return log_sine(4)


@known(
    1.005094844712497e-05,
    digits=12,
    tags=("chebyshev", "2d", "hard", "tiny_value"),
    source=REEMTSEN,
    note="The value is so small that a careless stopping rule loses all its digits.",
)
def reemtsen1_d7() -> Problem:
    """The best polynomial of degree 7 to log(s + t) sin(s)."""
    return log_sine(7)


@known(0.036575860251556486, digits=12, tags=("chebyshev", "2d"), source=REEMTSEN)
def reemtsen2_d3() -> Problem:
    """The best cubic to (1 + s)^t."""
    return variable_power(3)


@known(0.0007387481354662762, digits=12, tags=("chebyshev", "2d"), source=REEMTSEN)
def reemtsen2_d5() -> Problem:
    """The best quintic to (1 + s)^t."""
    return variable_power(5)


@known(0.0015428866716231944, digits=12, tags=("chebyshev", "2d", "hard", "n>=50"), source=REEMTSEN)
def reemtsen3_d9() -> Problem:
    """The best polynomial of degree 9 to exp(s^2 + st)."""
    return best_polynomial(lambda y: np.exp(y[0] ** 2 + y[0] * y[1]), [-1, -1], [1, 1], 9)


@known(0.15250456617017688, digits=11, tags=("chebyshev", "3d"), source=REEMTSEN)
def reemtsen4_d2() -> Problem:
    """The best quadratic to cos(u) (1 + s)^t."""
    return cosine_power(2)


@known(0.031121364617639966, digits=11, tags=("chebyshev", "3d"), source=REEMTSEN)
def reemtsen4_d3() -> Problem:
    """The best cubic to cos(u) (1 + s)^t."""
    return cosine_power(3)


@known(0.0007095095216849169, digits=11, tags=("chebyshev", "3d", "hard", "n>=50"), source=REEMTSEN)
def reemtsen4_d5() -> Problem:
    """The best quintic to cos(u) (1 + s)^t."""
    return cosine_power(5)


@known(0.08895081892036294, digits=11, tags=("chebyshev", "3d", "nonsmooth", "hard"), source=REEMTSEN)
def reemtsen5_d2() -> Problem:
    """The best quadratic to |log((st + 1) / (s + 1/2))| t^((u + 1)/2)."""

    def f(y: Index) -> Any:
        return np.abs(np.log((y[0] * y[1] + 1) / (y[0] + 0.5))) * y[1] ** ((y[2] + 1) / 2)

    return best_polynomial(f, [0, 0, 0], [1, 1, 1], 2)


@known(
    0.021297254154014976,
    digits=12,
    tags=("chebyshev", "2d", "degenerate"),
    source=f"{REEMTSEN}, a ridge function",
    note="The value of the problem in one variable for sqrt(r + 4) on [-3, 3]; the best quadratic is not unique.",
)
def reemtsen_sqrt_d2() -> Problem:
    """The best quadratic to sqrt(s + 2t + 4)."""
    return best_polynomial(lambda y: np.sqrt(y[0] + 2 * y[1] + 4), [-1, -1], [1, 1], 2)


@known(
    0.039423458594405054,
    digits=12,
    tags=("chebyshev", "2d", "degenerate"),
    source=f"{REEMTSEN}, a ridge function; Chebyshev for 1/(r + 4)",
    note="(a - sqrt(a^2 - 1))^3 / (3 (a^2 - 1)) with a = 4/3; the best cubic is not unique.",
)
def reemtsen_inv_d3() -> Problem:
    """The best cubic to 1/(s + 2t + 4)."""
    return best_polynomial(lambda y: 1 / (y[0] + 2 * y[1] + 4), [-1, -1], [1, 1], 3)


@known(
    0.5,
    digits=12,
    tags=("chebyshev", "3d", "degenerate", "hard"),
    source=SLOSS,
    note="A product of Chebyshev polynomials deviates least: 2^-1.",
)
def sloss_211() -> Problem:
    """The best cubic to s^2 t u on the cube."""
    return best_polynomial(lambda y: y[0] ** 2 * y[1] * y[2], [-1] * 3, [1] * 3, 3)


@known(
    1.0,
    digits=12,
    tags=("chebyshev", "4d", "degenerate", "hard"),
    source=SLOSS,
    note="Zero is a best approximation, and one of many.",
)
def sloss_1111() -> Problem:
    """The best cubic to the product of four variables on the cube."""
    return best_polynomial(np.prod, [-1] * 4, [1] * 4, 3)


@known(
    0.25,
    digits=12,
    tags=("chebyshev", "2d", "ball"),
    source="Gearhart (1973)",
    note="s t^2 - s/4 is -cos(3 angle)/4 on the circle and smaller inside; six equally spaced points prove it: 1/4.",
)
def disc_cubic() -> Problem:
    """The best quadratic to s t^2 on the unit disc."""
    y = Index("y", Ball([0, 0], 1))
    return best_approximation(y, monomials(y, exponents(2, 2)), y[0] * y[1] ** 2)


@known(
    0.7381231105031398,
    digits=12,
    tags=("chebyshev", "2d", "several_indices"),
    source="Diliberto & Straus (1951), approximation by sums of functions of one variable",
    note="The four corners with alternating signs prove ((e - 1)/2)^2, a product of two half ranges.",
)
def sum_of_functions() -> Problem:
    """The best approximation of exp(s + t) by a + b exp(s) + c exp(t) on the unit square."""
    x = Variable(3, name="x")
    error = Variable(name="error")
    s = Index("s", Interval(0, 1))
    t = Index("t", Interval(0, 1))
    residual = np.exp(s + t) - x[0] - x[1] * np.exp(s) - x[2] * np.exp(t)
    return Problem(minimize(error), [forall((s, t), [residual <= error, residual >= -error])])
