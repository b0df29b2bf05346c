"""The finite linear program at chosen index points, as plain arrays: for those who want to hand it to something else.

It asks less than the problem, since it knows only these points. Its value is therefore a bound: for a minimum, at most
the value of the problem; for a maximum, at least that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeGuard, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from ..domains.points import as_points
from ..errors import MissingExtraError, ModelError
from ..expressions.affine import Variable
from ..expressions.graph import Index
from ..legible import legible_repr, legibly
from ..masters.base import FiniteProgram, Matrix
from ..masters.checked import open_program
from ..masters.highs import HIGHS
from ..masters.written import Sides
from ..oracles.base import Array
from ..validation import NO_NUMBERS, axes, is_mapping
from .families import RowFamily
from .program import Program
from .quantified import ONCE

Points = int | ArrayLike  # of one index set: how many an axis, or which
Chosen = Points | Sequence[Points] | Mapping[Index, Points]  # of all families


@legible_repr
@dataclass(frozen=True, eq=False)
class FamilyBlock:
    """The rows of one family: all of them at the first point, all at the second, and so on."""

    points: Array  # (k, m)
    names: tuple[str, ...]  # (p,), the rows of one point
    coordinates: tuple[str, ...]  # (m,)

    @property
    def size(self) -> int:
        return len(self.points) * len(self.names)

    def labels(self) -> Iterator[str]:
        """What each row is called."""
        for point in self.points.tolist():
            at = ", ".join(f"{c} = {v:.6g}" for c, v in zip(self.coordinates, point, strict=True))
            yield from (f"{name} at {at}" for name in self.names)


@legible_repr
@dataclass(frozen=True, eq=False)
class FiniteSolution:
    """What HiGHS says about a `FiniteLP`."""

    status: str  # "optimal", "infeasible" or "unbounded"
    value: float  # in the sense of the objective; nan when infeasible, an infinity when unbounded
    x: Array  # (n,), nan without an optimum


@dataclass(frozen=True, eq=False, repr=False)
class FiniteLP:
    """c @ x + constant, to be minimised or maximised, with A_ub @ x <= b_ub, A_eq @ x == b_eq and bounds.

    All arrays have the shapes of `scipy.optimize.linprog`, but `c` is that of the problem as it was written:
    `to_scipy` turns its sign where `linprog`, which minimises, has to maximise.
    """

    c: Array  # (n,)
    A_ub: sparse.csr_matrix  # finite rows first, then those of each family
    b_ub: Array
    A_eq: sparse.csr_matrix
    b_eq: Array
    bounds: Array  # (n, 2), with infinities
    constant: float
    maximise: bool
    blocks: tuple[FamilyBlock, ...]  # the index points, a family each
    finite_labels: tuple[tuple[str, ...], tuple[str, ...]]  # of the finite rows in A_ub, and of those in A_eq
    name: str = "problem"
    integer: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))  # (n,); empty for none

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """What every row is called: those of A_ub, then those of A_eq."""
        upper, equal = self.finite_labels
        return (*upper, *(label for block in self.blocks for label in block.labels()), *equal)

    def solve(self) -> FiniteSolution:
        """Solve with HiGHS; the value bounds that of the problem, to the accuracy of an LP solver."""
        c, sides = -self.c if self.maximise else self.c, np.concatenate([self.b_ub, self.b_eq])
        least = np.where(np.arange(len(sides)) < len(self.b_ub), -np.inf, sides)
        rows = sparse.csr_matrix(sparse.vstack([self.A_ub, self.A_eq], format="csr"))
        integer, (lower, upper) = self.integer if self.integer.any() else None, self.bounds.T
        found = open_program(HIGHS, FiniteProgram(c, lower, upper, rows, least, sides, integer), 1e-6).solve()
        if found.x is not None and found.status == "optimal":
            return FiniteSolution("optimal", float(self.c @ found.x) + self.constant, found.x)
        value = np.nan if found.status == "infeasible" else np.inf if self.maximise else -np.inf
        return FiniteSolution(found.status, value, np.full(len(self.c), np.nan))

    def to_scipy(self) -> dict[str, Any]:
        """Keyword arguments for `scipy.optimize.linprog`, which minimises: -c for a maximum, and no constant."""
        parts = {"A_ub": self.A_ub, "b_ub": self.b_ub, "A_eq": self.A_eq, "b_eq": self.b_eq, "bounds": self.bounds}
        if self.integer.any():
            parts["integrality"] = self.integer.astype(int)
        return {"c": -self.c if self.maximise else self.c, **parts}

    @legibly
    def __repr__(self) -> str:
        at = ", ".join(str(len(block.points)) for block in self.blocks)
        points = f", at {at} index points" if self.blocks else ""
        return (
            f"FiniteLP {self.name}: {'maximise' if self.maximise else 'minimise'} over {len(self.c)} variables, "
            f"{len(self.b_ub)} inequalities, {len(self.b_eq)} equalities{points}"
        )


def discretise(program: Program, points: Chosen) -> FiniteLP:
    """The rows of a program at index points.

    Parameters
    ----------
    program
        What `Problem.compile` gives, or `Program.from_arrays`.
    points
        A number, for the grid of so many points an axis on every domain; an array (k, m), when there is one family;
        a list with one of these a family; or a mapping from each `Index` to its points, of which families over several
        indices take all combinations.
    """
    for family in program.families:
        if family.legend.shown < family.domain.dim and (family.domain.lower < family.domain.upper).any():
            raise ModelError(
                f"{family.legend.name} stands for a continuum of rows at every index point, so that no finite linear "
                "program has it at chosen points. solve() takes it as it is."
            )
    chosen = [_inside(y, family) for y, family in zip(_split(points, program.families), program.families, strict=True)]
    rows = [_rows(family, y, program.n) for family, y in zip(program.families, chosen, strict=True)]
    sides = Sides.of(program.A, program.row_lower, program.row_upper)
    sign = -1.0 if program.maximise else 1.0
    return FiniteLP(
        c=sign * program.c + 0.0,
        A_ub=sparse.csr_matrix(sparse.vstack([sides.upper, *(a for a, _ in rows)], format="csr")),
        b_ub=np.concatenate([sides.right, *(b for _, b in rows)]),
        A_eq=sides.equal,
        b_eq=sides.value,
        bounds=np.stack([program.lower, program.upper], axis=1),
        constant=sign * program.constant + 0.0,
        maximise=program.maximise,
        blocks=tuple(
            FamilyBlock(y, f.labels, f.legend.coordinates) for y, f in zip(chosen, program.families, strict=True)
        ),
        finite_labels=_finite_labels(program, sides),
        name=program.name,
        integer=program.integer,
    )


def to_cvxpy(lp: FiniteLP, variables: Sequence[Variable]) -> Any:
    """The same program as a `cvxpy.Problem`, one `cvxpy.Variable` for each variable of the model."""
    try:
        import cvxpy
    except ImportError as error:
        raise MissingExtraError("`to_cvxpy` needs cvxpy: pip install 'lsip[cvxpy]'.") from error
    cp: Any = cvxpy  # its annotations are incomplete
    ends = np.cumsum([v.size for v in variables])
    boxes = [box.T.reshape(2, *v.shape) for v, box in zip(variables, np.split(lp.bounds, ends[:-1]), strict=True)]
    made = [
        cp.Variable(v.shape, name=v.name, bounds=list(box) if np.isfinite(box).any() else None, integer=v.integer)
        for v, box in zip(variables, boxes, strict=True)
    ]
    flat = [cp.reshape(x, (v.size,), order="C") for x, v in zip(made, variables, strict=True)]

    def product(rows: Matrix) -> Any:
        parts = [rows[:, end - v.size : end] for v, end in zip(variables, ends, strict=True)]
        return sum(part @ x for part, x in zip(parts, flat, strict=True))

    cuts = np.cumsum([len(lp.finite_labels[0]), *(block.size for block in lp.blocks)])
    constraints = [
        product(lp.A_ub[start:end]) <= lp.b_ub[start:end]
        for start, end in zip([0, *cuts[:-1]], cuts, strict=True)
        if end > start
    ]
    if len(lp.b_eq):
        constraints.append(product(lp.A_eq) == lp.b_eq)
    objective = product(lp.c[None, :])[0] + lp.constant
    return cp.Problem(cp.Maximize(objective) if lp.maximise else cp.Minimize(objective), constraints)


# ---- index points as users give them ---------------------------------------------------------------------------------


def _split(points: Chosen, families: Sequence[RowFamily]) -> list[Points]:
    """One entry a family: a number or points. Finite rows with enclosed coefficients have their point already."""
    alone = [any(i is ONCE for i in family.legend.indices) for family in families]
    if any(alone):
        given = iter(_split(points, [family for family, single in zip(families, alone, strict=True) if not single]))
        return [1 if single else next(given) for single in alone]
    count = len(families)
    if is_mapping(points):
        return _from_mapping(points, families)
    if _is_number(points):
        return [points] * count
    first = points[0] if isinstance(points, list | tuple) and len(points) == 1 else None
    if count == 1 and not _is_table(first):
        return [cast(Points, points)]  # a list of numbers, or of points, is an array
    if not isinstance(points, list | tuple) or len(points) != count:
        got = f"{len(points)} entries" if isinstance(points, list | tuple) else f"one {type(points).__name__}"
        raise ModelError(
            f"The problem has {count} families of rows: give one number for all of them, or a list with a number or an "
            f"array (k, m) for each; got {got}."
        )
    return list(points)


def _is_table(value: object) -> bool:
    """Whether it is an array (k, m), or written as one."""
    if isinstance(value, list | tuple):
        return any(isinstance(row, list | tuple) or axes(row) == 1 for row in value)
    return isinstance(value, np.ndarray) and value.ndim == 2


def _from_mapping(points: Mapping[Index, Points], families: Sequence[RowFamily]) -> list[Points]:
    """The points of every family from those of its indices."""
    indices = {index: None for family in families for index in family.legend.indices}
    unknown = [str(key) for key in points if key not in indices]
    if unknown:
        raise ModelError(
            f"{', '.join(unknown)} is no index of this problem; its indices are {', '.join(i.name for i in indices)}."
        )
    entries: list[Points] = []
    for family in families:
        missing = [i.name for i in family.legend.indices if i not in points]
        if missing or not family.legend.indices:
            what = f"no points are given for {', '.join(missing)}" if missing else "it has functions, no index"
            raise ModelError(
                f"{family.legend.name}: {what}; give points for every index, or a list with one entry a family."
            )
        each = [
            i.domain.fixed().grid(int(y)) if _is_number(y) else as_points(y, i.domain.dim)
            for i, y in ((i, points[i]) for i in family.legend.indices)
        ]
        places = np.meshgrid(*(np.arange(len(y)) for y in each), indexing="ij")
        entries.append(np.concatenate([y[p.ravel()] for y, p in zip(each, places, strict=True)], axis=1))
    return entries


def _is_number(points: object) -> TypeGuard[int]:
    """Whether `points` says how many, rather than which."""
    return isinstance(points, int | np.integer) and not isinstance(points, NO_NUMBERS)


def _inside(points: Points, family: RowFamily) -> Array:
    """Points (k, m) of a family's domain."""
    domain = family.domain
    if _is_number(points):
        return domain.grid(int(points))
    if points is None or isinstance(points, bool):
        raise ModelError(
            f"{family.legend.name}: give a number of points an axis, or an array (k, {domain.dim}); got {points}."
        )
    y = as_points(points, domain.dim)
    inside = domain.contains(y)
    if not inside.all():
        first = int(np.argmin(inside))
        raise ModelError(
            f"{family.legend.name}: point {first}, {y[first]}, is not in {domain}; give points of the index set."
        )
    return y


# ---- their rows ------------------------------------------------------------------------------------------------------


def _rows(family: RowFamily, points: Array, n: int, chunk: int = 4096) -> tuple[sparse.csr_matrix, Array]:
    """All rows of a family at points, point by point; a chunk of points is evaluated at once."""
    parts, right = [sparse.csr_matrix((0, n))], [np.zeros(0)]
    for start in range(0, len(points), chunk):
        a, b = family.rows(points[start : start + chunk])
        count, p, k = a.shape
        columns = np.tile(family.columns.ravel(), count)
        table = sparse.csr_matrix((a.ravel(), columns, np.arange(0, a.size + 1, k)), shape=(count * p, n))
        table.sum_duplicates()  # short rows are padded with zeros in column 0
        table.eliminate_zeros()
        parts.append(table)
        right.append(b.ravel())
    return sparse.csr_matrix(sparse.vstack(parts, format="csr")), np.concatenate(right)


def _finite_labels(program: Program, sides: Sides) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the finite rows, in the order of their sides."""
    names = np.array(program.row_labels or [f"row {i}" for i in range(program.A.shape[0])], dtype=object)
    same, above, below = sides.places
    both = above & below
    lower = [f"{name}, lower side" if two else name for name, two in zip(names[below], both[below], strict=True)]
    return (*names[above], *lower), tuple(names[same])
