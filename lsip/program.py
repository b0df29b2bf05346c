"""What solvers see: a finite linear program and families of rows a(y) x <= b(y), one for every y in a domain.

A `Program` always minimises; `Problem` remembers whether the user asked for a maximum.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .errors import ModelError
from .row_families import FamilyViolation

if TYPE_CHECKING:
    from .exchange import Exchange
    from .solution import Solution

Array = NDArray[np.float64]
DENSE = 500  # with at most so many variables, rows are handled as dense arrays


@dataclass(frozen=True, eq=False)
class Program:
    """min c x + constant with row_lower <= A x <= row_upper, lower <= x <= upper, and all rows of every family.

    `Problem.compile` makes one from a declared model, `from_arrays` from plain arrays.
    """

    c: Array
    constant: float
    lower: Array
    upper: Array
    A: sparse.csr_matrix
    row_lower: Array
    row_upper: Array
    families: tuple[Any, ...]
    row_labels: tuple[str, ...] = ()
    maximise: bool = False
    name: str = "problem"
    names: tuple[str, ...] = ()  # (n,), of the variables, if they have any

    @classmethod
    def from_arrays(
        cls,
        c: Any,
        A_ub: Any = None,
        b_ub: Any = None,
        A_eq: Any = None,
        b_eq: Any = None,
        bounds: Any = (0, None),
        families: Iterable[Any] = (),
        sense: str = "min",
        names: Sequence[str] | None = None,
        constant: float = 0.0,
    ) -> Program:
        """c @ x + constant with A_ub @ x <= b_ub, A_eq @ x == b_eq, bounds, and a(y) @ x <= b(y) for all y.

        Parameters
        ----------
        c
            Objective, (n,).
        A_ub, b_ub, A_eq, b_eq, bounds
            As `scipy.optimize.linprog` takes them, dense or sparse: variables are nonnegative unless `bounds` says
            otherwise.
        families
            Each an `lsip.Family`, or a family of another program.
        sense
            "min" or "max".
        names
            Of the variables.
        constant
            What the objective is for x = 0.

        Examples
        --------
        >>> import numpy as np, lsip
        >>> above = lsip.Family(lsip.Interval(0, 1), lambda y: -(y ** np.arange(3)), lambda y: -np.tan(y[:, 0]))
        >>> program = lsip.Program.from_arrays([1, 1 / 2, 1 / 3], bounds=(None, None), families=[above])
        >>> program
        Program problem: minimise over 3 variables, 0 finite rows, 1 family of rows
        >>> round(program.solve(verbose=False).value, 7)
        0.6490421
        """
        from .arrays import read_program

        return read_program(c, A_ub, b_ub, A_eq, b_eq, bounds, families, sense, names, constant)

    def to_arrays(self) -> dict[str, Any]:
        """The keyword arguments of `from_arrays` that make an equal program; rows are sorted into A_ub and A_eq."""
        from .arrays import write_arrays

        return write_arrays(self)

    def solve(self, *given: Any, method: Exchange | None = None, verbose: bool = True, **options: Any) -> Solution:
        """Solve with proof; options are the fields of `Exchange`, by name, as in `Problem.solve`."""
        from .exchange import Exchange, solve
        from .options import chosen

        return solve(self, chosen(Exchange(), given, method, options), verbose=verbose)

    def __repr__(self) -> str:
        rows, count = self.A.shape[0], len(self.families)
        names = f" ({', '.join(self.names[:6])}{', …' if self.n > 6 else ''})" if self.names else ""
        return (
            f"Program {self.name}: {'maximise' if self.maximise else 'minimise'} over {self.n} variables{names}, "
            f"{rows} finite row{'s' * (rows != 1)}, {count} {'family' if count == 1 else 'families'} of rows"
        )

    @property
    def n(self) -> int:
        return len(self.c)

    def violation(self, family: int, x: Array, scale: float = 1.0) -> FamilyViolation:
        """a(y) x - scale b(y) of a family, as a function of y."""
        return FamilyViolation(self.families[family], x, scale)

    def finite_violation(self, x: Array) -> float:
        """The largest amount by which x breaks a finite row or a bound."""
        parts = [self.lower - x, x - self.upper]
        if self.A.shape[0]:
            r = self.A @ x
            parts += [self.row_lower - r, r - self.row_upper]
        return float(max((p.max() for p in parts if p.size), default=0.0))


def compiled(problem: Any) -> Program:
    """What solvers see of a problem; a program is that already."""
    if isinstance(problem, Program):
        return problem
    if not hasattr(problem, "compile") or not isinstance(program := problem.compile(), Program):
        raise ModelError(f"An lsip.Problem or an lsip.Program is needed; got {problem!r}.")
    return program
