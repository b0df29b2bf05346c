"""What solvers see: a finite linear program and families of rows a(y) x <= b(y), one for every y in a domain.

A `Program` always minimises; `Problem` remembers whether the user asked for a maximum.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from ..cones import ConeRows
from ..errors import ModelError
from ..legible import legibly
from ..masters.written import Sides
from ..oracles.base import Array
from ..rounding import check_rounding
from ..validation import shown
from .arrays import Pairs, Table, read_arrays
from .callables import Family
from .families import RowFamily
from .method import Solvable, ready
from .violation import FamilyViolation


@dataclass(frozen=True)
class StorageTuning:
    """How rows are held.

    Parameters
    ----------
    most_dense
        With at most so many variables, rows are handled as dense arrays; beyond, as sparse ones.
    """

    most_dense: int = 500


STORAGE = StorageTuning()


def held_dense(shape: tuple[int, int], entries: int) -> bool:
    """Whether a table is held as a dense array: of few columns, or where entries with their places take more memory."""
    return shape[1] <= STORAGE.most_dense or 1.5 * entries >= shape[0] * shape[1]  # 8 bytes and 4, beside 8


class FixedMatrix(sparse.csr_matrix):  # type: ignore[misc]  # which has no types
    """The finite rows of a program: its arrays are read-only, and no entry can be set; one of a copy can."""

    @staticmethod
    @lru_cache(maxsize=16)
    def none(n: int) -> FixedMatrix:
        """No rows, of so many columns."""
        return FixedMatrix.of(sparse.csr_matrix((0, n)))

    @staticmethod
    def of(matrix: Table) -> FixedMatrix:
        """A matrix of its own, without duplicate entries, so that nothing has to be put in order later."""
        if isinstance(matrix, FixedMatrix) and not matrix.data.flags.writeable:
            return matrix
        fixed = FixedMatrix(matrix, copy=True)
        fixed.sum_duplicates()
        for part in (fixed.data, fixed.indices, fixed.indptr):
            part.flags.writeable = False
        return fixed

    def __setitem__(self, key: object, value: object) -> None:
        if not self.data.flags.writeable:
            raise ModelError("The rows of a Program cannot be changed; make another with dataclasses.replace.")
        super().__setitem__(key, value)


def _fixed(array: NDArray[Any]) -> NDArray[Any]:
    """An array that nobody can write to: the same, if that is so already, or a copy."""
    if array.flags.writeable or array.base is not None:
        array = array.copy()
        array.flags.writeable = False
    return array


@dataclass(frozen=True, eq=False)
class Place:
    """Where a constraint stands: from which finite row to which, or from which row of a family to which."""

    family: int | None
    start: int
    end: int
    factors: Array | None = None  # with which finite rows were multiplied


@dataclass(frozen=True, eq=False)
class Layout:
    """How a program came about: from which statements of which problem, and where each of them stands."""

    written: Compilable  # makes an equal program, in which nothing is known yet
    owner: object
    places: Mapping[Any, Place]
    restated: Mapping[Any, tuple[Any, ...]] = field(default_factory=dict)  # statements, by those in their place

    def moves(self, other: Layout) -> dict[tuple[int, int], tuple[int, int]]:
        """Where rows of families (family, row) stand in another layout, but for those whose constraints are gone."""
        found: dict[tuple[int, int], tuple[int, int]] = {}
        for statement, place in self.places.items():
            there = other.places.get(statement)
            if place.family is not None and there is not None and there.family is not None:
                for i in range(place.end - place.start):
                    found[place.family, place.start + i] = there.family, there.start + i
        return found


@dataclass(frozen=True, eq=False)
class Program(Solvable):
    """min c x + constant with row_lower <= A x <= row_upper, lower <= x <= upper, and all rows of every family.

    Variables that are `integer` take whole values only, and have whole bounds.

    `Problem.compile` makes one from a declared model, `from_arrays` from plain arrays. With `cones`, further finite
    rows have their slacks in cones; such programs are solved where they are made, in `lsip.interop.cvxpy`.

    All arrays are read-only, for what is found out about a program is kept as long as it is; another one is made with
    `dataclasses.replace`.

    Examples
    --------
    >>> import lsip
    >>> x, t = lsip.Variable(2, name="x"), lsip.Index("t", lsip.Interval(0, 1))
    >>> above = lsip.forall(t, x[0] + x[1] * t >= t**2, name="above")
    >>> problem = lsip.Problem(lsip.minimize(x[0] + x[1] / 2), [above])
    >>> program = problem.compile()
    >>> program.n, len(program.families), program.c
    (2, 1, array([1. , 0.5]))
    """

    c: Array
    constant: float
    lower: Array
    upper: Array
    A: sparse.csr_matrix
    row_lower: Array
    row_upper: Array
    families: tuple[RowFamily, ...]
    row_labels: tuple[str, ...] = ()
    maximise: bool = False
    name: str = "problem"
    names: tuple[str, ...] = ()  # (n,), of the variables, if they have any
    cones: ConeRows | None = None
    layout: Layout | None = field(default=None, repr=False)  # where a problem was declared
    integer: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))  # (n,); empty for none
    maps: tuple[Any, ...] = field(
        default=(), repr=False
    )  # the ways back to what was written, the first reduction first

    def __post_init__(self) -> None:
        if self.integer.any():
            object.__setattr__(self, "lower", np.where(self.integer, np.ceil(self.lower), self.lower))
            object.__setattr__(self, "upper", np.where(self.integer, np.floor(self.upper), self.upper))
        for name in ("c", "lower", "upper", "row_lower", "row_upper", "integer"):
            object.__setattr__(self, name, _fixed(getattr(self, name)))
        object.__setattr__(self, "A", FixedMatrix.of(self.A))
        for family in self.families:
            family.columns.flags.writeable = False

    def __setstate__(self, state: dict[str, Any]) -> None:
        """From a pickle, which does not know that arrays are read-only."""
        vars(self).update(state)
        self.__post_init__()

    @classmethod
    def from_arrays(
        cls,
        c: ArrayLike,
        A_ub: Table | None = None,
        b_ub: ArrayLike | None = None,
        A_eq: Table | None = None,
        b_eq: ArrayLike | None = None,
        bounds: Pairs | None = (0, None),
        families: Iterable[Family | RowFamily] = (),
        sense: str = "min",
        names: Sequence[str] | None = None,
        constant: float = 0.0,
        integrality: ArrayLike | None = None,
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
        integrality
            As `scipy.optimize.linprog` takes it: 1 for a variable of whole values, 0 for one of any; a number for all.

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
        ready()
        return cls(**read_arrays(c, A_ub, b_ub, A_eq, b_eq, bounds, families, sense, names, constant, integrality))

    def to_arrays(self) -> dict[str, Any]:
        """The keyword arguments of `from_arrays` that make an equal program; rows are sorted into A_ub and A_eq."""
        program = compiled(self)
        sides = Sides.of(program.A, program.row_lower, program.row_upper)
        sign = -1.0 if program.maximise else 1.0
        return {
            "c": sign * program.c + 0.0,
            "A_ub": sides.upper,
            "b_ub": sides.right,
            "A_eq": sides.equal,
            "b_eq": sides.value,
            "bounds": np.stack([program.lower, program.upper], axis=1),
            "families": program.families,
            "sense": "max" if program.maximise else "min",
            "names": program.names or None,
            "constant": sign * program.constant + 0.0,
            "integrality": program.integer.astype(int) if program.integer.any() else None,
        }

    @legibly
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

    @property
    def written(self) -> Program:
        """The program before any reduction; its rows are the first ones of this one."""
        return self.maps[0].given if self.maps else self

    @property
    def finite_rows(self) -> int:
        """How many multipliers the finite part has: one for every row of A, then for every row in a cone."""
        return int(self.A.shape[0]) + (0 if self.cones is None else len(self.cones))

    def violation(self, family: int, x: Array, scale: float = 1.0, radius: Array | None = None) -> FamilyViolation:
        """a(y) x - scale b(y) of a family, as a function of y; with a radius, the largest over |x' - x| <= radius."""
        return FamilyViolation(self.families[family], x, scale, radius)

    def label(self, j: int) -> str:
        """What a variable is called in messages."""
        if self.names:
            return self.names[j]
        within = j
        for variable in () if self.layout is None else getattr(self.layout.written, "variables", ()):
            if within < variable.size:
                place = ", ".join(str(k) for k in np.unravel_index(within, variable.shape))
                return f"{variable.name}[{place}]" if variable.shape else str(variable.name)
            within -= variable.size
        return f"x[{j}]"

    def admissible(self, row_multipliers: Array) -> Array:
        """Multipliers of finite rows without those that push against a side the row does not have."""
        rows = row_multipliers[: self.A.shape[0]]
        usable = np.where(rows > 0, np.isfinite(self.row_upper), np.isfinite(self.row_lower))
        return np.concatenate([np.where(usable, rows, 0.0), row_multipliers[len(rows) :]])

    def finite_violation(self, x: Array) -> float:
        """The largest amount by which x breaks a finite row, a bound or a cone."""
        parts = [self.lower - x, x - self.upper]
        if self.A.shape[0]:
            r = self.A @ x
            parts += [self.row_lower - r, r - self.row_upper]
        worst = float(max((p.max() for p in parts if p.size), default=0.0))
        return worst if self.cones is None else max(worst, self.cones.shortfall(x))


class Compilable(Protocol):
    """What a person writes, and what can be made a program of: a `Problem`, for example."""

    def compile(self) -> Program:
        """The arrays and families that a solver works on."""


def compiled(problem: Program | Compilable) -> Program:
    """What solvers of linear programs see of a problem; a program is that already."""
    check_rounding()
    program = problem
    if not isinstance(problem, Program) and hasattr(problem, "compile"):
        program = problem.compile()
    if not isinstance(program, Program):
        raise ModelError(f"An lsip.Problem or an lsip.Program is needed; got {shown(problem)}.")
    if program.cones is not None:
        raise ModelError(
            f"{program.name} has a finite part that is convex, not linear: it is solved through lsip.interop.cvxpy."
        )
    return program
