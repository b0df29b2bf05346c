"""Linear programs that propose something to prove: whatever they say, it is checked."""

from __future__ import annotations

from ..masters.base import FiniteProgram, Matrix
from ..masters.checked import open_program
from ..masters.highs import HIGHS
from .certificate import Array


def linear_program(
    c: Array, lower: Array, upper: Array, A: Matrix, row_lower: Array, row_upper: Array, accuracy: float = 1e-8
) -> Array | None:
    """The solution of a small linear program; None if HiGHS finds none. Raises `OutOfTime` at the deadline.

    The accuracy is that of a proposal: what comes of it is proven or not, whatever it is.
    """
    program = FiniteProgram(c, lower, upper, A, row_lower, row_upper)
    found = open_program(HIGHS, program, accuracy).optimum(interior=False, once=True)
    return None if found is None else found[0]
