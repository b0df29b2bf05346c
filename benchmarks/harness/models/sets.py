"""Sets given by polynomial inequalities, which the language writes as conditions or in other coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np

from lsip import Ball, Box, Index, Problem, Variable, forall, maximize

from .claims import published, value

FLOUDAS = "SumOfSquares.jl, min_univariate (Floudas and Pardalos 4.10)"


def _sides(x: Any) -> Any:
    """Below this, the set holds the second coordinate."""
    first = 2 * x**4 - 8 * x**3 + 8 * x**2 + 2
    return np.minimum(first, 4 * x**4 - 32 * x**3 + 88 * x**2 - 96 * x + 36)


@published("floudas_min_univariate", FLOUDAS, value(-5.5080, 2e-5), "the second coordinate as a share of its range")
def by_share() -> Problem:
    y, a = Index("y", Box([0, 0], [3, 1])), Variable(name="a")
    return Problem(maximize(a), [forall(y, a <= -y[0] - y[1] * np.minimum(_sides(y[0]), 4))])


@published("floudas_min_univariate_where", FLOUDAS, value(-5.5080, 2e-5), "membership by np.where")
def by_condition() -> Problem:
    y, a = Index("y", Box([0, 0], [3, 4])), Variable(name="a")
    return Problem(maximize(a), [forall(y, a <= np.where(y[1] <= _sides(y[0]), -y[0] - y[1], 0 * y[0]))])


@published("momenttools_mom3", "MomentOpt.jl, MomentTools/mom3", value(0.0, 1e-6), "membership by np.where")
def cusp() -> Problem:
    y, a = Index("y", Ball([0, 0], 1)), Variable(name="a")
    return Problem(maximize(a), [forall(y, a <= np.where(y[0] ** 3 >= y[1] ** 2, y[0], 1 + 0 * y[0]))])
