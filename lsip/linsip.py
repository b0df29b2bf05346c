"""The door for people who have functions rather than expressions: `linsip`, shaped like `scipy.optimize.linprog`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .errors import ModelError
from .exchange import Exchange, solve
from .family import Family, compile_family
from .program import Program
from .solution import Solution

Array = NDArray[np.float64]
TOL = 1e-8


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
        families=tuple(compile_family(f, f"families[{i}]", n) for i, f in enumerate(_checked(families))),
        row_labels=(*(f"A_ub[{i}]" for i in range(len(right))), *(f"A_eq[{i}]" for i in range(len(value)))),
        maximise=sense == "max",
        name="linsip",
    )
    options: dict[str, Any] = {} if method is not None and tol == TOL else {"tol": tol}
    return solve(program, method, verbose=verbose, **options)


def _checked(families: Any) -> tuple[Family, ...]:
    if isinstance(families, Family) or not isinstance(families, Iterable):
        raise ModelError(f"`families` must be a list of lsip.Family; got {type(families).__name__}. Put it in a list.")
    found = tuple(families)
    for i, family in enumerate(found):
        if not isinstance(family, Family):
            raise ModelError(f"families[{i}] must be an lsip.Family(domain, a, b); got {type(family).__name__}.")
    return found


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
