"""`Exchange` and `Counterpart`, how to solve, as values; and `solve` and `exchange`, which do it."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

from ..errors import ModelError
from ..expressions.habits import SOLVE, pointer
from ..model.method import register_solver
from ..model.program import Compilable, Program
from ..proof.certificate import Support
from ..reductions.chain import reduce, restate
from ..reductions.robust_counterpart import unsuited
from ..solution.result import Iterate
from ..solution.solution import Solution
from ..validation import shown
from ..workers import at_work
from ..workers import opened as workers
from .alternation import alternation
from .conic import ConicRelaxation
from .conic_families import conic_families
from .counterpart import CounterpartRelaxation, expected_faster, unasked
from .integer import IntegerRun
from .linear import LinearRelaxation
from .loop import CutLoop, Run
from .options import Options
from .relaxation import Relaxation
from .warm_start import warm_start


class Solving(Options):
    """Options, as a value that solves."""

    def solve(self, problem: Program | Compilable, *, verbose: bool = True) -> Solution:
        """Solve a problem this way, with a progress table if `verbose`."""
        with workers(self.workers) as pool, at_work(pool):
            return opened(problem, self).drive(verbose)


@dataclass(frozen=True)
class Exchange(Solving):
    """The exchange method: solve a finite program, find violated index points, add them as cuts, repeat.

    Where nobody names an oracle, a master or the first points, a program that is affine in its index is solved as its
    `Counterpart` where that is expected to be faster, and a best approximation in one dimension begins with references.

    Parameters
    ----------
    oracle
        Separation: one of `lsip.oracles`, with numbers of its own, or the name of one (branch-and-bound, support,
        adaptive, multistart, grid, random, subgradient). None picks `SupportFunction` for a family that is affine in
        its index, `BranchAndBound` where a family can be enclosed and a first look is cheap, as over boxes with up to
        six coordinates, `AdaptiveSearch` for a black box with at most three, else `Multistart`; where a family can be
        enclosed, `BranchAndBound` is asked once that finds nothing.
    master
        The finite LP solver: "highs", "gurobi", "cvxpy" or "pyomo", the last two with a solver behind a colon if need
        be; or one of yours, which is called with the data of each finite program and opens it (`lsip.masters.Master`).
    tol
        Gap to reach, (upper - lower) / max(|lower|, |upper|).
    atol
        Distance of the bounds that will do whatever the gap, in units of the objective: for an optimum of 0. None
        stands for what rounding leaves of the model's own terms, which is computed from the data.
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
    workers
        How many processes evaluate black boxes, or "ray" for a Ray cluster: for functions that take long. The answer is
        the same for every number of them. None: this one.
    tuning
        The numbers that steer the method, for those who study it.

    Examples
    --------
    >>> import lsip
    >>> x, t = lsip.Variable(2, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    >>> above = lsip.forall(t, x[0] + x[1] * t >= t**2, name="above")
    >>> problem = lsip.Problem(lsip.minimize(x[0] + x[1] / 2), [above])
    >>> method = lsip.Exchange(oracle=lsip.oracles.BranchAndBound(), tol=1e-6, max_iterations=50)
    >>> solution = problem.solve(method=method, verbose=False)
    >>> round(solution.value, 6), solution.certified
    (0.5, True)
    """


@dataclass(frozen=True)
class Counterpart(Solving):
    """Solve the finite program that duality gives for constraints that are affine in their index.

    For boxes, budgets, simplices, polytopes and finite sets it is a linear program; with balls and ellipsoids it is a
    second-order cone program, which Clarabel solves. Products, intersections and unions of these are
    known too. What is proven is the same as with an `Exchange`, which goes on where the counterpart leaves the gap
    open; the options are those of an `Exchange`.

    Examples
    --------
    >>> import lsip
    >>> x, z = lsip.Variable(3, name="x", lower=0), lsip.Index("z", lsip.Budget(3, 1.5))
    >>> problem = lsip.Problem(lsip.maximize(x.sum()), [lsip.forall(z, (2 + z) @ x <= 1)])
    >>> solution = problem.solve(method=lsip.Counterpart(), verbose=False)
    >>> print(solution.certified, round(solution.value, 6))
    True 0.4
    """


def chosen(given: tuple[object, ...], method: object, options: dict[str, Any]) -> Exchange | Counterpart:
    """What `Problem.solve` means by its arguments; `given` are those without a name, which mean nothing."""
    if given:
        unnamed = ", ".join(map(shown, given))
        raise ModelError(
            f"solve takes its options by name, as in solve(tol=1e-6) or solve(method=lsip.Exchange()); got {unnamed}."
        )
    if method is not None and not isinstance(method, Exchange | Counterpart):
        raise ModelError(
            "`method` must be an lsip.Exchange or an lsip.Counterpart, such as lsip.Exchange(oracle=…); "
            f"got {shown(method)}."
        )
    known = [f.name for f in fields(Exchange)]
    unknown = [name for name in options if name not in known]
    if unknown:
        raise ModelError(
            f"Unknown option {', '.join(unknown)}.{pointer(SOLVE, unknown[0])} The options of solve are "
            f"{', '.join(known)}, method and verbose."
        )
    return replace(method or Exchange(), **options)


register_solver(chosen)


def exchange(problem: Program | Compilable, method: Exchange | None = None) -> Generator[Iterate, None, Solution]:
    """Run the exchange method step by step: yields an `Iterate` per iteration and returns the `Solution`."""
    chosen_method = chosen((), method, {})
    with workers(chosen_method.workers) as pool:
        with at_work(pool):
            steps = opened(problem, chosen_method).iterates()
        while True:
            try:
                with at_work(pool):  # not while others have their turn
                    iterate = next(steps)
            except StopIteration as end:
                return end.value
            yield iterate


def solve(
    problem: Program | Compilable,
    method: Exchange | Counterpart | None = None,
    *,
    verbose: bool = True,
    **options: object,
) -> Solution:
    """Solve to the end."""
    return chosen((), method, options).solve(problem, verbose=verbose)


def opened(problem: Program | Compilable, method: Options) -> Run:
    """A solve that is about to begin."""
    began = time.perf_counter()
    given = restate(problem)
    compiling = time.perf_counter() - began  # within the limit
    if given.integer.any():
        return IntegerRun(given, method, linear_run, problem, compiling)
    return linear_run(given, method, problem, compiling=compiling)


def linear_run(
    given: Program,
    method: Options,
    problem: Program | Compilable | None = None,
    earlier: Sequence[Support] = (),
    compiling: float = 0.0,
) -> CutLoop:
    """A solve without integers; index points known `earlier` are among its first."""
    return CutLoop(given, method, partial(_first_relaxation, given, method, earlier), problem, compiling=compiling)


def _first_relaxation(given: Program, method: Options, earlier: Sequence[Support]) -> Relaxation:
    """A counterpart where that is asked for or expected to be faster, otherwise an exchange; references if they suit.

    Counterparts know every index point, and a program without any index is its own.
    """
    anew, free, asked = partial(LinearRelaxation, given, method), unasked(method), isinstance(method, Counterpart)
    if free and not asked and method.warm_start is None and not earlier and conic_families(given):
        return ConicRelaxation(reduce(given), method, otherwise=anew)
    if asked or expected_faster(given, method):
        restated = unsuited(given) is not None and unsuited(given.written) is None  # rows were divided, say
        return CounterpartRelaxation(given, method) if given.families and not restated else anew()
    if method.warm_start is not None:
        return warm_start(given, method, anew)
    return anew(earlier) if earlier or not free else alternation(given, method, anew)
