"""Models that a file may declare: lsip's own, those of the CVXPY door, and Pyomo's; each with one face."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..model.problem import Problem

if TYPE_CHECKING:
    from ..model.method import Answer

Values = dict[str, NDArray[np.float64] | float]
KINDS = "an lsip.Problem, an lsip.interop.cvxpy.Problem or a Pyomo ConcreteModel"


@dataclass(frozen=True)
class NamedModel:
    """A model as the command line sees it."""

    name: str
    text: str
    solve: Callable[..., Answer]  # with the words of `Problem.solve`
    values: Callable[[Answer], Values]  # of the variables, by name
    written: Any  # as its file has it


def reader(value: object) -> Callable[[], NamedModel] | None:
    """What reads a value of a file as a model, if it is one; only packages that the file has imported are asked."""
    if isinstance(value, Problem):
        return partial(own, value)
    cvxpy, pyomo = sys.modules.get("lsip.interop.cvxpy"), sys.modules.get("pyomo.core.base.PyomoModel")
    if cvxpy is not None and isinstance(value, cvxpy.Problem):
        return partial(_from_cvxpy, value)
    if pyomo is not None and isinstance(value, pyomo.ConcreteModel):
        return partial(_from_pyomo, value)
    return None


def own(problem: Problem) -> NamedModel:
    """A model of lsip's language."""
    return NamedModel(
        problem.name, str(problem), problem.solve, lambda s: {v.name: s[v] for v in problem.variables}, problem
    )


def _from_cvxpy(problem: Any) -> NamedModel:
    def values(solution: Any) -> Values:
        return {v.name(): solution.values.get(v.id, np.full(v.shape, np.nan)) for v in problem.variables()}

    return NamedModel(problem.name, str(problem), problem.solve, values, problem)


def _from_pyomo(model: Any) -> NamedModel:
    from ..interop.pyomo.model import read
    from ..interop.pyomo.solver import solved

    reading = read(model)

    def solve(*, verbose: bool, **options: Any) -> Answer:
        return solved(reading, verbose, options).solution

    def values(solution: Answer) -> Values:
        return {v.name: float(x) for v, x in zip(reading.columns.variables, solution.x, strict=True)}

    program, _ = reading.compile()
    return NamedModel(reading.name, repr(program), solve, values, program)
