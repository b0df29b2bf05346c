"""Classical extremal problems for polynomials: their optima are theorems."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..domains import Box, Interval
from ..expressions import Index, Variable
from ..model import Problem, forall, maximize
from .bases import monomials, quadratic_exponents
from .entry import known


def largest_coefficient(n: int) -> Problem:
    """The largest first coefficient of a nonnegative cosine polynomial of degree n with mean 1."""
    a = Variable(n, name="a")
    t = Index("t", Interval(0, np.pi))
    return Problem(
        maximize(a[0]),
        [forall(t, 1 + np.cos(t * np.arange(1, n + 1)) @ a >= 0)],
    )


@known(
    1.8019377358048383,
    digits=12,
    tags=("trig", "unbounded_start"),
    source="Fejer (1916)",
    note="2 cos(pi/7).",
)
def fejer_n5() -> Problem:
    """The largest first coefficient of a nonnegative cosine polynomial of degree 5."""
    return largest_coefficient(5)


@known(
    1.9944075943623603,
    digits=12,
    tags=("trig", "hard", "unbounded_start"),
    source="Fejer (1916)",
    note="2 cos(pi/42).",
)
def fejer_n40() -> Problem:
    """The largest first coefficient of a nonnegative cosine polynomial of degree 40."""
    return largest_coefficient(40)


def largest_functional(c: NDArray[np.floating]) -> Problem:
    """The largest value of a linear functional over the polynomials bounded by 1 on [-1, 1]."""
    x = Variable(len(c), name="x")
    t = Index("t", Interval(-1, 1))
    p = t ** np.arange(len(c)) @ x
    return Problem(maximize(c @ x), [forall(t, [p <= 1, p >= -1])])


@known(
    100.0,
    digits=12,
    tags=("badly_scaled", "unbounded_start"),
    source="A. A. Markov (1889)",
    note="The Chebyshev polynomial has the largest slope: 10^2.",
)
def markov10() -> Problem:
    """The largest slope at 1 of a polynomial of degree 10 bounded by 1 on [-1, 1]."""
    return largest_functional(np.arange(11.0))


@known(
    1351.0,
    digits=12,
    tags=("design", "badly_scaled", "unbounded_start"),
    source="Chebyshev; as an optimal design, Elfving (1952), Hoel & Levine (1964)",
    note="T_6(2).",
)
def extrap6() -> Problem:
    """The largest value at 2 of a polynomial of degree 6 bounded by 1 on [-1, 1]."""
    return largest_functional(2.0 ** np.arange(7))


@known(
    262087.0,
    digits=12,
    tags=("design", "badly_scaled", "hard", "unbounded_start"),
    source="Chebyshev; as an optimal design, Elfving (1952), Hoel & Levine (1964)",
    note="T_10(2).",
)
def extrap10() -> Problem:
    """The largest value at 2 of a polynomial of degree 10 bounded by 1 on [-1, 1]."""
    return largest_functional(2.0 ** np.arange(11))


@known(
    1.0,
    digits=12,
    tags=("design", "2d", "degenerate"),
    source="Elfving (1952)",
    note="st itself is extremal; its four corners carry the optimal design.",
)
def copt_xy() -> Problem:
    """The largest coefficient of st in a quadratic bounded by 1 on a square."""
    x = Variable(6, name="x")
    y = Index("y", Box([-1, -1], [1, 1]))
    p = monomials(y, quadratic_exponents()) @ x
    return Problem(maximize(x[4]), [forall(y, [p <= 1, p >= -1])])


@known(
    12.5,
    digits=12,
    tags=("polynomial", "equality", "unbounded_start"),
    source="Lukacs (1918)",
    note="(k + 1)^2 / 2 for degree 2k, here k = 4; the integral is a finite equality beside the family.",
)
def lukacs8() -> Problem:
    """The largest value at 1 of a nonnegative polynomial of degree 8 with integral 1 over [-1, 1]."""
    x = Variable(9, name="x")
    t = Index("t", Interval(-1, 1))
    integrals = (1 - (-1.0) ** np.arange(1, 10)) / np.arange(1, 10)
    return Problem(
        maximize(x.sum()),
        [forall(t, t ** np.arange(9) @ x >= 0), integrals @ x == 1],
    )
