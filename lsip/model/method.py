"""What a model knows of its solver: a method is a value that solves, and what comes back has this face.

Models are built from inner rooms, solvers from models. So `Problem.solve` does not import a solver: the solver's room
registers, when it is imported, the function that makes a method of the options of `solve`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from types import EllipsisType
from typing import Any, Never, Protocol, TypeVar, overload

from ..expressions.affine import Affine, Value, Variable
from ..expressions.convex import Convex
from ..expressions.graph import Expression
from ..masters import MasterFactory
from ..oracles import Oracle
from ..oracles.base import Array
from ..registered import Registered
from .status import Status

Model = TypeVar("Model")
Solved = TypeVar("Solved", contravariant=True)


class Answer(Protocol):
    """The face of every answer, an `lsip.Solution` unless the method says otherwise: read it, check it, keep it."""

    @property
    def status(self) -> Status:
        """How the solve ended."""

    @property
    def x(self) -> Array:
        """All variables, flat, in the order in which they were made."""

    @property
    def value(self) -> float:
        """The objective at `x`, between `lower` and `upper`."""

    @property
    def lower(self) -> float:
        """The optimum is at least this."""

    @property
    def upper(self) -> float:
        """The optimum is at most this."""

    @property
    def gap(self) -> float:
        """(upper - lower) / max(|lower|, |upper|)."""

    @property
    def certified(self) -> bool:
        """Whether the status is a theorem."""

    @property
    def message(self) -> str:
        """What the status means and what to do next."""

    @property
    def active(self) -> tuple[Any, ...]:
        """The dual measure: constraint, point, multiplier."""

    @property
    def history(self) -> tuple[Any, ...]:
        """One row an iteration."""

    @property
    def max_violation(self) -> float:
        """The largest violation: proven over all of Y, or found."""

    @property
    def seconds(self) -> float:
        """How long the solve took."""

    @property
    def oracle(self) -> str:
        """The names of the oracles that were asked."""

    @property
    def model(self) -> Any:
        """The problem as it was declared, if it was."""

    @property
    def certificate(self) -> Any:
        """The proof."""

    @property
    def violation_proven(self) -> bool:
        """Whether `max_violation` holds at every index point."""

    @property
    def program(self) -> Any:
        """What solvers see of the problem."""

    @overload
    def __getitem__(self, item: Variable[Value]) -> Value: ...

    @overload
    def __getitem__(self, item: Affine | Convex | Expression | str) -> Array | Any: ...

    def __getitem__(self, item: Affine | Convex | Expression | str) -> Any:
        """The value of a variable, or of an expression without an index."""

    def dual(self, constraint: Any) -> Array | float | tuple[Any, ...]:
        """The multipliers of a constraint, given as it was written or by its name."""

    def reduced_costs(self, variable: Variable) -> Array | float:
        """What the objective would change by with one more unit of a variable."""

    def to_frame(self, what: str = "variables") -> Any:
        """A table of pandas."""

    def export(self, path: str | Path) -> None:
        """Write the model and its proof, for a checker that shares no code with lsip."""

    def verify(self) -> Any:
        """Re-check the proof without the solver; ProofError if it fails."""

    def plot(self, path: str | Path | None = None, *, family: int | str | None = None, kind: str | None = None) -> Any:
        """Draw the violation over Y, or the convergence."""

    def report(self, path: str | Path) -> Path:
        """Write one page about the model, the proof and the solve."""

    def save(self, path: str | Path) -> None:
        """Write the answer and its certificate to a file."""

    def write(self, path: str | Path) -> None:
        """Write the last finite relaxation to an .mps or .lp file."""


class Method(Protocol[Solved]):
    """How to solve what it takes, problems or programs: a value whose fields are options, as `lsip.Exchange` is."""

    def solve(self, problem: Solved, *, verbose: bool = True) -> Answer:
        """Solve a problem, with a progress table if `verbose`."""


class Solvable:
    """What can be solved: one signature for all."""

    def solve(
        self,
        *given: Never,
        method: Method[Any] | None = None,
        verbose: bool = True,
        tol: float | EllipsisType = ...,
        atol: float | EllipsisType | None = ...,
        time_limit: float | EllipsisType | None = ...,
        max_iterations: int | EllipsisType = ...,
        oracle: Oracle | str | EllipsisType | None = ...,
        master: str | MasterFactory | EllipsisType = ...,
        seed: int | EllipsisType = ...,
        callback: Callable[[Any], Any] | EllipsisType | None = ...,
        warm_start: Answer | EllipsisType | None = ...,
        start: Iterable[Any] | EllipsisType | None = ...,
        workers: int | str | EllipsisType | None = ...,
        polish: bool | EllipsisType = ...,
        sample_first: bool | EllipsisType = ...,
        tuning: Any = ...,
        **unknown: Never,
    ) -> Answer:
        """Solve with proof; what comes back is an `lsip.Solution`.

        Once it has been solved, a problem that has changed since (other values of parameters, other bounds, constraints
        added or removed) starts from its last answer, unless `warm_start=None` is given. One that has not is solved
        anew, so that a run can be repeated.

        Parameters
        ----------
        method
            An `lsip.Exchange` or an `lsip.Counterpart`; without one, the one that is expected to be faster. The options
            below are its fields; those that are given here count instead of its own.
        verbose
            Print the progress table.
        tol
            Gap to reach, (upper - lower) / max(|lower|, |upper|); 1e-8 unless the method says otherwise.
        atol
            Distance of the bounds that will do whatever the gap, in units of the objective; None for what rounding
            leaves of the model's own terms, which is computed from the data.
        time_limit, max_iterations
            When to stop at the latest: seconds, None for no limit; iterations, 1000.
        oracle
            Separation: one of `lsip.oracles`, or a name such as "grid"; None chooses for every constraint.
        master
            Who solves the finite programs: "highs", "gurobi", "cvxpy", "pyomo", or what opens them.
        seed
            For oracles that sample; 0.
        callback
            Called with every `Iterate`; returning True stops the solve.
        warm_start
            A solution of the same or a similar problem, whose index points are tried first.
        start
            The index points of the first relaxation, an array (k, m) for every family; None chooses them.
        workers
            How many processes evaluate black boxes, or "ray" for a Ray cluster; None for this process alone.
        polish
            Finish with Newton steps on the active index points; True.
        sample_first
            Look for violations at sampled points before anything is proven; True.
        tuning
            The numbers that steer the method, an `lsip.Tuning`.
        """
        options = {
            "tol": tol,
            "atol": atol,
            "time_limit": time_limit,
            "max_iterations": max_iterations,
            "oracle": oracle,
            "master": master,
            "seed": seed,
            "callback": callback,
            "warm_start": warm_start,
            "start": start,
            "workers": workers,
            "polish": polish,
            "sample_first": sample_first,
            "tuning": tuning,
            **unknown,
        }
        return self._solved(given, method, {k: v for k, v in options.items() if v is not ...}, verbose)

    def _solved(
        self, given: tuple[object, ...], method: Method[Any] | None, options: dict[str, object], verbose: bool
    ) -> Answer:
        """Solve with the options that were given."""
        return chosen_method(given, method, options).solve(self, verbose=verbose)


Choose = Callable[[tuple[Any, ...], Any, dict[str, Any]], Method[Any]]
_CHOOSE: Registered[Choose] = Registered({"solve": "solver"})


def register_solver(choose: Choose) -> Choose:
    """Let `solve` ask this function for a method, given its positional arguments, its `method` and its options."""
    _CHOOSE["solve"] = choose
    return choose


def ready() -> None:
    """Import what `solve` needs: whoever makes a model waits for that, so that limits of a solve are about solving."""
    _CHOOSE["solve"]


def chosen_method(given: tuple[object, ...], method: Method[Model] | None, options: dict[str, object]) -> Method[Model]:
    """The method that these arguments of `solve` mean."""
    return _CHOOSE["solve"](given, method, options)
