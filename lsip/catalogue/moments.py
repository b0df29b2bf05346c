"""Bounds on probabilities and expectations from a few moments."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..domains import Interval
from ..expressions import Index, Variable
from ..model import Problem, forall, maximize, minimize
from .entry import known


@known(
    0.3076923076923077,
    digits=10,
    tags=("moment", "multi_family", "unbounded_start"),
    source="Cantelli (1928)",
    note="s^2 / (s^2 + d^2) = 4/13 with s = 1 and d = 3/2.",
)
def cantelli() -> Problem:
    """The largest probability of X >= 2.5 when X in [0, 5] has mean 1 and variance 1."""
    x = Variable(3, name="x")
    s = Index("s", Interval(2.5, 5))
    t = Index("t", Interval(0, 5))
    return Problem(
        minimize(x[0] + x[1] + 2 * x[2]),
        [forall(s, s ** np.arange(3) @ x >= 1), forall(t, t ** np.arange(3) @ x >= 0)],
    )


@known(
    0.30901699437494745,
    digits=12,
    tags=("moment", "nonsmooth"),
    source="Scarf (1958); Lo (1987)",
    note="(sqrt(5/4) - 1/2) / 2.",
)
def scarf() -> Problem:
    """The largest expected payoff of a call with strike 5.5 when the price in [0, 10] has mean 5 and variance 1."""
    x = Variable(3, name="x")
    s = Index("s", Interval(0, 10))
    return Problem(
        minimize(x[0] + 5 * x[1] + 26 * x[2]),
        [forall(s, s ** np.arange(3) @ x >= np.maximum(s - 5.5, 0))],
    )


def lebesgue_moments() -> NDArray[np.float64]:
    """The moments 0 to 8 of Lebesgue measure on [-1, 1]."""
    return np.array([2, 0, 2 / 3, 0, 2 / 5, 0, 2 / 7, 0, 2 / 9])


@known(
    0.5688888888888889,
    digits=11,
    tags=("moment", "degenerate", "unbounded_start"),
    source="Christoffel's function; Chebyshev, Markov & Stieltjes",
    note="128/225.",
)
def christoffel8() -> Problem:
    """The largest mass at 0 of a measure with the moments 0 to 8 of Lebesgue measure on [-1, 1]."""
    x = Variable(9, name="x", lower=np.r_[1, np.full(8, -np.inf)])
    t = Index("t", Interval(-1, 1))
    return Problem(minimize(lebesgue_moments() @ x), [forall(t, t ** np.arange(9) @ x >= 0)])


@known(
    0.6422222222222222,
    digits=11,
    tags=("moment", "multi_family", "unbounded_start"),
    source="Chebyshev, Markov & Stieltjes",
    note="289/450.",
)
def markov_cdf8() -> Problem:
    """The largest probability of X <= 0 when X has the first 8 moments of the uniform law on [-1, 1]."""
    x = Variable(9, name="x")
    s = Index("s", Interval(-1, 0))
    t = Index("t", Interval(-1, 1))
    return Problem(
        minimize(lebesgue_moments() / 2 @ x),
        [forall(s, s ** np.arange(9) @ x >= 1), forall(t, t ** np.arange(9) @ x >= 0)],
    )


@known(
    0.25,
    digits=12,
    tags=("moment", "multi_family", "inequality"),
    source="Markov's inequality",
    note="The mean over the threshold: 1/4. The multiplier of the mean has a sign, as a finite constraint.",
)
def markov_inequality() -> Problem:
    """The largest probability of X >= 4 when X in [0, 10] has mean at most 1."""
    x = Variable(2, name="x")
    s = Index("s", Interval(4, 10))
    t = Index("t", Interval(0, 10))
    return Problem(
        minimize(x[0] + x[1]),
        [forall(s, x[0] + x[1] * s >= 1), forall(t, x[0] + x[1] * t >= 0), x[1] >= 0],
    )


@known(
    1.748148148148148,
    digits=12,
    tags=("multi_family", "degenerate"),
    source="A parametric moment problem at its change of phase, parameter 1/5",
    note="236/135, by a closed form in the parameter. The parabola touches one bound at the end t = 1, where both "
    "the first and the second order degenerate.",
)
def bifurcation() -> Problem:
    """The largest functional of a parabola below two hyperbolas on [0, 1]."""
    x = Variable(3, name="x")
    t = Index("t", Interval(0, 1))
    weight, zero = 0.2, 0.2
    r = zero * (zero**2 - 9 * zero + 12) / ((zero - 2) ** 2 * (zero - 1))
    c = np.array([4 * (7 * weight + 1) / 3, 4 * (35 * weight - 3) / 15, 4 * (9 * weight - 1) / 5])
    p = t ** np.arange(3) @ x
    return Problem(
        maximize(c @ x),
        [forall(t, [p <= 1 / (2 - t), p <= 1 / (1 + r + (1 - r) * t)])],
    )
