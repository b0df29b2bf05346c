"""The door for people who have functions rather than expressions: `linsip`, shaped like `scipy.optimize.linprog`.

A family's functions are first called with an index expression in place of the points. If that gives an expression, and
if it agrees with the functions at a sample of points, the family has derivatives and enclosures like one that was
declared. If not, the functions are black boxes: nothing but their values at points is known, and their Lipschitz
constants if these are given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .domains import Domain
from .errors import ModelError
from .exchange import Exchange, solve
from .expressions.graph import Constant, Expression, Gather, Index, Join
from .expressions.operators import RULES
from .expressions.tape import Tape
from .oracles.attained import discrete_points
from .program import BlackBoxFamily, DeclaredFamily, Program
from .solution import Solution

Array = NDArray[np.float64]
TOL = 1e-8
CHECKS = 32  # points at which a trace is compared with the functions, besides the corners
ENTRIES = 2_000_000  # numbers that such a comparison may hold
AGREE = 1e-9  # how closely, relative to the size of each coefficient

_TRACING: ContextVar[bool] = ContextVar("lsip_tracing", default=False)


def _guard(rule: Callable[..., Any]) -> Callable[..., Any]:
    """Let `==` refuse to answer while a function is traced.

    Expressions compare by identity, so that y == 0.5 would be False for all y: a wrong trace that no sample reveals.
    """

    def equal(a: Any, b: Any) -> Any:
        if _TRACING.get():
            raise ModelError("`==` has no meaning for an index expression; the function cannot be traced.")
        return rule(a, b)

    return equal


RULES["equal"] = _guard(RULES["equal"])


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
    a: Callable[[Any], Any]
    b: Callable[[Any], Any]
    lipschitz: float | tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Domain):
            raise ModelError(f"`domain` must be an index set such as lsip.Interval(0, 1); got {self.domain!r}.")
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
            pair = np.broadcast_to(np.asarray(self.lipschitz, dtype=float), (2,))
        except (TypeError, ValueError):
            pair = np.full(2, np.nan)
        if not (np.isfinite(pair).all() and (pair >= 0).all()):
            raise ModelError(
                "`lipschitz` must be a number >= 0 or a pair (L_a, L_b) of them, or None when no constant is known; "
                f"got {self.lipschitz!r}."
            )
        return float(pair[0]), float(pair[1])


def linsip(
    c: Any,
    families: Iterable[Family],
    A_ub: Any = None,
    b_ub: Any = None,
    A_eq: Any = None,
    b_eq: Any = None,
    bounds: Any = (0, None),
    *,
    sense: str = "min",
    tol: float = TOL,
    method: Exchange | None = None,
    verbose: bool = False,
) -> Solution:
    """Minimise c @ x with a(y) @ x <= b(y) for every y of every family, beside what `scipy.optimize.linprog` takes.

    Parameters
    ----------
    c
        Objective, (n,).
    families
        Each a `Family`; none gives an ordinary linear program.
    A_ub, b_ub
        A_ub @ x <= b_ub, shapes (r, n) and (r,), dense or sparse.
    A_eq, b_eq
        A_eq @ x == b_eq.
    bounds
        A pair (lower, upper) for all variables, or one pair a variable; None for no bound. As in `linprog`, variables
        are nonnegative unless this says otherwise: give (None, None) for free ones.
    sense
        "min" or "max".
    tol
        Relative gap to reach. The `tol` of a `method` counts when this one is left alone.
    method
        An `Exchange`: the oracle, limits, a warm start.
    verbose
        Print the progress table.

    Returns
    -------
    Solution
        With `x` in the order of `c`. Certified when every family can be traced; with Lipschitz constants only where
        these are sharp enough for `tol`, which must be loose then; other black boxes only over a finite set.

    Examples
    --------
    The polynomial of degree 2 above tan on [0, 1] with the smallest integral:

    >>> import numpy as np, lsip
    >>> above = lsip.Family(lsip.Interval(0, 1), lambda y: -(y ** np.arange(3)), lambda y: -np.tan(y[:, 0]))
    >>> solution = lsip.linsip([1, 1 / 2, 1 / 3], [above], bounds=(None, None))
    >>> solution.status.name, round(solution.value, 7)
    ('OPTIMAL', 0.6490421)
    """
    cost = _vector(c, "c")
    n = len(cost)
    if sense not in ("min", "max"):
        raise ModelError(f'`sense` must be "min" or "max"; got {sense!r}.')
    if method is not None and not isinstance(method, Exchange):
        raise ModelError(f"`method` must be an lsip.Exchange, such as lsip.Exchange(oracle=…); got {method!r}.")
    upper_rows, right = _rows(A_ub, b_ub, n, "ub")
    equal_rows, value = _rows(A_eq, b_eq, n, "eq")
    lower, upper = _bounds(bounds, n)
    program = Program(
        c=-cost if sense == "max" else cost,
        constant=0.0,
        lower=lower,
        upper=upper,
        A=sparse.vstack([upper_rows, equal_rows], format="csr"),
        row_lower=np.concatenate([np.full(len(right), -np.inf), value]),
        row_upper=np.concatenate([right, value]),
        families=tuple(_compile(f, i, n) for i, f in enumerate(_checked(families))),
        row_labels=(*(f"A_ub[{i}]" for i in range(len(right))), *(f"A_eq[{i}]" for i in range(len(value)))),
        maximise=sense == "max",
        name="linsip",
    )
    options: dict[str, Any] = {} if method is not None and tol == TOL else {"tol": tol}
    return solve(program, method, verbose=verbose, **options)


# ---- families --------------------------------------------------------------------------------------------------------


def _checked(families: Any) -> tuple[Family, ...]:
    if isinstance(families, Family) or not isinstance(families, Iterable):
        raise ModelError(f"`families` must be a list of lsip.Family; got {type(families).__name__}. Put it in a list.")
    found = tuple(families)
    for i, family in enumerate(found):
        if not isinstance(family, Family):
            raise ModelError(f"families[{i}] must be an lsip.Family(domain, a, b); got {type(family).__name__}.")
    return found


def _compile(family: Family, number: int, n: int) -> DeclaredFamily | BlackBoxFamily:
    """The family as solvers see it: traced if that is possible, a black box otherwise."""
    name = f"families[{number}]"
    constants = family.constants
    if constants is None and discrete_points(family.domain) is not None:
        constants = (0.0, 0.0)  # every index point can be tried, and between them there is nothing to bound
    box = BlackBoxFamily(name, family.domain, family.a, family.b, n, constants)
    points = _check_points(family.domain, n)
    a, b = box.rows(points)  # says what is wrong with the shapes or the values, if anything is
    traced = _trace(family, name, n)
    if traced is None:
        return box
    shown = np.zeros((len(points), n + 1))
    flat = traced.tape.values(points)
    shown[:, np.append(traced.columns[0], n)] = flat
    wanted = np.concatenate([a[:, 0], b], axis=1)
    allowed = AGREE * (np.abs(wanted) + np.abs(wanted).max(axis=0))
    with np.errstate(invalid="ignore"):
        same = (np.abs(shown - wanted) <= allowed).all()  # a nan compares false
    return traced if same else box


def _check_points(domain: Domain, n: int) -> Array:
    """Corners and edges, where functions change their definition, and points that are spread evenly.

    A finite index set is checked at all of its points, unless that takes too much memory.
    """
    corners = domain.grid(3 if domain.dim <= 2 else 2) if domain.dim <= 8 else domain.grid(1)
    return np.concatenate([corners[: max(1000, ENTRIES // n)], domain.spread(CHECKS)])


def _trace(family: Family, name: str, n: int) -> DeclaredFamily | None:
    """Call the functions with an index expression of shape (1, m); None when they need numbers."""
    index = Index("y", family.domain)
    y = index.reshape(1, family.domain.dim)
    token = _TRACING.set(True)
    try:
        a, b = _expression(family.a(y), (1, n)), _expression(family.b(y), (1,))
    except Exception:  # Whatever a function raises on an expression only says that it needs numbers.
        return None
    finally:
        _TRACING.reset(token)
    if a is None or b is None:
        return None
    # Coefficients that vanish for every y need no column: rows that are sparse by construction stay so.
    range_ = Tape((a,), (index,)).enclose(family.domain.lower[None, :], family.domain.upper[None, :])
    used = np.flatnonzero((range_.lo[0] != 0) | (range_.hi[0] != 0))
    columns = (used if len(used) else np.zeros(1, dtype=np.intp)).astype(np.intp)
    return DeclaredFamily(name, (index,), family.domain, Gather(a, columns), columns[None, :], b, (name,))


def _expression(value: Any, shape: tuple[int, ...]) -> Expression | None:
    """What a traced function gave, if it has the right shape: an expression, numbers, or an array of both."""
    if sparse.issparse(value):
        value = value.toarray()
    if not isinstance(value, Expression):
        value = np.asarray(value)
        if value.dtype == object:
            parts = tuple(e if isinstance(e, Expression) else Constant(float(e)) for e in value.ravel())
            value = Join(parts).reshape(value.shape)
        else:
            value = Constant(value)
    return value if value.shape == shape else None


# ---- the finite part -------------------------------------------------------------------------------------------------


def _vector(value: Any, name: str) -> Array:
    try:
        vector = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise ModelError(f"`{name}` must be a vector of numbers; got {value!r}.") from None
    if vector.ndim != 1 or not len(vector):
        raise ModelError(f"`{name}` must be a vector of shape (n,); got shape {vector.shape}.")
    if not np.isfinite(vector).all():
        raise ModelError(f"`{name}` must be finite; got nan or inf at position {int(np.argmin(np.isfinite(vector)))}.")
    return vector


def _rows(matrix: Any, right: Any, n: int, kind: str) -> tuple[sparse.csr_matrix, Array]:
    """A_ub and b_ub, or A_eq and b_eq; no rows when neither is given."""
    if matrix is None and right is None:
        return sparse.csr_matrix((0, n)), np.zeros(0)
    if matrix is None or right is None:
        given, missing = (f"b_{kind}", f"A_{kind}") if matrix is None else (f"A_{kind}", f"b_{kind}")
        raise ModelError(f"`{given}` was given without `{missing}`; give both or neither.")
    try:
        rows = sparse.csr_matrix(matrix if sparse.issparse(matrix) else np.array(matrix, dtype=float), dtype=float)
    except (TypeError, ValueError):
        raise ModelError(
            f"`A_{kind}` must be a matrix of numbers of shape (r, {n}); got {type(matrix).__name__}."
        ) from None
    shape = matrix.shape if sparse.issparse(matrix) else np.shape(matrix)
    if len(shape) != 2 or shape[1] != n:
        raise ModelError(f"`A_{kind}` must have one column a variable, shape (r, {n}); got shape {shape}.")
    if not np.isfinite(rows.data).all():
        raise ModelError(f"`A_{kind}` must be finite; got nan or inf.")
    side = _vector(right, f"b_{kind}") if rows.shape[0] or np.size(right) else np.zeros(0)
    if len(side) != rows.shape[0]:
        raise ModelError(
            f"`b_{kind}` must have one number a row of `A_{kind}`, shape ({rows.shape[0]},); got ({len(side)},)."
        )
    return rows, side


def _bounds(bounds: Any, n: int) -> tuple[Array, Array]:
    """Lower and upper bounds (n,), read as `scipy.optimize.linprog` reads them."""
    advice = f"give one pair (lower, upper) for all variables, or {n} pairs, with None for no bound"
    try:
        pairs = np.atleast_2d(np.array((0, None) if bounds is None else bounds, dtype=float))  # None becomes nan
    except (TypeError, ValueError):
        raise ModelError(f"`bounds` cannot be read: {advice}; got {bounds!r}.") from None
    if pairs.size == 0:
        pairs = np.array([[0.0, np.inf]])
    if pairs.shape in ((1, 2), (2, 1)) and pairs.shape != (n, 2):
        pairs = np.tile(pairs.reshape(1, 2), (n, 1))
    if pairs.shape != (n, 2):
        raise ModelError(f"`bounds` has shape {pairs.shape}: {advice}.")
    lower = np.where(np.isnan(pairs[:, 0]), -np.inf, pairs[:, 0])
    upper = np.where(np.isnan(pairs[:, 1]), np.inf, pairs[:, 1])
    bad = (lower > upper) | (lower == np.inf) | (upper == -np.inf)
    if bad.any():
        i = int(np.argmax(bad))
        raise ModelError(f"`bounds` leave no value for variable {i}: lower {lower[i]:g}, upper {upper[i]:g}.")
    return lower, upper
