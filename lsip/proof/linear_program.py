"""Linear programs that propose something to prove: whatever they say, it is checked."""

from __future__ import annotations

import highspy
import numpy as np

from ..errors import OutOfTime
from ..masters.base import Matrix, is_sparse
from ..masters.highs import new_highs, timed_run
from .certificate import Array


def linear_program(
    c: Array, lower: Array, upper: Array, A: Matrix, row_lower: Array, row_upper: Array, accuracy: float = 1e-8
) -> Array | None:
    """The solution of a small linear program; None if HiGHS finds none. Raises `OutOfTime` at the deadline.

    The accuracy is that of a proposal: what comes of it is proven or not, whatever it is.
    """
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = len(c), A.shape[0]
    model.col_cost_, model.col_lower_, model.col_upper_ = c, lower, upper
    model.row_lower_, model.row_upper_ = row_lower, row_upper
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    if is_sparse(A):
        start, index, value = A.indptr, A.indices, A.data
    else:
        start = np.arange(0, A.size + 1, A.shape[1], dtype=np.int32)
        index, value = np.tile(np.arange(A.shape[1], dtype=np.int32), A.shape[0]), A.ravel()
    model.a_matrix_.start_, model.a_matrix_.index_, model.a_matrix_.value_ = start, index, value
    highs = new_highs(accuracy)
    highs.passModel(model)
    status = timed_run(highs)
    if status == highspy.HighsModelStatus.kTimeLimit:
        raise OutOfTime("HiGHS ran out of time.")
    if status != highspy.HighsModelStatus.kOptimal:
        return None
    return np.array(highs.getSolution().col_value)
