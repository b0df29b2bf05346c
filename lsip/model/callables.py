"""Functions in place of expressions: a `Family` holds a(y) @ x <= b(y) for every y, and is traced if it can be.

A family's functions are first called with an index expression in place of the points. If that gives an expression, and
if it agrees with the functions at a sample of points, the family has derivatives and enclosures like one that was
declared. If not, the functions are black boxes: nothing but their values at points is known, and their Lipschitz
constants if these are given. A trace is trusted between those points: a function that gives one thing for arrays and
another for expressions is certified as the latter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from ..deadline import EFFORT
from ..domains import Domain
from ..errors import ModelError
from ..expressions.affine import Affine
from ..expressions.arrangements import Gather
from ..expressions.graph import Expression, Index, as_expression
from ..expressions.parameter import parameters_in
from ..expressions.printing import latex
from ..expressions.tape import Tape, constant_value
from ..expressions.undefined import coordinates
from ..legible import legible_repr, legibly
from ..masters.base import is_sparse
from ..oracles.attained import discrete_points
from ..oracles.base import Array, Ints
from ..validation import numbers, shown
from .black_box_rows import COMPARISON, BlackBoxRows
from .declared_rows import DeclaredRows
from .families import RowFamily, RowFunctions
from .legend import Legend

Function = Callable[[Any], Any]


@dataclass(frozen=True, eq=False)
class Family:
    """A continuum of rows: a(y) @ x <= b(y) for every y in `domain`.

    Parameters
    ----------
    domain
        The index set, of dimension m.
    a
        Points (N, m) -> coefficients (N, n), dense or SciPy sparse.
    b
        Points (N, m) -> right-hand sides (N,).
    lipschitz
        (L_a, L_b), or one number for both: every coefficient of a, and b, changes by at most L times the largest
        change of a coordinate of y. Taken on trust, and used only where the functions cannot be traced.

    Examples
    --------
    >>> import numpy as np, lsip
    >>> lsip.Family(lsip.Interval(0, 1), lambda y: -(y ** np.arange(3)), lambda y: -np.tan(y[:, 0])).domain
    Interval(0.0, 1.0)
    """

    domain: Domain
    a: Function
    b: Function
    lipschitz: float | tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Domain):
            raise ModelError(f"`domain` must be an index set such as lsip.Interval(0, 1); got {shown(self.domain)}.")
        for name, function, result in (("a", self.a, "(N, n)"), ("b", self.b, "(N,)")):
            if not callable(function):
                raise ModelError(
                    f"`{name}` must be a function of points y of shape (N, {self.domain.dim}) that gives shape "
                    f"{result}; got {type(function).__name__}. A constant is lambda y: np.full(len(y), value)."
                )
        _ = self.constants

    @property
    def constants(self) -> tuple[float, float] | None:
        """(L_a, L_b), None when nothing was said."""
        if self.lipschitz is None:
            return None
        try:
            pair = np.broadcast_to(numbers(self.lipschitz, "`lipschitz`"), (2,))
        except ValueError:  # also of `numbers`
            pair = np.full(2, np.nan)
        if not (np.isfinite(pair).all() and (pair >= 0).all()):
            raise ModelError(
                "`lipschitz` must be a number >= 0 or a pair (L_a, L_b) of them, or None when no constant is known; "
                f"got {shown(self.lipschitz)}."
            )
        return float(pair[0]), float(pair[1])

    def on(self, x: Affine) -> FamilyOn:
        """The constraint a(y) @ x <= b(y) for all y, for variables or a slice of them: for use in a `Problem`.

        Examples
        --------
        >>> import numpy as np, lsip
        >>> x = lsip.Variable(3, name="x")
        >>> above = lsip.Family(lsip.Interval(0, 1), lambda y: -(y ** np.arange(3)), lambda y: -np.tan(y[:, 0]))
        >>> problem = lsip.Problem(lsip.minimize(x[0] + x[1] / 2 + x[2] / 3), [above.on(x)])
        >>> round(problem.solve(verbose=False).value, 7)
        0.6490421
        """
        body = Affine.of(x)
        if body.ndim != 1 or not _plain(body):
            raise ModelError(f"`on` takes a vector of variables, such as x or x[:3]; got {x}.")
        return FamilyOn(self, body)


@legible_repr
@dataclass(frozen=True, eq=False)
class FamilyOn:
    """A family of rows, applied to some of the variables of a problem."""

    family: Family
    body: Affine  # (n,), variables only

    def __deepcopy__(self, memo: dict[int, object]) -> FamilyOn:
        return self  # as all statements: a solution knows it by its identity

    @legibly
    def __str__(self) -> str:
        return f"a(y) @ {self.body} ≤ b(y)   for all y ∈ {self.family.domain}"

    def latex(self) -> str:
        """The constraint for Jupyter."""
        return rf"a(y)^\top {latex(self.body)} \le b(y) \quad \forall y \in {self.family.domain.latex()}"


def _plain(body: Affine) -> bool:
    """Whether every entry is one variable, and nothing else."""
    rows = np.concatenate([t.rows for t in body.terms]) if body.terms else np.zeros(0)
    alone = len(rows) == body.size and len(np.unique(rows)) == body.size
    return alone and not body.offset_matters and all(_one(t.coefficient) for t in body.terms)


def _one(e: Expression) -> bool:
    """Whether it is 1, whatever happens."""
    return not e.indices() and not parameters_in(e) and bool(np.all(constant_value(e) == 1))


def compile_family(family: Family, name: str, n: int, columns: Ints | None = None) -> RowFamily:
    """The family as solvers see it: traced if that is possible, a black box otherwise; over columns, or the first n."""
    place = np.arange(n) if columns is None else columns
    rows, used = _rows(family, name, n)
    return RowFamily(rows, place[used][None, :])


def black_box(
    name: str, domain: Domain, a: Function, b: Function, n: int, lipschitz: tuple[float, float] | None = None
) -> BlackBoxRows:
    """Rows by functions of points, whose coordinates are called y, or y[0], y[1] and so on."""
    coordinates = ("y",) if domain.dim == 1 else tuple(f"y[{k}]" for k in range(domain.dim))
    return BlackBoxRows(Legend(name, (name,), coordinates), domain, a, b, n, lipschitz)


def _rows(family: Family, name: str, n: int) -> tuple[RowFunctions, Ints]:
    """The rows, and which of the n variables they are about."""
    constants = family.constants
    if constants is None and discrete_points(family.domain) is not None:
        constants = (0.0, 0.0)  # every index point can be tried, and between them there is nothing to bound
    box = black_box(name, family.domain, family.a, family.b, n, constants)
    points = _check_points(family.domain, n)
    a, b = box.rows(points)  # says what is wrong with the shapes or the values, if anything is
    found = _trace(family, name, n)
    if found is not None:
        traced, used = found
        shown = np.zeros((len(points), n + 1))
        shown[:, np.append(used, n)] = traced.tape.values(points)
        wanted = np.concatenate([a[:, 0], b], axis=1)
        allowed = COMPARISON.agreement * (np.abs(wanted) + np.abs(wanted).max(axis=0))
        with np.errstate(invalid="ignore"):
            if (np.abs(shown - wanted) <= allowed).all():  # a nan compares false
                return found
    return box, np.arange(n)


def _check_points(domain: Domain, n: int) -> Array:
    """Corners and edges, where functions change their definition, and points that are spread evenly.

    A finite index set is checked at all of its points, unless that takes too much memory.
    """
    corners = domain.grid(3 if domain.dim <= 2 else 2) if domain.dim <= 8 else domain.grid(1)
    return np.concatenate([corners[: max(1000, EFFORT.entries // n)], domain.spread(COMPARISON.points)])


def _trace(family: Family, name: str, n: int) -> tuple[DeclaredRows, Ints] | None:
    """Call the functions with an index expression of shape (1, m); None when they need numbers."""
    index = Index("y", family.domain)
    y = index.reshape(1, family.domain.dim)
    try:
        a, b = _expression(family.a(y), (1, n)), _expression(family.b(y), (1,))
    except Exception:  # Whatever a function raises on an expression only says that it needs numbers.
        return None
    if a is None or b is None:
        return None
    # Coefficients that vanish for every y need no column: rows that are sparse by construction stay so.
    range_ = Tape((a,), (index,)).enclose(family.domain.lower[None, :], family.domain.upper[None, :])
    used = np.flatnonzero((range_.lo[0] != 0) | (range_.hi[0] != 0))
    used = used if len(used) else np.zeros(1, dtype=np.intp)
    legend = Legend(name, (name,), coordinates((index,)), (index,))
    return DeclaredRows(legend, family.domain, (Gather(a, used), b)), used


def _expression(value: Expression | ArrayLike | sparse.csr_matrix, shape: tuple[int, ...]) -> Expression | None:
    """What a traced function gave, if it has the right shape: an expression, numbers, or an array of both."""
    found = as_expression(value.toarray() if is_sparse(value) else value)
    return found if found.shape == shape else None
