"""The points of a polytope that are furthest in many directions: one linear program, of which only the cost changes."""

from __future__ import annotations

import highspy
import numpy as np
from numpy.typing import NDArray

from ..deadline import check, left
from ..errors import OutOfTime

Array = NDArray[np.float64]
Options = dict[str, bool | int | float | str]
_FOUND, _LATE = highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kTimeLimit
_ACCURATE: Options = {"output_flag": False, "threads": 1, "primal_feasibility_tolerance": 1e-10,
             "dual_feasibility_tolerance": 1e-10}  # fmt: skip
_WARM: Options = {"presolve": "off", "solver": "simplex", "simplex_strategy": 4}  # primal: corners stay feasible
_COLD: Options = {"presolve": "choose", "solver": "choose", "simplex_strategy": 1}


def furthest(rows: Array, sides: Array, towards: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Points z (N, m) with rows z <= sides, furthest in each direction (N, m), and multipliers (N, q) that say so.

    The last are which were found. Each search begins at the corner where the one before it ended, which is a corner
    whatever the direction; a search that fails is tried once more without. All of this is a guess, in floats.
    """
    q, m = rows.shape
    z, multipliers, found = np.zeros((len(towards), m)), np.zeros((len(towards), q)), np.zeros(len(towards), dtype=bool)
    highs = _model(rows, sides)
    places = np.arange(m, dtype=np.int32)
    for i, direction in enumerate(towards):
        check("linear program over an index set")
        highs.changeColsCost(m, places, -direction)
        found[i] = _run(highs) or _again(highs)
        if found[i]:
            solution = highs.getSolution()
            z[i], multipliers[i] = solution.col_value, np.maximum(-np.array(solution.row_dual), 0.0)
    return z, multipliers, found


def _model(rows: Array, sides: Array) -> highspy.Highs:
    """The inequalities, without a cost so far."""
    q, m = rows.shape
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = m, q
    lp.col_cost_ = np.zeros(m)
    lp.col_lower_, lp.col_upper_ = np.full(m, -highspy.kHighsInf), np.full(m, highspy.kHighsInf)
    lp.row_lower_, lp.row_upper_ = np.full(q, -highspy.kHighsInf), sides
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    i, j = np.nonzero(rows)
    lp.a_matrix_.start_ = np.concatenate([[0], np.cumsum(np.bincount(i, minlength=q))]).astype(np.int32)
    lp.a_matrix_.index_, lp.a_matrix_.value_ = j.astype(np.int32), rows[i, j]
    highs = highspy.Highs()  # type: ignore[no-untyped-call]
    _set(highs, _ACCURATE | _WARM)
    highs.passModel(lp)
    return highs


def _set(highs: highspy.Highs, options: Options) -> None:
    for key, value in options.items():
        highs.setOptionValue(key, value)


def _run(highs: highspy.Highs) -> bool:
    """Whether an optimum was found. Raises `OutOfTime` at the deadline."""
    limit = left()
    if limit < np.inf:  # HiGHS counts the seconds of all runs of a model
        highs.setOptionValue("time_limit", highs.getRunTime() + max(limit, 0.0))
    highs.run()
    if highs.getModelStatus() == _LATE:
        raise OutOfTime("HiGHS ran out of time.")
    return highs.getModelStatus() == _FOUND


def _again(highs: highspy.Highs) -> bool:
    """The same from the beginning, with presolve and as HiGHS chooses; what comes next begins anew, too."""
    _set(highs, _COLD)
    highs.clearSolver()
    try:
        return _run(highs)
    finally:
        _set(highs, _WARM)
