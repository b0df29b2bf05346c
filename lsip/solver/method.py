"""`Exchange`, how to solve, as a value; and `solve` and `exchange`, which do it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..masters import MasterFactory, open_master
from ..model.method import register_solver
from ..model.program import Compilable, Program, compiled
from ..oracles import Oracle
from ..solution.solution import Iterate, Solution
from .again import resumed
from .driver import Run, drive
from .linear import LinearRelaxation
from .options import check_options, chosen
from .tuning import Tuning

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Exchange:
    """How to solve.

    Parameters
    ----------
    oracle
        Separation; None picks `SupportFunction` for a family that is affine in its index, `BranchAndBound` where a
        family can be enclosed in at most four dimensions, `AdaptiveSearch` for a black box in at most three, else
        `Multistart`; in more dimensions `BranchAndBound` is asked once that finds nothing.
    master
        The finite LP solver: "highs", "gurobi", "cvxpy" or "pyomo", the last two with a solver behind a colon if need
        be; or one of yours, which is called with the data of each finite program and opens it (`lsip.masters.Master`).
    tol
        Gap to reach, relative to the optimal value.
    atol
        Gap that is small enough whatever the value, in units of the objective. None stands for what rounding leaves of
        the model's own terms, and for `tol` relative to the terms of the dual objective where no more can be reached.
    max_iterations, time_limit
        When to stop at the latest; seconds.
    polish
        Finish with Newton steps on the active index points.
    sample_first
        Look for violations at sampled points before asking a `BranchAndBound`; off, every iteration is its work alone.
    seed
        For oracles that sample.
    callback
        Called with every `Iterate`; returning True stops the solve.
    warm_start
        A solution of the same or a similar problem, whose index points are tried first.
    start
        The index points of the first relaxation, an array (k, m) for every family; None chooses them.
    tuning
        The numbers that steer the method, for those who study it.
    """

    oracle: Oracle | None = None
    master: str | MasterFactory = "highs"
    tol: float = 1e-8
    atol: float | None = None
    max_iterations: int = 1000
    time_limit: float | None = None
    polish: bool = True
    sample_first: bool = True
    seed: int = 0
    callback: Callable[[Iterate], Any] | None = None
    warm_start: Solution | None = None
    start: Sequence[Array] | None = None
    tuning: Tuning = field(default=Tuning(), repr=False)

    def __post_init__(self) -> None:
        check_options(
            self.tol,
            self.max_iterations,
            self.oracle,
            time_limit=self.time_limit,
            seed=self.seed,
            callback=self.callback,
            warm_start=self.warm_start,
            atol=self.atol,
        )
        open_master(self.master)

    def solve(self, problem: Program | Compilable, *, verbose: bool = True) -> Solution:
        """Solve a problem this way, with a progress table if `verbose`."""
        return drive(opened(problem, self), self, verbose)


@register_solver
def choose(given: tuple[object, ...], method: object, options: dict[str, Any]) -> Exchange:
    """What `Problem.solve` means by its arguments."""
    return chosen(Exchange(), given, method, options)


def exchange(problem: Program | Compilable, method: Exchange | None = None) -> Generator[Iterate, None, Solution]:
    """Step through the exchange: one `Iterate` at a time; the generator's return value is the `Solution`."""
    return (yield from opened(problem, chosen(Exchange(), (), method, {})).iterates())


def solve(
    problem: Program | Compilable, method: Exchange | None = None, *, verbose: bool = True, **options: object
) -> Solution:
    """Run the exchange to its end."""
    return chosen(Exchange(), (), method, options).solve(problem, verbose=verbose)


def opened(problem: Program | Compilable, method: Exchange) -> Run:
    """A solve that is about to begin."""
    given = compiled(problem)
    if method.warm_start is None:
        return Run(given, method, lambda clock: LinearRelaxation(given, method), problem)
    return Run(given, method, lambda clock: resumed(given, method, partial(LinearRelaxation, given, method)), problem)
