"""What a person types after a solve: each method calls a function of the result, in a file named for what it does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, overload

from ..errors import ModelError
from ..expressions.affine import Affine, Constraint, Value, Variable
from ..expressions.convex import Convex
from ..expressions.graph import Expression
from ..expressions.parameter import Parameter
from ..files import write_json
from ..legible import legibly
from ..model.callables import FamilyOn
from ..model.program import Compilable, Program
from ..model.statements import ForAll
from ..model.violation import Seen
from ..oracles import Oracle
from ..proof.certificate import Array
from ..proof.export import proof_data
from ..registered import Registered
from ..validation import flag, whole
from . import duals, solution_file
from .active import ActivePoint
from .frames import frame
from .messages import message
from .relaxation_file import write_relaxation
from .result import Result
from .text import notebook, summary
from .values import value_of
from .verified import verified

if TYPE_CHECKING:
    import pandas as pd

# Outer rooms draw; each enters its function here when it is imported.
DRAWN: Registered[Callable[..., Any]] = Registered(
    {"plot": "plotting", "report": "report", "sensitivity": "solver.sensitivity"}
)


@dataclass(frozen=True, eq=False)
class Solution(Result):
    """The answer of a solve: a point, bounds on the optimal value, and a proof.

    `lower <= optimum <= upper` in the sense of the objective as it was written, and `value` lies between them, too;
    `gap` is their distance, relative to the larger of them in size.
    When `certified`, these are theorems: `x` satisfies every constraint for every index, and `certificate` holds the
    proof.

    Examples
    --------
    >>> import lsip
    >>> x, t = lsip.Variable(2, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    >>> above = lsip.forall(t, x[0] + x[1] * t >= t**2, name="above")
    >>> problem = lsip.Problem(lsip.minimize(x[0] + x[1] / 2), [above])
    >>> solution = problem.solve(verbose=False)
    >>> print(solution.status.name, solution.certified, solution[x].round(6))
    OPTIMAL True [0. 1.]
    >>> solution.lower <= 0.5 <= solution.upper
    True
    >>> sorted(round(float(active.point[0]), 6) for active in solution.active)
    [0.0, 1.0]
    """

    @property
    def message(self) -> str:
        """What the status means and what to do next."""
        return message(self)

    @overload
    def __getitem__(self, item: Variable[Value]) -> Value: ...

    @overload
    def __getitem__(self, item: Affine | Convex | Expression | str) -> Array | Any: ...

    def __getitem__(self, item: Affine | Convex | Expression | str) -> Any:
        """The value of a variable or an expression without index: `solution[x]`, `solution["x"]`, `solution[2 * x]`.

        Of a rule, the rule that was found.
        """
        return value_of(self, item)

    def dual(self, constraint: Constraint | ForAll | FamilyOn | str) -> Array | float | tuple[ActivePoint, ...]:
        """The multipliers of a constraint, given as it was written or by its name.

        Of a finite one, numbers in its shape; of one for all y, the active points, each with its multiplier. They are
        >= 0, but for equalities: what one unit of room, on the right of <= or ==, or on the left of >=, is worth. For a
        problem without a solution, they are the weights of the contradiction. With integer variables they are those of
        the problem in which these are fixed at their values, or of the one in which they need not be whole, where that
        proves the optimum. Of an equality for all y, there is a number for every equation that stands for it; of a
        semidefinite matrix, the number is the trace of the dual matrix.
        """
        return duals.dual(self, constraint)

    def reduced_costs(self, variable: Variable) -> Array | float:
        """What the objective would change by with one more unit of a variable, all other constraints paid for.

        It is zero for a variable between its bounds, and what moving a bound is worth for one that is at it.
        """
        return duals.reduced_costs(self, variable)

    def all_reduced_costs(self) -> Array:
        """Those of all variables, flat, in the order of `x`."""
        return duals.all_reduced_costs(self)

    def row_multipliers(self) -> Array:
        """Those of all finite constraints, row by row, in the sense of the minimisation that was solved."""
        return duals.row_multipliers(self)

    def violation(self, family: int = 0) -> Seen:
        """a(y) x - b(y) of a family at the solution, as a function of y: of one of `families`, by its number."""
        whole("family", family, 0)
        if family >= len(self.families):
            known = ", ".join(map(str, range(len(self.families)))) or "none"
            raise ModelError(
                f"`family` is the number of a constraint over an index, counted from 0 ({known}); got {family}."
            )
        return self.families[family].seen(self.certificate.x)

    def verify(
        self,
        tol: float | None = None,
        *,
        atol: float | None = None,
        oracle: Oracle | None = None,
        time_limit: float | None = None,
    ) -> Self:
        """Re-check the proof from the certificate alone, with nothing kept from the solve; ProofError if it fails.

        Returns the solution; one that was read from a file and not checked before is `certified` from then on, and its
        `max_violation` is what was proven now, where it was said to be less.

        The `gap` of an optimum has to be at most `tol`, by default that of the solve; or its bounds differ by at most
        `atol`, by default what rounding leaves of the model's own terms, whatever a solve or a file may have said.
        Where lsip has no proof of its own, the `oracle` is asked, by default that of the solve; a solution that was
        read from a file has none unless given. After `time_limit` seconds the check ends with `OutOfTime`, which says
        nothing about the proof.
        """
        return verified(self, tol, atol, oracle, time_limit)

    def sensitivity(self, parameter: Parameter, variable: Variable | None = None) -> Array | float:
        """The derivative of the optimal value in every entry of a parameter; given a variable, that of its optimum.

        Parameters
        ----------
        parameter
            One of the problem. The derivative of the value has its shape.
        variable
            One of the problem. Its derivative has the variable's shape, followed by that of the parameter.

        Raises
        ------
        ModelError
            Where the derivative does not exist, or is not known to: several multipliers, an active row without one,
            integers, cones, index sets that depend on the parameter.

        Examples
        --------
        >>> import numpy as np, lsip
        >>> x, t = lsip.Variable(2, name="x"), lsip.Index("t", lsip.Interval(0, 1))
        >>> p = lsip.Parameter(name="p", value=1)
        >>> rows = lsip.forall(t, x[0] + x[1] * t >= np.exp(p * t))
        >>> solution = lsip.Problem(lsip.minimize(x[0] + x[1] / 2), [rows]).solve(verbose=False)
        >>> round(solution.sensitivity(p), 5)  # of (1 + exp(p)) / 2
        1.35914
        >>> solution.sensitivity(p, x).round(5).tolist()
        [0.0, 2.71828]
        """
        found: Array | float = DRAWN["sensitivity"](self, parameter, variable)
        return found

    def plot(self, path: str | Path | None = None, *, family: int | str | None = None, kind: str | None = None) -> Any:
        """Draw the violation over Y with the active points, or `kind="variables"`, or `kind="convergence"`."""
        return DRAWN["plot"](self, path, family=family, kind=kind)

    def report(self, path: str | Path) -> Path:
        """Write one self-contained page (HTML) about the model, the proof, the violation over Y and the solve."""
        written: Path = DRAWN["report"](self, path)
        return written

    def to_frame(self, what: str = "variables") -> pd.DataFrame:
        """A table of pandas, with one row for each element of the variables; or of something else.

        Parameters
        ----------
        what
            "variables": name, place in the array, value, bounds and reduced cost; "active": the index points that hold
            the solution, with their coordinates and multipliers; "rows": the finite constraints, with value, sides and
            multiplier; "history": the iterations.
        """
        return frame(self, what)

    def save(self, path: str | Path) -> None:
        """Write the answer and its certificate to an .npz file (no code is stored, and none is run on loading).

        The problem is in it as it was solved, wherever `Problem.save` can write it.
        """
        solution_file.save(self, path)

    @classmethod
    def load(cls, path: str | Path, problem: Program | Compilable | None = None, *, verify: bool = True) -> Self:
        """Read a solution of `problem` back; a file of another model is refused.

        Without a `problem`, it is the one that the file holds: `solution.problem`. What is proven is proven of that.

        Nothing in a file is trusted: where it claims a proof, that is checked as in `verify()`, and ProofError is
        raised if it fails. With `verify=False`, only shapes and numbers are looked at, and nothing is `certified` until
        `verify()` returns it so; other answers than proofs are always left to that.

        Models are compared by what they contain, not by their names; functions without a formula by their values at a
        few points.
        """
        flag("verify", verify)
        found = solution_file.read(cls, path, problem)
        return found.verify() if verify and found.status.claims_proof else found

    def export(self, path: str | Path) -> None:
        """Write the model and its proof as JSON, for `lsip check`: a checker that shares no code with lsip.

        Only what is certified can be exported, and only models whose constraints are formulas; a ModelError says why
        another one is not.
        """
        write_json(path, "proof.json", proof_data(self.program, self.certificate, self.status, self.tol, self.atol))

    def write(self, path: str | Path) -> None:
        """Write the last finite relaxation to an .mps or .lp file: the finite part, and rows at the index points held.

        Variables and constraints have their names, those without one are numbered (c0, c1, …), and rows at index points
        are called name@y, with ~ for a minus and _ between coordinates. Its optimal value is the bound that the solve
        ended with, up to the tolerance, as any solver that reads the file can tell.

        Examples
        --------
        >>> import numpy as np, lsip
        >>> x, t = lsip.Variable(2, name="x"), lsip.Index("t", lsip.Interval(0, 1))
        >>> above = lsip.forall(t, x[0] + x[1] * t >= np.exp(t), name="above")
        >>> solution = lsip.Problem(lsip.minimize(x[0] + x[1] / 2), [above]).solve(verbose=False)
        >>> solution.write("relaxation.mps")  # doctest: +SKIP
        """
        write_relaxation(self, path)

    def _repr_html_(self) -> str:
        return notebook(self)

    @legibly
    def __str__(self) -> str:
        return summary(self)

    __repr__ = __str__
