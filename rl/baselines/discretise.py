"""Naive discretisation: keep the constraint on a grid of Y only, and solve one finite constrained MDP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

import lsip
from lsip.legible import legibly

from .. import validation
from ..dataset import Dataset, OptimisticSet, as_dataset
from ..errors import InfeasibleError
from ..occupancy import optimistic_program, planning_program
from ..policy_table import policy_of
from ..sicmdp import SICMDP, Specification, as_specification

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Discretised:
    """The policy of a finite CMDP on a grid; it may violate constraints between the grid points."""

    policy: Array  # (S, A)
    occupancy: Array  # (S, A)
    value: float  # of the finite program: an upper bound of the true optimum
    points: Array  # (k, m)
    model: Array | None = None

    @legibly
    def __repr__(self) -> str:
        return f"Discretised on {len(self.points)} index points, value {self.value:.9g}, nothing proven between them"


def discretise(
    problem: SICMDP | Specification,
    points: int | ArrayLike,
    *,
    data: Dataset | None = None,
    delta: float | None = None,
    models: OptimisticSet | None = None,
    form: str = "sparse",
    denominator: str = "pair",
) -> Discretised:
    """One linear program on a grid of Y: of a known model, or optimistic over the models that data allow.

    Parameters
    ----------
    problem
        A `SICMDP`, or a `Specification` together with `data` and `delta` (or `models`).
    points
        The number of grid points along each axis, corners included, or the points themselves (k, m).

    Examples
    --------
    >>> import envs, rl
    >>> mdp = envs.sewage(states=4, actions=2, seed=1)
    >>> naive = rl.baselines.discretise(mdp, 2)
    >>> mdp.worst_violation(naive.policy).value > 1e-6  # between the points, the constraint is broken
    True
    """
    validation.choice("form", form, ("sparse", "literal"))
    validation.choice("denominator", denominator, ("pair", "triple"))
    spec = as_specification(problem)
    domain = spec.constraint.domain
    grid = _grid(domain, points)
    if delta is not None:
        validation.number("delta", delta, "probability")
        if data is None:
            validation.unused("a model that is known", delta=delta)
    if data is not None:
        spec.check(as_dataset(data).states, data.actions)
    if models is None and data is not None:
        if delta is None:
            raise lsip.ModelError("`data` needs `delta`, the confidence of the optimistic set.")
        models = data.optimistic_set(delta, denominator=denominator)
    if models is not None:
        program = optimistic_program(spec, models, form)
    elif isinstance(problem, SICMDP):
        program = planning_program(problem)
    else:
        raise lsip.ModelError("A specification has no transition probabilities: give `data` and `delta`, or a SICMDP.")
    x, value = _solve(program.problem.compile(), grid)
    q = np.maximum(program.occupancy(x), 0.0)
    return Discretised(policy_of(q), q, value, grid, program.model(x))


def _grid(domain: lsip.Domain, points: int | ArrayLike) -> Array:
    """The grid of so many points an axis, or the points as they are, checked."""
    if isinstance(points, int | np.integer):
        return domain.grid(validation.count("points", points))
    try:
        grid = np.atleast_2d(np.asarray(points, dtype=float))
    except (TypeError, ValueError, MemoryError):
        grid = np.zeros((0, 0))
    if grid.ndim != 2 or grid.shape[1] != domain.dim or not len(grid) or not domain.contains(grid).all():
        raise lsip.ModelError(
            f"`points` is a number, or points (k, {domain.dim}) inside {domain}; got {validation.shown(points)}."
        )
    return grid


def _solve(program: lsip.Program, grid: Array) -> tuple[Array, float]:
    """The finite LP, once, with everything that HiGHS does by default."""
    family = program.families[0]
    a, b = family.rows(grid)
    columns = np.broadcast_to(family.columns, (len(grid), family.columns.shape[1]))
    start = np.arange(0, columns.size + 1, columns.shape[1])
    cuts = sparse.csr_matrix((a[:, 0].ravel(), columns.ravel(), start), shape=(len(grid), program.n))
    rows = sparse.vstack([program.A, cuts], format="csr")
    h: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    for key, setting in (
        ("output_flag", False),
        ("threads", 1),
        ("primal_feasibility_tolerance", 1e-10),
        ("dual_feasibility_tolerance", 1e-10),
    ):
        h.setOptionValue(key, setting)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = program.n, rows.shape[0]
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = program.c, program.lower, program.upper
    lp.row_lower_ = np.concatenate([program.row_lower, np.full(len(grid), -np.inf)])
    lp.row_upper_ = np.concatenate([program.row_upper, b[:, 0]])
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = rows.indptr, rows.indices, rows.data
    h.passModel(lp)
    h.run()
    if h.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        status = h.modelStatusToString(h.getModelStatus())
        raise InfeasibleError(f"The finite program on {len(grid)} index points ended with '{status}'.")
    x = np.array(h.getSolution().col_value)
    return x, float(-(program.c @ x + program.constant))
