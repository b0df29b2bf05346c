"""Square systems that are known in rational numbers, and so nearly singular that doubles see nothing of them.

Powers of a number far from zero, or of one that hardly moves, are nearly dependent: of t⁰, …, t¹² on [2, 3], doubles
hardly tell whether there is a thirteenth. But any matrix R turns A x = b into R A x = R b, and where R is near the
inverse of A, as far as doubles know that, R A has a condition some 1e15 times smaller (S. M. Rump, Inversion of
extremely ill-conditioned matrices in floating-point, 2009). So the product is computed exactly, and rounded once; again
and again, until intervals are enough for it. What they enclose then is the solution of the system itself, because they
show that R A, and with it R, is regular.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm
from typing import Any, NamedTuple

import numpy as np

from ..deadline import check
from ..expressions.interval import Interval
from ..expressions.polynomials import neighbours
from .linear_algebra import Array, solve


class Whole(NamedTuple):
    """Numbers: Python's integers in an array of objects, over a common denominator."""

    numerators: Any
    denominator: int

    @staticmethod
    def of(values: list[Fraction], shape: tuple[int, ...]) -> Whole:
        below = lcm(*(v.denominator for v in values))
        above = [v.numerator * (below // v.denominator) for v in values]
        return Whole(np.array(above, dtype=object).reshape(shape), below)

    def times(self, other: Whole) -> Whole:
        """The product of matrices."""
        return Whole(self.numerators @ other.numerators, self.denominator * other.denominator)

    def ends(self) -> tuple[Array, Array]:
        """The doubles next to each, below and above."""
        found = np.array([neighbours(v, self.denominator) for v in self.numerators.ravel().tolist()])
        low, high = found.reshape(-1, 2).T.reshape(2, *self.numerators.shape)
        return low, high


@dataclass(eq=False)
class ExactSystem:
    """A square matrix, and what it has been multiplied with so far."""

    matrix: Whole
    turns: list[Whole] = field(default_factory=list)

    @staticmethod
    def of(rows: list[list[Fraction]]) -> ExactSystem:
        return ExactSystem(Whole.of([v for row in rows for v in row], (len(rows), len(rows))))

    def solve(self, rhs: list[Fraction]) -> Interval | None:
        """Its solution, enclosed; None if the matrix is singular, or nearer to it than is worth the work."""
        side = Whole.of(rhs, (len(rhs),))
        for before in self.turns:
            side = before.times(side)
        while True:
            check("lower bound")
            low, high = self.matrix.ends()
            found = solve(low, high - low, Interval(*side.ends()))
            # Each takes about 15 digits from the condition.
            turn = _inverse(low) if found is None and len(self.turns) < 5 else None
            if turn is None:
                return found
            self.turns.append(turn)
            self.matrix, side = turn.times(self.matrix), turn.times(side)


def _inverse(matrix: Array) -> Whole | None:
    """An approximate inverse; None if there is none."""
    try:
        found = np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return None
    if not np.isfinite(found).all():
        return None
    # Whose digits would be many; whatever R is, the solution is the same.
    found = np.where(np.abs(found) < 2.0**-300 * np.abs(found).max(), 0.0, found)
    return Whole.of([Fraction(v) for v in found.ravel().tolist()], found.shape)
