"""Functions that several catalogue models are written with."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..expressions import Index, Variable
from ..expressions.graph import Expression
from ..model import Problem, forall, minimize

Formula = Expression | NDArray[Any]  # numbers too; and NumPy's annotations take all that its functions give for arrays


def quadratic_exponents() -> NDArray[np.int64]:
    """The exponents of the quadratics in two variables as their literature orders them: 1, s, t, s^2, st, t^2."""
    return np.array([[0, 0], [1, 0], [0, 1], [2, 0], [1, 1], [0, 2]])


def exponents(dimension: int, degree: int) -> NDArray[np.int64]:
    """The exponents of all monomials of total degree at most `degree`, one a row, in lexicographic order."""
    return np.array([e for e in product(range(degree + 1), repeat=dimension) if sum(e) <= degree])


def monomials(y: Formula, powers: NDArray[np.int64]) -> Any:
    """One monomial of the vector `y` for each row of `powers`."""
    return (y**powers).prod(axis=-1)


def sphere(angles: Expression) -> Any:
    """The unit vector of R^(m+1) with these m spherical angles, the polar axis last (m = 2) or first (m = 3)."""
    if angles.shape == (3,):
        tail = np.sin(angles[0]) * sphere(angles[1:])
        return np.stack([np.cos(angles[0]), tail[0], tail[1], tail[2]])
    polar, azimuth = angles[0], angles[1]
    return np.stack([np.sin(polar) * np.cos(azimuth), np.sin(polar) * np.sin(azimuth), np.cos(polar)])


def best_approximation(index: Index, basis: Formula, target: Formula) -> Problem:
    """Chebyshev approximation: the combination of `basis` that is nearest to `target`, uniformly over the index."""
    x = Variable(basis.shape[0], name="x")
    error = Variable(name="error")
    residual = target - basis @ x
    return Problem(
        minimize(error),
        [forall(index, [residual <= error, residual >= -error])],
    )
