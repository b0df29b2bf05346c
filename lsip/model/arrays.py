"""Plain arrays in the conventions of `scipy.optimize.linprog`, made into a `Program` and back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from ..errors import ModelError
from ..masters.base import is_sparse
from ..oracles.base import Array
from ..validation import OBJECT, members, numbers, shown
from ..validation import matrix as sparse_matrix
from .callables import Family, compile_family
from .families import RowFamily

Table: TypeAlias = ArrayLike | sparse.csr_matrix
Pair = Sequence[float | None]  # a lower and an upper bound, None where there is none
Pairs = ArrayLike | Pair | Sequence[Pair]  # one for all variables, or one for each
ENDS = (-np.inf, np.inf)  # what None means in a pair of bounds


def read_arrays(
    c: ArrayLike,
    A_ub: Table | None,
    b_ub: ArrayLike | None,
    A_eq: Table | None,
    b_eq: ArrayLike | None,
    bounds: Pairs | None,
    families: Iterable[Family | RowFamily],
    sense: str,
    names: Sequence[str] | None,
    constant: float,
    integrality: ArrayLike | None,
) -> dict[str, Any]:
    """The fields of the program that `Program.from_arrays` makes, checked."""
    cost = _vector(c, "c")
    n = len(cost)
    if not isinstance(sense, str) or sense not in ("min", "max"):
        raise ModelError(f'`sense` must be "min" or "max"; got {shown(sense)}.')
    sign = -1.0 if sense == "max" else 1.0
    upper_rows, right = _rows(A_ub, b_ub, n, "ub")
    equal_rows, value = _rows(A_eq, b_eq, n, "eq")
    lower, upper = _bounds(bounds, n)
    integer = _integer(integrality, lower, upper)
    listed = enumerate(members("families", families, "lsip.Family"))
    return {
        "c": sign * cost,
        "constant": sign * _constant(constant),
        "lower": lower,
        "upper": upper,
        "A": sparse.vstack([upper_rows, equal_rows], format="csr"),
        "row_lower": np.concatenate([np.full(len(right), -np.inf), value]),
        "row_upper": np.concatenate([right, value]),
        "families": tuple(_compiled(family, i, n) for i, family in listed),
        "row_labels": (*(f"A_ub[{i}]" for i in range(len(right))), *(f"A_eq[{i}]" for i in range(len(value)))),
        "maximise": sense == "max",
        "names": _names(names, n),
        "integer": integer,
    }


def _compiled(family: object, i: int, n: int) -> RowFamily:
    """A family as solvers see it; one that comes from another program is so already."""
    if isinstance(family, Family):
        return compile_family(family, f"families[{i}]", n)
    if not isinstance(family, RowFamily):
        raise ModelError(f"families[{i}] must be an lsip.Family(domain, a, b); got {type(family).__name__}.")
    if family.columns.max() >= n:
        raise ModelError(f"families[{i}] uses variable {family.columns.max()}; there are only {n}.")
    return family


def _names(names: object, n: int) -> tuple[str, ...]:
    if names is None:
        return ()
    found = () if isinstance(names, str) else tuple(islice(members("names", names, "strings"), n + 1))
    if len(found) != n or len(set(found)) != n or not all(isinstance(name, str) for name in found):
        raise ModelError(f"`names` must be {n} different strings, one a variable; got {shown(names)}.")
    return found


def _vector(value: ArrayLike, name: str) -> Array:
    vector = numbers(value, f"`{name}`", nan=True).copy()
    if vector.ndim != 1 or not len(vector):
        raise ModelError(f"`{name}` must be a vector of shape (n,); got shape {vector.shape}.")
    if not np.isfinite(vector).all():
        raise ModelError(f"`{name}` must be finite; got nan or inf at position {int(np.argmin(np.isfinite(vector)))}.")
    return vector


def _integer(integrality: ArrayLike | None, lower: Array, upper: Array) -> NDArray[np.bool_]:
    """Which variables are whole; bounds must leave them a value."""
    given, n = numbers(0 if integrality is None else integrality, "`integrality`"), len(lower)
    if given.shape not in ((), (n,)) or not np.isin(given, (0, 1)).all():
        raise ModelError(
            f"`integrality` is 0 (any value) or 1 (whole values), one number for all variables or {n}; got "
            f"{shown(integrality)}."
        )
    integer = np.broadcast_to(given == 1, (n,)) if given.any() else np.zeros(0, dtype=bool)
    empty = (np.ceil(lower) > np.floor(upper)) & (given == 1)
    if empty.any():
        i = int(np.argmax(empty))
        raise ModelError(f"No whole number lies between the bounds of variable {i}, {lower[i]:g} and {upper[i]:g}.")
    return integer


def _constant(value: float) -> float:
    number = numbers(value, "`constant`")
    if number.ndim or not np.isfinite(number):
        raise ModelError(f"`constant` must be one finite number; got {shown(value)}.")
    return float(number)


def _rows(given: Table | None, right: ArrayLike | None, n: int, kind: str) -> tuple[sparse.csr_matrix, Array]:
    """A_ub and b_ub, or A_eq and b_eq; no rows when neither is given."""
    if given is None and right is None:
        return sparse.csr_matrix((0, n)), np.zeros(0)
    if given is None or right is None:
        one, other = (f"b_{kind}", f"A_{kind}") if given is None else (f"A_{kind}", f"b_{kind}")
        raise ModelError(f"`{one}` was given without `{other}`; give both or neither.")
    table = sparse_matrix(given, f"`A_{kind}`") if is_sparse(given) else numbers(given, f"`A_{kind}`", nan=True)
    if table.ndim != 2 or table.shape[1] != n:
        raise ModelError(f"`A_{kind}` must have one column a variable, shape (r, {n}); got shape {table.shape}.")
    rows = sparse.csr_matrix(table)
    if not np.isfinite(rows.data).all():
        raise ModelError(f"`A_{kind}` must be finite; got nan or inf.")
    side = _vector(right, f"b_{kind}") if rows.shape[0] or np.size(right) else np.zeros(0)
    if len(side) != rows.shape[0]:
        raise ModelError(
            f"`b_{kind}` must have one number a row of `A_{kind}`, shape ({rows.shape[0]},); got ({len(side)},)."
        )
    return rows, side


def _bounds(bounds: Pairs | None, n: int) -> tuple[Array, Array]:
    """Lower and upper bounds (n,), read as `scipy.optimize.linprog` reads them."""
    advice = f"give one pair (lower, upper) for all variables, or {n} pairs, with None for no bound"
    given = (0, None) if bounds is None else bounds
    try:
        lower, upper = (_pairs(numbers(_filled(given, none), "`bounds`"), n)[:, k] for k, none in enumerate(ENDS))
    except (ModelError, RecursionError) as error:
        raise ModelError(f"`bounds` cannot be read: {advice}; got {shown(bounds)}. {error}") from None
    if lower.shape != (n,):
        raise ModelError(f"`bounds` has shape {np.atleast_2d(np.array(given, dtype=object)).shape}: {advice}.")
    bad = (lower > upper) | (lower == np.inf) | (upper == -np.inf)
    if bad.any():
        i = int(np.argmax(bad))
        raise ModelError(f"`bounds` leave no value for variable {i}: lower {lower[i]:g}, upper {upper[i]:g}.")
    return lower, upper


def _pairs(bounds: Array, n: int) -> Array:
    """One pair a variable, shape (n, 2); a single pair, in a row or in a column, is for all of them."""
    pairs = np.array([[0.0, np.inf]]) if bounds.size == 0 else np.atleast_2d(bounds)
    if pairs.shape in ((1, 2), (2, 1)) and pairs.shape != (n, 2):
        pairs = np.tile(pairs.reshape(1, 2), (n, 1))
    return pairs if pairs.shape == (n, 2) else np.zeros((0, 2))


def _filled(bounds: Pairs | None, none: float) -> Any:
    """Pairs, in lists or in an array of objects, with a number in the place of None."""
    if bounds is None:
        return none
    if isinstance(bounds, list | tuple):
        return [_filled(b, none) for b in bounds]
    if hasattr(bounds, "tolist") and getattr(bounds, "dtype", None) == OBJECT:
        return _filled(bounds.tolist(), none)
    return bounds
