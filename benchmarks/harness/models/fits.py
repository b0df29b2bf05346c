"""Best uniform approximation, the form that most of the fitting tools share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lsip import Index, Interval, Problem, Variable, forall, minimize


def chebyshev(u: Any, degree: int) -> Any:
    """T_0(u), …, T_degree(u), by the recurrence."""
    rows = [np.ones_like(u), u]
    while len(rows) <= degree:
        rows.append(2 * u * rows[-1] - rows[-2])
    return np.stack(rows[: degree + 1])


def best_fit(index: Index, basis: Any, target: Any, weight: Any = 1.0) -> Problem:
    """Least h with |basis @ c - target| <= h weight for every index."""
    c, h = Variable(basis.shape[0], name="c"), Variable(name="h", lower=0)
    error = basis @ c - target
    return Problem(minimize(h), [forall(index, [error <= h * weight, -error <= h * weight])])


def best_in_angle(f: Callable[[Any], Any], degree: int, lower: float, upper: float, scale: float = 1.0) -> Problem:
    """A polynomial fit on [lower, upper] with x = cos(angle): the basis is made of cosines."""
    angle = Index("angle", Interval(0, np.pi))
    x = 0.5 * (lower + upper) + 0.5 * (upper - lower) * np.cos(angle)
    return best_fit(angle, np.cos(np.arange(degree + 1) * angle), scale * f(x))
