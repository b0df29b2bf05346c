"""Data, read here and nowhere else: `numbers` for arrays, `matrix` for sparse ones.

A model is proven for the numbers that it was given, so what does not mean real numbers that are doubles is refused,
with what to write instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from math import fsum, prod
from numbers import Rational, Real
from typing import Any, Protocol, SupportsFloat, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from ..errors import LSIPError, ModelError


class Foreign(Protocol):
    """An array of NumPy or of another library: a tensor, a column of a table. Expressions have no `dtype`."""

    @property
    def dtype(self) -> object: ...

    def __array__(self) -> NDArray[Any]: ...


class Sparse(Protocol):
    """A sparse matrix of SciPy's, of any format."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def tocoo(self) -> sparse.coo_array: ...


Array = NDArray[np.float64]
Scalar: TypeAlias = float | np.floating | np.integer | np.bool_ | Real | Decimal
Data: TypeAlias = Scalar | Foreign | Sequence["Data"]  # what users write for numbers; `numbers` reads it
OBJECT = np.dtype(object)
NO_NUMBERS = (bool, np.timedelta64)  # though Python and NumPy call them integers
MOST_AXES = 32  # of an array, in the oldest NumPy and in the iterators of all
CONSECUTIVE = 2**53  # all integers up to here are doubles

KINDS = {  # NumPy's kinds of data that are no real numbers, and what to do
    "c": (
        "complex numbers",
        "Take .real, if the imaginary parts mean nothing; else keep both apart: |z| is np.hypot of them.",
    ),
    "U": ("text", "Convert it, if it means numbers: np.array(…).astype(float)."),
    "M": ("dates", "Subtract a first one and divide by a unit: (a - a[0]) / np.timedelta64(1, 's')."),
    "m": ("durations", "Divide them by a unit: a / np.timedelta64(1, 's')."),
    "V": ("records", "Name one of their fields."),
}
KINDS |= dict.fromkeys("ST", KINDS["U"])


def shown(value: object) -> str:
    """A value for a message, in a few words."""
    try:
        text = repr(value)
    except Exception:  # of a foreign class, which may fail on what it was made of
        text = ""
    return text if text and len(text) <= 60 and "\n" not in text else f"an object of type {type(value).__name__}"


def numbers(value: object, what: str, *, nan: bool = False) -> Array:
    """Data as an array of doubles that are exactly the numbers given; `what` names them in the refusal of others.

    An array of doubles comes back as it is, not copied. Infinities are numbers; nan is one only where `nan` says so.
    """
    if type(value) is np.ndarray and value.dtype == np.float64:
        array: Array = value
    else:
        refuse_wrapped(value, what)
        try:
            array = _listed(value, what) if isinstance(value, list | tuple) else _read(value, what)
        except RecursionError:
            raise ModelError(f"{what} must be an array of real numbers; got lists in lists without end.") from None
    fits(what, *array.shape)
    if not nan and np.isnan(array).any():
        raise ModelError(f"{what} must be numbers; got nan{'' if array.size == 1 else ' among them'}.")
    return array


def fits(what: str, *shape: int, most: int = 2**36) -> None:
    """Refuse arrays of more numbers than machines hold; views that repeat themselves may claim to be larger."""
    if len(shape) > MOST_AXES:
        raise ModelError(f"{what} must have at most {MOST_AXES} axes, as in most of NumPy; got {len(shape)}.")
    if prod(map(int, shape)) > most:
        raise ModelError(f"{what} must fit into memory; got an array of {shown(prod(map(int, shape)))} numbers.")


def kept(array: Array) -> Array:
    """A copy that nobody can change, so that a model stays what it was when it was written."""
    if array.flags.writeable or not array.flags.owndata:
        array = array.copy()
        array.flags.writeable = False
    return array


def matrix(value: Sparse, what: str) -> sparse.csr_array:
    """A sparse matrix of finite doubles that are exactly those given; a copy, with no entry twice."""
    entries = value.tocoo()
    if len(entries.shape) != 2:
        raise ModelError(f"{what} must have two axes; got a sparse array of shape {entries.shape}. Use .toarray().")
    data = numbers(entries.data, what)
    if not np.isfinite(data).all():
        raise ModelError(f"{what} must be finite; got inf.")
    found = sparse.csr_array(sparse.coo_array((data, (entries.row, entries.col)), shape=entries.shape))
    return found if found.nnz == len(data) else _added_up(data, entries.row, entries.col, entries.shape, what)


def _added_up(
    data: Array, row: NDArray[np.integer], column: NDArray[np.integer], shape: tuple[int, int], what: str
) -> sparse.csr_array:
    """A sparse matrix of which some entries are given in parts: their sums, rounded once."""
    order = np.lexsort((column, row))
    row, column, values = row[order], column[order], data[order].tolist()
    starts = np.flatnonzero(np.concatenate([[True], (row[1:] != row[:-1]) | (column[1:] != column[:-1])]))
    ends = [*starts[1:].tolist(), len(values)]
    try:
        sums = [fsum(values[start:end]) for start, end in zip(starts.tolist(), ends, strict=True)]
    except OverflowError:
        raise ModelError(f"{what} must be finite; the parts of an entry add up to more than any double.") from None
    return sparse.csr_array((sums, (row[starts], column[starts])), shape=shape)


def axes(value: ArrayLike) -> int:
    """How many axes data have; -1 for what is no array, as lists of other lengths, and lists in lists without end."""
    try:
        return np.ndim(value)
    except (MemoryError, ValueError, RecursionError):
        return -1


def is_sparse(value: object) -> TypeGuard[sparse.csr_array]:
    """Whether it is a sparse matrix, of any format."""
    return hasattr(value, "tocoo")


def mask(value: object, what: str) -> NDArray[np.bool_] | None:
    """An array of booleans, or None if it holds anything else."""
    refuse_wrapped(value, what)
    try:
        found = np.asarray(value)
    except (MemoryError, ValueError):  # a range without end, lists of unequal lengths
        return None
    return found if found.dtype == bool else None


def refuse_wrapped(value: object, what: str) -> None:
    """Refuse arrays that say more than their numbers."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.getmaskarray(value).any():
        raise ModelError(
            f"{what} must be real numbers; got an array in which some are masked. Say what they are, as in "
            ".filled(0), or leave them out with .compressed()."
        )
    if isinstance(value, np.matrix):
        raise ModelError(
            f"{what} must be a number or an array; got an np.matrix, which multiplies in its own way. Write "
            "np.asarray(…), and `@`."
        )
    if hasattr(value, "tocoo"):
        raise ModelError(f"{what} must be a number or an array; got a sparse matrix. Use .toarray().")


def _listed(value: list[object] | tuple[object, ...], what: str) -> Array:
    """Nested lists, looked through before NumPy finds a common type for them."""
    for item in value:
        if type(item) is float or (type(item) is int and -CONSECUTIVE <= item <= CONSECUTIVE):
            continue
        numbers(item, what, nan=True)
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise ModelError(f"{what} must be an array of real numbers; got lists of unequal lengths.") from None


def _read(value: object, what: str) -> Array:
    """Any one thing that NumPy can make an array of."""
    try:
        found = np.asarray(value)
    except LSIPError:
        raise
    except Exception as error:  # of a foreign class: a tensor that needs its gradient, a frame of mixed columns
        why = str(error) or type(error).__name__
        raise ModelError(f"{what} must be real numbers; got {shown(value)}: {why}.") from None
    kind = found.dtype.kind
    if kind == "O":
        return np.array([_exact(item, what) for item in found.ravel()], dtype=float).reshape(found.shape)
    if kind not in "biuf":
        raise _no_number(value, kind, what)
    with np.errstate(over="ignore"):
        array = found.astype(float)
    if kind in "iu" and found.dtype.itemsize == 8:
        large = (found > CONSECUTIVE) | (found < -CONSECUTIVE)
        wrong = [v for v in found[large].tolist() if float(v) != v]
    elif found.dtype.itemsize > 8:
        wrong = list(found[(array != found) & ~np.isnan(found)])
    else:
        wrong = []
    if wrong:
        raise _no_double(wrong[0], what)
    return array


def _exact(item: SupportsFloat, what: str) -> float:
    """One Python object as a float, if it is a real number that is one."""
    text = isinstance(item, str | bytes | bytearray)
    foreign = isinstance(item, np.generic | np.ndarray)
    if text or foreign:
        array = numbers(item, what, nan=True)
        if array.ndim:
            raise ModelError(f"{what} must be real numbers; got an array inside of an array of objects.")
        return float(array)
    if isinstance(item, complex):
        raise _no_number(item, "c", what)
    try:
        number = float(item)
    except LSIPError:
        raise
    except OverflowError:
        raise ModelError(f"{what} must be at most 1.8e308; got {shown(item)}.") from None
    except Exception:  # whatever a foreign class raises only says that it is no number
        raise ModelError(f"{what} must be real numbers; got {shown(item)} of type {type(item).__name__}.") from None
    if number != number:
        return number
    if isinstance(item, Rational):
        same = Fraction(int(item.numerator), int(item.denominator)) == number if np.isfinite(number) else False
    else:
        same = item == number
    if not bool(same):
        raise _no_double(item, what)
    return number


def _no_number(value: object, kind: str, what: str) -> ModelError:
    name, advice = KINDS.get(kind, ("something else", "Convert it, if it means numbers: .astype(float)."))
    return ModelError(f"{what} must be real numbers; got {name}, {shown(value)}. {advice}")


def _no_double(item: SupportsFloat, what: str) -> ModelError:
    return ModelError(
        f"{what} must be doubles, because proofs are about doubles; {shown(item)} has the type {type(item).__name__}. "
        f"Write float(…), or .astype(float), for the nearest double, {float(item)!r}."
    )
