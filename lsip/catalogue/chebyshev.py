"""Best uniform approximation on an interval: smooth, nonsmooth, badly scaled, narrow and exact."""

from __future__ import annotations

import numpy as np

from ..domains import Box, Finite, Interval
from ..expressions import Index, Variable
from ..model import Problem, forall, minimize
from .bases import best_approximation
from .entry import known


@known(
    0.0078125,
    digits=11,
    tags=("chebyshev",),
    source="Chebyshev (1854)",
    note="The scaled Chebyshev polynomial of degree 8 deviates least: 2^-7.",
)
def monic8() -> Problem:
    """The monic polynomial of degree 8 that deviates least from zero on [-1, 1]."""
    t = Index("t", Interval(-1, 1))
    return best_approximation(t, t ** np.arange(8), t**8)


@known(
    0.0346439359920339,
    digits=12,
    tags=("chebyshev", "equality"),
    source="Chebyshev (1859); Schur (1919)",
    note="T_6 stretched until its last zero is at the end: 2 / (1 + cos(pi/12))^6.",
)
def monic6_zero() -> Problem:
    """The monic polynomial of degree 6 with a zero at 1 that deviates least from zero on [-1, 1]."""
    x = Variable(6, name="x")
    error = Variable(name="error")
    t = Index("t", Interval(-1, 1))
    p = t**6 - t ** np.arange(6) @ x
    return Problem(
        minimize(error),
        [forall(t, [p <= error, p >= -error]), x.sum() == 1],
    )


@known(
    0.125,
    digits=12,
    tags=("chebyshev", "nonsmooth"),
    source="de la Vallee Poussin (1910)",
    note="t^2 + 1/8 errs by 1/8 at -1, -1/2, 0, 1/2 and 1.",
)
def abs_d2() -> Problem:
    """The best parabola to |t| on [-1, 1]."""
    t = Index("t", Interval(-1, 1))
    return best_approximation(t, t ** np.arange(3), np.abs(t))


@known(
    0.02784511855355086,
    digits=10,
    tags=("chebyshev", "nonsmooth"),
    source="Bernstein (1914); Varga & Carpenter (1985)",
    note="Ten times the value is near Bernstein's constant 0.2801694990.",
)
def abs_d10() -> Problem:
    """The best polynomial of degree 10 to |t| on [-1, 1]."""
    t = Index("t", Interval(-1, 1))
    return best_approximation(t, t ** np.arange(11), np.abs(t))


@known(
    1.0969855215855553,
    digits=12,
    tags=("chebyshev", "badly_scaled", "nonsmooth", "hard"),
    source="Bernstein (1914), by the substitution t = 1000 s^2",
    note="sqrt(1000) times the error of the best polynomial of degree 8 to |s|; coefficients from 1 down to 1e-11.",
)
def sqrt1000_d4() -> Problem:
    """The best quartic to the square root on [0, 1000]."""
    t = Index("t", Interval(0, 1000))
    return best_approximation(t, t ** np.arange(5), np.sqrt(t))


@known(
    0.49739644613992057,
    digits=11,
    tags=("chebyshev", "narrow", "hard", "constructed"),
    source="after Runge (1901)",
    note="The peak is a thousandth wide and lies off every regular grid.",
)
def spike_d5() -> Problem:
    """The best quintic to a narrow peak on [-1, 1]."""
    t = Index("t", Interval(-1, 1))
    return best_approximation(t, t ** np.arange(6), 1 / (1 + 1e6 * (t - 1 / np.pi) ** 2))


@known(
    0.0,
    digits=12,
    tags=("chebyshev", "degenerate", "all_active", "constructed"),
    source="constructed",
    note="The target is in the span, so that every index is active at the optimum.",
)
def exact_fit() -> Problem:
    """The best cubic to a cubic on [-1, 1]."""
    t = Index("t", Interval(-1, 1))
    return best_approximation(t, t ** np.arange(4), 1 + t - t**3)


@known(
    0.020833333333333332,
    digits=12,
    tags=("chebyshev", "complex", "trig", "2d", "curve_active", "degenerate"),
    source="Al'per's theorem; linearised by an angle as in Glashoff & Roleff (1981)",
    note="1/48. The error curve is a circle, so that a whole curve of indices is active.",
)
def complex_alper() -> Problem:
    """The best quartic to 1/(z - 2) on the unit circle, with real coefficients."""
    x = Variable(5, name="x")
    error = Variable(name="error")
    y = Index("y", Box([0, 0], [np.pi, 2 * np.pi]))
    angle, phase = y[0], y[1]
    # The real parts of z^k and of 1/(z - 2), each turned by the phase.
    powers = np.cos(np.arange(5) * angle - phase)
    target = (np.cos(angle + phase) - 2 * np.cos(phase)) / (5 - 4 * np.cos(angle))
    return Problem(minimize(error), [forall(y, target - powers @ x <= error)])


@known(
    0.0703125,
    digits=12,
    tags=("chebyshev", "union", "constructed"),
    source="Akhiezer (1928), two symmetric intervals",
    note="By s = t^2 the problem becomes the monic one of degree 2 on [1/4, 1]: 2 (3/16)^2 = 9/128.",
)
def monic4_two_bands() -> Problem:
    """The monic quartic that deviates least from zero on [-1, -1/2] and [1/2, 1]."""
    t = Index("t", Interval(-1, -0.5) | Interval(0.5, 1))
    return best_approximation(t, t ** np.arange(4), t**4)


@known(
    12.5,
    digits=12,
    tags=("chebyshev", "finite"),
    source="constructed",
    note="The constant 25/2 is best, by symmetry; the index set is finite, so that this is an ordinary LP.",
)
def parabola_on_integers() -> Problem:
    """The best line to t^2 on the integers from -5 to 5."""
    y = Index("y", Finite(np.arange(-5, 6)[:, None]))
    return best_approximation(y, y[0] ** np.arange(2), y[0] ** 2)
