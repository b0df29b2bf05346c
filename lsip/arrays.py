"""Plain arrays in the conventions of `scipy.optimize.linprog`, made into a `Program` and back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .errors import ModelError
from .family import Family, compile_family
from .masters.rows import Sides
from .program import Program
from .row_families import BlackBoxFamily, DeclaredFamily

Array = NDArray[np.float64]


def read_program(
    c: Any,
    A_ub: Any,
    b_ub: Any,
    A_eq: Any,
    b_eq: Any,
    bounds: Any,
    families: Iterable[Any],
    sense: str,
    names: Sequence[str] | None,
    constant: float,
) -> Program:
    """The program of `Program.from_arrays`, checked."""
    cost = _vector(c, "c")
    n = len(cost)
    if sense not in ("min", "max"):
        raise ModelError(f'`sense` must be "min" or "max"; got {sense!r}.')
    sign = -1.0 if sense == "max" else 1.0
    upper_rows, right = _rows(A_ub, b_ub, n, "ub")
    equal_rows, value = _rows(A_eq, b_eq, n, "eq")
    lower, upper = _bounds(bounds, n)
    return Program(
        c=sign * cost,
        constant=sign * float(constant),
        lower=lower,
        upper=upper,
        A=sparse.vstack([upper_rows, equal_rows], format="csr"),
        row_lower=np.concatenate([np.full(len(right), -np.inf), value]),
        row_upper=np.concatenate([right, value]),
        families=tuple(_compiled(family, i, n) for i, family in enumerate(_checked(families))),
        row_labels=(*(f"A_ub[{i}]" for i in range(len(right))), *(f"A_eq[{i}]" for i in range(len(value)))),
        maximise=sense == "max",
        names=_names(names, n),
    )


def write_arrays(program: Program) -> dict[str, Any]:
    """The keyword arguments of `Program.from_arrays` that make an equal program."""
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
    }


def _checked(families: Any) -> tuple[Any, ...]:
    if isinstance(families, Family) or not isinstance(families, Iterable):
        raise ModelError(f"`families` must be a list of lsip.Family; got {type(families).__name__}. Put it in a list.")
    return tuple(families)


def _compiled(family: Any, i: int, n: int) -> DeclaredFamily | BlackBoxFamily:
    """A family as solvers see it; one that comes from another program is so already."""
    if isinstance(family, Family):
        return compile_family(family, f"families[{i}]", n)
    if not isinstance(family, DeclaredFamily | BlackBoxFamily):
        raise ModelError(f"families[{i}] must be an lsip.Family(domain, a, b); got {type(family).__name__}.")
    if family.columns.max() >= n:
        raise ModelError(f"families[{i}] uses variable {family.columns.max()}; there are only {n}.")
    return family


def _names(names: Any, n: int) -> tuple[str, ...]:
    if names is None:
        return ()
    found = tuple(names) if not isinstance(names, str) and isinstance(names, Iterable) else ()
    if len(found) != n or len(set(found)) != n or not all(isinstance(name, str) for name in found):
        raise ModelError(f"`names` must be {n} different strings, one a variable; got {names!r}.")
    return found


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
