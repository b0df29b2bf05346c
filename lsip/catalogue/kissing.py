"""Delsarte's linear programming bounds on kissing numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..domains import Interval
from ..expressions import Index, Variable
from ..model import Problem, forall, minimize
from .entry import known

SOURCE = "Delsarte, Goethals & Seidel (1977); Odlyzko & Sloane (1979)"


def gegenbauer(t: Index, dimension: int, degree: int) -> Any:
    """The zonal polynomials of the sphere in R^dimension up to this degree, each 1 at t = 1."""
    p: list[Any] = [np.ones_like(t), t]
    for k in range(1, degree):
        p.append(((2 * k + dimension - 2) * t * p[k] - k * p[k - 1]) / (k + dimension - 2))
    return np.stack(p)


def delsarte(dimension: int, degree: int) -> Problem:
    """The best bound from polynomials of this degree: nonnegative coefficients, the first fixed at 1."""
    f = Variable(
        degree + 1,
        name="f",
        lower=np.r_[1, np.zeros(degree)],
        upper=np.r_[1, np.full(degree, np.inf)],
    )
    t = Index("t", Interval(-1, 0.5))
    return Problem(
        minimize(f.sum()),
        [forall(t, gegenbauer(t, dimension, degree) @ f <= 0)],
    )


@known(13.158314347285451, digits=10, tags=("polynomial", "fixed_var", "smooth"), source=SOURCE)
def kissing_dim3() -> Problem:
    """A bound on the kissing number of R^3, by degree 20."""
    return delsarte(3, 20)


@known(25.5584290974341, digits=10, tags=("polynomial", "fixed_var", "smooth"), source=SOURCE)
def kissing_dim4() -> Problem:
    """A bound on the kissing number of R^4, by degree 9."""
    return delsarte(4, 9)


@known(
    240.0,
    digits=12,
    tags=("polynomial", "fixed_var", "smooth"),
    source=SOURCE,
    note="Exactly the kissing number: the roots of E8.",
)
def kissing_dim8() -> Problem:
    """A bound on the kissing number of R^8, by degree 8."""
    return delsarte(8, 8)


@known(
    196560.0,
    digits=12,
    tags=("polynomial", "fixed_var", "badly_scaled", "hard"),
    source=SOURCE,
    note="Exactly the kissing number: the shortest vectors of the Leech lattice.",
)
def kissing_dim24() -> Problem:
    """A bound on the kissing number of R^24, by degree 14."""
    return delsarte(24, 14)
