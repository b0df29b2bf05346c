"""Programs do not change: what is known of one stays true of it."""

from __future__ import annotations

import gc
from dataclasses import replace
from weakref import ref

import numpy as np
import pytest
from scipy import sparse

import lsip


def program() -> lsip.Program:
    family = lsip.Family(lsip.Interval(0, 1), lambda y: -(y ** np.arange(2)), lambda y: -np.exp(y[:, 0]))
    return lsip.Program.from_arrays([1, 0.5], bounds=(-9, 9), families=[family], A_ub=[[1.0, 0]], b_ub=[5.0])


@pytest.mark.parametrize("solved", [False, True])
def test_no_array_of_a_program_can_be_written_to(solved: bool) -> None:
    fixed = program()
    if solved:
        fixed.solve(verbose=False)
    parts = [fixed.c, fixed.lower, fixed.upper, fixed.row_lower, fixed.row_upper, fixed.families[0].columns]
    for array in (*parts, fixed.A.data, fixed.A.indices, fixed.A.indptr):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 2
    for place in ((0, 0), (0, 1)):  # an entry that there is, and one that there is not
        with pytest.raises(lsip.ModelError, match=r"dataclasses\.replace"):
            fixed.A[place] = 3.0


def test_what_belongs_to_the_user_stays_writeable_and_counts_no_more() -> None:
    matrix, right, cost = sparse.csr_matrix([[1.0, 0.0]]), np.array([5.0]), np.array([1.0, 0.5])
    given = program()
    own = replace(given, c=cost, row_upper=right, A=matrix)
    matrix.data[0], right[0], cost[:] = 100.0, -7.0, 9.0
    assert own.solve(verbose=False).value == pytest.approx(given.solve(verbose=False).value)


def test_a_changed_program_is_another_one() -> None:
    first = program()
    before = first.solve(verbose=False)
    A = first.A.copy()
    A[0, 0] = 6.0
    after = replace(first, A=A).solve(verbose=False)
    assert before.certified
    assert after.certified
    assert (before.status, after.status) == (lsip.Status.OPTIMAL, lsip.Status.INFEASIBLE)


def test_rows_given_twice_are_added() -> None:
    twice = sparse.csr_matrix((np.array([1.0, 1.0]), np.array([0, 0]), np.array([0, 2])), shape=(1, 2))
    fixed = replace(program(), A=twice, row_upper=np.array([4.0]))
    assert fixed.A.nnz == 1
    assert fixed.solve(verbose=False).certified


@pytest.mark.parametrize("unit", [1.0, 1e6])
def test_what_is_known_of_a_program_goes_with_it(unit: float) -> None:
    """With units of its own, or with others in which it is equilibrated."""
    own = replace(program(), c=unit * program().c)
    assert own.solve(verbose=False).certified
    watched = ref(own)
    del own
    gc.collect()
    assert watched() is None
